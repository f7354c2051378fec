package pool

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// population is one of n documents, the last tenth of them unreachable, with
// rankings that agree more or less.
func population(n, lists int, seed uint64) Population {
	rng := rand.New(rand.NewPCG(seed, 0))
	p := Population{}
	for d := range n {
		p.Pages = append(p.Pages, address(d))
		p.Reachable = append(p.Reachable, d < n-n/10)
	}
	for range lists {
		type ranked struct {
			document int32
			by       float64
		}
		var all []ranked
		for d := range n {
			all = append(all, ranked{int32(d), float64(d) + rng.Float64()*100})
		}
		slices.SortFunc(all, func(a, b ranked) int { return int(math.Copysign(1, a.by-b.by)) })
		var list []int32
		for _, x := range all[:n/2] {
			list = append(list, x.document)
		}
		p.Lists = append(p.Lists, list)
	}
	return p
}

func address(d int) web.URL { return mustParse(fmt.Sprintf("http://a.example/%d", d)) }

func mustParse(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func TestDraw(t *testing.T) {
	p := population(5000, 6, 1)
	got, err := Draw("w", "t", p, DrawOptions{Pages: 340, Top: 200, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pages) != 340 || len(got.Member) != 5000 || got.Lists != 6 {
		t.Errorf("%d pages, %d members, %d lists", len(got.Pages), len(got.Member), got.Lists)
	}
	// The depth is the largest that keeps the first stratum within bounds.
	within := func(depth int) int {
		in := map[int32]bool{}
		for _, l := range p.Lists {
			for _, d := range l[:depth] {
				in[d] = true
			}
		}
		return len(in)
	}
	if within(got.Depth) > 200 || within(got.Depth+1) <= 200 || within(got.Depth) != got.Strata[0].Size || got.Strata[0].Drawn != got.Strata[0].Size {
		t.Errorf("depth %d: %d documents, and %d one deeper; %+v", got.Depth, within(got.Depth), within(got.Depth+1), got.Strata[0])
	}
	size := make([]int, len(got.Strata))
	for d, s := range got.Member {
		size[s]++
		if unreached := got.Strata[s].Name == "unreachable"; unreached && p.Reachable[d] || !unreached && s > 0 && !p.Reachable[d] {
			t.Errorf("document %d, reachable %v, is in %s", d, p.Reachable[d], got.Strata[s].Name)
		}
	}
	number := map[web.URL]int{}
	for d, u := range p.Pages {
		number[u] = d
	}
	drawn := make([]int, len(got.Strata))
	seen := map[web.URL]bool{}
	for _, x := range got.Pages {
		drawn[x.Stratum]++
		if seen[x.URL] || int(got.Member[number[x.URL]]) != x.Stratum {
			t.Errorf("%s is drawn twice, or of stratum %d", x.URL, x.Stratum)
		}
		seen[x.URL] = true
	}
	for s, x := range got.Strata {
		if size[s] != x.Size || drawn[s] != x.Drawn || x.Drawn == 0 && x.Size > 0 {
			t.Errorf("%+v: holds %d, drawn %d", x, size[s], drawn[s])
		}
	}

	// Again the same, in whatever order lists are given; other seeds draw others.
	q := p
	q.Lists = slices.Clone(p.Lists)
	slices.Reverse(q.Lists)
	again, err := Draw("w", "t", q, DrawOptions{Pages: 340, Top: 200, Seed: 3})
	if err != nil || !reflect.DeepEqual(got, again) {
		t.Errorf("drawn again, it differs (%v)", err)
	}
	other, err := Draw("w", "t", p, DrawOptions{Pages: 340, Top: 200, Seed: 4})
	if err != nil || reflect.DeepEqual(got.Pages, other.Pages) || !reflect.DeepEqual(got.Member, other.Member) {
		t.Errorf("another seed draws the same, or parts otherwise (%v)", err)
	}
}

// The reading order tells nothing of strata: the mean place of each is that of
// chance.
func TestOrderTellsNothing(t *testing.T) {
	p := population(3000, 4, 2)
	sum, n := map[int]float64{}, map[int]float64{}
	for seed := range uint64(60) {
		got, err := Draw("w", "t", p, DrawOptions{Pages: 340, Top: 200, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got.Pages {
			sum[x.Stratum] += (float64(i) + .5) / float64(len(got.Pages))
			n[x.Stratum]++
		}
	}
	for s := range n {
		// A place is uniform in [0,1], of variance 1/12.
		if z := (sum[s]/n[s] - .5) / math.Sqrt(1./12/n[s]); math.Abs(z) > 4 {
			t.Errorf("stratum %d: mean place %.3f, %.1f standard errors from the middle", s, sum[s]/n[s], z)
		}
	}
}

// Over many draws every document of a stratum is drawn equally often.
func TestDrawIsFair(t *testing.T) {
	p := population(400, 3, 5)
	const seeds = 600
	times := map[web.URL]int{}
	var last Topic
	for seed := range uint64(seeds) {
		got, err := Draw("w", "t", p, DrawOptions{Pages: 60, Top: 20, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got.Pages {
			times[x.URL]++
		}
		last = got
	}
	worst := 0.
	for d, s := range last.Member {
		x := last.Strata[s]
		share := float64(x.Drawn) / float64(x.Size)
		sd := math.Sqrt(seeds * share * (1 - share))
		if z := math.Abs(float64(times[p.Pages[d]]) - seeds*share); sd > 0 {
			worst = max(worst, z/sd)
		} else if z > 0 {
			t.Errorf("document %d is drawn %d times of %d, for a share of %v", d, times[p.Pages[d]], seeds, share)
		}
	}
	if worst > 4.5 { // of 400 documents; beyond that once in 400 such tests
		t.Errorf("a document is drawn %.1f standard deviations too often or seldom", worst)
	}
}

func TestDrawSmallWebs(t *testing.T) {
	for _, c := range []struct {
		n, lists, pages, top int
		want                 string
	}{
		{5, 2, 340, 200, "5"},  // all is read
		{100, 0, 20, 10, "20"}, // nothing is ranked
		{100, 3, 20, 0, "20"},  // nothing by rank
		{100, 3, 20, 20, "20"}, // nothing else
		{100, 3, 0, 10, "give 1 page or more"},
		{100, 3, 5, 10, "give 1 page or more"},
	} {
		got, err := Draw("w", "t", population(c.n, c.lists, 1), DrawOptions{Pages: c.pages, Top: c.top})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if c.pages > 0 && fmt.Sprint(len(got.Pages)) != c.want {
			t.Errorf("%+v: %d pages", c, len(got.Pages))
		}
		total := 0
		for _, s := range got.Strata {
			total += s.Drawn
		}
		if total != len(got.Pages) || total > c.n {
			t.Errorf("%+v: %d drawn of strata, %d pages of %d", c, total, len(got.Pages), c.n)
		}
	}
	p := population(10, 1, 1)
	p.Lists[0] = append(p.Lists[0], p.Lists[0][0])
	if _, err := Draw("w", "t", p, DrawOptions{Pages: 5}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a document twice in a list: %v", err)
	}
	p.Lists[0] = []int32{10}
	if _, err := Draw("w", "t", p, DrawOptions{Pages: 5}); err == nil || !strings.Contains(err.Error(), "document 10 of 10") {
		t.Errorf("a document that is none: %v", err)
	}
}
