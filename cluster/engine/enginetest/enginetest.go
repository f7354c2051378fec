// Package enginetest holds what every engine must do: a transcript that a person can read,
// in testdata, and calls of many at once, also while the engine is stopped and started.
package enginetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// Host is where an engine runs. It forgets brief logs after ForgetAfter.
type Host interface {
	// Connect is a new connection to the engine of this name; others of the same name
	// see the same logs and keys, and those of another name see none of them.
	Connect(ctx context.Context, name string) (engine.Engine, error)
	// Stop stops the engine, as its death would, and Start starts it again.
	Stop() error
	Start() error
}

// patience is for how long a test waits for what must come.
const patience = 2 * time.Minute

// Run runs the conformance suite. The host is empty and runs.
func Run(t *testing.T, h Host) {
	for name, test := range map[string]func(*testing.T, Host, string){
		"transcript": transcript, "refusals": refusals, "conditions": conditions, "counters": counters,
		"order": order, "readers": readers, "lists": lists, "brief": brief, "stopped": stopped, "restarts": restarts,
	} {
		t.Run(name, func(t *testing.T) { test(t, h, name) })
	}
}

// connect closes the engine when the test ends.
func connect(t *testing.T, h Host, name string) engine.Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := h.Connect(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

//go:embed testdata/engine.txt
var engineText string

// transcript runs testdata/engine.txt, which is embedded: the suite is also run from other
// packages, and by builds that do not know where its source is.
//
//	append          a line for each record: log data [last=n]; n is the place in its log that the
//	                last record must have, 0 for none
//	read            a line for each log: log n; n is the place behind which it is read
//	end log
//	put key value [was=n]    n is the how-many-th value of the key it must have, 0 for none
//	remove key was=n
//	get key
//	list [prefix]
//	restart         the engine stops and starts
//
// Places count from 1 in each log, and values from 1 for each key.
func transcript(t *testing.T, h Host, name string) {
	s := &script{t: t, h: h, e: connect(t, h, name), at: map[string][]engine.Position{}, revs: map[string][]engine.Revision{}}
	datadriven.RunTestFromString(t, engineText, func(t *testing.T, d *datadriven.TestData) string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out, err := s.run(ctx, d)
		if err != nil {
			return out + "error: " + told(err) + "\n"
		}
		return out
	})
}

// told is an error without what differs between engines.
func told(err error) string {
	for _, e := range []error{engine.ErrChanged, engine.ErrName, engine.ErrSize} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return err.Error()
}

type script struct {
	t    *testing.T
	h    Host
	e    engine.Engine
	at   map[string][]engine.Position
	revs map[string][]engine.Revision
}

func (s *script) position(log, place string) engine.Position {
	n, err := strconv.Atoi(place)
	if err != nil {
		s.t.Fatalf("place %q", place)
	}
	if n == 0 {
		return 0
	}
	return s.at[log][n-1]
}

func (s *script) place(log string, p engine.Position) int { return slices.Index(s.at[log], p) + 1 }

func (s *script) revision(key, n string) engine.Revision {
	i, err := strconv.Atoi(n)
	if err != nil {
		s.t.Fatalf("revision %q", n)
	}
	if i == 0 {
		return 0
	}
	return s.revs[key][i-1]
}

func (s *script) run(ctx context.Context, d *datadriven.TestData) (out string, err error) {
	var lines [][]string
	for line := range strings.Lines(d.Input) {
		lines = append(lines, strings.Fields(line))
	}
	var args []string
	for _, a := range d.CmdArgs {
		args = append(args, a.String())
	}
	switch d.Cmd {
	case "append":
		return s.append(ctx, lines)
	case "read":
		return s.read(ctx, lines)
	case "end":
		r, err := s.e.End(ctx, args[0])
		return fmt.Sprintf("%d %s\n", s.place(args[0], r.Position), r.Data), err
	case "first":
		of := args[0] // the log of the position
		if len(args) > 2 {
			of = args[2]
		}
		r, err := s.e.First(ctx, args[0], s.position(of, args[1]))
		return fmt.Sprintf("%d %s\n", s.place(args[0], r.Position), r.Data), err
	case "put", "remove":
		return s.put(ctx, args, d.Cmd == "remove")
	case "get":
		x, err := s.e.Get(ctx, args[0])
		return fmt.Sprintf("%d %s\n", slices.Index(s.revs[args[0]], x.Revision)+1, x.Value), err
	case "list":
		all, err := s.e.List(ctx, strings.Join(args, ""))
		for _, x := range all {
			out += fmt.Sprintf("%s %d %s\n", x.Key, slices.Index(s.revs[x.Key], x.Revision)+1, x.Value)
		}
		return out, err
	case "restart":
		return "", errors.Join(s.h.Stop(), s.h.Start())
	}
	return "", fmt.Errorf("no command %s", d.Cmd)
}

func (s *script) append(ctx context.Context, lines [][]string) (out string, err error) {
	var drafts []engine.Draft
	for _, f := range lines {
		x := engine.Draft{Log: f[0], Data: []byte(f[1])}
		if len(f) > 2 {
			place, _ := strings.CutPrefix(f[2], "last=")
			x.IfLast, x.Last = true, s.position(f[0], place)
		}
		drafts = append(drafts, x)
	}
	at, err := s.e.Append(ctx, drafts...)
	for i, p := range at {
		if p != 0 {
			s.at[drafts[i].Log] = append(s.at[drafts[i].Log], p)
			slices.Sort(s.at[drafts[i].Log])
		}
	}
	for i, p := range at {
		out += fmt.Sprintf("%s %d\n", drafts[i].Log, s.place(drafts[i].Log, p))
	}
	return out, err
}

// read reads the records that are there, by the logs' ends.
func (s *script) read(ctx context.Context, lines [][]string) (out string, err error) {
	from := map[string]engine.Position{}
	left := 0
	for _, f := range lines {
		from[f[0]] = s.position(f[0], f[1])
		left += len(s.at[f[0]]) - s.place(f[0], from[f[0]])
	}
	got := map[string]string{}
	if left > 0 {
		err = s.e.Read(ctx, from, func(r engine.Record) error {
			got[r.Log] += fmt.Sprintf("%s %d %s\n", r.Log, s.place(r.Log, r.Position), r.Data)
			if left--; left == 0 {
				return errEnough
			}
			return nil
		})
	}
	for _, log := range slices.Sorted(maps.Keys(got)) {
		out += got[log]
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

var errEnough = errors.New("enough")

func (s *script) put(ctx context.Context, args []string, remove bool) (string, error) {
	key := args[0]
	was := engine.Revision(0)
	value := []byte(args[1])
	if last := args[len(args)-1]; strings.HasPrefix(last, "was=") {
		was = s.revision(key, strings.TrimPrefix(last, "was="))
	}
	if remove {
		value = nil
	}
	r, err := s.e.Put(ctx, key, value, was)
	if err != nil {
		return "", err
	}
	if r != 0 {
		s.revs[key] = append(s.revs[key], r)
	}
	return fmt.Sprintf("%d\n", slices.Index(s.revs[key], r)+1), nil
}

// refusals are of names and sizes.
func refusals(t *testing.T, h Host, name string) {
	e := connect(t, h, name)
	ctx := t.Context()
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a b", "a*", "a.>", "ä", strings.Repeat("x", engine.MaxName+1)} {
		_, err1 := e.Append(ctx, engine.Draft{Log: bad})
		_, err2 := e.Put(ctx, bad, []byte("x"), 0)
		_, err3 := e.Get(ctx, bad)
		_, err4 := e.End(ctx, bad)
		_, err5 := e.List(ctx, bad+"*")
		err6 := e.Read(ctx, map[string]engine.Position{bad: 0}, func(engine.Record) error { return nil })
		_, err7 := e.First(ctx, bad, 0)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
			if !errors.Is(err, engine.ErrName) {
				t.Errorf("call %d takes the name %.20q: %v", i+1, bad, err)
			}
		}
	}
	large := make([]byte, engine.MaxRecord)
	if _, err := e.Append(ctx, engine.Draft{Log: "large", Data: large}); err != nil {
		t.Errorf("the largest record: %v", err)
	}
	_, err1 := e.Append(ctx, engine.Draft{Log: "large", Data: append(large, 0)})
	_, err2 := e.Put(ctx, "large", append(large, 0), 0)
	if !errors.Is(err1, engine.ErrSize) || !errors.Is(err2, engine.ErrSize) {
		t.Errorf("too large: %v, %v", err1, err2)
	}
	r, err := e.End(ctx, "large")
	if err != nil || len(r.Data) != len(large) {
		t.Errorf("the largest record has %d bytes: %v", len(r.Data), err)
	}
}

// conditions has many append to one log on condition: each success follows the one
// before, with nothing in between.
func conditions(t *testing.T, h Host, name string) {
	const writers, each = 4, 25
	type done struct{ last, at engine.Position }
	var mu sync.Mutex
	var all []done
	var group sync.WaitGroup
	for range writers {
		e := connect(t, h, name)
		group.Go(func() {
			for n := 0; n < each; {
				end, err := e.End(t.Context(), "log")
				if err != nil {
					t.Error(err)
					return
				}
				at, err := e.Append(t.Context(), engine.Draft{Log: "log", Data: []byte("x"), IfLast: true, Last: end.Position})
				if errors.Is(err, engine.ErrChanged) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, done{end.Position, at[0]})
				mu.Unlock()
				n++
			}
		})
	}
	group.Wait()
	slices.SortFunc(all, func(a, b done) int { return int(a.at) - int(b.at) })
	for i, d := range all {
		want := engine.Position(0)
		if i > 0 {
			want = all[i-1].at
		}
		if d.last != want || d.at <= want {
			t.Fatalf("append %d was made at %d where %d was thought to be last, and %d was", i, d.at, d.last, want)
		}
	}
	if len(all) != writers*each {
		t.Errorf("%d appends, not %d", len(all), writers*each)
	}
}

// order holds that positions are in the order of records, whichever logs these are of.
func order(t *testing.T, h Host, name string) {
	e := connect(t, h, name)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last engine.Position
	for i, log := range []string{"b", "a", "a", "c", "b", "a"} {
		at, err := e.Append(ctx, engine.Draft{Log: log, Data: []byte("bees")})
		if err != nil {
			t.Fatal(err)
		}
		if at[0] <= last {
			t.Errorf("record %d, of log %s, is at %d, and the one before at %d", i, log, at[0], last)
		}
		last = at[0]
	}
}

// readers read what many write meanwhile, from several places on.
func readers(t *testing.T, h Host, name string) {
	const logs, each = 3, 60
	w := connect(t, h, name)
	var group sync.WaitGroup
	half := make(chan map[string]engine.Position, 1)
	group.Go(func() {
		from := map[string]engine.Position{}
		for i := range each {
			var drafts []engine.Draft
			for l := range logs {
				drafts = append(drafts, engine.Draft{Log: fmt.Sprint("log.", l), Data: []byte(strconv.Itoa(i))})
			}
			at, err := w.Append(t.Context(), drafts...)
			if err != nil {
				t.Error(err)
				return
			}
			if i < each/2 {
				for l := range logs - 1 { // the last log is read from its beginning
					from[fmt.Sprint("log.", l)] = at[l]
				}
			}
			if i == each/2 {
				from[fmt.Sprint("log.", logs-1)] = 0
				half <- from
			}
		}
	})
	follow := func(from map[string]engine.Position, first func(log string) int) {
		e := connect(t, h, name)
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			next := map[string]int{}
			through := 0
			err := e.Read(ctx, from, func(r engine.Record) error {
				want, ok := next[r.Log]
				if !ok {
					want = first(r.Log)
				}
				if got, _ := strconv.Atoi(string(r.Data)); got != want {
					return fmt.Errorf("%s: record %d where %d comes", r.Log, got, want)
				}
				if next[r.Log] = want + 1; want+1 == each {
					if through++; through == logs {
						return errEnough
					}
				}
				return nil
			})
			if !errors.Is(err, errEnough) {
				t.Error(err)
			}
		})
	}
	follow(map[string]engine.Position{"log.0": 0, "log.1": 0, "log.2": 0}, func(string) int { return 0 })
	from := <-half
	follow(from, func(log string) int {
		if log == fmt.Sprint("log.", logs-1) {
			return 0
		}
		return each / 2
	})
	group.Wait()
}

// stopped has calls end with their context while the engine is stopped, and those that
// wait succeed once it runs.
func stopped(t *testing.T, h Host, name string) {
	e := connect(t, h, name)
	if _, err := e.Put(t.Context(), "key", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var group sync.WaitGroup
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := e.Append(ctx, engine.Draft{Log: "never", Data: []byte("x"), IfLast: true, Last: 99})
			return err
		},
		func(ctx context.Context) error { _, err := e.Get(ctx, "key"); return err },
		func(ctx context.Context) error { _, err := e.List(ctx, ""); return err },
		func(ctx context.Context) error { _, err := e.End(ctx, "log"); return err },
		func(ctx context.Context) error { _, err := e.First(ctx, "log", 1); return err },
		func(ctx context.Context) error {
			return e.Read(ctx, map[string]engine.Position{"log": 0}, func(engine.Record) error { return nil })
		},
	} {
		group.Go(func() {
			if err := call(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call of a stopped engine: %v", err)
			}
		})
	}
	group.Wait()
	long, cancelLong := context.WithTimeout(t.Context(), patience)
	defer cancelLong()
	var at []engine.Position
	group.Go(func() {
		var err error
		if at, err = e.Append(long, engine.Draft{Log: "log", Data: []byte("waits"), IfLast: true}); err != nil {
			t.Error(err)
		}
	})
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	x, err := e.Get(long, "key")
	if err != nil || string(x.Value) != "1" {
		t.Errorf("after the start the key is %q: %v", x.Value, err)
	}
	if end, err := e.End(long, "log"); err != nil || len(at) == 0 || end.Position != at[0] {
		t.Errorf("after the start the log ends at %d, not %v: %v", end.Position, at, err)
	}
}

// restarts stops the engine while it is written and read.
func restarts(t *testing.T, h Host, name string) {
	Outages(t, h, name, 3, func(context.Context) error { return errors.Join(h.Stop(), h.Start()) })
}

// Outages appends and reads through so many outages: what was acknowledged is read, each
// record once and in order.
func Outages(t *testing.T, h Host, name string, outages int, outage func(context.Context) error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	w, fenced, r := connect(t, h, name), connect(t, h, name), connect(t, h, name)
	var group sync.WaitGroup
	var enough atomic.Bool
	var free, chain int
	progress := make(chan struct{}, 1)
	group.Go(func() { // without condition
		for !enough.Load() {
			if _, err := w.Append(ctx, engine.Draft{Log: "free", Data: []byte(strconv.Itoa(free))}); err != nil {
				t.Error(err)
				return
			}
			free++
			select {
			case progress <- struct{}{}:
			default:
			}
		}
	})
	group.Go(func() { // each after its own last one, with no other writer
		last := engine.Position(0)
		for !enough.Load() {
			at, err := fenced.Append(ctx, engine.Draft{Log: "chain", Data: []byte(strconv.Itoa(chain)), IfLast: true, Last: last})
			if err != nil {
				t.Errorf("append %d of the chain: %v", chain, err)
				return
			}
			last = at[0]
			chain++
		}
	})
	got := map[string][]string{}
	read := make(chan error, 1)
	upTo := make(chan map[string]int, 1)
	go func() {
		want := map[string]int(nil)
		read <- r.Read(ctx, map[string]engine.Position{"free": 0, "chain": 0}, func(x engine.Record) error {
			got[x.Log] = append(got[x.Log], string(x.Data))
			select {
			case want = <-upTo:
			default:
			}
			if want != nil && len(got["free"]) >= want["free"] && len(got["chain"]) >= want["chain"] {
				return errEnough
			}
			return nil
		})
	}()
	for range outages {
		for range 5 {
			<-progress
		}
		if err := outage(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		<-progress
	}
	enough.Store(true)
	group.Wait()
	// One more of each, so that the reader hears of the end.
	upTo <- map[string]int{"free": free + 1, "chain": chain + 1}
	_, err := w.Append(ctx, engine.Draft{Log: "free", Data: []byte(strconv.Itoa(free))}, engine.Draft{Log: "chain", Data: []byte(strconv.Itoa(chain))})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, errEnough) {
		t.Fatalf("the reader: %v, with %d and %d records of %d and %d", err, len(got["free"]), len(got["chain"]), free+1, chain+1)
	}
	for log, n := range map[string]int{"free": free + 1, "chain": chain + 1} {
		if len(got[log]) != n {
			t.Errorf("%s: %d records read, %d acknowledged", log, len(got[log]), n)
		}
		for i, x := range got[log] {
			if x != strconv.Itoa(i) {
				t.Fatalf("%s: record %d is %s", log, i, x)
			}
		}
	}
}
