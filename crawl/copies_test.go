package crawl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// scratchFile is a file that can be read until broken is set.
type scratchFile struct {
	*os.File
	broken *error
}

func (f scratchFile) ReadAt(b []byte, at int64) (int, error) {
	if *f.broken != nil {
		return 0, *f.broken
	}
	return f.File.ReadAt(b, at)
}

// What is known of pages says the same in files as in memory: which pages are copies, of which of
// them the links are followed, and which pages are relevant or left out.
func TestKnownPagesInFiles(t *testing.T) {
	files := func() (bigmap.File, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return scratchFile{f, new(error)}, err
	}
	memory, disk := NewStep(Policy{}, anchorScorer{}, nil), NewStep(Policy{}, anchorScorer{}, nil)
	memory.notes = bigmap.New(8, nil)
	disk.bodies, disk.notes = bigmap.New(8, files), bigmap.New(8, files)
	defer disk.forget()
	const mix = 0x9e3779b97f4a7c15
	arrive := func(s *Step, i int) event.Fetched {
		host := i % 3
		body := uint64(i+1) * mix
		if i%5 == 4 { // as one of seven pages of two hosts had it, up to six times
			body, host = uint64(i%7+1)*mix, i%2
		}
		a := pageWith(t, fmt.Sprintf("h%d.example/%d", host, i), fmt.Sprintf("h%d.example/to/%d 0.5", host, i))
		binary.BigEndian.PutUint64(a.Page.Digest[:], body)
		a.Verdict.Relevant = i%2 == 0
		out, err := s.Arrive(time.Unix(int64(i), 0), a, everyLink)
		if err != nil {
			t.Fatal(err)
		}
		return out.Event.(event.Fetched)
	}
	var pages []web.URL
	copies, followed := 0, 0
	for i := range 200 {
		got, want := arrive(disk, i), arrive(memory, i)
		if got.Reason != want.Reason || len(got.Queued) != len(want.Queued) {
			t.Fatalf("page %d: %q and %d links, want %q and %d", i, got.Reason, len(got.Queued), want.Reason, len(want.Queued))
		}
		if want.Reason == web.ReasonDuplicate {
			copies++
			followed += len(want.Queued)
		}
		pages = append(pages, want.URL)
	}
	if copies != 39 || followed == 0 || followed == copies {
		t.Errorf("%d copies, %d of which had their links followed", copies, followed)
	}
	for i, u := range pages { // judged anew
		if i%10 == 0 {
			disk.noteVerdict(u, i%4 != 0, "")
			memory.noteVerdict(u, i%4 != 0, "")
		}
	}
	relevant, out := 0, 0
	for i, u := range pages {
		if disk.noted(u, notedRelevant) != memory.noted(u, notedRelevant) || disk.leftOut(u) != memory.leftOut(u) {
			t.Fatalf("page %d is noted otherwise", i)
		}
		if memory.noted(u, notedRelevant) {
			relevant++
		}
		if memory.leftOut(u) {
			out++
		}
	}
	if relevant == 0 || relevant == len(pages) || out != copies {
		t.Errorf("%d pages are relevant and %d left out", relevant, out)
	}
}

// What cannot be read ends the crawl before anything is decided by it.
func TestKnownPagesCannotBeRead(t *testing.T) {
	for _, kind := range []string{"bodies", "notes"} {
		t.Run(kind, func(t *testing.T) {
			var broken error
			known := bigmap.New(8, func() (bigmap.File, error) {
				f, err := os.CreateTemp(t.TempDir(), "")
				return scratchFile{f, &broken}, err
			})
			s := NewStep(Policy{}, anchorScorer{}, nil)
			defer s.forget()
			if kind == "bodies" {
				s.bodies = known
			} else {
				s.notes = known
			}
			for i := range 8 {
				u := addressOf(t, fmt.Sprintf("h.example/%d", i))
				s.countBody(u, [16]byte{byte(i + 1)})
				s.noteVerdict(u, true, "")
			}
			d := &driver{step: s}
			broken = errors.New("input/output error")
			s.countBody(addressOf(t, "h.example/0"), [16]byte{1})
			s.noted(addressOf(t, "h.example/0"), notedRelevant)
			if err := d.settle(t.Context(), time.Unix(0, 0), nil, Outcome{}); !errors.Is(err, broken) {
				t.Errorf("the crawl goes on: %v", err)
			}
		})
	}
}
