package frontiertest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// plain is another frontier than those of package frontier: in memory, and without any
// order among the hosts of a site. It shows what a frontier needs to pass the suite,
// and that the suite's own model holds to the transcripts.
type plain struct {
	*frontiertest.Model
	closed bool
	broken error
}

func TestPlainFrontier(t *testing.T) {
	frontiertest.Run(t, frontiertest.Maker{
		New: func(o frontiertest.Options) (frontiertest.Frontier, error) {
			return &plain{Model: frontiertest.NewModel(o)}, nil
		},
		Unshared: true,
	})
}

func (p *plain) usable(ctx context.Context) error {
	if p.closed {
		return errors.New("the frontier is closed")
	}
	if p.broken != nil {
		return p.broken
	}
	return ctx.Err()
}

func (p *plain) Preview(ctx context.Context, forget []web.URL, found []web.Candidate) ([]web.Admission, error) {
	if err := p.usable(ctx); err != nil {
		return nil, err
	}
	return p.Model.Preview(forget, found), nil
}

func (p *plain) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	if err := errors.Join(p.usable(ctx), check(turn)); err != nil {
		return web.Receipt{}, err
	}
	if turn.First != nil {
		var state map[string][]byte
		if state, p.broken = turn.First(); p.broken != nil {
			return web.Receipt{}, p.broken
		}
		own := maps.Clone(turn.State)
		if own == nil {
			own = state
		}
		maps.Copy(own, state)
		turn.State = own
	}
	return p.Model.Commit(turn), nil
}

func (p *plain) Unwritten(int) (int, error) { return 0, p.broken }

// check refuses what no frontier takes.
func check(turn web.Turn) error {
	for _, c := range slices.Concat(turn.Add, turn.Retry) {
		if c.URL.IsZero() || math.IsNaN(c.Priority) || c.Depth < 0 {
			return fmt.Errorf("candidate %+v", c)
		}
	}
	for _, u := range slices.Concat(turn.Forget, turn.Done, turn.Leave) {
		if u.IsZero() {
			return errors.New("an address is missing")
		}
	}
	for _, s := range turn.Hosts {
		if s.Host == "" {
			return errors.New("the name of a host is missing")
		}
	}
	return nil
}

func (p *plain) Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	if err := p.usable(ctx); err != nil {
		return nil, err
	}
	return p.Model.Lease(now, n, among, rescore), nil
}

// Rescore goes through the addresses in their order: the place is the last of a slice.
func (p *plain) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) (next []byte, err error) {
	if err := p.usable(ctx); err != nil {
		return nil, err
	}
	var urls []web.URL
	for _, c := range p.Waiting() {
		if strings.Compare(c.URL.String(), string(from)) > 0 {
			urls = append(urls, c.URL)
		}
	}
	slices.SortFunc(urls, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
	if len(urls) > n {
		urls = urls[:n]
		next = []byte(urls[n-1].String())
	}
	p.Model.Rescore(func(c *web.Candidate) float64 {
		if !slices.Contains(urls, c.URL) {
			return c.Priority
		}
		return score(c)
	})
	return next, nil
}

func (p *plain) StateNames(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range p.Model.StateNames(prefix) {
			if !yield(name, p.usable(ctx)) {
				return
			}
		}
	}
}

func (p *plain) State(ctx context.Context, name string) ([]byte, error) {
	return p.Model.State(name), p.usable(ctx)
}

func (p *plain) Share(int, time.Duration) {}

func (p *plain) Revise(ctx context.Context, revise func(*web.HostState)) error {
	p.Model.Revise(revise)
	return p.usable(ctx)
}

func (p *plain) Close() error {
	p.closed = true
	return nil
}
