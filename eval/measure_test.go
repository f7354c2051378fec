package eval

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// line makes a run of pages, one letter each: h hit, r relevant but no hit,
// . neither, s seed, o outside the record.
func line(pages string) *Run {
	r := &Run{Hosts: []web.Host{"http://a.example", "http://b.example"}}
	for i, c := range pages {
		p := Page{ID: -1, Requests: int32(2 * (i + 1)), Millis: int64(500 * i), Host: int32(i % 2)}
		switch c {
		case 'h':
			p.Mark = Hit | Relevant
		case 'r':
			p.Mark = Relevant
		case 's':
			p.Mark = Seed
		case 'o':
			p.Mark = Outside
		}
		r.Pages = append(r.Pages, p)
	}
	r.Requests = 2*len(pages) + 1
	return r
}

func charged(r *Run) *Run {
	r.Charged = true
	return r
}

func TestMeasuresByHand(t *testing.T) {
	nan := math.NaN()
	ref := Reference{Reachable: 4, Bound: []float64{0, 0, 1, 2, 3, 4}, Greedy: []float64{0, 0, 1, 2, 2, 3}}
	for _, test := range []struct {
		measure string
		run     *Run
		ref     Reference
		n       int
		want    float64
	}{
		{"hits", line("s.h.h"), ref, 5, 2},
		{"hits", line("s.h.h"), ref, 4, 1},
		{"hits", line("s.h.h"), ref, 50, 2},
		{"harvest", line("s.h.h"), ref, 5, .4},
		{"harvest", line("h"), ref, 4, .25}, // out of links: the rest is wasted
		{"loss", line("s.h.h"), ref, 5, .6},
		{"auc", line("h.h"), ref, 3, (1 + 1./2 + 2./3) / 3},
		{"auc", line("h"), ref, 3, (1 + 1./2 + 1./3) / 3},
		{"of-bound", line("s.h.h"), ref, 5, .5},
		{"of-bound", line("s.h.h"), ref, 1, nan}, // nothing was possible
		{"of-greedy", line("s.h.h"), ref, 5, 2. / 3},
		{"regret", line("s.h.h"), ref, 5, 2},
		{"recall", line("s.h.h"), ref, 5, .5},
		{"recall", line("s.h.h"), Reference{}, 5, nan},
		{"pages-to-25", line("s.h.h"), ref, 5, 3},
		{"pages-to-50", line("s.h.h"), ref, 5, 5},
		{"pages-to-75", line("s.h.h"), ref, 5, 6}, // censored
		{"pages-to-90", line("hhhh"), ref, 4, 4},  // 3.6 of 4 are 4
		{"relevant-hosts", line("hhh"), ref, 1, 1},
		{"relevant-hosts", line("hhh"), ref, 3, 2},
		{"requests", line("s.h"), ref, 2, 4},
		{"requests", line("s.h"), ref, 3, 7}, // and what failed at the end
		{"seconds", line("s.h"), ref, 3, 1},
		{"seconds-to-10", line("s.hhhhhhhhhhhh"), ref, 14, 5.5}, // the place of the 10th hit
		{"seconds-to-10", line("s.hhhhhhhhhhhh"), ref, 11, nan},
		{"seconds-to-100", line("s.hhhhhhhhhhhh"), ref, 14, nan},
		{"outside", charged(line("s.oo")), ref, 4, .5},
		{"outside", charged(line("s.oo")), ref, 2, 0},
		{"outside", &Run{Links: 40, LinksOutside: 10}, ref, 4, nan}, // dropped: nobody knows
		{"outside", charged(&Run{}), ref, 4, nan},
		{"links-outside", &Run{Links: 40, LinksOutside: 10}, ref, 4, .25},
		{"links-outside", &Run{}, ref, 4, nan},
		{"target-recall", line("s"), ref, 1, nan},
	} {
		m, ok := MeasureNamed(test.measure)
		if !ok {
			t.Fatalf("no measure %s", test.measure)
		}
		if got := m.Of(test.run, test.ref, test.n); math.Abs(got-test.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(test.want) {
			t.Errorf("%s at %d of %s: %v, want %v", test.measure, test.n, marks(test.run), got, test.want)
		}
	}
}

func TestWindowedHarvest(t *testing.T) {
	r := line("")
	for i := range 300 {
		p := Page{}
		if i < 100 || i >= 250 {
			p.Mark = Hit
		}
		r.Pages = append(r.Pages, p)
	}
	m, _ := MeasureNamed("harvest-200")
	for n, want := range map[int]float64{50: 1, 150: 2. / 3, 200: .5, 300: .25} {
		if got := m.Of(r, Reference{}, n); got != want {
			t.Errorf("at %d: %v, want %v", n, got, want)
		}
	}
}

func TestLinkScores(t *testing.T) {
	scored := func(seed bool, pairs ...float64) *Run {
		r := &Run{}
		if seed {
			r.Pages = append(r.Pages, Page{Score: 1e9, Mark: Seed})
		}
		for i := 0; i < len(pairs); i += 2 {
			p := Page{Score: pairs[i]}
			if pairs[i+1] == 1 {
				p.Mark = Relevant
			}
			r.Pages = append(r.Pages, p)
		}
		return r
	}
	expecting := func(r *Run) *Run {
		r.expects = func(priority float64) float64 { return 0.5 + 0.4*math.Copysign(1, priority) }
		return r
	}
	nan := math.NaN()
	for _, test := range []struct {
		name       string
		run        *Run
		auroc, ece float64
	}{
		// .9 and .4 against .6 and .4: above, above; below, equal = 2.5 of 4.
		// Bins .9 (1 of 1), .6 (0 of 1), .4 (1 of 2): .1 + .6 + |1 − .8| over 4.
		{"by hand", scored(false, .9, 1, .6, 0, .4, 1, .4, 0), 2.5 / 4, (.1 + .6 + .2) / 4},
		{"a seed predicts nothing", scored(true, .9, 1, .1, 0), 1, .1},
		{"all wrong", scored(false, 0, 1, 1, 0), 0, 1},
		{"scores that are no probabilities", scored(false, 7, 1, -2, 0), 1, nan},
		// Bins .9 (1 of 1) and .1 (0 of 1) by expectations, of priorities of any size.
		{"scores that tell what they expect", expecting(scored(false, 7, 1, -2, 0)), 1, .1},
		{"one class", scored(false, .5, 1), nan, .5},
		{"nothing", scored(true), nan, nan},
	} {
		for name, want := range map[string]float64{"auroc": test.auroc, "ece": test.ece} {
			m, _ := MeasureNamed(name)
			if got := m.Of(test.run, Reference{}, 100); math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%s, %s: %v, want %v", test.name, name, got, want)
			}
		}
	}
}

// The expected loss is a mean as printed, and a sum as drawn.
func TestJudgedLoss(t *testing.T) {
	r := &Run{Pages: []Page{{Relevance: 10_000}, {Relevance: 2500}, {Relevance: 0}}}
	for name, want := range map[string]float64{"judged-harvest": 1.25 / 3, "judged-loss": 1.75 / 3, "judged-loss-sum": 1.75} {
		m, _ := MeasureNamed(name)
		if got := m.Of(r, Reference{}, 3); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
}

// The expected loss along a crawl that ends before the last point, with a place that
// brought no page.
func TestCurveLoss(t *testing.T) {
	r := &Run{Charged: true, Pages: []Page{{Relevance: 10_000}, {Mark: Outside}, {Relevance: 2500}, {Relevance: 0}}}
	mean, sum := r.CurveLoss([]int{1, 2, 3, 4, 9})
	if want := []float64{0, 0, .75, 1.75, 1.75}; !slices.Equal(sum, want) {
		t.Errorf("sum %v, want %v", sum, want)
	}
	if want := []float64{0, 0, .375, 1.75 / 3, 1.75 / 3}; !slices.Equal(mean, want) {
		t.Errorf("mean %v, want %v", mean, want)
	}
}

// A place spent outside the record is no page: nobody judged it, so means over
// pages, and sums of what was judged, know nothing of it.
func TestPlacesWithoutPages(t *testing.T) {
	pages := []Page{{Relevance: 10_000, Best: 8000}, {Relevance: 2500, Best: 4000}}
	with := &Run{Charged: true, Pages: []Page{pages[0], {Mark: Outside}, pages[1], {Mark: Outside}}}
	for _, name := range []string{"judged-harvest", "judged-loss", "judged-loss-sum", "sigma"} {
		m, _ := MeasureNamed(name)
		if got, want := m.Of(with, Reference{}, 4), m.Of(&Run{Pages: pages}, Reference{}, 2); got != want {
			t.Errorf("%s with places outside the record: %v, without: %v", name, got, want)
		}
	}
	m, _ := MeasureNamed("harvest")
	with.Pages[0].Mark = Hit
	if got := m.Of(with, Reference{}, 4); got != .25 {
		t.Errorf("harvest %v: places are what it is divided by", got)
	}
}

// Four pages, each like one of two targets at .9 or .1: the best similarity of each
// is .9, the best mean .5.
func TestBothReadingsOfSigma(t *testing.T) {
	cosines := map[string][]float64{"/1": {.9, .1}, "/2": {.1, .9}, "/3": {.9, .1}, "/4": {.1, .9}}
	r := NewRecorder(Key{}, 4, Truth{}, RecorderOptions{Cosines: func(u web.URL) []float64 { return cosines[u.Path()] }})
	record(t, r, "page a.example/1 a 1 0\npage a.example/2 b 1 0\npage a.example/3 c 1 0\npage a.example/4 d 1 0")
	for name, want := range map[string]float64{"sigma": .9, "sigma-printed": .5} {
		m, _ := MeasureNamed(name)
		if got := m.Of(r.Run(), Reference{}, 4); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	// Without targets the printed reading is not known.
	m, _ := MeasureNamed("sigma-printed")
	if got := m.Of(&Run{Pages: []Page{{}}}, Reference{}, 1); !math.IsNaN(got) {
		t.Errorf("sigma-printed without targets: %v", got)
	}
}

// Precision by similarity, its average against breadth-first, and similar pages.
func TestPrecisionMesh(t *testing.T) {
	// Best cosines .8, .5, .3, .75: at γ = .5 the precision over four pages is
	// 1, 1, 2/3, 3/4; at .575, .65 and .725 1, 1/2, 1/3, 2/4; at .8 1, 1/2, 1/3, 1/4.
	r := &Run{Pages: []Page{{Best: tenThousandths(.8)}, {Best: tenThousandths(.5)}, {Best: tenThousandths(.3)}, {Best: tenThousandths(.75)}}}
	half, middle, last := (1+1+2./3+3./4)/4, (1+1./2+1./3+2./4)/4, (1+1./2+1./3+1./4)/4
	breadth := &Run{Pages: []Page{{Best: tenThousandths(.5)}, {}, {}, {}}} // 1, 1/2, 1/3, 1/4 at γ = .5 alone
	for name, want := range map[string]float64{
		"precision-mesh": (half + 3*middle + last) / 5,
		"apr":            half / last,
		"similar-pages":  2,
	} {
		m, _ := MeasureNamed(name)
		if got := m.Of(r, Reference{Breadth: breadth}, 4); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	if m := Mesh(3000, 400); len(m) != 400 || m[399] != 3000 || m[0] != 8 {
		t.Errorf("mesh of 3,000: %d points from %d", len(m), m[0])
	}
	if m := Mesh(3, 400); len(m) != 3 || m[0] != 1 || m[2] != 3 {
		t.Errorf("mesh of 3: %v", m)
	}
	// Points of one's own are among them, once, unless they lie beyond.
	if m := Mesh(100, 4, 30, 50, 100, 200, 0); !slices.Equal(m, []int{25, 30, 50, 75, 100}) {
		t.Errorf("mesh with points of one's own: %v", m)
	}
}

// A cell's curve is known at its budgets, which tables show.
func TestCurvesKnowBudgets(t *testing.T) {
	c := NewCell(&Run{Budget: 1000}, Reference{}, []int{7, 333, 1000}, nil)
	for _, n := range []int{7, 333, 1000} {
		if !slices.Contains(c.Points, n) {
			t.Errorf("%d is no point of the curve", n)
		}
	}
}

// A part is cut off so that Best ≥ γ is what it would be for the cosine.
func TestThresholdsAreExact(t *testing.T) {
	for _, γ := range Thresholds() {
		if tenThousandths(γ) != uint16(math.Round(γ*Parts)) {
			t.Errorf("γ %v becomes %d", γ, tenThousandths(γ))
		}
		if tenThousandths(math.Nextafter(γ, 0)-1e-9) >= tenThousandths(γ) {
			t.Errorf("just below γ %v counts", γ)
		}
	}
}

func TestMeasuresKeepTheirRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := line(rapid.StringMatching(`[hr.so]{0,40}`).Draw(t, "pages"))
		for i := range r.Pages {
			r.Pages[i].Score = rapid.Float64Range(0, 1).Draw(t, "score")
			r.Pages[i].Best = uint16(rapid.IntRange(0, Parts).Draw(t, "best"))
			r.Pages[i].Relevance = uint16(rapid.IntRange(0, Parts).Draw(t, "relevance"))
		}
		n := rapid.IntRange(1, 50).Draw(t, "n")
		reachable := r.Hits(100) + float64(rapid.IntRange(0, 5).Draw(t, "missed"))
		bound := make([]float64, 51)
		for i := range bound {
			bound[i] = min(float64(i), reachable)
		}
		ref := Reference{Reachable: reachable, Bound: bound, Greedy: bound, Breadth: line("h.")}
		for _, m := range Measures() {
			x := m.Of(r, ref, n)
			if math.IsNaN(x) {
				continue
			}
			if x < -1e-9 || math.IsInf(x, 0) || !m.Count && m.Name != "apr" && x > 1+1e-9 {
				t.Fatalf("%s = %v", m.Name, x)
			}
		}
		low, high := r.Hits(n), r.Optimistic().Hits(n)
		if low > high || high-low != float64(r.count(n, Outside)) {
			t.Fatalf("between %v and %v with %d outside", low, high, r.count(n, Outside))
		}
		points := Mesh(n, 7)
		for i, h := range r.Curve(points) {
			if h != r.Hits(points[i]) {
				t.Fatalf("curve %v at %d, want %v", h, points[i], r.Hits(points[i]))
			}
		}
	})
}

func TestMeasuresAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Measures() {
		if seen[m.Name] || m.Line == "" || m.Source == "" || m.Of == nil {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
	}
}

func TestHalfHidden(t *testing.T) {
	var targets []web.URL
	for _, s := range []string{"a", "b", "c", "d", "e", "a"} {
		targets = append(targets, address(t, "http://"+s+".example/"))
	}
	shown, hidden := HalfHidden(targets, 1)
	if len(shown) != 3 || len(hidden) != 2 {
		t.Fatalf("%v, %v", shown, hidden)
	}
	differ := false
	for seed := range uint64(20) {
		again, _ := HalfHidden(targets, 1)
		other, _ := HalfHidden(targets, seed)
		for i := range shown {
			if again[i] != shown[i] {
				t.Fatalf("%v, then %v", shown, again)
			}
			differ = differ || other[i] != shown[i]
		}
	}
	if !differ {
		t.Error("twenty seeds split alike")
	}
}
