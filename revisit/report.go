package revisit

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Fate is what became of a page in a round.
type Fate string

// The fates of pages, in the order of a report.
const (
	New       Fate = "new"
	Returned  Fate = "returned" // it was gone, and is there again
	Changed   Fate = "changed"
	Vanished  Fate = "vanished"  // the server says that it is not there (404, 410)
	Moved     Fate = "moved"     // the server says that it is elsewhere
	Failed    Fate = "failed"    // nothing is known of it this time
	Unchanged Fate = "unchanged" // its words are as they were
	NotAsked  Fate = "not-asked"
)

// Fates are all fates, in the order of a report.
func Fates() []Fate {
	return []Fate{New, Returned, Changed, Vanished, Moved, Failed, Unchanged, NotAsked}
}

// Change is a page with what became of it.
type Change struct {
	Fate Fate
	Page collection.Known
	// Was is what was known before; zero of a new page.
	Was collection.Known
}

// Changes are all pages that are known, with what became of them: in the order of Fates, the
// relevant ones first, then by address. Pages that were gone before this round, and are still, are
// not among them.
func (r *Round) Changes() []Change {
	before := make(map[web.URL]collection.Known, len(r.Before))
	for _, k := range r.Before {
		before[k.URL] = k
	}
	var list []Change
	for _, k := range r.Known {
		was, known := before[k.URL]
		fate := r.fates[k.URL]
		switch {
		case !known:
			fate = New
		case !was.Gone.IsZero() && (fate == "" || fate == Vanished && was.To.IsZero() || fate == Moved && was.To == k.To):
			continue // it was gone before, which the round may have asked anew as a link leads to it
		case !was.Gone.IsZero() && (fate == Unchanged || fate == Changed):
			fate = Returned
		case fate == "":
			fate = NotAsked
		}
		list = append(list, Change{fate, k, was})
	}
	order := Fates()
	slices.SortStableFunc(list, func(a, b Change) int {
		if d := slices.Index(order, a.Fate) - slices.Index(order, b.Fate); d != 0 {
			return d
		}
		return rank(b) - rank(a)
	})
	return list
}

// rank is 1 for pages that are or were relevant.
func rank(c Change) int {
	if c.Page.Relevant || c.Was.Relevant {
		return 1
	}
	return 0
}

// Summary is the report in lines. It is empty where the round had no pages before it.
func (r *Round) Summary() []string {
	order := Fates()
	count, relevant := make([]int, len(order)), make([]int, len(order))
	came, went := 0, 0
	for _, c := range r.Changes() {
		i := slices.Index(order, c.Fate)
		count[i]++
		relevant[i] += rank(c)
		if c.Fate == Changed && c.Page.Relevant && !c.Was.Relevant {
			came++
		}
		if c.Fate == Changed && !c.Page.Relevant && c.Was.Relevant {
			went++
		}
	}
	var lines []string
	for i, f := range order {
		line := fmt.Sprintf("%-12s %d", strings.ReplaceAll(string(f), "-", " "), count[i])
		var more []string
		if relevant[i] > 0 {
			more = append(more, fmt.Sprintf("%d of them relevant", relevant[i]))
		}
		if f == Unchanged && r.NotModified > 0 {
			more = append(more, fmt.Sprintf("the server said so of %d", r.NotModified))
		}
		if f == Changed && came > 0 {
			more = append(more, fmt.Sprintf("%d became relevant", came))
		}
		if f == Changed && went > 0 {
			more = append(more, fmt.Sprintf("%d are no longer", went))
		}
		if len(more) > 0 {
			line += " (" + strings.Join(more, ", ") + ")"
		}
		lines = append(lines, line)
	}
	if s := r.said; s.Changed > 0 {
		lines = append(lines, fmt.Sprintf("Sitemaps and feeds said of %d of the visited pages that they had changed: %d had", s.Changed, s.Came))
	}
	if s := r.said; s.Unchanged > 0 {
		lines = append(lines, fmt.Sprintf("Sitemaps and feeds said of %d of the visited pages that they had not changed: %d had not", s.Unchanged, s.Kept))
	}
	return lines
}

// WriteTSV writes all pages with what became of them:
//
//	fate  relevance  before  changes  visits  url  title  to  told
//
// relevance and before are those of the last visit and of the one before this round;
// changes and visits are counted over all rounds; to is where a page has moved, and told is when it changed,
// as a sitemap or a feed told before this round visited it. Each text is an
// event.Cell.
func (r *Round) WriteTSV(out io.Writer) error {
	var b strings.Builder
	b.WriteString("fate\trelevance\tbefore\tchanges\tvisits\turl\ttitle\tto\ttold\n")
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
	for _, c := range r.Changes() {
		before := ""
		if c.Fate != New {
			before = number(c.Was.Relevance)
		}
		fields := []string{
			string(c.Fate), number(c.Page.Relevance), before, strconv.Itoa(c.Page.Changes), strconv.Itoa(c.Page.Visits),
			event.Cell(c.Page.URL.String()), event.Cell(c.Page.Title), event.Cell(c.Page.To.String()),
			event.Cell(string(r.told[c.Page.URL])),
		}
		b.WriteString(strings.Join(fields, "\t") + "\n")
		if b.Len() > 1<<16 {
			if _, err := io.WriteString(out, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
