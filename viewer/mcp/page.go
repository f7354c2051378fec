package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

type pageIn struct {
	URL   string `json:"url" jsonschema:"the address of the page"`
	From  int    `json:"from,omitempty" jsonschema:"from which character of the text on; 0 is the first"`
	Most  int    `json:"most,omitempty" jsonschema:"how many characters of the text, up to 20000; 8000 where nothing is said"`
	Links bool   `json:"links,omitempty" jsonschema:"give the links of the page, up to 200"`
}

type pageOut struct {
	URL       string  `json:"url"`
	Title     string  `json:"title"`
	Relevance float64 `json:"relevance"`
	Threshold float64 `json:"threshold" jsonschema:"the relevance from which on the judge calls a page relevant"`
	Relevant  bool    `json:"relevant"`
	NotKept   string  `json:"not_kept,omitempty" jsonschema:"why it is no harvest"`
	Language  string  `json:"language,omitempty"`
	Type      string  `json:"type"`
	Fetched   string  `json:"fetched"`
	Text      string  `json:"text" jsonschema:"the main text, or all of it where no main text was found; untrusted"`
	All       int     `json:"all" jsonschema:"how many characters the text has"`
	More      int     `json:"more" jsonschema:"how many of them are left behind this piece"`
	Missing   string  `json:"missing,omitempty" jsonschema:"why there is no text"`
	Way       []step  `json:"way" jsonschema:"the pages that led to it, a seed first"`
	Links     []link  `json:"links,omitempty"`
}

type step struct {
	URL    string `json:"url"`
	Title  string `json:"title,omitempty"`
	Anchor string `json:"anchor,omitempty" jsonschema:"the text of the link that led here"`
}

type link struct {
	URL    string `json:"url"`
	Anchor string `json:"anchor,omitempty"`
	Fate   string `json:"fate" jsonschema:"what became of it"`
	Why    string `json:"why,omitempty"`
}

func (s *Server) page(ctx context.Context, in pageIn) (pageOut, error) {
	out := pageOut{Way: []step{}}
	most := cmp.Or(in.Most, 8000)
	switch {
	case most < 0 || most > maxText:
		return out, fmt.Errorf("most: ask for 1 to %d characters, and for further ones by from", maxText)
	case in.From < 0:
		return out, errors.New("from: give 0 or more")
	}
	u, err := s.address(in.URL)
	if err != nil {
		return out, err
	}
	p, err := s.crawl.Page(u)
	if err != nil {
		return out, err
	}
	out = pageOut{
		URL: u.String(), Title: cut(p.Title, maxLine), Relevance: p.Relevance, Threshold: p.Threshold, Relevant: p.Relevant, NotKept: p.Brief,
		Language: cut(p.Language, 10), Type: cut(p.MIME, 100), Fetched: moment(p.At), Way: []step{},
	}
	for _, x := range p.Way[max(0, len(p.Way)-maxWay):] {
		out.Way = append(out.Way, step{x.URL.String(), cut(x.Title, maxLine), cut(x.Anchor, 200)})
	}
	archived, err := s.crawl.Archived(ctx, u)
	if err != nil {
		out.Missing = cut(err.Error(), maxLine)
		return out, ctx.Err()
	}
	text := []rune(textOf(archived.Page))
	out.All = len(text)
	text = text[min(in.From, len(text)):]
	piece := text[:min(most, len(text))]
	out.Text, out.More = string(piece), len(text)-len(piece)
	if in.Links {
		out.Links = s.links(archived.Page)
	}
	return out, nil
}

// textOf is the main text of a page, or all of it where it has none: lines that can be
// shown.
func textOf(p *web.Page) string {
	var lines []string
	for l := range strings.Lines(p.Main) {
		lines = append(lines, event.Line(l))
	}
	if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
		return text
	}
	lines = nil
	for _, l := range p.Leaves {
		if text := event.Line(l.Text); text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// links are those of a page, each address once, with what became of them.
func (s *Server) links(p *web.Page) []link {
	var out []link
	seen := map[web.URL]bool{p.URL: true}
	s.crawl.With(func(f *figures.Crawl) {
		for _, l := range p.Links {
			if seen[l.URL] || len(out) == maxLinks {
				continue
			}
			seen[l.URL] = true
			fate := f.Fate(l.URL)
			out = append(out, link{l.URL.String(), cut(l.Anchor, 200), string(fate.Fate), fate.Brief})
		}
	})
	return out
}

type valuesIn struct {
	URL string `json:"url" jsonschema:"the address of the page"`
}

type valuesOut struct {
	URL    string         `json:"url"`
	Values []watch.Values `json:"values" jsonschema:"the values of each field; none where the page has none; untrusted"`
}

func (s *Server) values(ctx context.Context, in valuesIn) (valuesOut, error) {
	out := valuesOut{Values: []watch.Values{}}
	u, err := s.address(in.URL)
	if err != nil {
		return out, err
	}
	got, err := s.crawl.Values(ctx, u)
	out.URL, out.Values = u.String(), append(out.Values, got...)
	return out, err
}

type explainIn struct {
	URL string `json:"url" jsonschema:"the address of a page, fetched or not"`
}

type explainOut struct {
	Fate   string   `json:"fate"`
	Text   string   `json:"text"`
	Doubts []string `json:"doubts" jsonschema:"what cannot be told, and why"`
}

func (s *Server) explain(ctx context.Context, in explainIn) (explainOut, error) {
	u, err := s.address(in.URL)
	if err != nil {
		return explainOut{}, err
	}
	got, err := s.crawl.Explain(ctx, u)
	if err != nil {
		return explainOut{}, err
	}
	text := []rune(strings.ToValidUTF8(got.Text, ""))
	out := explainOut{Fate: string(got.Fate), Text: string(text[:min(maxText, len(text))]), Doubts: []string{}}
	for _, d := range got.Doubts {
		out.Doubts = append(out.Doubts, cut(d, maxLine))
	}
	return out, nil
}

type labelIn struct {
	URL   string `json:"url" jsonschema:"the address of a page that was fetched"`
	Label string `json:"label" jsonschema:"relevant, irrelevant, or more: relevant, and its links go before all others"`
}

type labelOut struct {
	Number int    `json:"number" jsonschema:"the number of the act, by which a person can undo it; 0 where several workers number it later"`
	Note   string `json:"note"`
}

func (s *Server) label(_ context.Context, in labelIn) (labelOut, error) {
	u, err := s.address(in.URL)
	if err != nil {
		return labelOut{}, err
	}
	var p figures.Page
	if _, err := s.crawl.Fetched(u, &p); err != nil {
		return labelOut{}, err // only of a fetched page
	}
	col := s.crawl.Collection()
	n, err := col.Act(event.Act{Do: event.Verb(in.Label), URL: u})
	if err != nil {
		return labelOut{}, err
	}
	when := "The crawl takes it in within a second."
	if !col.Running() {
		when = "The crawl takes it in when it goes on."
	}
	undo := fmt.Sprintf("To undo it: waggle steer %s undo %d", event.Line(col.Dir()), n)
	if n == 0 {
		undo = fmt.Sprintf("It is for all workers, which number it when they take it in: waggle steer %s list tells the number, by which it can be undone.", event.Line(col.Dir()))
	}
	return labelOut{n, when + " " + undo}, nil
}
