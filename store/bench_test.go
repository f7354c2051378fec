//go:build unix

package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/web"
)

// realPages reads every nth page of a web under ../shared/webs, from the
// repository's root.
func realPages(b *testing.B, name string, nth, limit int) (list []web.Exchange) {
	f, err := os.Open(filepath.Join(recorded.Web(b, name), "pages.jsonl.zst"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for n := 0; lines.Scan() && len(list) < limit; n++ {
		if n%nth != 0 {
			continue
		}
		var p struct{ URL, Body string }
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			b.Fatal(err)
		}
		list = append(list, pageExchange(b, p.URL, p.Body))
	}
	return list
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEncode renders real pages at several gzip levels, beside the bare
// gzip of their bodies: CPU µs a page, and bytes in for one byte out.
func BenchmarkEncode(b *testing.B) {
	list := realPages(b, "campus", 40, 300)
	var in int64
	for _, x := range list {
		in += int64(len(x.Response.Raw))
	}
	report := func(b *testing.B, start time.Duration, out int64) {
		pages := float64(b.N * len(list))
		b.ReportMetric(float64((cpu(b)-start).Microseconds())/pages, "cpu-µs/page")
		b.ReportMetric(float64(in)*float64(b.N)/float64(out), "ratio")
		b.ReportMetric(float64(in)/float64(len(list))/1024, "KiB/page")
	}
	for _, level := range []int{1, 3, 4, 5, 6, 7} {
		b.Run(fmt.Sprintf("gzip-%d", level), func(b *testing.B) {
			var buf bytes.Buffer
			gz, err := gzip.NewWriterLevel(&buf, level)
			if err != nil {
				b.Fatal(err)
			}
			start, out := cpu(b), int64(0)
			for range b.N {
				for _, x := range list {
					buf.Reset()
					gz.Reset(&buf)
					gz.Write(x.Response.Raw)
					gz.Close()
					out += int64(buf.Len())
				}
			}
			report(b, start, out)
		})
		b.Run(fmt.Sprintf("encode-%d", level), func(b *testing.B) {
			a := newArchive(b, b.TempDir(), Options{Level: level})
			start, out := cpu(b), int64(0)
			for range b.N {
				for _, x := range list {
					out += int64(len(encode(b, a, x)))
				}
			}
			report(b, start, out)
		})
	}
}

// BenchmarkAppend writes rendered records, without syncing.
func BenchmarkAppend(b *testing.B) {
	a := newArchive(b, b.TempDir(), Options{})
	record := encode(b, a, pageExchange(b, "https://example.org/", string(bytes.Repeat([]byte("<p>some words "), 4000))))
	b.SetBytes(int64(len(record)))
	for b.Loop() {
		if _, err := a.Append(record); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads all records of an archive of real pages.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	a := newArchive(b, dir, Options{})
	for _, x := range realPages(b, "campus", 40, 300) {
		appendTo(b, a, encode(b, a, x))
	}
	if err := a.Sync(); err != nil {
		b.Fatal(err)
	}
	files, err := Paths(dir)
	if err != nil {
		b.Fatal(err)
	}
	start, n := cpu(b), 0
	for b.Loop() {
		for rec, err := range Records(files...) {
			if err != nil {
				b.Fatal(err)
			}
			if rec.Type() == "response" {
				if _, err := ReadResponse(rec, 1<<30); err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
	}
	b.ReportMetric(float64((cpu(b)-start).Microseconds())/float64(n), "cpu-µs/page")
}
