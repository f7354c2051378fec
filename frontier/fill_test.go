//go:build linux

package frontier_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkFill takes in a stream of links as pages bring them, gives some out, and tells
// what memory, disk and time that took:
//
//	WAGGLE_LINKS=10000000 go test -run '^$' -bench 'Fill/waggle' -benchtime 1x -timeout 2h ./frontier
//
//	WAGGLE_LINKS   links that pages bring; 200,000 without it
//	WAGGLE_HOSTS   hosts that they are spread over; a tenth of the links without it
//	WAGGLE_DIR     the folder for files; that of temporary files without it
//	WAGGLE_KEEP    a folder for the files that is left, for BenchmarkOpened
//
// A page brings 100 links, of which 60 were met before: 40 of these among the last
// 100,000 that were new, 20 among all. Half of the new ones are on hosts drawn
// evenly, half on hosts drawn with a density of 1/rank (Zipf). A turn is ten pages: the
// leases of ten hosts that end, which are due again ten seconds later, and their 1,000 links; a
// turn of the clock is 10 ms for each page. After the fill a tenth of the number of links are given
// out, 64 at a time, with nothing added.
//
//	in/s, out/s     links taken in and given out a second of wall time, without the
//	                time in which the links are made; in/cpu-s, out/cpu-s by
//	                processor time, user and system, of all threads
//	p50, p99, max   of a turn of the fill, Lease and Commit together
//	RSS, peak       of the process, MiB; heap is what Go's collector has mapped
//
// The others (pebble, sqlite) keep links the plain way: an index by address and a queue by priority
// in one store, looked up link by link; when hosts are due is in memory. They have no bounds, no
// order among hosts but that of their links, and no care for the death of the process.
func BenchmarkFill(b *testing.B) {
	links := number("WAGGLE_LINKS", 200_000)
	web := stream{links: links, hosts: number("WAGGLE_HOSTS", links/10)}
	b.Run("waggle", func(b *testing.B) { web.fill(b, openWaggle) })
	b.Run("pebble", func(b *testing.B) { web.fill(b, openPlainPebble) })
	b.Run("sqlite", func(b *testing.B) { web.fill(b, openPlainSQLite) })
}

func number(name string, without int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return without
}

// stream is the links of a web of so many hosts.
type stream struct {
	links, hosts int
}

const (
	pageLinks = 100
	turnPages = 10
	nearby    = 100_000
)

// mix is the finalizer of SplitMix64: a number drawn by another.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number in [0,1) drawn by another.
func unit(x uint64) float64 { return float64(mix(x)>>11) / (1 << 53) }

// address appends the n-th new link.
func (s stream) address(b []byte, n uint64) []byte {
	host := int(mix(n*3) % uint64(s.hosts))
	if mix(n*3+1)&1 == 0 {
		host = int(math.Exp(unit(n*3+2)*math.Log(float64(s.hosts)))) - 1
	}
	return fmt.Appendf(b, "https://www.host-%07d.example/some/section/of/the/site/page-%09d.html", host, n)
}

// number returns which new link the i-th link of the stream is, and how many new ones there were
// up to it.
func (s stream) number(i int, fresh uint64) (n, now uint64) {
	switch kind := i % 5; {
	case kind < 2 || fresh < 10:
		return fresh, fresh + 1
	case kind < 4:
		return fresh - 1 - mix(uint64(i))%min(fresh, nearby), fresh
	default:
		return mix(uint64(i)) % fresh, fresh
	}
}

// queue is what is measured.
type queue interface {
	// turn ends the leases it gave before, takes links in, and leases n.
	turn(add []web.Candidate, n int) error
	leased() int
	describe() string
	close() error
}

func (s stream) fill(b *testing.B, open func(dir string) (queue, error)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range b.N {
		resetPeak()
		dir := os.Getenv("WAGGLE_KEEP")
		if dir == "" {
			var err error
			if dir, err = os.MkdirTemp(os.Getenv("WAGGLE_DIR"), "fill"); err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
		}
		q, err := open(dir)
		if err != nil {
			b.Fatal(err)
		}
		var making time.Duration
		var turns []time.Duration
		adds := make([]web.Candidate, pageLinks*turnPages)
		features := []byte("8 bytes.")
		var text []byte
		fresh := uint64(0)
		began, cpu := time.Now(), cpuTime(syscall.RUSAGE_SELF)
		made := time.Duration(0)
		for i := 0; i < s.links; {
			at, spent := time.Now(), cpuTime(thread)
			for page := range turnPages {
				text = fmt.Appendf(text[:0], "https://www.host-%07d.example/from/page-%09d.html", mix(uint64(i))%uint64(s.hosts), i)
				from := parse(b, string(text))
				for j := range pageLinks {
					var n uint64
					n, fresh = s.number(i, fresh)
					text = s.address(text[:0], n)
					adds[page*pageLinks+j] = web.Candidate{URL: parse(b, string(text)), From: from, Kind: web.LinkA, Depth: 3, Priority: unit(uint64(i)), Features: features}
					i++
				}
			}
			made += cpuTime(thread) - spent
			making += time.Since(at)
			at = time.Now()
			if err := q.turn(adds, turnPages); err != nil {
				b.Fatal(err)
			}
			turns = append(turns, time.Since(at))
			if i%(s.links/10) == 0 {
				b.Logf("%9d links in %6.1f s: %s; RSS %.0f MiB, heap %.0f MiB", i, (time.Since(began) - making).Seconds(), q.describe(), resident("VmRSS:"), heap())
			}
		}
		wall, spent := time.Since(began)-making, cpuTime(syscall.RUSAGE_SELF)-cpu-made
		b.ReportMetric(float64(s.links)/wall.Seconds(), "in/s")
		b.ReportMetric(float64(s.links)/spent.Seconds(), "in/cpu-s")
		slices.Sort(turns)
		for _, t := range []struct {
			name string
			at   int
		}{{"p50", len(turns) / 2}, {"p99", len(turns) * 99 / 100}, {"max", len(turns) - 1}} {
			b.ReportMetric(float64(turns[t.at].Microseconds())/1e3, t.name+"-ms")
		}
		b.ReportMetric(resident("VmRSS:"), "RSS-MiB")
		b.ReportMetric(heap(), "heap-MiB")

		began, cpu = time.Now(), cpuTime(syscall.RUSAGE_SELF)
		before := q.leased()
		for q.leased()-before < s.links/10 {
			was := q.leased()
			if err := q.turn(nil, 64); err != nil {
				b.Fatal(err)
			}
			if q.leased() == was {
				break
			}
		}
		out := float64(q.leased() - before)
		b.ReportMetric(out/time.Since(began).Seconds(), "out/s")
		b.ReportMetric(out/(cpuTime(syscall.RUSAGE_SELF)-cpu).Seconds(), "out/cpu-s")
		b.ReportMetric(resident("VmHWM:"), "peak-MiB")
		b.Logf("%.0f given out in %.1f s: %s", out, time.Since(began).Seconds(), q.describe())
		if err := q.close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sizeOf(b, dir))/1e6, "disk-MB")
		began = time.Now()
		if q, err = open(dir); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "reopen-s")
		if err := q.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// resident is a line of the process's status in MiB, 0 where the system does not tell.
func resident(name string) float64 {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024
		}
	}
	return 0
}

// heap is what the collector has from the system and did not give back, in MiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapSys-m.HeapReleased) / (1 << 20)
}

func sizeOf(b *testing.B, dir string) (size int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// waggleQueue is the frontier that is measured.
type waggleQueue struct {
	f   *frontier.Frontier
	now time.Time
	out []web.Lease

	n int
}

func openWaggle(dir string) (queue, error) {
	f, err := frontier.Open(filepath.Join(dir, "frontier"), frontier.Options{})
	if err != nil {
		return nil, err
	}
	f.Share(32, 10*time.Second)
	return &waggleQueue{f: f, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
}

func (q *waggleQueue) turn(add []web.Candidate, n int) (err error) {
	q.now = q.now.Add(time.Duration(n) * 10 * time.Millisecond)
	t := web.Turn{Add: add}
	for i := range q.out {
		l := &q.out[i]
		t.Done = append(t.Done, l.URL)
		l.Host.Fetched++
		l.Host.Due = q.now.Add(10 * time.Second)
		t.Hosts = append(t.Hosts, l.Host)
	}
	if _, err := q.f.Commit(context.Background(), t); err != nil {
		return err
	}
	q.out, err = q.f.Lease(context.Background(), q.now, n, 0, nil)
	q.n += len(q.out)
	return err
}

func (q *waggleQueue) leased() int  { return q.n }
func (q *waggleQueue) close() error { return q.f.Close() }

func (q *waggleQueue) describe() string {
	s := q.f.Stats(q.now)
	return fmt.Sprintf("%d seen, %d queued, %d hosts with links, %d given out", s.Seen, s.Queued, s.Hosts, q.n)
}
