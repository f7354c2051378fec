package score_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/wordnet"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// transcript crawls a small web with a scorer and tells, after each fetch,
// what waits, best first, equal ones in the order found. The web is written a
// page a line, the seed first:
//
//	name relevance: link link …
//
// A page with a relevance of at least ½ is relevant. A link is a name, which
// may be followed by =anchor and @tag path, without spaces; _ in an anchor is
// a space. A name stands for http://name/, and x.y for http://x/y. A page that
// is not among the lines cannot be fetched.
func transcript(t *testing.T, s score.Scorer, fetches int, pages string) string {
	t.Helper()
	type page struct {
		relevance float64
		links     []web.Link
	}
	world := map[web.URL]page{}
	name := map[web.URL]string{}
	address := func(n string) web.URL {
		host, path, _ := strings.Cut(n, ".")
		u := parse("http://" + host + "/" + path)
		name[u] = n
		return u
	}
	var seed web.URL
	for line := range strings.Lines(pages) {
		head, links, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		var n string
		var p page
		if _, err := fmt.Sscan(head, &n, &p.relevance); err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Fields(links) {
			l, path, _ := strings.Cut(l, "@")
			l, anchor, _ := strings.Cut(l, "=")
			p.links = append(p.links, web.Link{
				URL: address(l), Anchor: strings.ReplaceAll(anchor, "_", " "), TagPath: path, Position: i, First: 1, Last: 0,
			})
		}
		world[address(n)] = p
		if seed.IsZero() {
			seed = address(n)
		}
	}
	waiting := []web.Candidate{{URL: seed, Kind: web.LinkSeed, Priority: 1e30}}
	seen := map[web.URL]bool{seed: true}
	best := func() int {
		at := 0
		for i, c := range waiting {
			if c.Priority > waiting[at].Priority {
				at = i
			}
		}
		return at
	}
	var out strings.Builder
	for ; fetches > 0 && len(waiting) > 0; fetches-- {
		at := best()
		for s.Rescores() && waiting[at].Kind != web.LinkSeed {
			if waiting[at].Priority = s.Score(&waiting[at]); best() == at {
				break
			}
			at = best()
		}
		c := waiting[at]
		waiting = slices.Delete(waiting, at, at+1)
		w, ok := world[c.URL]
		if !ok {
			s.Visit(&c, nil, web.Verdict{})
			fmt.Fprintf(&out, "%s fails\n", name[c.URL])
			continue
		}
		p := &web.Page{URL: c.URL, Links: w.links}
		v := web.Verdict{Relevance: w.relevance, Relevant: w.relevance >= 0.5}
		features := s.Extract(p, v)
		memory := s.Visit(&c, p, v)
		for i, l := range p.Links {
			n := web.Candidate{URL: l.URL, From: c.URL, Kind: web.LinkA, Depth: c.Depth + 1, Features: features[i], Memory: memory}
			n.Priority = s.Score(&n)
			waits := slices.IndexFunc(waiting, func(w web.Candidate) bool { return w.URL == n.URL })
			switch {
			case waits >= 0 && n.Priority > waiting[waits].Priority:
				waiting = append(slices.Delete(waiting, waits, waits+1), n)
			case !seen[n.URL]:
				waiting = append(waiting, n)
			}
			seen[n.URL] = true
		}
		stale := ""
		if s.Stale() {
			stale = " (all anew)"
			for i := range waiting {
				waiting[i].Priority = s.Score(&waiting[i])
			}
		}
		fmt.Fprintf(&out, "%s%s:", name[c.URL], stale)
		shown := slices.Clone(waiting)
		slices.SortStableFunc(shown, func(a, b web.Candidate) int {
			switch {
			case a.Priority > b.Priority:
				return -1
			case a.Priority < b.Priority:
				return 1
			}
			return 0
		})
		for _, c := range shown {
			fmt.Fprintf(&out, "  %s %.4g", name[c.URL], c.Priority)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func wantTranscript(t *testing.T, got, want string) {
	t.Helper()
	lines := func(s string) (out []string) {
		for l := range strings.Lines(s) {
			if l = strings.Join(strings.Fields(l), " "); l != "" {
				out = append(out, l)
			}
		}
		return out
	}
	if g, w := lines(got), lines(want); !slices.Equal(g, w) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

// Fish-search, width 2: of the relevant a the first ⌊1.5·2⌋ = 3 links have 1;
// of b, which is not, the first two have ½. With depth 2 the path a → b → f
// ends: what f links to is not of interest.
func TestFish(t *testing.T) {
	s := newScorer(t, "fish-search", score.Options{Set: map[string]float64{"width": 2, "depth": 2}})
	wantTranscript(t, transcript(t, s, 5, `
		a 1: b c d e
		b 0: f g h
		c 1: i
		f 0: j`), `
		a:  b 1  c 1  d 1  e 0
		b:  c 1  d 1  f 0.5  g 0.5  e 0  h 0
		c:  d 1  i 1  f 0.5  g 0.5  e 0  h 0
		d fails
		i fails`)
	s = newScorer(t, "fish-search", score.Options{Set: map[string]float64{"width": 2, "depth": 2}})
	wantTranscript(t, transcript(t, s, 3, `
		a 1: b
		b 0: f
		f 0: j`), `
		a:  b 1
		b:  f 0.5
		f:  j -1`)
}

// Shark-search with γ = ½, β = .8, δ = ½. a is .8 like the topic: its links
// inherit .4. The anchor "bees" is 1 like it and makes its context 1, so the
// neighbourhood is 1; an anchor "bees steel" has ½·.8 + .2 = .6; none has 0.
// c is 0 like the topic: its links inherit ½ of its own .4.
func TestShark(t *testing.T) {
	s := newScorer(t, "shark-search-0.5", score.Options{Set: map[string]float64{"depth": 1}})
	wantTranscript(t, transcript(t, s, 3, `
		a .8: b=bees c=bees_steel d=steel
		b .8: e
		c 0: f=bees`), `
		a:  b 0.7  c 0.5  d 0.2
		b:  c 0.5  d 0.2  e 0.2
		c:  d 0.2  e 0.2  f -1`)
	s = newScorer(t, "shark-search-0.8", score.Options{})
	wantTranscript(t, transcript(t, s, 3, `
		a .8: b=bees c=bees_steel d=steel
		b 0: e=bees f
		e 0: g`), `
		a:  b 0.52  c 0.44  d 0.32
		b:  c 0.44  e 0.36  d 0.32  f 0.16
		c fails`)
}

// The words around an anchor count where the anchor says nothing.
func TestSharkContext(t *testing.T) {
	s := newScorer(t, "shark-search-0.5", score.Options{Set: map[string]float64{"gamma": 0}})
	p := pageOf("steel", "bees")
	p.Links[0].Before, p.Links[0].After = "some bees", "here now" // ¼ like the topic
	f := s.Extract(p, web.Verdict{})
	for i, want := range []float64{0.2 * 0.25, 1} {
		if got := s.Score(&web.Candidate{Features: f[i]}); math.Abs(got-want) > 1e-7 {
			t.Errorf("link %d: %v, want %v", i, got, want)
		}
	}
}

// With a thesaurus that knows of no related words the similarity is that of equal
// words, summed as in equation 4 of Batsakis, Petrakis & Milios 2009.
func TestSemanticEqualWords(t *testing.T) {
	empty, err := wordnet.ReadTable(strings.NewReader("# nothing\n"), "empty")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"bee", "hive", "wax", "steel", "car"}
	rapid.Check(t, func(t *rapid.T) {
		keywords := rapid.SliceOfN(rapid.SampledFrom(words[:4]), 1, 5).Draw(t, "keywords")
		anchor := rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "anchor")
		p := &web.Page{Links: []web.Link{{URL: parse("http://a.test/"), Anchor: strings.Join(anchor, " ")}}}
		for _, w := range words {
			if n := rapid.Int32Range(0, 5).Draw(t, w); n > 0 {
				p.Terms = append(p.Terms, web.Term{Text: w, Body: n})
			}
		}
		sum := func(weight func(l string) float64) float64 {
			var match, all float64
			for _, k := range keywords { // w_k = 1 for each time it is given
				for _, l := range words {
					if all += weight(l); k == l {
						match += weight(l)
					}
				}
			}
			if all == 0 {
				return 0
			}
			return match / all
		}
		page := sum(func(l string) float64 {
			for _, t := range p.Terms {
				if t.Text == l {
					return float64(t.Body)
				}
			}
			return 0
		})
		link := sum(func(l string) (n float64) {
			for _, w := range anchor {
				if w == l {
					n++
				}
			}
			return n
		})
		for _, thesaurus := range []score.Thesaurus{noThesaurus{}, empty} {
			for _, name := range []string{"semantic-synonym", "semantic-hypernym"} {
				s, err := score.New(name, score.Options{Keywords: keywords, Thesaurus: thesaurus, Analyzer: analyzer})
				if err != nil {
					t.Fatal(err)
				}
				got := s.Score(&web.Candidate{Features: s.Extract(p, web.Verdict{})[0]})
				if want := (page + link) / 2; math.Abs(got-want) > 1e-6 {
					t.Fatalf("%s: %v, want %v", name, got, want)
				}
			}
		}
	})
}

func TestSemantic(t *testing.T) {
	table, err := wordnet.ReadTable(strings.NewReader("bee, honeybee, apis mellifera < insect\ninsect < animal\nwaggle dance, roundelay"), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keywords            []string
		anchor              string
		synonyms, withWider float64
	}{
		{[]string{"bees"}, "Bee", 1, 1},
		{[]string{"bees"}, "honeybees", 1, 1},
		{[]string{"bees"}, "insects", 0, 0.5},
		{[]string{"insect"}, "bees", 0, 0.5},       // narrower
		{[]string{"bees"}, "animal", 0, 0},         // two steps
		{[]string{"bees"}, "apis mellifera", 0, 0}, // of two words
		{[]string{"bees"}, "insect bee steel steel", 0.25, 0.375},
		{[]string{"bees", "steel"}, "insect bee", 0.25, 0.375},
		{[]string{"waggle dance"}, "roundelay", 1, 1},
		{[]string{"waggle dance"}, "dance", 0.5, 0.5},
	} {
		for name, want := range map[string]float64{"semantic-synonym": c.synonyms, "semantic-hypernym": c.withWider} {
			s, err := score.New(name, score.Options{
				Keywords: c.keywords, Thesaurus: table, Analyzer: analyzer, Set: map[string]float64{"weight": 0},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := s.Score(&web.Candidate{Features: s.Extract(pageOf(c.anchor), web.Verdict{})[0]})
			if math.Abs(got-want) > 1e-7 {
				t.Errorf("%s %q, anchor %q: %v, want %v", name, c.keywords, c.anchor, got, want)
			}
		}
	}
}

// c is held by a and b; links to oneself and repeated ones do not count.
func TestBacklink(t *testing.T) {
	s := newScorer(t, "backlink", score.Options{})
	wantTranscript(t, transcript(t, s, 4, `
		a 0: b c d
		b 0: b d d
		d 0: c e
		c 0: `), `
		a:  b 1  c 1  d 1
		b:  d 2  c 1
		d:  c 2  e 1
		c:  e 1`)
}

// With the hot queue, links with a word of the keywords ("bees", "waggle
// dance") in anchor or address and those less than two links from a relevant
// page have one more than x/(1+x).
func TestHotWords(t *testing.T) {
	s := newScorer(t, "backlink", score.Options{Set: map[string]float64{"hot": 1, "within": 2}})
	wantTranscript(t, transcript(t, s, 5, `
		a 0: b c=the_bees bees.d
		c 1: e
		bees.d 0: b
		e 0: f
		f 0: g`), `
		a:  c 1.5  bees.d 1.5  b 0.5
		c:  bees.d 1.5  e 1.5  b 0.5
		bees.d:  e 1.5  b 0.6667
		e:  f 1.5  b 0.6667
		f:  b 0.6667  g 0.5`)
}

// PageRank with d = ½, every two pages. a has 1−d = ½ and gives ¼·… to b and
// c: ½·½/2 = ⅛ each. After b it is computed anew: a has ½ + nothing, b and c
// ½ + ⅛, and b gives c and d ½·⅝/2 = 0.15625 each.
func TestPageRank(t *testing.T) {
	s := newScorer(t, "pagerank", score.Options{Set: map[string]float64{"d": 0.5, "every": 2, "iterations": 50}})
	wantTranscript(t, transcript(t, s, 4, `
		a 0: b c
		b 0: c d
		c 0: b
		d 0: `), `
		a:  b 0.625  c 0.625
		b (all anew):  c 0.7812  d 0.6562
		c:  d 0.6562
		d (all anew):`)
}

// OPIC: the seed's 1 goes to b and c by halves; b gives ¼ each to c and d.
func TestOPIC(t *testing.T) {
	s := newScorer(t, "opic", score.Options{})
	wantTranscript(t, transcript(t, s, 4, `
		a 0: b c
		b 0: c d
		c 0: b d e
		d 0: `), `
		a:  b 0.5  c 0.5
		b:  c 0.75  d 0.25
		c:  d 0.5  e 0.25
		d:  e 0.25`)
}

// A redirect's target stands for the address that led there.
func TestRedirectKeepsItsPlace(t *testing.T) {
	for _, name := range []string{"backlink", "pagerank", "opic"} {
		s := newScorer(t, name, score.Options{})
		p := pageOf("bees")
		f := s.Extract(p, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: parse("http://seed/")}, p, web.Verdict{})
		c := web.Candidate{URL: p.Links[0].URL, Depth: 1, Features: f[0], Memory: memory}
		moved := c
		moved.URL, moved.Kind = parse("http://elsewhere/"), web.LinkRedirect
		if a, b := s.Score(&c), s.Score(&moved); a != b || a == 0 {
			t.Errorf("%s: %v, after a redirect %v", name, a, b)
		}
	}
}

// Aggarwal's ratios by hand. After a (relevant) and b (not), s = ½. b was
// found on a relevant page: P(C|relevant parent) is (0+½)/(1+1) = ¼, its ratio
// ½. Of a's three links one was fetched and was not relevant: the sibling's
// ratio is (0+1)/(½·1+1) = ⅔. b's links have an irrelevant parent of which
// nothing is known, ratio (0+½)/(0+1)/½ = 1, and no siblings.
func TestAggarwal(t *testing.T) {
	set := map[string]float64{"content": 0, "address": 0, "every": 1}
	s := newScorer(t, "aggarwal", score.Options{Set: set})
	wantTranscript(t, transcript(t, s, 2, `
		a 1: b c d
		b 0: e c`), fmt.Sprintf(`
		a (all anew):  b 0  c 0  d 0
		b (all anew):  e 0  c %.4g  d %.4[1]g`, math.Log(0.5)+math.Log(2./3)))
}

// An address word counts from a deviation of t = 2: of ten pages, half of them
// relevant, the four under /bees/ are, P(C|bees) = (4+½)/(4+1) = .9 and I =
// 1.8, with a significance of ½/(½/√4) = 2; one page under /wax/ is no sign.
func TestAggarwalWords(t *testing.T) {
	s := newScorer(t, "aggarwal", score.Options{Set: map[string]float64{"content": 0, "links": 0, "sibling": 0}})
	for i := range 10 {
		path := []string{"bees", "bees", "bees", "bees", "wax", "", "", "", "", ""}[i]
		u := parse(fmt.Sprintf("http://%c%c%c/%s", 'k'+i, 'k'+i, 'k'+i, path))
		s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: i < 5})
	}
	for path, want := range map[string]float64{"bees": math.Log(1.8), "wax": 0, "steel": 0} {
		if got := s.Score(&web.Candidate{URL: parse("http://zzz/" + path)}); math.Abs(got-want) > 1e-9 {
			t.Errorf("/%s has %v, want %v", path, got, want)
		}
	}
}

// ACHE: until the first training, after six pages, by the relevance of the
// page; then links like those that led to relevant pages have a class and more
// than 100.
func TestACHE(t *testing.T) {
	crawl := func(name string) (before, after map[string]float64) {
		s := newScorer(t, name, score.Options{Set: map[string]float64{"every": 6}})
		p := pageOf("honey bees", "steel mill", "bees here", "mill there", "bees again")
		v := web.Verdict{Relevance: 0.2}
		f := s.Extract(p, v)
		memory := s.Visit(&web.Candidate{URL: p.URL, Kind: web.LinkSeed}, p, v)
		if got := s.Score(&web.Candidate{URL: p.Links[0].URL, Features: f[0], Memory: memory, Depth: 1}); name == "ache-like-soft" && got != 20 {
			t.Errorf("before training %v, want 20", got)
		}
		for i := range p.Links {
			good := strings.Contains(p.Links[i].Anchor, "bees")
			if s.Stale() {
				t.Errorf("stale after %d pages", i+1)
			}
			s.Visit(&web.Candidate{URL: p.Links[i].URL, Depth: 1, Features: f[i], Memory: memory}, &web.Page{}, web.Verdict{Relevant: good})
		}
		if !s.Stale() || s.Stale() {
			t.Errorf("%s asks for scoring anew not once after training", name)
		}
		after, before = map[string]float64{}, map[string]float64{}
		q := pageOf("more bees", "a mill")
		for _, from := range []bool{true, false} {
			f := s.Extract(q, web.Verdict{Relevant: from})
			memory := s.Visit(&web.Candidate{URL: q.URL, Depth: 1, Features: f[0]}, q, web.Verdict{Relevant: from})
			for i, l := range q.Links {
				c := web.Candidate{URL: parse("http://x.test/"), Depth: 2, Features: f[i], Memory: memory}
				if from {
					after[l.Anchor] = s.Score(&c)
				} else {
					before[l.Anchor] = s.Score(&c)
				}
			}
		}
		return before, after
	}
	irrelevant, relevant := crawl("ache-like-soft")
	if relevant["more bees"] < 100 || relevant["a mill"] >= 100 || relevant["more bees"] > 199 || relevant["a mill"] < 0 {
		t.Errorf("classes: %v", relevant)
	}
	if fmt.Sprint(irrelevant) != fmt.Sprint(relevant) {
		t.Errorf("with soft focus the page matters: %v, %v", irrelevant, relevant)
	}
	irrelevant, relevant = crawl("ache-like-hard")
	if relevant["more bees"] < 100 || irrelevant["more bees"] > -800 {
		t.Errorf("hard focus: %v from an irrelevant page, %v from a relevant one", irrelevant, relevant)
	}
}

// The bandit over tag paths, without addresses. By hand: the first path has
// the 2-grams /html html/body body/div div/ul ul/li li/a, and the one with a b
// more has five of these and two of its own: a cosine of 5/√42 = .77, the same
// arm. With li.x for li four of six are the same, .67: another arm.
func TestTagPath(t *testing.T) {
	s := newScorer(t, "tagpath-bandit-like", score.Options{Set: map[string]float64{"first": 0}})
	p := pageOf("", "", "", "", "")
	for i, path := range []string{"html/body/div/ul/li/a", "html/body/div/ul/li/b/a", "html/body/div/ul/li.x/a", "html/p/em/q/a", "html/body/div/ul/li/a"} {
		p.Links[i].TagPath = path
	}
	f := s.Extract(p, web.Verdict{})
	visit := func(i int, q *web.Page, relevant bool) {
		s.Visit(&web.Candidate{URL: p.Links[i].URL, Depth: 1, Features: f[i]}, q, web.Verdict{Relevant: relevant})
	}
	want := func(pages float64, rewards, fetches []float64) {
		for i := range p.Links {
			got := s.Score(&web.Candidate{URL: p.Links[i].URL, Features: f[i]})
			mean := 0.
			if fetches[i] > 0 {
				mean = rewards[i] / fetches[i]
			}
			want := mean + 2*math.Sqrt2*math.Sqrt(math.Log(pages)/(fetches[i]+1e-6))
			if got < want || got > want+1e-3 { // with its share of chance
				t.Errorf("after %v fetches link %d has %v, want %v", pages, i, got, want)
			}
		}
	}
	s.Visit(&web.Candidate{URL: p.URL, Kind: web.LinkSeed}, p, web.Verdict{})
	want(1, make([]float64, 5), make([]float64, 5))
	visit(0, &web.Page{}, true)
	visit(3, &web.Page{}, false)
	want(3, []float64{1, 1, 0, 0, 1}, []float64{1, 1, 0, 1, 1})
	visit(1, &web.Page{}, false)
	visit(2, nil, false)
	want(5, []float64{1, 1, 0, 0, 1}, []float64{2, 2, 1, 1, 2})
}

// After batches of ten, addresses like those of relevant pages go before all
// others, and a page that holds new ones of them is rewarded: once.
func TestTagPathAddresses(t *testing.T) {
	s := newScorer(t, "tagpath-bandit-like", score.Options{})
	for i := range 400 {
		u := parse(fmt.Sprintf("http://a.test/%s/%d", []string{"bees", "steel"}[i%2], i))
		s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: i%2 == 0})
	}
	p := pageOf("", "", "")
	for i, path := range []string{"bees/x", "steel/x", "bees/y"} {
		p.Links[i].URL = parse("http://a.test/" + path)
		p.Links[i].TagPath = "html/a"
	}
	f := s.Extract(p, web.Verdict{})
	s.Visit(&web.Candidate{URL: p.URL}, p, web.Verdict{})
	first := func(i int) float64 { return s.Score(&web.Candidate{URL: p.Links[i].URL, Features: f[i]}) }
	if first(0) < 1e6 || first(1) >= 1e6 || first(2) < 1e6 {
		t.Errorf("bees %v and %v, steel %v: want the first two above 10⁶", first(0), first(2), first(1))
	}
	// A page of that arm with two new wanted links, then with known ones.
	q := pageOf("", "")
	q.Links[0].URL, q.Links[1].URL = parse("http://a.test/bees/z"), parse("http://a.test/bees/w")
	steel := web.Candidate{URL: p.Links[1].URL, Features: f[1], Depth: 1}
	s.Visit(&steel, q, web.Verdict{})
	bonus := func(t, n float64) float64 { return 2 * math.Sqrt2 * math.Sqrt(math.Log(t)/n) }
	if got, want := first(1), 2+bonus(402, 1); math.Abs(got-want) > 2e-3 {
		t.Errorf("two wanted links: %v, want %v", got, want)
	}
	s.Visit(&steel, q, web.Verdict{})
	if got, want := first(1), 1+bonus(403, 2); math.Abs(got-want) > 2e-3 {
		t.Errorf("the same again: %v, want %v", got, want)
	}
}
