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
	"github.com/waggle-crawler/waggle/score/scoretest"
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

// Anthelion, without chance. After two relevant pages of good.test, one and
// one bad of fair.test, and two bad of bad.test the values are 3/1, 2/2 and
// 1/3: the best host comes first, whatever order they were found in. That the
// value is a maximum is what the original misses.
func TestAnthelion(t *testing.T) {
	learn := func(set map[string]float64) score.Scorer {
		set["lambda"] = 0
		s := newScorer(t, "anthelion-like", score.Options{Set: set})
		for i, host := range []string{"good", "fair", "bad", "good", "fair", "bad"} {
			u := parse(fmt.Sprintf("http://%s.test/%c", host, 'a'+i))
			s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: host == "good" || i == 1})
		}
		return s
	}
	score := func(s score.Scorer, host string) float64 {
		return s.Score(&web.Candidate{URL: parse("http://" + host + ".test/z")})
	}
	for host, want := range map[string]float64{"good": 3, "fair": 1, "bad": 1. / 3, "new": 1} {
		if got := score(learn(map[string]float64{"value": 0}), host); math.Abs(got-want) > 2e-6 {
			t.Errorf("%s has %v, want %v", host, got, want)
		}
	}
	// Naive Bayes by hand. The words of an address are "http", the host and
	// "test" (single letters are none): 9 features in each class, of 10,004.
	// good has 3 relevant and 3 other links: (2+1)/(0+1) for its name.
	s := learn(map[string]float64{"value": 2})
	if got, want := score(s, "good"), 3./(3+1); math.Abs(got-want) > 1e-9 {
		t.Errorf("a link of good has %v, want %v", got, want)
	}
	if got, want := score(s, "bad"), 1./(1+3); math.Abs(got-want) > 1e-9 {
		t.Errorf("a link of bad has %v, want %v", got, want)
	}
	if got, want := score(learn(map[string]float64{"value": 3}), "good"), 3*3./4; math.Abs(got-want) > 1e-9 {
		t.Errorf("the product is %v, want %v", got, want)
	}
	// Beta(1+good, 1+bad) has the mean (1+good)/(2+good+bad).
	sum := 0.
	for seed := range uint64(2000) {
		s := newSeeded(t, seed)
		sum += score(s, "good")
	}
	if mean := sum / 2000; math.Abs(mean-0.75) > 0.03 { // its deviation is .19/√2000: seven of them
		t.Errorf("samples of Beta(3,1) have the mean %v, want .75", mean)
	}
}

// newSeeded is Anthelion with samples, after two relevant pages of good.test.
func newSeeded(t *testing.T, seed uint64) score.Scorer {
	s, err := score.New("anthelion-like", score.Options{Seed: seed, Analyzer: analyzer, Set: map[string]float64{"value": 1, "lambda": 0}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.Visit(&web.Candidate{URL: parse("http://good.test/")}, &web.Page{}, web.Verdict{Relevant: true})
	}
	return s
}

// With the chance λ, which halves after decay pages, all is scored anew before
// and after a page of a random host.
func TestAnthelionExplores(t *testing.T) {
	s := newScorer(t, "anthelion-like", score.Options{Set: map[string]float64{"lambda": 0.4, "decay": 1000, "every": 1e6}})
	hosts := map[int]int{}
	explored := [2]int{}
	links := make([]web.Candidate, 4)
	for i := range links {
		links[i].URL = parse(fmt.Sprintf("http://h%d.test/", i))
	}
	u := parse("http://h0.test/")
	for i := range 2000 {
		s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: true})
		best := 0
		for k := range links {
			if s.Score(&links[k]) > s.Score(&links[best]) {
				best = k
			}
		}
		if best > 0 {
			hosts[best]++
			explored[i/1000]++
			if !s.Stale() {
				t.Fatalf("page %d: another host is best, and nothing is scored anew", i)
			}
		}
	}
	// λ is .4·1000/(1000+t) on average .277 and .162 in the two halves, and a
	// random host is another one in ¾: 208 and 122 are expected, with
	// deviations of 13 and 10.
	if n := explored[0]; n < 150 || n > 266 {
		t.Errorf("%d explored in the first half", n)
	}
	if n := explored[1]; n < 72 || n > 172 {
		t.Errorf("%d explored in the second half", n)
	}
	for k := 1; k < 4; k++ {
		if n := hosts[k]; n < 60 || n > 160 {
			t.Errorf("host %d was explored %d times of %d", k, n, explored[0]+explored[1])
		}
	}
}

// Keywords near links: "bees" stands in the anchor of the second of seven, and
// after the fourth.
func TestSpidersInputs(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"beta": 1000}})
	p := pageOf("", "", "", "", "", "", "")
	for i := range p.Links { // leaves: text, anchor, text, anchor …
		p.Links[i].First, p.Links[i].Last = 2*i+1, 2*i+1
	}
	p.Leaves = make([]web.Leaf, 15)
	p.Leaves[3].Text, p.Leaves[8].Text = "Bees", "of bees"
	f := s.Extract(p, web.Verdict{})
	for i, want := range []float64{
		1./2 + 1./4, 1 + 1./3, 1./2 + 1./2, 1./3 + 1, 1./4 + 1, 1./5 + 1./2, 1. / 3,
	} {
		// odd byte · keyword 0 · value in 1/16
		if want := []byte{byte(i % 2), 0, byte(math.Round(want * 16))}; !slices.Equal(f[i], want) {
			t.Errorf("link %d: % x, want % x", i, f[i], want)
		}
	}
}

// Two agents from two seeds take turns, however much better the links of one.
// The second, which finds nothing, dies after its energy of ½ is gone: at a
// cost of .3 a page, with the second page. The first splits above 1, with ½ +
// .7 = 1.2, and each second link of the page is the young one's.
func TestSpiders(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"theta": 1, "cost": 0.3}})
	move := func(c web.Candidate, relevance float64) (links []web.Candidate) {
		p := pageOf("", "")
		p.URL = c.URL
		f := s.Extract(p, web.Verdict{})
		memory := s.Visit(&c, p, web.Verdict{Relevance: relevance})
		for i := range p.Links {
			u := parse(fmt.Sprintf("%s%d/", c.URL, i))
			links = append(links, web.Candidate{URL: u, Depth: c.Depth + 1, Features: f[i], Memory: memory})
		}
		return links
	}
	turns := func(c web.Candidate) int { return -int(math.Round(s.Score(&c) / 1000)) }
	seed := func(host string) web.Candidate {
		return web.Candidate{URL: parse("http://" + host + "/"), Kind: web.LinkSeed}
	}
	a, b := move(seed("a.test"), 0.3), move(seed("b.test"), 0)
	if turns(a[0]) != 1 || turns(b[0]) != 1 {
		t.Errorf("after the seeds the agents have made %d and %d moves", turns(a[0]), turns(b[0]))
	}
	b = move(b[0], 0)
	if turns(a[0]) != 1 || turns(b[0]) < 1e8 {
		t.Errorf("agent a has made %d moves; the dead one's links have %v", turns(a[0]), s.Score(&b[0]))
	}
	a = move(a[0], 1)
	if string(a[0].Memory[:2]) == string(a[0].Memory[2:]) {
		t.Fatalf("the agent did not split: % x", a[0].Memory)
	}
	if turns(a[0]) != 2 || turns(a[1]) != 2 {
		t.Errorf("mother and young have made %d and %d moves", turns(a[0]), turns(a[1]))
	}
	move(a[0], 0.3)
	if turns(a[0]) != 3 || turns(a[1]) != 2 {
		t.Errorf("after a move of the mother they have made %d and %d", turns(a[0]), turns(a[1]))
	}
}

// An agent learns: with a keyword near the links that led to relevant pages,
// links with it come before those without.
func TestSpidersLearn(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"beta": 1000, "theta": 1e6, "mu": 0}})
	p := pageOf("", "")
	p.Links[0].First, p.Links[0].Last, p.Links[1].First, p.Links[1].Last = 0, 0, 20, 20
	p.Leaves = make([]web.Leaf, 21)
	p.Leaves[0].Text = "bees bees"
	f := s.Extract(p, web.Verdict{})
	memory := s.Visit(&web.Candidate{URL: p.URL}, p, web.Verdict{})
	for i := range 200 {
		s.Visit(&web.Candidate{URL: p.Links[i%2].URL, Depth: 1, Features: f[i%2], Memory: memory}, &web.Page{}, web.Verdict{Relevance: float64(1 - i%2)})
	}
	with, without := web.Candidate{URL: p.URL, Features: f[0], Memory: memory}, web.Candidate{URL: p.URL, Features: f[1], Memory: memory}
	if a, b := s.Score(&with), s.Score(&without); a <= b+100 {
		t.Errorf("with the keyword %v, without %v", a, b)
	}
}

// A journal of links that is full ends learning and nothing else: what was learned
// stays, in a restored scorer too.
func TestFullJournal(t *testing.T) {
	for _, name := range []string{"backlink", "pagerank", "opic"} {
		t.Run(name, func(t *testing.T) {
			set := hasty(name)
			set["journal"] = 0.001 // 1,048 bytes
			s := newScorer(t, name, score.Options{Set: set})
			p := pageOf("bees", "steel")
			f := s.Extract(p, web.Verdict{})
			var memory []byte
			visit := func(i int) {
				c := web.Candidate{URL: parse(fmt.Sprintf("http://h%d.test/", i))}
				if i > 0 {
					c.Depth, c.Features, c.Memory = 1, f[i%2], memory
				}
				q := pageOf("bees", "steel")
				q.URL, q.Links[0].URL = c.URL, parse(fmt.Sprintf("http://h%d.test/", i+1))
				memory = s.Visit(&c, q, web.Verdict{Relevance: float64(i % 2), Relevant: i%2 == 1})
			}
			for i := range 200 {
				visit(i)
			}
			s.Stale()
			state := scoretest.Grown(nil, s)
			if n := len(state); n > 1050 || n < 900 {
				t.Errorf("the state has %d bytes", n)
			}
			again := newScorer(t, name, score.Options{Set: set})
			if err := again.Restore(state); err != nil {
				t.Fatal(err)
			}
			for i := 200; i < 220; i++ {
				c := web.Candidate{URL: p.Links[i%2].URL, Depth: 1, Features: f[i%2], Memory: memory}
				before := s.Score(&c)
				visit(i)
				if a, b := s.Score(&c), again.Score(&c); a != before || b != before {
					t.Fatalf("%v before, %v after another page, %v restored", before, a, b)
				}
			}
			if scoretest.Grown(nil, s) != nil {
				t.Error("the state changed")
			}
		})
	}
}

// A state that is cut off or altered is refused or read as another one, and
// never breaks the scorer.
func TestDamagedState(t *testing.T) {
	for _, name := range []string{"backlink", "pagerank", "opic", "aggarwal", "ache-like-soft", "tagpath-bandit-like", "anthelion-like", "infospiders-like"} {
		s := newScorer(t, name, score.Options{Set: hasty(name)})
		p := pageOf("bees", "steel", "bees")
		f := s.Extract(p, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: p.URL}, p, web.Verdict{})
		for i := range 6 {
			s.Visit(&web.Candidate{URL: p.Links[i%3].URL, Depth: 1, Features: f[i%3], Memory: memory}, p, web.Verdict{Relevance: float64(i % 2), Relevant: i%2 == 1})
		}
		c := web.Candidate{URL: p.Links[0].URL, Depth: 1, Features: f[0], Memory: memory}
		state := scoretest.Grown(nil, s)
		refused := 0
		for i := range state {
			for _, damaged := range [][]byte{state[:i], append(append(slices.Clone(state[:i]), state[i]^0xff), state[i+1:]...)} {
				again := newScorer(t, name, score.Options{Set: hasty(name)})
				if err := again.Restore(damaged); err != nil {
					refused++
				} else if got := again.Score(&c); math.IsNaN(got) || math.IsInf(got, 0) {
					t.Errorf("%s: byte %d altered gives a score of %v", name, i, got)
				}
			}
		}
		if refused < len(state)/2 {
			t.Errorf("%s: %d of %d damages were noticed", name, refused, 2*len(state))
		}
	}
}

func TestSettings(t *testing.T) {
	for _, l := range score.Names() {
		set := map[string]float64{}
		for _, s := range score.Settings(l.Name) {
			if s.Default < s.Min || s.Default > s.Max || s.Line == "" {
				t.Errorf("%s: setting %+v", l.Name, s)
			}
			set[s.Name] = s.Default
		}
		if _, err := score.New(l.Name, score.Options{Anchor: likeness, Keywords: []string{"bees"}, Thesaurus: noThesaurus{}, Set: set, DF: english, Analyzer: analyzer, Model: trained(t, l.Name)}); err != nil {
			t.Errorf("its own defaults: %v", err)
		}
	}
	for _, c := range []struct {
		name string
		set  map[string]float64
		want string
	}{
		{"fish-search", map[string]float64{"widht": 3}, `scorer fish-search: there is no setting "widht"; it has width, depth`},
		{"random", map[string]float64{"x": 3}, "it has none"},
		{"fish-search", map[string]float64{"depth": 0}, "setting depth = 0: give a number in 1…50"},
		{"shark-search-0.5", map[string]float64{"gamma": math.NaN()}, "setting gamma = NaN"},
		{"anthelion-like", map[string]float64{"value": 5}, "0…4"},
	} {
		_, err := score.New(c.name, score.Options{Anchor: likeness, Keywords: []string{"bees"}, Set: c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want one with %q", c.name, c.set, err, c.want)
		}
	}
}
