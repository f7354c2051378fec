package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// maxResponse bounds a response that is read from the archive, in bytes: more
// than any crawl takes by default.
const maxResponse = 64 << 20

// Place is where a record lies in the archive. The zero Place is the beginning.
type Place struct {
	File   string // name within the folder of the archive
	Offset int64
}

// records are the records of the archive from a place on, as store.Records gives
// them; none if there is no archive yet.
func (c Collection) records(from Place) iter.Seq2[*store.Record, error] {
	return func(yield func(*store.Record, error) bool) {
		paths, err := c.ArchiveFiles()
		if err != nil {
			yield(nil, err)
			return
		}
		for len(paths) > 0 && filepath.Base(paths[0]) < from.File {
			paths = paths[1:]
		}
		if len(paths) > 0 && filepath.Base(paths[0]) != from.File {
			from.Offset = 0
		}
		for r, err := range store.RecordsFrom(from.Offset, paths...) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// ArchiveFiles are the paths of the archive's WARC files, in their order; none
// if there is no archive yet.
func (c Collection) ArchiveFiles() ([]string, error) {
	paths, err := store.Paths(c.ArchiveDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return paths, err
}

// Responses are the responses in the archive that have a wanted address, in the
// order in which they came: pages, as sent and as rendered, redirects, errors and robots.txt,
// but not what pages asked for when they were rendered. An address
// that failed for a time has more than one. nil wants all.
//
// A record that cannot be read is a *store.Damage, after which the next one
// follows; while the crawl runs, the last record may be torn. Any other error
// ends the sequence.
func (c Collection) Responses(want func(web.URL) bool) iter.Seq2[*web.Response, error] {
	return func(yield func(*web.Response, error) bool) {
		for r, err := range c.responses(Place{}, want) {
			if !yield(r.Response, err) {
				return
			}
		}
	}
}

// placedResponse is a response and where its record begins.
type placedResponse struct {
	*web.Response
	at Place
}

func (c Collection) responses(from Place, want func(web.URL) bool) iter.Seq2[placedResponse, error] {
	return func(yield func(placedResponse, error) bool) {
		var earlier earlierRounds
		var by *web.Rendering // of the response that follows, which has the id of
		var of string
		var begins Place
		for rec, err := range c.records(from) {
			if err == nil {
				if rec.Type() == "conversion" {
					if by, of, err = store.ReadRendering(rec, maxResponse); err == nil {
						begins = Place{filepath.Base(rec.File), rec.Offset}
						continue
					}
				}
			}
			if err == nil {
				rendering := by
				by = nil
				if !holdsResponse(rec.Type()) || rec.Asked() {
					continue
				}
				// It is canonical already, by rules of the job that may be stricter.
				u, errURL := web.Parse(rec.Target())
				if errURL != nil || want != nil && !want(u) {
					continue
				}
				at := Place{filepath.Base(rec.File), rec.Offset}
				var r *web.Response
				if r, err = store.ReadResponse(rec, maxResponse); err == nil {
					if rendering != nil && rec.Get("WARC-Record-ID") == of {
						r.Rendering, at = rendering, begins
					}
					if r, err = c.whole(&earlier, r); err != nil {
						err = &store.Damage{File: rec.File, Offset: rec.Offset, Err: err}
					}
				}
				if err == nil {
					if !yield(placedResponse{r, at}, nil) {
						return
					}
					continue
				}
			}
			var damage *store.Damage
			if !yield(placedResponse{}, err) || !errors.As(err, &damage) {
				return
			}
		}
	}
}

// ParseError says that a document in the archive could not be parsed.
type ParseError struct {
	URL web.URL
	Err error
}

func (e *ParseError) Error() string { return fmt.Sprintf("parsing %s: %v", e.URL, e.Err) }
func (e *ParseError) Unwrap() error { return e.Err }

// Pages are the documents in the archive that have a wanted address, parsed on
// all cores, in the order in which they were fetched. want is called on another
// goroutine; nil wants all.
//
// A record that cannot be read is a *store.Damage and a document that cannot be
// parsed a *ParseError; the next page follows after both. Any other error, such
// as that of ctx, ends the sequence.
func (c Collection) Pages(ctx context.Context, p crawl.Parser, want func(web.URL) bool) iter.Seq2[*web.Page, error] {
	return func(yield func(*web.Page, error) bool) {
		for one, err := range c.placedPages(ctx, p, Place{}, want) {
			if !yield(one.Page, err) {
				return
			}
		}
	}
}

// placedPage is a page and where the record of its response begins.
type placedPage struct {
	*web.Page
	at Place
}

// placedPages is Pages, from a place on.
func (c Collection) placedPages(ctx context.Context, p crawl.Parser, from Place, want func(web.URL) bool) iter.Seq2[placedPage, error] {
	return func(yield func(placedPage, error) bool) {
		read, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		// Each document has a channel of its own for what becomes of it; those
		// channels wait in the order of the archive.
		type parsed struct {
			page placedPage
			err  error
		}
		results := make(chan chan parsed, 2*runtime.GOMAXPROCS(0))
		workers.Go(func() {
			defer close(results)
			for r, err := range c.responses(from, want) {
				if err == nil && !isDocument(r.Response) {
					continue
				}
				result := make(chan parsed, 1)
				select {
				case results <- result:
				case <-read.Done():
					return
				}
				if err != nil {
					result <- parsed{placedPage{}, err}
					continue
				}
				workers.Go(func() {
					page, err := p.Parse(r.Response)
					if err != nil {
						page, err = nil, &ParseError{r.URL, err}
					}
					result <- parsed{placedPage{page, r.at}, err}
				})
			}
		})
		for result := range results {
			got := <-result
			if ctx.Err() != nil {
				break
			}
			if !yield(got.page, got.err) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(placedPage{}, ctx.Err())
		}
	}
}

// isDocument tells responses that a crawl parses, whatever their type.
func isDocument(r *web.Response) bool {
	return r.Status >= 200 && r.Status < 300 && len(r.Body) > 0
}

// Readable passes over the records of a sequence of Pages that cannot be read or
// parsed. Where the process that reads documents does not start, they are not passed over: it is an error.
func Readable(pages iter.Seq2[*web.Page, error]) iter.Seq2[*web.Page, error] {
	return func(yield func(*web.Page, error) bool) {
		for p, err := range pages {
			var failure *web.Failure
			noReader := errors.As(err, &failure) && failure.Reason == web.ReasonReader
			if errors.As(err, new(*store.Damage)) || errors.As(err, new(*ParseError)) && !noReader {
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
