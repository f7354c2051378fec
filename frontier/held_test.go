//go:build linux

package frontier

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkHeld makes what a frontier on disk holds in memory of addresses that are in a run, and of hosts
// that are cold and for which links wait, and tells how many bytes of the resident set each takes,
// and what a look for one costs:
//
//	WAGGLE_LINKS=100000000 WAGGLE_HOSTS=10000000 go test -run '^$' -bench Held -benchtime 1x ./frontier
//
// Without the variables it makes 100,000 addresses and 10,000 hosts. The run is written to
// WAGGLE_DIR, or to the folder for temporary files: 28 bytes for an address. The file
// is in the system's memory afterwards, if there is room.
func BenchmarkHeld(b *testing.B) {
	number := func(name string, without int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return without
	}
	addresses := number("WAGGLE_LINKS", 100_000)
	hosts := number("WAGGLE_HOSTS", addresses/10)
	b.Run("addresses", func(b *testing.B) {
		for range b.N {
			dir, err := os.MkdirTemp(os.Getenv("WAGGLE_DIR"), "held")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			before := residentSet(b)
			w, err := createRun(vfs.Default, dir+"/run", runRef{first: 1, last: 1}, int64(addresses))
			if err != nil {
				b.Fatal(err)
			}
			step := math.MaxUint64/uint64(addresses) - 1
			began := time.Now()
			for i := range uint64(addresses) {
				if err := w.add(record{hash: 1 + i*step, tag: tag{prio: tagTaken}, host: noHost}); err != nil {
					b.Fatal(err)
				}
			}
			r, err := w.finish()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(addresses), "ns-written")
			runtime.GC()
			b.ReportMetric(float64(residentSet(b)-before)/float64(addresses), "B/address")
			const looks = 200_000
			for _, x := range []struct {
				unit string
				off  uint64
			}{{"ns-known", 0}, {"ns-new", step / 2}} {
				began := time.Now()
				for i := range uint64(looks) {
					at := i * 0x9e3779b97f4a7c15 % uint64(addresses)
					if _, ok, err := r.find(1 + at*step + x.off); err != nil || ok != (x.off == 0) {
						b.Fatal(ok, err)
					}
				}
				b.ReportMetric(float64(time.Since(began).Nanoseconds())/looks, x.unit)
			}
			if err := r.close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
	})
	b.Run("hosts", func(b *testing.B) {
		for range b.N {
			runtime.GC()
			before := residentSet(b)
			f := newFrontier(Options{}, nil)
			f.cold, f.siteByHash = newCold(nil, hotHosts), make(map[uint64]*site)
			began := time.Now()
			for i := range hosts {
				f.addCold(&web.HostState{Host: web.Host(fmt.Sprintf("www.host-%07d.example", i))})
				c := f.cold.host(uint32(i))
				c.queued, c.head = 3, key{float64(i%997) / 997, uint64(i + 1)}
			}
			f.placeCold()
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(hosts), "ns-made")
			runtime.GC()
			b.ReportMetric(float64(residentSet(b)-before)/float64(hosts), "B/host")
			f.cold.free()
		}
		b.ReportMetric(0, "ns/op")
	})
}

// residentSet is that of the process in bytes.
func residentSet(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
