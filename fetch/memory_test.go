package fetch

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// budget is a memory whose garbage is collected when the test says so.
func budget(max int64) (m *memory, collected *int) {
	m, collected = newMemory(max), new(int)
	m.cycles = func() uint64 { return 0 }
	m.collect = func() { *collected++ }
	return m, collected
}

// growing adds to a share, and tells when that is done.
func growing(ctx context.Context, s *share, n int) <-chan error {
	done, waits := make(chan error, 1), make(chan bool, 2)
	go func() {
		done <- s.grow(ctx, n, func(on bool) { waits <- on })
		close(waits)
	}()
	<-waits // it waits, or is through
	return done
}

// through tells whether what growing began is done.
func through(done <-chan error) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestMemory(t *testing.T) {
	ctx := context.Background()
	m, _ := budget(100)
	a, b, c := m.share(), m.share(), m.share()
	if !through(growing(ctx, a, 60)) || !through(growing(ctx, b, 40)) || m.used != 100 {
		t.Fatalf("%d of 100 are in use", m.used)
	}
	waitsC, waitsB := growing(ctx, c, 1), growing(ctx, b, 30)
	if through(waitsC) || through(waitsB) {
		t.Fatal("there is no room left")
	}
	if !through(growing(ctx, a, 500)) || m.used != 600 {
		t.Fatal("the oldest waits")
	}
	a.shrink(520) // 80 in use
	if through(waitsB) || through(waitsC) {
		t.Error("there is room for the youngest, but an older one is before it")
	}
	a.close() // 40 in use, and b is the oldest
	if err := <-waitsB; err != nil {
		t.Error(err)
	}
	if err := <-waitsC; err != nil {
		t.Error(err)
	}
	if m.used != 71 || b.size != 70 || c.size != 1 {
		t.Errorf("%d in use, by %d and %d", m.used, b.size, c.size)
	}
	// One that gives up leaves no trace.
	leaves, cancel := context.WithCancel(ctx)
	waits := growing(leaves, c, 1000)
	cancel()
	if err := <-waits; err != context.Canceled || c.size != 1 || len(m.waiting) != 0 {
		t.Errorf("%v, %d in use, %d wait", err, c.size, len(m.waiting))
	}
	b.close()
	c.close()
	if m.used != 0 || len(m.open) != 0 {
		t.Errorf("%d in use by %d shares", m.used, len(m.open))
	}
}

// What large documents leave behind counts until it is collected, which is asked
// for when somebody waits for the room.
func TestMemoryCountsGarbage(t *testing.T) {
	ctx := context.Background()
	const mb = 1 << 20
	m, collected := budget(100 * mb)
	older, large, small := m.share(), m.share(), m.share()
	for s, n := range map[*share]int{older: mb, large: 80 * mb, small: mb} {
		if !through(growing(ctx, s, n)) {
			t.Fatal("there is room")
		}
	}
	large.close()
	small.close()
	if m.used != mb || m.left != 80*mb || *collected != 0 {
		t.Errorf("%d in use, %d left behind, %d collections", m.used, m.left, *collected)
	}
	if next := m.share(); !through(growing(ctx, next, 10*mb)) || *collected != 0 {
		t.Errorf("%d collections, and there was room", *collected)
	}
	next := m.share()
	if err := <-growing(ctx, next, 50*mb); err != nil || *collected != 1 || m.left != 0 {
		t.Errorf("%v, %d collections, %d left behind", err, *collected, m.left)
	}
	// A collection of the runtime's own does as well.
	next.close()
	m.cycles = func() uint64 { return 2 }
	if last := m.share(); !through(growing(ctx, last, 60*mb)) || *collected != 1 {
		t.Errorf("%d collections, one too many", *collected)
	}
}

// For any traffic, the bound is exceeded by the oldest share alone, and everybody
// comes through.
func TestMemoryProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		max := rapid.Int64Range(1, 1000).Draw(rt, "max")
		plans := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 400), 1, 5), 1, 12).Draw(rt, "plans")
		m, _ := budget(max)
		var mu sync.Mutex
		var fault string
		check := func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			var sum int64
			for _, s := range m.open {
				sum += s.size
			}
			mu.Lock()
			defer mu.Unlock()
			if sum != m.used {
				fault = fmt.Sprintf("%d counted, %d in shares", m.used, sum)
			}
			if len(m.open) > 0 && sum-m.open[0].size > max {
				fault = fmt.Sprintf("%d in use without the oldest, of %d", sum-m.open[0].size, max)
			}
		}
		var wg sync.WaitGroup
		for _, plan := range plans {
			wg.Go(func() {
				s := m.share()
				for _, n := range plan {
					if err := s.grow(context.Background(), n, func(bool) {}); err != nil {
						t.Error(err)
					}
					check()
				}
				s.close()
			})
		}
		wg.Wait()
		if fault != "" || m.used != 0 {
			rt.Fatalf("%s; %d in use in the end", fault, m.used)
		}
	})
}

// What a response holds is counted to the byte until it is released: the buffers
// of the body, and six more for each byte of a document.
func TestResponsesAreCounted(t *testing.T) {
	text := strings.Repeat("all work and no play ", 60_000) // 1.26 MB
	packed := map[string]string{}
	for coding, open := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithWindowSize(4<<20))
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		var b strings.Builder
		z := open(&b)
		io.WriteString(z, text)
		z.Close()
		packed[coding] = b.String()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		body := text
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		case "/small":
			body = text[:1000]
		case "/404":
			w.WriteHeader(404)
		case "/gzip", "/br", "/zstd":
			w.Header().Set("Content-Encoding", r.URL.Path[1:])
			body = packed[r.URL.Path[1:]]
		case "/chunked":
			w.(http.Flusher).Flush()
		case "/image":
			w.Header().Set("Content-Type", "image/png")
		}
		io.WriteString(w, body)
	}))
	defer s.Close()
	f, err := New(Options{AllowPrivate: true, Delay: -1, Memory: 64 << 20, IgnoreRobots: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := f.Fetcher.(gateFetcher).inner.(*client).memory
	for _, path := range []string{"/", "/small", "/404", "/gzip", "/br", "/zstd", "/chunked", "/image"} {
		u, err := web.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Fetch(context.Background(), u)
		want := 0
		if err == nil {
			want = cap(r.Raw)
			switch path {
			case "/gzip":
				want += cap(r.Body)
			case "/br":
				want += cap(r.Body) + len(r.Body) + 2<<20 // in one part
			case "/zstd":
				want += cap(r.Body) + 4<<20
			}
			if r.Status == 200 {
				want += treeFactor * len(r.Body)
			}
		} else if path != "/image" {
			t.Fatal(err)
		}
		if m.used != int64(want) {
			t.Errorf("%s: %d bytes counted, want %d", path, m.used, want)
		}
		if path == "/" && cap(r.Raw) != len(text) {
			t.Errorf("a body of %d bytes, as announced, is in a buffer of %d", len(text), cap(r.Raw))
		}
		r.Release()
		r.Release()
		if m.used != 0 {
			t.Errorf("%s: %d bytes counted after it was released", path, m.used)
		}
	}
}

// pipes is a network without wires: who connects gets one end of a pipe, and the
// listener the other. Time passes in a bubble of synctest while both wait.
type pipes struct {
	server chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.server:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error { close(p.closed); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p pipes) Connect(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.server <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A request that waits for memory does not run out of time, and the server is
// not asked before there is room to begin with.
func TestWaitingForMemoryIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan string, 10)
		network := pipes{make(chan net.Conn), make(chan struct{})}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Path
			w.Header().Set("Content-Type", "text/html")
			w.(http.Flusher).Flush()
			io.WriteString(w, strings.Repeat("x", 300_000))
		})}
		go s.Serve(network)
		defer s.Close()
		const timeout = 10 * time.Second
		f, err := New(Options{AllowPrivate: true, Delay: -1, Timeout: timeout, Memory: 4 << 20, IgnoreRobots: true, Connect: network.Connect})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m := f.Fetcher.(gateFetcher).inner.(*client).memory
		oldest := m.share()
		fetch := func() <-chan error {
			done := make(chan error, 1)
			u, err := web.Parse("http://127.0.0.1/a")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				r, err := f.Fetch(context.Background(), u)
				if err == nil {
					if len(r.Body) != 300_000 || r.Truncated != "" {
						err = fmt.Errorf("%d bytes, cut by %q", len(r.Body), r.Truncated)
					}
					r.Release()
				}
				done <- err
			}()
			return done
		}
		for _, left := range []int64{1000, 1 << 20} { // no room to begin, and room for a part
			if err := oldest.grow(context.Background(), int(4<<20-left), nil); err != nil {
				t.Fatal(err)
			}
			done := fetch()
			synctest.Wait()
			if m.mu.Lock(); len(m.waiting) != 1 {
				t.Fatalf("with %d bytes left, %d wait", left, len(m.waiting))
			}
			m.mu.Unlock()
			if n := len(asked); left < bufferStart && n > 0 {
				t.Error("the server was asked before there was room")
			}
			time.Sleep(2 * timeout)
			oldest.shrink(int(4<<20 - left))
			if err := <-done; err != nil {
				t.Errorf("with %d bytes left: %v", left, err)
			}
			<-asked
		}
	})
}

// The window of a brotli stream is read as an encoder wrote it.
func TestBrotliWindow(t *testing.T) {
	for window := 10; window <= 24; window++ {
		for _, length := range []int{0, 1, 1000, 1 << 10, 1<<10 + 1, 300_000} {
			var b strings.Builder
			z := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: window})
			io.WriteString(z, strings.Repeat("b", length))
			z.Close()
			want := 0
			if length > 0 {
				want = min(1<<window, 1<<bits.Len(uint(length-1)))
			}
			if got := brotliWindow([]byte(b.String())); got != want {
				t.Errorf("window of %d bits, %d bytes: %d, want %d", window, length, got, want)
			}
		}
	}
	if n := brotliWindow(nil); n > 1<<24 {
		t.Errorf("%d bytes for nothing", n)
	}
}
