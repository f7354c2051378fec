package score_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// compact is a scorer whose journal begins anew with a snapshot whenever its state
// is asked for and has changed.
type compact struct{ score.Scorer }

func (c compact) State() (state []byte, snapshot bool) {
	if b, _ := c.Scorer.State(); b == nil {
		return nil, false
	}
	score.Compact(c.Scorer)
	return c.Scorer.State()
}

// snapshotters are the scorers that learn without end. Presets are these with other
// settings.
func snapshotters(t *testing.T) (names []string) {
	for _, l := range score.Descriptions() {
		if l.Print == nil && score.Compact(newScorer(t, l.Name, score.Options{Set: hasty(l.Name)})) {
			names = append(names, l.Name)
		}
	}
	if len(names) < 9 {
		t.Fatalf("only %v write snapshots", names)
	}
	return names
}

// A scorer restored from a snapshot is the same as one that was never stopped.
func TestSnapshotConformance(t *testing.T) {
	for _, name := range snapshotters(t) {
		t.Run(name, func(t *testing.T) {
			scoretest.RunWithin(t, featureBytes(name), func() scoretest.Scorer {
				return compact{newScorer(t, name, score.Options{Set: hasty(name)})}
			})
		})
	}
}

// learnPages lets a scorer learn from pages from…to: links with and without a
// word, half of them to relevant pages.
func learnPages(s score.Scorer, from, to int) (links []web.Candidate) {
	p := pageOf("bees", "steel")
	f := s.Extract(p, web.Verdict{})
	var memory []byte
	for i := from; i < to; i++ {
		c := web.Candidate{URL: parse(fmt.Sprintf("http://h%d.test/", i%50))}
		if i > 0 {
			c.Depth, c.Features, c.Memory = 1, f[i%2], memory
		}
		q := pageOf("bees", "steel")
		q.URL, q.Links[0].URL = c.URL, parse(fmt.Sprintf("http://h%d.test/", i+1))
		memory = s.Visit(&c, q, web.Verdict{Relevance: float64(i % 2), Relevant: i%2 == 1})
	}
	for i := range f {
		links = append(links, web.Candidate{URL: p.Links[i].URL, Depth: 1, Features: f[i], Memory: memory})
	}
	return links
}

// A scorer that goes on from a snapshot and the entries after it learns as one that
// was never stopped, and its state stays the same bytes.
func TestGoesOnFromSnapshot(t *testing.T) {
	for _, name := range snapshotters(t) {
		t.Run(name, func(t *testing.T) {
			o := score.Options{Set: map[string]float64{}}
			d, _ := score.Describe(name)
			for _, s := range d.Settings {
				switch s.Name {
				case "reservoir":
					o.Set["reservoir"] = 100
				case "online":
					o.Set["online"] = 1 // as hasty has it
				}
			}
			whole, again := newScorer(t, name, o), newScorer(t, name, o)
			learnPages(whole, 0, 700)
			score.Compact(whole)
			state := scoretest.Grown(nil, whole)
			learnPages(whole, 700, 1200)
			state = scoretest.Grown(state, whole)
			if err := again.Restore(state); err != nil {
				t.Fatal(err)
			}
			var found [][]web.Candidate
			var states [][]byte
			for _, s := range []score.Scorer{whole, again} {
				found = append(found, learnPages(s, 1200, 1400))
				states = append(states, scoretest.Grown(state, s))
				score.Compact(s)
				states = append(states, scoretest.Grown(nil, s))
			}
			if !bytes.Equal(states[0], states[2]) || !bytes.Equal(states[1], states[3]) {
				t.Error("the same pages gave other states")
			}
			for i := range found[0] {
				if a, b := whole.Score(&found[0][i]), again.Score(&found[1][i]); a != b {
					t.Errorf("link %d has %v, restored %v", i, a, b)
				}
			}
		})
	}
}

// A snapshot that was altered or cut is refused, or read as another model; it never
// breaks the scorer.
func TestDamagedSnapshot(t *testing.T) {
	for _, name := range snapshotters(t) {
		s := newScorer(t, name, score.Options{Set: hasty(name)})
		links := learnPages(s, 0, 40)
		score.Compact(s)
		state := scoretest.Grown(nil, s)
		step := max(1, len(state)/long.Of(15, 300))
		for i := 0; i < len(state); i += step {
			altered := bytes.Clone(state)
			altered[i] ^= 0xff
			for _, damaged := range [][]byte{state[:i], altered} {
				again := newScorer(t, name, score.Options{Set: hasty(name)})
				if again.Restore(damaged) != nil {
					continue
				}
				for _, c := range links {
					if got := again.Score(&c); math.IsNaN(got) || math.IsInf(got, 0) {
						t.Errorf("%s: byte %d altered gives a score of %v", name, i, got)
					}
				}
			}
		}
	}
}
