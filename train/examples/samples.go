package examples

import (
	"context"
	"errors"
	"iter"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
)

// Options say where the pages of examples that are no files come from.
type Options struct {
	// Web is the folder of a recorded web; "" = they are fetched.
	Web string
	// Pages is the folder of the crawl by which they are fetched.
	Pages string
	// Apply puts what the user says of fetching into the job of that crawl.
	Apply func(*job.Job) error
	// Floor is the least share of the examples that must be had, 0…1.
	Floor float64
	// Note is told what the user should know.
	Note func(string)
	// Progress is told how far a part of the work is.
	Progress func(done, total int, what string)
}

// Samples gets the examples and yields them for training, once; those that are
// fetched are fetched before it returns. The tally is that of the samples read so
// far. from says where the pages come from. Where fewer can be had than the floor the
// last of them is an error. Close lets go of what is read.
//
// Errors of type job.Mistake and *job.Error are for the user to mend.
func (w *List) Samples(ctx context.Context, o Options) (samples iter.Seq2[judge.Sample, error], had *Tally, from string, done func(), err error) {
	parser := parse.New(parse.Options{})
	had = &Tally{Wanted: len(w.examples), Lost: map[string]int{}}
	parts := []iter.Seq2[judge.Sample, error]{w.files(ctx, parser, had)}
	from, again := w.name, ""
	done = func() {}
	switch {
	case len(w.addresses) == 0:
	case o.Web != "":
		r, err := corpus.Open(o.Web)
		if err != nil {
			return nil, nil, "", nil, job.Mistake{Err: err}
		}
		pages, err := corpus.OpenPages(ctx, r, parse.New(parse.Options{Canon: r.Canon()}), corpus.PagesOptions{Progress: func(done, total int) { o.Progress(done, total, "pages parsed") }})
		if err != nil {
			return nil, nil, "", nil, errors.Join(err, r.Close())
		}
		done = func() { r.Close() } // it was read only
		parts = append(parts, w.recorded(ctx, pages, had))
		from += ", pages of the recorded web " + r.Name
	default:
		fetched, err := w.fetch(ctx, o.Pages, o)
		if err != nil {
			return nil, nil, "", nil, err
		}
		parts = append(parts, w.archived(ctx, collection.At(o.Pages), fetched, parser, had))
		again = ", remove " + o.Pages + " to fetch all anew"
	}
	n := 0
	samples = func(yield func(judge.Sample, error) bool) {
		for _, part := range parts {
			for s, err := range part {
				if n++; n%100 == 0 {
					o.Progress(n, len(w.examples), "pages read")
				}
				if !yield(s, err) {
					return
				}
			}
		}
		if err := had.enough(o.Floor, again); err != nil {
			yield(judge.Sample{}, err)
		}
	}
	return samples, had, from, done, nil
}
