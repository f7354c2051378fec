package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// steerCmd is `waggle steer`.
type steerCmd struct {
	Dir string `arg:"" help:"Folder of the crawl."`
	Do  string `arg:"" enum:"relevant,irrelevant,more,mute,boost,budget,delay,keywords,pause,continue,undo,list" help:"What to do: relevant, irrelevant, more, mute, boost, budget, delay, keywords, pause, continue, undo, list."`
	To  string `arg:"" optional:"" help:"The address of a page, a place, a number of pages, a delay, keywords with commas between them, or the number of an act."`
}

// Help tells what can be done.
func (steerCmd) Help() string {
	return `A crawl that runs takes an act in within a second, and one that does not run
when it goes on. Each has a number, stands in the log, and can be undone:

  waggle steer bees relevant https://example.org/hives     the page is wanted
  waggle steer bees irrelevant https://example.org/ads     it is not
  waggle steer bees more https://example.org/links         its links go first
  waggle steer bees mute example.org/forum/                 nothing from there
  waggle steer bees boost dances.example.org                its links go first
  waggle steer bees budget 2000                             pages of all runs; 0 = no limit
  waggle steer bees delay 3s                                between two requests to a host
  waggle steer bees keywords "honey bee, waggle dance"      in place of those before
  waggle steer bees pause                                   and continue
  waggle steer bees undo 3
  waggle steer bees list                                    what was done

A label changes the harvest, and teaches the scorer (waggle, apprentice); a page of
which more are wanted is an example to the judge topic as well. It must have been
fetched. Links of a muted place are set aside; once that is undone they come back. Other
keywords reach the judges topic and keyword, and the pages so far are judged anew while
the crawl goes on. A pause ends with its run; one of several workers lasts until somebody
says continue.`
}

// Run gives the act to the crawl, or lists the acts.
func (c *steerCmd) Run(_ context.Context, std streams) error {
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Do == "list" {
		if c.To != "" {
			return exit{exitUsage, fmt.Errorf("list stands alone: leave out %q", c.To)}
		}
		return c.list(col, std)
	}
	a, err := c.act()
	if err != nil {
		return exit{exitUsage, err}
	}
	var acts []event.Act
	if a.Do == event.Undo {
		if acts, err = numbered(col); err != nil {
			return err
		}
		if err := event.CheckUndo(acts, a.Act); err != nil {
			err = fmt.Errorf("%w; waggle steer %s list names them", err, c.Dir)
			if col.OfSeveral() && !col.Running() {
				err = fmt.Errorf("%w, and the folder of a worker that runs those of which this one has not heard", err)
			}
			return exit{exitUsage, err}
		}
	}
	err = job.CheckAct(col, a, func() (int, error) {
		_, pages, err := col.Ended()
		return pages, err
	})
	if err != nil {
		return exit{exitUsage, err}
	}
	unmet := false
	if a.Needs() == "place" || a.Label() && !col.OfSeveral() {
		met, _, _, err := event.Meets(col.EventLog(), &a, 0, 0)
		unmet = err == nil && !met
	}
	if unmet && a.Label() && !col.Running() {
		return exit{exitUsage, a.NoPage()}
	}
	n, err := col.Act(a)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return exit{exitUsage, fmt.Errorf("%s cannot be told anything, as what it is told is kept in its folder: %w; steer as the user who crawls, or make the folder writable", c.Dir, err)}
	}
	if err != nil {
		return err
	}
	when := "the crawl takes it in within a second"
	if !col.Running() {
		when = "the crawl takes it in when it goes on (waggle crawl -o " + c.Dir + " --resume)"
	}
	if unmet {
		when += ", and " + meetsNothing(a)
	}
	if col.OfSeveral() {
		when = "they take it in within two seconds"
		if !col.Running() {
			when = "no worker runs here: they hear of it when this one goes on (waggle crawl -o " + c.Dir + " --resume --join ENGINE); tell the folder of one that runs to have them take it in now"
		}
		if a.Label() {
			when += "; waggle steer " + c.Dir + " list says whether one of them has the page"
		}
		_, err = fmt.Fprintf(std.out, "%s, for all workers of the crawl; %s.\n", event.Line(a.Words()), event.Line(when))
		return err
	}
	if a.Number = n; a.Do == event.Undo {
		if by := event.Replaced(append(acts, a))[n]; by > 0 {
			when += fmt.Sprintf(", and nothing changes: act %d had replaced act %d", by, a.Act)
		}
	}
	_, err = fmt.Fprintf(std.out, "Act %d: %s; %s.\n", n, event.Line(a.Words()), when)
	return err
}

// numbered are the acts that a crawl was told and that have a number: those that wait in the folder of a worker have none.
func numbered(col collection.Collection) ([]event.Act, error) {
	if col.OfSeveral() {
		return col.Logged(), nil
	}
	return col.Told()
}

// meetsNothing is said of an act on what the log has not.
func meetsNothing(a event.Act) string {
	if a.Label() {
		return "no page of this address has been fetched yet: it is done only if one has when the crawl takes it in"
	}
	return "nothing that is known matches it now"
}

// act is what the arguments say.
func (c *steerCmd) act() (a event.Act, err error) {
	a.Do = event.Verb(c.Do)
	switch a.Needs() {
	case "url":
		if a.URL, err = web.Given(c.To); err != nil {
			return a, fmt.Errorf("%s: %w", c.Do, err)
		}
	case "place":
		a.Place = event.PlaceOf(c.To)
	case "delay":
		a.Delay = c.To
	case "keywords":
		for word := range strings.SplitSeq(c.To, ",") {
			if word = strings.TrimSpace(word); word != "" {
				a.Keywords = append(a.Keywords, word)
			}
		}
	case "pages", "act":
		n, err := strconv.Atoi(c.To)
		if err != nil {
			return a, fmt.Errorf("%s %q: give a number", c.Do, c.To)
		}
		if a.Pages = n; a.Needs() == "act" {
			a.Pages, a.Act = 0, n
		}
	default:
		if c.To != "" {
			return a, fmt.Errorf("%s stands alone: leave out %q", c.Do, c.To)
		}
	}
	return a, a.Check()
}

// unfound is said of a label while no worker of a crawl is known to have the page.
const unfound = "not done, no worker that was heard of has a page of this address"

// numberOf is the number of an act, a line where it has none yet.
func numberOf(a event.Act) string {
	if a.Number == 0 {
		return "-"
	}
	return strconv.Itoa(a.Number)
}

// list prints the acts that the crawl took in, and those that wait for it.
func (c *steerCmd) list(col collection.Collection, std streams) error {
	acts, err := col.Told()
	if err != nil {
		return err
	}
	replaced := event.Replaced(acts)
	all, unread := col.Workers() // it may be torn or gone: then it is not known who has a page
	for _, a := range acts {
		at, more := "waits", ""
		if !a.At.At.IsZero() {
			at = terminal.Moment(a.At.At)
		}
		if by := replaced[a.Number]; by > 0 {
			more = fmt.Sprintf(": nothing changes, act %d had replaced it", by)
		}
		if a.Refused != "" {
			more = ": not done, " + a.Refused
		}
		if by := event.UndoneBy(acts, a.Number); by > 0 && a.Number > 0 {
			more = fmt.Sprintf(": undone by act %d", by)
		}
		if unread == nil && all.Unfound(a) {
			more = ": " + unfound
		}
		if _, err := fmt.Fprintf(std.out, "%3s  %-20s  %s\n", numberOf(a), at, event.Line(a.Words()+more)); err != nil {
			return err
		}
	}
	return nil
}
