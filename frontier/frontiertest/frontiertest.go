// Package frontiertest holds what every frontier must do: transcripts that a
// person can read, in testdata, and random calls compared with a naive model.
package frontiertest

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/web"
)

// Frontier is what a crawl asks of a frontier.
type Frontier interface {
	Preview(ctx context.Context, forget []web.URL, found []web.Candidate) ([]web.Admission, error)
	Commit(ctx context.Context, turn web.Turn) (web.Receipt, error)
	Unwritten(most int) (int, error)
	Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error)
	NextDue() (at time.Time, ok bool)
	Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) (next []byte, err error)
	State(ctx context.Context, name string) ([]byte, error)
	StateNames(ctx context.Context, prefix string) iter.Seq2[string, error]
	Stats(now time.Time) web.FrontierStats
	Share(workers int, delay time.Duration)
	Revise(ctx context.Context, revise func(s *web.HostState)) error
	Close() error
}

// Options bound a frontier. The zero Options are what a crawl takes by default.
type Options struct {
	MaxPerHost int  // candidates that wait for one host; 0 = 10,000
	Max        int  // candidates that wait in all; 0 = no limit
	MaxNames   int  // names of a domain that wait for a first visit; 0 = 256
	Shortest   bool // of the links to an address the one of the shortest path is kept
}

// Maker makes empty frontiers. Reopen closes one and opens what it left; it is
// nil for frontiers that die with the process. Unshared frontiers give each host its
// turn whatever site it is of and however slow it is: their Share does nothing.
type Maker struct {
	New      func(opts Options) (Frontier, error)
	Reopen   func(f Frontier, opts Options) (Frontier, error)
	Unshared bool
}

// Run runs the conformance suite.
func Run(t *testing.T, m Maker) {
	t.Run("transcripts", func(t *testing.T) { transcripts(t, m) })
	t.Run("model", func(t *testing.T) { againstModel(t, m) })
	t.Run("refusals", func(t *testing.T) { refusals(t, m) })
	t.Run("first", func(t *testing.T) { firsts(t, m) })
}

// Start is the moment at which transcripts begin.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sweep rescores all that waits, n at a time, and counts the calls.
func sweep(f Frontier, n int, score func(*web.Candidate) float64) (calls int, err error) {
	for at := []byte(nil); ; calls++ {
		if at, err = f.Rescore(context.Background(), at, n, score); at == nil || err != nil {
			return calls + 1, err
		}
	}
}

// texts are the transcripts. They are embedded: the suite is also run from other packages,
// and by builds that do not know where its source is.
//
//go:embed testdata/*.txt
var texts embed.FS

// transcripts runs testdata/*.txt. A transcript is a list of commands:
//
//	new [max=n] [all=n] [names=n] [shortest]   an empty frontier; the clock at 0s
//	share workers=n [delay=d]   what Share is told
//	add, preview            a link a line: address priority [from=address] [depth=n] [features=x] [seed];
//	                        {1..n} in an address stands for as many links, told as counts
//	tick d                  the clock moves on by d
//	lease n [among=n] [rescore]
//	                        with rescore, lines "address priority" are the
//	                        new priorities of these addresses
//	fetch n                 n times: lease one and mark it done; told as counts by site
//	done, leave, forget, drop   an address or a host a line
//	retry                   a link a line, as for add, and tries=n
//	hosts                   host due [fetched=n] [barren=n] [failures=n] [slow] [silent] [down] a line;
//	                        due counts from 0s
//	revise host due         the due time of a host that is met in Revise
//	turn                    lines "forget|add|done|retry|leave|hosts|drop rest" as one Turn
//	rescore [n=n]           lines "address priority", for the waiting ones; n
//	                        at a time, with the number of calls
//	next, stats             what NextDue and Stats say
//	state                   lines "name value" are stored, lines "name" read
//	reopen                  close and open again
//
// Where a frontier cannot be reopened, transcripts that do so are skipped, and those of
// sites, ports and slow hosts where it is unshared.
func transcripts(t *testing.T, m Maker) {
	files, err := texts.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".txt")
		t.Run(name, func(t *testing.T) {
			if m.Reopen == nil && strings.HasPrefix(name, "reopen") {
				t.Skip("this frontier does not survive its process")
			}
			if kind, _, _ := strings.Cut(name, "-"); m.Unshared && (kind == "site" || kind == "ports" || kind == "slow") {
				t.Skip("this frontier does not share the workers among sites")
			}
			s := &script{maker: m}
			defer s.close(t)
			text, err := texts.ReadFile("testdata/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			datadriven.RunTestFromString(t, string(text), func(t *testing.T, d *datadriven.TestData) string {
				out, err := s.run(t, d)
				if err != nil {
					return out + "error: " + err.Error() + "\n"
				}
				if out == "" {
					return "ok\n"
				}
				return out
			})
		})
	}
}

type script struct {
	maker Maker
	opts  Options
	f     Frontier
	now   time.Time
}

func (s *script) close(t *testing.T) {
	if s.f != nil {
		if err := s.f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func (s *script) run(t *testing.T, d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	lines := strings.FieldsFunc(d.Input, func(r rune) bool { return r == '\n' })
	var err error
	switch d.Cmd {
	case "new":
		s.close(t)
		s.now, s.opts = Start, Options{}
		d.MaybeScanArgs(t, "max", &s.opts.MaxPerHost)
		d.MaybeScanArgs(t, "all", &s.opts.Max)
		d.MaybeScanArgs(t, "names", &s.opts.MaxNames)
		s.opts.Shortest = d.HasArg("shortest")
		s.f, err = s.maker.New(s.opts)
		return "", err
	case "share":
		var workers int
		var delay string
		d.ScanArgs(t, "workers", &workers)
		d.MaybeScanArgs(t, "delay", &delay)
		by, err := time.ParseDuration(cmp.Or(delay, "0s"))
		s.f.Share(workers, by)
		return "", err
	case "revise":
		due, err := time.ParseDuration(d.CmdArgs[1].Key)
		if err != nil {
			return "", err
		}
		return "", s.f.Revise(ctx, func(h *web.HostState) {
			if string(h.Host) == d.CmdArgs[0].Key {
				h.Due = Start.Add(due)
			}
		})
	case "reopen":
		s.f, err = s.maker.Reopen(s.f, s.opts)
		return "", err
	case "tick":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		s.now = s.now.Add(by)
		say("%s", s.now.Sub(Start))
		return out.String(), err
	case "preview":
		found := candidates(t, lines)
		admissions, err := s.f.Preview(ctx, nil, found)
		for i, a := range admissions {
			say("%s %s", admission(a), found[i].URL)
		}
		return out.String(), err
	case "forget", "add", "done", "retry", "leave", "hosts", "drop", "turn":
		var turn web.Turn
		for _, line := range lines {
			cmd, rest := d.Cmd, line
			if cmd == "turn" {
				cmd, rest, _ = strings.Cut(line, " ")
			}
			addLine(t, &turn, cmd, rest)
		}
		r, err := s.f.Commit(ctx, turn)
		if strings.Contains(d.Input, "{") {
			var counts [5]int
			for _, a := range r.Added {
				counts[a]++
			}
			for a, n := range counts {
				if n > 0 {
					say("%s %d", admission(web.Admission(a)), n)
				}
			}
			if n := len(r.Displaced); n > 0 {
				say("displaced %d", n)
			}
			return out.String(), err
		}
		for i, a := range r.Added {
			say("%s %s", admission(a), turn.Add[i].URL)
		}
		for _, c := range r.Dropped {
			say("dropped %s %v", c.URL, c.Priority)
		}
		for _, c := range r.Displaced {
			say("displaced %s %v", c.URL, c.Priority)
		}
		for _, c := range r.Crowded {
			say("crowded out %s %v", c.URL, c.Priority)
		}
		for i, n := range r.Forgotten {
			say("forgot %d of %s", n, turn.Drop[i])
		}
		return out.String(), err
	case "lease":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			return "", err
		}
		among := 0
		d.MaybeScanArgs(t, "among", &among)
		var rescore func(*web.Candidate) float64
		if d.HasArg("rescore") {
			scores := table(t, lines)
			rescore = func(c *web.Candidate) float64 {
				if p, ok := scores[c.URL]; ok {
					say("asked for %s: %v", c.URL, p)
					return p
				}
				return c.Priority
			}
		}
		leases, err := s.f.Lease(ctx, s.now, n, among, rescore)
		for _, l := range leases {
			say("lease %s", describe(&l.Candidate))
		}
		if len(leases) == 0 && err == nil {
			say("none")
		}
		return out.String(), err
	case "fetch":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		counts := map[string]int{}
		for range n {
			leases, err := s.f.Lease(ctx, s.now, 1, 0, nil)
			if err != nil || len(leases) == 0 {
				return "", errors.Join(err, errors.New("nothing to fetch"))
			}
			counts[leases[0].URL.Host().Domain()]++
			if _, err := s.f.Commit(ctx, web.Turn{Done: []web.URL{leases[0].URL}}); err != nil {
				return "", err
			}
		}
		for _, site := range slices.Sorted(maps.Keys(counts)) {
			say("%s %d", site, counts[site])
		}
		return out.String(), err
	case "rescore":
		scores := table(t, lines)
		n := 100
		if d.HasArg("n") {
			d.ScanArgs(t, "n", &n)
		}
		calls, err := sweep(s.f, n, func(c *web.Candidate) float64 {
			if p, ok := scores[c.URL]; ok {
				return p
			}
			return c.Priority
		})
		if d.HasArg("n") {
			say("in slices: %t", calls > 1) // how often a moved one is met is the frontier's affair
		}
		return out.String(), err
	case "next":
		if at, ok := s.f.NextDue(); ok {
			say("at %s", at.Sub(Start))
		} else {
			say("never")
		}
	case "stats":
		x := s.f.Stats(s.now)
		say("queued %d leased %d seen %d, hosts %d: ready %d waiting %d", x.Queued, x.Leased, x.Seen, x.Hosts, x.Ready, x.Waiting)
		if x.Down > 0 {
			say("down %d, held %d", x.Down, x.Held)
		}
	case "state":
		var turn web.Turn
		for _, line := range lines {
			name, value, set := strings.Cut(line, " ")
			if set {
				if turn.State == nil {
					turn.State = map[string][]byte{}
				}
				turn.State[name] = []byte(value)
				continue
			}
			b, err := s.f.State(ctx, name)
			if err != nil {
				return "", err
			}
			say("%s = %q (nil: %t)", name, b, b == nil)
		}
		_, err = s.f.Commit(ctx, turn)
		return out.String(), err
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	return out.String(), nil
}

func describe(c *web.Candidate) string {
	s := fmt.Sprintf("%s %v", c.URL, c.Priority)
	if !c.From.IsZero() {
		s += fmt.Sprintf(" from=%s", c.From)
	}
	if len(c.Features) > 0 {
		s += fmt.Sprintf(" features=%s", c.Features)
	}
	if c.Tries > 0 {
		s += fmt.Sprintf(" tries=%d", c.Tries)
	}
	return s
}

func addLine(t *testing.T, turn *web.Turn, cmd, rest string) {
	switch cmd {
	case "add":
		turn.Add = append(turn.Add, candidates(t, spread(t, rest))...)
	case "retry":
		turn.Retry = append(turn.Retry, candidates(t, []string{rest})...)
	case "done":
		turn.Done = append(turn.Done, address(t, rest))
	case "forget":
		turn.Forget = append(turn.Forget, address(t, rest))
	case "leave":
		turn.Leave = append(turn.Leave, address(t, rest))
	case "drop":
		turn.Drop = append(turn.Drop, web.Host(rest))
	case "hosts":
		fields := strings.Fields(rest)
		due, err := time.ParseDuration(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		s := web.HostState{Host: web.Host(fields[0]), Due: Start.Add(due)}
		for _, f := range fields[2:] {
			name, value, _ := strings.Cut(f, "=")
			n, _ := strconv.Atoi(value)
			switch name {
			case "fetched":
				s.Fetched = n
			case "barren":
				s.Barren = n
			case "failures":
				s.Failures = n
			case "slow":
				s.Slow = 1
			case "silent":
				s.Silent, s.Since = true, Start.Add(due)
			case "down":
				s.Down = true
			default:
				t.Fatalf("unknown field %q", f)
			}
		}
		turn.Hosts = append(turn.Hosts, s)
	default:
		t.Fatalf("unknown part of a turn: %q", cmd)
	}
}

// spread writes a line with {1..n} in it n times.
func spread(t *testing.T, line string) (lines []string) {
	before, rest, ok := strings.Cut(line, "{1..")
	if !ok {
		return []string{line}
	}
	count, after, _ := strings.Cut(rest, "}")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		lines = append(lines, fmt.Sprintf("%s%d%s", before, i+1, after))
	}
	return lines
}

func candidates(t *testing.T, lines []string) (cs []web.Candidate) {
	for _, line := range lines {
		fields := strings.Fields(line)
		p, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		c := web.Candidate{URL: address(t, fields[0]), Kind: web.LinkA, Priority: p}
		for _, f := range fields[2:] {
			name, value, _ := strings.Cut(f, "=")
			switch name {
			case "from":
				c.From = address(t, value)
			case "features":
				c.Features = []byte(value)
			case "depth":
				c.Depth, _ = strconv.Atoi(value)
			case "tries":
				c.Tries, _ = strconv.Atoi(value)
			case "seed":
				c.Kind = web.LinkSeed
			default:
				t.Fatalf("unknown field %q", f)
			}
		}
		cs = append(cs, c)
	}
	return cs
}

func table(t *testing.T, lines []string) map[web.URL]float64 {
	m := make(map[web.URL]float64)
	for _, c := range candidates(t, lines) {
		m[c.URL] = c.Priority
	}
	return m
}

// address reads an address without its scheme.
func address(t testing.TB, s string) web.URL {
	u, err := web.Parse("http://" + strings.TrimPrefix(s, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func admission(a web.Admission) string {
	names := []string{"known", "queued", "raised", "refused", "crowded"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("admission %d", a)
}

// refusals asserts that senseless calls are errors and change nothing.
func refusals(t *testing.T, m Maker) {
	ctx := context.Background()
	f, err := m.New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := web.Candidate{URL: address(t, "a.example/"), Priority: 1}
	for name, turn := range map[string]web.Turn{
		"candidate without address": {Add: []web.Candidate{good, {Priority: 1}}},
		"priority NaN":              {Add: []web.Candidate{good}, Retry: []web.Candidate{notANumber(good)}},
		"negative depth":            {Add: []web.Candidate{good, negativeDepth(good)}},
		"done without address":      {Add: []web.Candidate{good}, Done: []web.URL{{}}},
		"host without name":         {Add: []web.Candidate{good}, Hosts: []web.HostState{{Fetched: 1}}},
	} {
		if _, err := f.Commit(ctx, turn); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.Commit(over, web.Turn{Add: []web.Candidate{good}}); err == nil {
		t.Error("committed with a context that is over")
	}
	if got := f.Stats(Start); got != (web.FrontierStats{}) {
		t.Errorf("refused turns left %+v", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := f.Commit(ctx, web.Turn{}); err == nil {
		t.Error("committed after Close")
	}
}

// firsts: a First runs once its turn is planned, what it returns is stored in place of what the
// turn has by the same name, and its error is the answer to all that follows.
func firsts(t *testing.T, m Maker) {
	ctx := context.Background()
	f, err := m.New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	wrong := errors.New("wrong")
	first := func(value string, err error) func() (map[string][]byte, error) {
		return func() (map[string][]byte, error) {
			ran++
			return map[string][]byte{"a": []byte(value)}, err
		}
	}
	if _, err := f.Commit(ctx, web.Turn{First: first("no", nil), Add: []web.Candidate{{}}}); err == nil || ran != 0 {
		t.Errorf("a turn that is refused: %v, %d Firsts ran", err, ran)
	}
	state := map[string][]byte{"a": []byte("1"), "b": []byte("1")}
	if _, err := f.Commit(ctx, web.Turn{First: first("2", nil), State: state}); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Unwritten(0); n != 0 || err != nil || ran != 1 {
		t.Errorf("%d turns are not written, %v, %d Firsts ran", n, err, ran)
	}
	a, errA := f.State(ctx, "a")
	b, errB := f.State(ctx, "b")
	if string(a) != "2" || string(b) != "1" || errA != nil || errB != nil || string(state["a"]) != "1" {
		t.Errorf("a is %s, b is %s, %v, %v; the turn's are %s", a, b, errA, errB, state)
	}
	_, err = f.Commit(ctx, web.Turn{First: first("3", wrong)})
	if _, again := f.Unwritten(0); again != wrong || err != nil && err != wrong {
		t.Errorf("a First that fails: %v, then %v", err, again)
	}
	if _, err := f.Lease(ctx, Start, 1, 0, nil); err != wrong {
		t.Errorf("Lease after that: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func notANumber(c web.Candidate) web.Candidate {
	zero := 0.0
	c.Priority = zero / zero
	return c
}

func negativeDepth(c web.Candidate) web.Candidate {
	c.Depth = -1
	return c
}
