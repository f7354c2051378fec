package eval

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// optimum is what a crawl can find at best, by trying every set of pages that
// can be fetched: [n] hits within n pages. It is the definition, at the price
// of 2^V.
func optimum(p *Problem) []int {
	v := len(p.To)
	best := make([]int, v+1)
	into := make([]uint32, v) // [page] the pages that link to it
	var seeds uint32
	for u, to := range p.To {
		for _, w := range to {
			into[w] |= 1 << u
		}
	}
	for _, s := range p.Seeds {
		seeds |= 1 << s
	}
	can := make([]bool, 1<<v)
	can[0] = true
	for set := uint32(1); set < 1<<v; set++ {
		prizes := uint64(0)
		for rest := set; rest != 0; rest &= rest - 1 {
			last := bits.TrailingZeros32(rest)
			before := set &^ (1 << last)
			can[set] = can[set] || can[before] && (seeds>>last&1 == 1 || into[last]&before != 0)
			if k := p.Prize[last]; k >= 0 {
				prizes |= 1 << k
			}
		}
		if n := bits.OnesCount32(set); can[set] {
			best[n] = max(best[n], bits.OnesCount64(prizes))
		}
	}
	for n := 1; n <= v; n++ {
		best[n] = max(best[n], best[n-1])
	}
	return best
}

// randomProblem is a small web; every tenth prize is a copy of another.
func randomProblem(rng *rand.Rand, pages int) *Problem {
	p := &Problem{To: make([][]int32, pages), Prize: make([]int32, pages)}
	degree, share := 1+rng.Float64()*2, .1+rng.Float64()*.5
	for u := range p.To {
		for w := range p.To {
			if rng.Float64() < degree/float64(pages) {
				p.To[u] = append(p.To[u], int32(w))
			}
		}
		p.Prize[u] = -1
		if rng.Float64() < share {
			p.Prize[u] = int32(u)
			if rng.IntN(10) == 0 {
				p.Prize[u] = int32(rng.IntN(pages))
			}
		}
	}
	for range 1 + rng.IntN(2) {
		p.Seeds = append(p.Seeds, int32(rng.IntN(pages)))
	}
	return p
}

// checkOracles compares bound and greedy crawl with the optimum: greedy ≤
// optimum ≤ bound at every budget, and the greedy order is one that a crawl
// could have taken.
func checkOracles(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *Problem) (best, bound, greedy []int) {
	t.Helper()
	v := len(p.To)
	best, bound = optimum(p), p.Bound(v)
	greedy, order := p.Greedy(v)
	for n := range best {
		if !(greedy[n] <= best[n] && best[n] <= bound[n]) {
			t.Fatalf("budget %d: greedy %d, optimum %d, bound %d\n%+v", n, greedy[n], best[n], bound[n], p)
		}
	}
	if best[v] != p.Reachable() || greedy[v] != p.Reachable() {
		t.Fatalf("without a budget: greedy %d, optimum %d, reachable %d\n%+v", greedy[v], best[v], p.Reachable(), p)
	}
	fetched, found := map[int32]bool{}, map[int32]bool{}
	for i, u := range order {
		ok := slices.Contains(p.Seeds, u)
		for from := range fetched {
			ok = ok || slices.Contains(p.To[from], u)
		}
		if !ok || fetched[u] {
			t.Fatalf("greedy order %v: page %d, the %d., is not in the frontier\n%+v", order, u, i+1, p)
		}
		fetched[u] = true
		if k := p.Prize[u]; k >= 0 {
			found[k] = true
		}
		if greedy[i+1] != len(found) {
			t.Fatalf("greedy order %v: %d prizes after %d pages, said %d\n%+v", order, len(found), i+1, greedy[i+1], p)
		}
	}
	return best, bound, greedy
}

func TestOraclesAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	budgets, tight, gap, naive, short := 0, 0, 0, 0, 0
	for range 400 {
		p := randomProblem(rng, 13)
		best, bound, greedy := checkOracles(t, p)
		for n := 1; n <= 13; n++ {
			budgets++
			gap += bound[n] - best[n]
			naive += min(n, p.Reachable()) - best[n]
			short += best[n] - greedy[n]
			if bound[n] == best[n] {
				tight++
			}
		}
	}
	t.Logf("%d budgets: bound tight in %.1f %%, mean gap %.4f (min(B, reachable): %.3f); greedy short by %.4f on average",
		budgets, 100*float64(tight)/float64(budgets), float64(gap)/float64(budgets), float64(naive)/float64(budgets), float64(short)/float64(budgets))
	if 10*tight < 9*budgets || naive < 5*gap {
		t.Errorf("the bound is loose: tight in %d of %d, gap %d against %d", tight, budgets, gap, naive)
	}
}

func TestOraclesOnAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		checkOracles(t, randomProblem(rand.New(rand.NewPCG(seed, 0)), rapid.IntRange(1, 10).Draw(t, "pages")))
	})
}

// TestOraclesByHand: a seed s without worth; a and b relevant behind x; c
// relevant behind y and z; d a copy of a.
//
//	s ─► x ─► a, b, d
//	└──► y ─► z ─► c
func TestOraclesByHand(t *testing.T) {
	const s, x, a, b, d, y, z, c = 0, 1, 2, 3, 4, 5, 6, 7
	p := &Problem{
		To:    [][]int32{s: {x, y}, x: {a, b, d}, y: {z}, z: {c}, a: nil, b: nil, c: nil, d: nil},
		Seeds: []int32{s},
		Prize: []int32{s: -1, x: -1, a: 0, b: 1, d: 0, y: -1, z: -1, c: 2},
	}
	// Two pages bring nobody anything; from the third on a and b come. c costs
	// s, y and z alone, so the bound has it at 3+3 where a crawl, which needs x
	// as well, has it at 7.
	if got, want := p.Bound(8), []int{0, 0, 0, 1, 2, 2, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("bound %v, want %v", got, want)
	}
	greedy, order := p.Greedy(8)
	if want := []int{0, 0, 0, 1, 2, 2, 2, 3, 3}; !slices.Equal(greedy, want) {
		t.Errorf("greedy %v in order %v, want %v", greedy, order, want)
	}
	if got, want := optimum(p), []int{0, 0, 0, 1, 2, 2, 2, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("optimum %v, want %v", got, want)
	}
	if p.Reachable() != 3 {
		t.Errorf("reachable %d, want 3", p.Reachable())
	}
}

func TestOraclesWithoutAnything(t *testing.T) {
	for name, p := range map[string]*Problem{
		"no pages":       {},
		"no seeds":       {To: [][]int32{{0}}, Prize: []int32{0}},
		"nothing wanted": {To: [][]int32{{1}, {0}}, Seeds: []int32{0}, Prize: []int32{-1, -1}},
	} {
		hits, order := p.Greedy(3)
		if u := p.Bound(3); !slices.Equal(u, []int{0, 0, 0, 0}) || !slices.Equal(hits, u) || len(order) > 0 || p.Reachable() != 0 {
			t.Errorf("%s: bound %v, greedy %v by %v, reachable %d", name, u, hits, order, p.Reachable())
		}
	}
}

// BenchmarkOracles is a web of 20,000 pages and 400,000 links with 500 prizes.
func BenchmarkOracles(b *testing.B) {
	const pages = 20_000
	rng := rand.New(rand.NewPCG(3, 4))
	p := &Problem{To: make([][]int32, pages), Seeds: []int32{0}, Prize: make([]int32, pages)}
	for u := range p.To {
		p.Prize[u] = -1
		for range 20 {
			p.To[u] = append(p.To[u], int32((u+int(rng.ExpFloat64()*200))%pages))
		}
	}
	for k := range 500 {
		p.Prize[rng.IntN(pages)] = int32(k)
	}
	b.Run("bound", func(b *testing.B) {
		for b.Loop() {
			p.Bound(3000)
		}
	})
	b.Run("greedy", func(b *testing.B) {
		for b.Loop() {
			p.Greedy(3000)
		}
	})
}
