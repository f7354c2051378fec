package score_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// newTurning is waggle of which every fourth turn goes by the first weights, or every second.
func newTurning(t testing.TB) renewing {
	return newScorer(t, "waggle", score.Options{Set: map[string]float64{"turns": 4}}).(renewing)
}

// turning tells by which ranking a link goes, of one in a folder from which nothing relevant came.
func turning(s score.Scorer, f fetches, fresh float64) string {
	if s.Score(f.link(38)) == fresh {
		return "first"
	}
	return "learnt"
}

// A turn has ten pages, the first one twenty. Every fourth goes by the first weights, every second where they
// bring as much. What waits is scored anew where the ranking changes.
func TestWaggleTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		inFirst float64 // relevance of pages of the first weights' turns
		want    string  // the rankings of the turns 1 to 8
	}{
		{"the first weights bring nothing", 0, "learnt learnt learnt first learnt learnt learnt first"},
		{"they bring more", 1, "learnt learnt learnt first learnt first learnt first"},
	} {
		s := newTurning(t)
		f := begin(s, 40) // one page
		fresh := s.Score(f.link(38))
		var got []string
		for n := 1; n < 100; n++ {
			now := turning(s, f, fresh)
			relevance := 0.1
			if now == "first" {
				relevance = c.inFirst
			}
			s.Stale()
			s.Visit(f.link(n%20*2), f.page(n%20*2), verdict(relevance))
			then := turning(s, f, fresh)
			if stale := s.Stale(); then != now && n > 1 && !stale {
				t.Errorf("%s: page %d: the ranking changed, and nothing is scored anew", c.name, n)
			}
			if n >= 19 && (n-19)%10 == 0 && len(got) < 8 {
				got = append(got, then)
			}
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: turns by %s, want %s", c.name, g, c.want)
		}
	}
}

// Without the setting no turn goes by the first weights.
func TestWaggleWithoutTurns(t *testing.T) {
	s := newScorer(t, "waggle", score.Options{})
	f := begin(s, 40)
	fresh := s.Score(f.link(38))
	for n := 1; n < 100; n++ {
		s.Visit(f.link(n%20*2), f.page(n%20*2), verdict(0.1))
		if n > 1 && turning(s, f, fresh) == "first" {
			t.Fatalf("page %d: a turn by the first weights", n)
		}
	}
}

// A scorer that goes on from its state, of entries or of a snapshot, is in the same turn, and one
// that another worker taught as well. Without the setting the turns of a state are passed over.
func TestWaggleRestoresTurns(t *testing.T) {
	for _, pages := range []int{5, 35, 44, 62} {
		for _, snapshot := range []bool{false, true} {
			at := fmt.Sprintf("after %d pages, snapshot %v", pages, snapshot)
			s, taught := newTurning(t), newTurning(t)
			s.Share()
			f := begin(s, 40)
			for n := 1; n < pages; n++ {
				s.Visit(f.link(n%20*2), f.page(n%20*2), verdict(0.1))
			}
			for _, lesson := range s.Lessons() {
				if err := taught.Learn(lesson); err != nil {
					t.Fatal(err)
				}
			}
			if snapshot {
				score.Compact(s)
			}
			state := scoretest.Grown(nil, s)
			again, off := newTurning(t), newScorer(t, "waggle", score.Options{}).(renewing)
			for _, r := range []renewing{again, off} {
				if err := r.Restore(state); err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				if !reflect.DeepEqual(r.Learnt(), s.Learnt()) {
					t.Errorf("%s: other weights", at)
				}
			}
			for n := pages; n < pages+60; n++ {
				for _, r := range []renewing{s, taught, again, off} {
					r.Visit(f.link(n%20*2), f.page(n%20*2), verdict(0.1))
				}
				if want := s.Score(f.link(39)); again.Score(f.link(39)) != want || taught.Score(f.link(39)) != want {
					t.Fatalf("%s: page %d: a link has %v, after a restart %v, by lessons %v", at, n, want, again.Score(f.link(39)), taught.Score(f.link(39)))
				}
			}
			plain := newScorer(t, "waggle", score.Options{})
			begin(plain, 40)
			for n := 1; n < pages+60; n++ {
				plain.Visit(f.link(n%20*2), f.page(n%20*2), verdict(0.1))
			}
			score.Compact(plain)
			score.Compact(off)
			if want, got := scoretest.Grown(nil, plain), scoretest.Grown(nil, off); !bytes.Equal(got, want) {
				t.Errorf("%s: without the setting a state is not as if there had been none", at)
			}
		}
	}
}

// In a turn by the first weights a link is explained by these.
func TestWaggleExplainsTurns(t *testing.T) {
	s := newTurning(t)
	f := begin(s, 40)
	fresh := s.Score(f.link(38))
	seen := map[string]bool{}
	for n := 1; n < 60; n++ {
		s.Visit(f.link(n%20*2), f.page(n%20*2), verdict(0.1))
		sum, told := 0., false
		for _, r := range s.(score.Explainer).Explain(f.hub, web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}, 38, f.link(38)) {
			sum += r.Weight
			told = told || r.What == "a turn by the first weights"
		}
		now := turning(s, f, fresh)
		if told != (now == "first") {
			t.Fatalf("page %d, a turn by %s: that the first weights had their turn is told: %v", n, now, told)
		}
		if seen[now] = true; math.Abs(sum-s.Score(f.link(38))) > 0.04 {
			t.Fatalf("page %d, a turn by %s: the reasons add up to %v, the priority is %v", n, now, sum, s.Score(f.link(38)))
		}
	}
	if !seen["first"] || !seen["learnt"] {
		t.Fatalf("turns by %v", seen)
	}
}
