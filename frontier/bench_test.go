//go:build linux

package frontier_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkFrontier10M fills a frontier on disk with 10 million links over
// 200,000 hosts and leases a million of them, and reports what it took:
//
//	go test -run '^$' -bench Frontier10M -benchtime 1x ./frontier
//
// A plain -bench . leaves it to BenchmarkFrontier, which does the same with
// 200,000 links. Rates are given by the wall clock and by the CPU time of all
// threads (user and system), since the machine may be shared; cpu figures are
// per CPU second. VmHWM is the peak of the resident set of the whole process,
// so run one benchmark at a time to read it.
//
// The baseline puts as many keys and values of the same size into a store with
// default options, and does nothing else: no order among hosts, no seen-set,
// no leases.
func BenchmarkFrontier10M(b *testing.B) {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "10M") {
		b.Skip("asked for by -bench Frontier10M")
	}
	for _, zipf := range []bool{false, true} {
		b.Run(name(zipf), func(b *testing.B) { fill(b, 10_000_000, 200_000, 1_000_000, zipf) })
	}
	b.Run("baseline", func(b *testing.B) { bare(b, 10_000_000, 200_000) })
}

func BenchmarkFrontier(b *testing.B) {
	for _, zipf := range []bool{false, true} {
		b.Run(name(zipf), func(b *testing.B) { fill(b, 200_000, 4_000, 50_000, zipf) })
	}
	b.Run("baseline", func(b *testing.B) { bare(b, 200_000, 4_000) })
}

// BenchmarkRescore scores waiting links of 300 bytes on disk anew, in the slices of a
// crawl, under a score that reads all of a link's bytes and moves every link:
//
//	WAGGLE_LINKS=10000000 go test -run '^$' -bench Rescore -benchtime 1x -timeout 2h ./frontier
//
//	WAGGLE_LINKS   links that wait; a million without it
//	WAGGLE_HOSTS   hosts that they are spread over evenly; 2,000 without it
//	WAGGLE_DIR     the folder for files; that of temporary files without it
//
// cpu-µs/link is processor time, user and system, of all threads, and own-µs/link that of
// the caller alone. The longest slice is how long a crawl gives out no leases.
func BenchmarkRescore(b *testing.B) {
	links, hosts := number("WAGGLE_LINKS", 1_000_000), number("WAGGLE_HOSTS", 2_000)
	const slice = 2048
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range b.N {
		dir, err := os.MkdirTemp(os.Getenv("WAGGLE_DIR"), "rescore")
		if err != nil {
			b.Fatal(err)
		}
		defer os.RemoveAll(dir)
		f, err := frontier.Open(dir, frontier.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for i := 0; i < links; i += 100 {
			var turn web.Turn
			for j := range 100 {
				features := make([]byte, 200)
				for k := range features {
					features[k] = byte(r.Uint32())
				}
				u := parse(b, fmt.Sprintf("http://h%d.example/some/path/page%d.html", r.IntN(hosts), i+j))
				turn.Add = append(turn.Add, web.Candidate{URL: u, Kind: web.LinkA, Priority: r.Float64(), Features: features})
			}
			if _, err := f.Commit(b.Context(), turn); err != nil {
				b.Fatal(err)
			}
		}
		waiting := f.Stats(time.Time{}).Queued
		var longest time.Duration
		looked := 0
		wall, cpu, own := time.Now(), cpuTime(syscall.RUSAGE_SELF), cpuTime(thread)
		for at := []byte(nil); ; {
			began := time.Now()
			at, err = f.Rescore(b.Context(), at, slice, func(c *web.Candidate) float64 {
				looked++
				h := uint64(14695981039346656037)
				for _, x := range c.Features {
					h = (h ^ uint64(x)) * 1099511628211
				}
				return float64(h>>11) / (1 << 53)
			})
			if err != nil {
				b.Fatal(err)
			}
			longest = max(longest, time.Since(began))
			if at == nil {
				break
			}
		}
		micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(waiting) }
		b.ReportMetric(time.Since(wall).Seconds(), "s/sweep")
		b.ReportMetric(micros(cpuTime(syscall.RUSAGE_SELF)-cpu), "cpu-µs/link")
		b.ReportMetric(micros(cpuTime(thread)-own), "own-µs/link")
		b.ReportMetric(float64(longest.Milliseconds()), "ms/longest-slice")
		b.ReportMetric(float64(looked)/float64(waiting), "looks/link")
		b.ReportMetric(float64(waiting), "links")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCrowd takes in pages that link 1,000 names never met before, into a
// frontier on disk that is full with 80,000 links on as many hosts: names of one
// site, which are refused but for some, or each a site of its own, which push out
// the worst.
//
//	go test -run '^$' -bench Crowd -benchtime 20x ./frontier
//
// ms/page is the time of a page, ms/longest that of the slowest.
func BenchmarkCrowd(b *testing.B) {
	for _, site := range []string{".example", ".bad.example"} {
		b.Run("names"+site, func(b *testing.B) {
			ctx := context.Background()
			const links, names = 80_000, 1000
			f, err := frontier.Open(b.TempDir(), frontier.Options{Max: links})
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			page := func(n int, name string) (turn web.Turn) {
				for i := range names {
					u := parse(b, fmt.Sprintf("http://%s%d-%d%s/", name, n, i, site))
					turn.Add = append(turn.Add, web.Candidate{URL: u, Kind: web.LinkA, Priority: r.Float64(), Features: []byte("8 bytes.")})
				}
				return turn
			}
			for n := range links / names {
				turn := page(n, "host")
				for i := range turn.Add {
					turn.Add[i].URL = parse(b, fmt.Sprintf("http://host%d-%d.example/", n, i))
				}
				if _, err := f.Commit(ctx, turn); err != nil {
					b.Fatal(err)
				}
			}
			var turns []web.Turn
			for n := range b.N {
				turns = append(turns, page(n, "new"))
			}
			var longest time.Duration
			out := 0
			b.ResetTimer()
			for _, turn := range turns {
				began := time.Now()
				receipt, err := f.Commit(ctx, turn)
				if err != nil {
					b.Fatal(err)
				}
				out += len(receipt.Crowded)
				longest = max(longest, time.Since(began))
			}
			b.StopTimer()
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/page")
			b.ReportMetric(float64(longest.Microseconds())/1e3, "ms/longest")
			b.ReportMetric(float64(out)/float64(b.N), "out/page")
			b.ReportMetric(0, "ns/op")
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// bare writes links to a store as it comes.
func bare(b *testing.B, links, hosts int) {
	for range b.N {
		db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: silentLogger{}})
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		value := make([]byte, 150) // two addresses, their features and counters
		var key [20]byte
		wall, cpu := time.Now(), cpuTime(syscall.RUSAGE_SELF)
		for i := 0; i < links; i += 1000 {
			batch := db.NewBatch()
			for j := range 1000 {
				binary.BigEndian.PutUint32(key[:], uint32(r.IntN(hosts)))
				binary.BigEndian.PutUint64(key[4:], r.Uint64())
				binary.BigEndian.PutUint64(key[12:], uint64(i+j))
				copy(value, key[:])
				if err := batch.Set(key[:], value, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := batch.Commit(pebble.NoSync); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(links)/time.Since(wall).Seconds(), "links/s")
		b.ReportMetric(float64(links)/(cpuTime(syscall.RUSAGE_SELF)-cpu).Seconds(), "links/cpu-s")
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// silentLogger is a log for nobody.
type silentLogger struct{}

func (silentLogger) Infof(string, ...any)         {}
func (silentLogger) Errorf(string, ...any)        {}
func (silentLogger) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

func name(zipf bool) string {
	if zipf {
		return "zipf"
	}
	return "uniform"
}

func fill(b *testing.B, links, hosts, leases int, zipf bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	debug.FreeOSMemory()
	resetPeak()
	ctx := context.Background()
	for range b.N {
		dir := b.TempDir()
		f, err := frontier.Open(dir, frontier.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		z := rand.NewZipf(r, 1.1, 1, uint64(hosts-1))
		from := parse(b, "https://www.host-of-the-source.example/section/articles/page-1234.html")
		const batch = 1000
		adds := make([]web.Candidate, batch)
		// Making the links is not the frontier's work: the CPU time that this
		// thread spends on it is taken off both figures.
		var making time.Duration
		wall, cpu := time.Now(), cpuTime(syscall.RUSAGE_SELF)
		dropped := 0
		for i := 0; i < links; i += batch {
			begun := cpuTime(thread)
			for j := range adds {
				h := r.IntN(hosts)
				if zipf {
					h = int(z.Uint64())
				}
				adds[j] = web.Candidate{
					URL:      parse(b, fmt.Sprintf("https://www.host-%06d.example/some/section/of/the/site/page-%08d.html", h, i+j)),
					From:     from,
					Kind:     web.LinkA,
					Depth:    3,
					Priority: r.Float64(),
					Features: []byte("8 bytes."),
				}
			}
			making += cpuTime(thread) - begun
			receipt, err := f.Commit(ctx, web.Turn{Add: adds})
			if err != nil {
				b.Fatal(err)
			}
			dropped += len(receipt.Dropped)
		}
		wallAdd, cpuAdd := time.Since(wall)-making, cpuTime(syscall.RUSAGE_SELF)-cpu-making
		stats := f.Stats(time.Time{})
		b.Logf("%d queued of %d, %d dropped, %d hosts; making links took %v", stats.Queued, links, dropped, stats.Hosts, making)

		wall, cpu = time.Now(), cpuTime(syscall.RUSAGE_SELF)
		taken := 0
		for taken < leases {
			out, err := f.Lease(ctx, time.Time{}, 64, 0, nil)
			if err != nil {
				b.Fatal(err)
			}
			turn := web.Turn{Done: make([]web.URL, len(out))}
			for i := range out {
				turn.Done[i] = out[i].URL
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				b.Fatal(err)
			}
			taken += len(out)
			if len(out) == 0 {
				break
			}
		}
		wallLease, cpuLease := time.Since(wall), cpuTime(syscall.RUSAGE_SELF)-cpu
		per := func(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
		b.ReportMetric(per(links, wallAdd), "links/s")
		b.ReportMetric(per(links, cpuAdd), "links/cpu-s")
		b.ReportMetric(per(taken, wallLease), "leases/s")
		b.ReportMetric(per(taken, cpuLease), "leases/cpu-s")
		b.ReportMetric(peak(), "RSS-MiB")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		wall = time.Now()
		if f, err = frontier.Open(dir, frontier.Options{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(wall).Seconds(), "reopen-s")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func parse(b *testing.B, s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// thread asks getrusage for the calling thread alone (Linux).
const thread = 1

func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak makes the kernel forget the process's peak so far.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak is the peak of the resident set in MiB, 0 where the system does not tell.
func peak() float64 {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024
		}
	}
	return 0
}

// BenchmarkMillion tells what memory a million waiting links take, with the buffers
// of the store, over 1,000 hosts and over as many hosts as links. It said 170 MB and
// 972 MB.
//
//	CGO_ENABLED=0 go test -run '^$' -bench Million -benchtime 1x ./frontier
//
// With cgo the store's buffers are not in the heap.
func BenchmarkMillion(b *testing.B) {
	const links = 1_000_000
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	for _, hosts := range []int{1_000, links} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				f, err := frontier.Open(b.TempDir(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
				if err != nil {
					b.Fatal(err)
				}
				before := heap()
				var turn web.Turn
				for i := range links {
					u, err := web.Parse(fmt.Sprintf("https://www.site-%d.example/archive/page-%d.html", i%hosts, i))
					if err != nil {
						b.Fatal(err)
					}
					turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: float64(i%997) / 997, Features: make([]byte, 8)})
					if len(turn.Add) < 1000 {
						continue
					}
					if _, err := f.Commit(b.Context(), turn); err != nil {
						b.Fatal(err)
					}
					turn.Add = nil
				}
				b.ReportMetric(heap()-before, "MB")
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
