package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// group is all cells that share a reference: one topic from one set of seeds.
type group struct {
	*runner
	w      *labWeb
	fold   *fold
	t      corpus.Topic // as the fold has it
	far    bool
	repeat int

	seedsAtHops  func() []web.URL // seeds of hops:; the graph has to be there
	once         sync.Once
	ref          eval.Reference
	breadthFirst map[string]func(context.Context) simulation // by judge

	cells    atomic.Int64 // to be made yet
	teaching sync.Mutex
	lessons  map[string]func() trainedModel // by what is taught
	crawls   map[string]any                 // that others build on; see crawlOf
}

func (r *runner) group(w *labWeb, f *fold, t corpus.Topic, far bool, repeat int) *group {
	g := &group{
		runner: r, w: w, fold: f, t: t, far: far, repeat: repeat,
		breadthFirst: map[string]func(context.Context) simulation{}, lessons: map[string]func() trainedModel{},
	}
	g.seedsAtHops = sync.OnceValue(g.atHops)
	return g
}

// done lets models and the crawls to compare with and to build on go after the last cell.
func (g *group) done() {
	if g.cells.Add(-1) == 0 {
		g.teaching.Lock()
		defer g.teaching.Unlock()
		g.lessons, g.breadthFirst, g.crawls = nil, nil, nil
	}
}

func (g *group) id() eval.TopicID {
	id := eval.TopicID{Web: g.w.Name, Topic: g.t.Name}
	if g.fold.name != "" {
		id.Topic += "@" + g.fold.name
	}
	if g.far {
		id.Seeds = "far"
	}
	if g.Hops > 0 {
		id.Seeds = fmt.Sprintf("%d-hop", g.Hops)
	}
	return id
}

func (g *group) key(judge, scorer string) eval.Key {
	id := g.id()
	return eval.Key{Web: id.Web, Topic: id.Topic, Seeds: id.Seeds, Scorer: scorer, Judge: judge, Repeat: g.repeat}
}

// budget is the largest.
func (g *group) budget() int { return g.w.spec.Budgets[len(g.w.spec.Budgets)-1] }

// allSeeds are those of every repeat together.
func (g *group) allSeeds() []web.URL {
	switch {
	case g.Hops > 0:
		return g.seedsAtHops()
	case g.far:
		return g.t.SeedsFar
	}
	return g.t.Seeds
}

// atHops draws as many pages as the topic has seeds, of those from which the
// nearest relevant page is exactly Hops links away; all, where there are fewer.
func (g *group) atHops() []web.URL {
	graph := g.fold.graph
	var relevant []int32
	for u := range g.w.truth[g.t.Name] {
		if i, ok := graph.Number(u); ok && g.fold.keeps(graph.Page(i)) {
			relevant = append(relevant, i)
		}
	}
	var all []web.URL
	for i, d := range graph.Distances(relevant) {
		if u := graph.Page(int32(i)); int(d) == g.Hops && g.fold.keeps(u) {
			all = append(all, u)
		}
	}
	g.shuffle(all, g.purpose("hops"))
	return all[:min(max(1, len(g.t.Seeds)), len(all))]
}

// shuffle puts addresses into an order drawn by the lab's seed, the same in
// every repeat.
func (r *runner) shuffle(all []web.URL, purpose string) {
	chance := func(u web.URL) uint64 { return xxh3.HashStringSeed(purpose+" "+u.String(), r.Seed) }
	slices.SortFunc(all, func(a, b web.URL) int { return cmp.Compare(chance(a), chance(b)) })
}

// purpose tells draws for this topic from others.
func (g *group) purpose(of string) string { return of + " " + g.w.Name + " " + g.t.Name }

// seeds are those of this repeat.
func (g *group) seeds() []web.URL { return g.draw(g.allSeeds(), "seeds") }

// split parts the examples into those that crawls are shown and those hidden
// from all.
func (g *group) split() (shown, hidden []web.URL) {
	if g.HideHalf {
		return eval.HalfHidden(g.t.Examples, g.Seed)
	}
	return g.t.Examples, nil
}

// examples are those that the crawls of this repeat are shown.
func (g *group) examples() []web.URL {
	shown, _ := g.split()
	if g.ExampleCount != nil {
		return g.withBadExamples(g.drawExamples(shown, *g.ExampleCount))
	}
	return g.withBadExamples(g.draw(shown, "examples"))
}

// drawExamples draws n examples, others in each repeat as far as there are others. Those that
// are not drawn are no hits either.
func (g *group) drawExamples(all []web.URL, n int) []web.URL {
	order := slices.Clone(all)
	g.shuffle(order, g.purpose("examples"))
	out := make([]web.URL, min(n, len(order)))
	for i := range out {
		out[i] = order[(g.repeat*n+i)%len(order)]
	}
	return out
}

// withBadExamples are the examples, the last of them exchanged for bad ones.
func (g *group) withBadExamples(examples []web.URL) []web.URL {
	n := min(g.BadExamples, len(examples))
	return slices.Concat(examples[:len(examples)-n], g.w.bad[g.t.Name][:n])
}

// draw leaves out a third, another one in each repeat, and nothing in the
// first: see the package comment. The order is kept.
func (g *group) draw(all []web.URL, purpose string) []web.URL {
	if g.repeat == 0 || len(all) < 2 {
		return all
	}
	order := slices.Clone(all)
	g.shuffle(order, g.purpose(purpose))
	third := max(1, len(all)/3)
	out := map[web.URL]bool{}
	for i := range third {
		out[order[((g.repeat-1)*third+i)%len(order)]] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(u web.URL) bool { return out[u] })
}

// truth is the same in every repeat: what one of them is shown is no hit in
// any.
func (g *group) truth() eval.Truth {
	shown, hidden := g.split()
	t := g.fold.graph.Truth(g.w.truth[g.t.Name], slices.Concat(g.allSeeds(), shown, g.otherShown(), g.fold.shown()), hidden)
	t.Reading = g.fold.read[g.t.Name]
	return t
}

// otherShown are pages that are shown to crawls beside seeds and examples.
func (g *group) otherShown() []web.URL {
	return slices.Concat(g.w.negatives[g.t.Name], g.w.bad[g.t.Name][:min(g.BadExamples, len(g.w.bad[g.t.Name]))])
}

// topic is what every strategy is given alike.
func (g *group) topic() *topic.Topic { return g.topicWith(g.examples()) }

// topicWith is the topic with these examples.
func (g *group) topicWith(examples []web.URL) *topic.Topic {
	t := written(g.t)
	add := func(to *[]*web.Page, list []web.URL) {
		for _, u := range list {
			if p, ok := g.w.pages.Page(u); ok && len(p.Terms) > 0 {
				*to = append(*to, p)
			}
		}
	}
	add(&t.Examples, examples)
	add(&t.Negatives, g.w.negatives[g.t.Name])
	return t
}

// reference is what was possible.
func (g *group) reference() eval.Reference {
	g.once.Do(func() { g.ref = g.fold.graph.Reference(g.truth(), g.seeds(), g.budget()) })
	return g.ref
}

// simulation is one that ended.
type simulation struct {
	run      *eval.Run
	requests int // as the simulator counted them
	spent    cost
	model    map[string]float64 // as eval.Cell has it
	err      error
}

// breadth is the breadth-first crawl that some measures compare with, made
// once.
func (g *group) breadth(judge string) func(context.Context) simulation {
	var once sync.Once
	var m simulation
	return func(ctx context.Context) simulation {
		once.Do(func() { m = g.simulate(ctx, g.key(judge, "breadth-first"), Scorer{Name: "breadth-first"}) })
		return m
	}
}

// bareBreadthFirst tells whether the scorer is that of breadth: a limit or a setting makes
// another crawl.
func (s Scorer) bareBreadthFirst() bool {
	s.As, s.own, s.limited = "", nil, false
	return reflect.DeepEqual(s, Scorer{Name: "breadth-first", Similarity: s.Similarity}) && (s.Similarity == "" || s.Similarity == "judge")
}

// topicJob works out what was possible on a topic, in the mean of its repeats,
// and measures the judges on it.
func (r *runner) topicJob(repeats []*group) func(context.Context) error {
	return func(ctx context.Context) error {
		g := repeats[0]
		t := topicFacts{Name: r.fileName(g.key("", ""), Scorer{}, g, r.configured()...)}
		path := filepath.Join(r.dir, topicsDir, t.Name)
		old, err := readJSON[topicFacts](path)
		if err == nil && old.Name == t.Name && len(old.Failed) == 0 && slices.Equal(old.Topic.Points, g.mesh()) { // which the lab's budgets change
			t = old
		} else if t, err = g.topicFacts(ctx, t, repeats); err == nil {
			err = writeJSON(path, t)
		}
		if err != nil {
			return err
		}
		t.Topic.Dev = slices.Contains(g.w.spec.Dev, g.t.Name)
		r.mu.Lock()
		r.topics = append(r.topics, t)
		r.mu.Unlock()
		return r.writeFacts()
	}
}

// mesh are the points of the curves of what was possible.
func (g *group) mesh() []int {
	return eval.Mesh(g.budget(), 200, slices.Concat(g.w.spec.Budgets, g.Budgets)...)
}

func (g *group) topicFacts(ctx context.Context, t topicFacts, repeats []*group) (topicFacts, error) {
	if err := g.fold.load(ctx, g.runner); err != nil {
		return t, err
	}
	g.progress(fmt.Sprintf("%s/%s: what was possible", g.w.Name, g.t.Name))
	mesh := g.mesh()
	for i, g := range repeats {
		one := report.NewTopic(g.id(), g.reference(), mesh)
		if i == 0 {
			t.Topic = one
			t.Topic.Read = g.readFacts(g.reference())
			continue
		}
		t.Topic.Add(one, i+1)
	}
	var err error
	t.Judges, t.Failed, err = g.judges(ctx)
	return t, err
}

// cell is one to be made.
type cell struct {
	*group
	key    eval.Key
	scorer Scorer
	name   string // of its file
}

// kept tells whether the files of the cell are there, and whole.
func (c cell) kept() bool {
	old, err := readCell(filepath.Join(c.dir, cellsDir, c.name))
	if err != nil || old.Error != "" || old.Key != c.key {
		return false
	}
	if c.KeepRuns {
		b, err := os.ReadFile(filepath.Join(c.dir, runsDir, c.name))
		return err == nil && json.Valid(b) // of one that was cut or overwritten it is not
	}
	return true
}

// run makes the cell unless it is there.
func (c cell) run(ctx context.Context) error {
	defer c.done()
	path := filepath.Join(c.dir, cellsDir, c.name)
	// A file that is damaged is made again, as one of a cell that failed.
	if c.kept() {
		c.made(c.key, false, false)
		return nil
	}
	if err := c.fold.load(ctx, c.runner); err != nil {
		return err
	}
	m, err := c.measure(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return c.failed(path, err)
	}
	if c.KeepRuns {
		if err := writeJSON(filepath.Join(c.dir, runsDir, c.name), m.run); err != nil {
			return err
		}
	}
	made := eval.NewCell(m.run, m.ref, c.w.spec.Budgets, eval.Measures())
	made.Model = m.model
	if err := writeJSON(path, made); err != nil {
		return err
	}
	if err := c.writeCost(c.name, m.spent); err != nil {
		return err
	}
	c.made(c.key, true, false)
	return nil
}

// measurement is a simulation with what it is measured against.
type measurement struct {
	simulation
	ref eval.Reference
}

// measure simulates the crawl of the cell; the pages of its web have to be there.
func (c cell) measure(ctx context.Context) (measurement, error) {
	m := c.breadthFirst[c.key.Judge](ctx)
	if m.err != nil {
		return measurement{}, fmt.Errorf("breadth-first, to compare with: %w", m.err)
	}
	ref := c.reference()
	ref.Breadth = m.run
	if c.key.Scorer != "breadth-first" || !c.scorer.bareBreadthFirst() { // else it is this one
		m = c.simulate(ctx, c.key, c.scorer)
	}
	return measurement{m, ref}, m.err
}

// failed puts down why, and the lab goes on.
func (c cell) failed(path string, why error) error {
	if err := writeJSON(path, eval.Cell{Key: c.key, Error: why.Error()}); err != nil {
		return err
	}
	c.made(c.key, true, true)
	return nil
}

// simulate runs one crawl. A panic in a strategy fails its cell alone.
func (g *group) simulate(ctx context.Context, key eval.Key, s Scorer) simulation {
	return g.simulateWith(ctx, key, s, func(event.Event) {})
}

// basis are the crawls that teach a scorer (after:) and that bound its pages (within:), nil where
// there is none.
func (g *group) basis(ctx context.Context, judge string, s Scorer) (after, within *train.Crawl, err error) {
	for _, label := range s.basis() {
		c, err := g.crawlOf(ctx, judge, label)
		if err != nil {
			return nil, nil, err
		}
		if label == s.After {
			after = c
		}
		if label == s.Within {
			within = c
		}
	}
	return after, within, nil
}

// model is the trained model of a scorer, and how long it was trained; nil where it has
// none. after is the crawl that teaches it, if one does.
func (g *group) model(ctx context.Context, s Scorer, after *train.Crawl, j judge.Judge) (m *model.File, took time.Duration, err error) {
	if after != nil {
		m, took, err = g.taughtBy(after, s, j)
	}
	if err == nil && score.ModelOf(s.kind()) != "" {
		m, took, err = g.teach(ctx, s)
	}
	return m, took, err
}

// simulateWith is simulate with a listener.
func (g *group) simulateWith(ctx context.Context, key eval.Key, s Scorer, listen func(event.Event)) (m simulation) {
	defer func() {
		if p := recover(); p != nil {
			m.err = fmt.Errorf("panic: %v", p)
		}
	}()
	top := g.topic()
	pages := record{Pages: g.w.pages, fold: g.fold}
	after, within, err := g.basis(ctx, key.Judge, s)
	if err != nil {
		return simulation{err: err}
	}
	pages.only = within
	watch := newStopwatch()
	defer watch.release()
	var done []func() error
	defer func() {
		for _, close := range slices.Backward(done) {
			close()
		}
	}()
	// worker makes the crawl of a worker. What its stages take is added to watch.
	worker := func() (*crawl.Crawl, error) {
		j, criticTook, err := g.judge(top, key.Judge)
		if err != nil {
			return nil, err
		}
		done = append(done, j.Close)
		trained, took, err := g.model(ctx, s, after, j)
		if err != nil {
			return nil, err
		}
		m.model = modelFigures(trained)
		mk := &job.Maker{
			Job: g.job(key, s), Own: g.own, Analyzer: g.w.words, Fetcher: pages, Parser: watchedParser{g.w.pages, watch}, Topic: top, Judge: j,
			Thesaurus: g.thesaurus, Model: trained, Learn: watch.learn, Seeds: g.seeds(),
		}
		done = append(done, mk.Close)
		if err := mk.MakeJudge(ctx); err != nil {
			return nil, err
		}
		scorer, err := watch.trained(func() (crawl.Scorer, error) {
			err := mk.MakeScorer(ctx)
			return mk.Scorer, err
		})
		if err != nil {
			return nil, plainly(err)
		}
		watch.training += took + criticTook
		c, err := mk.Crawl(ctx)
		if err != nil {
			return nil, plainly(err)
		}
		watched := watchedScorer{watch, scorer}
		c.Judge, c.Scorer, c.JudgeName, c.ScorerName = watch.judge(j), watched, key.Judge, key.Scorer
		if g.Noise > 0 {
			c.Scorer = newNoisyScorer(watched, g.Noise, g.chance())
		}
		c.Policy.IgnoreDirectives = g.IgnoreDirectives
		c.Policy.Hollow, c.Policy.NearCopies = false, false // the truth of a recorded web says what its pages are worth
		return c, nil
	}
	mode, err := sim.ParseOutside(g.Outside)
	if err != nil {
		return simulation{err: err}
	}
	rec := eval.NewRecorder(key, g.budget(), g.truth(), eval.RecorderOptions{
		Number: g.fold.graph.Number, Document: g.fold.graph.Document, Recorded: pages.Has, Charged: mode != sim.Drop, Bounds: mode == sim.Bounds, Cosines: g.cosines(top),
		Expects: s.kind().Expects,
	})
	o := sim.Options{
		Workers: g.Network.Workers, Latency: sim.Latency{Median: time.Duration(g.Network.Median), Spread: g.Network.Spread},
		Seed: g.chance(), Outside: mode, Asked: rec.Asked,
	}
	if g.ofKinds() {
		o.Types = g.kinds().Types()
	}
	parse, err := g.w.parsing()
	if err != nil {
		return simulation{err: err}
	}
	var res sim.Result
	if t := s.Together; t != nil {
		o.Workers = cmp.Or(t.Fetches, o.Workers)
	}
	if t := s.Together; t != nil && t.Workers > 1 {
		res, err = g.runTogether(ctx, t, rec, pages, o, listen, watch, worker)
	} else {
		c, errMade := worker()
		if errMade != nil {
			return simulation{err: errMade}
		}
		c.Listen = func(e event.Event) {
			rec.Listen(e)
			listen(e)
		}
		if s.Labels != nil {
			l := labeller{Labels: s.Labels, relevant: g.truth().Relevant, seed: g.chance()}
			l.attach(c)
		}
		watch.start()
		res, err = sim.Run(ctx, c, pages, o)
	}
	if err != nil {
		return simulation{err: err}
	}
	if mode == sim.Drop {
		rec.LeftOut(res.Outside)
	}
	return simulation{run: rec.Run(), requests: res.Requests, spent: watch.spent(key, res.Pages, parse), model: m.model}
}

// chance is the seed of a repeat.
func (g *group) chance() uint64 { return g.Seed + uint64(g.repeat) }

// job is what a crawl of the lab is told.
func (g *group) job(key eval.Key, s Scorer) *job.Job {
	delay, wait := job.Duration(g.Network.Delay), (*job.Duration)(g.Network.WaitForBetter)
	j := &job.Job{
		Name:       key.Topic,
		Scorer:     job.Scorer{Name: s.Name, Seed: g.chance(), Similarity: s.Similarity, Set: s.Set},
		Budget:     job.Budget{Pages: g.budget(), WaitForBetter: wait},
		Scope:      job.Scope{MaxQueue: s.Queue, MaxHostPages: s.HostPages},
		Politeness: job.Politeness{Delay: &delay},
	}
	g.setKinds(j)
	return j
}

// plainly is an error of a job without the path of a setting: a lab file has
// others.
func plainly(err error) error { return job.Locate(err, func(string) string { return "" }) }

// cosines returns the cosine, by term frequencies, of a page to each example, by which
// precision by similarity and average similarity are measured.
func (g *group) cosines(t *topic.Topic) func(web.URL) []float64 {
	if len(t.Examples) == 0 {
		return nil
	}
	type vector struct {
		weight map[string]float64
		norm   float64
	}
	targets := make([]vector, len(t.Examples))
	for i, p := range t.Examples {
		targets[i].weight = map[string]float64{}
		for _, term := range p.Terms {
			targets[i].weight[term.Text] = float64(term.Body)
			targets[i].norm += float64(term.Body) * float64(term.Body)
		}
	}
	return func(u web.URL) []float64 {
		out := make([]float64, len(targets))
		p, ok := g.w.pages.Page(u)
		if !ok {
			return out
		}
		var norm float64
		for _, term := range p.Terms {
			tf := float64(term.Body)
			norm += tf * tf
			for i := range targets {
				out[i] += tf * targets[i].weight[term.Text]
			}
		}
		for i := range out {
			if n := math.Sqrt(norm * targets[i].norm); n > 0 {
				out[i] = min(1, out[i]/n)
			}
		}
		return out
	}
}
