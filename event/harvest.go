package event

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Harvest folds the events of a crawl into the list of its relevant pages.
// The zero Harvest is empty.
type Harvest struct{ pages []Harvested }

// Harvested is a relevant page.
type Harvested struct {
	URL       web.URL
	Relevance float64 // [0,1]
	Title     string  // as Line gives it
	Depth     int     // links from a seed
	From      web.URL // the page it was found on, zero for a seed
	At        time.Time
}

// Add takes the next event of the crawl; what was told anew of pages is for
// Renewed.
func (h *Harvest) Add(e Event) {
	if p, ok := HarvestedOf(e); ok {
		h.pages = append(h.pages, p)
	}
}

// HarvestedOf is the relevant page that an event tells of, if it tells of one.
func HarvestedOf(e Event) (page Harvested, ok bool) {
	p, ok := e.(Fetched)
	if !ok || !p.Relevant || p.Reason != "" {
		return page, false
	}
	return Harvested{p.URL, p.Relevance, Line(p.Title), p.Depth, p.From, p.At.At}, true
}

// Len is the number of pages.
func (h *Harvest) Len() int { return len(h.pages) }

// Pages returns the pages, most relevant first, equal ones as they were fetched.
func (h *Harvest) Pages() []Harvested {
	out := slices.Clone(h.pages)
	slices.SortStableFunc(out, func(a, b Harvested) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return out
}

// WriteTSV writes the pages in the order of Pages, each as AppendTSV has it, under
// HarvestColumns.
func (h *Harvest) WriteTSV(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(HarvestColumns + "\n")
	var b []byte
	for _, p := range h.Pages() {
		b = p.AppendTSV(b[:0])
		out.Write(append(b, '\n'))
	}
	return out.Flush()
}

// HarvestColumns are the names of the columns of a harvest as a table.
const HarvestColumns = "relevance\turl\ttitle\tdepth\tfrom\tat"

// AppendTSV appends the page as a row of HarvestColumns, without a line end: relevance
// has four decimals, at is as RFC 3339 has it. No field holds a tab, a line break or an
// escape sequence, and none is taken for a formula by a spreadsheet: each text is a Cell.
func (p *Harvested) AppendTSV(b []byte) []byte {
	b = strconv.AppendFloat(b, p.Relevance, 'f', 4, 64)
	for _, field := range []string{
		Cell(p.URL.String()), Cell(p.Title), strconv.Itoa(p.Depth), Cell(p.From.String()),
		p.At.UTC().Format(time.RFC3339),
	} {
		b = append(b, '\t')
		b = append(b, field...)
	}
	return b
}
