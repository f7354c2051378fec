package shard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/web"
)

// fakeClock is a clock that a test moves.
type fakeClock struct{ now time.Time }

func (c *fakeClock) Now() time.Time { return c.now }

// TestTranscripts runs testdata/shard.txt. Each worker has a clock of its own. The term is 15 s.
//
//	new shards=n
//	join NAME [old=ID] [prefer=n,…] [clock=d]   a session NAME; its clock is d ahead of the others
//	tick NAME…        what each took, and is to give up
//	free NAME n…
//	leave NAME
//	die NAME
//	ages NAME…        forty terms and one pass, in which these do not rest
//	wait d [NAME…]    the clocks of these workers move on by d, without names those of all
//	valid NAME
//	holders           the shards of each worker, as it sees it
//	sessions NAME     what it has heard of
func TestTranscripts(t *testing.T) {
	var e *engine.Memory
	var count int
	members := map[string]*shard.Member{}
	clocks := map[string]*fakeClock{}
	var names []string
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	datadriven.RunTest(t, "testdata/shard.txt", func(t *testing.T, d *datadriven.TestData) (out string) {
		ctx := t.Context()
		arg := func(i int) string { return d.CmdArgs[i].Key }
		say := func(format string, args ...any) { out += fmt.Sprintf(format+"\n", args...) }
		switch d.Cmd {
		case "new":
			e, names = engine.NewMemory(), nil
			clear(members)
			clear(clocks)
			d.ScanArgs(t, "shards", &count)
		case "join":
			name := arg(0)
			o := shard.Options{Worker: "worker-" + name, ID: name, Shards: count}
			c := &fakeClock{now: start}
			for _, other := range names {
				c.now = clocks[other].now
			}
			for _, a := range d.CmdArgs[1:] {
				switch a.Key {
				case "old":
					o.Old = a.Vals[0]
				case "clock":
					ahead, _ := time.ParseDuration(a.Vals[0])
					c.now = c.now.Add(ahead)
				case "least":
					o.Least, _ = strconv.Atoi(a.Vals[0])
				case "prefer":
					for _, v := range a.Vals {
						n, _ := strconv.Atoi(v)
						o.Prefer = append(o.Prefer, n)
					}
				}
			}
			o.Clock = c
			m, err := shard.Join(ctx, e, o)
			if err != nil {
				return err.Error() + "\n"
			}
			members[name], clocks[name] = m, c
			names = append(names, name)
		case "tick":
			for _, a := range d.CmdArgs {
				c, err := members[a.Key].Tick(ctx)
				line := a.Key + ":"
				if len(c.Taken) > 0 {
					line += fmt.Sprint(" takes ", c.Taken)
				}
				if len(c.Give) > 0 {
					line += fmt.Sprint(" gives up ", c.Give)
				}
				if err != nil {
					line += " " + err.Error()
				}
				say("%s", line)
			}
		case "free":
			for _, a := range d.CmdArgs[1:] {
				n, _ := strconv.Atoi(a.Key)
				if err := members[arg(0)].Free(ctx, n); err != nil {
					say("%v", err)
				}
			}
		case "leave":
			if err := members[arg(0)].Leave(ctx); err != nil {
				say("%v", err)
			}
		case "die":
			names = slices.DeleteFunc(names, func(name string) bool { return name == arg(0) })
		case "ages":
			for range 41 * 3 {
				for _, a := range d.CmdArgs {
					clocks[a.Key].now = clocks[a.Key].now.Add(shard.Term / 3)
					if c, err := members[a.Key].Tick(ctx); err != nil || len(c.Taken)+len(c.Give) > 0 {
						say("%s: %v %v", a.Key, c, err)
					}
				}
			}
		case "wait":
			by, err := time.ParseDuration(arg(0))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if len(d.CmdArgs) == 1 || slices.ContainsFunc(d.CmdArgs[1:], func(a datadriven.CmdArg) bool { return a.Key == name }) {
					clocks[name].now = clocks[name].now.Add(by)
				}
			}
		case "valid":
			say("%t, for %v", members[arg(0)].Valid(), members[arg(0)].Left())
		case "holders":
			for _, name := range names {
				var held []string
				for n := range count {
					if members[name].Holds(n) {
						held = append(held, strconv.Itoa(n))
					}
				}
				say("%s: %s", name, strings.Join(held, " "))
			}
		case "sessions":
			for _, s := range members[arg(0)].Sessions() {
				state := "live"
				if s.Ended {
					state = "ended"
				}
				say("%s %s %s, %d shards", s.Worker, s.ID, state, s.Shards)
			}
		default:
			t.Fatalf("no command %s", d.Cmd)
		}
		return out
	})
}

func TestOf(t *testing.T) {
	// The names of a site are in one shard, whatever scheme or port.
	seen := map[int]bool{}
	for i := range 1000 {
		domain := fmt.Sprintf("site%d.example", i)
		n := shard.Of(web.Host(domain), 256)
		for _, h := range []string{"www." + domain, "a.b." + domain, domain + ":8080"} {
			if m := shard.Of(web.Host(h), 256); m != n {
				t.Errorf("%s is in shard %d and %s in %d", domain, n, h, m)
			}
		}
		seen[n] = true
	}
	if len(seen) < 240 {
		t.Errorf("1,000 sites are in %d shards of 256", len(seen))
	}
	// Every worker of every version must say the same.
	if n := shard.Of("waggle.example", 256); n != 253 {
		t.Errorf("waggle.example is in shard %d", n)
	}
}

func TestEndedByOther(t *testing.T) {
	e := engine.NewMemory()
	c := &fakeClock{now: time.Unix(1e9, 0)}
	m, err := shard.Join(t.Context(), e, shard.Options{Worker: "a", ID: "a", Shards: 4, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Get(t.Context(), "session.a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Put(t.Context(), "session.a", []byte(`{"worker":"a","renewal":1,"ended":true}`), x.Revision); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(6 * time.Second)
	_, err = m.Tick(t.Context())
	if ended := (*shard.EndedError)(nil); !errors.As(err, &ended) || m.Valid() {
		t.Errorf("a session that was ended: %v, valid: %t", err, m.Valid())
	}
}

// A renewal of which the outcome was not told is no reason to end.
func TestRenewalUnheard(t *testing.T) {
	e := &deafEngine{Engine: engine.NewMemory()}
	c := &fakeClock{now: time.Unix(1e9, 0)}
	m, err := shard.Join(t.Context(), e, shard.Options{Worker: "a", ID: "a", Shards: 4, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(5 * time.Second)
	e.deaf = true
	if _, err := m.Tick(t.Context()); !errors.Is(err, errDeaf) {
		t.Fatal(err)
	}
	if left := m.Left(); left != 5*time.Second {
		t.Errorf("after a renewal of unknown outcome the session may be used for %v", left)
	}
	e.deaf = false
	for range 2 {
		if _, err := m.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := m.Left(); left != 10*time.Second {
		t.Errorf("after a renewal that was heard of the session may be used for %v", left)
	}
}

var errDeaf = errors.New("nothing was heard")

// deafEngine does what it is told, and does not say so.
type deafEngine struct {
	engine.Engine
	deaf bool
}

func (e *deafEngine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	rev, err := e.Engine.Put(ctx, key, value, was)
	if e.deaf && err == nil {
		return 0, errDeaf
	}
	return rev, err
}

// changedEngine is an engine that a test replaces.
type changedEngine struct{ engine.Engine }

// A session ends once an engine that was brought back from a backup took a renewal that it would have refused.
// An engine that merely answers from a copy that is behind ends none.
func TestEngineBroughtBack(t *testing.T) {
	ctx := t.Context()
	c := &fakeClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	backup := engine.NewMemory()
	e := &changedEngine{engine.NewMemory()}
	join := func(e engine.Engine) (*shard.Member, error) {
		return shard.Join(ctx, e, shard.Options{Worker: "w", ID: "a", Shards: 4, Clock: c})
	}
	if _, err := join(backup); err != nil { // what the backup holds: the first renewal
		t.Fatal(err)
	}
	m, err := join(e)
	if err != nil {
		t.Fatal(err)
	}
	tick := func() (err error) {
		c.now = c.now.Add(shard.Term / 3)
		_, err = m.Tick(ctx)
		return err
	}
	now := e.Engine
	for range 3 {
		if err := tick(); err != nil {
			t.Fatal(err)
		}
	}
	e.Engine = &behindEngine{Engine: now, key: "session.a", copy: backup}
	if _, err := now.Put(ctx, "session.a", must(now.Get(ctx, "session.a")).Value, must(now.Get(ctx, "session.a")).Revision); err != nil {
		t.Fatal(err)
	}
	_ = tick() // its answer was lost, and the copy tells of the first renewal
	e.Engine = now
	if _, err := m.Tick(ctx); err != nil {
		t.Errorf("a copy that was behind: %v", err)
	}
	if _, err := m.Tick(ctx); err != nil || !m.Valid() {
		t.Errorf("after a copy that was behind: %v", err)
	}
	e.Engine = backup
	if err := tick(); err != nil {
		t.Error(err)
	}
	if _, err = m.Tick(ctx); err == nil || !strings.Contains(err.Error(), "backup") || m.Valid() {
		t.Errorf("by an engine that was brought back: %v", err)
	}
}

// behindEngine answers what a key is from a copy.
type behindEngine struct {
	engine.Engine
	key  string
	copy engine.Engine
}

func (e *behindEngine) Get(ctx context.Context, key string) (engine.Entry, error) {
	if key == e.key {
		return e.copy.Get(ctx, key)
	}
	return e.Engine.Get(ctx, key)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
