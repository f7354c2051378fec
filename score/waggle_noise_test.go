package score_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// noisyHits is how many relevant pages a scorer finds in 200 fetches of a web of 4,000
// pages, a quarter of them relevant. Of the six links of a relevant page four lead to
// relevant ones, of those of another page one; two anchors of three are of the words
// that belong to what they lead to. Of a share of the pages the scorer is told
// relevance, similarity and verdict of a page drawn at random, and its links begin with
// those: the same ones whichever scorer is asked.
func noisyHits(t *testing.T, name string, noise float64, seed uint64) (hits int) {
	words := map[bool][]string{true: {"hive", "comb", "nectar", "swarm"}, false: {"engine", "wheel", "brake", "garage"}}
	of := func(u web.URL) (good bool, chance *rand.Rand) {
		h := fnv.New64a()
		fmt.Fprint(h, u, seed)
		return strings.HasSuffix(u.Path(), "0.html"), rand.New(rand.NewPCG(h.Sum64(), 2))
	}
	page := func(u web.URL) *web.Page {
		good, chance := of(u)
		p := &web.Page{URL: u}
		for i := range 6 {
			to := good && i < 4 || !good && i == 0
			n := 4*chance.IntN(1000) + 1 + chance.IntN(3)
			if to {
				n = 4 * chance.IntN(1000)
			}
			said := to != (chance.IntN(3) == 0)
			anchor := words[said][chance.IntN(4)] + " " + words[said][chance.IntN(4)]
			p.Leaves = append(p.Leaves, web.Leaf{Text: anchor})
			p.Links = append(p.Links, web.Link{
				URL: parse(fmt.Sprintf("http://a.test/p%d-%d.html", n, min(1, n%4))), Kind: web.LinkA, Anchor: anchor,
				TagPath: "html/body/a", Position: i, First: i, Last: i,
			})
		}
		return p
	}
	crawlAll(newScorer(t, name, score.Options{}), page(parse("http://a.test/p0-0.html")), 200, func(u web.URL) (*web.Page, web.Verdict) {
		good, _ := of(u)
		if good {
			hits++
		}
		h := fnv.New64a()
		fmt.Fprint(h, "noise", u, seed)
		own := rand.New(rand.NewPCG(h.Sum64(), 3))
		if own.Float64() < noise {
			good = own.IntN(4) == 0
		}
		if good {
			return page(u), wanted
		}
		return page(u), unwanted
	})
	return hits
}

// Wrong verdicts, of pages and so of what their links begin with, cost all scorers
// relevant pages. With six of ten drawn anew waggle still finds more than best-first by
// page and anchor, which they lead astray. It is not the steadiest here: see
// docs/results/flagship.md.
func TestWaggleWithWrongVerdicts(t *testing.T) {
	const seeds = 6
	shares := []float64{0, 0.1, 0.3, 0.6}
	hits := func(name string) (sums []float64) {
		for _, share := range shares {
			sum := 0
			for seed := range uint64(seeds) {
				sum += noisyHits(t, name, share, seed)
			}
			sums = append(sums, float64(sum)/seeds)
		}
		t.Logf("%s: %.1f relevant pages of 200, of a share %v verdicts drawn anew", name, sums, shares)
		return sums
	}
	waggle, best := hits("waggle"), hits("best-first-both")
	hits("apprentice-tempered")
	if best[3] > 0.9*best[0] {
		t.Errorf("best-first finds %v: wrong verdicts do not lead it astray", best)
	}
	if waggle[2] < 0.85*waggle[0] || waggle[3] < 1.15*best[3] {
		t.Errorf("waggle finds %v, best-first %v", waggle, best)
	}
}
