package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/job"
)

// BenchmarkRejudge judges a crawl of 2,000 real pages anew from its archive, with
// other keywords and 8 examples. It needs the recorded web manuals:
//
//	go test -run '^$' -bench Rejudge -benchtime 1x ./internal/process
//
// Metrics: pages per second, and per second of processor time, beside those of the
// crawl. The bar is 1,000 pages/s on two cores, 500 for each second of processor
// time. It is not met: 268 where the crawl came to 244, and 415 pages/s, on two
// cores with nothing else to do.
func BenchmarkRejudge(b *testing.B) {
	const budget = 2_000
	place, w := manualsWeb(b)
	j := job.Recorded(w.Topics[0], false, budget)
	dir := b.TempDir()
	file, out := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "crawl")
	if text, err := j.YAML(); err != nil {
		b.Fatal(err)
	} else if err := os.WriteFile(file, text, 0o644); err != nil {
		b.Fatal(err)
	}
	proxy := serveInChild(b, place)
	crawled := measure(b, waggle, "crawl", "-f", file, "-o", out, "--through", proxy)
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for b.Loop() {
		began, before := time.Now(), spent()
		if said, err := waggleCommand([]string{"judge", out, "--keywords", "thread, lock, mutex"}).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
		b.ReportMetric(float64(crawled.pages)/time.Since(began).Seconds(), "pages/s")
		b.ReportMetric(float64(crawled.pages)/(spent()-before).Seconds(), "pages/cpu-s")
		b.ReportMetric(crawled.perCPU(), "crawl-pages/cpu-s")
	}
}
