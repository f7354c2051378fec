package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Pages are found among the relevant ones as the log says it last: one that was left out once a
// person says so, a copy never, one of a high relevance not where its kind is not wanted, and all
// by a threshold that the crawl was told since.
func TestVerdicts(t *testing.T) {
	c := made(t)
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	i := slices.IndexFunc(lines, func(l []byte) bool {
		_, of, _ := bytes.Cut(l, []byte(`"url":`)) // of the page; its links have others
		return bytes.HasPrefix(l, []byte(`{"kind":"fetched"`)) && bytes.HasPrefix(of, []byte(`"https://bees.test/text"`))
	})
	line, _, _ := bytes.Cut(lines[i], []byte(`,"crc":`)) // which would be that of another line
	lines[i] = append(bytes.Replace(line, []byte(`,"relevance":`), []byte(`,"reason":"login","relevance":`), 1), "}\n"...)
	for _, said := range []struct {
		verdict, threshold string
		want               []string
	}{
		{``, ``, []string{"/dance"}},
		{`"relevance":0.9,"similarity":1,"relevant":true`, ``, []string{"/dance", "/text"}},
		{`"relevance":0.6,"similarity":1,"was":true`, ``, nil}, // the label was undone, and the judge likes them
		{``, `0.7`, nil},
		{``, `0.5`, []string{"/dance"}},
		{`"relevance":0.6,"similarity":1,"was":true`, ``, nil},
		{`"relevance":0.8,"similarity":1,"reason":"links-only"`, ``, nil}, // their kind is not wanted
		{``, `0.4`, nil},
		{`"relevance":0.9,"similarity":1`, `0.3`, nil},
		{`"relevance":0.9,"similarity":1,"relevant":true`, ``, []string{"/dance", "/text"}},
	} {
		if said.verdict != "" {
			const page = `{"url":"https://bees.test/%s",%s}`
			pages := fmt.Sprintf(page+","+page+","+page, "text", said.verdict, "copy", said.verdict, "dance", said.verdict)
			lines = append(lines, fmt.Appendf(nil, `{"kind":"rejudged","at":"2000-01-02T00:00:00Z","pages":[%s]}`+"\n", pages))
		}
		if said.threshold != "" {
			lines = append(lines, fmt.Appendf(nil, `{"kind":"changed","at":"2000-01-02T00:00:00Z","setting":"judge.threshold","old":"0.25","new":"%s"}`+"\n", said.threshold))
		}
		if err := os.WriteFile(c.EventLog(), bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, index := range []string{Dir(c), filepath.Join(t.TempDir(), "fresh")} {
			b, err := NewBuilder(c, index, parse.New(parse.Options{}))
			if err == nil {
				err = b.Update(t.Context(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			closing(t, b)
			found, err := reader(t, index).Search(t.Context(), Query{Verdict: Relevant, Sort: ByURL})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range found.Hits {
				if p := h.URL.Path(); p == "/text" || p == "/copy" || p == "/dance" {
					got = append(got, p)
				}
				if !h.Relevant {
					t.Errorf("%s is found among the relevant pages, and is said to be none", h.URL)
				}
			}
			if !slices.Equal(got, said.want) {
				t.Errorf("%s, after %q, threshold %q: %q, want %q", filepath.Base(index), said.verdict, said.threshold, got, said.want)
			}
		}
	}
}

// happening is what happens once, while all who come wait for it.
type happening struct {
	mu sync.Mutex
	do func() // nil = nothing, or it has happened
}

func (h *happening) now() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.do != nil {
		h.do()
		h.do = nil
	}
}

// meanwhile is a parser that has something happen before the next page.
type meanwhile struct {
	crawl.Parser
	happens happening
}

func (m *meanwhile) Parse(r *web.Response) (*web.Page, error) {
	m.happens.now()
	return m.Parser.Parse(r)
}

// whileAsked is a context that has something happen when it is asked for an error.
type whileAsked struct {
	context.Context
	happens happening
}

func (w *whileAsked) Err() error {
	w.happens.now()
	return w.Context.Err()
}

// A log that is cut back and grows again while an Update reads it, the first time or between that
// and the second, ends in the index of the log that is there.
func TestAnotherLogWhileIndexing(t *testing.T) {
	c := made(t)
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	closing(t, builder(t, c))
	want := all(t, Dir(c))
	lines := bytes.SplitAfter(log, []byte("\n"))
	put := func(lines [][]byte) { // another file: one that is open stays as it was
		other := filepath.Join(t.TempDir(), "log")
		if err := errors.Join(os.WriteFile(other, bytes.Join(lines, nil), 0o600), os.Rename(other, c.EventLog())); err != nil {
			t.Fatal(err)
		}
	}
	var pages []int
	for i, l := range lines {
		if bytes.HasPrefix(l, []byte(`{"kind":"fetched"`)) {
			pages = append(pages, i)
		}
	}
	for name, was := range map[string][][]byte{
		"a page less":                 slices.Delete(slices.Clone(lines[:pages[5]+1]), pages[2], pages[2]+1),
		"a page less, and judgements": append(slices.Delete(slices.Clone(lines[:pages[5]+1]), pages[2], pages[2]+1), []byte(`{"kind":"rejudged","at":"2000-01-02T00:00:00Z","pages":[{"url":"https://bees.test/","relevance":0.01,"similarity":0,"was":true}]}`+"\n")),
		"longer":                      append(slices.Clone(lines), lines[pages[0]:]...),
	} {
		for _, first := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "index")
			put(lines[:pages[0]+1])
			p, ctx := &meanwhile{Parser: parse.New(parse.Options{})}, &whileAsked{Context: t.Context()}
			b, err := NewBuilder(c, dir, p)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Update(t.Context(), nil); err != nil { // so that the index has a page before
				t.Fatal(err)
			}
			put(was)
			if first {
				ctx.happens.do = func() { put(lines) }
			} else {
				p.happens.do = func() { put(lines) }
			}
			if err := b.Update(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if p.happens.do != nil || ctx.happens.do != nil {
				t.Fatalf("%s: nothing happened", name)
			}
			closing(t, b)
			if got := all(t, dir); !slices.Equal(got, want) {
				t.Errorf("%s, while it is read first (%v): %q\nanew: %q", name, first, got, want)
			}
		}
	}
}

// A log that is cut back behind verdicts which an Update that came to no end had taken in ends in the
// index of the log that is there.
func TestVerdictsAhead(t *testing.T) {
	c := made(t)
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	last := 0
	for i, l := range lines {
		if bytes.HasPrefix(l, []byte(`{"kind":"fetched"`)) {
			last = i
		}
	}
	put := func(lines ...[]byte) {
		if err := os.WriteFile(c.EventLog(), bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(lines[:last]...)
	closing(t, builder(t, c))
	want := all(t, Dir(c))
	verdict := []byte(`{"kind":"rejudged","at":"2000-01-02T00:00:00Z","pages":[{"url":"https://bees.test/","relevance":0.01,"similarity":0,"was":true}]}` + "\n")
	put(slices.Concat(lines[:last], [][]byte{verdict, lines[last]})...)
	ctx, cancel := context.WithCancel(t.Context())
	p := &meanwhile{Parser: parse.New(parse.Options{})}
	p.happens.do = cancel
	b, err := NewBuilder(c, Dir(c), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	closing(t, b)
	if slices.Equal(all(t, Dir(c)), want) {
		t.Fatal("the verdict was not taken in")
	}
	put(lines[:last]...)
	closing(t, builder(t, c))
	if got := all(t, Dir(c)); !slices.Equal(got, want) {
		t.Errorf("%q\nwithout the verdict: %q", got, want)
	}
}

// A last line without an end is none that the index lacks.
func TestBehind(t *testing.T) {
	c := made(t)
	closing(t, builder(t, c))
	r := reader(t, Dir(c))
	log, err := os.OpenFile(c.EventLog(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, log)
	for _, x := range []struct {
		more string
		want bool
	}{{"", false}, {`{"kind":"fet`, false}, {"\n", true}} {
		if _, err := log.WriteString(x.more); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Behind(c); err != nil || got != x.want {
			t.Errorf("after %q: behind %v, %v", x.more, got, err)
		}
	}
}
