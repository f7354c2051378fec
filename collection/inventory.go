package collection

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// What archive and log hold is compared by the hashes of addresses, so that a
// million pages cost some tens of megabytes. Two addresses of one hash are one to
// it: the chance that a million addresses hold such a pair is 1 in 37 million.

func hashOf(address string) uint64 { return xxh3.HashString(address) }

// tally counts what the log tells of an address and what the archive holds of it.
type tally struct {
	pages   uint16 // fetched, and to be in the archive
	free    uint16 // fetched, and asked not to be kept: the archive may have it
	answers uint16 // answered by other than a page; the archive has those as well
	final   bool   // it will not be fetched again

	keptPages, keptAnswers uint16 // in the archive
	keptBare               uint16 // responses in the archive whose metadata cannot be read
}

// add counts an event.
func (t *tally) add(e event.Event) {
	switch e := e.(type) {
	case event.Fetched:
		t.final = true
		if mustKeep(e) {
			t.pages++
		} else {
			t.free++
		}
	case event.Failed:
		t.final = t.final || !e.Retry
		if answered(e) {
			t.answers++
		}
	}
}

// count takes an event into the tallies of its addresses: the outcome of a visit, or
// seeds that enter once more after they had failed.
func count(tallies map[uint64]tally, e event.Event) {
	if s, ok := e.(event.Seeded); ok {
		for _, f := range s.Queued {
			h := hashOf(f.URL.String())
			if t, known := tallies[h]; known {
				t.final = false
				tallies[h] = t
			}
		}
	}
	if u := visited(e); !u.IsZero() {
		h := hashOf(u.String())
		t := tallies[h]
		t.add(e)
		tallies[h] = t
	}
}

// repeats finds lines of a log that are the same as the line before them, as a faulty
// copy leaves them. Each line tells its moment, so no two are the same otherwise.
type repeats struct{ last uint64 }

func (r *repeats) find(e event.Entry) bool {
	line, before := xxh3.Hash(e.Line), r.last
	r.last = line
	return line == before
}

const saidOfRepeat = "the line is there more than once"

// keep counts an exchange of the archive.
func (t *tally) keep(x exchange) {
	if x.meta.Page {
		t.keptPages++
	} else {
		t.keptAnswers++
	}
}

// unlogged is how many exchanges of a kind the archive holds that the log does not
// tell of; missing how many it should hold and does not.
func (t *tally) unlogged(page bool) int {
	if page {
		return int(t.keptPages) - int(t.pages) - int(t.free)
	}
	return int(t.keptAnswers) - int(t.answers)
}

func (t *tally) missing() int {
	return max(0, max(0, int(t.pages)-int(t.keptPages))+max(0, int(t.answers)-int(t.keptAnswers))-int(t.keptBare))
}

// mustKeep tells pages that did not ask to be left out of the archive.
func mustKeep(e event.Fetched) bool {
	return e.Reason != web.ReasonNoIndex && !e.Directives.NoIndex && !e.Directives.NoArchive
}

// answered tells failures of which the archive keeps a response.
func answered(e event.Failed) bool { return e.Status != 0 && e.Reason != web.ReasonRecord }

// visited is the address an event is the outcome of, zero if it is none.
func visited(e event.Event) web.URL {
	switch e := e.(type) {
	case event.Fetched:
		return e.URL
	case event.Failed:
		return e.URL
	}
	return web.URL{}
}

// exchange is one as the archive holds it: a response with its metadata.
type exchange struct {
	file string
	at   int64 // where the record of the response begins, or that of its rendering before it
	url  string
	meta store.Meta
	date time.Time // of the request
}

// exchangesBehind counts the exchanges of the archive behind a place in its file of a number: a process that
// died leaves one at most.
func exchangesBehind(ctx context.Context, files []archiveFile, number int, end int64) (n int, err error) {
	for _, f := range files {
		if f.number < number || f.number == number && f.size <= end {
			continue
		}
		for p, err := range store.Pieces(f.path, -1) {
			if err := errors.Join(err, ctx.Err()); err != nil {
				return n, err
			}
			if (f.number > number || p.Offset >= end) && endsExchange(p) {
				n++
			}
		}
	}
	return n, nil
}

// endsExchange tells the record with which an exchange ends, whatever of it is there: as store.Behind counts
// the exchanges behind a mark.
func endsExchange(p store.Piece) bool { return p.Damage == nil && p.Type == "metadata" }

// walker reads archive files piece by piece and puts exchanges together, of which
// it also gives the pieces, with those of robots.txt fetched on the way. All of its
// functions must be set.
type walker struct {
	piece    func(store.Piece) error
	exchange func(x exchange, group []store.Piece) error
	// orphan is a response without metadata, with the pieces around it that
	// belong to it; headless is metadata without its response.
	orphan   func(url string, group []store.Piece) error
	headless func(store.Piece) error

	group []store.Piece // whole records since the last metadata
}

// walk reads a file up to end, all of it if end is negative.
func (w *walker) walk(path string, end int64) error {
	w.group = w.group[:0]
	for p, err := range store.Pieces(path, end) {
		if err != nil {
			return err
		}
		if err := w.piece(p); err != nil {
			return err
		}
		if err := w.take(p); err != nil {
			return err
		}
	}
	return w.endGroup()
}

func (w *walker) take(p store.Piece) error {
	switch {
	case p.Damage != nil || p.Type == "warcinfo":
		return nil
	case p.Type != "metadata" || p.Beside == "":
		w.group = append(w.group, p)
		return nil
	}
	var response *store.Piece
	for i := range w.group {
		if g := &w.group[i]; holdsResponse(g.Type) && g.ID == p.Beside {
			response = g
		}
	}
	if response == nil {
		return w.headless(p)
	}
	if p.BadMeta != nil {
		return w.endGroup()
	}
	begins := response.Offset
	for _, g := range w.group {
		if g.Type == "conversion" && g.Beside == response.ID {
			begins = g.Offset
		}
	}
	group, orphans := w.split(response.ID)
	if err := w.exchange(exchange{p.File, begins, p.Target, p.Meta, p.Date}, append(group, p)); err != nil {
		return err
	}
	return w.endOrphans(orphans)
}

// endGroup ends pieces that have no metadata.
func (w *walker) endGroup() error {
	_, orphans := w.split("")
	return w.endOrphans(orphans)
}

// split parts the pieces since the last metadata: those of the exchange whose response
// is told, with those of robots.txt and of what the page asked for on the way, and those of
// each other response, which are orphans.
func (w *walker) split(told string) (group []store.Piece, orphans [][]store.Piece) {
	of := map[string]int{} // the orphan of a response
	for _, g := range w.group {
		if holdsResponse(g.Type) && g.ID != told && !g.Asked && !isRobots(g.Target) {
			of[g.ID] = len(orphans)
			orphans = append(orphans, nil)
		}
	}
	for _, p := range w.group {
		i, orphan := of[p.ID]
		if !orphan {
			i, orphan = of[p.Beside]
		}
		if orphan {
			orphans[i] = append(orphans[i], p)
		} else {
			group = append(group, p)
		}
	}
	return group, orphans
}

func (w *walker) endOrphans(orphans [][]store.Piece) error {
	for _, own := range orphans {
		for _, p := range own {
			if !holdsResponse(p.Type) {
				continue
			}
			if err := w.orphan(p.Target, own); err != nil {
				return err
			}
		}
	}
	w.group = w.group[:0]
	return nil
}

func isRobots(address string) bool {
	u, err := web.Parse(address)
	return err == nil && strings.EqualFold(u.Path(), "/robots.txt")
}

// inFolder is a path as it is named within the folder of the crawl.
func (c Collection) inFolder(path string) string {
	if rel, err := filepath.Rel(c.dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}
