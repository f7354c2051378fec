package notice

import (
	"path/filepath"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/view"
)

// View returns a view that shows what v shows, and tells of the moments of the crawl in
// dir.
func (s *Sender) View(v view.View, dir string) view.View {
	if s == nil {
		return v
	}
	earlier, now := s.Hear(dir)
	return &tellingView{v, earlier, now}
}

// Hear returns what takes the events of a crawl in dir: those of earlier runs, whose moments
// are over, and those of this run.
func (s *Sender) Hear(dir string) (earlier, now func(event.Event)) {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	var watch Watch
	return func(e event.Event) { watch.Add(e) }, func(e event.Event) {
		for _, n := range watch.Add(e) {
			n.Folder = dir
			s.Send(n)
		}
	}
}

// tellingView is a view that also tells.
type tellingView struct {
	view.View
	earlier, now func(event.Event)
}

// Recall takes an event of an earlier run.
func (v *tellingView) Recall(e event.Event) {
	v.earlier(e)
	v.View.Recall(e)
}

// Add takes an event of this run.
func (v *tellingView) Add(e event.Event) {
	v.now(e)
	v.View.Add(e)
}
