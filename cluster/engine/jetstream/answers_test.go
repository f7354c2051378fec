package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// gate stands between a worker and the server, and may keep back what the server says.
type gate struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	mute  bool
	lose  string // the next answer with this in it is lost; "" = none
	conns []net.Conn
}

func newGate(t *testing.T, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, to: to}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, near, far)
			g.mu.Unlock()
			group.Go(func() { io.Copy(far, near); far.Close() })
			group.Go(func() { io.Copy(answers{g, near}, far); near.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		g.cut()
		group.Wait()
	})
	return g
}

// answers writes what the server says, or loses it.
type answers struct {
	g  *gate
	to net.Conn
}

func (a answers) Write(b []byte) (int, error) {
	a.g.mu.Lock()
	mute := a.g.mute
	if lose := a.g.lose; lose != "" && bytes.Contains(b, []byte(lose)) {
		mute, a.g.lose = true, ""
	}
	a.g.mu.Unlock()
	if mute {
		return len(b), nil
	}
	return a.to.Write(b)
}

// silence loses what the server says until the connections are cut.
func (g *gate) silence() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mute = true
}

func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mute = false
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

// TestLostAnswers loses the answer to what was stored: whoever sends it again is told where it
// is, whatever came behind it, and not that somebody else was first.
func TestLostAnswers(t *testing.T) {
	h := &serverHost{dir: t.TempDir(), listen: freePort(t)}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	}()
	at, err := url.Parse(h.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, at.Host)
	at.Host = g.listener.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func(url string) *jetstream.Engine {
		e, err := jetstream.Open(ctx, jetstream.Options{URL: url, Crawl: "answers"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	e, other := open(at.String()), open(h.server.URL())

	// lost makes a call whose answer is lost; there tells whether the server has done it.
	lost := func(call func() error, there func() bool, meanwhile func() error) error {
		t.Helper()
		g.silence()
		ended := make(chan error, 1)
		go func() { ended <- call() }()
		for !there() {
			select {
			case err := <-ended:
				t.Fatalf("the call ended without its answer: %v", err)
			default:
			}
		}
		if err := meanwhile(); err != nil {
			t.Fatal(err)
		}
		g.cut()
		return <-ended
	}
	nothing := func() error { return nil }
	end := func(log string) engine.Position {
		r, err := other.End(ctx, log)
		if err != nil {
			t.Fatal(err)
		}
		return r.Position
	}
	value := func(key string) engine.Entry {
		x, err := other.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}

	last := engine.Position(0)
	for _, begun := range []bool{false, true} {
		was := last
		err := lost(func() error {
			at, err := e.Append(ctx, engine.Draft{Log: "own", Data: []byte("x"), IfLast: true, Last: was})
			last = at[0]
			return err
		}, func() bool { return end("own") != was }, nothing)
		if err != nil || last != end("own") {
			t.Errorf("an append to a log that has begun: %v, at %d, where the last record is at %d: %v", begun, last, end("own"), err)
		}
	}

	behind := engine.Position(0)
	was := last
	err = lost(func() error {
		at, err := e.Append(ctx, engine.Draft{Log: "own", Data: []byte("y"), IfLast: true, Last: was})
		last = at[0]
		return err
	}, func() bool { return end("own") != was }, func() error {
		at, err := other.Append(ctx, engine.Draft{Log: "own", Data: []byte("theirs"), IfLast: true, Last: end("own")})
		behind = at[0]
		return err
	})
	if err != nil || last <= was || last >= behind {
		t.Errorf("an append behind which another appended, at %d: it is at %d, %v", behind, last, err)
	}

	// Refused, and refused again as the answer is lost.
	err = lost(func() error {
		at, err := e.Append(ctx, engine.Draft{Log: "own", Data: []byte("z"), IfLast: true, Last: last})
		if at[0] != 0 {
			t.Errorf("an append that is refused is at %d", at[0])
		}
		return err
	}, func() bool { return true }, nothing)
	if !errors.Is(err, engine.ErrChanged) {
		t.Errorf("an append before which another appended: %v", err)
	}

	var put engine.Revision
	for _, v := range [][]byte{[]byte("1"), []byte("2"), nil} {
		was := put
		before := value("key").Revision
		err := lost(func() (err error) {
			put, err = e.Put(ctx, "key", v, was)
			return err
		}, func() bool { return value("key").Revision != before }, nothing)
		if err != nil || put != value("key").Revision {
			t.Fatalf("the key was put to %q, with revision %d where it has %d: %v", v, put, value("key").Revision, err)
		}
	}
	err = lost(func() error {
		_, err := e.Put(ctx, "key", []byte("3"), 1)
		return err
	}, func() bool { return true }, nothing)
	if !errors.Is(err, engine.ErrChanged) {
		t.Errorf("a put on an earlier revision: %v", err)
	}
}

// A server that does not answer for a while is asked again which crawls it has.
func TestCrawlsAgain(t *testing.T) {
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	e, err := jetstream.Open(t.Context(), jetstream.Options{Server: server, Crawl: "bees"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, at.Host)
	g.lose = "stream_names_response"
	at.Host = g.listener.Addr().String()
	names, err := jetstream.Crawls(t.Context(), jetstream.Options{URL: at.String()})
	if err != nil || !slices.Equal(names, []string{"bees"}) {
		t.Errorf("%v, %v", names, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lose != "" {
		t.Error("no answer was lost")
	}
}
