package lab

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// Critic says what the judge critic is taught of each web: the classifier of
// whole pages by the classes of a taxonomy, after Chakrabarti, Punera & Subramanyam
// 2002, section 2.1. The classes are the web's topics that the lab asks for, and Other;
// the topic of a cell is in focus, and the rest is what is not wanted. It takes its
// pages
//
//	/TOPIC    the examples that the cells of this topic and repeat are shown,
//	          and with Examples more of its relevant pages, as a directory of
//	          the web would have them
//	/Other    pages drawn from the record whatever they are about: the truth
//	          has no part in it, and the few relevant ones are noise
//
// Both draws are by the lab's seed and the same for all topics, repeats and
// strategies, but that a repeat after the first leaves out a third of what a
// topic's class has. A page that is drawn, or an example of any topic, is a hit
// for no strategy under any judge, and is none of what was possible. Where the
// web is parted, all of these pages are of hosts that teach.
type Critic struct {
	// Examples is how many pages a topic has at most, its own examples
	// included, and never more than half of its relevant ones beside these (of
	// a parted web, as many as the hosts that teach have). 0 = its examples
	// alone: nothing is taken from the truth.
	Examples int `yaml:"examples,omitempty"`
	// Background is how many pages Other has. Default 300.
	Background int `yaml:"background,omitempty"`
}

const defaultBackground = 300

// criticJudges are the judges that are critics: as it is fitted, and as printed.
const (
	criticJudge   = "critic"
	criticPrinted = "critic-printed"
)

func isCritic(name string) bool { return name == criticJudge || name == criticPrinted }

// critics tells whether any judge of the lab is a critic.
func (f *File) critics() bool { return slices.ContainsFunc(f.judgeLabels(), isCritic) }

// checkCritic finds what is wrong with how critics are taught.
func (f *File) checkCritic(bad func(at, format string, args ...any)) {
	c := f.Critic
	switch at := f.at("critic"); {
	case c != (Critic{}) && !f.critics():
		bad(at, "critic: says how the judge critic is taught, and judges: does not name it")
	case c.Examples < 0 || c.Examples > 10_000:
		bad(at, "critic: %d examples of a topic: give 1…10,000, or leave it out for the topic's own", c.Examples)
	case f.critics() && (c.Background < 10 || c.Background > 100_000):
		bad(at, "critic: a background of %d pages: give 10…100,000, or leave it out for %d", c.Background, defaultBackground)
	}
}

// String says for readers of a report what critics are taught.
func (c Critic) String() string {
	s := "The critic is naive Bayes over the classes of the web's topics and Other; the topic of a cell is in focus. It learns from the examples of each topic"
	if c.Examples > 0 {
		s += fmt.Sprintf(", from more of its relevant pages, taken from the truth as a directory of the web would have them: %d with the examples, and half of those there are at most", c.Examples)
	}
	return s + fmt.Sprintf("; and for Other from %d pages drawn from the record whatever they are about. All that it learns from is hits for no strategy.", c.Background)
}

// criticPages is what critics of a fold are taught from.
type criticPages struct {
	directory map[string][]web.URL // by topic, beside its examples
	other     []web.URL
	shown     []web.URL // all of these, and the examples of all topics
}

// trainedCritic is a critic that was trained.
type trainedCritic struct {
	*judge.Critic
	took time.Duration
	err  error
}

// teaches tells whether a page of an address may teach.
func (f *fold) teaches(u web.URL) bool { return f.crawled == nil || !f.crawled(u.Host()) }

// criticDraw draws pages for critics, no body twice.
type criticDraw struct {
	*fold
	r      *runner
	known  map[web.URL]bool  // examples of any topic, those hidden included, and what was added
	bodies map[[16]byte]bool // of these
}

// add keeps pages from being drawn.
func (d *criticDraw) add(pages []web.URL) {
	for _, u := range pages {
		d.known[u] = true
		if b, ok := d.w.pages.Digest(u); ok {
			d.bodies[b] = true
		}
	}
}

// draw takes pages that teach until there are enough.
func (d *criticDraw) draw(from iter.Seq[web.URL], most int, key string) (out []web.URL) {
	var all []web.URL
	for u := range from {
		if d.teaches(u) && !d.known[u] && d.w.Status(u) == 200 {
			all = append(all, u)
		}
	}
	d.r.shuffle(all, key)
	taken := map[[16]byte]bool{}
	for _, u := range all {
		if len(out) >= most {
			break
		}
		p, ok := d.w.pages.Page(u)
		if ok && len(p.Terms) > 0 && !taken[p.Digest] && !d.bodies[p.Digest] && (p.MIME == "text/html" || p.MIME == "application/xhtml+xml") {
			taken[p.Digest] = true
			out = append(out, u)
		}
	}
	return out
}

// directory is what a topic has beside its own examples.
func (d *criticDraw) directory(topic string, examples int) []web.URL {
	most := d.r.Critic.Examples - examples
	if d.crawled == nil {
		left := 0
		for u := range d.w.truth[topic] {
			left += digit(!d.known[u] && d.w.Status(u) == 200)
		}
		most = min(most, left/2)
	}
	return d.draw(maps.Keys(d.w.truth[topic]), most, "directory "+d.w.Name+" "+topic)
}

// gather draws what critics are taught from; the pages of the web have to be
// there.
func (f *fold) gather(r *runner) (*criticPages, error) {
	s := &criticPages{directory: map[string][]web.URL{}}
	far := slices.Contains(r.Seeds, "far")
	fail := func(format string, args ...any) (*criticPages, error) {
		return nil, fmt.Errorf("%s: critic: web %s: %s", r.at("critic"), f.w.Name, fmt.Sprintf(format, args...))
	}
	d := &criticDraw{fold: f, r: r, known: map[web.URL]bool{}, bodies: map[[16]byte]bool{}}
	for _, t := range f.w.topics {
		own, _ := f.topic(t, far)
		switch {
		case t.Name == taxonomy.Other:
			return fail("it has a topic that is called %s, as the class of background pages: call it otherwise", t.Name)
		case len(own.Examples) == 0 && r.Critic.Examples == 0 && f.crawled == nil:
			return fail("the topic %s has no examples that could teach: set critic: {examples: 50}, to take some of the truth", t.Name)
		}
		d.add(own.Examples)
		shown, _ := r.group(f.w, f, own, far, 0).split()
		s.shown = append(s.shown, shown...)
	}
	for _, t := range f.w.topics {
		own, _ := f.topic(t, far)
		s.directory[t.Name] = d.directory(t.Name, len(own.Examples))
	}
	for _, t := range f.w.topics { // what one topic was given another may be given too
		d.add(s.directory[t.Name])
		s.shown = append(s.shown, s.directory[t.Name]...)
	}
	s.other = d.draw(f.w.URLs(), r.Critic.Background, "background "+f.w.Name)
	if n := len(s.other); n < r.Critic.Background {
		return fail("a background of %d pages is wanted for the class Other, and %d can be had: give fewer", r.Critic.Background, n)
	}
	s.shown = append(s.shown, s.other...)
	if name, all := f.taught(s.shown, far); all {
		return fail("all relevant pages of the topic %s teach the critic, and none is left to be found: give fewer examples", name)
	}
	return s, nil
}

// taught finds a topic whose relevant pages are all among the shown ones.
func (f *fold) taught(shown []web.URL, far bool) (name string, found bool) {
	known := map[web.URL]bool{}
	for _, u := range shown {
		known[u] = true
	}
	for _, t := range f.w.topics {
		if _, ok := f.topic(t, far); !ok {
			continue
		}
		left := 0
		for u := range f.w.truth[t.Name] {
			left += digit(!known[u] && f.keeps(u) && f.w.Status(u) == 200)
		}
		if left == 0 {
			return t.Name, true
		}
	}
	return "", false
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shown are the pages that critics of the fold are taught from, in any repeat;
// none without a critic in the lab.
func (f *fold) shown() []web.URL {
	if f.criticPages == nil {
		return nil
	}
	return f.criticPages.shown
}

// critic trains the critic of a repeat, once for all topics.
func (g *group) critic() trainedCritic {
	f := g.fold
	f.mu.Lock()
	once, ok := f.critics[g.repeat]
	if !ok {
		once = sync.OnceValue(g.trainCritic)
		if f.critics == nil {
			f.critics = map[int]func() trainedCritic{}
		}
		f.critics[g.repeat] = once
	}
	f.mu.Unlock()
	return once()
}

func (g *group) trainCritic() (c trainedCritic) {
	began, beganIn := time.Now(), threadTime()
	c.Critic, c.err = judge.TrainCritic(g.samples(), judge.Training{MinPages: 1, Seed: g.chance(), Trained: g.w.Name})
	// Where the work was another thread's, the clock knows better.
	if c.took = threadTime() - beganIn; c.took < time.Since(began)/4 {
		c.took = time.Since(began)
	}
	return c
}

// samples are the pages that the critic of a repeat is taught.
func (g *group) samples() iter.Seq2[judge.Sample, error] {
	return func(yield func(judge.Sample, error) bool) {
		class := func(name string, pages []web.URL) bool {
			for _, u := range pages {
				p, ok := g.w.pages.Page(u)
				if ok && !yield(judge.Sample{Class: "/" + name, Key: u.String(), Terms: p.Terms}, nil) {
					return false
				}
			}
			return true
		}
		for _, t := range g.w.topics {
			own, _ := g.fold.topic(t, g.far)
			of := g.runner.group(g.w, g.fold, own, g.far, g.repeat)
			if !class(t.Name, of.examples()) || !class(t.Name, of.draw(g.fold.criticPages.directory[t.Name], "directory")) {
				return
			}
		}
		class(taxonomy.Other, g.fold.criticPages.other)
	}
}

// newCritic makes the judge that a critic is, and tells how long its training
// took. One that sees its topic badly judges all the same: the report tells how
// well it does.
func (g *group) newCritic(name string) (judge.Judge, time.Duration, error) {
	c := g.critic()
	if c.err != nil {
		return nil, 0, fmt.Errorf("training the critic: %w", c.err)
	}
	j, err := judge.New(criticJudge, nil, judge.Options{
		Analyzer: g.w.words, Critic: c.Critic, Focus: []string{"/" + g.t.Name}, Printed: name == criticPrinted, Anyway: true,
	})
	return j, c.took, err
}
