package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// crawlCmd is `waggle crawl`.
type crawlCmd struct {
	File string `short:"f" placeholder:"JOB.yaml" help:"Job file; flags change single values of it."`
	Out  string `short:"o" placeholder:"DIR" help:"Folder of the crawl: archive, events, harvest, state."`

	jobFlags

	Resume     bool `help:"Go on with the crawl in DIR. --pages and --time may grant more."`
	AcceptLoss bool `help:"With --resume: go on although acknowledged pages are missing from the archive, after a power failure."`
	JSON       bool `help:"Print every event as a line of JSON."`
	ExampleJob bool `help:"Print a job file that explains every key, and exit."`
}

// Run crawls.
func (c *crawlCmd) Run(ctx context.Context, io streams) error {
	if c.ExampleJob {
		_, err := fmt.Fprint(io.out, job.Example())
		return err
	}
	if c.Out == "" {
		return exit{exitUsage, errors.New("missing -o DIR: the folder of the crawl")}
	}
	if err := collection.At(c.Out).Usable(); err != nil {
		return exit{exitUsage, err}
	}
	j, err := c.job(collection.At(c.Out))
	if err != nil {
		return exit{exitUsage, err}
	}
	w, err := collection.At(c.Out).Lock()
	if err != nil {
		return err
	}
	defer w.Close()
	m := &job.Maker{Job: j, Writer: w, AcceptLoss: c.AcceptLoss, Note: func(s string) { fmt.Fprintln(io.err, event.Line(s)) }}
	if c.Resume {
		m.Begun = &w.Collection
	}
	how, sum, err := crawlAndShow(ctx, m, func() progress { return newProgress(io.out, c.JSON, clock.System{}, os.Getenv) })
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printSummary(io.out, sum); err != nil && !errors.Is(err, syscall.EPIPE) {
			return err
		}
		fmt.Fprintf(io.out, "\nCollection: %s (harvest.tsv lists the relevant pages)\n", c.Out)
	}
	switch {
	case how == event.Stopped:
		return exit{exitStopped, fmt.Errorf("stopped; go on with: waggle crawl -o %s --resume", c.Out)}
	case how == event.HostsDown:
		return exit{exitDown, fmt.Errorf("hosts that do not answer: %s; try them again with: waggle crawl -o %s --resume", waiting(sum), c.Out)}
	case sum.Pages == 0:
		return exit{exitNothing, fmt.Errorf("no page was fetched%s", why(sum))}
	}
	return nil
}

// crawlAndShow makes the crawl, runs it to its end, and closes what was made. It
// opens the view when the crawl begins, and closes it.
func crawlAndShow(ctx context.Context, m *job.Maker, show func() progress) (how event.Ending, sum *event.Summary, err error) {
	defer func() {
		if closing := m.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	c, err := m.Crawl(ctx)
	if err != nil {
		return "", nil, notMade(ctx, m, err)
	}
	view := show()
	defer view.Close()
	c.Control = view.Control()
	sum = &event.Summary{}
	c.Listen = func(e event.Event) {
		sum.Add(e)
		view.Add(e)
	}
	// The earlier runs are heard again, so that the figures go on from them.
	c.History = heard(c.History, func(e event.Event) {
		sum.Add(e)
		view.Recall(e)
	})
	if how, err = c.Run(ctx); err != nil {
		view.Close()
		return "", nil, fmt.Errorf("%w\nMend the cause, then go on with --resume", err)
	}
	return how, sum, errors.Join(m.Writer.SaveHarvest(), view.Close())
}

// heard is a history whose events are told to a listener as they are read; nil
// stays nil.
func heard(history iter.Seq2[event.Event, error], hear func(event.Event)) iter.Seq2[event.Event, error] {
	if history == nil {
		return nil
	}
	return func(yield func(event.Event, error) bool) {
		for e, err := range history {
			if err == nil {
				hear(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// notMade says why a crawl could not be made, and what to do.
func notMade(ctx context.Context, m *job.Maker, err error) error {
	var broken *collection.OpenError
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped before the crawl began; run the same command again")}
	case !errors.As(err, &broken):
		return wrongJob(err)
	}
	if broken.Loss {
		err = fmt.Errorf("%w\n%s", err, lossRemedy)
	}
	if broken.Store == "frontier" && m.Begun != nil {
		err = fmt.Errorf("%w\nWhat was fetched is safe in %s; waggle web build %s -o WEB makes a recorded web of it", err, m.Begun.ArchiveDir(), m.Begun.Dir())
	}
	return err
}

const lossRemedy = `The machine may have lost power within seconds of writing, or files were removed.
Put the files back, or go on without what is missing: --resume --accept-loss
(the addresses of pages that are lost are then listed in lost.txt).`

// why names the commonest reason for which nothing was fetched.
func why(s *event.Summary) string {
	for _, counts := range []map[web.Reason]int{s.Failures, s.Skipped} {
		if by := event.ByCount(counts); len(by) > 0 {
			hint := ""
			if by[0].Reason == web.ReasonAddress {
				hint = "; --allow-private permits it"
			}
			return fmt.Sprintf(": %d × %s (%s)%s", by[0].Count, by[0].Reason, meaning(by[0].Reason), hint)
		}
	}
	return ""
}

// job makes the job of this run: of the folder when it goes on, else of the
// job file and the flags.
func (c *crawlCmd) job(col collection.Collection) (*job.Job, error) {
	if col.Begun() {
		if !c.Resume {
			how, pages, err := col.Ended()
			if err != nil {
				return nil, err
			}
			switch how {
			case event.FrontierEmpty, event.BudgetSpent:
				if pages > 0 {
					return nil, fmt.Errorf("%s holds a finished crawl of %d pages (%s): choose another folder, or grant it more with --resume --pages N", col.Dir(), pages, how)
				}
				if err := discard(col); err != nil {
					return nil, err
				}
				return c.job(col) // nothing was fetched: begin anew
			default:
				return nil, fmt.Errorf("%s holds an unfinished crawl of %d pages: go on with --resume, or choose another folder", col.Dir(), pages)
			}
		}
		if f := c.fixed(); f != "" {
			return nil, fmt.Errorf("%s cannot change when a crawl goes on: leave it out, or begin a new crawl in another folder", f)
		}
		j, err := job.Read(col.JobFile())
		if err != nil {
			return nil, err
		}
		if err := c.apply(j); err != nil {
			return nil, err
		}
		return j, placed(j.CheckLive())
	}
	if c.Resume {
		return nil, fmt.Errorf("%s holds no crawl to go on with: leave out --resume to begin one", col.Dir())
	}
	j, err := readJob(c.File)
	if err != nil {
		return nil, err
	}
	if err := c.override(j); err != nil {
		return nil, err
	}
	if len(j.Seeds) == 0 {
		for _, e := range j.Topic.Examples {
			if job.IsAddress(e) {
				j.Seeds = append(j.Seeds, e)
			}
		}
	}
	if len(j.Seeds) == 0 {
		return nil, errors.New("nowhere to start from: give --seed URL, or example pages on the web")
	}
	return j, placed(j.CheckLive())
}

// readJob reads the job file of that name, "" for none.
func readJob(name string) (*job.Job, error) {
	if name == "" {
		return &job.Job{}, nil
	}
	j, err := job.Read(name)
	if err != nil {
		return nil, err
	}
	j.FilesFrom(filepath.Dir(name))
	return j, nil
}

// discard removes a crawl.
func discard(col collection.Collection) error {
	w, err := col.Lock()
	if err != nil {
		return err
	}
	return errors.Join(w.Discard(), w.Close())
}

// fixed names a flag given that only a new crawl can have.
func (c *crawlCmd) fixed() string {
	if c.File != "" {
		return "--file"
	}
	for _, f := range c.given() {
		if f.Resume != job.Anytime {
			return "--" + f.Flag
		}
	}
	return ""
}

// override puts the values of flags into the job and checks it. A critic given
// by flag is one to judge by, with a focus of its own.
func (c *crawlCmd) override(j *job.Job) error {
	critic, judge := c.value("judge.critic"), c.value("judge.name")
	if critic != "" {
		if judge != "" && judge != "critic" {
			return fmt.Errorf("--critic and --judge %s: one of them judges; leave the other out", judge)
		}
		j.Judge.Name, j.Judge.Focus = "critic", nil
	}
	return c.apply(j)
}
