package score_test

import (
	"fmt"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// Crawls of start → gate → hall → bees, where bees alone is relevant, and of links to
// steel that lead nowhere. After the training a link is of the level of the one that it
// resembles, and steel, of which nothing is known, is below those.
func TestACHELevels(t *testing.T) {
	set := map[string]float64{"every": 30}
	s := newScorer(t, "ache-like-levels", score.Options{Set: set})
	number := 0
	fetch := func(c web.Candidate, relevant bool, anchors ...string) (links []web.Candidate) {
		number++
		p := pageOf(anchors...)
		p.URL = parse(fmt.Sprintf("http://a.test/%d", number))
		v := web.Verdict{Relevant: relevant, Relevance: 0.2}
		f := s.Extract(p, v)
		memory := s.Visit(&c, p, v)
		for i := range f {
			links = append(links, web.Candidate{URL: p.Links[i].URL, Depth: c.Depth + 1, Features: f[i], Memory: memory})
		}
		return links
	}
	for i := range 6 {
		start := fetch(web.Candidate{URL: parse("http://a.test/")}, false, "gate", "steel")
		if got := s.Score(&start[0]); i == 0 && got != 20 {
			t.Errorf("before the training %v, want 20, the page's", got)
		}
		fetch(start[1], false)
		fetch(fetch(fetch(start[0], false, "hall")[0], false, "bees")[0], true)
	}
	if !s.Stale() {
		t.Error("links are not scored anew after the training")
	}
	links := fetch(web.Candidate{URL: parse("http://b.test/")}, false, "bees", "hall", "gate")
	for i, want := range []float64{200, 100, 0} {
		if got := s.Score(&links[i]); got < want || got > want+99 {
			t.Errorf("level %d has %v, want %v and up to 99 more", i, got, want)
		}
	}
	state := scoretest.Grown(nil, s)
	again := newScorer(t, "ache-like-levels", score.Options{Set: set})
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	for i := range links {
		if a, b := s.Score(&links[i]), again.Score(&links[i]); a != b {
			t.Errorf("link %d: %v, and %v restored", i, a, b)
		}
	}
}

// The way back ends where a page is forgotten: with one page remembered the pages on the
// way to a relevant one are examples of nothing, and there is nothing to tell it from.
func TestACHEForgetsWays(t *testing.T) {
	scores := map[float64]float64{}
	for _, ways := range []float64{1, 100} {
		s := newScorer(t, "ache-like-levels", score.Options{Set: map[string]float64{"every": 12, "ways": ways}})
		p := pageOf("bees", "hall")
		v := web.Verdict{Relevance: 0.2}
		f := s.Extract(p, v)
		var memory []byte
		for range 4 {
			memory = s.Visit(&web.Candidate{URL: p.URL}, p, v)
			memory = s.Visit(&web.Candidate{URL: p.Links[1].URL, Depth: 1, Features: f[1], Memory: memory}, p, v)
			memory = s.Visit(&web.Candidate{URL: p.Links[0].URL, Depth: 2, Features: f[0], Memory: memory}, p, web.Verdict{Relevant: true})
		}
		scores[ways] = s.Score(&web.Candidate{URL: p.Links[0].URL, Depth: 1, Features: f[0], Memory: memory})
	}
	if scores[1] != 20 || scores[100] < 200 {
		t.Errorf("by ways: %v; want 20, the page's, and 200 or more", scores)
	}
}

// From the pages of a domain that the setting allows on, its other links come behind all
// of other domains. Hosts of one domain count together.
func TestACHEDomain(t *testing.T) {
	for _, name := range []string{"ache-like-soft", "ache-like-hard", "ache-like-levels"} {
		set := map[string]float64{"domain": 3}
		s := newScorer(t, name, score.Options{Set: set})
		p := pageOf("bees")
		v := web.Verdict{Relevant: true, Relevance: 1}
		f := s.Extract(p, v)
		of := func(u string) *web.Candidate {
			return &web.Candidate{URL: parse(u), Depth: 1, Features: f[0], Memory: []byte{1}}
		}
		for i, u := range []string{"http://www.hive.org/1", "http://hive.org/2", "http://wax.org/1", "http://old.hive.org/3"} {
			if got := s.Score(of("http://hive.org/more")); got != 100 {
				t.Errorf("%s: %v after %d pages, want 100", name, got, i)
			}
			s.Visit(of(u), p, v)
		}
		if !s.Stale() || s.Stale() {
			t.Errorf("%s: links are not scored anew once when a domain is full", name)
		}
		again := newScorer(t, name, score.Options{Set: set})
		if err := again.Restore(scoretest.Grown(nil, s)); err != nil {
			t.Fatal(err)
		}
		for u, want := range map[string]float64{"http://hive.org/more": -900, "http://wax.org/more": 100} {
			if a, b := s.Score(of(u)), again.Score(of(u)); a != want || b != want {
				t.Errorf("%s: %s has %v, and %v restored; want %v", name, u, a, b, want)
			}
		}
	}
}
