package event

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Meets tells whether the log at path has what a is about. Of a label that is the page. Of a place it is
// an address there: of a page, of a fetch that failed, or of a link that was to be fetched, or would have been but for its being muted. The log is
// looked through from an offset on, which is where a line begins, for at most so many bytes, and
// a line more; 0 = to its end. behind is the offset after what was looked at, whole that nothing is left.
func Meets(path string, a *Act, from, most int64) (met bool, behind int64, whole bool, err error) {
	// Lines without these bytes are not decoded. What JSON writes otherwise ends them.
	place := a.Place
	if a.Label() {
		_, place, _ = strings.Cut(a.URL.String(), "://")
	}
	host, rest, _ := strings.Cut(place, "/")
	if i := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x80 || strings.ContainsRune(`&<>"\`, r) }); i >= 0 {
		rest = rest[:i]
	}
	needle := []byte(host + "/" + rest)
	want := func(line []byte) bool { return bytes.Contains(line, needle) }
	behind, whole = from, true
	readFile(path, from, want, func(e Entry, failed error) bool {
		switch err = failed; {
		case err != nil, errors.Is(e.Err, ErrTorn): // the latter may be being written
			return false
		case errors.Is(e.Err, ErrTooLong): // of which a part is given
			return true
		}
		behind = e.Offset + int64(len(e.Line))
		met = e.Err == nil && e.Event != nil && a.meets(e.Event)
		whole = most == 0 || behind-from < most
		return whole && !met
	})
	return met, behind, whole, err
}

// meets tells whether an event has the page of the act, or an address of its place.
func (a *Act) meets(e Event) bool {
	if a.Label() {
		page, ok := e.(Fetched)
		return ok && page.URL == a.URL
	}
	found := func(list []Found) bool {
		return slices.ContainsFunc(list, func(f Found) bool { return a.Has(f.URL) })
	}
	muted := func(list []Skipped) bool {
		return slices.ContainsFunc(list, func(s Skipped) bool { return s.Reason == web.ReasonMuted && a.Has(s.URL) })
	}
	switch e := e.(type) {
	case Fetched:
		return a.Has(e.URL) || found(e.Queued) || muted(e.Skipped)
	case Failed:
		return a.Has(e.URL) || e.Queued && a.Has(e.To)
	case Seeded:
		return found(e.Queued) || muted(e.Skipped)
	case Received:
		return found(e.Queued) || muted(e.Skipped)
	}
	return false
}
