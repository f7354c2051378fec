package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/waggle-crawler/waggle/job"
)

// BenchmarkPlain is what plain HTML pays for pages of every kind: the same pages of a recorded
// web are crawled, in turns, by three jobs, whose processor time is compared, that of the browser
// included.
//
//	off      no renderings, no documents, no further sources of links, near-copies and hollow
//	         pages judged as others, the language of the topic given
//	default  all of these at their defaults, but without a browser
//	auto     all of these at their defaults
//
// It needs the recorded webs departments and campus:
//
//	WAGGLE_PAGES=2000 WAGGLE_TURNS=9 go test -run '^$' -bench Plain -benchtime 1x -timeout 1h ./internal/process
//
// Pages are those that a first crawl finds breadth-first, and the others keep within it, so all
// fetch the same. Metrics are the median milliseconds a page of off, and the median and
// quartiles of what the others cost more, in percent of the turn's off. The bar is 3 %.
//
// What has no switch is in all of them: the language of each page is guessed, its scripts are
// looked for, and what a server calls a page is compared with its first bytes. docs/results/speed.md
// has what these cost by profile.
func BenchmarkPlain(b *testing.B) {
	budget, turns := number(b, "WAGGLE_PAGES", 2000), number(b, "WAGGLE_TURNS", 9)
	for _, name := range []string{"departments", "campus"} {
		b.Run(name, func(b *testing.B) {
			place, w := builtWeb(b, name)
			proxy := serveInChild(b, place)
			dir := b.TempDir()
			run := func(j *job.Job, out string, flags ...string) cost {
				file := filepath.Join(dir, "job.yaml")
				if text, err := j.YAML(); err != nil {
					b.Fatal(err)
				} else if err := os.WriteFile(file, text, 0o644); err != nil {
					b.Fatal(err)
				}
				out = filepath.Join(dir, out)
				if err := os.RemoveAll(out); err != nil {
					b.Fatal(err)
				}
				return measure(b, waggle, append([]string{"crawl", "-f", file, "-o", out, "--through", proxy}, flags...)...)
			}
			j := job.Recorded(w.Topics[0], false, budget)
			j.Topic.Language = nil
			j.Scorer.Name = "breadth-first"
			j.Scope.Reach = "host" // no requests for what cannot be recorded
			off := []string{"--render", "never", "--links-from", "none", "--count-copies", "--count-hollow", "--types", "html", "--language", "en"}
			first := run(j, "first", off...)
			j.Scope.Within = filepath.Join(dir, "first")
			arms := [][]string{off, {"--render", "never"}, {"--unsandboxed"}}
			more := make([][]float64, len(arms))
			var ms []float64
			for b.Loop() {
				for turn := range turns {
					var c [3]cost
					for i := range arms {
						arm := (turn + i) % len(arms) // each comes first as often
						c[arm] = run(j, "out", arms[arm]...)
						if c[arm].pages != first.pages {
							b.Fatalf("job %d fetched %d pages, the first one %d", arm, c[arm].pages, first.pages)
						}
					}
					ms = append(ms, 1e3/c[0].perCPU())
					for i := 1; i < len(arms); i++ {
						more[i] = append(more[i], 100*(c[i].cpu/c[0].cpu-1))
					}
					b.Logf("turn %d: off %.2f s, default %.2f s, auto %.2f s of the processor, %d pages", turn, c[0].cpu, c[1].cpu, c[2].cpu, first.pages)
				}
			}
			b.ReportMetric(quantile(ms, .5), "off-ms/page")
			for i, name := range []string{1: "default", 2: "auto"} {
				for _, q := range []float64{.25, .5, .75} {
					if i > 0 {
						b.ReportMetric(quantile(more[i], q), fmt.Sprintf("%s-%%-%.0f", name, 100*q))
					}
				}
			}
		})
	}
}

// quantile is the value below which the share q of the values lies, between the two next to it.
func quantile(values []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(values))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// number is the number in a variable of the environment, or another where it is not set.
func number(b *testing.B, variable string, otherwise int) int {
	b.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		b.Fatalf("%s is %q: give a number from 1", variable, s)
	}
	return n
}
