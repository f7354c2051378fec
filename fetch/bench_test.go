//go:build unix

package fetch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkFetch compares the whole stack with a bare net/http loop over the
// same pages, which keeps no body: 20 hosts on loopback, a request at a time to each, bodies of
// 36 KiB (the mean of the pages measured), plain and in gzip. The server is a
// process of its own, so cpu-µs/op is the client's alone; run the two in turns:
//
//	go test ./fetch -run '^$' -bench Fetch -count 3
func BenchmarkFetch(b *testing.B) {
	const hosts = 20
	bases := pageServers(b, hosts)
	heap := make([]byte, 64<<20) // a crawl's: on an empty heap the collector would never rest
	defer runtime.KeepAlive(heap)
	for _, path := range []string{"plain", "gzip"} {
		b.Run(path+"/bare", func(b *testing.B) {
			c := &http.Client{
				Transport:     &http.Transport{MaxIdleConnsPerHost: 2},
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			}
			defer c.CloseIdleConnections()
			var bodies [hosts]bytes.Buffer // kept for nobody, so used again
			perHost(b, hosts, func(host int) error {
				r, err := http.NewRequest(http.MethodGet, bases[host]+path, nil)
				if err != nil {
					return err
				}
				if path == "plain" {
					r.Header.Set("Accept-Encoding", "identity")
				}
				in, err := c.Do(r)
				if err != nil {
					return err
				}
				defer in.Body.Close()
				bodies[host].Reset()
				_, err = bodies[host].ReadFrom(in.Body)
				return err
			})
		})
		b.Run(path+"/stack", func(b *testing.B) {
			// Each server has a name and an address: one that many share would be
			// asked for one thing at a time.
			n := loopbacks(bases)
			f := direct(b, func(o *fetch.Options) { o.IgnoreRobots, o.Resolver, o.Connect = false, n, n.Connect })
			urls := make([]web.URL, hosts)
			for i := range urls {
				urls[i] = address(b, fmt.Sprintf("http://h%d.test/%s", i, path))
			}
			perHost(b, hosts, func(host int) error {
				r, err := f.Fetch(context.Background(), urls[host])
				if err == nil && (r.Status != 200 || len(r.Body) < 36<<10) {
					err = fmt.Errorf("status %d, %d bytes", r.Status, len(r.Body))
				}
				return err
			})
		})
	}
}

// loopbacks are servers on loopback, as h0.test at 10.0.0.0 and so on.
type loopbacks []string

func (l loopbacks) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	var i byte
	if _, err := fmt.Sscanf(name, "h%d.test", &i); err != nil {
		return nil, err
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, i})}, nil
}

func (l loopbacks) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, strings.Trim(strings.TrimPrefix(l[at.Addr().As4()[3]], "http://"), "/"))
}

// perHost calls fetch b.N times, from a goroutine a host.
func perHost(b *testing.B, hosts int, fetch func(host int) error) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	var wg sync.WaitGroup
	for h := range hosts {
		wg.Go(func() {
			for i := h; i < b.N; i += hosts {
				if err := fetch(h); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pageServers runs n servers in a child process and returns their addresses.
func pageServers(b *testing.B, n int) []string {
	b.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestPageServers$")
	child.Env = append(os.Environ(), fmt.Sprintf("FETCH_PAGE_SERVERS=%d", n))
	child.Stderr = os.Stderr
	leash, err := child.StdinPipe() // the child ends when this closes
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { leash.Close(); child.Wait() })
	bases := make([]string, n)
	for i := range bases {
		if _, err := fmt.Fscanln(out, &bases[i]); err != nil {
			b.Fatal(err)
		}
	}
	return bases
}

// TestPageServers is the child process of BenchmarkFetch.
func TestPageServers(t *testing.T) {
	var n int
	if _, err := fmt.Sscan(os.Getenv("FETCH_PAGE_SERVERS"), &n); err != nil {
		t.Skip("serves the benchmark only")
	}
	var words strings.Builder
	for i := 0; words.Len() < 36<<10; i++ {
		fmt.Fprintf(&words, "<p>Sentence %d of the page, %x.</p>\n", i, i*i*7919)
	}
	page := []byte(words.String())
	packed := pack(t, words.String(), "gzip")
	for range n {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/plain":
				w.Header().Set("Content-Type", "text/html")
				w.Write(page)
			case "/gzip":
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Encoding", "gzip")
				w.Write(packed)
			default:
				http.NotFound(w, r)
			}
		}))
		defer s.Close()
		fmt.Println(s.URL + "/")
	}
	io.Copy(io.Discard, os.Stdin)
}
