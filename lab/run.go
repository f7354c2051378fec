package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/wordnet"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
)

// Options says how a lab is run.
type Options struct {
	// Progress is told how many of all cells are there, and what is going on;
	// one goroutine at a time calls it. It may be nil.
	Progress func(done, total int, note string)
	// Note is told, before the first cell, what is odd about the webs: truths
	// that are not recorded. It may be nil.
	Note func(string)
	// Documents reads what is no HTML, where a lab asks for it; nil = it is read in this process,
	// where the time that a document takes is not bounded.
	Documents parse.Documents
	// Workers is the number of simulations at a time; 0 = the number of cores.
	Workers int
	// Revision is that of the program, which reports name; "" = not known.
	Revision string
	// Replace allows a folder that holds the results of another lab: see checkFolder.
	Replace bool
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
	runsDir   = "runs"
	topicsDir = "topics"
	costsFile = "costs.tsv"
	factsFile = "facts.json"
	labFile   = "lab.yaml"
)

// Run makes the cells that are not there yet. It returns when all are made or
// ctx ends; what was made stays, and so do the facts that a report needs.
func (f *File) Run(ctx context.Context, dir string, o Options) (Outcome, error) {
	if o.Workers < 0 {
		return Outcome{}, job.Mistake{Err: fmt.Errorf("%d simulations at a time: give 1 or more, or 0 for one a core", o.Workers)}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	f.documents = o.Documents
	r := &runner{File: f, dir: dir, opt: o}
	err := checkOwn(dir)
	if err != nil {
		return Outcome{}, err
	}
	if !o.Replace {
		if err := f.checkFolder(dir); err != nil {
			return Outcome{}, err
		}
	}
	if r.thesaurus, err = f.thesaurus(); err != nil {
		return Outcome{}, job.Mistake{Err: err}
	}
	if r.thesaurusHash, err = f.Thesaurus.hash(); err != nil {
		return Outcome{}, job.Mistake{Err: err}
	}
	// All webs are opened before the first cell: what is wrong shows now.
	var webs []*labWeb
	for i := range f.Webs {
		w, err := f.open(&f.Webs[i], i)
		if err != nil {
			return Outcome{}, job.Mistake{Err: err}
		}
		defer w.Close()
		for _, other := range webs {
			if other.Name == w.Name {
				return Outcome{}, job.Mistake{Err: fmt.Errorf("%s: two webs are named %s: build one of them anew with --name", f.at("webs", fmt.Sprint(i)), w.Name)}
			}
		}
		webs = append(webs, w)
	}
	if r.programHash, err = hashProgram(); err != nil {
		return Outcome{}, err
	}
	folders := []string{cellsDir, topicsDir}
	if f.KeepRuns {
		folders = append(folders, runsDir)
	}
	for _, d := range folders {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return Outcome{}, err
		}
	}
	return r.run(ctx, webs)
}

// run makes the cells of all webs, in one pool: a web is read when the first
// of its cells is to be made, and let go after the last.
func (r *runner) run(ctx context.Context, webs []*labWeb) (Outcome, error) {
	groups, err := r.drawDistant(ctx, r.groups(webs))
	if err != nil {
		return Outcome{}, err
	}
	r.facts.Notes = append(r.facts.Notes, r.lacking(groups)...)
	var tasks []task
	wanted := map[*labWeb]bool{} // those with cells to be made
	for i := 0; i < len(groups); i += r.Repeats {
		repeats := groups[i : i+r.Repeats]
		tasks = append(tasks, task{repeats[0].w, r.topicJob(repeats)})
		for _, j := range r.judgeLabels() {
			for _, g := range repeats {
				g.breadthFirst[j] = g.breadth(j)
			}
			for _, s := range r.Scorers {
				for _, g := range repeats { // neighbours in the pool wait for no common part
					c := cell{g, g.key(j, s.label()), s, ""}
					g.cells.Add(1)
					c.name = r.fileName(c.key, s, g, r.bases(s)...)
					r.facts.Cells = append(r.facts.Cells, c.name)
					if !c.kept() {
						wanted[g.w] = true
					}
					tasks = append(tasks, task{g.w, c.run})
				}
			}
		}
	}
	slices.Sort(r.facts.Cells)
	r.out.Cells = len(r.facts.Cells)
	r.topics = make([]topicFacts, 0, len(groups)/r.Repeats)
	// Damage in the record of any web shows before the first cell.
	for i, w := range webs {
		if !wanted[w] && !w.kinds {
			continue
		}
		if _, err := w.open(ctx, r); err != nil {
			if ctx.Err() != nil {
				return r.out, err
			}
			return r.out, job.Mistake{Err: fmt.Errorf("%s: %w", r.at("webs", fmt.Sprint(i)), err)}
		}
		r.facts.Notes = append(r.facts.Notes, w.linksOnlyNotes...)
	}
	// What is told of the lab, and of its cells, is changed together: a run that
	// ends before leaves the results of an earlier one as they are.
	if ctx.Err() != nil {
		return r.out, ctx.Err()
	}
	kept, err := r.keep(r.dir)
	if err != nil {
		return r.out, err
	}
	r.facts.Lab = hashText(kept)
	r.facts.File, r.facts.Revision = r.name, r.opt.Revision
	if err := r.writeFacts(); err != nil {
		return r.out, err
	}
	if r.opt.Note != nil {
		for _, n := range slices.Concat(r.lateLearners(), r.facts.Notes) {
			r.opt.Note(n)
		}
	}
	for _, t := range tasks {
		t.w.tasks.Add(1)
	}
	pool, ctx := errgroup.WithContext(ctx)
	pool.SetLimit(r.opt.Workers)
	for _, t := range tasks {
		pool.Go(func() error {
			defer t.w.done()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return t.do(ctx)
		})
	}
	err = pool.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out, err
}

// groups are those of all webs, the repeats of a topic next to one another. Facts tell of
// the webs, and of the parts without a topic.
func (r *runner) groups(webs []*labWeb) (groups []*group) {
	r.facts.Clock = clock
	if r.pool != nil {
		r.facts.Notes = append(r.facts.Notes, fmt.Sprintf("What was read is pool %s, with %s.", r.pool.Revision, terminal.Count(r.pool.given, "label")))
	}
	if r.ofKinds() {
		r.facts.Notes = append(r.facts.Notes, r.kindsNote())
	}
	for _, w := range webs {
		c := w.Count()
		r.facts.Webs = append(r.facts.Webs, report.Web{Name: w.Name, Pages: c.Pages, Hosts: c.Hosts, Synthetic: w.Synthetic, Note: strings.Trim(w.Source+"; "+w.Licence, "; ")})
		r.facts.Notes = append(r.facts.Notes, w.notes...)
		for _, t := range w.topics {
			for _, f := range w.folds {
				for _, seeds := range r.Seeds {
					far := seeds == "far"
					own, ok := f.topic(t, far)
					if !ok {
						r.facts.Notes = append(r.facts.Notes, fmt.Sprintf("%s/%s@%s is left out: there it has no seed or no relevant page, or elsewhere no relevant page to be shown.", w.Name, t.Name, f.name))
						continue
					}
					for repeat := range r.Repeats {
						groups = append(groups, r.group(w, f, own, far, repeat))
					}
				}
			}
		}
	}
	return groups
}

// task is a part of the work that needs a web.
type task struct {
	w  *labWeb
	do func(context.Context) error
}

// keep puts the lab file beside its results, with every value and path in
// force, so that it can be run again from there. It returns what it wrote.
func (f *File) keep(dir string) ([]byte, error) {
	own := *f
	own.Webs = slices.Clone(f.Webs)
	paths := []*string{&own.Thesaurus.WordNet, &own.Thesaurus.Table, &own.Pool, &own.Silver}
	for i := range own.Webs {
		paths = append(paths, &own.Webs[i].Path)
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		var err error
		if *p, err = filepath.Abs(*p); err != nil {
			return nil, err
		}
	}
	b, err := yaml.Marshal(&own)
	if err != nil {
		return nil, err
	}
	return b, folder.Write(filepath.Join(dir, labFile), b)
}

// hashText is a hash as facts hold it.
func hashText(b []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(b)) }

// hashProgram hashes this program: results of another one are not taken for
// its own. The file is read once: it is as large as all that waggle is linked with.
var hashProgram = sync.OnceValues(func() (uint64, error) {
	path, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := xxh3.New()
	_, err = io.Copy(h, f)
	return h.Sum64(), err
})

// thesaurus opens the lab's thesaurus. A scorer that needs one is refused without.
func (f *File) thesaurus() (score.Thesaurus, error) {
	if t, err := wordnet.Load(f.Thesaurus.WordNet, f.Thesaurus.Table); err != nil {
		return nil, fmt.Errorf("%s: thesaurus: %w", f.at("thesaurus"), err)
	} else if t != nil {
		return t, nil
	}
	for i, s := range f.Scorers {
		if n, ok := s.kind().Uses(score.InputThesaurus, s.Set); ok && !n.Optional {
			return nil, fmt.Errorf("%s: %w", f.at("scorers", fmt.Sprint(i)), s.kind().Missing(n))
		}
	}
	return nil, nil
}

// hash is that of what the thesaurus is made of, wherever it lies; 0 without one.
func (t Thesaurus) hash() (uint64, error) {
	var files []string
	switch {
	case t.WordNet != "":
		list, err := os.ReadDir(t.WordNet)
		if err != nil {
			return 0, err
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "data.") || strings.HasSuffix(e.Name(), ".exc") {
				files = append(files, filepath.Join(t.WordNet, e.Name()))
			}
		}
	case t.Table != "":
		files = []string{t.Table}
	default:
		return 0, nil
	}
	h := xxh3.New()
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(h, len(b))
		h.Write(b)
	}
	return h.Sum64(), nil
}

// drawDistant draws the seeds of hops: before the first cell, one web at a time. A
// topic for which no page is so far away is a mistake in the lab file; where a
// web is parted, its parts without such a page are left out, with a note.
func (r *runner) drawDistant(ctx context.Context, groups []*group) (kept []*group, err error) {
	if r.Hops == 0 {
		return groups, nil
	}
	for i, g := range groups {
		if err := g.fold.load(ctx, r); err != nil {
			return nil, err
		}
		if len(g.seedsAtHops()) > 0 {
			kept = append(kept, g)
		} else if id := g.id(); g.fold.name == "" {
			return nil, job.Mistake{Err: fmt.Errorf("%s: no page of %s is exactly %s from the nearest relevant page of %s: choose other hops, or name other topics: for this web", r.at("hops"), id.Web, terminal.Count(r.Hops, "link"), id.Topic)}
		} else if g.repeat == 0 {
			r.facts.Notes = append(r.facts.Notes, fmt.Sprintf("%s/%s is left out: there no page is exactly %s from the nearest relevant one.", id.Web, id.Topic, terminal.Count(r.Hops, "link")))
		}
		if i+1 == len(groups) || groups[i+1].w != g.w {
			g.w.release()
		}
	}
	if len(kept) == 0 {
		return nil, job.Mistake{Err: fmt.Errorf("%s: nowhere is a page exactly %s from the nearest relevant one: choose other hops", r.at("hops"), terminal.Count(r.Hops, "link"))}
	}
	return kept, nil
}

// facts are what a report says beside the cells.
type facts struct {
	Webs   []report.Web   `json:"webs"`
	Topics []report.Topic `json:"topics"`
	Judges []judgeFact    `json:"judges"`
	Cells  []string       `json:"cells"` // names of the files of all cells, made or not
	Notes  []string       `json:"notes"`
	Clock  string         `json:"clock"` // by which costs are measured
	// Lab is a hash of the kept lab file that the cells are of, and File the
	// name of the one that was run. Facts of an older waggle have neither.
	Lab  string `json:"lab,omitempty"`
	File string `json:"file,omitempty"`
	// Revision is that of the program that ran last.
	Revision string `json:"revision,omitempty"`
}

// topicFacts are those of one topic, in a file of their own.
type topicFacts struct {
	Name   string       `json:"name"` // of the file
	Topic  report.Topic `json:"topic"`
	Judges []judgeFact  `json:"judges"`
	Failed []string     `json:"failed,omitempty"` // judges that failed, and how
}

type runner struct {
	*File
	dir           string
	opt           Options
	thesaurus     score.Thesaurus
	programHash   uint64 // a hash of it
	thesaurusHash uint64 // a hash of the thesaurus

	mu     sync.Mutex
	done   int
	out    Outcome
	facts  facts
	topics []topicFacts
}

// writeFacts writes what is known so far, topics in the order of their names.
func (r *runner) writeFacts() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.facts
	f.Notes = slices.Clone(f.Notes)
	slices.SortFunc(r.topics, func(a, b topicFacts) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range r.topics {
		f.Topics = append(f.Topics, t.Topic)
		f.Judges = append(f.Judges, t.Judges...)
		f.Notes = append(f.Notes, t.Failed...)
	}
	return writeJSON(filepath.Join(r.dir, factsFile), f)
}

// fileName is the name of a cell's file: legible, and of another cell or other
// inputs another.
func (r *runner) fileName(k eval.Key, s Scorer, g *group, more ...any) string {
	var seeds any = []any{g.Hops, g.t.Seeds} // what seeds are drawn from, besides the record
	if g.Hops == 0 {
		seeds = []any{g.seeds(), g.allSeeds()}
	}
	if len(g.w.negatives[g.t.Name]) > 0 {
		more = append(more, g.w.negatives[g.t.Name])
	}
	j := r.judgeOf(k.Judge)
	if len(j.Set) > 0 {
		more = append(more, j.Set)
	}
	if j.Name != k.Judge {
		more = append(more, "judge", j.Name)
	}
	own := written(g.t)
	own.Language = nil
	if languages := g.w.words.Languages(); !slices.Equal(languages, own.Languages()) { // not those that its words tell
		more = append(more, "languages", languages)
	}
	if r.milestones(s) {
		more = append(more, "labels", g.w.labels())
	}
	if r.Noise > 0 {
		more = append(more, "noise", r.Noise)
	}
	if r.ofKinds() {
		more = append(more, "kinds", r.Fetch, r.Links, r.Topic)
	}
	if r.critics() {
		more = append(more, r.Critic, g.w.topics, g.w.truths)
	}
	inputs, err := json.Marshal([]any{more, k, s, g.w.spec.Budgets, g.w.spec.Train, r.Outside, r.Network, r.HideHalf, r.IgnoreDirectives, r.Seed, r.thesaurusHash, r.programHash, g.w.record, seeds, g.examples(), g.t.Examples, g.t.Keywords, g.t.Description, g.w.truths[g.t.Name]})
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

func (r *runner) progress(note string) {
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
	r.progress(k.String())
}

// readCell reads the file of a cell. One whose figures contradict one another is damaged.
func readCell(path string) (eval.Cell, error) {
	c, err := readJSON[eval.Cell](path)
	if err == nil {
		if err = c.Check(); err != nil {
			err = fmt.Errorf("%s is damaged (%w): run the lab again, which makes it anew", path, err)
		}
	}
	return c, err
}

func readJSON[T any](path string) (v T, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("%s is damaged (%w): run the lab again, which makes it anew", path, err)
	}
	return v, nil
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
