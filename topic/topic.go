// Package topic holds what a user wants a crawl to find: words that name it,
// a sentence that describes it, pages that show it and pages that show what it
// is not. Judges and scorers are made from it.
package topic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// Topic is what the user wants. It is not changed once a crawl started.
type Topic struct {
	Name        string
	Description string      // a sentence or a few
	Keywords    []string    // words or phrases, the first is no more important than the last
	Examples    []*web.Page // wanted pages, parsed
	Negatives   []*web.Page // pages that look alike but are not wanted, parsed
	Language    []string    // ISO 639-1 codes of its languages; nil = what it is written in
}

// Languages are the languages of the topic, at least one: those that are given, or else
// that of description and keywords and then those of the examples. It is English where
// nothing tells.
func (t *Topic) Languages() []string {
	var out []string
	add := func(l string) {
		if l = text.Canonical(l); l != "" && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	for _, l := range t.Language {
		add(l)
	}
	if out == nil {
		add(text.GuessWords(strings.Join(append([]string{t.Description}, t.Keywords...), "\n")))
		for _, p := range t.Examples {
			if p != nil {
				add(text.Guess(p.Main))
			}
		}
	}
	if out == nil {
		out = []string{text.English}
	}
	return out
}

// ErrNothing says that a topic holds nothing by which a page could be judged.
var ErrNothing = errors.New("the topic says nothing of what is wanted: give keywords, a description or example pages")

// Validate returns ErrNothing for a topic that gives nothing, and an error
// that names the part for keywords and examples that hold no word in any of its Languages.
func (t *Topic) Validate() error {
	a := text.NewAnalyzer(t.Languages()...)
	tells := func(s string) bool {
		return slices.ContainsFunc(a.Languages(), func(l string) bool { return len(a.In(l).Words(s)) > 0 })
	}
	for i, k := range t.Keywords {
		if !tells(k) {
			return fmt.Errorf("topic keyword %d, %q: no word that tells something; leave it out or write it otherwise", i+1, k)
		}
	}
	for _, s := range []struct {
		kind  string
		pages []*web.Page
	}{{"example", t.Examples}, {"negative example", t.Negatives}} {
		for i, p := range s.pages {
			if p == nil {
				return fmt.Errorf("topic %s %d: no page", s.kind, i+1)
			}
			if len(p.Terms) == 0 {
				return fmt.Errorf("topic %s %d, %s: the page has no text; give another one", s.kind, i+1, p.URL)
			}
		}
	}
	if len(t.Keywords) == 0 && len(t.Examples) == 0 && !tells(t.Description) {
		return ErrNothing
	}
	return nil
}

// Analyzer makes stems of texts.
type Analyzer interface{ Words(text string) []string }

// Phrases are the keywords as stems, one phrase a keyword, without those that
// hold no word and without repetitions.
func (t *Topic) Phrases(a Analyzer) [][]string {
	var out [][]string
	seen := map[string]bool{}
	for _, k := range t.Keywords {
		p := a.Words(k)
		key := strings.Join(p, " ")
		if len(p) > 0 && !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

// DescriptionStems are the stems of the description, each once, in the order
// of first use.
func (t *Topic) DescriptionStems(a Analyzer) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range a.Words(t.Description) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
