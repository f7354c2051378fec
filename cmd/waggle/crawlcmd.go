package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/notice"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/view"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/viewer"
	"github.com/waggle-crawler/waggle/web"
)

// crawlCmd is `waggle crawl`.
type crawlCmd struct {
	Seeds []string `arg:"" optional:"" name:"url" help:"Addresses to start from, as --seed."`

	File      string `short:"f" placeholder:"JOB.yaml" help:"Job file; flags change single values of it."`
	Out       string `short:"o" placeholder:"DIR" help:"Folder of the crawl: archive, events, harvest, state."`
	SeedsFile string `placeholder:"FILE" help:"Addresses to start from, one a line, # for comments; - for standard input."`

	cli.Flags

	Again string         `placeholder:"DIR" help:"Visit the pages of the crawl in DIR again, and new ones between: one more round of it, in DIR/again. One that was interrupted goes on."`
	Every *time.Duration `placeholder:"D" help:"With --again: begin a round so often, such as 24h, until Ctrl-C."`

	joinFlags

	shipFlags

	Resume     bool `help:"Go on with the crawl in DIR; flags change its job, see waggle help resume."`
	AcceptLoss bool `help:"With --resume: where files are damaged or missing, repair the crawl first (as waggle repair does) and go on without what is lost."`
	Open       bool `help:"Look at the crawl in the browser. The page stays when the crawl has ended, until Ctrl-C."`

	Index *bool `negatable:"" help:"Make the index for waggle search while the crawl runs (default: with --open, where 10 GB of the disk are free)."`

	NotifyProgram string `placeholder:"PROGRAM" help:"Program that is started at the first relevant page, at half of the budget and at the end, with first-relevant, half-budget or ended as its argument and a line of JSON as its input."`
	NotifyURL     string `name:"notify-url" placeholder:"URL" help:"Address that gets the same line of JSON by POST."`

	JSON       bool `help:"Print every event as a line of JSON."`
	ExampleJob bool `help:"Print a job file that explains every key, and exit."`

	base    collection.Collection              // of a round
	shipped func() (place string, mark []byte) // as worker.Options.Shipped
}

// Help shows the ways to crawl.
func (crawlCmd) Help() string {
	return `A crawl goes from its seeds along links, best first, and keeps what it fetches:

  waggle crawl https://example.org/ -o bees --keywords "honey bee, waggle dance" \
      --pages 500 --contact you@example.org
  waggle crawl -f job.yaml -o bees              what a job file says
  waggle crawl -o bees --resume --pages 1000    go on, up to 1000 pages in all
  waggle crawl --again bees --every 24h         visit its pages again once a day

bees/harvest.tsv lists the relevant pages, bees/archive holds all pages as WARC files.
Flags that may be repeated, and --keywords, add to what the job file lists.

A program of your own judges if the job file says
judge: {name: command, command: [./my-judge]}. It is started once. For each page it
reads a line of JSON, and writes one before it reads the next:

  {"url":"https://example.org/","title":"…","text":"…"}    what it reads
  {"relevance":0.7}                   from 0 to 1, or {"error":"…"}: no relevance`
}

// Run crawls.
func (c *crawlCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	if c.ExampleJob {
		_, err := fmt.Fprint(std.out, job.Example())
		return err
	}
	if err := c.checkShip(); err != nil {
		return exit{exitUsage, err}
	}
	if c.Again != "" {
		return c.again(ctx, std, docs)
	}
	if c.Every != nil {
		return exit{exitUsage, errors.New("--every is for --again DIR")}
	}
	if c.Out == "" {
		return exit{exitUsage, c.missingFolder()}
	}
	if err := c.check(c.AcceptLoss); err != nil {
		return exit{exitUsage, err}
	}
	if c.Join != "" && !c.isAddress() && folder.Same(c.Join, c.Out) {
		return exit{exitUsage, fmt.Errorf("--join: %s is the folder of the crawl: name another one for the engine", c.Join)}
	}
	if err := cmp.Or(collection.At(c.Out).Usable(), collection.At(c.Out).BringBack()); err != nil {
		return exit{exitUsage, err}
	}
	// What starts a worker again gives the same command. One that was killed while it joined is of several once it has.
	if col := collection.At(c.Out); c.File != "" && col.Begun() && (c.Resume || c.Join != "" && (col.OfSeveral() || !folder.Exists(col.EventLog()))) {
		if err := c.goOnByItsOwn(col, std.err); err != nil {
			return exit{exitUsage, err}
		}
	}
	if col := collection.At(c.Out); c.Resume && col.IsRound() {
		return c.goOnWithRound(ctx, std, docs, col)
	}
	return c.crawl(ctx, std, docs, nil, func() error { return nil })
}

// missingFolder says that -o is missing. Who goes on with a crawl may have named its folder as a seed.
func (c *crawlCmd) missingFolder() error {
	for _, name := range c.Seeds {
		if c.Resume && collection.At(name).Begun() {
			return fmt.Errorf("missing -o DIR: to go on with the crawl in %s, waggle crawl -o %[1]s --resume", name)
		}
	}
	return errors.New("missing -o DIR: the folder of the crawl")
}

// crawl begins the crawl in the folder, or goes on with it; prepare, unless nil, has a say
// before it is made, and report is called once it has run.
func (c *crawlCmd) crawl(ctx context.Context, std streams, docs parse.Documents, prepare func(m *job.Maker, w *collection.Writer) error, report func() error) error {
	begun := collection.At(c.Out).Begun() // without --resume by a crawl that ended without a page: see job
	j, err := c.jobOf(collection.At(c.Out), terminal.Until(ctx, std.in))
	if err != nil {
		return stoppedOr(ctx, exit{exitUsage, err}, stoppedBefore)
	}
	if err := c.changedForAll(j); err != nil {
		return exit{exitUsage, err}
	}
	notices, err := notice.NewSender(c.NotifyProgram, c.NotifyURL, "waggle/"+version)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--notify-%w", err)}
	}
	defer func() {
		if err := notices.Close(); err != nil {
			complain(std.err, err)
		}
	}()
	place := folder.Absent(c.Out)
	w, err := collection.At(c.Out).Lock()
	if err != nil {
		return err
	}
	if w.Begun() != begun { // while the job was made, such as of seeds from standard input
		if err = errors.Join(fmt.Errorf("%s was begun or removed by another waggle: run the same command again", event.Line(c.Out)), w.Close()); !w.Begun() {
			place.Remove()
		}
		return err
	}
	undo, settle := w.Discard, func() error { return nil } // where no crawl begins, and where one does
	if begun && !c.Resume {
		if err := job.MayBeginAnew(w.Collection); err != nil {
			return exit{exitUsage, errors.Join(err, w.Close())}
		}
		if undo, settle, err = w.SetAside(); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	shipped, err := c.startShipper(ctx, w.Collection, func(s string) { fmt.Fprintln(std.err, event.Line(s)) })
	if err != nil {
		if !w.Begun() {
			err = errors.Join(err, undo())
			defer place.Remove()
		}
		return exit{exitUsage, errors.Join(err, w.Close())}
	}
	m := &job.Maker{Job: j, Writer: w, Documents: docs, AcceptLoss: c.AcceptLoss, Note: func(s string) { fmt.Fprintln(std.err, event.Line(s)) }}
	c.shipped = shipped.follow(m)
	if c.Resume {
		m.Begun = &w.Collection
	}
	if prepare != nil {
		if err := prepare(m, w); err != nil {
			err = errors.Join(err, shipped.end(ctx, false))
			if !w.Begun() {
				err = errors.Join(err, undo())
				defer place.Remove()
			}
			return errors.Join(err, w.Close())
		}
	}
	var look func() error // waits for the end of the page; nil without one
	indexed := func() {}  // waits for the index
	ran, fresh := false, !c.Resume
	goesOn := "--resume"
	if c.Again != "" {
		goesOn = "-o " + c.Out + " --resume" // --again goes on with it as well, but not where hosts were down
	}
	beside := sync.OnceFunc(func() { // a worker that joins again has them still
		switch {
		case c.Open:
			look = c.open(ctx, std, docs)
		case c.Index != nil && *c.Index:
			indexed = c.index(ctx, std, docs)
		}
	})
	show := func(j *job.Job) view.View {
		ran, fresh = true, false
		if err := settle(); err != nil {
			complain(std.err, err)
		}
		if !c.JSON {
			printOutline(std.out, j, m.Topic)
		}
		beside()
		return notices.View(view.New(std.out, c.JSON, goesOn, clock.System{}, os.Getenv), c.Out)
	}
	var how event.Ending
	var sum *event.Summary
	if c.Join != "" {
		how, sum, err = c.together(ctx, m, show)
	} else {
		how, sum, err = crawlAndShow(ctx, m, c.place, show)
	}
	unshipped := shipped.end(ctx, w.Begun())
	if !w.Begun() || fresh && err != nil { // nothing began: nothing is left behind
		err = errors.Join(err, undo())
		defer place.Remove()
	}
	ran = ran && w.Begun()
	if err = errors.Join(err, w.Close()); err != nil {
		if ran {
			err = errors.Join(err, report())
		}
		return errors.Join(err, unshipped)
	}
	if unshipped != nil {
		complain(std.err, unshipped)
	}
	indexed()
	if !c.JSON {
		if err := view.WriteSummary(std.out, sum, goesOn); err != nil && !errors.Is(err, syscall.EPIPE) {
			return errors.Join(err, report())
		}
		fmt.Fprintf(std.out, "\nCollection: %s (harvest.tsv lists the relevant pages)\n", c.Out)
	}
	unreported := report()
	if look != nil {
		if ctx.Err() == nil {
			fmt.Fprintln(std.err, "The page stays until Ctrl-C.")
		}
		if err := look(); err != nil {
			return errors.Join(err, unreported)
		}
	}
	switch {
	case how == event.Stopped:
		err = exit{exitStopped, fmt.Errorf("stopped; go on with: %s", c.goOn())}
	case how == event.HostsDown:
		err = exit{exitDown, fmt.Errorf("hosts that do not answer: %s%s; try them again with: %s", view.Waiting(sum), view.WhyDown(sum), c.tryAgain())}
	case sum.Pages == 0 && c.Join == "":
		err = exit{exitNothing, fmt.Errorf("no page was fetched%s", view.Why(sum, j.Fetch.AllowPrivate))}
	}
	return errors.Join(err, unreported)
}

// index makes the index while the crawl runs. A crawl is not lost because it cannot be
// searched.
func (c *crawlCmd) index(ctx context.Context, std streams, docs parse.Documents) (wait func()) {
	col := collection.At(c.Out)
	b, err := index.NewBuilder(col, index.Dir(col), job.LinkParser(col, docs))
	if err != nil {
		complain(std.err, fmt.Errorf("the index: %w", err))
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := errors.Join(b.Follow(ctx, col.Running, nil), b.Close())
		if err != nil && ctx.Err() == nil {
			complain(std.err, fmt.Errorf("the index: %w", err))
		}
	}()
	return func() { <-done }
}

// open shows the crawl in the browser until ctx ends. A crawl is not lost because it
// cannot be looked at.
func (c *crawlCmd) open(ctx context.Context, std streams, docs parse.Documents) (wait func() error) {
	if c.JSON {
		std.out = std.err // every line of the other is an event
	}
	wait, err := serveCrawls(ctx, std, "127.0.0.1:0", viewer.Options{Collections: []collection.Collection{collection.At(c.Out)}, Documents: docs, Index: indexing(c.Index)}, true)
	if err != nil {
		complain(std.err, fmt.Errorf("the page: %w", err))
		return nil
	}
	return wait
}

// printOutline says what a crawl will do, in lines that fit the terminal. t is its topic,
// nil where it is not made yet.
func printOutline(out terminal.Output, j *job.Job, t *topic.Topic) {
	examples := len(j.Topic.Examples)
	if t != nil {
		examples = len(t.Examples)
	}
	width := 0
	if term.IsTerminal(int(out.Fd())) {
		width, _, _ = term.GetSize(int(out.Fd())) // 0 where it cannot be told
	}
	for _, line := range j.Outline(examples) {
		lines := []string{event.Line(line)}
		if width > 1 {
			lines = terminal.Wrap(lines[0], width-1)
		}
		for _, l := range lines {
			fmt.Fprintln(out, l)
		}
	}
}

// place names where a person gave the value of a setting: a flag, or the job file.
func (c *crawlCmd) place(path string) string {
	s, ok := job.Lookup(path)
	switch {
	case !ok:
		return "" // of several settings; the error names them
	case c.Value(s.Path) != "" || s.Flag != "" && c.File == "" && !c.Resume:
		return cli.FlagOrPath(s)
	case c.Resume:
		return collection.At(c.Out).JobFile()
	case c.File != "":
		return c.File + ": " + s.Path
	}
	return s.Path
}

// crawlAndShow makes the crawl, runs it to its end, and closes what was made. It
// opens the view when the crawl begins, by the job that is in force then, and closes it. place says
// where the value of a setting was given.
func crawlAndShow(ctx context.Context, m *job.Maker, place func(path string) string, show func(*job.Job) view.View) (how event.Ending, sum *event.Summary, err error) {
	defer func() {
		if closing := m.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
		if err != nil && sum != nil && m.Writer != nil && !folder.Exists(m.Writer.Dir()) {
			err = fmt.Errorf("%w\n%s is not there any more: was it moved or removed while the crawl ran? Put it back, or go on where it is now: waggle crawl -o FOLDER --resume", err, event.Line(m.Writer.Dir()))
		}
	}()
	c, err := m.Crawl(ctx)
	if err != nil {
		return "", nil, notMade(ctx, m, place, err)
	}
	view := show(m.InForce(c))
	defer view.Close()
	c.Control = view.Control()
	sum = &event.Summary{}
	c.Listen = func(e event.Event) {
		sum.Add(e)
		view.Add(e)
	}
	// The earlier runs are heard again, so that the figures go on from them.
	c.History = event.Heard(c.History, func(e event.Event) {
		sum.Add(e)
		view.Recall(e)
	})
	if how, err = c.Run(ctx); err != nil {
		view.Close()
		if errors.As(err, new(*frontier.DamageError)) && m.Writer != nil {
			return "", sum, fmt.Errorf("%w\n%s", err, damageRemedy(m.Writer.Dir()))
		}
		return "", sum, fmt.Errorf("%w\nMend the cause, then go on with --resume", err)
	}
	return how, sum, errors.Join(m.Writer.SaveHarvest(), view.Close())
}

// stoppedBefore tells of an interrupt before the crawl began.
const stoppedBefore = "stopped before the crawl began; run the same command again"

// notMade says why a crawl could not be made, and what to do.
func notMade(ctx context.Context, m *job.Maker, place func(path string) string, err error) error {
	var broken *collection.OpenError
	var wrong *job.Error
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New(stoppedBefore)}
	case errors.As(err, &wrong):
		return exit{exitUsage, cli.PlacedBy(err, place)}
	case errors.As(err, new(*worker.RefusedError)), errors.Is(err, worker.ErrUnknown):
		return exit{exitUsage, err}
	case !errors.As(err, &broken):
		return err
	}
	if broken.Damaged && m.Writer != nil {
		err = fmt.Errorf("%w\n%s", err, damageRemedy(m.Writer.Dir()))
	}
	return err
}

// damageRemedy says what helps a crawl whose files are damaged.
func damageRemedy(dir string) string {
	if before, err := collection.At(dir).RoundsBefore(); err == nil && len(before) > 0 {
		return remedyThen(dir, "the same command")
	}
	if collection.At(dir).OfSeveral() {
		return remedyThen(dir, "--resume --join ENGINE")
	}
	return remedyThen(dir, "--resume (--resume --accept-loss does both)")
}

// remedyThen says what helps where files of a crawl are damaged, and what goes on with it then.
func remedyThen(dir, then string) string {
	return fmt.Sprintf(`A disk may be failing, or the machine lost power while it wrote, or files were removed.
waggle verify %[1]s tells all that is damaged. Put those files back, or make them anew
of what is whole: waggle repair %[1]s, then %[2]s.
What is lost then is listed in lost.txt.`, dir, then)
}

// goOnByItsOwn has a crawl go on by the job file in its folder where the one that is given as well
// is of the same crawl, and tells so.
func (c *crawlCmd) goOnByItsOwn(col collection.Collection, out io.Writer) error {
	j, err := readJob(c.File)
	if err != nil {
		return err
	}
	if j.SaysNothing() {
		return fmt.Errorf("--file %s says nothing, so it is not the job of %s, whose own is %s: leave --file out", c.File, c.Out, col.JobFile())
	}
	lasting, others := j.Otherwise(col)
	others = slices.DeleteFunc(others, func(path string) bool { return c.Value(path) != "" })
	if len(lasting) > 0 {
		return fmt.Errorf("--file %s is the job of another crawl than %s, whose own is %s: they differ in %s; leave --file out, or choose another folder",
			c.File, c.Out, col.JobFile(), strings.Join(lasting, ", "))
	}
	fmt.Fprintf(out, "%s goes on by its own job file, as --resume does; %s is that of its beginning\n", event.Line(c.Out), event.Line(c.File))
	if len(others) > 0 {
		fmt.Fprintf(out, "What %s says otherwise is left out (%s): give flags for it\n", event.Line(c.File), strings.Join(others, ", "))
	}
	c.Resume, c.File = true, ""
	return nil
}

// changedForAll refuses to go on as one of several workers with another budget, delay or keywords: these are
// changed for all workers at once, by an act.
func (c *crawlCmd) changedForAll(j *job.Job) error {
	col := collection.At(c.Out)
	if c.Join == "" || !c.Resume || !col.OfSeveral() {
		return nil
	}
	was, err := job.In(col)
	if err != nil {
		return err
	}
	say := func(flag, what, act string) error {
		return fmt.Errorf("%s: the %s of a crawl of several workers is changed for all of them: waggle steer %s %s, then go on without %[1]s", flag, what, c.Out, act)
	}
	switch delay := c.Value("politeness.delay"); {
	case j.Budget.Pages != was.Budget.Pages:
		return say("--pages", "budget", fmt.Sprint("budget ", j.Budget.Pages))
	case delay != "" && (was.Politeness.Delay == nil || *j.Politeness.Delay != *was.Politeness.Delay):
		return say("--delay", "delay", "delay "+delay)
	case !slices.Equal(j.Topic.Keywords, was.Topic.Keywords):
		return say("--keywords", "keywords", fmt.Sprintf("keywords %q", strings.Join(j.Topic.Keywords, ", ")))
	}
	return nil
}

// job makes the job of this run: of the folder when it goes on, else of the
// job file and the flags.
func (c *crawlCmd) job(col collection.Collection, in io.Reader) (*job.Job, error) {
	switch {
	case c.Resume && !col.Begun():
		return nil, fmt.Errorf("%s holds no crawl to go on with: leave out --resume to begin one", col.Dir())
	case c.Resume:
		j, err := job.In(col)
		if err != nil {
			return nil, err
		}
		if err := c.override(j, in); err != nil {
			return nil, err
		}
		if err := cli.Placed(j.CheckLive()); err != nil {
			return nil, fmt.Errorf("%s: %w", col.JobFile(), err) // perhaps it was cut off
		}
		return j, nil
	case col.Begun():
		if err := job.MayBeginAnew(col); err != nil {
			return nil, err
		}
	}
	j, err := readJob(c.File)
	if err != nil {
		return nil, err
	}
	if err := c.override(j, in); err != nil {
		return nil, err
	}
	if err := cli.Placed(j.TakeTopic()); err != nil {
		return nil, err
	}
	if j.SeedByExamples(); len(j.Seeds) == 0 {
		return nil, errors.New("nowhere to start from: give addresses, example pages on the web, or a critic that waggle topic train made, with a focus")
	}
	return j, cli.Placed(j.CheckLive())
}

// readJob reads the job file of that name, "" for none.
func readJob(name string) (*job.Job, error) {
	if name == "" {
		return &job.Job{}, nil
	}
	return job.ReadGiven(name)
}

// override puts the values of flags, and seeds, into the job and checks it. A
// critic given by flag is one to judge by, with a focus of its own.
func (c *crawlCmd) override(j *job.Job, in io.Reader) error {
	seeds, err := c.seeds(in)
	if err != nil {
		return err
	}
	for _, s := range seeds {
		if !slices.Contains(j.Seeds, s) {
			j.Seeds = append(j.Seeds, s)
		}
	}
	critic, judge := c.Value("judge.critic"), c.Value("judge.name")
	if critic != "" {
		if judge != "" && judge != "critic" {
			return fmt.Errorf("--critic and --judge %s: one of them judges; leave the other out", judge)
		}
		j.Judge.Name, j.Judge.Focus = "critic", nil
	}
	return c.Apply(j)
}

// isJobFile tells whether an argument that stands where a seed is due names a job
// file: no top-level domain is called yaml, and a path may be an address without its
// scheme if no file is there.
func isJobFile(arg string) bool {
	if ext := filepath.Ext(arg); ext != ".yaml" && ext != ".yml" {
		return false
	}
	if !strings.Contains(arg, "/") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// seeds are the addresses given as arguments and in a file.
func (c *crawlCmd) seeds(in io.Reader) ([]string, error) {
	for _, s := range c.Seeds {
		if isJobFile(s) {
			return nil, fmt.Errorf("%s is no address but a file: give a job file by -f %s", s, s)
		}
		if _, err := web.Given(s); err != nil {
			return nil, err
		}
	}
	if c.SeedsFile == "" {
		return c.Seeds, nil
	}
	name := c.SeedsFile
	if name == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--seeds-file: %w", err)
		}
		defer f.Close()
		in = f
	}
	list, err := job.ReadSeeds(in, name)
	return append(c.Seeds, list...), err
}
