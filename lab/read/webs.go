package read

import (
	"fmt"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// OpenWebs opens the recorded webs of a pool in these folders, by their names. done
// closes them.
func OpenWebs(p *pool.Pool, dirs []string) (webs map[string]Web, done func(), err error) {
	webs = map[string]Web{}
	var open []*corpus.Web
	done = func() {
		for _, w := range open {
			w.Close() // it was read only
		}
	}
	for _, dir := range dirs {
		w, err := corpus.Open(dir)
		if err != nil {
			done()
			return nil, nil, err
		}
		open = append(open, w)
		if _, ok := p.Web(w.Name); !ok {
			done()
			return nil, nil, fmt.Errorf("%s is the web %s, of which the pool has no page", dir, w.Name)
		}
		if u, gone := unrecordedPage(p, w); gone > 0 {
			done()
			return nil, nil, fmt.Errorf("%s does not hold %d pages of the pool, such as %s: it is not the web that the pool was drawn from", dir, gone, u)
		}
		webs[w.Name] = Web{
			Fetcher: corpus.Fetcher{Web: w}, Canon: w.Canon(),
			Parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: w.Canon()}),
		}
	}
	return webs, done, nil
}

// unrecordedPage counts the pages of a pool that their web does not hold, and
// names one.
func unrecordedPage(p *pool.Pool, w *corpus.Web) (u web.URL, gone int) {
	for i := range p.Topics {
		if p.Topics[i].Web != w.Name {
			continue
		}
		for _, x := range p.Topics[i].Pages {
			if !w.Has(x.URL) {
				u = x.URL
				gone++
			}
		}
	}
	return u, gone
}
