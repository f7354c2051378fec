package pool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// Population is the documents of a web, and how crawls and judges ranked them
// for a topic.
type Population struct {
	Pages     []web.URL // [document] the page that stands for it
	Reachable []bool    // [document] whether a crawl can come to it from the topic's seeds
	// Lists are rankings of documents, best first, each document once in a list:
	// the pages of a crawl in the order of their fetches, or those to which a
	// judge gives more than nothing. Shape: [list][rank].
	Lists [][]int32
}

// DrawOptions say how many pages of a topic are drawn.
type DrawOptions struct {
	Pages int // of a topic, at least 1
	Top   int // of these, at most so many by rank; 0 = none
	Seed  uint64
}

// The strata, and the share that each of those behind the first has in the pages
// left over by it. A stratum ends at so many times the depth of the first.
//
// The first is read whole, as pools of evaluation campaigns are. The others hold
// more and more documents, and fewer and fewer of these are relevant. The
// variance of a total is least for samples in proportion to N·√(p(1−p)) (Neyman
// 1934), with N the documents that are summed over and p their share of relevant
// ones. Summed over a web, that asks for most pages of the last strata; over what
// a crawl has fetched, for most of the first. The shares lie between the two. That
// of the last is small, as no crawl comes there: it only tells how much of a
// topic cannot be reached.
var strata = [...]struct {
	name  string
	ends  int     // in depths of the first; 0 = never
	share float64 // of the pages that are not in the first
}{
	{"top", 1, 0},
	{"high", 4, .32},
	{"middle", 16, .29},
	{"low", 64, .21},
	{"rest", 0, .12},
	{"unreachable", 0, .06},
}

// Draw draws the pages of one topic.
//
// The rank of a document is its best in any list. The depth is the largest for
// which at most Top documents have a rank up to it: these are the stratum top,
// which is drawn whole. Of the others, high are those of a rank up to 4 times
// the depth, middle up to 16 times, low up to 64 times, rest are all others that
// can be reached, and unreachable are those that cannot. Of each of these a
// simple random sample is drawn. A stratum that is smaller than its sample is
// drawn whole, and the next ones get what it leaves.
//
// What is drawn depends on the seed, the names, the addresses and the lists
// alone, not on the order of the lists.
func Draw(webName, topic string, p Population, o DrawOptions) (Topic, error) {
	t := Topic{Web: webName, Name: topic, Lists: len(p.Lists)}
	fail := func(format string, args ...any) (Topic, error) {
		return Topic{}, fmt.Errorf("pool of %s: %s", t.Key(), fmt.Sprintf(format, args...))
	}
	switch {
	case o.Pages < 1 || o.Top < 0 || o.Top > o.Pages:
		return fail("%d pages, of which %d by rank: give 1 page or more, and of them not more by rank than there are", o.Pages, o.Top)
	case len(p.Reachable) != len(p.Pages):
		return fail("%d pages, but %d that can be reached or not", len(p.Pages), len(p.Reachable))
	}
	rank, err := bestRanks(p)
	if err != nil {
		return fail("%v", err)
	}
	t.Depth = depth(rank, o.Top)
	t.Member = make([]uint8, len(p.Pages))
	members := make([][]int32, len(strata))
	for d := range p.Pages {
		s := stratumOf(rank[d], t.Depth, p.Reachable[d])
		t.Member[d] = uint8(s)
		members[s] = append(members[s], int32(d))
	}
	chance := func(purpose string) func(a, b web.URL) int {
		h := func(u web.URL) uint64 {
			return xxh3.HashStringSeed(purpose+" "+webName+" "+topic+" "+u.String(), o.Seed)
		}
		return func(a, b web.URL) int { return cmp.Or(cmp.Compare(h(a), h(b)), cmp.Compare(a.String(), b.String())) }
	}
	draw, read := chance("draw"), chance("order")
	sizes := samples(members, o.Pages)
	for s, list := range members {
		slices.SortFunc(list, func(a, b int32) int { return draw(p.Pages[a], p.Pages[b]) })
		for _, d := range list[:sizes[s]] {
			t.Pages = append(t.Pages, Page{p.Pages[d], s})
		}
		t.Strata = append(t.Strata, Stratum{Name: strata[s].name, Size: len(list), Drawn: sizes[s]})
	}
	slices.SortFunc(t.Pages, func(a, b Page) int { return read(a.URL, b.URL) })
	return t, nil
}

// unranked is the rank of what is in no list.
const unranked = int32(1) << 30

// bestRanks is the best rank, from 1, of each document. Shape: [document].
func bestRanks(p Population) ([]int32, error) {
	rank := make([]int32, len(p.Pages))
	for d := range rank {
		rank[d] = unranked
	}
	for _, list := range p.Lists {
		in := map[int32]bool{}
		for i, d := range list {
			if d < 0 || int(d) >= len(rank) {
				return nil, fmt.Errorf("a list holds document %d of %d", d, len(rank))
			}
			if in[d] {
				return nil, errors.New("a list holds a document twice")
			}
			in[d] = true
			rank[d] = min(rank[d], int32(i+1))
		}
	}
	return rank, nil
}

// depth is the largest rank up to which at most top documents are; 0 where the
// first of every list are more.
func depth(rank []int32, top int) int {
	sorted := slices.Clone(rank)
	slices.Sort(sorted)
	if n, _ := slices.BinarySearch(sorted, unranked); n <= top { // all that is ranked
		if n == 0 {
			return 0
		}
		return int(sorted[n-1])
	}
	return int(sorted[top]) - 1
}

// stratumOf is the stratum of a document.
func stratumOf(rank int32, depth int, reachable bool) int {
	switch {
	case int(rank) <= depth:
		return 0
	case !reachable:
		return len(strata) - 1
	}
	for s := 1; s < len(strata)-1; s++ {
		if e := strata[s].ends; e > 0 && int(rank) <= e*depth || e == 0 {
			return s
		}
	}
	return len(strata) - 2
}

// samples is how many pages of each stratum are drawn, so that they sum to
// pages, or to all documents where these are fewer. Shape: members and result
// [stratum].
func samples(members [][]int32, pages int) []int {
	n := make([]int, len(members))
	n[0] = min(len(members[0]), pages)
	left := pages - n[0]
	spare := float64(left)
	open := 1.
	for s := 1; s < len(n); s++ {
		// Of what is left, its share among the strata that follow.
		want := int(spare*strata[s].share/open + .5)
		if s == len(n)-1 {
			want = left
		}
		n[s] = min(want, len(members[s]), left)
		left -= n[s]
		spare = float64(left)
		open -= strata[s].share
	}
	for s := len(n) - 2; s > 0 && left > 0; s-- { // what the last could not take
		more := min(left, len(members[s])-n[s])
		n[s] += more
		left -= more
	}
	return n
}
