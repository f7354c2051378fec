package frontier

import (
	"context"

	"github.com/waggle-crawler/waggle/web"
)

// Revise shows the state of every host, in the order in which they were met, and
// stores what revise changes of it; the name must stay. It is for the beginning
// and the end of a run: it looks at every host.
func (f *Frontier) Revise(ctx context.Context, revise func(s *web.HostState)) error {
	if err := f.usable(ctx); err != nil {
		return err
	}
	var touched []*host
	for _, h := range f.hosts {
		s := h.state
		if revise(&s); s != h.state {
			s.Host = h.state.Host
			h.state = s
			f.shelf.setHost(h)
			touched = append(touched, h)
		}
	}
	if err := f.shelf.commit(f.next, true); err != nil {
		return f.fail(err)
	}
	for _, h := range touched {
		if err := f.place(h); err != nil {
			return f.fail(err)
		}
	}
	return nil
}
