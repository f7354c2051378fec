// Command waggle is a focused web crawler: it is shown what is wanted and goes
// for it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document/child"
)

// version of waggle, as it tells servers and archives.
const version = job.Version

// Exit codes, of every command.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 3
	exitNothing = 4
	exitDown    = 5
)

// exitCode is an exit code with what it tells.
type exitCode struct {
	code  int
	means string
}

// exitCodes are all there are, in their order: the help and the guide show them.
func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, "done: of a crawl, its budget is spent, no link is left, or the next pages promise too little (`--until-gain`)"},
		{exitFailed, "something failed; once that is mended, a crawl goes on with `--resume`, what else can go on with the same command"},
		{exitUsage, "the command, or a file or folder that it names, cannot be used: nothing was done"},
		{exitStopped, "stopped (Ctrl-C); a crawl goes on with `--resume`, what else can go on with the same command"},
		{exitNothing, "ended with nothing: without a single page, or `login` without a cookie"},
		{exitDown, "only links of hosts that do not answer are left; `--resume` tries them"},
	}
}

// exit is an error with an exit code of its own.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

// commands is the tree of commands; its tags are the help.
type commands struct {
	Demo    demoCmd     `cmd:"" help:"Crawl a real site on this machine, focused and breadth-first, and compare."`
	Crawl   crawlCmd    `cmd:"" help:"Crawl for the pages of a topic."`
	Login   loginCmd    `cmd:"" help:"Log in at a site in a browser window, and keep its cookies for a crawl."`
	Seeds   seedsCmd    `cmd:"" help:"Find pages to start from, by search interfaces, lists, bookmarks and histories."`
	Open    openCmd     `cmd:"" help:"Look at a crawl in the browser, while it runs or afterwards; without a folder, begin one there."`
	Steer   steerCmd    `cmd:"" help:"Tell a crawl what to do while it runs: label pages, mute or boost places, pause."`
	Explain explainCmd  `cmd:"" help:"Tell why a page was fetched, or why not."`
	Judge   judgeCmd    `cmd:"" help:"Judge the pages of a crawl again, with other keywords or examples, another threshold or judge."`
	Export  exportCmd   `cmd:"" help:"Write what a crawl found in a form for other tools."`
	Extract extractCmds `cmd:"" help:"Tables of what pages say: fields by selectors, or learnt from pages filled in by hand."`
	Index   indexCmd    `cmd:"" help:"Make the pages of a crawl searchable."`
	Search  searchCmd   `cmd:"" help:"Find pages of a crawl by their words."`
	MCP     mcpCmd      `cmd:"" name:"mcp" help:"Offer a crawl to a language model as tools, over the Model Context Protocol."`
	Verify  verifyCmd   `cmd:"" help:"Check that everything a crawl keeps is as it was written."`
	Repair  repairCmd   `cmd:"" help:"Repair a damaged crawl with what is left of it."`
	Ship    shipCmds    `cmd:"" help:"Archives that crawls have copied to an S3-compatible store: list them, bring one back."`
	Cluster clusterCmds `cmd:"" help:"Crawls of several workers, by one engine."`
	Web     struct {
		Build webBuildCmd `cmd:"" help:"Make a recorded web."`
		Info  webInfoCmd  `cmd:"" help:"Tell what a recorded web holds."`
		Serve webServeCmd `cmd:"" help:"Answer as the recorded web would, as an HTTP proxy."`
		Job   webJobCmd   `cmd:"" help:"Print the job file for a topic of a recorded web."`
	} `cmd:"" help:"Recorded webs: crawl the same pages as often as you like, offline."`
	Lab struct {
		Run    labRunCmd    `cmd:"" help:"Simulate each strategy on each topic, and write a report."`
		Report labReportCmd `cmd:"" help:"Write the report of a lab again, from its results."`
		Chart  labChartCmd  `cmd:"" help:"Draw curves of the strategies that one chooses."`
		List   labListCmd   `cmd:"" help:"Name all scorers, judges and measures."`
		Verify labVerifyCmd `cmd:"" help:"Make a small crawl of each published result again, and compare."`
		Judge  labJudgeCmd  `cmd:"" help:"Measure how far a judge is right, with few and many examples, before and after the first pages."`
		Read   labReadCmd   `cmd:"" help:"Read the pages of a pool in a local page, and grade them."`
		Pool   labPoolCmds  `cmd:"" help:"Pages for people to read, so that topics have a truth that was read."`
		Paths  labPathsCmd  `cmd:"" help:"Test models of labelled paths: how well they label pages, how soon they reach goals."`
	} `cmd:"" help:"Compare strategies on recorded webs, against what was possible."`
	Train struct {
		Collect   trainCollectCmd   `cmd:"" help:"Build the layered web around the targets of a topic, backwards along links."`
		Sequences trainSequencesCmd `cmd:"" help:"Draw sequences of pages that lead to targets."`
		Model     trainModelCmd     `cmd:"" help:"Fit a model to a collected graph, its sequences, or labelled paths."`
		Inspect   trainInspectCmd   `cmd:"" help:"Show a model, or a collected graph, in words."`

		Apprentice trainApprenticeCmd `cmd:"" help:"Learn from crawls which words around a link lead to relevant pages."`
		Weights    trainWeightsCmd    `cmd:"" help:"Keep what the scorer waggle learnt in a crawl, for the next crawl of its topic."`
	} `cmd:"" help:"Train a model, before the crawl, on how links lead to targets."`
	Topic   topicCmds  `cmd:"" help:"Taxonomies: topics with example pages, and the critic that learns them."`
	Forage  forageCmd  `cmd:"" help:"Find the goal pages of sites, from their start pages, by a model of labelled paths."`
	Teach   teachCmd   `cmd:"" help:"Show waggle, by clicking, which paths lead to the pages that you want."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Completion completionCmd `cmd:"" help:"Print a script by which a shell completes commands and flags."`
	Man        manCmd        `cmd:"" help:"Write man pages."`

	Help helpCmd `cmd:"" help:"Tell about a command, with an example."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// newCommands makes the tree, with the flags that stand for settings of a job.
func newCommands() *commands {
	c := &commands{}
	c.addFlags("")
	return c
}

// addFlags adds the flags that stand for settings of a job to the commands below one of the
// top, or to all for "".
func (c *commands) addFlags(top string) {
	settings := job.Settings()
	add := func(of string, to *cli.Flags, prefix string, paths ...string) {
		if top == "" || top == of {
			*to = cli.FlagsOf(settings, prefix, paths...)
		}
	}
	live := []string{"contact", "politeness.delay", "fetch.secrets", "fetch.allow-private"}
	proxied := []string{"contact", "politeness.delay", "fetch.workers", "fetch.secrets", "fetch.through", "fetch.through-ca", "fetch.allow-private"}
	add("crawl", &c.Crawl.Flags, "")
	add("judge", &c.Judge.Flags, "", judgeSettings()...)
	add("topic", &c.Topic.Train.Flags, "", proxied...)
	add("train", &c.Train.Collect.Flags, "", append([]string{"topic.keywords", "topic.description", "judge.critic", "judge.focus"}, proxied...)...)
	add("train", &c.Train.Model.Flags, "paths", live...)
	if top == "" || top == "seeds" {
		c.Seeds.Flags = seedsFlags(settings)
	}
	add("forage", &c.Forage.Flags, "", live...)
	add("teach", &c.Teach.Show.Flags, "", live...)
}

// commandsFor is what kong has to know of the tree to run these arguments. A fifth of the
// time of a short command would go into reading the tags of all the others. So where the first
// argument is a command, the others have their names alone, unless it tells about all.
func commandsFor(args []string) any {
	var top string
	if len(args) > 0 && !slices.Contains([]string{"help", "completion", "man"}, args[0]) {
		top = args[0]
	}
	isCommand := func(f reflect.StructField) bool { _, ok := f.Tag.Lookup("cmd"); return ok }
	fields := reflect.VisibleFields(reflect.TypeFor[commands]())
	called := slices.IndexFunc(fields, func(f reflect.StructField) bool { return isCommand(f) && strings.ToLower(f.Name) == top })
	if called < 0 {
		return newCommands()
	}
	c := &commands{}
	c.addFlags(top)
	for i, f := range fields {
		if isCommand(f) && i != called {
			fields[i].Type = reflect.TypeFor[struct{}]()
		}
	}
	pruned := reflect.New(reflect.StructOf(fields))
	pruned.Elem().Field(called).Set(reflect.ValueOf(c).Elem().Field(called))
	return pruned.Interface()
}

const description = `waggle is a focused web crawler: you show it what you want, and it fetches pages like that first.

  waggle demo                              see it work on a real site, offline
  waggle crawl https://example.org/ -o bees --keywords "honey bee, waggle dance" \
      --pages 500 --contact you@example.org
  waggle crawl -f job.yaml -o bees         the same from a job file
  waggle crawl -o bees --resume            go on after a stop or a crash
  waggle open                              begin a crawl in the browser
  waggle open bees                         look at one there
  waggle steer bees mute example.org/ads/  tell it what to do while it runs
  waggle judge bees --threshold 0.4        another harvest of the same pages
  waggle explain https://example.org/a -o bees
  waggle export bees wacz -o bees.wacz     for ReplayWeb.page; there are tables, too
  waggle search bees "waggle dance"        find pages by their words
  waggle verify bees                       check every file of the crawl
  waggle help train collect                teach a model before the crawl

Exit codes:

`

// describe is the description with the exit codes.
func describe() string {
	var b strings.Builder
	b.WriteString(description)
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %d  %s\n", c.code, strings.ReplaceAll(c.means, "`", ""))
	}
	return b.String()
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == child.Name {
		os.Exit(child.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	log.SetOutput(io.Discard)      // net/http speaks there of what servers do wrong
	signal.Ignore(syscall.SIGPIPE) // a reader that leaves (| head) ends no crawl
	// The first interrupt stops in good order, a second one at once.
	ctx, stop := signal.NotifyContext(context.Background(), terminal.Heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	go func() {
		<-ctx.Done()
		stop()
	}()
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are what a command reads and writes.
type streams struct {
	in  *os.File
	out terminal.Output
	err *os.File
}

// checkedOutput is an output that keeps the first error of writing to it: what prints a report need not
// look at each of its lines.
type checkedOutput struct {
	terminal.Output
	mu     sync.Mutex
	failed error
}

func (w *checkedOutput) Write(b []byte) (int, error) {
	n, err := w.Output.Write(b)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failed = cmp.Or(w.failed, err)
	}
	return n, err
}

// err is what first went wrong, nil if nothing did.
func (w *checkedOutput) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// run runs one command and returns its exit code.
func run(ctx context.Context, args []string, std streams) (code int) {
	docs, done := newDocuments()
	defer done()
	written := &checkedOutput{Output: std.out}
	std.out = written
	parser, err := kong.New(commandsFor(args),
		kong.Name("waggle"), kong.Description(describe()),
		kong.Writers(std.out, std.err),
		kong.Vars{"version": cli.NewBuild(version).String(), "kinds": kindNames(), "apprentices": strings.Join(job.ApprenticeScorers(), ","), "exports": exportNames()},
		kong.Exit(func(code int) { panic(exit{code: code}) }),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(readSpan)),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std), kong.BindTo(docs, (*parse.Documents)(nil)),
	)
	if err != nil {
		panic(err) // the tags above are wrong
	}
	showExamples(parser.Model)
	defer func() { // kong exits after --help and --version
		if r := recover(); r != nil {
			e, ok := r.(exit)
			if !ok {
				panic(r)
			}
			code = e.code
		}
	}()
	for _, arg := range args {
		if !utf8.ValidString(arg) { // which kong would change without a word
			complain(std.err, fmt.Errorf("%q is not text in UTF-8: is the terminal, or the file it comes from, in another encoding?", arg))
			return exitUsage
		}
	}
	k, err := parser.Parse(cli.JoinNegative(args))
	if readerLeft(err, std.out) {
		return exitDone
	}
	if err != nil {
		complain(std.err, err)
		var p *kong.ParseError
		if errors.As(err, &p) && p.Context != nil && p.Context.Selected() != nil {
			fmt.Fprintf(std.err, "See waggle %s --help.\n", p.Context.Command())
		} else {
			fmt.Fprintln(std.err, "See waggle --help.")
		}
		return exitUsage
	}
	out := outFolder(k)
	if out != "" {
		if err := folder.MayBe(out); err != nil {
			complain(std.err, fmt.Errorf("-o %w", err))
			return exitUsage
		}
	}
	if err = unmade(out, k.Run(parser)); err == nil {
		err = written.err()
	}
	if readerLeft(err, std.out) {
		return exitDone
	}
	// What Ctrl-C cut short has not failed.
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && exitCodeOf(err) != exitStopped {
		if failed := besideStop(err); failed != nil {
			complain(std.err, failed)
		}
		err = exit{exitStopped, errors.New("stopped")}
	}
	err = folderGiven(err)
	if err != nil && err.Error() != "" {
		complain(std.err, err)
	}
	return exitCodeOf(err)
}

// besideStop is what failed as well where a command was stopped, nil for nothing: the parts of a joined error that
// are not of the stop.
func besideStop(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return besideStop(e.Unwrap())
	case interface{ Unwrap() []error }:
		if err.Error() != errors.Join(e.Unwrap()...).Error() {
			return nil // one sentence, which tells of the stop
		}
		var failed []error
		for _, part := range e.Unwrap() {
			failed = append(failed, besideStop(part))
		}
		return errors.Join(failed...)
	}
	return nil
}

// folderGiven says what to give where a person named a folder in the place of a file.
func folderGiven(err error) error {
	var system *fs.PathError
	if !errors.As(err, &system) || !errors.Is(system, syscall.EISDIR) {
		return err
	}
	said := system.Path + " is a folder: give a file"
	text := strings.Replace(err.Error(), system.Error(), said, 1)
	if strings.HasPrefix(text, system.Path+":") {
		text = text[strings.Index(text, said):]
	}
	return exit{exitUsage, errors.New(text)}
}

// readSpan reads a time span of a flag, and refuses one in the words of job files.
func readSpan(in *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := in.Scan.PopValueInto("time span", &text); err != nil {
		return err
	}
	var d job.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	target.SetInt(int64(d))
	return nil
}

// readerLeft tells that nothing went wrong but writing to standard output, whose
// reader has gone, as that of | head does: it has what it wanted.
func readerLeft(err error, out terminal.Output) bool {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Path == out.Name() && errors.Is(e.Err, syscall.EPIPE)
	case interface{ Unwrap() error }:
		return readerLeft(e.Unwrap(), out)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !readerLeft(one, out) {
				return false
			}
		}
		return true
	}
	return false
}

// exitCodeOf is the exit code of a command that ended with an error, or without one.
func exitCodeOf(err error) int {
	var e exit
	var wrong job.Mistake
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &wrong), errors.Is(err, collection.ErrUnwritable):
		return exitUsage
	}
	return exitFailed
}

// unusable tells what is wrong with a file that a person named from what the
// system could not do.
func unusable(err error) error {
	var e exit
	var system *fs.PathError
	failed := errors.As(err, &system) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
	if err == nil || errors.As(err, &e) || failed {
		return err
	}
	return exit{exitUsage, err}
}

// wrongJob tells errors of a job, which is for the user to mend, from others.
func wrongJob(err error) error {
	if errors.As(err, new(*job.Error)) {
		return exit{exitUsage, cli.Placed(err)}
	}
	return err
}

// stoppedOr is the error of a command that may have been interrupted: what failed as well, and that it was stopped. One
// that came to its end all the same was not stopped. An error that does not tell of the stop follows from it, unless a file
// could not be written or read.
func stoppedOr(ctx context.Context, err error, stopped string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	stop := errors.New(stopped)
	file := errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
	follows := errors.Is(err, fs.ErrClosed) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EPIPE) // whoever read is stopped, too
	if errors.Is(err, context.Canceled) || file && !follows {
		stop = errors.Join(besideStop(err), stop)
	}
	return exit{exitStopped, stop}
}

// complain writes an error line by line, without what a page, a server or a
// judge's program may have put into it to speak to the terminal.
func complain(out io.Writer, err error) {
	head := "waggle: "
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(out, head+event.Line(line))
		head = ""
	}
}
