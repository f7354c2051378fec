package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store/ship"
)

// endpointFlag names a store.
type endpointFlag struct {
	ShipEndpoint string `placeholder:"URL" env:"AWS_ENDPOINT_URL_S3,AWS_ENDPOINT_URL" help:"Address of the S3-compatible store, such as https://s3.example.org (default: that of AWS)."`
}

// open names a place in the store; by is the flag or argument that named it.
func (c *endpointFlag) open(by, place string) (*ship.Store, error) {
	s, err := ship.Open(place, c.ShipEndpoint, ship.Region())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", by, err)
	}
	return s, nil
}

// shipFlags say where an archive is copied to.
type shipFlags struct {
	Ship     string        `placeholder:"s3://BUCKET/PREFIX" env:"WAGGLE_SHIP" help:"Copy each file of the archive to an S3-compatible store once it is complete, and the last one at the end. Credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the files of AWS."`
	ShipWait time.Duration `placeholder:"D" help:"With --ship: how long the end waits for the store at most (default: 10m; after Ctrl-C 10s)."`
	ShipSize job.Size      `placeholder:"SIZE" help:"With --ship: size of a file of the archive after which the next one begins (default: 1GiB). What is in one that is not complete is lost with the disk."`
	endpointFlag
}

// leastShipSize and mostShipSize are the bounds of --ship-size. A file is larger by what was
// written to it last, and still one that a store takes.
const (
	leastShipSize = 16 << 10
	mostShipSize  = ship.MostSize - 1<<30
)

// How long the end of a crawl waits for the store.
const (
	shipWait    = 10 * time.Minute
	shipStopped = 10 * time.Second
)

func (c *shipFlags) checkShip() error {
	switch {
	case c.Ship == "" && (c.ShipWait != 0 || c.ShipSize != 0):
		return errors.New("--ship-wait and --ship-size are for --ship")
	case c.ShipSize != 0 && (c.ShipSize < leastShipSize || c.ShipSize > mostShipSize):
		return errors.New("--ship-size: give a size from 16KiB to 4GiB")
	case c.Ship == "":
		return nil
	}
	_, err := c.open("--ship", c.Ship)
	return err
}

// crawlShipper copies the archive of a crawl while it runs; nil does nothing.
type crawlShipper struct {
	*ship.Shipper
	wait    time.Duration // at the end, for the store
	size    int64         // of a file of the archive; 0 = the default
	news    chan event.Event
	stop    context.CancelFunc
	running sync.WaitGroup
}

// startShipper begins to ship a folder. A store that refuses is an error, and one that does not
// answer too, but for a crawl that goes on.
func (c *shipFlags) startShipper(ctx context.Context, col collection.Collection, note func(string)) (*crawlShipper, error) {
	if c.Ship == "" {
		return nil, nil
	}
	s, err := c.open("--ship", c.Ship)
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx); err != nil {
		if errors.As(err, new(*ship.RefusedError)) || !col.Begun() {
			return nil, fmt.Errorf("--ship: %w", err)
		}
		note(fmt.Sprintf("%v; the archive is kept here, and shipped when it does", err))
	}
	x := &crawlShipper{wait: shipWait, size: int64(c.ShipSize), news: make(chan event.Event)}
	if c.ShipWait > 0 {
		x.wait = c.ShipWait
	}
	x.Shipper, err = ship.New(s, ship.Options{
		Dir: col.Dir(), Archive: col.ArchiveDir(), Setup: col.ShippedSetup(), Kept: col.ShippedFile(),
		Tell: func(ctx context.Context, e event.Shipped) {
			if e.Trouble != "" {
				note("the archive is kept here, and is shipped later: " + e.Trouble)
			} else {
				note(fmt.Sprintf("shipped %s, %s", e.File, terminal.Size(e.Bytes)))
			}
			select {
			case x.news <- e:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return nil, err
	}
	var run context.Context
	run, x.stop = context.WithCancel(context.WithoutCancel(ctx))
	x.running.Go(func() { x.Run(run) })
	note("ships the archive to " + x.Place())
	return x, nil
}

// follow has a crawl tell how far its archive is, and tells how far it is shipped; nil where it
// is not.
func (x *crawlShipper) follow(m *job.Maker) func() (place string, mark []byte) {
	if x == nil {
		return nil
	}
	m.Archived, m.News, m.ArchiveFile = x.Marked, x.news, x.size
	return func() (string, []byte) { return x.Place(), x.Safe() }
}

// end ships what is left, within bounds, once nobody writes to the archive. The error says what
// is left.
func (x *crawlShipper) end(ctx context.Context, begun bool) error {
	if x == nil {
		return nil
	}
	x.stop()
	x.running.Wait()
	if !begun {
		return nil
	}
	go func() { // no crawl hears it any more
		for range x.news {
		}
	}()
	defer close(x.news)
	wait := x.wait
	if ctx.Err() != nil {
		wait = min(wait, shipStopped)
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(shipStopped, cancel) })()
	return x.Finish(bound)
}

// shipCmds are the commands for what was shipped.
type shipCmds struct {
	List  shipListCmd  `cmd:"" help:"Name the archives at a place of a store."`
	Fetch shipFetchCmd `cmd:"" help:"Bring an archive back, as the folder of a crawl."`
}

// shipListCmd is `waggle ship list`.
type shipListCmd struct {
	Place string `arg:"" help:"s3://BUCKET/PREFIX, as --ship named it."`
	endpointFlag
}

// Help tells what is listed.
func (shipListCmd) Help() string {
	return `Each folder that was shipped there has a name of its own: that of the folder and eight letters.

  waggle ship list s3://pages/bees`
}

// Run lists.
func (c *shipListCmd) Run(ctx context.Context, std streams) error {
	s, err := c.open("the place", c.Place)
	if err != nil {
		return exit{exitUsage, err}
	}
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no archive at %s", event.Line(s.Place("")))
	}
	t := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "archive\tfiles\tbytes")
	for _, x := range list {
		fmt.Fprintf(t, "%s\t%d\t%d\n", event.Line(s.Place(x.Name)), x.Files, x.Bytes)
	}
	return t.Flush()
}

// shipFetchCmd is `waggle ship fetch`.
type shipFetchCmd struct {
	Place string `arg:"" help:"s3://BUCKET/PREFIX/NAME, as waggle ship list names it."`
	Out   string `short:"o" required:"" placeholder:"DIR" help:"Folder for the crawl."`
	endpointFlag
}

// Help tells what is made.
func (shipFetchCmd) Help() string {
	return `Event log and frontier are not shipped: they are made anew of the archive, as waggle repair
does, and lost.txt says so. The folder is then that of a crawl: open, explain, export, index
and search work on it, and cluster merge takes it in the place of the folder of a worker that
was lost. The SHA-256 of each file is compared. Where the disk has no room for all of it, nothing
is fetched. A fetch that was interrupted goes on with the same command.

  waggle ship list s3://pages/bees
  waggle ship fetch s3://pages/bees/bees-1-k3j5x2ab -o bees-1`
}

// Run fetches.
func (c *shipFetchCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	s, err := c.open("the place", c.Place)
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := collection.At(c.Out).Usable(); err != nil {
		return exit{exitUsage, err}
	}
	made := folder.Absent(c.Out)
	w, err := collection.At(c.Out).Lock()
	if err != nil {
		return err
	}
	defer func() {
		w.Close()
		if !w.Begun() { // nothing was fetched
			made.Remove()
		}
	}()
	meter := terminal.NewMeter(std.err)
	err = s.Fetch(ctx, w.ArchiveDir(), w.ShippedSetup(), w.Free, func(done, total int64) { meter.Show(int(done), int(total), "fetched") })
	meter.End()
	const stopped = "stopped before its end; run the same command again"
	if err != nil {
		return stoppedOr(ctx, err, stopped)
	}
	r, err := w.Repair(ctx, collection.RepairOptions{Parser: job.LinkParser(w.Collection, docs), Progress: progressOn(meter)})
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, stopped)
	}
	for _, line := range r.Lines() {
		fmt.Fprintln(std.out, event.Line(line))
	}
	_, err = fmt.Fprintf(std.out, "%s holds what was shipped to %s\n", event.Line(c.Out), event.Line(s.Place("")))
	return err
}
