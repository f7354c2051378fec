package score_test

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// renewing is what a crawl looks for in a scorer where its judge changes its mind.
type renewing interface {
	sharing
	Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool)
	Renew(pages []web.Renewal)
	Learnt() *model.Weights
}

func newRenewing(t testing.TB, o score.Options) renewing {
	o.Set = maps.Clone(o.Set)
	if o.Set == nil {
		o.Set = map[string]float64{}
	}
	o.Set["renewals"] = 1
	s, ok := newScorer(t, "waggle", o).(renewing)
	if !ok {
		t.Fatal("the scorer waggle learns nothing from a judge that changes its mind")
	}
	return s
}

func verdict(relevance float64) web.Verdict {
	return web.Verdict{Relevance: relevance, Similarity: 0.5, Relevant: relevance >= 0.5}
}

// fetches are the links of a hub, with what a scorer needs to know of each.
type fetches struct {
	hub      *web.Page
	features [][]byte
	memory   []byte
}

// begin has a scorer visit the hub.
func begin(s score.Scorer, links int) fetches {
	hub, _ := folders(links / 2)
	v := web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}
	return fetches{hub, s.Extract(hub, v), s.Visit(&web.Candidate{URL: hub.URL}, hub, v)}
}

func (f *fetches) link(i int) *web.Candidate {
	return &web.Candidate{URL: f.hub.Links[i].URL, From: f.hub.URL, Depth: 1, Features: f.features[i], Memory: f.memory}
}

func (f *fetches) page(i int) *web.Page { return &web.Page{URL: f.hub.Links[i].URL} }

func (f *fetches) renewal(i int, relevance float64) web.Renewal {
	return web.Renewal{URL: f.hub.Links[i].URL, Verdict: verdict(relevance)}
}

// Which of two folders goes first follows what the judge says now of the pages that were
// fetched from them, even pages in /bad/ and odd ones in /good/.
func TestWaggleRenews(t *testing.T) {
	const good, bad = "/good/", "/bad/"
	both := func(s renewing, f fetches, inBad, inGood float64) {
		var pages []web.Renewal
		for i := range 20 {
			pages = append(pages, f.renewal(i, [...]float64{inBad, inGood}[i%2]))
		}
		s.Renew(pages)
	}
	for _, c := range []struct {
		name  string
		then  func(s renewing, f fetches)
		first string
		stale bool // what waits is scored anew
	}{
		{"the judge keeps its mind", func(renewing, fetches) {}, bad, false},
		{"says the same twice", func(s renewing, f fetches) { both(s, f, 0.9, 0.1); s.Stale(); both(s, f, 0.9, 0.1) }, bad, false},
		{"changes its mind", func(s renewing, f fetches) { both(s, f, 0.1, 0.9) }, good, true},
		{"and changes it back", func(s renewing, f fetches) { both(s, f, 0.1, 0.9); both(s, f, 0.9, 0.1) }, bad, true},
		{"of pages that were not fetched", func(s renewing, f fetches) { s.Renew([]web.Renewal{f.renewal(30, 0.9), f.renewal(31, 0)}) }, bad, true},
		{"what a person said stays", func(s renewing, f fetches) {
			for range 5 {
				for i := range 20 {
					s.Label(f.link(i), f.page(i), verdict([...]float64{1, 0}[i%2]), false)
				}
			}
			s.Stale()
			both(s, f, 0.1, 0.9)
		}, bad, true},
		{"after many more pages", func(s renewing, f fetches) {
			for range 600 {
				s.Visit(f.link(40), nil, web.Verdict{})
			}
			s.Stale()
			both(s, f, 0.1, 0.9)
		}, good, true},
		{"after many more examples", func(s renewing, f fetches) {
			for range 500 {
				s.Visit(f.link(40), f.page(40), verdict(0.9))
			}
			s.Stale()
			both(s, f, 0.1, 0.9)
		}, bad, false},
	} {
		s := newRenewing(t, score.Options{})
		f := begin(s, 100)
		for i := range 20 {
			s.Visit(f.link(i), f.page(i), verdict([...]float64{0.9, 0.1}[i%2]))
		}
		s.Stale()
		c.then(s, f)
		if got := s.Stale(); got != c.stale {
			t.Errorf("%s: what waits is scored anew: %v", c.name, got)
		}
		first := bad
		if s.Score(f.link(61)) > s.Score(f.link(60)) {
			first = good
		}
		if first != c.first {
			t.Errorf("%s: %s goes first", c.name, first)
		}
	}
}

// A scorer whose judge changed its mind has the very weights of one that was told the last
// verdicts at once, whatever came between; so have one that was stopped anywhere and
// went on, one of another worker, and those that begin with a model.
func TestWaggleRenewsAsIfKnown(t *testing.T) {
	old := newRenewing(t, score.Options{})
	f := begin(old, 40)
	for i := range 30 {
		old.Visit(f.link(i), f.page(i), verdict(float64(i%3)/2))
	}
	warm := &model.File{Kind: model.Waggle, Payload: old.Learnt()}
	type step struct {
		Link      int
		What      string
		Relevance float64
		More      []int // further links that are renewed
		Hub       bool  // the page that holds them is renewed as well
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.IntRange(0, 39).Draw(t, "link"),
			rapid.SampledFrom([]string{"visit", "visit", "visit", "fail", "label", "led", "renew", "renew", "again", "stop", "snapshot"}).Draw(t, "what"),
			rapid.Float64Range(0, 1).Draw(t, "relevance"),
			rapid.SliceOfN(rapid.IntRange(0, 39), 0, 10).Draw(t, "more"),
			rapid.Bool().Draw(t, "hub"),
		}
	}), 0, 60)
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		o := score.Options{Set: map[string]float64{"failed": rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "failed")}}
		if rapid.Bool().Draw(t, "warm") {
			o.Model = warm
		}
		told := steps.Draw(t, "steps")
		last := map[int]float64{} // what the judge says of a page in the end
		for i := len(told) - 1; i >= 0; i-- {
			note := func(link int) {
				if _, known := last[link]; !known {
					last[link] = told[i].Relevance
				}
			}
			switch told[i].What {
			case "renew":
				for _, link := range append(told[i].More, told[i].Link) {
					note(link)
				}
			case "visit":
				note(told[i].Link)
			}
		}
		// A page that is fetched twice has the verdict of the last time: what is told
		// of it later is told of both.
		told = func() (out []step) {
			for _, s := range told {
				if out = append(out, s); s.What == "visit" {
					out = append(out, step{Link: s.Link, What: "renew", Relevance: s.Relevance})
				}
			}
			return out
		}()
		changing, knowing, stopped, pupil := newRenewing(tb, o), newRenewing(tb, o), newRenewing(tb, o), newRenewing(tb, o)
		changing.Share()
		var state []byte
		for _, s := range []score.Scorer{changing, knowing, stopped} {
			begin(s, 40)
		}
		var ofHub []web.Renewal // what the judge says of it in the end, if that was renewed
		for _, s := range told {
			if s.What == "renew" && s.Hub || s.What == "again" && ofHub != nil {
				ofHub = []web.Renewal{{URL: f.hub.URL, Verdict: verdict(s.Relevance)}}
			}
		}
		knowing.Renew(ofHub)
		for _, step := range told {
			c, p := f.link(step.Link), f.page(step.Link)
			var renewed []web.Renewal
			if step.Hub {
				renewed = append(renewed, web.Renewal{URL: f.hub.URL, Verdict: verdict(step.Relevance)})
			}
			for _, link := range append(step.More, step.Link) {
				renewed = append(renewed, f.renewal(link, step.Relevance))
			}
			for _, s := range []renewing{changing, knowing, stopped} {
				switch step.What {
				case "visit":
					v := verdict(step.Relevance)
					if s == knowing {
						v = verdict(last[step.Link])
					}
					s.Visit(c, p, v)
				case "again":
					v := verdict(step.Relevance)
					if s == knowing && ofHub != nil {
						v = ofHub[0].Verdict
					}
					s.Visit(&web.Candidate{URL: f.hub.URL, Kind: web.LinkAgain}, f.hub, v)
				case "fail":
					s.Visit(c, nil, web.Verdict{})
				case "label":
					s.Label(c, p, verdict(float64(step.Link%2)), false)
				case "led":
					s.(interface{ Led(*web.Candidate, float64) }).Led(c, step.Relevance)
				case "renew":
					if s != knowing {
						s.Renew(renewed)
					}
				}
			}
			if step.What == "snapshot" {
				score.Compact(stopped)
			}
			if step.What == "stop" || step.What == "snapshot" {
				state = scoretest.Grown(state, stopped)
				stopped = newRenewing(tb, o)
				if err := stopped.Restore(bytes.Clone(state)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, lesson := range changing.Lessons() {
			if err := pupil.Learn(lesson); err != nil {
				t.Fatal(err)
			}
		}
		want := knowing.Learnt()
		for name, s := range map[string]renewing{"changing": changing, "stopped": stopped, "pupil": pupil} {
			if got := s.Learnt(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s has other weights than one that knew: %s", name, firstDifference(got, want))
			}
		}
	})
}

// Links go by what the judge says now of the page that holds them: as if they had been
// read with it, but for a rounding of one input. So they do where what they are of is not
// kept any more.
func TestWaggleLinksGoByRenewedVerdict(t *testing.T) {
	for _, c := range []struct {
		name     string
		examples int
		before   bool // the page was renewed before them
		goes     bool
	}{
		{"early", 0, false, true},
		{"late", 600, false, false},
		{"again", 600, true, true},
	} {
		s := newRenewing(t, score.Options{})
		f := begin(s, 40)
		if c.before {
			s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: web.Verdict{Relevance: 0.5, Similarity: 0.5}}})
		}
		for range c.examples {
			s.Visit(f.link(0), f.page(0), verdict(0.5))
		}
		was := s.Score(f.link(12))
		v := web.Verdict{Relevance: 0.1, Similarity: 0.2}
		s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: v}})
		read, other := *f.link(12), *f.hub
		other.URL = parse("http://a.test/other")
		anew := newRenewing(t, score.Options{})
		if err := anew.Restore(scoretest.Grown(nil, s)); err != nil {
			t.Fatal(err)
		}
		if got := s.Score(f.link(12)); (got != was) != c.goes {
			t.Errorf("%s: a link has %v, before %v", c.name, got, was)
		}
		if c.examples == 0 { // only the first weights: nothing but the page's verdict matters
			read.Features = s.Extract(&other, v)[12]
			if got, want := s.Score(f.link(12)), s.Score(&read); math.Abs(got-want) > 1./16 {
				t.Errorf("%s: a link has %v, and %v read anew", c.name, got, want)
			}
		}
		if got, want := anew.Score(f.link(12)), s.Score(f.link(12)); got != want {
			t.Errorf("%s: a link has %v after a restart, before %v", c.name, got, want)
		}
	}
}

// A page that was renewed and is fetched again has the verdict of that time: its links go
// by it, as those of a scorer do that was told nothing else. So they do after a restart, and
// with another worker.
func TestWaggleFetchesRenewedPageAgain(t *testing.T) {
	for _, examples := range []int{0, 20, 600} {
		s, pupil, want := newRenewing(t, score.Options{}), newRenewing(t, score.Options{}), newRenewing(t, score.Options{})
		s.Share()
		f := begin(s, 40)
		begin(want, 40)
		first, last := verdict(0.1), web.Verdict{Relevance: 0.9, Similarity: 0.3, Relevant: true}
		s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: first}})
		want.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: last}})
		for i := range examples {
			s.Visit(f.link(i%10), f.page(i%10), verdict(float64(i%2)))
			want.Visit(f.link(i%10), f.page(i%10), verdict(float64(i%2)))
		}
		link := *f.link(12)
		link.Features = s.Extract(f.hub, last)[12]
		seen := &web.Candidate{URL: f.hub.URL, Kind: web.LinkAgain}
		s.Visit(seen, f.hub, last)
		for range 2 { // the second time nothing is renewed
			want.Visit(seen, f.hub, last)
		}
		s.Visit(seen, f.hub, last)
		for _, lesson := range s.Lessons() {
			if err := pupil.Learn(lesson); err != nil {
				t.Fatal(err)
			}
		}
		whole := scoretest.Grown(nil, s)
		score.Compact(s)
		scorers := map[string]renewing{"the scorer": s, "another worker": pupil}
		for name, state := range map[string][]byte{"its journal": whole, "its snapshot": scoretest.Grown(nil, s)} {
			again := newRenewing(t, score.Options{})
			if err := again.Restore(state); err != nil {
				t.Fatal(err)
			}
			scorers[name] = again
		}
		for name, s := range scorers {
			got, read := s.Score(f.link(12)), s.Score(&link)
			if want := want.Score(&link); examples <= 512 && (got != want || read != want) || got != read {
				t.Errorf("%d examples, %s: the link has %v, and %v read anew, want %v", examples, name, got, read, want)
			}
		}
	}
}

// A page of another host is not renewed, even if its address has the hash of one that was.
func TestWaggleKnowsPagesByHostToo(t *testing.T) {
	s := newRenewing(t, score.Options{})
	f := begin(s, 40)
	other := *f.link(12)
	other.Features = bytes.Clone(other.Features)
	from := len(other.Features) - 16 // the inputs of host and page, place and block
	other.Features[from]++
	was := s.Score(f.link(12))
	s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: verdict(0.1)}})
	if s.Score(f.link(12)) == was || s.Score(&other) != was {
		t.Errorf("a link has %v, and %v on a page of another host; before %v", s.Score(f.link(12)), s.Score(&other), was)
	}
}

// A renewal has as many pages as can be renewed, and the last of what is said of one.
func TestWaggleRenewsWhatItCan(t *testing.T) {
	s := newRenewing(t, score.Options{})
	s.Share()
	f := begin(s, 1200)
	s.Lessons()
	renewal := func(from, to int, relevance float64) (out []web.Renewal) {
		for i := from; i < to; i++ {
			out = append(out, f.renewal(i, relevance))
		}
		return out
	}
	for _, c := range []struct {
		pages []web.Renewal
		want  int // pages of the entry
	}{
		{renewal(0, 500, 0.5), 500},
		{renewal(490, 600, 0.5), 12},
		{renewal(490, 600, 0.25), 22},
		{renewal(600, 700, 0.5), 0},
		{append(renewal(0, 1, 1), renewal(0, 1, 0.5)...), 2},
	} {
		s.Renew(c.pages)
		got := 0
		for _, lesson := range s.Lessons() {
			got += (len(lesson) - 2) / 14
		}
		if got != c.want {
			t.Errorf("%d pages of %d are renewed, want %d", got, len(c.pages), c.want)
		}
	}
}
