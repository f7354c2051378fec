package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/web"
)

// cost is the time a cell took, by stage. It is no result: it is never the same
// twice, and kept apart from the cells.
type cost struct {
	scorer, judge string
	pages         int
	judging       time.Duration
	extracting    time.Duration // features of links
	scoring       time.Duration // and learning
	rest          time.Duration // reading pages, the frontier, the measures
}

// stopwatch takes the time of judge and scorer. A simulation runs on one
// goroutine, so a stage's time is the processor's but for what the machine
// gives to others.
type stopwatch struct {
	judge  judge.Judge
	scorer crawl.Scorer
	cost
}

func (w *stopwatch) spent(k eval.Key, pages int, all time.Duration) cost {
	c := w.cost
	c.scorer, c.judge, c.pages = k.Scorer, k.Judge, pages
	c.rest = all - c.judging - c.extracting - c.scoring
	return c
}

// took adds the time since start to a stage.
func took(stage *time.Duration, start time.Time) { *stage += time.Since(start) }

type watchedJudge struct{ *stopwatch }

func (w watchedJudge) Judge(ctx context.Context, p *web.Page) (web.Verdict, error) {
	defer took(&w.judging, time.Now())
	return w.judge.Judge(ctx, p)
}

// watchedAdapting is a watched judge that learns document frequencies.
type watchedAdapting struct {
	watchedJudge
	crawl.Adapting
}

func (w watchedAdapting) Observe(p *web.Page) {
	defer took(&w.judging, time.Now())
	w.Adapting.Observe(p)
}

// watched is the judge of a crawl under the watch; one that adapts still does.
func (w *stopwatch) watched() crawl.Judge {
	if a, ok := w.judge.(crawl.Adapting); ok {
		return watchedAdapting{watchedJudge{w}, a}
	}
	return watchedJudge{w}
}

type watchedScorer struct{ *stopwatch }

func (w watchedScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	defer took(&w.extracting, time.Now())
	return w.scorer.Extract(p, v)
}

func (w watchedScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	defer took(&w.scoring, time.Now())
	return w.scorer.Visit(c, p, v)
}

func (w watchedScorer) Score(c *web.Candidate) float64 {
	defer took(&w.scoring, time.Now())
	return w.scorer.Score(c)
}

func (w watchedScorer) Stale() bool                { return w.scorer.Stale() }
func (w watchedScorer) Rescores() bool             { return w.scorer.Rescores() }
func (w watchedScorer) State() []byte              { return w.scorer.State() }
func (w watchedScorer) Restore(state []byte) error { return w.scorer.Restore(state) }

// writeCost adds the cost of a cell to those before:
//
//	scorer ⇥ judge ⇥ pages ⇥ judging ⇥ extracting ⇥ scoring ⇥ rest    in seconds
func (r *runner) writeCost(c cost) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(r.dir, costsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	plain := strings.NewReplacer("\t", " ", "\n", " ").Replace
	_, err = fmt.Fprintf(f, "%s\t%s\t%d\t%.6f\t%.6f\t%.6f\t%.6f\n", plain(c.scorer), plain(c.judge), c.pages,
		c.judging.Seconds(), c.extracting.Seconds(), c.scoring.Seconds(), c.rest.Seconds())
	return errors.Join(err, f.Close())
}

// readCosts sums the costs by strategy, in milliseconds a page.
func readCosts(dir string) ([]report.Cost, error) {
	b, err := os.ReadFile(filepath.Join(dir, costsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type key struct{ scorer, judge string }
	stages := []string{"judge", "extract", "score", "rest"}
	sums := map[key][]float64{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 7 {
			continue // torn by a crash
		}
		k := key{f[0], f[1]}
		if sums[k] == nil {
			sums[k] = make([]float64, 5)
		}
		for i := range 5 {
			if v, err := strconv.ParseFloat(f[2+i], 64); err == nil {
				sums[k][i] += v
			}
		}
	}
	var out []report.Cost
	for k, s := range sums {
		c := report.Cost{Scorer: k.scorer, Judge: k.judge}
		for i, name := range stages {
			c.Stages = append(c.Stages, report.Stage{Name: name, Millis: 1000 * s[1+i] / max(1, s[0])})
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b report.Cost) int {
		return cmp.Or(cmp.Compare(a.Scorer, b.Scorer), cmp.Compare(a.Judge, b.Judge))
	})
	return out, nil
}
