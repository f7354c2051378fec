package collection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// Job is the job file.
func (c Collection) Job() ([]byte, error) { return os.ReadFile(c.JobFile()) }

// Events are the events of the crawl so far, of all its runs. A last line that
// has no end, as a run that is writing or was killed leaves it, is no event. A
// damaged line is a *event.LineError, after which the next event follows. The
// log is opened anew every time the sequence is ranged over. All pages have the
// verdicts that were told of them last, under the threshold that the judge was
// given last. Where the log was cut short, the last error is that of CutShort.
func (c Collection) Events() iter.Seq2[event.Event, error] { return c.events(event.ReadFile) }

// Visits are Events in which pages have no links, as event.ReadVisits gives them.
func (c Collection) Visits() iter.Seq2[event.Event, error] { return c.events(event.ReadVisits) }

func (c Collection) events(read func(path string) iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := c.logLost(); err != nil {
			yield(nil, err)
			return
		}
		events := event.Renewed(event.ReadKinds(c.EventLog(), event.Rejudged{}.Kind()), read(c.EventLog()))
		history := event.ReadHistory(c.EventLog())
		if threshold, ok := history.Threshold(); ok {
			events = event.Under(threshold, events)
		}
		for e, err := range events {
			if errors.Is(err, event.ErrTorn) {
				break
			}
			if !yield(e, err) {
				return
			}
		}
		if err := c.CutShort(); err != nil {
			yield(nil, err)
		}
	}
}

// CutShort tells, as a *event.LineError of event.ErrMark, that the log of a crawl that does not
// run ends before the mark up to which it was acknowledged; nil where it does not, or where the
// frontier does not tell. A log that goes on behind the mark is what the death of a process leaves.
func (c Collection) CutShort() error {
	if c.Running() {
		return nil // whoever has the folder looked, or is mending it
	}
	end, ok := c.committed()
	if !ok {
		return nil // waggle verify tells what is wrong with the frontier
	}
	info, err := os.Stat(c.EventLog()) // after the mark: a run that has begun meanwhile makes it longer alone
	if err != nil || info.Size() >= end {
		return nil // of a log that is not there the reader tells
	}
	lines := 0
	for e, err := range event.Entries(c.EventLog()) {
		if err != nil {
			return err
		}
		if !errors.Is(e.Err, event.ErrTorn) {
			lines = e.Number
		}
	}
	return &event.LineError{Path: c.EventLog(), Line: lines + 1, Err: fmt.Errorf("the log ends at byte %d and should have %d bytes: %w", info.Size(), end, event.ErrMark)}
}

// committed is the byte of the log at which the last turn ends that the frontier knows of; ok is
// false where it does not tell.
func (c Collection) committed() (end int64, ok bool) {
	mark, err := frontier.ReadState(c.FrontierDir(), crawl.StateEvents)
	if err != nil || mark == nil {
		return 0, false
	}
	end, err = strconv.ParseInt(string(mark), 10, 64)
	return end, err == nil
}

// CommittedKinds are the events of some kinds as event.ReadKinds has them, without those of turns that
// the frontier does not know of, which the next run cuts back. Where it does not tell they are all.
func (c Collection) CommittedKinds(kinds ...string) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		end, ok := c.committed()
		if !ok {
			end = math.MaxInt64
		}
		event.ReadKindsBefore(c.EventLog(), end, kinds...)(yield)
	}
}

// Explain tells what became of an address; see event.Explain.
func (c Collection) Explain(u web.URL) (event.Explanation, error) {
	if err := c.logLost(); err != nil {
		return event.Explanation{URL: u, Fate: event.Unseen}, err
	}
	return event.ExplainFile(c.EventLog(), u)
}

// Said are the relevances that were told of a page, oldest first.
func (c Collection) Said(u web.URL) ([]float64, error) {
	return event.Said(event.ReadVisits(c.EventLog()), u)
}

// logLost tells that a log is empty beside an archive that is not: read as a log it would
// be that of a crawl without a page.
func (c Collection) logLost() error {
	if info, err := os.Stat(c.EventLog()); err != nil || info.Size() > 0 || c.Running() {
		return nil // the reader tells the error
	}
	files, err := c.archiveFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	return fmt.Errorf("%s %w, and %s is not: waggle verify %s tells what is damaged", c.EventLog(), ErrLogEmpty, c.ArchiveDir(), c.dir)
}

// ErrLogEmpty is wrapped by the errors of reading an event log that is empty beside an archive that
// is not.
var ErrLogEmpty = errors.New("is empty")

// EventsBetween are the events of the log between two of its marks, as they were written.
func (c Collection) EventsBetween(from, to []byte) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		begin, err := strconv.ParseInt(cmp.Or(string(from), event.Empty), 10, 64)
		end, err2 := strconv.ParseInt(string(to), 10, 64)
		if err = errors.Join(err, err2); err != nil {
			yield(nil, fmt.Errorf("marks of %s: %w", c.EventLog(), err))
			return
		}
		for e, err := range event.EntriesFrom(c.EventLog(), begin) {
			if err == nil {
				err = e.Err
			}
			if e.Offset >= end || !yield(e.Event, err) {
				return
			}
		}
	}
}

// Fetched are the pages that were fetched, in their order, with their verdicts
// and links. Errors are those of Events.
func (c Collection) Fetched() iter.Seq2[event.Fetched, error] {
	return func(yield func(event.Fetched, error) bool) {
		for e, err := range c.Events() {
			p, ok := e.(event.Fetched)
			if (ok || err != nil) && !yield(p, err) {
				return
			}
		}
	}
}

// Link is what became of a link when it was found: it entered the frontier, rose
// in it, or was skipped.
type Link struct {
	From web.URL // the page or redirect it was found on; zero for a seed
	To   web.URL
	At   time.Time
	// Of a link that entered or rose:
	Priority float64
	Anchor   string // the beginning; untrusted
	Raised   bool   // it waited already, with a lower priority
	// Reason says why it was skipped; "" if it was not.
	Reason web.Reason
}

// Links are the links that the log tells of, in the order in which they were
// found: seeds, links of pages, redirects. Links to what was fetched already,
// and those that event.Fetched.Omitted counts, are not among them. Errors are
// those of Events.
func (c Collection) Links() iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for e, err := range c.Events() {
			if err != nil {
				if !yield(Link{}, err) {
					return
				}
				continue
			}
			for _, l := range linksOf(e) {
				if !yield(l, nil) {
					return
				}
			}
		}
	}
}

// linksOf are the links that an event tells of.
func linksOf(e event.Event) (out []Link) {
	add := func(from web.URL, queued []event.Found, skipped []event.Skipped) {
		for _, f := range queued {
			out = append(out, Link{From: from, To: f.URL, At: e.Time(), Priority: f.Priority, Anchor: f.Anchor, Raised: f.Raised})
		}
		for _, s := range skipped {
			out = append(out, Link{From: from, To: s.URL, At: e.Time(), Reason: s.Reason})
		}
	}
	switch e := e.(type) {
	case event.Seeded:
		add(web.URL{}, e.Queued, e.Skipped)
	case event.Received:
		add(e.From, e.Queued, e.Skipped)
	case event.Fetched:
		add(e.URL, e.Queued, e.Skipped)
	case event.Failed:
		switch {
		case e.To.IsZero():
		case e.Queued:
			add(e.URL, []event.Found{{URL: e.To, Priority: e.Priority}}, nil)
		default:
			add(e.URL, nil, []event.Skipped{{URL: e.To, Reason: e.Reason}})
		}
	}
	return out
}

// Harvest are the relevant pages so far, most relevant first.
func (c Collection) Harvest() ([]event.Harvested, error) {
	h, err := c.harvest(context.Background())
	return h.Pages(), err
}

func (c Collection) harvest(ctx context.Context) (h event.Harvest, err error) {
	for e, err := range c.Visits() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return h, err
		}
		if p, ok := e.(event.Fetched); ok {
			h.Add(p)
		}
	}
	return h, nil
}

// Summary are the figures of the crawl so far, over all its runs.
func (c Collection) Summary() (*event.Summary, error) {
	s := &event.Summary{}
	for e, err := range c.Events() {
		if err != nil {
			return nil, err
		}
		s.Add(e)
	}
	return s, nil
}

// Ended tells how the last run ended, "" when it was killed, still runs, or none
// ran; and how many pages were fetched by all runs. A log that is damaged counts
// up to the damage.
func (c Collection) Ended() (how event.Ending, pages int, err error) {
	for e, err := range c.Events() {
		var damaged *event.LineError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
			break // opening the log says so
		}
		if err != nil {
			return "", 0, err
		}
		switch e := e.(type) {
		case event.Started:
			how = ""
		case event.Ended:
			how = e.How
		case event.Fetched:
			pages++
		}
	}
	return how, pages, nil
}
