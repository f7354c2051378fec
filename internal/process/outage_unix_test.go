//go:build unix

package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/internal/long"
)

// tunnel is a way to the engine that a test can close.
type tunnel struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	changed sync.Cond
	state   passage
	ended   bool
	conns   []net.Conn
}

// passage is what a tunnel lets pass.
type passage struct {
	there, back bool // bytes to the engine and from it; those of the other kind wait
	refused     bool // connections end, and there are no new ones
}

var openPassage = passage{there: true, back: true}

func (p passage) String() string {
	switch p {
	case passage{}:
		return "nothing passes"
	case passage{there: true}:
		return "nothing comes back"
	case passage{back: true}:
		return "nothing gets there"
	}
	return "refused"
}

func newTunnel(t *testing.T, to string) *tunnel {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &tunnel{listener: l, to: to, state: openPassage}
	n.changed.L = &n.mu
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { n.carry(in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		n.mu.Lock()
		n.ended = true
		n.mu.Unlock()
		n.set(passage{refused: true})
		all.Wait()
	})
	return n
}

// set changes what passes.
func (n *tunnel) set(p passage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = p
	if p.refused {
		for _, c := range n.conns {
			c.Close()
		}
		n.conns = nil
	}
	n.changed.Broadcast()
}

// carry carries the bytes of a connection.
func (n *tunnel) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer out.Close()
	n.mu.Lock()
	refused := n.state.refused
	n.conns = append(n.conns, in, out)
	n.mu.Unlock()
	if refused {
		return
	}
	copied := func(to, from net.Conn, passes func() bool) {
		defer to.Close()
		b := make([]byte, 32<<10)
		for {
			got, err := from.Read(b)
			n.mu.Lock()
			for !passes() && !n.ended {
				n.changed.Wait()
			}
			n.mu.Unlock()
			if _, wrote := to.Write(b[:got]); wrote != nil || err != nil {
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { copied(out, in, func() bool { return n.state.there || n.state.refused }) })
	both.Go(func() { copied(in, out, func() bool { return n.state.back || n.state.refused }) })
	both.Wait()
}

// through is the engine's address by way of a tunnel.
func (c *crew) through(n *tunnel) string {
	return strings.Replace(c.engine, c.listen, n.listener.Addr().String(), 1)
}

// awaitScene waits until the workers are as a test wants them, as the engine tells.
func (c *crew) awaitScene(what string, is func(worker.Scene) bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	e, err := jetstream.Open(ctx, jetstream.Options{URL: c.engine, Crawl: "crawl", CA: c.ca})
	if err != nil {
		c.Fatal(err)
	}
	defer e.Close()
	for {
		s, err := worker.Look(ctx, e)
		if err != nil {
			c.Fatalf("until %s: %v", what, err)
		}
		if is(s) {
			return
		}
		select {
		case <-ctx.Done():
			c.Fatalf("until %s: %+v", what, s)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// awaitLost waits until others have ended the session of a worker, and hold all shards.
func (c *crew) awaitLost(name string) {
	c.Helper()
	c.awaitScene(name+" is lost", func(s worker.Scene) bool {
		held := 0
		for _, w := range s.Workers {
			held += w.Held
		}
		i := slices.IndexFunc(s.Workers, func(w worker.Seen) bool { return w.Name == name })
		return i >= 0 && !s.Workers[i].Live && held == s.Shards
	})
}

// awaitBack waits until workers hold shards again, by another session than the one that
// they have said is over: the engine tells of that until others end it.
func (c *crew) awaitBack(hands ...*hand) {
	c.Helper()
	joined := make([]int, len(hands))
	for i, h := range hands {
		joined[i] = joinedAgain(h)
	}
	sessions := make([]string, len(hands))
	c.awaitScene("workers are back", func(s worker.Scene) bool {
		back := true
		for i, h := range hands {
			before := joined[i]
			joined[i] = joinedAgain(h)
			j := slices.IndexFunc(s.Workers, func(w worker.Seen) bool { return w.Name == filepath.Base(h.dir) })
			if j < 0 || !s.Workers[j].Live || s.Workers[j].Held == 0 {
				back = false
				continue
			}
			sessions[i] = s.Workers[j].Session
			// Of a worker that said so meanwhile nobody knows which of two sessions this is.
			if joined[i] != before || sessions[i] == h.session && joined[i] != h.joined {
				back = false
			}
		}
		return back
	})
	for i, h := range hands {
		h.session, h.joined = sessions[i], joined[i]
	}
}

// awaitOver waits until workers have said that a session is over since they were back.
func (c *crew) awaitOver(hands ...*hand) {
	c.Helper()
	for _, h := range hands {
		h.says(overSaid, h.joined+1)
	}
}

// faults makes faults while a share of the pages each is fetched, and lets the crawl come to
// its end. A fault is over when it returns.
func (c *crew) faults(n int, fault func(k int)) {
	c.Helper()
	rng := killChance(c.T)
	share := len(c.web.reachable()) / (n + 2)
	for k := range n {
		c.web.allow((k + 2) * share)
		c.web.await(c.T, (k+1)*share+rng.IntN(20))
		fault(k)
	}
	c.web.allow(0)
}

// faultsWanted is how often a test makes a fault: WAGGLE_KILLS, or a few times.
func faultsWanted(t *testing.T) int { return max(1, killsWanted(t)/2) }

// newFaultyCrew is a crew of which the engine has a process of its own.
func newFaultyCrew(t *testing.T, faults int) *crew {
	c := newCrew(t, 40, 10+4*faults, 20*time.Millisecond)
	c.args = []string{"--workers", fmt.Sprint(atATime)}
	c.serveEngine()
	return c
}

// TestCutNetwork cuts the network between one of three workers and the engine for longer than
// its session lasts. What waits on the way arrives later, unless connections end.
func TestCutNetwork(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	cuts := faultsWanted(t)
	c := newFaultyCrew(t, cuts)
	n := newTunnel(t, c.listen)
	cut := c.start("w0", "--join", c.through(n))
	hands := []*hand{cut, c.start("w1"), c.start("w2")}
	kinds := []passage{{}, {there: true}, {refused: true}, {back: true}}
	first := killChance(t).IntN(len(kinds))
	c.faults(cuts, func(k int) {
		c.awaitBack(cut)
		p := kinds[(first+k)%len(kinds)]
		t.Logf("cut %d: %v", k, p)
		n.set(p)
		c.awaitOver(cut)
		c.awaitLost("w0")
		n.set(openPassage)
		c.awaitBack(cut)
	})
	c.finish(hands...)
	c.mended(cuts, hands...)
}

// TestEngineAway takes the engine away from all workers for longer than their sessions last:
// its process is killed and started again, or stands still.
func TestEngineAway(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	outages := faultsWanted(t)
	c := newFaultyCrew(t, outages)
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	first := killChance(t).IntN(2)
	c.faults(outages, func(k int) {
		c.awaitBack(hands...)
		killed := (first+k)%2 == 0
		t.Logf("outage %d: killed %v", k, killed)
		if killed {
			c.stopEngine()
		} else if err := c.server.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		c.awaitOver(hands...)
		if killed {
			c.serveEngine()
		} else if err := c.server.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.awaitBack(hands...)
	})
	c.finish(hands...)
	c.mended(outages*len(hands), hands...)
}

// TestWorkersComeAndGo has a worker join while another crawls, one leave in good order, and
// come back.
func TestWorkersComeAndGo(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 40, 12, 30*time.Millisecond)
	c.args, c.term = []string{"--workers", fmt.Sprint(atATime)}, 15*time.Second // nobody is lost
	c.serveEngine()
	c.web.allow(300) // the crawl goes on until the one that left is back
	first := c.start("w0")
	c.web.await(t, 40)
	second := c.start("w1")
	c.web.await(t, 120)
	first.stop()
	if code := first.cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("a worker that was stopped ended with %d: %s", code, first.out.String())
	}
	c.web.await(t, 200)
	again := c.start("w0")
	c.awaitBack(again)
	c.web.allow(0)
	c.finish(second, again)
	c.compare(c.repeated(1))
}

// TestStoppedWithoutEngine stops a worker while its engine does not answer: it ends as others that are stopped do, and goes
// on later.
func TestStoppedWithoutEngine(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newFaultyCrew(t, 1)
	stopped, other := c.start("w0"), c.start("w1")
	c.awaitBack(stopped, other)
	c.faults(1, func(int) {
		if err := c.server.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stopped.stop()
		if code, said := stopped.cmd.ProcessState.ExitCode(), stopped.out.String(); code != 3 || !strings.Contains(said, "go on with: waggle crawl") {
			t.Errorf("it ended with %d: %s", code, said)
		}
		if err := c.server.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		stopped = c.start("w0")
	})
	c.finish(stopped, other)
	c.compare(c.repeated(1))
}

// TestPausedWorker stops the process of a worker for longer than its session lasts, and lets
// it go on when others have its shards. Nothing it does then counts.
func TestPausedWorker(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	pauses := faultsWanted(t)
	c := newFaultyCrew(t, pauses)
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	first := killChance(t).IntN(len(hands))
	c.faults(pauses, func(k int) {
		paused := hands[(first+k)%len(hands)]
		c.awaitBack(paused)
		paused.signal(syscall.SIGSTOP)
		c.web.stand()
		c.awaitLost(filepath.Base(paused.dir))
		paused.signal(syscall.SIGCONT)
		c.awaitOver(paused)
		c.awaitBack(paused)
	})
	c.finish(hands...)
	c.mended(pauses, hands...)
}

// servers are an engine of three servers, each a process.
type servers struct {
	c       *crew
	dirs    [3]string
	configs [3]string
	cmds    [3]*exec.Cmd
}

// serveCluster serves the engine by three servers.
func (c *crew) serveCluster() *servers {
	c.Helper()
	s := &servers{c: c}
	var clients, routes []string
	for range 2 * len(s.dirs) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.Fatal(err)
		}
		defer l.Close() // until all ports are chosen
		if len(clients) < len(s.dirs) {
			clients = append(clients, l.Addr().String())
		} else {
			routes = append(routes, l.Addr().String())
		}
	}
	for i := range s.dirs {
		s.dirs[i] = filepath.Join(c.dir, fmt.Sprint("s", i))
		s.configs[i] = s.dirs[i] + ".conf"
		config := fmt.Sprintf("server_name: s%d\nlisten: %q\njetstream {store_dir: %q}\ncluster {name: c, listen: %q, routes: [nats://%s]}\nlog_file: %q\n",
			i, clients[i], filepath.Join(s.dirs[i], "store"), routes[i], strings.Join(routes, ", nats://"), s.dirs[i]+".log")
		if err := os.WriteFile(s.configs[i], []byte(config), 0o600); err != nil {
			c.Fatal(err)
		}
	}
	c.engine = "nats://" + strings.Join(clients, ",nats://")
	c.Cleanup(func() {
		if c.Failed() {
			c.Log(s.logs())
		}
	})
	return s
}

// logs are the ends of what the servers logged.
func (s *servers) logs() (text string) {
	for _, dir := range s.dirs {
		b, err := os.ReadFile(dir + ".log")
		text += fmt.Sprintf("%s: %v\n%s\n", dir, err, b[max(0, len(b)-8000):])
	}
	return text
}

func (s *servers) start(i int) { s.cmds[i], _ = s.c.startEngine(s.dirs[i], "--config", s.configs[i]) }

// leader waits until the log and the keys of a crawl have a leader and two followers each, which have all
// that it has, and tells which leads the log.
func (s *servers) leader() int {
	s.c.Helper()
	ctx, cancel := context.WithTimeout(s.c.Context(), patience)
	defer cancel()
	conn, err := nats.Connect(s.c.engine, nats.Timeout(patience))
	if err != nil {
		s.c.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		s.c.Fatal(err)
	}
	for {
		leader, whole, seen := "", true, ""
		for _, name := range []string{"waggle-crawl", "KV_waggle-crawl"} {
			// Asked while a stream has no leader, nobody answers, also not later.
			try, cancel := context.WithTimeout(ctx, time.Second)
			stream, err := js.Stream(try, name)
			cancel()
			if whole = whole && err == nil; !whole {
				seen += fmt.Sprintf("%s: %v\n", name, err)
				break
			}
			is := stream.CachedInfo().Cluster
			seen += fmt.Sprintf("%s: leader %q", name, is.Leader)
			if leader == "" {
				leader = is.Leader
			}
			whole = is.Leader != "" && len(is.Replicas) == len(s.dirs)-1
			for _, r := range is.Replicas {
				whole = whole && !r.Offline && r.Current && r.Lag == 0
				seen += fmt.Sprintf(", %+v", *r)
			}
			seen += "\n"
		}
		if whole {
			return slices.Index([]string{"s0", "s1", "s2"}, leader)
		}
		select {
		case <-ctx.Done():
			s.c.Fatalf("the engine has no leader with two followers: %s", seen)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestLeaderKilled kills the one of three servers that leads the log of the crawl, and starts
// it again once the workers have gone on without it.
func TestLeaderKilled(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	kills := faultsWanted(t)
	c := newCrew(t, 40, 10+4*kills, 20*time.Millisecond)
	c.args, c.term = []string{"--workers", fmt.Sprint(atATime)}, 15*time.Second
	s := c.serveCluster()
	for i := range s.dirs {
		s.start(i)
	}
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	share := len(c.web.reachable()) / (kills + 2)
	stood := 0
	c.faults(kills, func(k int) {
		i := s.leader()
		s.cmds[i].Process.Kill()
		s.cmds[i].Wait()
		// A follower that a moment ago was killed itself may still be taking over what it missed, though it is said
		// to have all: then there is no majority until the leader is back.
		if !c.web.reaches(t, (k+1)*share+share/2, 2*c.term) {
			stood++
		}
		s.start(i)
	})
	c.finish(hands...)
	t.Logf("the crawl stood still %d of %d times until the leader was back", stood, kills)
	if stood > kills/2 {
		t.Errorf("the crawl stood still until the leader was back %d of %d times", stood, kills)
	}
	// Who cannot know whether its last record was kept joins again: each at most once for a leader.
	again := joinedAgain(hands...)
	t.Logf("workers joined again %d times", again)
	if again > kills*len(hands) {
		t.Errorf("%d workers joined again %d times for %d leaders that were killed", len(hands), again, kills)
	}
	c.compare(again * atATime)
}

// TestEngineFullDisk fills the engine's disk while workers crawl. The engine ends, and says
// why; once there is room and it is started again, the crawl goes on. The disk is that of
// TestFullDisk.
func TestEngineFullDisk(t *testing.T) {
	small := os.Getenv("WAGGLE_SMALL_DISK")
	if small == "" {
		t.Skip("needs a small disk: set WAGGLE_SMALL_DISK as for TestFullDisk")
	}
	dir, err := os.MkdirTemp(small, "engine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	fills := faultsWanted(t)
	c := newCrew(t, 40, 10+4*fills, 20*time.Millisecond)
	c.args, c.kept = []string{"--workers", fmt.Sprint(atATime)}, filepath.Join(dir, "kept")
	c.serveEngine()
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	c.faults(fills, func(k int) {
		c.awaitBack(hands...)
		filler := filepath.Join(dir, "filler")
		if err := fillDisk(filler); err != nil {
			t.Fatal(err)
		}
		err := c.server.Wait()
		if said := c.complaints.String(); err == nil || c.complaints.count("it cannot write") != k+1 {
			t.Fatalf("the engine on a full disk: %v\n%s", err, said)
		}
		c.awaitOver(hands...)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		c.serveEngine()
		c.awaitBack(hands...)
	})
	c.finish(hands...)
	c.mended(fills*len(hands), hands...)
}
