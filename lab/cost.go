package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// cost is the time a cell took, by stage. It is no result: it is never the same
// twice, and kept apart from the cells.
//
// A simulation runs on one goroutine, which keeps to one thread. What the
// thread was given of a processor is known for the whole only, as asking for it
// takes longer than scoring a link; the stages divide it as the clock did:
//
//	time of a stage = processor time of the crawl · elapsed in it / elapsed
//
// Where a system does not tell of threads it is the elapsed time itself.
type cost struct {
	scorer, judge string
	pages         int
	stages        [stages]time.Duration
	// training is the time it took to make the scorer, before the crawl: with
	// one that comes trained, all that its training took.
	training time.Duration
}

// The stages of a crawl. What no other stage is, is rest: the frontier, reading
// responses, what crawl and measures do themselves.
const (
	parsing    = iota // the page's bytes: not done in a simulation, measured apart
	reading           // making the page from the file of parsed pages
	judging           //
	extracting        // features of links
	visiting          // taking down what a fetch brought, learning page by page included
	learning          // computing a model anew in the course of the crawl: score.Options.Learn
	scoring           // of links, when found and again
	rest
	stages
)

// stageNames are those of a report.
func stageNames() [stages]string {
	return [stages]string{"parse", "page from cache", "judge", "extract", "visit", "learn", "score", "rest"}
}

// stopwatch takes the time of a simulation's stages. All is done on the
// goroutine that made it.
type stopwatch struct {
	cost
	began   time.Time
	beganIn time.Duration // processor time
}

// newStopwatch keeps the goroutine to its thread until release.
func newStopwatch() *stopwatch {
	runtime.LockOSThread()
	return &stopwatch{}
}

func (w *stopwatch) release() { runtime.UnlockOSThread() }

// trained makes a scorer, and takes the time of it.
func (w *stopwatch) trained(newScorer func() (crawl.Scorer, error)) (crawl.Scorer, error) {
	began := threadTime()
	s, err := newScorer()
	w.training += threadTime() - began
	w.stages[learning] = 0 // was part of it
	return s, err
}

func (w *stopwatch) start() { w.began, w.beganIn = time.Now(), threadTime() }

// spent is the cost of a crawl that ended. parse is what parsing a page takes.
func (w *stopwatch) spent(k eval.Key, pages int, parse time.Duration) cost {
	c := w.cost
	c.scorer, c.judge, c.pages = k.Scorer, k.Judge, pages
	elapsed, given := time.Since(w.began), threadTime()-w.beganIn
	c.stages[visiting] -= c.stages[learning] // which visits do
	c.stages[rest] = elapsed
	for _, t := range c.stages[:rest] {
		c.stages[rest] -= t
	}
	if elapsed > 0 {
		for i, t := range c.stages {
			c.stages[i] = time.Duration(float64(t) * float64(given) / float64(elapsed))
		}
	}
	c.stages[parsing] = parse * time.Duration(pages)
	return c
}

// parseSample is the number of pages from which the time of parsing is taken.
const parseSample = 100

// parseTime is the mean time of parsing one of a web's pages: documents taken
// from all over it, the first of them twice, to warm up.
func parseTime(w *corpus.Web, parser *parse.Parser) (time.Duration, error) {
	var pages []web.URL
	for u := range w.URLs() {
		if s := w.Status(u); s >= 200 && s < 300 {
			pages = append(pages, u)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all time.Duration
	parsed := 0
	for i := range min(parseSample, len(pages)) {
		r, err := w.Lookup(pages[i*len(pages)/min(parseSample, len(pages))])
		if err != nil {
			return 0, err
		}
		if i == 0 {
			parser.Parse(r)
		}
		began := threadTime()
		if _, err := parser.Parse(r); err == nil {
			all += threadTime() - began
			parsed++
		}
	}
	return all / time.Duration(max(1, parsed)), nil
}

// took adds the time since start to a stage.
func (w *stopwatch) took(stage int, start time.Time) { w.stages[stage] += time.Since(start) }

// learn runs what computes a model anew.
func (w *stopwatch) learn(compute func()) {
	defer w.took(learning, time.Now())
	compute()
}

type watchedParser struct {
	crawl.Parser
	*stopwatch
}

func (w watchedParser) Parse(r *web.Response) (*web.Page, error) {
	defer w.took(reading, time.Now())
	return w.Parser.Parse(r)
}

type watchedJudge struct {
	*stopwatch
	own judge.Judge
}

func (w watchedJudge) Judge(ctx context.Context, p *web.Page) (web.Verdict, error) {
	defer w.took(judging, time.Now())
	return w.own.Judge(ctx, p)
}

// watchedAdapting is a watched judge that learns document frequencies.
type watchedAdapting struct {
	watchedJudge
	crawl.AdaptiveJudge
}

func (w watchedAdapting) Observe(p *web.Page, said web.Verdict) []web.Renewal {
	defer w.took(judging, time.Now())
	return w.AdaptiveJudge.Observe(p, said)
}

// Label implements crawl.LabelledJudge, for judges that learn from labels.
func (w watchedAdapting) Label(wanted []*web.Page) []web.Renewal {
	defer w.took(judging, time.Now())
	if j, ok := w.AdaptiveJudge.(crawl.LabelledJudge); ok {
		return j.Label(wanted)
	}
	return nil
}

// Share, Lessons and Learn implement crawl.SharingJudge, for judges that do.
func (w watchedAdapting) Share() {
	if j, ok := w.AdaptiveJudge.(crawl.SharingJudge); ok {
		j.Share()
	}
}

func (w watchedAdapting) Lessons() [][]byte {
	if j, ok := w.AdaptiveJudge.(crawl.SharingJudge); ok {
		return j.Lessons()
	}
	return nil
}

func (w watchedAdapting) Learn(lesson []byte) ([]web.Renewal, error) {
	defer w.took(judging, time.Now())
	if j, ok := w.AdaptiveJudge.(crawl.SharingJudge); ok {
		return j.Learn(lesson)
	}
	return nil, nil
}

// judge is the judge of a crawl under the watch; one that adapts still does.
func (w *stopwatch) judge(j judge.Judge) crawl.Judge {
	if a, ok := j.(crawl.AdaptiveJudge); ok {
		return watchedAdapting{watchedJudge{w, j}, a}
	}
	return watchedJudge{w, j}
}

type watchedScorer struct {
	*stopwatch
	scorer crawl.Scorer
}

func (w watchedScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	defer w.took(extracting, time.Now())
	return w.scorer.Extract(p, v)
}

func (w watchedScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	defer w.took(visiting, time.Now())
	return w.scorer.Visit(c, p, v)
}

// Label implements crawl.LabelledScorer, for scorers that learn from labels.
func (w watchedScorer) Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool) {
	defer w.took(visiting, time.Now())
	if s, ok := w.scorer.(crawl.LabelledScorer); ok {
		s.Label(c, p, v, judged)
	}
}

// Recall implements crawl.RecallingScorer; it is nil of scorers that do not.
func (w watchedScorer) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	defer w.took(visiting, time.Now())
	if s, ok := w.scorer.(crawl.RecallingScorer); ok {
		return s.Recall(c, p, v)
	}
	return nil
}

// Renew implements crawl.RenewingScorer, for scorers that learn from new verdicts.
func (w watchedScorer) Renew(pages []web.Renewal) {
	defer w.took(visiting, time.Now())
	if s, ok := w.scorer.(crawl.RenewingScorer); ok {
		s.Renew(pages)
	}
}

// Share, Lessons and Learn implement crawl.SharingScorer, for scorers that do.
func (w watchedScorer) Share() {
	if s, ok := w.scorer.(crawl.SharingScorer); ok {
		s.Share()
	}
}

func (w watchedScorer) Lessons() [][]byte {
	if s, ok := w.scorer.(crawl.SharingScorer); ok {
		return s.Lessons()
	}
	return nil
}

func (w watchedScorer) Learn(lesson []byte) error {
	defer w.took(visiting, time.Now())
	if s, ok := w.scorer.(crawl.SharingScorer); ok {
		return s.Learn(lesson)
	}
	return nil
}

func (w watchedScorer) Score(c *web.Candidate) float64 {
	defer w.took(scoring, time.Now())
	return w.scorer.Score(c)
}

func (w watchedScorer) Stale() bool                      { return w.scorer.Stale() }
func (w watchedScorer) Rescores() bool                   { return w.scorer.Rescores() }
func (w watchedScorer) State() (state []byte, anew bool) { return w.scorer.State() }
func (w watchedScorer) Restore(state []byte) error       { return w.scorer.Restore(state) }

// writeCost adds the cost of a cell to those before:
//
//	cell's file ⇥ scorer ⇥ judge ⇥ pages ⇥ training ⇥ one column a stage    in seconds
func (r *runner) writeCost(name string, c cost) error {
	plain := strings.NewReplacer("\t", " ", "\n", " ").Replace
	line := fmt.Sprintf("%s\t%s\t%s\t%d\t%.6f", name, plain(c.scorer), plain(c.judge), c.pages, c.training.Seconds())
	for _, t := range c.stages {
		line += fmt.Sprintf("\t%.6f", t.Seconds())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(r.dir, costsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// readCosts sums the costs of cells by strategy, in milliseconds a page; of
// cells that are not named, such as those of an older program, it says nothing.
func readCosts(dir string, cells []string) ([]report.Cost, error) {
	b, err := os.ReadFile(filepath.Join(dir, costsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type key struct{ scorer, judge string }
	type sum struct {
		cells, pages, training float64
		stages                 [stages]float64
	}
	last := map[string][]string{} // of a cell made twice the last counts
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 5+stages { // else torn by a crash
			last[f[0]] = f
		}
	}
	sums := map[key]*sum{}
	for _, name := range cells {
		f, ok := last[name]
		if !ok {
			continue
		}
		var x [2 + stages]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(f[3+i], 64); err != nil {
				return nil, fmt.Errorf("%s: the line of %s is damaged (%w): remove it", filepath.Join(dir, costsFile), name, err)
			}
		}
		k := key{f[1], f[2]}
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		s := sums[k]
		s.cells++
		s.pages += x[0]
		s.training += x[1]
		for i := range s.stages {
			s.stages[i] += x[2+i]
		}
	}
	var out []report.Cost
	for k, s := range sums {
		c := report.Cost{Scorer: k.scorer, Judge: k.judge, Training: s.training / s.cells}
		for i, name := range stageNames() {
			c.Stages = append(c.Stages, report.Stage{Name: name, Millis: 1000 * s.stages[i] / max(1, s.pages), Apart: i == parsing})
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b report.Cost) int {
		return cmp.Or(cmp.Compare(a.Scorer, b.Scorer), cmp.Compare(a.Judge, b.Judge))
	})
	return out, nil
}
