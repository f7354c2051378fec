package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// BenchmarkExport exports a crawl of made-up pages of 30 words and six links in every form,
// each in a process of its own. It has 2,000 pages, or WAGGLE_PAGES:
//
//	WAGGLE_PAGES=1000000 go test -run '^$' -bench Export -benchtime 1x -timeout 0 ./internal/process
//
// A million pages take 4 GB of the disk while they are exported. With WAGGLE_FOLDER,
// the folder of the crawl is kept, and used again. Metrics: the greatest resident set of
// the process in MiB, of which the bar is 500 MB, or 477 MiB; its processor time; the
// size of the export.
func BenchmarkExport(b *testing.B) {
	n := 2000
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := os.Getenv("WAGGLE_FOLDER")
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(collection.At(dir).EventLog()); err != nil {
		if _, err := madecrawl.Write(dir, n, 30, 1); err != nil {
			b.Fatal(err)
		}
	}
	for _, form := range export.Forms() {
		b.Run(form.Name, func(b *testing.B) {
			out := filepath.Join(b.TempDir(), form.File)
			for b.Loop() {
				cmd := exec.Command(waggle, "export", dir, form.Name, "-o", out, "--force")
				if said, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %v\n%s", cmd.Args, err, said)
				}
				written, err := os.Stat(out)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(maxRSS(cmd.ProcessState))/(1<<20), "rss-MiB")
				b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
				b.ReportMetric(float64(written.Size())/1e6, "MB")
			}
		})
	}
}
