// Package seeds looks for pages from which a crawl may start: it asks search
// interfaces and reads lists that the user has, and ranks what it finds by the judge.
//
// What is asked goes through one function that fetches, so politeness, robots.txt and
// the address guard hold for it as they do for a crawl.
package seeds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// Seed is a page from which a crawl may start. Its texts are untrusted.
type Seed struct {
	URL      web.URL
	Title    string
	Text     string  // what the source says of it
	Source   string  // the kind of the first source that named it
	Likeness float64 // of address, title and text to the topic, in [0,1]
	// Of a page that was fetched and judged:
	Judged    bool
	Relevance float64
	Relevant  bool
}

// Judge is what of a judge ranks seeds.
type Judge interface {
	Judge(ctx context.Context, p *web.Page) (web.Verdict, error)
	Text(s string) float64
}

// Finder finds seeds.
type Finder struct {
	// Get fetches a document.
	Get    func(ctx context.Context, u web.URL) (*web.Response, error)
	Parser crawl.Parser
	// Analyzer is that of Parser; nil = the one of English.
	Analyzer *text.Analyzer
	Judge    Judge
	// Words are what search interfaces are asked for first: keywords, or what
	// TypicalWords gives of example pages.
	Words []string
	// Contact is told to interfaces that ask for it; "" = none.
	Contact string
	// Rounds is how often interfaces are asked; from the second round on with words
	// of the relevant pages of the rounds before. At least 1.
	Rounds int
	// Pages is how many of the likeliest pages are fetched and judged in each round;
	// 0 = none, and seeds are ranked by their likeness alone.
	Pages int
	// Note is told what goes wrong, and what is asked; nil = nobody.
	Note func(string)

	found    map[web.URL]*Seed
	gone     map[web.URL]bool // pages that could not be had
	relevant []*web.Page      // judged so
	answers  []*web.Response  // of the source that is asked, without their bodies
}

// Find asks sources and ranks what they give: relevant pages by their relevance, then
// pages that were not judged by their likeness. Pages that were judged not relevant
// are left out. A source that fails is told to Note, and what it gave before that is used;
// the error is that of all of them if all fail and give nothing, or of ctx.
func (f *Finder) Find(ctx context.Context, sources []Source) ([]Seed, error) {
	f.found, f.gone = map[web.URL]*Seed{}, map[web.URL]bool{}
	if f.Analyzer == nil {
		f.Analyzer = text.NewAnalyzer()
	}
	if f.Note == nil {
		f.Note = func(string) {}
	}
	words := f.Words
	var errs []error
	worked := false
	rounds := f.Rounds
	if !slices.ContainsFunc(sources, func(s Source) bool { return s.kind.Asks }) {
		rounds = 1
	}
	for round := range max(1, rounds) {
		for _, s := range sources {
			if round > 0 && !s.kind.Asks {
				continue
			}
			f.answers = nil
			found, err := s.kind.find(ctx, f, s.Where, strings.Join(words, " "))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", s, err)
				errs = append(errs, err)
			}
			if err != nil && (len(sources) > 1 || len(found) > 0 || worked) { // else it is the error of all
				f.Note(event.Line(err.Error()))
			}
			worked = worked || err == nil || len(found) > 0
			if err == nil || len(found) > 0 {
				f.Note(fmt.Sprintf("%s: %s", s, terminal.Count(f.take(found, s.kind.Name), "page")))
			}
		}
		if err := f.judge(ctx); err != nil {
			return nil, err
		}
		more := TypicalWords(f.relevant, f.Analyzer, feedbackWords, f.Words)
		if len(more) == 0 {
			break
		}
		words = append(slices.Clone(f.Words), more...)
		if round+1 < rounds {
			f.Note("the next round asks for: " + event.Line(strings.Join(words, " ")))
		}
	}
	if !worked {
		return nil, errors.Join(errs...)
	}
	return f.ranked(), nil
}

// feedbackWords is how many words of relevant pages a later round adds.
const feedbackWords = 3

// maxFound bounds how many pages are kept of all sources.
const maxFound = 100_000

// take keeps pages that are new, and returns how many these are. Addresses that repeat what lets the
// user in are left out, and that is noted.
func (f *Finder) take(found []Seed, source string) (n int) {
	telling := 0
	defer func() {
		if telling > 0 {
			f.Note(fmt.Sprintf("%s: %s left out: %s", source, terminal.Count(telling, "address"), web.ReasonTelling.Meaning()))
		}
	}()
	for _, s := range found {
		if slices.ContainsFunc(f.answers, func(r *web.Response) bool { return r.Tells(s.URL) }) {
			telling++
			continue
		}
		if f.found[s.URL] != nil || f.gone[s.URL] || len(f.found) >= maxFound {
			continue
		}
		s.Source = source
		s.Title, s.Text = event.Line(head(s.Title, 1000)), event.Line(head(s.Text, 4000))
		s.Likeness = f.Judge.Text(strings.Join([]string{s.Title, s.Text, pathWords(s.URL)}, " "))
		f.found[s.URL] = &s
		n++
	}
	return n
}

// pathWords are the words of an address.
func pathWords(u web.URL) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/-_.+%?&=", r) {
			return ' '
		}
		return r
	}, u.Path())
}

func head(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// judge fetches the likeliest pages that were not judged yet, and judges them.
func (f *Finder) judge(ctx context.Context) error {
	var list []*Seed
	for _, s := range f.found {
		if !s.Judged {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, better)
	for i, s := range list[:min(len(list), f.Pages)] {
		f.Note(fmt.Sprintf("judging %d of %d: %s", i+1, min(len(list), f.Pages), event.Line(s.URL.String())))
		r, err := f.Get(ctx, s.URL)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f.leave(s.URL) // a crawl could not have it either
			f.Note(event.Line(fmt.Sprintf("%s: %v", s.URL, err)))
			continue
		}
		p, errParse := f.Parser.Parse(r)
		status := r.Status
		r.Release()
		if status != 200 || errParse != nil {
			f.leave(s.URL)
			why := fmt.Sprintf("status %d: no page to start from", status)
			if status == 200 {
				why = errParse.Error()
			}
			f.Note(event.Line(fmt.Sprintf("%s: %s", s.URL, why)))
			continue
		}
		v, err := f.Judge.Judge(ctx, p)
		if err != nil {
			return err
		}
		s.Judged, s.Relevance, s.Relevant = true, v.Relevance, v.Relevant
		if !v.Relevant {
			f.Note(fmt.Sprintf("left out as not relevant, %.2f: %s", v.Relevance, event.Line(s.URL.String())))
		}
		if s.Title == "" {
			s.Title = event.Line(r.WithoutTelling(p).Title)
		}
		if v.Relevant {
			f.relevant = append(f.relevant, p)
		}
	}
	return nil
}

// leave forgets a page that could not be had, so that no later round asks for it again.
func (f *Finder) leave(u web.URL) {
	delete(f.found, u)
	f.gone[u] = true
}

// better orders seeds: relevant ones, likely ones, and then by address.
func better(a, b *Seed) int {
	return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(b.Likeness, a.Likeness), strings.Compare(a.URL.String(), b.URL.String()))
}

// LeftOut are the pages that were judged not relevant, the most relevant of them first.
func (f *Finder) LeftOut() (out []Seed) {
	for _, s := range f.found {
		if s.Judged && !s.Relevant {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Seed) int { return better(&a, &b) })
	return out
}

func (f *Finder) ranked() (out []Seed) {
	var list []*Seed
	for _, s := range f.found {
		if !s.Judged || s.Relevant {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *Seed) int {
		if a.Judged != b.Judged {
			if a.Judged {
				return -1
			}
			return 1
		}
		return better(a, b)
	})
	for _, s := range list {
		out = append(out, *s)
	}
	return out
}

// TypicalWords are n words that tell pages from others: words that stand on most of them and
// are rare in the languages of a, by which the pages were parsed. Words whose stems are among
// those of known are left out. Of a script without spaces they are pairs of characters.
//
// A word has the weight Σ tf/(tf+1) · idf over the pages.
//
// Source: Rocchio, Relevance feedback in information retrieval (1971), with the relevant
// pages alone.
func TypicalWords(pages []*web.Page, a *text.Analyzer, n int, known []string) (out []string) {
	if len(pages) == 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, language := range a.Languages() {
		for _, k := range known {
			for _, stem := range a.In(language).Words(k) {
				taken[stem] = true
			}
		}
	}
	df := text.BackgroundOf(a.Languages()...)
	weights := map[string]float64{}
	forms := map[string]map[string]int{} // how each stem is written
	form := func(stem, word string) {
		if forms[stem] == nil {
			forms[stem] = map[string]int{}
		}
		forms[stem][word]++
	}
	for _, p := range pages {
		by := a.In(p.TermLanguage)
		for _, t := range p.Terms {
			if by.Spaceless(t.Text) {
				form(t.Text, t.Text)
			}
			if !taken[t.Text] && len(t.Text) > 2 && strings.Trim(t.Text, "0123456789") != "" {
				tf := float64(t.Body)
				weights[t.Text] += tf / (tf + 1) * df.IDF(t.Text)
			}
		}
		for word := range strings.FieldsSeq(strings.ToLower(head(p.Title+" "+p.Main, 64<<10))) {
			word = strings.Trim(word, ".,;:!?()[]\"'“”‘’–—")
			if stems := by.Words(word); len(stems) == 1 {
				form(stems[0], word)
			}
		}
	}
	stems := make([]string, 0, len(weights))
	for s := range weights {
		if forms[s] != nil && !math.IsInf(weights[s], 0) {
			stems = append(stems, s)
		}
	}
	slices.SortFunc(stems, func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a, b))
	})
	for _, s := range stems[:min(n, len(stems))] {
		best := ""
		for form, times := range forms[s] {
			if best == "" || times > forms[s][best] || times == forms[s][best] && form < best {
				best = form
			}
		}
		out = append(out, best)
	}
	return out
}
