package corpus

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Parsed reads every recorded response, parses on all cores those with a
// status of 2xx, and calls visit with each, in the order of the files and one
// call at a time. The page is nil for other responses and for what cannot be
// parsed. A damaged record ends it with a *store.Damage.
func (w *Web) Parsed(ctx context.Context, visit func(*web.Response, *web.Page)) error {
	type item struct {
		response *web.Response
		page     *web.Page
	}
	parser := parse.New(parse.Options{})
	eg, all := errgroup.WithContext(ctx)
	// line keeps the order: the result of each address is taken in turn.
	line := make(chan chan item, 4*runtime.GOMAXPROCS(0))
	eg.Go(func() error {
		defer close(line)
		work, both := errgroup.WithContext(all)
		work.SetLimit(runtime.GOMAXPROCS(0))
		for _, address := range w.byPlace() {
			done := make(chan item, 1)
			select {
			case line <- done:
			case <-both.Done():
				if err := work.Wait(); err != nil {
					return err
				}
				return all.Err()
			}
			work.Go(func() error {
				defer close(done)
				r, err := w.read(address)
				if err != nil {
					return err
				}
				it := item{response: r}
				if r.Status >= 200 && r.Status < 300 {
					if p, err := parser.Parse(r); err == nil {
						it.page = p
					}
				}
				done <- it
				return nil
			})
		}
		return work.Wait()
	})
	eg.Go(func() error {
		for done := range line {
			select {
			case it, ok := <-done:
				if ok {
					visit(it.response, it.page)
				}
			case <-all.Done():
				return all.Err()
			}
		}
		return nil
	})
	return eg.Wait()
}
