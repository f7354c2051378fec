package frontier

import (
	"context"

	"github.com/waggle-crawler/waggle/web"
)

// revisePiece is how many hosts Revise changes at a time.
const revisePiece = 10_000

// Revise shows the state of every host, in the order in which they were met, and
// stores what revise changes of it; the name must stay. It looks at
// every host, so it is to be called seldom. Where the process dies in it, some may have
// changed and others not.
func (f *Frontier) Revise(ctx context.Context, revise func(s *web.HostState)) error {
	if err := f.usable(ctx); err != nil {
		return err
	}
	var touched []*host
	end := func() error {
		if err := f.backend.commit(change{next: f.next, quick: true}); err != nil {
			return err
		}
		for _, h := range touched {
			if err := f.place(h); err != nil {
				return err
			}
		}
		touched = touched[:0]
		return f.cool()
	}
	err := f.eachHost(func(id uint32, was web.HostState) error {
		s := was
		if revise(&s); s == was {
			return nil
		}
		h, err := f.at(id)
		if err != nil {
			return err
		}
		s.Host = h.state.Host
		h.state = s
		f.backend.setHost(h)
		if touched = append(touched, h); len(touched) < revisePiece {
			return nil
		}
		return end()
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// eachHost calls do with the states of all hosts, by their numbers.
func (f *Frontier) eachHost(do func(id uint32, s web.HostState) error) error {
	if f.cold == nil {
		for id := range f.named {
			h := f.hosts[id]
			if err := do(h.id, h.state); err != nil {
				return err
			}
		}
		return nil
	}
	return f.cold.store.eachHost(func(id uint32, s web.HostState) error {
		if h := f.hosts[id]; h != nil {
			s = h.state
		}
		return do(id, s)
	})
}
