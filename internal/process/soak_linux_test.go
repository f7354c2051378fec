package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	crawler "github.com/waggle-crawler/waggle"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkSoak crawls a synthetic web in which much goes wrong, by the default judge and
// scorer, onto the disk, for as many pages as WAGGLE_SOAK_PAGES asks for (20,000 otherwise)
// or as long as WAGGLE_SOAK_TIME, and notes what a request costs and what is held:
//
//	WAGGLE_SOAK=$PWD/soak WAGGLE_SOAK_PAGES=5000000 go test -run '^$' -bench Soak -benchtime 1x -timeout 100h ./internal/process
//
// The crawl is in this process, its web in another one. The samples go to soak.tsv as they
// are taken, and soak.svg and soak.png show them; every 100,000 pages soak-PAGES.heap says what the heap
// is held by (go tool pprof). Without WAGGLE_SOAK all are kept nowhere. For each
// measure there is its change from the end of the first third of the pages to the end, as a share
// of its mean: the slope of a line through the means of twenty parts, with its interval of 95 %.
// The bar is .05.
//
// Of the web's addresses, 1 % answer with status 500, 1 % with 403, 410 or 404, 1 % hang up
// within their body; 2 % of its hosts take 4 s for an answer, 1 % send a byte at a time,
// 1 % hang up on every request, 5 % have a calendar without an end. One link in twenty leads
// over a redirect, as many lead nowhere, and one page in twenty is a copy of another.
func BenchmarkSoak(b *testing.B) {
	pages := 20_000
	if s := os.Getenv("WAGGLE_SOAK_PAGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 5000 {
			b.Fatalf("WAGGLE_SOAK_PAGES=%s: give a number from 5,000 on", s)
		}
		pages = n
	}
	var limit time.Duration
	if s := os.Getenv("WAGGLE_SOAK_TIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			b.Fatalf("WAGGLE_SOAK_TIME=%s: give a duration such as 40m", s)
		}
		limit = d
	}
	keep := os.Getenv("WAGGLE_SOAK")
	if keep == "" {
		keep = filepath.Join(b.TempDir(), "soak")
	}
	for b.Loop() {
		samples, err := soak(b, pages, limit, keep+".tsv")
		if err != nil {
			b.Fatal(err)
		}
		if err := drawSoak(samples, keep); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(samples[len(samples)-1].pages), "pages")
		for _, m := range soakMeasures {
			change, half, err := m.change(samples)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(change, m.name+"-change")
			b.ReportMetric(half, m.name+"-half-interval")
		}
	}
}

// soakSample is what there is after so many pages.
type soakSample struct {
	seconds    float64
	pages      int
	failed     int     // requests that brought no page
	cpu        float64 // ms a request
	page       float64 // ms a page, with the requests that brought none
	live       float64 // MB of the heap that are in use, as the last collection of garbage found
	resident   float64 // MB
	goroutines int
	files      int // open, sockets among them
	queued     int
	hosts      int
}

const soakHead = "seconds\tpages\tfailed\tcpu-ms-a-request\tcpu-ms-a-page\tlive-MB\tresident-MB\tgoroutines\tfiles\tqueued\thosts\n"

// soak crawls and writes a sample for every 1,000th of the pages.
func soak(b *testing.B, pages int, limit time.Duration, file string) ([]soakSample, error) {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), runSoakWeb+"="+strconv.Itoa(pages))
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer server.Wait()
	defer in.Close()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the web does not say where it is: %w", err)
	}
	w, err := soakWeb(pages)
	if err != nil {
		return nil, err
	}
	j := job.Recorded(w.Topic(0), false, pages)
	j.Fetch.Through, j.Fetch.Render = strings.TrimSpace(line), "never"
	// The made-up words of the examples look like those of another language: each page would be asked which it is.
	j.Topic.Language = []string{"en"}
	for i, u := range j.Seeds {
		j.Seeds[i] = strings.Replace(u, oneSite, ownSites, 1)
	}
	j.Budget.Time = job.Duration(limit)
	deep := 1000
	j.Scope.MaxDepth = &deep
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if _, err := io.WriteString(out, soakHead); err != nil {
		return nil, err
	}
	var samples []soakSample
	var failed int
	var stats web.FrontierStats
	var wrong error
	fetched, every := 0, max(pages/1000, 100)
	began, last, asked := time.Now(), cpuTime(syscall.RUSAGE_SELF), 0
	c := crawler.Crawler{Listen: func(e event.Event) {
		switch e := e.(type) {
		case event.Failed:
			failed++
		case event.Tick:
			stats = e.Frontier
		case event.Fetched:
			if fetched++; fetched%every != 0 {
				return
			}
			now := cpuTime(syscall.RUSAGE_SELF)
			s, err := sampled()
			s.seconds, s.pages, s.failed = time.Since(began).Seconds(), fetched, failed
			spent := (now - last).Seconds() * 1000
			s.cpu, s.page = spent/float64(fetched+failed-asked), spent/float64(every)
			s.queued, s.hosts = stats.Queued, stats.Hosts
			last, asked = now, fetched+failed
			samples = append(samples, s)
			_, said := fmt.Fprintf(out, "%.1f\t%d\t%d\t%.3f\t%.3f\t%.1f\t%.1f\t%d\t%d\t%d\t%d\n", s.seconds, s.pages, s.failed, s.cpu, s.page, s.live, s.resident, s.goroutines, s.files, s.queued, s.hosts)
			wrong = errors.Join(wrong, err, said)
			if fetched%100_000 == 0 {
				name := fmt.Sprintf("%s-%d.heap", strings.TrimSuffix(file, ".tsv"), fetched)
				wrong = errors.Join(wrong, writeHeap(name))
			}
		}
	}}
	dir, err := os.MkdirTemp(filepath.Dir(file), "soak-crawl-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	how, err := c.Begin(context.Background(), filepath.Join(dir, "crawl"), j)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	if len(samples) < 60 {
		return nil, fmt.Errorf("the crawl ended (%s) after %d pages: too few to tell anything", how, fetched)
	}
	return samples, nil
}

// writeHeap writes a profile of the heap as the last collection of garbage found it.
func writeHeap(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// sampled reads what is held now.
func sampled() (s soakSample, err error) {
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(m)
	s.live = float64(m[0].Value.Uint64()) / 1e6
	s.goroutines = runtime.NumGoroutine()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return s, err
	}
	if f := bytes.Fields(statm); len(f) > 1 {
		n, err := strconv.Atoi(string(f[1]))
		if err != nil {
			return s, err
		}
		s.resident = float64(n) * float64(os.Getpagesize()) / 1e6
	}
	open, err := os.ReadDir("/proc/self/fd")
	s.files = len(open)
	return s, err
}

// soakMeasure is one of what is to stay as it is.
type soakMeasure struct {
	name, title string
	of          func(*soakSample) float64
}

var soakMeasures = []soakMeasure{
	{"cpu", "Processor time, ms a request", func(s *soakSample) float64 { return s.cpu }},
	{"page", "Processor time, ms a page", func(s *soakSample) float64 { return s.page }},
	{"live", "Heap in use, MB", func(s *soakSample) float64 { return s.live }},
	{"resident", "Resident, MB", func(s *soakSample) float64 { return s.resident }},
	{"goroutines", "Goroutines", func(s *soakSample) float64 { return float64(s.goroutines) }},
	{"files", "Open files", func(s *soakSample) float64 { return float64(s.files) }},
}

// change is by how much a measure changes from the first third of the pages to the end, as
// a share of its mean there, and half the width of its interval of 95 %. The means of twenty
// parts are fitted by a line: samples that follow one another are too much alike to count
// for one each.
func (m soakMeasure) change(samples []soakSample) (change, half float64, err error) {
	const parts = 20
	const quantile = 2.101 // of Student's t, 18 degrees of freedom
	late := samples[len(samples)/3:]
	if len(late) < parts {
		return 0, 0, fmt.Errorf("%d samples, want at least %d", len(late), parts)
	}
	var means [parts]float64
	mean := 0.
	for i := range means {
		part := late[len(late)*i/parts : len(late)*(i+1)/parts]
		for k := range part {
			means[i] += m.of(&part[k])
		}
		means[i] /= float64(len(part))
		mean += means[i] / parts
	}
	const middle = (parts - 1) / 2.
	var xy, xx, rest float64
	for i, y := range means {
		x := float64(i) - middle
		xy += x * (y - mean)
		xx += x * x
	}
	slope := xy / xx
	for i, y := range means {
		d := y - mean - slope*(float64(i)-middle)
		rest += d * d
	}
	half = quantile * math.Sqrt(rest/(parts-2)/xx)
	return slope * parts / mean, half * parts / mean, nil
}

// drawSoak writes a chart of the samples.
func drawSoak(samples []soakSample, file string) error {
	var all plot.Multiples
	all.Columns, all.PanelHeight = 2, 150
	all.Title = "A long crawl of a synthetic web in which much goes wrong"
	for _, m := range soakMeasures {
		s := plot.Series{}
		for i := range samples {
			s.X = append(s.X, float64(samples[i].pages))
			s.Y = append(s.Y, m.of(&samples[i]))
		}
		all.Panels = append(all.Panels, plot.Lines{Title: m.title, XLabel: "pages", Series: []plot.Series{s}})
	}
	d := all.Draw()
	for end, write := range map[string]func(io.Writer) error{
		".svg": d.SVG,
		".png": func(w io.Writer) error { return d.PNG(w, 2, false) },
	} {
		f, err := os.Create(file + end)
		if err != nil {
			return err
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
