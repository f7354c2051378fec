//go:build unix

package corpus

import (
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/recorded"
)

// BenchmarkServe asks a proxy for every page of a small web over one
// connection at a time: with all pages in memory, and with none.
func BenchmarkServe(b *testing.B) {
	w, _ := build(b, Exchange{recorded.Web(b, "departments")})
	for name, bytes := range map[string]int64{"warm": 1 << 30, "cold": -1} {
		b.Run(name, func(b *testing.B) {
			s, client, _ := start(b, w, ServerOptions{CacheBytes: bytes})
			if _, err := s.Warm(b.Context()); err != nil {
				b.Fatal(err)
			}
			before, n := cpuTime(b), 0
			for b.Loop() {
				for i, address := range w.order {
					if i%4 == 0 {
						get(b, client, address)
						n++
					}
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(n), "cpu-µs/request") // of server and client
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
