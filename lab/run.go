package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wordnet"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Options says how a lab is run.
type Options struct {
	// Progress is told how many of all cells are there, and what is going on;
	// one goroutine at a time calls it. It may be nil.
	Progress func(done, total int, note string)
	// Workers is the number of simulations at a time; 0 = the number of cores.
	Workers int
}

// Outcome is what became of a run of the lab.
type Outcome struct {
	Cells  int // all of the lab
	Made   int // by this run; the others were there
	Failed int
}

// names within the folder of a lab's results.
const (
	cellsDir  = "cells"
	costsFile = "costs.tsv"
	factsFile = "facts.json"
	labFile   = "lab.yaml"
)

// Run makes the cells that are not there yet. It returns when all are made or
// ctx ends; what was made stays.
func (f *File) Run(ctx context.Context, dir string, o Options) (Outcome, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if err := os.MkdirAll(filepath.Join(dir, cellsDir), 0o755); err != nil {
		return Outcome{}, err
	}
	r := &runner{File: f, dir: dir, opt: o}
	var err error
	if r.program, err = hashProgram(); err != nil {
		return Outcome{}, err
	}
	if r.thesaurus, err = f.thesaurus(); err != nil {
		return Outcome{}, err
	}
	// All webs are opened before the first cell: what is wrong shows now.
	var webs []*labWeb
	for i := range f.Webs {
		w, err := f.open(&f.Webs[i], i)
		if err != nil {
			return Outcome{}, err
		}
		defer w.Close()
		webs = append(webs, w)
		r.out.Cells += len(w.topics) * len(f.Seeds) * len(f.Judges) * len(f.Scorers) * f.Repeats
	}
	if err := f.keep(dir); err != nil {
		return Outcome{}, err
	}
	facts := facts{}
	for i, w := range webs {
		for _, other := range webs[:i] {
			if other.Name == w.Name {
				return Outcome{}, fmt.Errorf("%s: two webs are named %s: build one of them anew with --name", f.at("webs", fmt.Sprint(i)), w.Name)
			}
		}
		facts.Notes = append(facts.Notes, w.notes...)
	}
	for _, w := range webs {
		if err := r.web(ctx, w, &facts); err != nil {
			return r.out, err
		}
	}
	slices.Sort(r.names)
	facts.Cells = r.names
	return r.out, writeJSON(filepath.Join(dir, factsFile), facts)
}

// keep puts the lab file beside its results, with every value and path in
// force, so that it can be run again from there.
func (f *File) keep(dir string) error {
	own := *f
	own.Webs = slices.Clone(f.Webs)
	paths := []*string{&own.Words.WordNet, &own.Words.Table}
	for i := range own.Webs {
		paths = append(paths, &own.Webs[i].Path)
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		var err error
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	b, err := yaml.Marshal(&own)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, labFile), b, 0o644)
}

// hashProgram hashes this program: results of another one are not taken for
// its own.
func hashProgram() (uint64, error) {
	path, err := os.Executable()
	if err != nil {
		return 0, err
	}
	b, err := os.ReadFile(path)
	return xxh3.Hash(b), err
}

// thesaurus opens the lab's thesaurus, which the semantic scorers need.
func (f *File) thesaurus() (score.Thesaurus, error) {
	if t, err := f.Words.Open(); t != nil || err != nil {
		return t, err
	}
	for i, s := range f.Scorers {
		if strings.HasPrefix(s.Name, "semantic") {
			return nil, fmt.Errorf("%s: %s needs a thesaurus: set thesaurus: {wordnet: FOLDER}, such as /usr/share/wordnet of the Debian package wordnet-base, or {table: FILE}", f.at("scorers", fmt.Sprint(i)), s.Name)
		}
	}
	return nil, nil
}

// Open reads the thesaurus, nil if none is named.
func (t Thesaurus) Open() (score.Thesaurus, error) {
	switch {
	case t.WordNet != "":
		w, err := wordnet.Open(os.DirFS(t.WordNet))
		if err != nil {
			return nil, fmt.Errorf("WordNet in %s: %w", t.WordNet, err)
		}
		return w, nil
	case t.Table != "":
		f, err := os.Open(t.Table)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		w, err := wordnet.ReadTable(f, t.Table)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	return nil, nil
}

// labWeb is an open recorded web with the topics asked for.
type labWeb struct {
	*corpus.Web
	spec   *Web
	topics []corpus.Topic
	truth  map[string]map[web.URL]bool
	record uint64   // a hash of what is recorded where
	notes  []string // for the reader of a report
}

// open opens a web and checks that it can be measured on.
func (f *File) open(spec *Web, i int) (*labWeb, error) {
	at := f.at("webs", fmt.Sprint(i))
	w, err := corpus.Open(spec.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	out := &labWeb{Web: w, spec: spec, truth: map[string]map[web.URL]bool{}}
	fail := func(format string, args ...any) (*labWeb, error) {
		w.Close()
		return nil, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
	for _, t := range w.Topics {
		if len(spec.Topics) > 0 && !slices.Contains(spec.Topics, t.Name) {
			continue
		}
		if t.Truth == "" {
			if len(spec.Topics) > 0 {
				return fail("topic %s has no truth to measure against", t.Name)
			}
			continue
		}
		truth, err := w.Truth(t.Name)
		if err != nil {
			return fail("topic %s: %v", t.Name, err)
		}
		recorded := 0
		for u := range truth {
			if w.Has(u) {
				recorded++
			}
		}
		if recorded == 0 {
			return fail("topic %s: none of its %d relevant addresses is in the record", t.Name, len(truth))
		}
		if recorded < len(truth) {
			out.notes = append(out.notes, fmt.Sprintf("%s/%s: %d of %d relevant addresses are not in the record.", w.Name, t.Name, len(truth)-recorded, len(truth)))
		}
		if slices.Contains(f.Seeds, "far") && len(t.SeedsFar) == 0 {
			return fail("topic %s has no far seeds", t.Name)
		}
		out.topics = append(out.topics, t)
		out.truth[t.Name] = truth
	}
	h := xxh3.New()
	for u := range w.URLs() {
		fmt.Fprintf(h, "%s %d\n", u, w.Status(u))
	}
	out.record = h.Sum64()
	for _, name := range spec.Topics {
		if _, ok := out.truth[name]; !ok {
			return fail("web %s has no topic %q", w.Name, name)
		}
	}
	if len(out.topics) == 0 {
		return fail("web %s has no topic with a truth", w.Name)
	}
	if n, top := w.Count().Pages, spec.Budgets[len(spec.Budgets)-1]; top > n {
		return fail("a budget of %d pages on a web of %d: give the web budgets: of its own", top, n)
	}
	return out, nil
}

// facts are what a report says beside the cells.
type facts struct {
	Webs   []report.Web
	Topics []report.Topic
	Judges []judgeFact
	Cells  []string // names of the files of the last run
	Notes  []string
}

type runner struct {
	*File
	dir       string
	opt       Options
	thesaurus score.Thesaurus
	program   uint64

	mu    sync.Mutex
	done  int
	out   Outcome
	names []string
}

// group is all cells that share a reference: one topic from one set of seeds.
type group struct {
	w     *labWeb
	t     corpus.Topic
	far   bool
	pages *corpus.Pages
	graph *eval.Graph
	parse *parse.Parser
	words *text.Analyzer
}

// web makes the cells of one web.
func (r *runner) web(ctx context.Context, w *labWeb, facts *facts) error {
	words := text.NewAnalyzer()
	parser := parse.New(parse.Options{Analyzer: words})
	r.tell(w.Name + ": reading pages")
	pages, err := corpus.OpenPages(ctx, w.Web, parser, corpus.PagesOptions{Progress: func(done, total int) {
		r.tell(fmt.Sprintf("%s: parsing %d of %d pages", w.Name, done, total))
	}})
	if err != nil {
		return err
	}
	graph, err := eval.WebGraph(w.Web, pages, eval.GraphOptions{IgnoreDirectives: r.Ignore})
	if err != nil {
		return err
	}
	facts.Webs = append(facts.Webs, report.Web{Name: w.Name, Pages: w.Count().Pages, Hosts: w.Count().Hosts, Synthetic: w.Synthetic, Note: strings.Trim(w.Source+"; "+w.Licence, "; ")})
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.opt.Workers)
	top := w.spec.Budgets[len(w.spec.Budgets)-1]
	topics := make([][]report.Topic, len(w.topics))
	judged := make([][]judgeFact, len(w.topics))
	for i, t := range w.topics {
		topics[i] = make([]report.Topic, len(r.Seeds))
		for k, seeds := range r.Seeds {
			gr := &group{w: w, t: t, far: seeds == "far", pages: pages, graph: graph, parse: parser, words: words}
			g.Go(func() error {
				ref := graph.Reference(gr.truth(r.File), gr.seeds(), top)
				topics[i][k] = report.NewTopic(gr.id(), ref, eval.Mesh(top, 200))
				for _, j := range r.Judges {
					for repeat := range r.Repeats {
						if err := r.cells(ctx, gr, ref, j, repeat); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
		g.Go(func() (err error) {
			gr := &group{w: w, t: t, pages: pages, graph: graph, parse: parser, words: words}
			judged[i], err = r.judges(ctx, gr)
			return err
		})
	}
	err = g.Wait()
	for i := range topics {
		facts.Topics = append(facts.Topics, topics[i]...)
		facts.Judges = append(facts.Judges, judged[i]...)
	}
	return err
}

func (g *group) id() eval.TopicID {
	id := eval.TopicID{Web: g.w.Name, Topic: g.t.Name}
	if g.far {
		id.Seeds = "far"
	}
	return id
}

func (g *group) seeds() []web.URL {
	if g.far {
		return g.t.SeedsFar
	}
	return g.t.Seeds
}

// examples are those a crawl is shown, and those hidden from it.
func (g *group) examples(f *File) (shown, hidden []web.URL) {
	if f.Hide {
		return eval.HalfHidden(g.t.Examples, f.Seed)
	}
	return g.t.Examples, nil
}

func (g *group) truth(f *File) eval.Truth {
	shown, hidden := g.examples(f)
	return g.graph.Truth(g.w.truth[g.t.Name], slices.Concat(g.seeds(), shown), hidden)
}

// topic is what every strategy is given alike.
func (g *group) topic(f *File) *topic.Topic {
	t := &topic.Topic{Name: g.t.Name, Description: g.t.Description, Keywords: g.t.Keywords}
	shown, _ := g.examples(f)
	for _, u := range shown {
		if p, ok := g.pages.Page(u); ok && len(p.Terms) > 0 {
			t.Examples = append(t.Examples, p)
		}
	}
	return t
}

// cells makes the cells of all scorers under one judge.
func (r *runner) cells(ctx context.Context, g *group, ref eval.Reference, judgeName string, repeat int) error {
	top := g.w.spec.Budgets[len(g.w.spec.Budgets)-1]
	for _, s := range r.Scorers {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		id := g.id()
		key := eval.Key{Web: id.Web, Topic: id.Topic, Seeds: id.Seeds, Scorer: s.label(), Judge: judgeName, Repeat: repeat}
		name := r.fileName(key, s, g)
		path := filepath.Join(r.dir, cellsDir, name)
		r.mu.Lock()
		r.names = append(r.names, name)
		r.mu.Unlock()
		// A file that is damaged is made again, as one of a cell that failed.
		if old, err := readCell(path); err == nil && old.Error == "" && old.Key == key {
			r.made(key, false, false)
			continue
		}
		if ref.Breadth == nil { // what some measures compare with
			run, _, _, err := r.simulate(ctx, g, key, Scorer{Name: "breadth-first"}, top)
			if err != nil {
				return err
			}
			ref.Breadth = run
		}
		run, spent, res, err := r.simulate(ctx, g, key, s, top)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var cell eval.Cell
		if err != nil {
			cell = eval.Cell{Key: key, Error: err.Error()}
		} else {
			run.Requests = res.Requests
			cell = eval.NewCell(run, ref, g.w.spec.Budgets, eval.Measures())
		}
		if err := writeJSON(path, cell); err != nil {
			return err
		}
		if err == nil {
			if err := r.writeCost(spent); err != nil {
				return err
			}
		}
		r.made(key, true, err != nil)
	}
	return nil
}

// simulate runs one crawl. A panic in a strategy fails its cell alone.
func (r *runner) simulate(ctx context.Context, g *group, key eval.Key, s Scorer, budget int) (run *eval.Run, spent cost, res sim.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	top := g.topic(r.File)
	j, err := r.judge(g, top, key.Judge)
	if err != nil {
		return nil, spent, res, err
	}
	defer j.Close()
	scorer, err := r.scorer(g, top, j, s, key.Repeat)
	if err != nil {
		return nil, spent, res, err
	}
	watch := &stopwatch{judge: j, scorer: scorer}
	mode, err := sim.ParseOutside(r.Outside)
	if err != nil {
		return nil, spent, res, err
	}
	rec := eval.NewRecorder(key, budget, g.truth(r.File), eval.RecorderOptions{
		Number: g.graph.Number, Recorded: g.pages.Has, Charged: mode != sim.Drop, Cosines: g.cosines(top),
	})
	c := &crawl.Crawl{
		Seeds: g.seeds(), Frontier: frontier.NewMemory(frontier.Options{}), Parser: g.pages, Judge: watch.watched(), Scorer: watchedScorer{watch},
		Policy: crawl.Policy{Pages: budget, Delay: r.Network.Delay, IgnoreDirectives: r.Ignore}, Name: key.Topic, JudgeName: key.Judge, ScorerName: key.Scorer,
		Threshold: j.Threshold(), Listen: rec.Listen,
	}
	began := time.Now()
	res, err = sim.Run(ctx, c, g.pages, sim.Options{
		Workers: r.Network.Workers, Latency: sim.Latency{Median: r.Network.Median, Spread: r.Network.Spread},
		Seed: r.Seed + uint64(key.Repeat), Outside: mode,
	})
	if err != nil {
		return nil, spent, res, err
	}
	if mode == sim.Drop {
		rec.LeftOut(res.Outside)
	}
	spent = watch.spent(key, res.Pages, time.Since(began))
	return rec.Run(), spent, res, nil
}

// judge makes a judge. That named truth never errs: it shows what a scorer
// could do then, and is no result.
func (r *runner) judge(g *group, t *topic.Topic, name string) (judge.Judge, error) {
	if name != report.TruthJudge {
		return judge.New(name, t, judge.Options{Analyzer: g.words})
	}
	words, err := judge.New("topic", t, judge.Options{Analyzer: g.words})
	if err != nil {
		return nil, err
	}
	return &oracleJudge{words, g.w.truth[g.t.Name]}, nil
}

type oracleJudge struct {
	words judge.Judge // for anchors
	truth map[web.URL]bool
}

func (j *oracleJudge) Text(s string) float64 { return j.words.Text(s) }
func (j *oracleJudge) Close() error          { return j.words.Close() }

func (j *oracleJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	if j.truth[p.URL] {
		return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
	}
	return web.Verdict{}, nil
}

func (j *oracleJudge) Name() string       { return report.TruthJudge }
func (j *oracleJudge) Threshold() float64 { return 1 }

func (r *runner) scorer(g *group, t *topic.Topic, j judge.Judge, s Scorer, repeat int) (crawl.Scorer, error) {
	o := score.Options{
		Seed: r.Seed + uint64(repeat), N: s.Batch, Anchor: j.Text, Keywords: t.Keywords, Analyzer: g.words,
		Thesaurus: r.thesaurus, Set: s.Set,
	}
	if s.Similarity == "tf" || s.Similarity == "tfidf" {
		var err error
		if o.Page, o.Anchor, err = judge.Similarities(s.Similarity, t, g.words); err != nil {
			return nil, err
		}
	}
	return score.New(s.Name, o)
}

// cosines returns the cosine, by term frequencies, of a page to each example:
// items E1 and E2.
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
		p, ok := g.pages.Page(u)
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

// fileName is the name of a cell's file: legible, and of another cell or other
// inputs another.
func (r *runner) fileName(k eval.Key, s Scorer, g *group) string {
	inputs, err := json.Marshal([]any{k, s, g.w.spec.Budgets, r.Outside, r.Network, r.Hide, r.Ignore, r.Seed, r.Words, r.program, g.w.record, g.seeds(), g.t.Examples, g.t.Keywords, g.t.Description, slices.Sorted(maps.Keys(names(g.w.truth[g.t.Name])))})
	if err != nil {
		panic(err) // plain values
	}
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '_'
	}, fmt.Sprintf("%s.%s.%s.%s.%s.%d", k.Web, k.Topic, k.Seeds, k.Scorer, k.Judge, k.Repeat))
	return fmt.Sprintf("%.150s-%016x.json", plain, xxh3.Hash(inputs))
}

// names are the addresses of a set as text.
func names(set map[web.URL]bool) map[string]bool {
	out := make(map[string]bool, len(set))
	for u := range set {
		out[u.String()] = true
	}
	return out
}

func (r *runner) tell(note string) {
	if r.opt.Progress != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.opt.Progress(r.done, r.out.Cells, note)
	}
}

func (r *runner) made(k eval.Key, now, failed bool) {
	r.mu.Lock()
	r.done++
	if now {
		r.out.Made++
	}
	if failed {
		r.out.Failed++
	}
	r.mu.Unlock()
	r.tell(k.String())
}

func readCell(path string) (c eval.Cell, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s is damaged (%w): remove it and run the lab again", path, err)
	}
	return c, nil
}

// writeJSON writes a value so that a crash leaves the old file or the new.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
