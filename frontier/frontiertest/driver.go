package frontiertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Driver makes random calls of a frontier and of a model.
type Driver struct {
	Draw func(n int, what string) int // a number in [0, n)
	Now  time.Time
	// Later gives turns a First, so that a frontier may write them while it is asked on.
	Later bool
	out   []web.Lease // leased, as far as the driver knows
	given int         // Firsts
	begun int         // of these, those that ran
}

// Addresses is how many addresses a Driver plays with, Hosts on how many hosts.
const (
	Addresses = 60
	Hosts     = 5
)

// URL is the i-th address, 0 ≤ i < Addresses.
func URL(i int) web.URL {
	u, err := web.Parse(fmt.Sprintf("http://h%d.example/%d", i%Hosts, i))
	if err != nil {
		panic(err)
	}
	return u
}

func (d *Driver) candidate() web.Candidate {
	c := web.Candidate{
		URL:       URL(d.Draw(Addresses, "address")),
		Kind:      []web.LinkKind{web.LinkA, web.LinkSeed, "odd"}[d.Draw(3, "kind")],
		Depth:     d.Draw(4, "depth"),
		Redirects: d.Draw(2, "redirects"),
		Tries:     d.Draw(2, "tries"),
		// A few values, so that ties are common; negative ones too.
		Priority: float64(d.Draw(9, "priority")-4) / 4,
	}
	if d.Draw(2, "from") == 0 {
		c.From = URL(d.Draw(Addresses, "source"))
	}
	if n := d.Draw(3, "features"); n > 0 {
		c.Features = []byte{byte(n), 0, 255}
	}
	if d.Draw(3, "memory") == 0 {
		c.Memory = []byte("memory")
	}
	return c
}

func (d *Driver) candidates(most int) []web.Candidate {
	cs := make([]web.Candidate, d.Draw(most+1, "links"))
	for i := range cs {
		cs[i] = d.candidate()
	}
	return cs
}

// score is a scoring function: pure, and different from draw to draw.
func (d *Driver) score() func(*web.Candidate) float64 {
	salt := d.Draw(7, "salt")
	return func(c *web.Candidate) float64 {
		n := salt * len(c.URL.String())
		for _, b := range []byte(c.URL.String()) {
			n = (n*31 + int(b) + salt) % 1009
		}
		return float64(n%9-4) / 4
	}
}

// Turn draws a Turn.
func (d *Driver) Turn() (t web.Turn) {
	if d.Draw(6, "forget") == 0 {
		t.Forget = append(t.Forget, URL(d.Draw(Addresses, "address")), URL(d.Draw(Addresses, "address")))
	}
	t.Add = d.candidates(12)
	for _, l := range d.out {
		switch d.Draw(4, "outcome") {
		case 0:
			t.Done = append(t.Done, l.URL)
		case 1:
			again := l.Candidate
			again.Tries++
			again.Priority -= 0.25
			t.Retry = append(t.Retry, again)
		case 2:
			t.Done = append(t.Done, l.URL)
			t.Hosts = append(t.Hosts, web.HostState{
				Host: l.URL.Host(), Due: d.Now.Add(time.Duration(d.Draw(20, "delay")) * time.Second),
				Fetched: l.Host.Fetched + 1, Failures: d.Draw(2, "failures"), Barren: d.Draw(2, "barren"),
				Silent: d.Draw(2, "silent") == 0, Down: d.Draw(3, "down") == 0, Slow: d.Draw(2, "slow"),
				Since:   []time.Time{{}, d.Now}[d.Draw(2, "since")],
				Renders: [web.RenderKinds]web.Renders{1: {Pages: 3 * d.Draw(2, "renders"), Done: 2, Gained: 1}},
			})
		}
	}
	if d.Draw(6, "done unseen") == 0 {
		t.Done = append(t.Done, URL(d.Draw(Addresses, "address")))
	}
	if d.Draw(8, "retry unleased") == 0 {
		t.Retry = append(t.Retry, d.candidate())
	}
	if d.Draw(6, "leave") == 0 {
		t.Leave = append(t.Leave, URL(d.Draw(Addresses, "address")), URL(d.Draw(Addresses, "address")))
	}
	if d.Draw(10, "drop") == 0 {
		t.Drop = append(t.Drop, URL(d.Draw(Hosts, "host")).Host())
	}
	if d.Draw(5, "state") == 0 {
		t.State = map[string][]byte{fmt.Sprint("s", d.Draw(2, "name")): []byte(fmt.Sprint(d.Draw(100, "value")))}
	}
	return t
}

// first gives a turn a First, which returns a state, and fails where it is not the next to run.
func (d *Driver) first(t *web.Turn) (state map[string][]byte) {
	if !d.Later || d.Draw(4, "later") == 0 {
		return nil
	}
	if t.State == nil {
		t.State = map[string][]byte{}
	}
	d.given++
	number := d.given
	state = map[string][]byte{fmt.Sprint("s", d.Draw(2, "name")): fmt.Append(nil, "first ", number)}
	t.First = func() (map[string][]byte, error) {
		for range 20 {
			runtime.Gosched() // others decide meanwhile
		}
		if d.begun++; d.begun != number {
			return nil, fmt.Errorf("the First of turn %d is the %dth to run", number, d.begun)
		}
		return maps.Clone(state), nil
	}
	return state
}

// Step makes one random call of both and returns how they differ.
func (d *Driver) Step(f Frontier, m *Model) error {
	ctx := context.Background()
	switch d.Draw(9, "call") {
	case 0:
		found := d.candidates(10)
		got, err := f.Preview(ctx, nil, found)
		if err := differ("Preview", got, m.Preview(nil, found), err); err != nil {
			return err
		}
	case 1, 2, 3:
		t := d.Turn()
		preview, err := f.Preview(ctx, t.Forget, t.Add)
		if err != nil {
			return err
		}
		first := d.first(&t)
		got, err := f.Commit(ctx, t)
		t.State = maps.Clone(t.State) // the frontier may still read that of the turn
		maps.Copy(t.State, first)
		want := m.Commit(t)
		if err == nil && d.Later && d.Draw(4, "unwritten") == 0 {
			_, err = f.Unwritten(d.Draw(5, "most"))
		}
		if err := differ("Commit", receipt(got), receipt(want), err); err != nil {
			return err
		}
		if err := differ("Preview and Commit", preview, got.Added, nil); err != nil {
			return err
		}
		d.out = d.leased(m)
	case 4, 5, 6:
		d.Now = d.Now.Add(time.Duration(d.Draw(15, "wait")-2) * time.Second)
		var rescore func(*web.Candidate) float64
		if d.Draw(2, "rescore") == 0 {
			rescore = d.score()
		}
		n, among := d.Draw(4, "n"), d.Draw(8, "among")
		got, err := f.Lease(ctx, d.Now, n, among, rescore)
		if err := differ("Lease", leases(got), leases(m.Lease(d.Now, n, among, rescore)), err); err != nil {
			return err
		}
		d.out = d.leased(m)
	case 7:
		if d.Draw(3, "all") > 0 {
			return nil
		}
		score := d.score()
		m.Rescore(score)
		if _, err := sweep(f, 1+d.Draw(7, "slice"), score); err != nil {
			return fmt.Errorf("Rescore: %w", err)
		}
	case 8:
		name := fmt.Sprint("s", d.Draw(2, "name"))
		b, err := f.State(ctx, name)
		if err := differ("State", string(b), m.blobs[name], err); err != nil {
			return err
		}
		prefix := []string{"s", name}[d.Draw(2, "prefix")]
		var names []string
		for name, err := range f.StateNames(ctx, prefix) {
			if err != nil {
				return fmt.Errorf("StateNames: %w", err)
			}
			names = append(names, name)
		}
		if want := m.StateNames(prefix); !slices.Equal(names, want) {
			return fmt.Errorf("the names of states that begin with %q are %q, want %q", prefix, names, want)
		}
	}
	return Same(f, m, d.Now)
}

// leased returns what the model has leased, in order of address.
func (d *Driver) leased(m *Model) (out []web.Lease) {
	for _, l := range m.links {
		if l.how == leased {
			out = append(out, web.Lease{Candidate: l.Candidate, Host: m.states[l.URL.Host()]})
		}
	}
	slices.SortFunc(out, func(a, b web.Lease) int { return cmp.Compare(a.URL.String(), b.URL.String()) })
	return out
}
