package score_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// Before anything was learnt waggle orders links as best-first by page and anchor
// does where relevance and similarity are one number.
func TestWaggleBeginsAsBestFirst(t *testing.T) {
	s, best := newScorer(t, "waggle", score.Options{}), newScorer(t, "best-first-both", score.Options{})
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Float64Range(0, 1).Draw(t, "relevance")
		v := web.Verdict{Relevance: r, Similarity: r}
		p := pageOf("bees", "bees and steel", "steel")
		mine, theirs := s.Extract(p, v), best.Extract(p, v)
		for i := range p.Links {
			got := s.Score(&web.Candidate{Features: mine[i]})
			want := 6*best.Score(&web.Candidate{Features: theirs[i]}) - 3.5
			if math.Abs(got-want) > 0.07 { // similarities are kept in 1/255, odds in 1/16
				t.Fatalf("link %d of a page of relevance %v: %v, and %v by page and anchor", i, r, got, want)
			}
		}
	})
}

// What a person says of pages teaches, whatever the similarity is by which pages are judged.
func TestLabelsTeachWithAnotherSimilarity(t *testing.T) {
	for _, name := range []string{"waggle", "apprentice"} {
		hub := pageOf("bees", "bees", "steel", "bees and steel", "steel")
		after := func(teach func(s score.Scorer, c *web.Candidate, p *web.Page, i int)) float64 {
			s := newScorer(t, name, score.Options{Page: func(*web.Page, web.Verdict) float64 { return .9 }})
			features := s.Extract(hub, web.Verdict{Relevance: .9, Similarity: .9})
			link := func(i int) *web.Candidate {
				return &web.Candidate{URL: hub.Links[i].URL, Kind: web.LinkA, Depth: 1, Features: features[i]}
			}
			for i := range 400 {
				c := link(i % 2)
				teach(s, c, &web.Page{URL: c.URL}, i)
			}
			return s.Score(link(0))
		}
		visited := after(func(s score.Scorer, c *web.Candidate, p *web.Page, _ int) { s.Visit(c, p, verdict(.9)) })
		labelled := after(func(s score.Scorer, c *web.Candidate, p *web.Page, i int) {
			s.(interface {
				Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool)
			}).Label(c, p, verdict(float64(i%2)), false)
		})
		if labelled >= visited {
			t.Errorf("%s: a link like those that were called irrelevant has %v, and %v as they were judged", name, labelled, visited)
		}
	}
}

// However long a link is, 214 bytes of it wait in the frontier, and 2 of the path to it.
func TestWaggleKeepsFewBytesOfALink(t *testing.T) {
	words := func(sep string) string {
		var b strings.Builder
		for i := range 400 {
			fmt.Fprintf(&b, "word%c%c%s", 'a'+i%26, 'a'+i/26%26, sep)
		}
		return b.String()
	}
	p := &web.Page{URL: parse("http://a.test/"), Links: []web.Link{{
		URL:  parse("http://b.test/" + words("/") + "?q=" + words("-")),
		Kind: web.LinkA, Anchor: words(" "), Heading: words(" "), TagPath: words("/"),
	}}}
	v := web.Verdict{Relevance: 0.5, Similarity: 0.5}
	s := newScorer(t, "waggle", score.Options{})
	if n := len(s.Extract(p, v)[0]); n != 214 {
		t.Errorf("%d bytes of the link, want 214", n)
	}
	if n := len(s.Visit(&web.Candidate{URL: p.URL, Kind: web.LinkSeed}, p, v)); n != 2 {
		t.Errorf("%d bytes of the path, want 2", n)
	}
}

// folders is a web in which addresses of /good/ and /bad/ are told apart by nothing
// but their folder; the anchors of all are on the topic.
func folders(n int) (hub *web.Page, target func(u web.URL) (*web.Page, web.Verdict)) {
	hub = &web.Page{URL: parse("http://a.test/")}
	for i := range n {
		for _, folder := range []string{"bad", "good"} {
			hub.Links = append(hub.Links, web.Link{
				URL: parse(fmt.Sprintf("http://a.test/%s/p%d.html", folder, i)), Kind: web.LinkA,
				Anchor: "bees", TagPath: "html/body/a", Position: len(hub.Links),
			})
		}
	}
	return hub, func(u web.URL) (*web.Page, web.Verdict) {
		p := &web.Page{URL: u}
		if bytes.Contains([]byte(u.Path()), []byte("/good/")) {
			return p, web.Verdict{Relevance: 0.9, Similarity: 0.8, Relevant: true}
		}
		return p, web.Verdict{Relevance: 0.02, Similarity: 0.1}
	}
}

// crawlAll follows the best link as long as there are fetches left, and returns how
// many relevant pages it found.
func crawlAll(s score.Scorer, start *web.Page, fetches int, fetch func(u web.URL) (*web.Page, web.Verdict)) (hits int) {
	v := web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}
	var waiting []web.Candidate
	met := map[web.URL]bool{start.URL: true}
	follow := func(c *web.Candidate, p *web.Page, v web.Verdict) {
		features, memory := s.Extract(p, v), s.Visit(c, p, v)
		for i, l := range p.Links {
			if !met[l.URL] {
				met[l.URL] = true
				waiting = append(waiting, web.Candidate{URL: l.URL, From: p.URL, Kind: l.Kind, Depth: c.Depth + 1, Features: features[i], Memory: memory})
			}
		}
	}
	follow(&web.Candidate{URL: start.URL, Kind: web.LinkSeed}, start, v)
	for range fetches {
		best := -1
		for i := range waiting {
			if waiting[i].Priority = s.Score(&waiting[i]); best < 0 || waiting[i].Priority > waiting[best].Priority {
				best = i
			}
		}
		if best < 0 {
			break
		}
		c := waiting[best]
		waiting = append(waiting[:best:best], waiting[best+1:]...)
		p, v := fetch(c.URL)
		if p == nil {
			s.Visit(&c, nil, web.Verdict{})
			continue
		}
		if v.Relevant {
			hits++
		}
		follow(&c, p, v)
	}
	return hits
}

// A folder whose pages turned out irrelevant is left for one whose pages did not.
func TestWaggleLearnsFolders(t *testing.T) {
	hub, fetch := folders(100)
	if got := crawlAll(newScorer(t, "waggle", score.Options{}), hub, 100, fetch); got < 90 {
		t.Errorf("%d relevant pages of 100 fetched", got)
	}
	if got := crawlAll(newScorer(t, "best-first-both", score.Options{}), hub, 100, fetch); got != 50 {
		t.Errorf("best-first by page and anchor finds %d", got)
	}
}

// The reasons of a link add up to its priority, which is rounded to 1/16, and Recall is what Visit gave.
func TestWaggleReasons(t *testing.T) {
	hub, fetch := folders(20)
	s := newScorer(t, "waggle", score.Options{})
	crawlAll(s, hub, 10, fetch)
	x := s.(score.Explainer)
	v := web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}
	seed := web.Candidate{URL: hub.URL, Kind: web.LinkSeed}
	if got := x.Explain(hub, v, 0, &seed); got != nil {
		t.Errorf("a seed has the reasons %v", got)
	}
	memory := x.Recall(&seed, hub, v)
	if got := s.Visit(&seed, hub, v); !bytes.Equal(got, memory) {
		t.Errorf("recalls %x and not %x", memory, got)
	}
	features := s.Extract(hub, v)
	for i, l := range hub.Links {
		c := web.Candidate{URL: l.URL, Depth: 1, Features: features[i], Memory: memory}
		sum, folder := 0., 0.
		for _, r := range x.Explain(hub, v, i, &c) {
			sum += r.Weight
			if strings.HasPrefix(r.What, "links to the folder http://a.test/") {
				folder = r.Weight
			}
		}
		if want := s.Score(&c); math.Abs(sum-want) > 1./32+1e-4 {
			t.Fatalf("the reasons of %s add up to %v, its priority is %v", l.URL, sum, want)
		}
		if good := i%2 == 1; good && folder <= 0 || !good && folder >= 0 {
			t.Fatalf("the folder of %s weighs %v", l.URL, folder)
		}
	}
}

// A crawl that begins with what another one learnt knows from its first page on which
// links that found worth it, and is restored as any other.
func TestWaggleBeginsWithAModel(t *testing.T) {
	hub, fetch := folders(100)
	before := newScorer(t, "waggle", score.Options{})
	crawlAll(before, hub, 60, fetch)
	m := &model.File{Kind: model.Waggle, Payload: before.(interface{ Learnt() *model.Weights }).Learnt()}
	warm := score.Options{Model: m}
	if cold, got := crawlAll(newScorer(t, "waggle", score.Options{}), hub, 5, fetch), crawlAll(newScorer(t, "waggle", warm), hub, 5, fetch); got < 5 || cold == 5 {
		t.Errorf("%d relevant pages of 5, and %d without a model", got, cold)
	}
	scoretest.RunWithin(t, featureBytes("waggle"), func() scoretest.Scorer { return newScorer(t, "waggle", warm) })
	m.Payload = &model.Weights{Dense: make([]model.Weight, 3)}
	if _, err := score.New("waggle", score.Options{Model: m}); err == nil {
		t.Error("a model of other inputs was taken")
	}
}

// A state is restored up to the moment at which a link was taken with a priority, or up
// to what it led to; of a link that was never taken, whole.
func TestWaggleRestoresBefore(t *testing.T) {
	hub, fetch := folders(20)
	s := newScorer(t, "waggle", score.Options{})
	v := web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}
	seed := web.Candidate{URL: hub.URL, Kind: web.LinkSeed}
	memory, features := s.Visit(&seed, hub, v), s.Extract(hub, v)
	taken := make([]float64, 12) // priorities of links, each taken after those before it
	link := func(i int) web.Candidate {
		return web.Candidate{URL: hub.Links[i].URL, Depth: 1, Features: features[i], Memory: memory}
	}
	for i := range taken {
		c := link(i)
		taken[i] = s.Score(&c)
		p, said := fetch(c.URL)
		s.Visit(&c, p, said)
	}
	state, _ := s.(interface{ State() ([]byte, bool) }).State()
	for _, c := range []struct {
		link     int
		priority float64
		place    int
		at       score.Moment
	}{
		{7, taken[7], 1, score.Moment{Known: 8, Exact: true}},
		{7, 40, 1, score.Moment{Known: 8}},
		{15, taken[0], -1, score.Moment{}},
	} {
		x := newScorer(t, "waggle", score.Options{})
		places := []web.Candidate{link(19), link(c.link)}
		place, at, err := x.(score.Historian).RestoreBefore(state, places, c.priority)
		if err != nil || place != c.place || at != c.at {
			t.Errorf("link %d at %v: place %d, %+v, %v; want %d, %+v", c.link, c.priority, place, at, err, c.place, c.at)
		}
		if got := x.Score(&places[1]); place >= 0 && got != taken[c.link] {
			t.Errorf("link %d has %v then, and was taken at %v", c.link, got, taken[c.link])
		}
		if again := link(c.link); place < 0 && x.Score(&again) != s.Score(&again) {
			t.Errorf("link %d: the state is not restored whole", c.link)
		}
	}
}
