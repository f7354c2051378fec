package process

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/job"
)

// BenchmarkOpen crawls 2,000 pages of the recorded web campus, or WAGGLE_PAGES, on
// loopback without a delay, in turns: by itself, with the page open in Chromium on the
// screen Now, and so with the index, too. Each -benchtime 1x is a turn:
//
//	go test -run '^$' -bench Open -benchtime 5x -timeout 0 ./internal/process
//
// Metrics: the processor time of waggle for a page in ms, Chromium and the server not
// counted, and the medians of the ratios of the turns, of which the bar is 1.05 with the
// page open.
func BenchmarkOpen(b *testing.B) {
	budget := 2000
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		var err error
		if budget, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	source := recorded.Web(b, "campus")
	place := filepath.Join(b.TempDir(), "campus")
	if _, err := corpus.Build(b.Context(), place, corpus.Exchange{Dir: source}, corpus.Options{}); err != nil {
		b.Fatal(err)
	}
	w, err := corpus.Open(place)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	j := job.Recorded(w.Topics[0], false, budget)
	j.Fetch.Render = "never" // its browser would be counted, too
	text, err := j.YAML()
	if err != nil {
		b.Fatal(err)
	}
	proxy := serveInChild(b, place)
	browser := chromium.Open(b)
	kinds := []struct {
		name string
		args []string
	}{{"plain", nil}, {"open", []string{"--open", "--no-index"}}, {"index", []string{"--open", "--index"}}}
	costs, ratios := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		var plain float64
		for _, k := range kinds {
			dir := b.TempDir()
			file := filepath.Join(dir, "job.yaml")
			if err := os.WriteFile(file, text, 0o644); err != nil {
				b.Fatal(err)
			}
			args := append([]string{"crawl", "-f", file, "-o", filepath.Join(dir, "crawl"), "--through", proxy}, k.args...)
			cost := crawlLookedAt(b, browser, args)
			b.Logf("%s: %.3f ms a page", k.name, 1000*cost)
			if k.args == nil {
				plain = cost
			}
			costs[k.name] = append(costs[k.name], 1000*cost)
			ratios[k.name] = append(ratios[k.name], cost/plain)
		}
	}
	for _, k := range kinds {
		b.ReportMetric(median(costs[k.name]), k.name+"-cpu-ms/page")
		if k.args != nil {
			b.ReportMetric(median(ratios[k.name]), k.name+"-ratio")
		}
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// crawlLookedAt is the processor time of a crawl in seconds a page. Where it says where
// its page is, the page is opened, and the crawl is interrupted when it has told its end.
func crawlLookedAt(b *testing.B, browser *chromium.Browser, args []string) float64 {
	b.Helper()
	cmd := exec.Command(waggle, args...)
	cmd.Env = append(os.Environ(), "PATH=") // it finds no other browser to open
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\S+key=\S+`)
	pages := 0
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if at := address.FindString(line); at != "" {
			browser.Call("Page.navigate", map[string]any{"url": at}, nil)
		}
		if f := strings.Fields(line); len(f) > 1 && f[0] == "pages" {
			pages, _ = strconv.Atoi(strings.ReplaceAll(f[1], ",", ""))
			cmd.Process.Signal(os.Interrupt) // Wait tells what became of it
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	err = cmd.Wait()
	if pages == 0 {
		b.Fatalf("%v fetched nothing: %v\n%s", cmd.Args, err, said.String())
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / float64(pages)
}
