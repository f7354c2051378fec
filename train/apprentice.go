package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// Crawl is what a crawl that has ended knows of its pages: in which order they
// were fetched and how relevant they turned out. It trains apprentices, whatever
// strategy drove the crawl (Chakrabarti, Punera & Subramanyam 2002, section 3.5).
type Crawl struct {
	pages  map[web.URL]visit
	moved  map[web.URL]web.URL
	copies map[web.URL]bool // of pages fetched before, which taught the crawl nothing
	waits  map[web.URL]bool // queued and not taken, as far as the log names them
}

type visit struct {
	place   int // in the order of fetches
	verdict web.Verdict
}

// ReadCrawl reads the events of a crawl. A torn end is no error.
func ReadCrawl(events iter.Seq2[event.Event, error]) (*Crawl, error) {
	c := &Crawl{pages: map[web.URL]visit{}, moved: map[web.URL]web.URL{}, copies: map[web.URL]bool{}, waits: map[web.URL]bool{}}
	for e, err := range events {
		if errors.Is(err, event.ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case event.Seeded:
			c.queued(e.Queued)
		case event.Dropped:
			for _, u := range e.URLs {
				delete(c.waits, u)
			}
			if e.Host != "" {
				maps.DeleteFunc(c.waits, func(u web.URL, _ bool) bool { return u.Host() == e.Host })
			}
		case event.Fetched:
			delete(c.waits, e.URL)
			c.queued(e.Queued)
			if e.Reason.Copy() {
				c.copies[e.URL] = true
				continue
			}
			c.Add(e.URL, web.Verdict{Relevance: e.Relevance, Similarity: e.Similarity, Relevant: e.Relevant})
		case event.Failed:
			if !e.Retry {
				delete(c.waits, e.URL)
			}
			if e.Queued {
				c.waits[e.To] = true
			}
			if !e.To.IsZero() {
				c.moved[e.URL] = e.To
			}
		}
	}
	return c, nil
}

func (c *Crawl) queued(links []event.Found) {
	for _, l := range links {
		c.waits[l.URL] = true
	}
}

// Waits tells whether an address was left waiting in the frontier.
func (c *Crawl) Waits(u web.URL) bool { return c.waits[u] }

// Add tells of the page fetched next.
func (c *Crawl) Add(u web.URL, v web.Verdict) {
	if c.Has(u) {
		return
	}
	c.pages[u] = visit{len(c.pages), v}
}

// Len is the number of pages.
func (c *Crawl) Len() int { return len(c.pages) }

// URLs are those of the pages, in the order of their fetches.
func (c *Crawl) URLs() iter.Seq[web.URL] {
	urls := make([]web.URL, len(c.pages))
	for u, f := range c.pages {
		urls[f.place] = u
	}
	return slices.Values(urls)
}

// Asked tells whether an address gave a page or a copy of one, or moved.
func (c *Crawl) Asked(u web.URL) bool {
	_, moved := c.moved[u]
	return moved || c.copies[u] || c.Has(u)
}

// Has tells whether a page was fetched.
func (c *Crawl) Has(u web.URL) bool {
	_, ok := c.pages[u]
	return ok
}

// outcome is what became of a link from a fetched page, redirects followed.
func (c *Crawl) outcome(from visit, to web.URL) apprentice.Outcome {
	for range maxRedirects {
		next, ok := c.moved[to]
		if !ok {
			break
		}
		to = next
	}
	f, ok := c.pages[to]
	return apprentice.Outcome{Verdict: f.verdict, Fetched: ok, Later: ok && f.place > from.place}
}

// Shared is how many pages two crawls have in common, and how many of those
// were relevant to the first.
func (c *Crawl) Shared(other *Crawl) (pages, relevant int) {
	for u, f := range c.pages {
		if other.Has(u) {
			pages++
			relevant += boolInt(f.verdict.Relevant)
		}
	}
	return pages, relevant
}

// Relevant is the number of pages held relevant.
func (c *Crawl) Relevant() (n int) {
	for _, f := range c.pages {
		n += boolInt(f.verdict.Relevant)
	}
	return n
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CrawlPages is a crawl with its pages, in any order; those that were not fetched
// in the crawl are passed over.
type CrawlPages struct {
	Crawl *Crawl
	Pages iter.Seq2[*web.Page, error]
}

// ApprenticeOptions says how an apprentice is taught.
type ApprenticeOptions struct {
	// Scorer is apprentice (default) or apprentice-tempered, and Set changes its
	// settings that bear on training: apprentice.Settings.
	Scorer string
	Set    map[string]float64
	// Analyzer makes terms of texts, as the parser's does; nil = a new one.
	Analyzer *text.Analyzer
	// Classes names the classes of a page, as its verdict had them in the crawl,
	// which logs do not keep; nil = there are none.
	Classes func(*web.Page) []string
	Topic   string
	Texts   map[string]string // what more the provenance is to tell
	Version string            // of the program, for the provenance
	// Progress is told how many pages were read; it may be nil.
	Progress func(done, total int)
}

// tempered tells which apprentice is trained.
func (o *ApprenticeOptions) tempered() (bool, error) {
	return apprentice.Tempered(cmp.Or(o.Scorer, "apprentice"))
}

// trainer is one by the options, with other values for some settings.
func (o *ApprenticeOptions) trainer(more map[string]float64) (*apprentice.Trainer, error) {
	tempered, err := o.tempered()
	if err != nil {
		return nil, err
	}
	set := maps.Clone(o.Set)
	if set == nil {
		set = map[string]float64{}
	}
	maps.Copy(set, more)
	t, err := apprentice.NewTrainer(tempered, apprentice.Options{Set: set, Analyzer: o.Analyzer})
	if err != nil {
		return nil, fmt.Errorf("scorer %s: %w", cmp.Or(o.Scorer, "apprentice"), err)
	}
	return t, nil
}

// ApprenticeModel is a model with how well it tells links apart.
type ApprenticeModel struct {
	File *model.File
	// Missing is how many pages of the crawls were not among those given.
	Missing int
	// Low and High are the examples, on each side of the boundary.
	Low, High int
	// Held is how well links to a fifth of the targets were told apart by what
	// the links to the others taught; the model then learnt from them as well.
	Held Accuracy
}

// Accuracy counts links by what they were taken for: Right of Low, and of High.
type Accuracy struct {
	Low, High           int
	RightLow, RightHigh int
}

// Of is the share of a side that was taken for what it is; NaN where there is
// none. All is that of both sides together.
func (a Accuracy) OfLow() float64  { return float64(a.RightLow) / float64(a.Low) }
func (a Accuracy) OfHigh() float64 { return float64(a.RightHigh) / float64(a.High) }
func (a Accuracy) All() float64 {
	return float64(a.RightLow+a.RightHigh) / float64(a.Low+a.High)
}

// Balanced is the mean of OfLow and OfHigh: ½ is no better than a blind guess,
// however few links are on one side. It is NaN where a side has none.
func (a Accuracy) Balanced() float64 { return (a.OfLow() + a.OfHigh()) / 2 }

func (a *Accuracy) add(t *apprentice.Trainer, x apprentice.Example) {
	high := t.Predict(x) > 0.5
	if t.High(x) {
		a.High++
		a.RightHigh += boolInt(high)
	} else {
		a.Low++
		a.RightLow += boolInt(!high)
	}
}

// heldOut tells whether a target is one of the fifth that teaches nothing at
// first.
func heldOut(u web.URL) bool { return xxh3.HashString(u.String())%5 == 0 }

// ErrTooFewExamples is wrapped by the error of Apprentice for crawls whose links teach
// nothing.
var ErrTooFewExamples = errors.New("there is nothing to learn from")

// Apprentice makes an apprentice's model of crawls that have ended: of every
// link from a page to one that was fetched later (section 2.2 of that paper). With
// an ErrTooFewExamples it returns a model as well, by which a scorer orders links by R(u).
func Apprentice(ctx context.Context, crawls []CrawlPages, o ApprenticeOptions) (ApprenticeModel, error) {
	t, err := o.trainer(nil)
	if err != nil {
		return ApprenticeModel{}, err
	}
	var held []apprentice.Example
	var pages, targets, read int
	sites := map[web.Host]bool{}
	set := xxh3.New()
	for _, l := range crawls {
		err := l.each(ctx, o.Classes, o.Progress, func(p *web.Page, f visit) {
			read++
			fmt.Fprintf(set, "%s %d %v\n", p.URL, f.place, f.verdict.Relevance)
			sites[p.URL.Host()] = true
			t.Examples(p, f.verdict, func(u web.URL) apprentice.Outcome { return l.Crawl.outcome(f, u) }, func(link int, x apprentice.Example) {
				if heldOut(p.Links[link].URL) {
					held = append(held, x)
				} else {
					t.Learn(x)
				}
			})
		})
		if err != nil {
			return ApprenticeModel{}, err
		}
		pages += l.Crawl.Len()
		targets += l.Crawl.Relevant()
	}
	t.Model()
	out := ApprenticeModel{Missing: pages - read}
	for _, x := range held {
		out.Held.add(t, x)
	}
	for _, x := range held {
		t.Learn(x)
	}
	m := t.Model()
	out.Low, out.High = int(m.Links[0]), int(m.Links[1])
	settings := map[string]float64{}
	tempered, _ := o.tempered() // no error, or there would be no trainer
	for _, s := range apprentice.Settings(tempered) {
		if s.Name == "words" {
			continue // which bears on scores and not on the model
		}
		settings[s.Name] = s.Default
		if v, ok := o.Set[s.Name]; ok {
			settings[s.Name] = v
		}
	}
	out.File = &model.File{
		Kind: model.Apprentice, Payload: m,
		Provenance: model.Provenance{
			Waggle: o.Version, Topic: o.Topic, TrainingSet: fmt.Sprintf("%016x", set.Sum64()),
			Sites: slices.Sorted(maps.Keys(sites)), Pages: pages, Targets: targets, Settings: settings, Texts: o.Texts,
		},
	}
	if min(out.Low, out.High) < apprentice.LeastExamples {
		return out, fmt.Errorf("%w: of %d links that were followed %d led to pages of high relevance, and %d of each side are the least; take a longer crawl, or another boundary (--set boundary=1)", ErrTooFewExamples, out.Low+out.High, out.High, apprentice.LeastExamples)
	}
	return out, nil
}

// each calls do with the pages of a crawl, whose verdicts get classes unless that is
// nil.
func (l CrawlPages) each(ctx context.Context, classes func(*web.Page) []string, progress func(done, total int), do func(*web.Page, visit)) error {
	done := 0
	for p, err := range l.Pages {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		f, ok := l.Crawl.pages[p.URL]
		if !ok {
			continue
		}
		if classes != nil {
			f.verdict.Classes = classes(p)
		}
		do(p, f)
		if done++; progress != nil {
			progress(done, l.Crawl.Len())
		}
	}
	return nil
}
