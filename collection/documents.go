package collection

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Documents are the documents of an archive, taken one by one in the order in which
// the log tells of their pages, as archive and log have the same order but for what
// was repaired.
type Documents struct {
	// Damage, unless nil, is told each record that cannot be read.
	Damage func(*store.Damage)

	next   func() (placedPage, error, bool)
	stop   func()
	number func(web.URL) (int, bool)
	held   map[int]placedPage // read before their turn
	ended  bool
	at     Place
}

// ahead bounds how many documents are held until the log comes to them.
const ahead = 64

// Documents gives those from a place on. number tells the number of the page of an
// address, in the order of the log, and whether it is wanted. It is called by several
// goroutines. Close must be called.
func (c Collection) Documents(ctx context.Context, p crawl.Parser, from Place, number func(web.URL) (n int, ok bool)) *Documents {
	d := &Documents{number: number, held: map[int]placedPage{}, at: from}
	d.next, d.stop = iter.Pull2(c.placedPages(ctx, p, from, func(u web.URL) bool { _, ok := number(u); return ok }))
	return d
}

// Close ends the reading.
func (d *Documents) Close() { d.stop() }

// At is the place of the document that was given last, from which another reading may
// go on.
func (d *Documents) At() Place { return d.at }

// Take is the document of a page, nil if there is none that can be read. Numbers must
// rise.
func (d *Documents) Take(number int, f event.Fetched) (*web.Page, error) {
	right := func(p placedPage) bool {
		return p.Page != nil && p.URL == f.URL && hex.EncodeToString(p.Digest[:]) == f.Digest
	}
	if p := d.held[number]; right(p) {
		delete(d.held, number)
		return p.Page, nil
	}
	for !d.ended && len(d.held) < ahead {
		p, err, ok := d.next()
		var damage *store.Damage
		var unparsed *ParseError
		switch {
		case !ok:
			d.ended = true
			continue
		case errors.As(err, &damage):
			if d.Damage != nil {
				d.Damage(damage)
			}
			continue
		case errors.As(err, &unparsed):
			continue // its page is told to have no document
		case err != nil:
			return nil, err
		}
		at, known := d.number(p.URL)
		switch {
		case !known || at < number:
		case at > number:
			d.held[at] = p
		case right(p):
			d.at = p.at
			return p.Page, nil
		}
	}
	for at := range d.held {
		if at <= number {
			delete(d.held, at) // another body of an address that was asked for again
		}
	}
	return nil, nil
}
