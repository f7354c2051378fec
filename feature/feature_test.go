package feature_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

var analyzer = text.NewAnalyzer()

func address(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// page makes a page of "bees=3 honey=1/1": stems with their number in the text
// and, behind a slash, in headings.
func page(terms string) *web.Page {
	p := &web.Page{URL: address("http://a.test/")}
	for _, f := range strings.Fields(terms) {
		var t web.Term
		stem, n, _ := strings.Cut(f, "=")
		if _, err := fmt.Sscanf(strings.Replace(n, "/", " ", 1)+" 0", "%d %d", &t.Body, &t.Head); err != nil {
			panic(err)
		}
		t.Text = stem
		p.Terms = append(p.Terms, t)
	}
	slices.SortFunc(p.Terms, func(a, b web.Term) int { return strings.Compare(a.Text, b.Text) })
	return p
}

func link(anchor, u string) *web.Link { return &web.Link{URL: address(u), Anchor: anchor} }

var beekeeping = &topic.Topic{
	Name: "bees", Description: "how bees dance", Keywords: []string{"waggle dance", "bees", "hobbies"},
	Examples: []*web.Page{page("bee=3 dance=4"), page("honey=1")},
}

// training are four pages: "bee" is important on all, "honey" on three, "wax"
// on two; "hive" is an anchor on three of them, "queen" on two.
func training() []feature.Example {
	hive, queen := link("the hive", "http://a.test/1"), link("a queen, a queen", "http://a.test/2")
	return []feature.Example{
		{Page: page("bee=1/1 honey=1/1 wax=2/1"), Links: []*web.Link{hive, queen}},
		{Page: page("bee=1/1 honey=1/1 wax=2/1"), Links: []*web.Link{hive, queen, queen}},
		{Page: page("bee=1/1 honey=5"), Links: []*web.Link{hive, hive}},
		{Page: &web.Page{Keywords: "honey, bees", Alts: []string{"a honey bee"}}},
	}
}

func build(t testing.TB, o feature.Options) *feature.Space {
	o.Analyzer = analyzer
	s, err := feature.Build(beekeeping, training(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// show writes observations by their names.
func show(s *feature.Space, v sparse.Vector) string {
	var out []string
	for _, e := range v {
		out = append(out, fmt.Sprintf("%s %.4g", s.Name(e.ID), e.Value))
	}
	return strings.Join(out, "; ")
}

func TestPage(t *testing.T) {
	for _, c := range []struct {
		name string
		o    feature.Options
		page *web.Page
		want string
	}{
		{"a target", feature.Options{Subset: feature.Similarity}, page("bee=6 dance=8"), "always 1; like a target 1"},
		// Of the targets (3,4) and honey; the page (1,0) with honey 1: 3/5/√2 and 1/√2.
		{"the nearest target counts", feature.Options{Subset: feature.Similarity}, page("bee=1 honey=1"), "always 1; like a target 0.7071"},
		{"words of no target make a page less similar to one", feature.Options{Subset: feature.Similarity}, page("honey=3 steel=4"), "always 1; like a target 0.6"},
		{"nothing in common with a target", feature.Options{}, page("steel=4"), "always 1"},
		{"the meta description", feature.Options{Subset: feature.Similarity}, &web.Page{Description: "Dancing bees. Steel."}, "always 1; described like the topic 0.8165"},
		{"the text is no description", feature.Options{Subset: feature.Words}, page("danc=1"), "always 1"},
		{"headings", feature.Options{Subset: feature.Words}, page("bee=9/2 honey=1 steel=1/1"), "always 1; “bee” on the page 1"},
		{"meta data and image texts", feature.Options{Subset: feature.Words}, &web.Page{
			Description: "honey", Keywords: "bees", Alts: []string{"a bee"},
		}, "always 1; “bee” on the page 1; “honey” on the page 1"},
		{"words counted", feature.Options{Subset: feature.Words, Counts: true}, &web.Page{
			Description: "honey", Keywords: "bees", Alts: []string{"bee, bee"}, Terms: page("bee=9/2").Terms,
		}, "always 1; “bee” on the page 5; “honey” on the page 1"},
		{"a word of two training pages is not in the vocabulary", feature.Options{Subset: feature.Words}, page("wax=1/1"), "always 1"},
		{"unless two are enough", feature.Options{Subset: feature.Words, MinPages: 2}, page("wax=1/1"), "always 1; “wax” on the page 1"},
		{"an empty page", feature.Options{}, &web.Page{}, "always 1"},
		{"all", feature.Options{}, page("honey=2/1"), "always 1; like a target 1; “honey” on the page 1"},
	} {
		s := build(t, c.o)
		v := s.Page(c.page)
		if err := v.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := show(s, v); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name string
		o    feature.Options
		link *web.Link
		in   string // what the page it led to gains
		out  string // what the page it stands on gains
	}{
		{"a word of the anchor", feature.Options{}, link("Hives!", "http://x.test/"), "“hive” in the anchor that led here 1", "“hive” in the anchor that leads on 1"},
		{"a keyword in the address", feature.Options{}, link("", "http://x.test/bee.html"), "its address holds a keyword 1", "the next address holds a keyword 1"},
		{"both", feature.Options{}, link("hive hive", "http://x.test/dance"),
			"its address holds a keyword 1; “hive” in the anchor that led here 1",
			"the next address holds a keyword 1; “hive” in the anchor that leads on 1"},
		{"a word in anchors of two pages is not in the vocabulary", feature.Options{}, link("queen", "http://x.test/"), "", ""},
		{"the words around an anchor are not of it", feature.Options{}, &web.Link{URL: address("http://x.test/"), Before: "hive"}, "", ""},
		{"unless the options say so", feature.Options{Surroundings: true}, &web.Link{URL: address("http://x.test/"), Before: "hive"},
			"“hive” in the anchor that led here 1", "“hive” in the anchor that leads on 1"},
		{"words alone", feature.Options{Subset: feature.Words}, link("hive", "http://bee.test/"), "", ""},
		{"similarity", feature.Options{Subset: feature.Similarity}, link("hive", "http://x.test/"), "“hive” in the anchor that led here 1", "“hive” in the anchor that leads on 1"},
	} {
		s := build(t, c.o)
		l := s.Link(c.link)
		if in, out := show(s, s.Inlink(l)), show(s, s.Outlink(l)); in != c.in || out != c.out {
			t.Errorf("%s: %q, %q\nwant %q, %q", c.name, in, out, c.in, c.out)
		}
	}
}

// Which addresses hold a keyword (section 3.2, O3 and O4). The keywords are
// waggle, dance, bees, hobbies.
func TestKeywordsInAddresses(t *testing.T) {
	s := build(t, feature.Options{})
	for u, want := range map[string]bool{
		"http://x.test/":                    false,
		"http://x.test/a/waggle":            true,
		"http://waggledancers.test/":        true, // written together
		"http://x.test/?q=DANCING":          true, // by the stem, in any case
		"http://x.test/hobby":               true,
		"http://x.test/bee":                 true,
		"http://bee.test/":                  true,
		"http://bees.test/":                 true,
		"http://x.test/my_bee-2":            true,
		"http://x.test/beer":                false, // a short word stands alone
		"http://x.test/frisbee":             false,
		"http://x.test/frisbee/bee?frisbee": true,
	} {
		if got := s.Link(link("", u)).Keyword; got != want {
			t.Errorf("%s: %v", u, got)
		}
	}
}

// Two links of one page differ by what they themselves show, as section 3.3.1 has
// it.
func TestLinksOfAPageDiffer(t *testing.T) {
	s := build(t, feature.Options{})
	a, b := s.Outlink(s.Link(link("hive", "http://x.test/a"))), s.Outlink(s.Link(link("shop", "http://x.test/b")))
	if reflect.DeepEqual(a, b) {
		t.Errorf("both have %s", show(s, a))
	}
}

// O3 as printed: whether any address on the page holds a keyword. It belongs to
// the page, also to the last of a sequence, and links differ by their words alone.
func TestAnyAddressOfThePage(t *testing.T) {
	s := build(t, feature.Options{AnyAddress: true})
	with, without := &web.Page{}, &web.Page{}
	with.Links = []web.Link{*link("hive", "http://x.test/a"), *link("hive", "http://x.test/bee")}
	without.Links = with.Links[:1]
	if got := show(s, s.Page(with)); got != "always 1; an address on the page holds a keyword 1" {
		t.Errorf("with such an address: %s", got)
	}
	if got := show(s, s.Page(without)); got != "always 1" {
		t.Errorf("without: %s", got)
	}
	for i := range with.Links {
		if got := show(s, s.Outlink(s.Link(&with.Links[i]))); got != "“hive” in the anchor that leads on 1" {
			t.Errorf("link %d: %s", i, got)
		}
	}
	if got := show(s, s.Inlink(s.Link(&with.Links[1]))); got != "its address holds a keyword 1; “hive” in the anchor that led here 1" {
		t.Errorf("O4 is of the link that led here in either case: %s", got)
	}
}

func TestBuildErrors(t *testing.T) {
	silent := &topic.Topic{Examples: []*web.Page{{}}}
	for _, c := range []struct {
		name  string
		topic *topic.Topic
		pages []feature.Example
		o     feature.Options
		want  string
	}{
		{"a vocabulary that matches nothing", beekeeping, training()[:2], feature.Options{}, "lower the number of pages a word needs"},
		{"no page at all", beekeeping, nil, feature.Options{Subset: feature.Words}, "collect more pages"},
		{"targets without text", silent, training(), feature.Options{Subset: feature.Similarity}, "give other targets"},
		{"no such subset", beekeeping, training(), feature.Options{Subset: "some"}, `no subset "some"`},
	} {
		if s, err := feature.Build(c.topic, c.pages, c.o); err == nil {
			t.Errorf("%s: built %s", c.name, s)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A space that was written and read observes what the first one did.
func TestSpaceRoundTrip(t *testing.T) {
	pages := []*web.Page{page("bee=6/1 dance=8"), {Description: "Dancing bees", Keywords: "honey"}, {}}
	links := []*web.Link{link("hive", "http://x.test/bee"), link("wax", "http://x.test/")}
	pages[1].Links = []web.Link{*links[0]}
	for _, o := range []feature.Options{{}, {Subset: feature.Words}, {Subset: feature.Similarity}, {Counts: true, MinPages: 2, Surroundings: true}, {AnyAddress: true}} {
		s := build(t, o)
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		read, err := feature.Read(b, analyzer)
		if err != nil {
			t.Fatal(err)
		}
		if read.Len() != s.Len() || read.String() != s.String() || read.MinPages() != s.MinPages() || !slices.Equal(read.Cuts(), s.Cuts()) {
			t.Errorf("%+v: %v came back as %v", o, s, read)
		}
		for _, p := range pages {
			if got, want := read.Page(p), s.Page(p); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: %v, then %v", o, want, got)
			}
		}
		for _, l := range links {
			if got, want := read.Outlink(read.Link(l)), s.Outlink(s.Link(l)); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: %v, then %v", o, want, got)
			}
		}
		if again, _ := read.MarshalBinary(); string(again) != string(b) {
			t.Errorf("%+v: other bytes the second time", o)
		}
		for i := range b {
			if _, err := feature.Read(b[:i], analyzer); err == nil {
				t.Fatalf("%+v: read from %d of %d bytes", o, i, len(b))
			}
		}
	}
}

// What a page, the link to it and the link from it show lies side by side, so
// that parts of a vector can be put together, and every id has a name.
func TestPartsLieSideBySide(t *testing.T) {
	for _, any := range []bool{false, true} {
		s := build(t, feature.Options{MinPages: 1, AnyAddress: any})
		cuts := s.Cuts()
		p := page("bee=1/1 honey=1/1 wax=2/1")
		p.Links = []web.Link{*link("", "http://bee.test/")}
		l := s.Link(link("the hive of the queen", "http://bee.test/"))
		v := slices.Concat(s.Page(p), s.Inlink(l), s.Outlink(l))
		if err := v.Check(); err != nil {
			t.Fatal(err)
		}
		if last := v[len(v)-1].ID; int(last) != s.Len()-1 {
			t.Errorf("the last id is %d of %d", last, s.Len())
		}
		if in := s.Inlink(l); in[0].ID != cuts[0] || in[len(in)-1].ID >= cuts[1] {
			t.Errorf("%v is not within %v", in, cuts)
		}
		names := map[string]bool{}
		for id := range s.Len() {
			names[s.Name(uint32(id))] = true
		}
		if len(names) != s.Len() {
			t.Errorf("%d names of %d observations", len(names), s.Len())
		}
		if got := s.Name(uint32(s.Len())); got != fmt.Sprintf("observation %d", s.Len()) {
			t.Error(got)
		}
	}
}

// The bytes of a link give it back, and others an error, never another model's
// words.
func TestLinkBytes(t *testing.T) {
	s := build(t, feature.Options{MinPages: 1})
	words := uint32(2) // hive, queen
	rapid.Check(t, func(t *rapid.T) {
		l := feature.Link{Keyword: rapid.Bool().Draw(t, "keyword"), Words: rapid.SliceOfNDistinct(rapid.Uint32Max(words+1), 0, 4, rapid.ID).Draw(t, "words")}
		slices.Sort(l.Words)
		if len(l.Words) == 0 {
			l.Words = nil
		}
		b, _ := l.AppendBinary(nil)
		got, err := s.ReadLink(b)
		foreign := slices.ContainsFunc(l.Words, func(w uint32) bool { return w >= words })
		if (err != nil) != foreign || !foreign && !reflect.DeepEqual(got, l) {
			t.Fatalf("%+v came back as %+v, %v", l, got, err)
		}
		for i := range b {
			if _, err := s.ReadLink(b[:i]); err == nil {
				t.Fatalf("%x cut to %d bytes was read", b, i)
			}
		}
		if _, err := s.ReadLink(append(b, 0)); err == nil {
			t.Fatalf("%x with a byte more was read", b)
		}
	})
}

// Whatever a page holds, its observations are finite and in order.
func TestObservationsAreNumbers(t *testing.T) {
	spaces := []*feature.Space{build(t, feature.Options{}), build(t, feature.Options{Counts: true, MinPages: 1})}
	rapid.Check(t, func(t *rapid.T) {
		p := &web.Page{Description: rapid.String().Draw(t, "description"), Alts: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "alts")}
		for _, w := range []string{"bee", "dance", "honey", "wax"} {
			p.Terms = append(p.Terms, web.Term{Text: w, Body: rapid.Int32().Draw(t, w), Head: rapid.Int32Range(-1, math.MaxInt32).Draw(t, w)})
		}
		for _, s := range spaces {
			v := s.Page(p)
			if err := v.Check(); err != nil {
				t.Fatal(err)
			}
			if c := v.At(feature.TargetCosine); c < 0 || c > 1 {
				t.Fatalf("a cosine of %v", c)
			}
		}
	})
}

// O1 is the cosine by which the paper calls a page relevant, from γ on (section
// 3.4): the similarity that the judge cosine-tf-max gives.
func TestTargetCosineIsTheJudges(t *testing.T) {
	s := build(t, feature.Options{Subset: feature.Similarity})
	for terms, gamma := range map[string]float64{
		"bee=3 dance=4": 1, "honey=3 steel=4": 0.6, "bee=1 honey=1": 0.7, "steel=1": 0.1, "bee=2 dance=1 honey=2 wax=7": 0.4,
	} {
		p := page(terms)
		j, err := judge.New("cosine-tf-max", beekeeping, judge.Options{Analyzer: analyzer, Threshold: gamma})
		if err != nil {
			t.Fatal(err)
		}
		v, err := j.Judge(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		o1 := s.Page(p).At(feature.TargetCosine)
		if math.Abs(o1-v.Similarity) > 1e-12 || v.Relevant != (v.Similarity >= gamma) {
			t.Errorf("%s: O1 is %v, the judge says %+v at %v", terms, o1, v, gamma)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, o := range []feature.Options{{}, {Subset: feature.Words, Counts: true}} {
		b, err := build(f, o).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := feature.Read(b, analyzer)
		if err != nil {
			return
		}
		v := s.Page(page("bee=6/1 dance=8 honey=1/1"))
		if err := v.Check(); err != nil || int(v[len(v)-1].ID) >= s.Len() {
			t.Fatalf("%v, %v", v, err)
		}
		again, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := feature.Read(again, analyzer); err != nil {
			t.Fatalf("written again: %v", err)
		}
	})
}
