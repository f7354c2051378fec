// Package waggle runs focused crawls from a program: with judges, scorers and
// listeners of its own beside those of waggle.
//
// A Crawler holds what the program brings. It begins a crawl of a job in a
// folder, goes on with one, and reads lab files, in which the program's
// strategies are compared with others on recorded webs:
//
//	job.Job ──► Crawler.Begin ──► folder ──► collection.Open: pages, links, exports
//	               Crawler.Resume ──┘
//	lab file ─► Crawler.ParseLab ─► lab.File: Run, Report
//
// A judge or a scorer from outside is described by a judge.Description or a
// score.Description, as those of waggle are, and has every right that they have:
// a name in job files and lab files, settings, needs, a trained model, state that is
// kept over restarts (the State and Restore of a scorer, or of a judge that is a
// crawl.AdaptiveJudge), explanations (score.Explainer, judge.Explainer), and the
// conformance suites (judge/judgetest, score/scoretest). JudgeFunc and ScorerFunc describe
// the simplest ones by a function.
//
// What a crawl is told is a job.Job, the same as in a job file. What it does is
// told by the events of package event. Pages and links are those of package web.
package waggle

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Crawler runs crawls with what a program brings. The zero Crawler brings
// nothing, and crawls as the command waggle does. Several crawls in folders of
// their own may run at a time.
type Crawler struct {
	// Scorers and Judges may be named by jobs and labs. A crawl that was begun
	// by one of them goes on only where it is given again.
	Scorers []score.Description
	Judges  []judge.Description
	// Fetcher fetches; nil = from the live web, politely (package fetch).
	Fetcher crawl.Fetcher
	// Listen is told every event of a crawl, in order, by one goroutine; the
	// crawl waits for it. nil = nobody listens.
	Listen func(event.Event)
	// Note is told, in a sentence, what the user should know; nil = nobody.
	Note func(string)
}

// own are the strategies of the program.
func (c *Crawler) own() job.Strategies { return job.Strategies{Scorers: c.Scorers, Judges: c.Judges} }

// Begin begins the crawl of a job in a folder, which must be empty or not there,
// and runs it until it ends or ctx does, which is the ending event.Stopped; where ctx
// ends before the crawl has begun, as while example pages are fetched, its error is
// returned. What the job leaves out is filled in as the command waggle does: by its
// critic (job.Job.TakeTopic), and seeds by the examples that are addresses. What
// is wrong with the job is a *job.Error; then nothing is left in the folder.
func (c *Crawler) Begin(ctx context.Context, dir string, j *job.Job) (event.Ending, error) {
	col := collection.At(dir)
	if err := cmp.Or(col.Usable(), col.BringBack()); err != nil {
		return "", err
	}
	if col.Begun() {
		return "", fmt.Errorf("%s holds a crawl already: go on with it by Resume, or choose another folder", dir)
	}
	return c.run(ctx, dir, func(collection.Collection) (*job.Job, error) {
		whole := *j
		if err := whole.TakeTopic(); err != nil {
			return nil, err
		}
		whole.SeedByExamples()
		return &whole, nil
	})
}

// Resume goes on with the crawl in a folder. change may change its job, such as
// its budget; nil changes nothing. What cannot change is refused with a
// *job.Error. A round of waggle crawl --again goes on by a command alone, which the
// error names.
func (c *Crawler) Resume(ctx context.Context, dir string, change func(*job.Job)) (event.Ending, error) {
	col := collection.At(dir)
	if err := col.BringBack(); err != nil {
		return "", err
	}
	if !col.Begun() {
		return "", fmt.Errorf("%s holds no crawl to go on with: Begin begins one", dir)
	}
	if err := col.ByCommand(dir); err != nil {
		return "", err
	}
	return c.run(ctx, dir, func(col collection.Collection) (*job.Job, error) {
		if err := col.CheckJob(); err != nil {
			return nil, err
		}
		j, err := c.own().Read(col.JobFile())
		if err == nil && change != nil {
			change(j)
		}
		return j, err
	})
}

// run crawls in a folder.
func (c *Crawler) run(ctx context.Context, dir string, told func(collection.Collection) (*job.Job, error)) (how event.Ending, err error) {
	col := collection.At(dir)
	if err := col.Usable(); err != nil {
		return "", err
	}
	w, err := col.Lock()
	if err != nil {
		return "", err
	}
	defer func() {
		if !w.Begun() { // nothing began: nothing is left behind
			err = errors.Join(err, w.Discard())
		}
		err = errors.Join(err, w.Close())
	}()
	m := &job.Maker{Writer: w, Own: c.own(), Fetcher: c.Fetcher, Note: c.Note}
	if w.Begun() {
		m.Begun = &w.Collection
	}
	if m.Job, err = told(col); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	made, err := m.Crawl(ctx)
	if err != nil {
		return "", err
	}
	made.Listen = c.Listen
	if how, err = made.Run(ctx); err != nil {
		return "", err
	}
	return how, w.SaveHarvest()
}

// ReadJob reads and checks a job file. Every error names its line. The files that
// it names are taken from its folder.
func (c *Crawler) ReadJob(name string) (*job.Job, error) {
	return c.own().ReadGiven(name)
}

// ParseLab makes a lab of YAML and checks it; name is the file's, for errors and
// for paths, which are relative to its folder.
func (c *Crawler) ParseLab(name string, b []byte) (*lab.File, error) {
	return lab.Parse(name, b, c.own())
}

// JudgeFunc describes a judge that is a function: the relevance of a page, in
// [0,1]; a page counts as relevant from the threshold on, in (0,1], unless the job
// names another. f is pure and safe for concurrent use. A text, such as an
// anchor, is judged as a page that holds nothing else.
func JudgeFunc(name, line string, threshold float64, f func(*web.Page) float64) judge.Description {
	return judge.Description{Name: name, Line: line, Make: func(o judge.Options) (judge.Judge, error) {
		if o.Threshold == 0 {
			o.Threshold = threshold
		}
		if !(o.Threshold > 0 && o.Threshold <= 1) {
			return nil, fmt.Errorf("threshold %v: give a number above 0 and up to 1", o.Threshold)
		}
		return &funcJudge{name, o.Threshold, f, o.Analyzer.Words}, nil
	}}
}

type funcJudge struct {
	name      string
	threshold float64
	relevance func(*web.Page) float64
	words     func(string) []string
}

func (j *funcJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	r := unit(j.relevance(p))
	return web.Verdict{Relevance: r, Similarity: r, Relevant: r >= j.threshold}, nil
}

func (j *funcJudge) Text(s string) float64 {
	count := map[string]int32{}
	for _, w := range j.words(s) {
		count[w]++
	}
	p := &web.Page{Title: s, Main: s, Leaves: []web.Leaf{{Text: s}}}
	for _, w := range slices.Sorted(maps.Keys(count)) {
		p.Terms = append(p.Terms, web.Term{Text: w, Body: count[w]})
	}
	return unit(j.relevance(p))
}

func (j *funcJudge) Name() string       { return j.name }
func (j *funcJudge) Threshold() float64 { return j.threshold }
func (j *funcJudge) Close() error       { return nil }

// unit brings a number into [0,1]; what is none is 0.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// ScorerFunc describes a scorer that is a function: the priority of a link of a
// judged page, higher is sooner. f is pure and safe for concurrent use. Seeds come
// first, whatever f says. What is no number is the least priority. Numbers beyond ±1e8
// keep their order, but for such as differ by less than a hundred-millionth part.
func ScorerFunc(name, line string, f func(p *web.Page, v web.Verdict, link *web.Link) float64) score.Description {
	return score.Description{Name: name, Line: line, Make: func(score.Options) (score.Scorer, error) { return funcScorer(f), nil }}
}

// funcScorer keeps what the function said with the link:
//
//	priority float64 LE
type funcScorer func(p *web.Page, v web.Verdict, link *web.Link) float64

func (f funcScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	for i := range p.Links {
		out[i] = binary.LittleEndian.AppendUint64(nil, math.Float64bits(f(p, v, &p.Links[i])))
	}
	return out
}

func (f funcScorer) Score(c *web.Candidate) float64 {
	if len(c.Features) != 8 { // a seed
		return math.MaxFloat64
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(c.Features))
	if math.IsNaN(x) {
		return -math.MaxFloat64
	}
	return max(-math.MaxFloat64, min(x, math.MaxFloat64))
}

func (funcScorer) Visit(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }
func (funcScorer) Stale() bool                                         { return false }
func (funcScorer) Rescores() bool                                      { return false }
func (funcScorer) State() (state []byte, snapshot bool)                { return nil, false }

func (funcScorer) Restore(state []byte) error {
	if len(state) > 0 {
		return errors.New("the state is that of another scorer; resume with the one of the first run")
	}
	return nil
}
