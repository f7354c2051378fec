package feature_test

import (
	"math"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/web"
)

func termPage(terms ...web.Term) *web.Page { return &web.Page{Terms: terms} }

// lexicon is that of three pages: a in all, b in two, c and d in one.
func lexicon(least int, df *text.DF) *feature.Lexicon {
	return feature.CountTerms([]*web.Page{
		termPage(web.Term{Text: "a", Body: 1}, web.Term{Text: "b", Body: 5}),
		termPage(web.Term{Text: "a", Body: 1}, web.Term{Text: "b", Body: 1}, web.Term{Text: "c", Body: 9}),
		termPage(web.Term{Text: "a", Body: 2}, web.Term{Text: "d", Body: 1}),
	}, least, df)
}

func words(l *feature.Lexicon) (out []string) {
	for i := range l.Len() {
		out = append(out, l.Word(uint32(i)))
	}
	return out
}

// Vectors of pages and texts, tf·idf as in section 3.1 of Batsakis, Petrakis &
// Milios 2009; their dot product is the cosine.
func TestLexiconVectors(t *testing.T) {
	l := lexicon(2, nil)
	if got := words(l); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("words of two pages or more: %q", got)
	}
	ia, ib := math.Log(4./3), math.Log(4./2)
	page := l.Page(termPage(web.Term{Text: "a", Body: 3}, web.Term{Text: "b", Body: 1}, web.Term{Text: "x", Body: 7}))
	length := math.Hypot(3*ia, ib)
	for i, want := range []float64{3 * ia / length, ib / length} {
		if got := page.At(uint32(i)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s has %v, want %v", l.Word(uint32(i)), got, want)
		}
	}
	text := l.Text([]string{"b", "x", "b"})
	if want := page.At(1); math.Abs(page.Dot(text)-want) > 1e-12 {
		t.Errorf("cosine of page and text: %v, want %v", page.Dot(text), want)
	}
	if got := l.Counts([]string{"b", "a", "x", "b"}); !slices.Equal(got, sparse.Vector{{ID: 0, Value: 1}, {ID: 1, Value: 2}}) {
		t.Errorf("counts %v", got)
	}
	if v := l.Page(termPage(web.Term{Text: "x", Body: 7})); v != nil {
		t.Errorf("a page without a known word is %v", v)
	}
	if v := l.Text(nil); v != nil {
		t.Errorf("no text is %v", v)
	}
}

// The n words of highest tf·idf, with their counts.
func TestLexiconTop(t *testing.T) {
	l := lexicon(1, nil) // idf: a .29, b .69, c and d 1.39
	p := termPage(web.Term{Text: "a", Body: 9}, web.Term{Text: "b", Body: 2}, web.Term{Text: "c", Body: 1}, web.Term{Text: "d", Body: 1})
	for n, want := range []sparse.Vector{
		{},
		{{ID: 0, Value: 9}},
		{{ID: 0, Value: 9}, {ID: 1, Value: 2}}, // b, c and d weigh the same: the first goes
		{{ID: 0, Value: 9}, {ID: 1, Value: 2}, {ID: 2, Value: 1}},
		{{ID: 0, Value: 9}, {ID: 1, Value: 2}, {ID: 2, Value: 1}, {ID: 3, Value: 1}},
		{{ID: 0, Value: 9}, {ID: 1, Value: 2}, {ID: 2, Value: 1}, {ID: 3, Value: 1}},
	} {
		if got := l.Top(p, n); !slices.Equal(got, want) {
			t.Errorf("the top %d: %v, want %v", n, got, want)
		}
	}
}

func TestLexiconBinary(t *testing.T) {
	l := lexicon(1, text.Background())
	b, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read feature.Lexicon
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	again, _ := read.MarshalBinary()
	if !slices.Equal(again, b) || !slices.Equal(words(&read), words(l)) {
		t.Errorf("read back %q", words(&read))
	}
	p := termPage(web.Term{Text: "a", Body: 9}, web.Term{Text: "c", Body: 2})
	if got, want := read.Page(p), l.Page(p); !slices.Equal(got, want) {
		t.Errorf("a page is %v, was %v", got, want)
	}
	for n := range b {
		if err := read.UnmarshalBinary(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(b))
		}
	}
	if err := read.UnmarshalBinary(append(slices.Clone(b), 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
}

func FuzzLexicon(f *testing.F) {
	b, err := lexicon(1, nil).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{1, 1, 'a', 0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var l feature.Lexicon
		if l.UnmarshalBinary(b) != nil {
			return
		}
		again, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var second feature.Lexicon
		if err := second.UnmarshalBinary(again); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(words(&l), words(&second)) {
			t.Fatalf("%q, read again %q", words(&l), words(&second))
		}
	})
}

// Words of a link are told apart by where they stand.
func TestLinkWords(t *testing.T) {
	a := text.NewAnalyzer()
	u, err := web.Parse("http://bees.test/honey/bees.html?page=2")
	if err != nil {
		t.Fatal(err)
	}
	l := &web.Link{URL: u, Anchor: "Honey bees", Before: "see", After: "and honey", Heading: "Bees"}
	want := []string{"anchor:honey", "anchor:bee", "around:see", "around:honey", "heading:bee", "url:honey", "url:bee", "url:page"}
	got := feature.LinkWords(nil, a, l)
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	lexicon := feature.CountWords(1, 1, func(int) []string { return got }, nil)
	if v := lexicon.Link(a, l); !slices.Equal(v, lexicon.Counts(got)) {
		t.Errorf("%v, want %v", v, lexicon.Counts(got))
	}
}
