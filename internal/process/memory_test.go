package process

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkMemory crawls 120 hosts of one page each, of 10 MB, with 32 workers
// and the default fetch.memory, in a process of its own:
//
//	go test -run '^$' -bench Memory -benchtime 1x ./internal/process
//
// The metric is the crawler's greatest resident set in MiB; the bar is 450. On two
// cores it was 231 for text, 293 for links and 179 for paragraphs; 941, 1,041 and
// 883 before bodies were counted. "small" are 2,000 pages of 30 kB, for what there
// is beside bodies: 79, and 76 before.
func BenchmarkMemory(b *testing.B) {
	kinds := map[string]func(int) string{
		"text": func(n int) string {
			return fmt.Sprintf("This is the sentence %d of a very long text, with words such as w%d in it.\n", n, n%5000)
		},
		"links": func(n int) string {
			return fmt.Sprintf("<li><a href=\"/page/%d/some-name-here\">Link number %d to a page</a> with words around it, here and there\n", n, n)
		},
		"paragraphs": func(n int) string {
			return fmt.Sprintf("<p>This is the sentence %d of a long text, with words such as w%d in it. %s</p>\n", n, n%5000, strings.Repeat("And so it goes on. ", 20))
		},
	}
	for _, c := range []struct {
		name, kind   string
		hosts, bytes int
	}{
		{"text", "text", 120, 10 << 20}, {"links", "links", 120, 10 << 20}, {"paragraphs", "paragraphs", 120, 10 << 20}, {"small", "paragraphs", 2000, 30_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			var page strings.Builder
			page.WriteString("<!doctype html><title>A long page of the honey bee</title>")
			for n := 0; page.Len() < c.bytes; n++ {
				page.WriteString(kinds[c.kind](n))
			}
			body := page.String()[:c.bytes]
			proxy := serveAsRecorded(b, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				// No two pages are the same. They are not put together here: a child
				// is said to have had at least the memory that its parent has.
				io.WriteString(w, body)
				io.WriteString(w, r.Host)
			})
			none := job.Duration(0)
			j := &job.Job{
				Topic: job.Topic{Keywords: []string{"honey bee"}}, Politeness: job.Politeness{Delay: &none},
				Budget: job.Budget{Pages: c.hosts}, Scope: job.Scope{MaxHostPages: 1}, Fetch: job.Fetch{Through: proxy},
			}
			for i := range c.hosts {
				j.Seeds = append(j.Seeds, fmt.Sprintf("http://h%d.test/", i))
			}
			text, err := j.YAML()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				dir := b.TempDir()
				file := filepath.Join(dir, "job.yaml")
				if err := os.WriteFile(file, text, 0o644); err != nil {
					b.Fatal(err)
				}
				used := measure(b, waggle, "crawl", "-f", file, "-o", filepath.Join(dir, "crawl"))
				if used.pages != c.hosts {
					b.Fatalf("%d pages of %d", used.pages, c.hosts)
				}
				b.ReportMetric(float64(used.rss)/(1<<20), "rss-MiB")
				b.ReportMetric(used.perSecond(), "pages/s")
				b.ReportMetric(used.perCPU(), "pages/cpu-s")
			}
		})
	}
}

// serveAsRecorded is a proxy that says of itself that it serves a recorded web.
func serveAsRecorded(b *testing.B, answer http.HandlerFunc) (proxy string) {
	s := newRecordedServer(answer)
	b.Cleanup(s.Close)
	return s.URL
}

func newRecordedServer(answer http.HandlerFunc) *httptest.Server {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "" && r.URL.Path == corpus.CertificatePath {
			w.Header().Set(web.RecordHeader, web.RecordServed)
			pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw})
			return
		}
		answer(w, r)
	}))
}
