package collection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// Workers are the workers of a crawl that several do, as that of a folder heard of them last.
// What they tell of themselves is theirs to answer for.
type Workers struct {
	At     time.Time     `json:"at"`      // by the clock of that worker, as all times but of what it never heard
	Term   time.Duration `json:"term_ns"` // how long nothing may be heard of one
	Shards int           `json:"shards"`  // there are
	Over   string        `json:"over,omitempty"`
	// Full is why nothing more is taken in of what people tell this folder; "" = it is.
	Full    string   `json:"full,omitempty"`
	Acts    int      `json:"acts,omitempty"` // that the crawl was told, as far as that worker knows
	Workers []Worker `json:"workers"`        // by name
	// Labels are the numbers of the acts that label a page which some worker has, in order,
	// as far as they tell.
	Labels []int `json:"labels,omitempty"`
}

// Worker is one of them.
type Worker struct {
	Name     string    `json:"name"`
	Machine  string    `json:"machine,omitempty"`
	Own      bool      `json:"own,omitempty"` // its folder is this one
	State    string    `json:"state"`         // running, idle, waiting, paused, leaving, left, lost
	Ended    string    `json:"ended,omitempty"`
	Heard    time.Time `json:"heard,omitzero"`
	Shards   int       `json:"shards"` // it holds
	Pages    int       `json:"pages"`
	Relevant int       `json:"relevant"`
	Speed    float64   `json:"speed"` // pages a second
	Waiting  int       `json:"waiting"`
	InFlight int       `json:"in_flight"`
}

// Bounds on what is read of other workers.
const (
	mostWorkersFile = 16 << 20 // bytes
	mostWorkers     = 10_000
	mostLabels      = 1 << 16
	mostWorkerText  = 200 // runes
	mostWorkerCount = 1 << 48
)

// WorkersFile is the path of workers.json: a Workers, while the worker of this folder runs
// and when it has left. It may go at any time.
func (c Collection) WorkersFile() string { return filepath.Join(c.dir, "workers.json") }

// SaveWorkers replaces workers.json. A power failure may leave it torn.
func (w *Writer) SaveWorkers(all Workers) error {
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	part := w.WorkersFile() + ".new"
	if err := os.WriteFile(part, b, 0o644); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, w.WorkersFile())
}

// Workers reads workers.json, within bounds and each text as one line; the error is
// fs.ErrNotExist where there is none.
func (c Collection) Workers() (all Workers, err error) {
	info, err := os.Stat(c.WorkersFile())
	if err != nil {
		return all, err
	}
	if !info.Mode().IsRegular() {
		return all, fmt.Errorf("%s is no file", c.WorkersFile())
	}
	f, err := os.Open(c.WorkersFile())
	if err != nil {
		return all, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostWorkersFile))
	if err != nil {
		return all, err
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return Workers{}, fmt.Errorf("%s cannot be read: %w", c.WorkersFile(), err)
	}
	all.Over, all.Full, all.Shards, all.Acts = short(all.Over), short(all.Full), bounded(all.Shards), bounded(all.Acts)
	all.Labels = all.Labels[:min(len(all.Labels), mostLabels)]
	all.Workers = all.Workers[:min(len(all.Workers), mostWorkers)]
	for i := range all.Workers {
		w := &all.Workers[i]
		for _, s := range []*string{&w.Name, &w.Machine, &w.State, &w.Ended} {
			*s = short(*s)
		}
		for _, n := range []*int{&w.Shards, &w.Pages, &w.Relevant, &w.Waiting, &w.InFlight} {
			*n = bounded(*n)
		}
		w.Speed = min(max(w.Speed, 0), mostWorkerCount)
	}
	return all, nil
}

// Unfound tells of an act that it labels a page which no worker is known to have.
func (all *Workers) Unfound(a event.Act) bool {
	return a.Absent && a.Refused == "" && !slices.Contains(all.Labels, a.Number)
}

// short is a text of another worker as one line.
func short(s string) string {
	r := []rune(event.Line(s))
	return string(r[:min(len(r), mostWorkerText)])
}

func bounded(n int) int { return min(max(n, 0), mostWorkerCount) }
