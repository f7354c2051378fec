package score_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// Sections 2.2 and 3.5: the model of one crawl, kept as a file, guides another
// from its first page, whether that learns on or not; and the model made of a crawl
// after its end is the one that an apprentice learned during it.
func TestModelOfACrawl(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a><p><a href=a>wax</a>`)
	for _, boundary := range []float64{0, 1, 2} {
		set := func(more map[string]float64) map[string]float64 {
			all := map[string]float64{"start": 1, "every": 1, "boundary": boundary}
			for k, v := range more {
				all[k] = v
			}
			return all
		}
		along := newScorer(t, "apprentice", score.Options{Set: set(nil)})
		trainer, err := apprentice.NewTrainer(false, apprentice.Options{Analyzer: analyzer, Set: map[string]float64{"boundary": boundary}})
		if err != nil {
			t.Fatal(err)
		}
		verdicts := []web.Verdict{verdictOf(0.9), verdictOf(0.1)}
		var found []web.Candidate
		for range 6 {
			found = followed(along, p, 0.5, 0.9, 0.1)
			trainer.Examples(p, verdictOf(0.5), func(u web.URL) apprentice.Outcome {
				i := slices.IndexFunc(p.Links, func(l web.Link) bool { return l.URL == u })
				return apprentice.Outcome{Verdict: verdicts[i], Fetched: true, Later: true}
			}, func(_ int, x apprentice.Example) { trainer.Learn(x) })
		}
		f := &model.File{Kind: model.Apprentice, Payload: trainer.Model()}
		b, err := f.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if f, err = model.Unmarshal(b, analyzer); err != nil {
			t.Fatal(err)
		}
		still := newScorer(t, "apprentice", score.Options{Model: f, Set: set(map[string]float64{"online": 0})})
		for i := range found {
			if got, want := still.Score(&found[i]), along.Score(&found[i]); math.Abs(got-want) > 1e-6 {
				t.Errorf("boundary %v, link %d: %v by the model, %v by the apprentice that went along", boundary, i, got, want)
			}
		}
		followed(still, p, 0.5, 0.1, 0.9)
		if still.Stale() || scoretest.Grown(nil, still) != nil {
			t.Error("online = 0 learned")
		}
		on := newScorer(t, "apprentice", score.Options{Model: f, Set: set(nil)})
		first := on.Score(&found[0])
		for range 40 {
			followed(on, p, 0.5, 0.1, 0.9)
		}
		if now := on.Score(&found[0]); first <= 0 || now >= 0 {
			t.Errorf("boundary %v: what it was taught gave %v, and after learning the contrary %v", boundary, first, now)
		}
	}
}

// What does not go together says what to set.
func TestApprenticeModels(t *testing.T) {
	of := func(m model.Surroundings) *model.File {
		return &model.File{Kind: model.Apprentice, Payload: &m}
	}
	for _, c := range []struct {
		model *model.File
		set   map[string]float64
		want  string
	}{
		{nil, map[string]float64{"online": 0}, "waggle train apprentice"},
		{nil, map[string]float64{"boundary": 0.7}, "setting boundary = 0.7 is no whole number in 0…2"},
		{nil, map[string]float64{"dmax": 3.5}, "setting dmax = 3.5 is no whole number in 0…10"},
		{trained(t, "crf"), nil, "waggle train apprentice"},
		{of(model.Surroundings{Reach: 3}), nil, "set dmax to 3"},
		{of(model.Surroundings{Reach: 5, Plain: true}), nil, "set plain to 1"},
		{of(model.Surroundings{Reach: 5}), map[string]float64{"cocitation": 1}, "set cocitation to 0"},
	} {
		_, err := score.New("apprentice", score.Options{Model: c.model, Set: c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.set, err, c.want)
		}
	}
}

// An apprentice that is killed after any page goes on as if it had not been, and
// State is the same bytes.
func TestApprenticeGoesOn(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a><p><a href=c>wax</a>`)
	outcomes := [][]float64{{0.9, 0.1, 0.4}, {0.8, 0.2}, {0.7, 0.3, 0.6}, {1, 0, 0.5}, {0.6, 0.1, 0.2}, {0.9, 0.4}}
	for _, name := range []string{"apprentice", "apprentice-tempered"} {
		o := score.Options{Set: map[string]float64{"start": 4, "every": 3, "cocitation": 1}}
		whole := newScorer(t, name, o)
		var states [][]byte
		var state []byte
		for _, list := range outcomes {
			followed(whole, p, 0.5, list...)
			state = scoretest.Grown(state, whole)
			states = append(states, state)
		}
		for k := range states {
			s := newScorer(t, name, o)
			if err := s.Restore(states[k]); err != nil {
				t.Fatal(err)
			}
			var found []web.Candidate
			last := states[k]
			for _, list := range outcomes[k+1:] {
				followed(s, p, 0.5, list...)
				last = scoretest.Grown(last, s)
			}
			if !bytes.Equal(last, states[len(states)-1]) {
				t.Errorf("%s: stopped after page %d, it ends in another state", name, k)
			}
			found = followed(s, p, 0.5)
			for i := range found {
				if a, b := s.Score(&found[i]), whole.Score(&found[i]); a != b {
					t.Errorf("%s: stopped after page %d, link %d has %v instead of %v", name, k, i, a, b)
				}
			}
		}
	}
}

// The tempered apprentice believes its words as far as they foretold what was
// found: where they tell all, they part the links of a page; where the page's
// own relevance tells all, they hardly do, and are as if they were not there.
func TestEvidenceProvesItself(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a>`)
	spread := func(outcomes func(page float64) []float64) (words, pages float64) {
		s := newScorer(t, "apprentice-tempered", score.Options{Set: map[string]float64{"start": 4, "every": 4, "dmax": 0}})
		for n := range 80 {
			page := []float64{0.9, 0.1}[n%2]
			followed(s, p, page, outcomes(page)...)
		}
		good, poor := followed(s, p, 0.9), followed(s, p, 0.1)
		return s.Score(&good[0]) - s.Score(&good[1]), s.Score(&good[0]) - s.Score(&poor[0])
	}
	words, pages := spread(func(float64) []float64 { return []float64{0.9, 0.1} })
	if words < 2 || pages > 1 {
		t.Errorf("words tell all: they part links by %.2f, and pages by %.2f", words, pages)
	}
	words, pages = spread(func(page float64) []float64 { return []float64{page, page} })
	if math.Abs(words) > 0.2 || pages < 2 {
		t.Errorf("pages tell all: words part links by %.2f, and pages by %.2f", words, pages)
	}
}

// zipfPage is a page of 100 links and about 2,000 words, of a vocabulary such
// as a crawl meets.
func zipfPage(n int) *web.Page {
	chance := rand.New(rand.NewPCG(uint64(n), 1))
	zipf := rand.NewZipf(chance, 1.1, 8, 60_000)
	words := func(most int) string {
		var b strings.Builder
		for range chance.IntN(most) {
			fmt.Fprintf(&b, "word%d ", zipf.Uint64())
		}
		return b.String()
	}
	p := &web.Page{URL: parse(fmt.Sprintf("http://h%d.test/%d", n%50, n))}
	for i := range 100 {
		p.Links = append(p.Links, web.Link{URL: parse(fmt.Sprintf("http://h%d.test/%d", i%50, 100*n+i)), Position: i, First: len(p.Leaves) + 1, Last: len(p.Leaves) + 1})
		p.Leaves = append(p.Leaves, web.Leaf{Text: words(24)}, web.Leaf{Text: words(8)}, web.Leaf{}, web.Leaf{Text: words(10)})
	}
	return p
}
