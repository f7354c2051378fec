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
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	return &tellingView{View: v, to: s, dir: dir}
}

// tellingView is a view that also tells.
type tellingView struct {
	view.View
	to    *Sender
	dir   string // of the crawl, absolute
	watch Watch
}

// Recall takes an event of an earlier run, whose moments are over.
func (v *tellingView) Recall(e event.Event) {
	v.watch.Add(e)
	v.View.Recall(e)
}

// Add takes an event of this run.
func (v *tellingView) Add(e event.Event) {
	for _, n := range v.watch.Add(e) {
		n.Folder = v.dir
		v.to.Send(n)
	}
	v.View.Add(e)
}
