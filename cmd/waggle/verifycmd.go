package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
)

// verifyCmd is `waggle verify`.
type verifyCmd struct {
	Dir  string `arg:"" help:"Folder of the crawl, which may still run."`
	JSON bool   `help:"Print what was found as JSON."`
}

// Help tells what is read.
func (verifyCmd) Help() string {
	return `Reads every record of the archive, every line of the event log and every block of the
frontier, compares all checksums and digests, and the three with one another: each archived
page is in the log and the other way round, each address that is done is known to the
frontier. Examples, model, critic, lost.txt and the known.jsonl of a round (--again) are
compared with SHA256SUMS, and job.yaml is read as --resume reads it. The rounds before a
round, whose archives hold the bodies of pages that were as before, must be there. Nothing
is changed. Of a crawl that runs, what was acknowledged when verify began is read.

Exit codes: 0 whole, 1 damaged or in the middle of a repair, 2 not understood, 3 stopped.`
}

// Run verifies.
func (c *verifyCmd) Run(ctx context.Context, std streams) error {
	col, err := crawlIn(c.Dir)
	if err != nil {
		return err
	}
	meter := terminal.NewMeter(std.err)
	v, err := col.Verify(ctx, progressOn(meter))
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, "stopped before its end")
	}
	if d := job.Damage(col); d != nil && !v.Interrupted {
		v.Add(*d)
	}
	if c.JSON {
		out := json.NewEncoder(std.out)
		out.SetIndent("", "  ")
		err = out.Encode(v)
	} else {
		for _, line := range v.Lines() {
			fmt.Fprintln(std.out, event.Line(line))
		}
	}
	if err == nil && v.Interrupted {
		return exit{exitFailed, fmt.Errorf("%s was not verified", c.Dir)}
	}
	if err == nil && !v.Whole {
		return exit{exitFailed, fmt.Errorf("%s is damaged", c.Dir)}
	}
	return err
}

// repairCmd is `waggle repair`.
type repairCmd struct {
	Dir string `arg:"" help:"Folder of the crawl, which may not run."`
}

// Help tells what is kept.
func (repairCmd) Help() string {
	return `Makes frontier and event log anew of what is whole of archive, log and frontier, so that
the crawl can go on with --resume. Nothing is fetched. The archive stays as it is, but for
damaged pieces, which are moved to archive/damaged; the old frontier and log are kept in
before-repair. What is lost is listed in lost.txt. Where nothing is damaged, nothing is
changed. A repair that is interrupted leaves the old files, or is carried to its end by the
next command that writes to the folder.

Damage of job.yaml, examples, model, critic or known.jsonl is named with its remedy, and
not mended.

Exit codes: 0 repaired, or nothing to repair; 1 failed, or damage is left; 2 not understood,
3 stopped.`
}

// Run repairs.
func (c *repairCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	col, err := crawlIn(c.Dir)
	if err != nil {
		return err
	}
	w, err := col.Lock()
	if err != nil {
		return err
	}
	defer w.Close()
	meter := terminal.NewMeter(std.err)
	r, err := w.Repair(ctx, collection.RepairOptions{Parser: job.LinkParser(col, docs), Progress: progressOn(meter)})
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, "stopped before its end: nothing was changed")
	}
	if d := job.Damage(col); d != nil {
		r.Left = append(r.Left, *d)
	}
	for _, line := range r.Lines() {
		fmt.Fprintln(std.out, event.Line(line))
	}
	next := fmt.Sprintf("waggle crawl -o %s --resume", c.Dir)
	if col.OfSeveral() {
		next += " --join ENGINE"
	}
	unjudged := false
	if j, err := job.Read(col.JobFile()); err == nil {
		if paths := j.Unjudged(col); len(paths) > 0 {
			fmt.Fprintf(std.out, "the event log does not tell that the pages were judged by job.yaml (%s): if they were, that is lost\n", strings.Join(paths, ", "))
			next, unjudged = fmt.Sprintf("waggle judge %s, then %s", c.Dir, next), true
		}
	}
	if len(r.Left) > 0 {
		return exit{exitFailed, fmt.Errorf("%s has damage that a repair does not mend", c.Dir)}
	}
	if !r.Whole || unjudged {
		fmt.Fprintf(std.out, "go on with: %s\n", next)
	}
	return nil
}

// crawlIn is the folder of a crawl, in whatever state.
func crawlIn(dir string) (collection.Collection, error) {
	col := collection.At(dir)
	if col.Begun() {
		return col, nil
	}
	if _, err := collection.Open(dir); err != nil {
		return col, exit{exitUsage, err}
	}
	return col, nil
}

// progressOn shows how far a verification or repair is.
func progressOn(m *terminal.Meter) collection.Progress {
	return func(of string, done, total int64) { m.Show(int(done), int(total), of) }
}
