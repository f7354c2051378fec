package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
)

// PoolOptions say what is drawn for readers.
type PoolOptions struct {
	// Judges rank all pages of a web; nil = those of each lab, without truth.
	Judges []string
	// Webs are folders of recorded webs whose pages are ranked by judges alone, for
	// all their topics, with a truth or without; then Judges are needed.
	Webs []string
	pool.DrawOptions
	// Progress is told what is going on; it may be nil.
	Progress func(done, total int, note string)
}

// DrawPool draws, for each topic of the labs whose results are in these folders,
// the pages to read: what their crawls fetched early, what judges rank high, and
// samples of the rest (see pool.Draw). The labs need keep-runs. What crawls were
// given as seeds is left out of their rankings, and so are crawls under the judge
// that knows the truth. Webs without a truth, on which no lab can run yet, are
// drawn from by judges alone.
func DrawPool(ctx context.Context, results []string, o PoolOptions) (*pool.Pool, error) {
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	d := &poolDraw{o: o, populations: map[pool.Key]*pool.Population{}}
	d.out.Seed = o.Seed
	for _, dir := range results {
		if err := d.add(ctx, dir); err != nil {
			return nil, err
		}
	}
	for _, dir := range o.Webs {
		if err := d.addBare(ctx, dir); err != nil {
			return nil, err
		}
	}
	for i, k := range d.order {
		o.Progress(i, len(d.order), k.String())
		t, err := pool.Draw(k.Web, k.Topic, *d.populations[k], o.DrawOptions)
		if err != nil {
			return nil, err
		}
		d.out.Topics = append(d.out.Topics, t)
	}
	return &d.out, nil
}

// poolDraw is a pool while its rankings are gathered.
type poolDraw struct {
	o           PoolOptions
	out         pool.Pool
	order       []pool.Key
	populations map[pool.Key]*pool.Population
}

// add adds the rankings of a lab.
func (d *poolDraw) add(ctx context.Context, dir string) error {
	f, err := readResults(dir)
	if err != nil {
		return err
	}
	if !f.KeepRuns {
		return fmt.Errorf("%s: the lab kept no runs: put keep-runs: true into its file and run it again", filepath.Join(dir, labFile))
	}
	if f.ofKinds() {
		return fmt.Errorf("%s: %s Readers are shown pages in HTML, and the links of these alone were followed to draw a pool: leave these keys out of its file and run it again into another folder, or give the web a truth, one address a line, as the guide has it (waggle help documents)", filepath.Join(dir, labFile), f.kindsNote())
	}
	runs, err := readRuns(dir)
	if err != nil {
		return err
	}
	r := &runner{File: f, dir: dir, opt: Options{Progress: d.o.Progress}}
	for i := range f.Webs {
		if err := d.addWeb(ctx, r, i, runs); err != nil {
			return err
		}
	}
	return nil
}

// readRuns reads the runs that a lab kept, in the order of their files.
func readRuns(dir string) ([]*eval.Run, error) {
	known, err := readFacts(dir)
	if err != nil {
		return nil, err
	}
	var out []*eval.Run
	for _, name := range known.Cells {
		name = filepath.Base(name)
		c, err := readCell(filepath.Join(dir, cellsDir, name))
		if err == nil && c.Error != "" {
			continue // there is no run of a cell that failed
		}
		run, err := readJSON[eval.Run](filepath.Join(dir, runsDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not there: the lab was stopped before its end; waggle lab run goes on with it", filepath.Join(dir, runsDir, name))
		}
		if err != nil {
			return nil, err
		}
		if run.Judge != report.TruthJudge {
			out = append(out, &run)
		}
	}
	return out, nil
}

// readFacts reads the facts of a lab's run.
func readFacts(dir string) (known facts, err error) {
	b, err := os.ReadFile(filepath.Join(dir, factsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return known, fmt.Errorf("%s holds no finished run of a lab: waggle lab run makes one, and goes on with one that was stopped", dir)
	}
	if err != nil {
		return known, err
	}
	if err := json.Unmarshal(b, &known); err != nil {
		return known, fmt.Errorf("%s is damaged (%w): run the lab again, which takes little where the cells are there", filepath.Join(dir, factsFile), err)
	}
	return known, nil
}

// addWeb adds the rankings of one web of a lab.
func (d *poolDraw) addWeb(ctx context.Context, r *runner, i int, runs []*eval.Run) error {
	spec := r.Webs[i]
	spec.Train = nil // the whole web is ranked, also where a lab parts it
	w, err := r.open(&spec, i)
	if err != nil {
		return err
	}
	defer w.Close() // it was read only
	return d.addTopics(ctx, r, w, runs)
}

// addBare adds the rankings of a web by judges alone.
func (d *poolDraw) addBare(ctx context.Context, dir string) error {
	if len(d.o.Judges) == 0 {
		return errors.New("no lab ranks these pages, so judges are needed: such as topic and keyword")
	}
	c, err := corpus.Open(dir)
	if err != nil {
		return err
	}
	defer c.Close() // it was read only
	w := newLabWeb(c, &Web{Path: dir, Budgets: []int{1}}, false)
	for _, t := range c.Topics {
		if len(t.Seeds) > 0 {
			w.topics = append(w.topics, t)
		}
	}
	if len(w.topics) == 0 {
		return fmt.Errorf("%s has no topic with seeds", dir)
	}
	f := &File{Webs: []Web{*w.spec}, name: dir}
	f.setDefaults()
	if w.folds, err = w.partition(); err != nil {
		return err
	}
	return d.addTopics(ctx, &runner{File: f, opt: Options{Progress: d.o.Progress}}, w, nil)
}

// addTopics adds the rankings of the topics of an open web.
func (d *poolDraw) addTopics(ctx context.Context, r *runner, w *labWeb, runs []*eval.Run) error {
	whole := w.folds[0]
	if err := whole.load(ctx, r); err != nil {
		return err
	}
	documents := whole.graph.Documents()
	entry := pool.Web{Name: w.Name, Revision: whole.graph.Revision(), Documents: len(documents)}
	if known, ok := d.out.Web(w.Name); !ok {
		d.out.Webs = append(d.out.Webs, entry)
	} else if known != entry {
		return fmt.Errorf("%s: two webs are named %s", w.Dir(), w.Name)
	}
	for _, t := range w.topics {
		k := pool.Key{Web: w.Name, Topic: t.Name}
		r.progress("ranking " + k.String())
		p := d.populations[k]
		if p == nil {
			p = &pool.Population{Pages: documents, Reachable: reachable(whole.graph, t)}
			if err := d.rank(ctx, r.group(w, whole, t, false, 0), p); err != nil {
				return err
			}
			d.populations[k] = p
			d.order = append(d.order, k)
		}
		for _, run := range runs {
			if name, _, _ := strings.Cut(run.Topic, "@"); run.Web == w.Name && name == t.Name {
				p.Lists = append(p.Lists, ranking(whole.graph, run))
			}
		}
	}
	return nil
}

// reachable marks the documents that a crawl can come to from any seeds of a
// topic.
func reachable(g *eval.Graph, t corpus.Topic) []bool {
	out := make([]bool, len(g.Documents()))
	for i, is := range g.Reach(slices.Concat(t.Seeds, t.SeedsFar)) {
		if is {
			out[g.Document(int32(i))] = true
		}
	}
	return out
}

// ranking is the documents of a run in the order of their fetches, without its
// seeds.
func ranking(g *eval.Graph, run *eval.Run) (list []int32) {
	in := map[int32]bool{}
	for _, p := range run.Pages {
		if p.ID < 0 || p.Mark&eval.Seed != 0 {
			continue
		}
		if d := g.Document(p.ID); !in[d] {
			in[d] = true
			list = append(list, d)
		}
	}
	return list
}

// rank adds what each judge gives most to.
func (d *poolDraw) rank(ctx context.Context, g *group, p *pool.Population) error {
	names := d.o.Judges
	if names == nil {
		names = slices.DeleteFunc(g.judgeLabels(), func(name string) bool { return name == report.TruthJudge })
	}
	var why error
	for _, name := range names {
		if isCritic(name) || name == report.TruthJudge || !slices.ContainsFunc(Judges(), func(l judge.Line) bool { return l.Name == g.judgeOf(name).Name }) {
			return fmt.Errorf("the judge %q ranks no pages for a pool: waggle lab list names judges; of them neither critics nor truth can", name)
		}
		j, _, err := g.judge(g.topic(), name)
		if err != nil {
			why = errors.Join(why, err)
			continue // the topic does not give what this judge needs
		}
		defer j.Close() // it started nothing
		type judged struct {
			document              int32
			relevance, similarity float64
			chance                uint64 // parts equals
		}
		var all []judged
		for i, u := range p.Pages {
			page, ok := g.w.pages.Page(u)
			if !ok {
				continue
			}
			v, err := j.Judge(ctx, page)
			if err != nil {
				return err
			}
			if v.Relevance > 0 {
				all = append(all, judged{int32(i), v.Relevance, v.Similarity, xxh3.HashStringSeed(u.String(), d.o.Seed)})
			}
		}
		slices.SortFunc(all, func(a, b judged) int {
			return cmp.Or(-cmp.Compare(a.relevance, b.relevance), -cmp.Compare(a.similarity, b.similarity), cmp.Compare(a.chance, b.chance))
		})
		list := make([]int32, len(all))
		for i, x := range all {
			list[i] = x.document
		}
		if len(list) > 0 {
			p.Lists = append(p.Lists, list)
		}
	}
	if len(names) > 0 && len(p.Lists) == 0 {
		if why == nil {
			why = errors.New("they give all pages a relevance of 0")
		}
		return fmt.Errorf("%s: no judge can rank its pages: %w", g.id(), why)
	}
	return nil
}
