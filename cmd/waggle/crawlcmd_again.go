package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/revisit"
	"github.com/waggle-crawler/waggle/store"
)

// leastEvery is how often a round begins at most: each asks servers anew, and keeps a folder.
const leastEvery = time.Second

// again is `waggle crawl --again DIR`: a round of a collection, or one after another.
func (c *crawlCmd) again(ctx context.Context, std streams, docs parse.Documents) error {
	base := collection.At(c.Again)
	_ = base.BringBack() // where it fails, its cause is told below
	switch {
	case c.Out != "" || c.File != "" || c.Resume || c.AcceptLoss || c.Open || c.Join != "":
		return exit{exitUsage, errors.New("--again DIR goes by the job of DIR, and writes to DIR/again: leave out -o, -f, --resume, --accept-loss, --open and --join; a single round is a crawl like others, of which waggle open and waggle repair take the folder")}
	case c.Every != nil && *c.Every < leastEvery:
		return exit{exitUsage, fmt.Errorf("--every %v: give how often a round begins, such as 24h, at least %v; without --every there is one round", *c.Every, leastEvery)}
	case !base.Begun() && folder.Exists(filepath.Join(c.Again, "web.yaml")):
		_, err := collection.Open(c.Again) // says what a recorded web is, and how it is crawled
		return exit{exitUsage, err}
	case !base.Begun():
		if err := base.Usable(); err != nil {
			return exit{exitUsage, err}
		}
		return exit{exitUsage, fmt.Errorf("%s holds no crawl: begin one with -o %s", c.Again, c.Again)}
	case base.Running():
		return fmt.Errorf("%s is in use by another waggle: wait for it to end, or stop it", c.Again)
	}
	switch before, err := base.RoundsBefore(); {
	case err != nil:
		return err
	case len(before) > 0 && before[0].Begun():
		dir := filepath.Dir(filepath.Dir(filepath.Clean(c.Again)))
		if !folder.Same(filepath.Join(dir, store.RoundsDir, filepath.Base(c.Again)), c.Again) { // it is a link
			dir = before[0].Dir()
		}
		dir = event.Line(dir)
		return exit{exitUsage, fmt.Errorf("--again %s: that is a round of %s, and the next one is of the same: --again %[2]s", event.Line(c.Again), dir)}
	case base.IsRound():
		return exit{exitUsage, fmt.Errorf("--again %s: %w", event.Line(c.Again), collection.ErrRoundMoved)}
	}
	if c.SeedsFile == "-" { // for every round: standard input is read once
		seeds, err := c.seeds(terminal.Until(ctx, std.in))
		if err != nil {
			return stoppedOr(ctx, exit{exitUsage, err}, stoppedBefore)
		}
		c.Seeds, c.SeedsFile = seeds, ""
	}
	made := false // a round
	for {
		began := time.Now()
		err := c.round(ctx, std, docs, base)
		var x exit
		switch {
		// What is wrong with the command shows in the first round; later a proxy or a store may be down for a time.
		case c.Every == nil, err != nil && (ctx.Err() != nil || !errors.As(err, &x)), x.code == exitUsage && !made:
			return err
		case err != nil: // what ended this round need not end the next
			complain(std.err, err)
		}
		made = made || x.code != exitUsage
		next := began.Add(*c.Every)
		if ctx.Err() == nil && next.After(time.Now()) {
			fmt.Fprintf(std.err, "The next round begins at %s.\n", next.Format(time.DateTime))
		}
		if !await(ctx, clock.System{}, next) {
			return exit{exitStopped, fmt.Errorf("stopped between two rounds, the next of which was due at %s; go on with: %s", next.Format(time.DateTime), c.goOn())}
		}
	}
}

// await waits until the time is at, and tells whether it came before ctx ended. Timers stand still
// while the machine sleeps, so each is short, and the time of the day counts as well.
func await(ctx context.Context, c clock.Clock, at time.Time) bool {
	for ctx.Err() == nil {
		now := c.Now()
		left := min(at.Sub(now), at.Round(0).Sub(now.Round(0)))
		if left <= 0 {
			return true
		}
		fire, stop := c.NewTimer(min(left, time.Minute))
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
		}
	}
	return false
}

// round begins a round, or goes on with one that was interrupted, and reports it.
func (c *crawlCmd) round(ctx context.Context, std streams, docs parse.Documents, base collection.Collection) error {
	n, err := base.Rounds()
	if err != nil {
		return err
	}
	how, _, err := base.Round(n).Ended()
	if err != nil {
		return unread(base.Round(n), err)
	}
	if n == 0 || base.Round(n).Begun() && how != "" && how != event.Stopped {
		n++
	}
	col := base.Round(n)
	own := *c
	own.Out, own.Resume = col.Dir(), col.Begun()
	own.base = base
	p := job.LinkParser(base, docs)
	return own.crawl(ctx, std, docs, func(m *job.Maker, w *collection.Writer) error {
		return prepareRound(ctx, m, w, base, n, p)
	}, func() error { return c.reportRound(ctx, std.out, col, n, p) })
}

// goOnWithRound is `waggle crawl -o ROUND --resume`: a round goes on as a round, whoever names its folder.
func (c *crawlCmd) goOnWithRound(ctx context.Context, std streams, docs parse.Documents, col collection.Collection) error {
	if err := col.InPlace(); err != nil {
		return exit{exitUsage, fmt.Errorf("-o %s: %w", event.Line(c.Out), err)}
	}
	before, err := col.RoundsBefore()
	if err != nil {
		return err
	}
	p := job.LinkParser(col, docs)
	return c.crawl(ctx, std, docs, func(m *job.Maker, w *collection.Writer) error {
		return knowAgain(ctx, m, w, before, p)
	}, func() error { return c.reportRound(ctx, std.out, col, len(before), p) })
}

// unread is the error of reading the log of a round, with what helps where that is damaged.
func unread(col collection.Collection, err error) error {
	if errors.As(err, new(*event.LineError)) || errors.Is(err, collection.ErrLogEmpty) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w\n%s", err, remedyThen(col.Dir(), "the same command"))
	}
	return err
}

// prepareRound has a crawl ask for the pages that the rounds before round n know.
func prepareRound(ctx context.Context, m *job.Maker, w *collection.Writer, base collection.Collection, n int, p *parse.Parser) error {
	last := base.Round(n - 1)
	if m.Begun != nil {
		before, err := w.RoundsBefore()
		if err != nil {
			return err
		}
		return knowAgain(ctx, m, w, before, p)
	}
	chosen, err := choose(ctx, last, n-1, time.Now(), m.Job.Budget.Pages, p)
	if err != nil {
		return err
	}
	m.Before = &last
	examples, err := base.Examples()
	if err != nil {
		return err
	}
	m.Known = map[string]collection.Example{}
	for _, e := range examples {
		m.Known[e.Source] = e
	}
	if err := w.SaveKnown(chosen); err != nil {
		return err
	}
	askAgain(m, w, chosen)
	return nil
}

// choose chooses of what round n and those before it know how the next round asks for it, which begins at now and may
// fetch so many pages.
func choose(ctx context.Context, round collection.Collection, n int, now time.Time, pages int, p *parse.Parser) ([]collection.Known, error) {
	if n > 0 && !round.Begun() {
		return nil, fmt.Errorf("round %d, before this one, is not there: put that folder back at %s", n, round.Dir())
	}
	if n > 0 {
		if whole, err := round.KnownWhole(); err != nil || !whole {
			return nil, cmp.Or(err, round.KnownError())
		}
	}
	r, err := revisit.Read(ctx, round, n, p)
	if err != nil {
		return nil, unread(round, err)
	}
	revisit.Choose(r.Known, now, pages)
	return r.Known, nil
}

// knowAgain has a round that goes on ask for the pages that it was told to ask for. Where their list is damaged, and that
// is accepted, it is made anew of the rounds before.
func knowAgain(ctx context.Context, m *job.Maker, w *collection.Writer, before []collection.Collection, p *parse.Parser) error {
	whole, err := w.KnownWhole()
	if err != nil {
		return err
	}
	var known []collection.Known
	switch {
	case whole:
		for k, err := range w.Known() {
			if err != nil {
				return err
			}
			known = append(known, k)
		}
	case !m.AcceptLoss:
		return w.KnownError()
	default:
		last := len(before) - 1
		now, pages := chosenFor(w.Collection, m.Job.Budget.Pages)
		if known, err = choose(ctx, before[last], last, now, pages, p); err != nil {
			return err
		}
		m.Note(fmt.Sprintf("%s is damaged or missing: it is made anew of the rounds before, which know %s", w.KnownFile(), terminal.Count(len(known), "page")))
		if err := w.SaveKnown(known); err != nil {
			return err
		}
	}
	askAgain(m, w, known)
	return nil
}

// chosenFor is when a round that has begun chose its pages, and how many it was to fetch then, as its log tells: the
// frontier fits no other choice. Where that does not tell, it is now, and pages.
func chosenFor(round collection.Collection, pages int) (time.Time, int) {
	for e, err := range event.ReadKinds(round.EventLog(), event.Started{}.Kind()) {
		if s, ok := e.(event.Started); ok && err == nil && s.Judge != "" { // one that a repair made may tell nothing
			return s.Time(), s.Pages
		}
	}
	return time.Now(), pages
}

// askAgain has a crawl ask for known pages as far as its budget allows, and for new ones between them.
func askAgain(m *job.Maker, w *collection.Writer, known []collection.Known) {
	m.Again = revisit.Again(known, m.Job.Budget.Pages)
	m.Between = revisit.Before(w.Collection)
}

// reportRound writes changes.tsv, and tells what changed, also of a round that was stopped.
func (c *crawlCmd) reportRound(ctx context.Context, out io.Writer, col collection.Collection, n int, p *parse.Parser) error {
	r, err := revisit.Read(context.WithoutCancel(ctx), col, n, p)
	if err != nil {
		return err
	}
	name := filepath.Join(col.Dir(), "changes.tsv")
	if err := folder.WriteFrom(name, r.WriteTSV); err != nil || c.JSON {
		return err
	}
	fmt.Fprintf(out, "\nRound %d: what became of the pages\n", n)
	for _, line := range r.Summary() {
		fmt.Fprintln(out, line)
	}
	_, err = fmt.Fprintf(out, "%s lists them\n", name)
	return err
}

// tryAgain is the command that tries hosts again that were down.
func (c *crawlCmd) tryAgain() string {
	if c.Again != "" { // the next round is another one
		return "waggle crawl -o " + c.Out + " --resume"
	}
	return c.goOn()
}

// goOn is the command that goes on with the crawl.
func (c *crawlCmd) goOn() string {
	if c.Every != nil {
		return "waggle crawl --again " + c.Again + " --every " + job.Duration(*c.Every).Short()
	}
	if c.Again != "" {
		return "waggle crawl --again " + c.Again
	}
	if c.Join != "" {
		engine := c.Join
		if c.isAddress() { // it may hold a password
			engine = "ENGINE"
		}
		return "waggle crawl -o " + c.Out + " --resume --join " + engine
	}
	return "waggle crawl -o " + c.Out + " --resume"
}

// jobOf makes the job of this run; that of a new round is the job of the round before it.
func (c *crawlCmd) jobOf(col collection.Collection, in io.Reader) (*job.Job, error) {
	if c.Again == "" || c.Resume {
		return c.job(col, in)
	}
	j, err := job.In(c.base)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.base.ModelFile()); err == nil && j.Scorer.Model != "" {
		j.Scorer.Model = c.base.ModelFile()
	}
	if _, err := os.Stat(c.base.CriticFile()); err == nil && j.Judge.Critic != "" {
		j.Judge.Critic = c.base.CriticFile()
	}
	j.Name += "-" + filepath.Base(col.Dir())
	return j, c.override(j, in)
}
