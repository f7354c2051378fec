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
// them the links are followed, and which pages are relevant or left out. What cannot be read ends
// the crawl before anything is decided by it.
func TestKnownPagesInFiles(t *testing.T) {
	var broken error
	files := func() (bigmap.File, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return scratchFile{f, &broken}, err
	}
	memory, disk := NewStep(Policy{}, &renewedScorer{}, nil), NewStep(Policy{}, &renewedScorer{}, nil)
	memory.notes = bigmap.New(8, nil)
	disk.bodies, disk.notes = bigmap.New(8, files), bigmap.New(8, files)
	arrive := func(s *Step, i int) event.Fetched {
		a := pageWith(t, fmt.Sprintf("h%d.example/%d", i%3, i))
		body := uint64(i) * 0x9e3779b97f4a7c15
		if i%5 == 4 {
			body = uint64(i%7) * 0x9e3779b97f4a7c15 // as one of the first pages has it
		}
		binary.BigEndian.PutUint64(a.Page.Digest[:], body)
		a.Verdict.Relevant = i%2 == 0
		out, err := s.Arrive(time.Unix(int64(i), 0), a, everyLink)
		if err != nil {
			t.Fatal(err)
		}
		return out.Event.(event.Fetched)
	}
	reasons := map[web.Reason]int{}
	for i := range 200 {
		got, want := arrive(disk, i), arrive(memory, i)
		if got.Reason != want.Reason || len(got.Queued) != len(want.Queued) {
			t.Fatalf("page %d: %q and %d links, want %q and %d", i, got.Reason, len(got.Queued), want.Reason, len(want.Queued))
		}
		reasons[want.Reason]++
		u := want.URL
		if disk.noted(u, notedRelevant) != memory.noted(u, notedRelevant) || disk.leftOut(u) != memory.leftOut(u) {
			t.Fatalf("page %d is noted otherwise", i)
		}
	}
	if reasons[web.ReasonDuplicate] != 39 || reasons[""] != 161 {
		t.Errorf("pages by reason: %v", reasons)
	}
	d := &driver{step: disk}
	broken = errors.New("input/output error")
	arrive(disk, 0)
	if err := d.settle(t.Context(), time.Unix(200, 0), nil, Outcome{}); !errors.Is(err, broken) {
		t.Errorf("the crawl goes on: %v", err)
	}
	disk.forget()
}
