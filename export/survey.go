package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// survey is what a first reading of the logs tells: which collection gives which
// page. Addresses are known by their hashes, some 40 bytes a page. The chance that a
// million addresses hold two of one hash is 1 in 37 million; one of them is left out.
type survey struct {
	pages map[uint64]place
	crawl []crawlFacts // one for each collection
	last  time.Time    // of the last event of all; zero without one
}

// place is where the page of an address lies.
type place struct {
	at     int64 // when it was fetched, in µs
	number int32 // of the Fetched event in its log, 0…
	crawl  int16 // index of the collection
	optOut bool
	// relevant is known where only relevant pages are exported.
	relevant bool
}

// crawlFacts are what an export tells of one collection.
type crawlFacts struct {
	extent collection.Extent // of the archive, before the log was read
	name   string
	ended  bool // no run is writing, as far as the log tells
	// The judge by whom all pages up to a number were judged anew; "" = never.
	anew       string
	anewBefore int32
}

func hashOf(u web.URL) uint64 { return xxh3.HashString(u.String()) }

// look reads the logs. Lines that are damaged are left to the reading that follows, but
// without opt-outs they are an error: of a page that opts out nothing else may tell.
// Of a log that cannot be read at all the error says so.
func (in *Input) look(ctx context.Context) (*survey, error) {
	s := &survey{pages: map[uint64]place{}}
	for i, c := range in.Collections {
		facts, number := crawlFacts{}, int32(0)
		var err error
		if facts.extent, err = c.Extent(); err != nil {
			return nil, err
		}
		for e, err := range event.ReadVisits(c.EventLog()) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var damaged *event.LineError
			if errors.As(err, &damaged) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if t := e.Time(); t.After(s.last) {
				s.last = t
			}
			switch e := e.(type) {
			case event.Started:
				facts.name, facts.ended = cmp.Or(e.Name, facts.name), false
			case event.Ended:
				facts.ended = true
			case event.Rejudged:
				if e.Judge != "" {
					facts.anew, facts.anewBefore = e.Judge, number
				}
			case event.Fetched:
				s.add(hashOf(e.URL), place{at: e.At.At.UnixMicro(), number: number, crawl: int16(i), optOut: optsOut(e.Directives, e.Reason)})
				if number++; number == math.MaxInt32 {
					return nil, errors.New("the log tells of more pages than an export can hold")
				}
			}
		}
		s.crawl = append(s.crawl, facts)
		if in.WithoutOptOuts {
			if err := isWhole(ctx, c); err != nil {
				return nil, err
			}
		}
	}
	if in.OnlyRelevant {
		return s, in.relevant(ctx, s)
	}
	return s, nil
}

// isWhole tells as an error that a log has lost lines, or its end.
func isWhole(ctx context.Context, c collection.Collection) error {
	for _, err := range c.Visits() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("whether all pages may be handed on is not known, as the log that tells which of them opt out is damaged: waggle repair %s mends it\n%w", c.Dir(), err)
		}
	}
	return nil
}

// relevant notes which pages are relevant, by the verdicts told last.
func (in *Input) relevant(ctx context.Context, s *survey) error {
	for i, c := range in.Collections {
		number := int32(-1)
		for e, err := range c.Visits() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var damaged *event.LineError
			if errors.As(err, &damaged) {
				continue
			}
			if err != nil {
				return err
			}
			f, ok := e.(event.Fetched)
			if !ok {
				continue
			}
			number++
			h := hashOf(f.URL)
			if p := s.pages[h]; p.crawl == int16(i) && p.number == number {
				p.relevant = f.Relevant
				s.pages[h] = p
			}
		}
	}
	return nil
}

// add keeps the place of a page that was fetched last. A page that opts out does so
// whenever it was fetched.
func (s *survey) add(hash uint64, p place) {
	if old, ok := s.pages[hash]; ok {
		p.optOut = p.optOut || old.optOut
		if old.crawl != p.crawl && old.at >= p.at {
			old.optOut = p.optOut
			p = old
		}
	}
	s.pages[hash] = p
}

// optsOut tells pages that ask not to be handed on.
func optsOut(d web.Directives, r web.Reason) bool {
	return r == web.ReasonNoIndex || d.NoIndex || d.NoArchive || d.NoAI || d.TDMReserved
}

// optOuts are the wishes of a page about its use, as words.
func optOuts(d web.Directives) (words []string) {
	for _, w := range []struct {
		word string
		set  bool
	}{
		{"noindex", d.NoIndex}, {"noarchive", d.NoArchive}, {"noai", d.NoAI}, {"noimageai", d.NoImageAI}, {"tdm-reservation", d.TDMReserved},
	} {
		if w.set {
			words = append(words, w.word)
		}
	}
	return words
}

// wanted tells whether the page of an address is exported from a collection, and its
// number there.
func (s *survey) wanted(in *Input, crawl int, u web.URL) (number int, ok bool) {
	p, ok := s.pages[hashOf(u)]
	return int(p.number), ok && int(p.crawl) == crawl && !(in.WithoutOptOuts && p.optOut) && !(in.OnlyRelevant && !p.relevant)
}

// left tells whether an address opts out and is to be left out.
func (s *survey) left(in *Input, u web.URL) bool {
	return in.WithoutOptOuts && s.pages[hashOf(u)].optOut
}
