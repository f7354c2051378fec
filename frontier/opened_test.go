//go:build linux

package frontier_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkOpened opens a frontier that a fill left, gives links out, and scores a part of those that wait
// anew. It tells what each takes where a frontier is large, and changes that frontier:
//
//	WAGGLE_LINKS=10000000 WAGGLE_KEEP=$PWD/large go test -run '^$' -bench 'Fill/waggle' -benchtime 1x -timeout 2h ./frontier
//	WAGGLE_FRONTIER=$PWD/large go test -run '^$' -bench Opened -benchtime 1x -timeout 1h ./frontier
//
// Without WAGGLE_FRONTIER it opens one of 20,000 links.
//
//	opening-s, opening-cpu-s   until it is open, and the processor time, user and system, of all threads
//	out/s, out/cpu-s           links given out, 64 at a time: at most 200,000 and a tenth of what waits
//	cpu-µs/link, own-µs/link   to score a link anew and move it, at most 400,000 of them: of all threads, and
//	                           of the caller's
//	ms/longest-slice           of 2,048 links that are scored anew
func BenchmarkOpened(b *testing.B) {
	dir := os.Getenv("WAGGLE_FRONTIER")
	if dir == "" {
		dir = b.TempDir()
		leaveSmall(b, dir)
	}
	runtime.LockOSThread() // for the processor time of the caller's thread
	defer runtime.UnlockOSThread()
	const slice, mostLeases, mostScored = 2048, 200_000, 400_000
	for b.Loop() {
		resetPeak()
		began, cpu := time.Now(), cpuTime(syscall.RUSAGE_SELF)
		opened, err := openWaggle(dir)
		if err != nil {
			b.Fatal(err)
		}
		q := opened.(*waggleQueue)
		b.ReportMetric(time.Since(began).Seconds(), "opening-s")
		b.ReportMetric((cpuTime(syscall.RUSAGE_SELF) - cpu).Seconds(), "opening-cpu-s")
		b.Logf("opened: %s; RSS %.0f MiB, heap %.0f MiB", q.describe(), resident("VmRSS:"), heap())

		most := min(mostLeases, q.f.Stats(q.now).Queued/10)
		began, cpu = time.Now(), cpuTime(syscall.RUSAGE_SELF)
		for q.leased() < most {
			if err := q.turn(nil, 64); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(q.leased())/time.Since(began).Seconds(), "out/s")
		b.ReportMetric(float64(q.leased())/(cpuTime(syscall.RUSAGE_SELF)-cpu).Seconds(), "out/cpu-s")

		most = min(mostScored, q.f.Stats(q.now).Queued)
		scored := 0
		longest := time.Duration(0)
		cpu = cpuTime(syscall.RUSAGE_SELF)
		own := cpuTime(thread)
		for at := []byte(nil); scored < most; {
			began = time.Now()
			at, err = q.f.Rescore(b.Context(), at, slice, func(*web.Candidate) float64 {
				scored++
				return unit(uint64(scored))
			})
			if err != nil {
				b.Fatal(err)
			}
			if longest = max(longest, time.Since(began)); at == nil {
				break
			}
		}
		b.ReportMetric((cpuTime(syscall.RUSAGE_SELF)-cpu).Seconds()*1e6/float64(scored), "cpu-µs/link")
		b.ReportMetric((cpuTime(thread)-own).Seconds()*1e6/float64(scored), "own-µs/link")
		b.ReportMetric(float64(longest.Milliseconds()), "ms/longest-slice")
		b.ReportMetric(resident("VmRSS:"), "RSS-MiB")
		b.ReportMetric(resident("VmHWM:"), "peak-MiB")
		if err := q.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// leaveSmall makes a frontier of 20,000 links on 2,000 hosts in a folder.
func leaveSmall(b *testing.B, dir string) {
	q, err := openWaggle(dir)
	if err != nil {
		b.Fatal(err)
	}
	s := stream{links: 20_000, hosts: 2_000}
	for n := uint64(0); n < uint64(s.links); {
		var add []web.Candidate
		for range pageLinks {
			add = append(add, web.Candidate{URL: parse(b, string(s.address(nil, n))), Kind: web.LinkA, Priority: unit(n), Features: []byte("8 bytes.")})
			n++
		}
		if err := q.turn(add, 0); err != nil {
			b.Fatal(err)
		}
	}
	if err := q.close(); err != nil {
		b.Fatal(err)
	}
}
