package score

import (
	"math"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// The gradient of a network is that of its error, measured by small changes of each weight.
func TestNetworkGradient(t *testing.T) {
	n := newNetwork(3, 4, 5, 3, 1)
	x, want := []float64{0.2, -1, 0.5, 0.7}, 0.3
	grad := make([]float64, len(n.weights))
	n.gradient(x, want, grad)
	loss := func() float64 { d := n.value(x) - want; return d * d / 2 }
	moved := 0
	for i := range n.weights {
		const h = 1e-6
		w := n.weights[i]
		n.weights[i] = w + h
		up := loss()
		n.weights[i] = w - h
		down := loss()
		n.weights[i] = w
		if got := (up - down) / (2 * h); math.Abs(got-grad[i]) > 1e-6 {
			t.Errorf("weight %d: gradient %v, measured %v", i, grad[i], got)
		}
		if grad[i] != 0 {
			moved++
		}
	}
	if moved < 10 {
		t.Fatalf("%d of %d weights matter: the test says nothing", moved, len(grad))
	}
}

// The first step of Adam moves each weight by the rate against the sign of its gradient.
func TestNetworkFirstStep(t *testing.T) {
	n := newNetwork(3, 2, 1)
	before := append([]float64{}, n.weights...)
	n.step([]float64{5, -0.01, 0}, 0.1)
	for i, want := range []float64{-0.1, 0.1, 0} {
		if got := n.weights[i] - before[i]; math.Abs(got-want) > 1e-6 {
			t.Errorf("weight %d moved by %v, want %v", i, got, want)
		}
	}
}

func newTestTRES(t *testing.T, set map[string]float64) *tres {
	t.Helper()
	s, err := New("tres-like", Options{Seed: 7, Keywords: []string{"bees"}, Analyzer: text.NewAnalyzer(), Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*tres)
}

// What a link is known by, on a path of a relevant page, one that is not, and another.
func TestTRESFeatures(t *testing.T) {
	s := newTestTRES(t, nil)
	address := func(a string) web.URL {
		u, err := web.Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	page := func(a string) *web.Page {
		return &web.Page{URL: address("http://a.test/"), Links: []web.Link{{URL: address("http://a.test/bees"), Anchor: a}}}
	}
	c := &web.Candidate{URL: address("http://a.test/")}
	for i, step := range []struct {
		relevance float64
		anchor    string
		want      [tresInputs]byte // relevant page, 1/distance, share, address, anchor, relevance
	}{
		{1, "steel", [6]byte{255, 255, 255, 255, 0, 255}},
		{0.2, "bees", [6]byte{0, 127, 127, 255, 255, 51}},
		{0, "more bees", [6]byte{0, 85, 85, 255, 255, 0}},
		{0.6, "", [6]byte{255, 255, 127, 255, 0, 153}},
	} {
		p, v := page(step.anchor), web.Verdict{Relevance: step.relevance, Relevant: step.relevance >= 0.5}
		f := s.Extract(p, v)
		memory := s.Visit(c, p, v)
		c = &web.Candidate{URL: p.Links[0].URL, Depth: i + 1, Features: f[0], Memory: memory}
		if got := input(c.Features, c.Memory); got != step.want {
			t.Errorf("link %d: %v, want %v", i, got, step.want)
		}
	}
}

// In a world in which links with a keyword lead to relevant pages without links, and the
// others to pages with such a link, the former are worth 1 and the latter γ. In the warm-up the
// order is one of chance.
func TestTRESLearns(t *testing.T) {
	s := newTestTRES(t, map[string]float64{"warm-up": 50, "gamma": 0.5, "rate": 0.01, "renew": 10, "every": 50})
	u, err := web.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	known := []byte{1, 0, 1, 1}
	bees, steel := []byte{255, 2}, []byte{255, 0}
	toBees := &web.Candidate{URL: u, Depth: 1, Features: bees, Memory: known}
	toSteel := &web.Candidate{URL: u, Depth: 1, Features: steel, Memory: known}
	if a, b := s.Score(toBees), s.Score(toSteel); a != b || a < 0 || a >= 1 {
		t.Errorf("in the warm-up %v and %v: what a link is known by counts", a, b)
	}
	hub := &web.Page{URL: u, Links: []web.Link{{URL: u, Anchor: "bees"}}}
	for i := range 2000 {
		if i%2 == 0 {
			s.Visit(toBees, &web.Page{URL: u}, web.Verdict{Relevance: 1, Relevant: true})
		} else {
			s.Visit(toSteel, hub, web.Verdict{Relevance: 0})
		}
		if stale := s.Stale(); stale != ((i+1)%50 == 0) {
			t.Fatalf("after %d pages: scored anew %v", i+1, stale)
		}
	}
	// The link of the hub is known by other features: relevance 0, not behind a relevant page.
	next := &web.Candidate{URL: u, Depth: 2, Features: []byte{0, 2}, Memory: []byte{0, 1, 1, 2}}
	if got := s.Score(toBees); math.Abs(got-1) > 0.05 {
		t.Errorf("a link that leads to a relevant page is worth %v, want 1", got)
	}
	if got, want := s.Score(toSteel), 0.5*s.target.value(numbers(vector(next))); math.Abs(got-want) > 0.05 {
		t.Errorf("a link that leads to a page with a link of worth %v is worth %v, want %v", want/0.5, got, want)
	}
}

func vector(c *web.Candidate) []byte {
	x := input(c.Features, c.Memory)
	return x[:]
}
