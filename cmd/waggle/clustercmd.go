package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// clusterCmds are the commands for crawls of several workers.
type clusterCmds struct {
	Status clusterStatusCmd `cmd:"" help:"Show the workers of a crawl: what each holds, fetched and waits for."`
	Engine clusterEngineCmd `cmd:"" help:"Serve the engine by which workers crawl together."`
	Lost   clusterLostCmd   `cmd:"" help:"Say that the folder of a worker is lost for good: what was not shipped of it is fetched again."`
	Merge  clusterMergeCmd  `cmd:"" help:"Make one crawl of the folders of all workers."`
}

// clusterEngineCmd is `waggle cluster engine`.
type clusterEngineCmd struct {
	Dir    string `arg:"" help:"Folder in which the engine keeps its logs."`
	Listen string `placeholder:"HOST:PORT" help:"Where it listens on this machine (default: 127.0.0.1:4222); port 0 is any."`
	Config string `placeholder:"FILE" help:"Configuration of a NATS server, with TLS, accounts and other servers, in place of --listen."`
}

// Help tells how it is used.
func (clusterEngineCmd) Help() string {
	return `The engine is a NATS server with JetStream in this process. It prints the address by which
workers join, which holds its token: who has it can steer the crawl.

  waggle cluster engine /srv/engine
  waggle crawl -f job.yaml -o bees-1 --join nats://TOKEN@127.0.0.1:4222

It ends with an error once its disk is full or fails, or its store is at the limit of its
configuration (max_file_store): what was acknowledged is kept, and workers wait until it is
started again.

Without a configuration it listens on this machine alone. Other machines need TLS and
accounts: give a configuration, or run nats-server with it. See waggle help guide cluster.`
}

// Run serves until ctx ends.
func (c *clusterEngineCmd) Run(ctx context.Context, std streams) error {
	if c.Listen != "" && c.Config != "" {
		return exit{exitUsage, errors.New("--listen and --config: the configuration says where it listens")}
	}
	// Who keeps the configuration in the folder has given it to the engine.
	if c.Config == "" || filepath.Dir(c.Config) != filepath.Clean(c.Dir) {
		if err := checkEngineDir(c.Dir); err != nil {
			return exit{exitUsage, err}
		}
	}
	place := folder.Absent(c.Dir)
	lock, err := folder.Lock(c.Dir)
	if errors.Is(err, folder.ErrLocked) {
		return fmt.Errorf("%s is in use by another waggle", c.Dir)
	}
	if err != nil {
		return unusable(err)
	}
	s, end, err := serveFrom(jetstream.ServerOptions{Dir: c.Dir, Listen: c.Listen, Config: c.Config})
	if err != nil {
		if len(place) > 0 {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.Dir, "token")), os.RemoveAll(filepath.Join(c.Dir, "store")))
		}
		err = errors.Join(err, lock.Close())
		place.Remove()
		if errors.As(err, new(*jetstream.OptionError)) {
			return exit{exitUsage, err}
		}
		return err
	}
	join := "join with: --join " + s.URL()
	if c.Config != "" {
		join = fmt.Sprintf("it listens at %s, for the users of %s", s.URL(), event.Line(c.Config))
	}
	fmt.Fprintf(std.out, "serves the engine in %s; %s\n", event.Line(c.Dir), join)
	return errors.Join(s.Wait(ctx), end(), lock.Close())
}

// clusterStatusCmd is `waggle cluster status`.
type clusterStatusCmd struct {
	engineFlags
	Crawl string `arg:"" optional:"" help:"Name of the crawl, as in its job file; default: the only one that the engine has."`
	JSON  bool   `help:"Print what each worker told last as a line of JSON."`
}

// Help tells what is shown.
func (clusterStatusCmd) Help() string {
	return `A worker is running, idle (it has nothing to do), waiting (--workers-min), paused or leaving, has left, or is lost:
its session has ended without a word. "heard" is how long ago it told something last, by its own
clock: a worker that runs does so about fifteen times in a --term (15s), and one that was killed is shown as
it was until nothing was heard of it for so long. Below the table stands what is lost with folders, see
waggle help cluster lost.

  waggle cluster status --join engine           of an engine in a folder, with one crawl
  waggle cluster status bees --join nats://TOKEN@127.0.0.1:4222`
}

// Run shows the workers.
func (c *clusterStatusCmd) Run(ctx context.Context, std streams) error {
	if c.Join == "" {
		return exit{exitUsage, errors.New("--join: name the engine of the crawl")}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var all worker.Scene
	if err := c.ask(ctx, std, c.Crawl, "waggle cluster status", func(e engine.Engine) (err error) {
		all, err = worker.Look(ctx, e)
		return err
	}); err != nil {
		return err
	}
	if len(all.Workers) == 0 {
		return errors.New("the engine knows of no worker of this crawl")
	}
	if c.JSON {
		out := json.NewEncoder(std.out)
		for i := range all.Workers {
			all.Workers[i].Standing.Waiting = nil
			if err := out.Encode(all.Workers[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return writeScene(std.out, all, time.Now())
}

// ask has the engine of a crawl asked for something.
func (c *engineFlags) ask(ctx context.Context, std streams, crawl, as string, do func(engine.Engine) error) error {
	if err := c.checkEngine(); err != nil {
		return exit{exitUsage, err}
	}
	if !c.isAddress() && !folder.Held(c.Join) {
		code := exitFailed
		if !jetstream.Stored(c.Join) {
			code = exitUsage // it holds no engine
		}
		return exit{code, fmt.Errorf("no process serves an engine from %[1]s: a worker does that while it runs (--join %[1]s), or waggle cluster engine %[1]s, which prints an address for --join", c.Join)}
	}
	name := ""
	if crawl != "" {
		name = engineName(crawl)
	}
	e, err := c.openEngine(ctx, name, as, true, func(s string) { fmt.Fprintln(std.err, event.Line(s)) })
	if errors.Is(err, jetstream.ErrNoCrawl) && crawl != "" {
		return exit{exitUsage, fmt.Errorf("the engine has no crawl %s: give its name, as in its job file", event.Line(crawl))}
	}
	if err != nil {
		return err
	}
	return errors.Join(do(e.Engine), e.Close())
}

// clusterLostCmd is `waggle cluster lost`.
type clusterLostCmd struct {
	engineFlags
	Worker string `arg:"" help:"Name of the worker, as waggle cluster status shows it."`
	Crawl  string `arg:"" optional:"" help:"Name of the crawl, as in its job file; default: the only one that the engine has."`
}

// Help tells what becomes of its pages.
func (clusterLostCmd) Help() string {
	return `A worker that died comes back with its folder, and goes on. Where the folder is lost for good,
say so: the engine knows which pages were in its archive, and which files of that were
shipped (waggle crawl --ship). The others are fetched again by the workers that have their sites
now, and count against the budget once. The worker is refused from then on: start another one in
a new folder.

  waggle cluster lost hive:bees-2 --join nats://TOKEN@127.0.0.1:4222
  waggle ship fetch s3://pages/bees/bees-2-k3j5x2ab -o bees-2     what was shipped

cluster merge takes the folder that was fetched in the place of the lost one.`
}

// Run says so.
func (c *clusterLostCmd) Run(ctx context.Context, std streams) error {
	if c.Join == "" {
		return exit{exitUsage, errors.New("--join: name the engine of the crawl")}
	}
	var l worker.Loss
	var over bool
	if err := c.ask(ctx, std, c.Crawl, "waggle cluster lost", func(e engine.Engine) (err error) {
		note := func(s string) { fmt.Fprintln(std.err, event.Line(s)) }
		if l, over, err = worker.Lose(ctx, e, c.Worker, note); errors.Is(err, worker.ErrNoWorker) {
			return exit{exitUsage, err}
		}
		return err
	}); err != nil {
		return err
	}
	if err := writeLoss(std.out, l); err != nil {
		return err
	}
	if over {
		_, err := fmt.Fprintln(std.out, "The crawl was over: start its other workers with --resume to have them fetched")
		return err
	}
	return nil
}

// writeLoss says what is lost with a folder.
func writeLoss(out io.Writer, l worker.Loss) error {
	said := fmt.Sprintf("The folder of %s is lost, and with it what was fetched from %d addresses; that is fetched again", l.Name, l.Addresses)
	switch {
	case l.Addresses == 0 && l.Place != "":
		said = fmt.Sprintf("The folder of %s is lost; all of its archive was shipped", l.Name)
	case l.Addresses == 0:
		said = fmt.Sprintf("The folder of %s is lost; its archive held nothing", l.Name)
	}
	if l.Place != "" {
		said += ". Bring back what was shipped: waggle ship fetch " + l.Place + " -o DIR"
	}
	_, err := fmt.Fprintln(out, event.Line(said))
	return err
}

// writeScene writes the workers of a crawl as a table, as they are now.
func writeScene(out io.Writer, all worker.Scene, now time.Time) error {
	all = all.Settled()
	free := all.Shards
	var pages, relevant, waiting int
	var speed float64
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "worker\tmachine\tstate\theard\tshards\tpages\trelevant\tpages/s\twaiting\thosts\tunder way")
	for _, w := range all.Workers {
		free -= w.Held
		speed += w.Speed
		pages, relevant, waiting = pages+w.Standing.Pages, relevant+w.Standing.Relevant, waiting+w.Frontier.Queued
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%.1f\t%d\t%d\t%d\n", event.Line(w.Name), event.Line(w.Machine), event.Line(state(w)), ago(w.Heard, now), w.Held, w.Standing.Pages, w.Standing.Relevant, w.Speed, w.Frontier.Queued, w.Frontier.Hosts, w.Standing.InFlight)
	}
	fmt.Fprintf(t, "all\t\t\t\t%d\t%d\t%d\t%.1f\t%d\n", all.Shards-free, pages, relevant, speed, waiting)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range all.Losses {
		if err := writeLoss(out, l); err != nil {
			return err
		}
	}
	if free > 0 && all.Over == "" && !all.Live() {
		_, err := fmt.Fprintln(out, ended(all))
		return err
	}
	if free > 0 && all.Over == "" {
		_, err := fmt.Fprintf(out, "%d of %d shards have no worker\n", free, all.Shards)
		return err
	}
	if all.Over != "" {
		_, err := fmt.Fprintf(out, "the crawl is over: %s\n", terminal.WorkerEnding(event.Ending(all.Over)))
		return err
	}
	return nil
}

// ago is how long before now something was; the clock of a machine that is ahead is none of the future.
func ago(t, now time.Time) string {
	return terminal.Span(max(0, now.Sub(t))) + " ago"
}

// ended says that no worker has a session, and how they ended where that is the same of all.
func ended(all worker.Scene) string {
	how := ""
	for i := range all.Workers {
		w := &all.Workers[i]
		if w.State() == worker.Lost || how != "" && how != w.Ended {
			return "no worker runs"
		}
		how = w.Ended
	}
	return "no worker runs; all have left: " + terminal.WorkerEnding(event.Ending(how))
}

// state is what a worker does, in a word or two.
func state(w worker.Seen) string {
	switch s := w.State(); s {
	case worker.Left:
	case worker.Waiting:
		return fmt.Sprintf("waits for %d workers", w.Awaits)
	default:
		return s
	}
	return worker.Left + ": " + terminal.WorkerEnding(event.Ending(w.Ended))
}
