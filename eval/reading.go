package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/web"
)

// A truth that was read is known of some pages only: those that were drawn for
// readers (package pool). Of all others it is estimated.
//
//	page                                     counted as
//	read, of a grade that counts             1
//	read, of a lower grade                   0
//	not read                                 p: the share of relevant pages among
//	                                         those read of its stratum
//	given at the start, a copy, no page      0, as ever
//
// So H(n) is an estimate, and with it every measure that is made of hits; its
// bounds are those with p = 0 and p = 1 (Run.Bounded). p is taken from those pages
// of the stratum that the crawl itself fetched, if at least fewest of them were
// read, as a crawl may choose better than chance within a stratum: with known
// sizes of both parts that is poststratification (Holt & Smith 1979), and
// unbiased. With fewer, the parts are put together again, and p is that of all
// pages of the stratum that crawls can reach (Cochran 1977, section 5A.9): for a
// crawl that chooses well or badly within it a biased estimate, but one that a
// single page does not turn over.

// fewest is how many pages of a stratum have to have been read among those that a
// crawl fetched, for these to stand for the others that it fetched.
const fewest = 5

// Reading is what readers said of the documents of a web: see Graph.Document.
type Reading struct {
	From    pool.Grade   // the grade from which a page counts: Partly or Mainly
	Grade   []pool.Grade // [document] CannotTell = it was not read, or nobody could tell
	Stratum []uint8      // [document]
	Strata  []string     // names
}

// ErrPool is the error of NewReading for a pool that was drawn from another web.
var ErrPool = errors.New("the pool was drawn from other pages than those of this web")

// NewReading brings the grades of a topic's pages to the documents of its web.
func NewReading(g *Graph, w pool.Web, t *pool.Topic, grades map[web.URL]pool.Grade, from pool.Grade) (*Reading, error) {
	if rev := g.Revision(); rev != w.Revision {
		return nil, fmt.Errorf("%w: %s has the revision %s, and the pool is of %s", ErrPool, w.Name, rev, w.Revision)
	}
	r := &Reading{From: from, Grade: slices.Repeat([]pool.Grade{pool.CannotTell}, len(t.Member)), Stratum: t.Member}
	for _, s := range t.Strata {
		r.Strata = append(r.Strata, s.Name)
	}
	for u, grade := range grades {
		i, ok := g.number[u]
		if !ok || int(g.body[i]) >= len(r.Grade) {
			return nil, fmt.Errorf("%w: %s is not among them", ErrPool, u)
		}
		r.Grade[g.body[i]] = grade
	}
	return r, nil
}

// Worth is what readers make of a fetched page.
type Worth uint8

// What a page can be. Only Grade0…Grade2 and Unread can be hits: of pages with
// the same body the first, and none that was given at the start.
const (
	Uncounted Worth = iota // it is no hit, or the truth was not read
	Grade0
	Grade1
	Grade2
	Unread // nobody read it: it may be a hit
	Unseen // nobody read it, and it is no hit in any case
)

// graded is the worth of a page that is a hit if it is relevant.
func graded(g pool.Grade) Worth {
	if g == pool.CannotTell {
		return Unread
	}
	return Grade0 + Worth(g)
}

// worth is what readers make of a page that was fetched, and its stratum. first
// tells that it could be a hit.
func (r *Recorder) worth(p Page, first bool) (Worth, uint8) {
	rd := r.truth.Reading
	if rd == nil || p.ID < 0 || r.opt.Document == nil {
		return Uncounted, 0
	}
	d := r.opt.Document(p.ID)
	switch g := graded(rd.Grade[d]); {
	case first:
		return g, rd.Stratum[d]
	case g == Unread:
		return Unseen, rd.Stratum[d]
	}
	return Uncounted, rd.Stratum[d]
}

// counted is the worth of a page as a number, from a grade on: 1 or 0 where it was
// read, its share where it was not.
func (r *Run) counted(p Page, from pool.Grade) float64 {
	switch p.Worth {
	case Unread:
		return r.share(from, p.Stratum)
	case Grade1, Grade2:
		if pool.Grade(p.Worth-Grade0) >= from {
			return 1
		}
	}
	return 0
}

// value is what a page adds to H(n).
func (r *Run) value(p Page) float64 {
	switch {
	case p.Mark&Hit != 0:
		return 1
	case p.Worth == Unread:
		return r.share(r.From, p.Stratum)
	}
	return 0
}

// share is what an unread page of a stratum counts; NaN in a run that is not
// Estimated.
func (r *Run) share(from pool.Grade, stratum uint8) float64 {
	if s := r.shares[from-1]; int(stratum) < len(s) {
		return s[stratum]
	}
	return math.NaN()
}

// Estimated returns a run of a truth that was read with the shares by which its
// unread pages count; any other run as it is. Measures need it.
func (r *Run) Estimated(ref Reference) *Run {
	if r.From == 0 || len(ref.Samples[0]) != r.Strata || len(ref.Samples[1]) != r.Strata {
		return r
	}
	out := *r
	for g := range out.shares {
		out.samples[g] = r.parts(ref.Samples[g], pool.Grade(g+1))
		out.shares[g] = make([]float64, len(out.samples[g]))
		for h, s := range out.samples[g] {
			out.shares[g][h] = s.Share()
		}
	}
	return &out
}

// parts are the samples that tell of the unread pages of a run: of each stratum
// the part that was fetched, if enough of it was read, or the whole.
func (r *Run) parts(whole []pool.Sample, from pool.Grade) []pool.Sample {
	own := make([]pool.Sample, len(whole))
	for _, p := range r.Pages {
		switch p.Worth {
		case Grade0, Grade1, Grade2:
			own[p.Stratum].Size++
			own[p.Stratum].Read++
			if pool.Grade(p.Worth-Grade0) >= from {
				own[p.Stratum].Relevant++
			}
		case Unread:
			own[p.Stratum].Size++
		}
	}
	for h := range own {
		if own[h].Read < fewest {
			own[h] = whole[h]
		}
	}
	return own
}

// Bounded returns a run of a truth that was read as if none of its unread pages
// were relevant (share 0), or all of them (share 1).
func (r *Run) Bounded(share float64) *Run {
	out := *r
	for g := range out.shares {
		out.shares[g] = slices.Repeat([]float64{share}, r.Strata)
	}
	return &out
}

// unread counts the unread pages of the first n places by stratum, and the hits
// that are known. Shape: by [stratum].
func (r *Run) unread(n int) (known float64, by []float64) {
	by = make([]float64, r.Strata)
	for _, p := range r.first(n) {
		if p.Mark&Hit != 0 {
			known++
		} else if p.Worth == Unread {
			by[p.Stratum]++
		}
	}
	return known, by
}

// readColumns are the columns of a run's JSON that tell what readers made of its
// pages, "" where the truth was not read.
func (r *Run) readColumns() (worth, stratum string) {
	if r.From == 0 {
		return "", ""
	}
	w, s := make([]byte, len(r.Pages)), make([]byte, len(r.Pages))
	for i, p := range r.Pages {
		w[i], s[i] = '0'+byte(p.Worth), 'a'+p.Stratum
	}
	return string(w), string(s)
}

// checkRead finds what is wrong with these columns.
func (r *Run) checkRead(c pagesJSON, n int) error {
	if r.From == 0 && r.Strata == 0 && c.Worth == "" && c.Stratum == "" {
		return nil
	}
	if r.From < pool.Partly || r.From > pool.Mainly || r.Strata < 1 || r.Strata > 26 {
		return fmt.Errorf("a truth that was read, from grade %d, of %d strata", r.From, r.Strata)
	}
	if len(c.Worth) != n || len(c.Stratum) != n {
		return fmt.Errorf("%d marks, but %d of worth and %d of stratum", n, len(c.Worth), len(c.Stratum))
	}
	for i := range n {
		if w, s := c.Worth[i]-'0', int(c.Stratum[i])-'a'; w > byte(Unseen) || s < 0 || s >= r.Strata {
			return fmt.Errorf("page %d has the worth %q in stratum %q", i+1, c.Worth[i], c.Stratum[i])
		}
	}
	return nil
}
