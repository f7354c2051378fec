package eval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// darwin is Darwin's maize: crossed minus self-fertilised, in eighths of an
// inch. Source: Fisher (1935), The Design of Experiments, section 17.
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

// hamilton is the Hamilton depression scale before minus after. Source:
// Hollander & Wolfe (1973), p. 29, as in R's help of wilcox.test.
var hamilton = []float64{
	1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06, 1.88 - 1.29, 1.55 - 1.06, 3.06 - 3.14, 1.30 - 1.29,
}

func TestWilcoxon(t *testing.T) {
	tests := []struct {
		name        string
		differences []float64
		n           int
		statistic   float64
		p           float64
		source      string
	}{
		{"depression", hamilton, 9, 40, 2 * 0.01953125, "R, wilcox.test: V = 40, one-sided p = 0.01953 (10/512)"},
		{"five wins", []float64{1, 2, 3, 4, 5}, 5, 15, 2. / 32, "by hand: one pattern of 32 on each side"},
		{"balanced", []float64{1, -1}, 2, 1.5, 1, "by hand: the middle"},
		{"zeros apart", []float64{0, 0, 1, 2, 3}, 3, 6, 2. / 8, "by hand: 1 of 8 on each side"},
		// Ranks 2, 2, 2, 4 with −1 among the ties: the sums of 16 patterns are
		// 0 2×3 4×4 6×4 8×3 10; W+ = 8, W− = 2, so (1+3)/16 on each side.
		{"ties", []float64{1, 1, -1, 2}, 4, 8, 8. / 16, "by hand, all 16 patterns"},
	}
	for _, test := range tests {
		got, err := Wilcoxon(test.differences)
		if err != nil || got.N != test.n || got.Statistic != test.statistic || math.Abs(got.P-test.p) > 1e-12 || !got.Exact {
			t.Errorf("%s: %+v, %v; want n %d, statistic %v, p %v (%s)", test.name, got, err, test.n, test.statistic, test.p, test.source)
		}
	}
	// The largest sum significant at 5 % two-sided, n = 15: 25. Source:
	// Wilcoxon & Wilcox (1964), table 2.
	for sum, significant := range map[int]bool{25: true, 26: false} {
		d := make([]float64, 15)
		for i := range d {
			d[i] = float64(i + 1)
		}
		for i, left := 14, sum; i >= 0; i-- {
			if i+1 <= left {
				d[i], left = -d[i], left-i-1
			}
		}
		if got, _ := Wilcoxon(d); got.P < .05 != significant || got.Statistic != float64(120-sum) {
			t.Errorf("n 15, smaller sum %d: %+v, significant at 5 %%: want %v", sum, got, significant)
		}
	}
	if got, err := Wilcoxon([]float64{0, 0}); !errors.Is(err, ErrNoPairs) || got.P != 1 {
		t.Errorf("only zeros: %+v, %v", got, err)
	}
}

// signs is the definition of an exact test: the share of sign patterns whose
// statistic lies at least as far from the centre.
func signs(d []float64, distance func(signed []float64) float64) float64 {
	bar, extreme := distance(d), 0
	signed := make([]float64, len(d))
	for pattern := range 1 << len(d) {
		for i := range d {
			signed[i] = math.Abs(d[i])
			if pattern>>i&1 == 1 {
				signed[i] = -signed[i]
			}
		}
		if distance(signed) >= bar-1e-9 {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(d))
}

func TestExactTestsAreWhatTheyAreDefinedAs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Map(rapid.IntRange(-6, 6).Filter(func(x int) bool { return x != 0 }), func(x int) float64 { return float64(x) / 8 }), 1, 9).Draw(t, "differences")
		rank := func(x float64) float64 {
			less, same := 0, 0
			for _, y := range d {
				if math.Abs(y) < math.Abs(x) {
					less++
				} else if math.Abs(y) == math.Abs(x) {
					same++
				}
			}
			return float64(less) + float64(same+1)/2
		}
		n := float64(len(d))
		want := signs(d, func(signed []float64) float64 {
			sum := -n * (n + 1) / 4
			for _, x := range signed {
				if x > 0 {
					sum += rank(x)
				}
			}
			return math.Abs(sum)
		})
		if got, err := Wilcoxon(d); err != nil || math.Abs(got.P-want) > 1e-12 {
			t.Fatalf("Wilcoxon %+v, %v; want %v", got, err, want)
		}
		want = signs(d, func(signed []float64) float64 {
			sum := 0.0
			for _, x := range signed {
				sum += x
			}
			return math.Abs(sum)
		})
		if got, err := Permutation(d, 0, nil); err != nil || math.Abs(got.P-want) > 1e-12 {
			t.Fatalf("permutation %+v, %v; want %v", got, err, want)
		}
	})
}

// What arithmetic leaves behind is no difference: it gets no rank, and parts no
// ranks that are tied.
func TestNoiseIsATie(t *testing.T) {
	const noise = 1e-11
	clean := []float64{.3, .3, .3, -.5}
	noisy := []float64{.3, .3 + noise, noise, .3 - noise, -noise, -.5}
	for name, of := range map[string]func([]float64) (Test, error){
		"Wilcoxon":    Wilcoxon,
		"permutation": func(d []float64) (Test, error) { return Permutation(d, 0, nil) },
	} {
		want, err := of(clean)
		got, err2 := of(noisy)
		if err != nil || err2 != nil || got.N != want.N || got.P != want.P {
			t.Errorf("%s: %+v with noise, %+v without; %v, %v", name, got, want, err, err2)
		}
		if got, err := of([]float64{noise, -noise, noise}); !errors.Is(err, ErrNoPairs) || got.P != 1 {
			t.Errorf("%s of noise alone: %+v, %v", name, got, err)
		}
	}
	topics := []TopicID{{Topic: "a"}, {Topic: "b"}, {Topic: "c"}}
	c := Compare(topics, []float64{noise, .3, 0}, []float64{0, 0, noise}, +1, 1)
	if c.Wins != 1 || c.Ties != 2 || c.Wilcoxon.N != 1 || c.Permutation.N != 1 {
		t.Errorf("%+v: what is a tie is a rank", c)
	}
}

// The normal approximation takes over at 26 differences: there it lies close
// to what counting says.
func TestWilcoxonJoinsUp(t *testing.T) {
	d := make([]float64, 26)
	for i := range d {
		d[i] = float64(i + 1)
		if i%3 == 0 {
			d[i] = -d[i]
		}
	}
	approximate, err := Wilcoxon(d)
	if err != nil || approximate.Exact {
		t.Fatalf("%+v, %v", approximate, err)
	}
	// ways[s]: subsets of 1…26 with the sum s
	ways := make([]float64, 27*13+1)
	ways[0] = 1
	for r := 1; r <= 26; r++ {
		for s := len(ways) - 1; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	low := 0.0
	for s := 0; s <= 351-int(approximate.Statistic); s++ {
		low += ways[s]
	}
	if exact := 2 * low / math.Ldexp(1, 26); math.Abs(exact-approximate.P) > .002 {
		t.Errorf("approximation %v, counted %v", approximate.P, exact)
	}
}

func TestPermutation(t *testing.T) {
	// Fisher (1935), section 21: 863 of 32,768 patterns in one direction.
	got, err := Permutation(darwin, 0, nil)
	if want := 2 * 863. / 32768; err != nil || got.P != want || !got.Exact || math.Abs(got.Statistic-314./15) > 1e-12 {
		t.Errorf("maize: %+v, %v; want p %v", got, err, want)
	}
	// Drawn instead of counted: twice the data cannot be less sure.
	twice := append(slices.Clone(darwin), darwin...)
	drawn, err := Permutation(twice, 5000, rand.New(rand.NewPCG(1, 1)))
	again, _ := Permutation(twice, 5000, rand.New(rand.NewPCG(1, 1)))
	if err != nil || drawn.Exact || drawn.P >= got.P || drawn.P < 1./5001 || drawn != again {
		t.Errorf("maize twice: %+v, %+v, %v", drawn, again, err)
	}
	if got, err := Permutation(nil, 10, nil); !errors.Is(err, ErrNoPairs) || got.P != 1 {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}

func TestHolm(t *testing.T) {
	for _, test := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{.03}, []float64{.03}},
		// By hand: .005×4, .01×3, then .03×2 = .06, and .04×1 raised to .06.
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.5, .6, math.NaN()}, []float64{1, 1, math.NaN()}},
	} {
		got := Holm(test.p)
		if !slices.EqualFunc(got, test.want, func(a, b float64) bool {
			return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b)
		}) {
			t.Errorf("Holm(%v) = %v, want %v", test.p, got, test.want)
		}
	}
}

// With values 0, 1 and 5 the 27 samples of three have these means, and the
// bootstrap's quantiles settle on theirs.
func TestBootstrap(t *testing.T) {
	values := []float64{0, 1, 5}
	var all []float64
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				all = append(all, (a+b+c)/3)
			}
		}
	}
	slices.Sort(all)
	got := Bootstrap(values, .8, 40_000, rand.New(rand.NewPCG(5, 6)))
	// 10 % of 27 is between the 2nd and 3rd, 90 % between the 24th and 25th.
	if got.Mean != 2 || math.Abs(got.Low-all[2]) > 1e-9 || math.Abs(got.High-all[24]) > 1e-9 {
		t.Errorf("%+v, want %v … %v", got, all[2], all[24])
	}
	if got := Bootstrap([]float64{3}, .95, 10, nil); got.Mean != 3 || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("of one value: %+v, which has no spread", got)
	}
	if got := Bootstrap(nil, .95, 10, nil); !math.IsNaN(got.Mean) {
		t.Errorf("of nothing: %+v", got)
	}
	if got := quantile([]float64{1, 2, 3, 4}, .25); got != 1.75 {
		t.Errorf("quantile %v, want 1.75 (R, type 7)", got)
	}
}

func TestPower(t *testing.T) {
	// Paired t test, two-sided 5 %, 80 %. Source: G*Power 3.1, difference
	// between two dependent means: d = .2, .5, .8 need 199, 34, 15 pairs.
	for d, want := range map[float64]int{.2: 199, .5: 34, .8: 15} {
		if got := TopicsNeeded(d, 1, .05, .8); got != want {
			t.Errorf("effect %v: %d topics, want %d", d, got, want)
		}
	}
	if d := Detectable(15, .06, .05, .8); d < .043 || d > .047 {
		t.Errorf("15 topics with sd .06 detect %v, want about .045", d)
	}
	if !math.IsInf(Detectable(1, 1, .05, .8), 1) || TopicsNeeded(0, 1, .05, .8) != 0 {
		t.Error("one topic detects something, or nothing needs topics")
	}
	if got := TopicsNeeded(1e-8, 1e4, .05, .8); got != math.MaxInt32 {
		t.Errorf("more topics than there are numbers: %d", got)
	}
	// Wins and losses that cancel leave a mean that is none.
	if c := Compare(make([]TopicID, 3), []float64{.3, .4, .1}, []float64{.2, .2, .4}, +1, 1); c.Needed != 0 {
		t.Errorf("a mean of %v needs %d topics", c.Difference.Mean, c.Needed)
	}
}

func TestCompare(t *testing.T) {
	topics := []TopicID{{"w", "a", ""}, {"w", "b", ""}, {"w", "c", ""}, {"w", "d", ""}}
	a, b := []float64{.5, .4, .3, .2}, []float64{.1, .2, .3, .3}
	c := Compare(topics, a, b, +1, 1)
	if c.Wins != 2 || c.Ties != 1 || c.Loses != 1 || c.Worst.Topic != "d" || math.Abs(c.WorstBy+.1) > 1e-12 {
		t.Errorf("%+v", c)
	}
	// Less is better: the same figures read the other way.
	c = Compare(topics, a, b, -1, 1)
	if c.Wins != 1 || c.Loses != 2 || c.Worst.Topic != "a" || math.Abs(c.Difference.Mean-.125) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if again := Compare(topics, a, b, -1, 1); again != c {
		t.Errorf("not the same twice: %+v, %+v", c, again)
	}
}

// What so many topics can show goes with every comparison.
func TestComparisonTellsWhatIsDetectable(t *testing.T) {
	var topics []TopicID
	var a, b []float64
	for i := range 15 {
		topics = append(topics, TopicID{Topic: string(rune('a' + i))})
		a, b = append(a, .06*float64(i%3-1)), append(b, 0)
	}
	c := Compare(topics, a, b, +1, 1)
	if want := Detectable(15, c.SD, .05, .8); c.Detectable != want || !(want > .03 && want < .05) {
		t.Errorf("detectable %v with sd %v, want %v", c.Detectable, c.SD, want)
	}
	if c := Compare(topics[:1], a[:1], b[:1], +1, 1); !math.IsInf(c.Detectable, 1) {
		t.Errorf("one topic detects %v", c.Detectable)
	}
}

// The bounds of an interval are the shares from which the observed one is 1.96
// standard deviations away; of none among n the formula leaves z²/(n+z²).
func TestWilson(t *testing.T) {
	for _, n := range []int{1, 10, 500} {
		for _, share := range []float64{0, 0.3, 0.5, 1} {
			in := Wilson(share, n)
			if in.Mean != share || in.Low > share || in.High < share-1e-12 {
				t.Errorf("%v of %d: %v", share, n, in)
			}
			for _, p := range []float64{in.Low, in.High} {
				if p < 1e-12 || p > 1-1e-12 {
					continue // cut off there
				}
				if z := math.Abs(share-p) / math.Sqrt(p*(1-p)/float64(n)); math.Abs(z-1.96) > 1e-9 {
					t.Errorf("%v of %d: the bound %v is %v deviations away", share, n, p, z)
				}
			}
		}
	}
	if got, want := Wilson(0, 20).High, 1.96*1.96/(20+1.96*1.96); math.Abs(got-want) > 1e-12 {
		t.Errorf("none of 20: up to %v, want %v", got, want)
	}
}
