package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
// It needs the recorded webs departments, campus and manuals:
//
//	WAGGLE_PAGES=2000 WAGGLE_TURNS=9 go test -run '^$' -bench Plain -benchtime 1x -timeout 1h ./internal/process
//
// Pages are those that a first crawl finds breadth-first, and the others keep within it, so all
// fetch the same. Metrics are the median milliseconds a page of off, and the median and
// quartiles of what the others cost more, in percent of the turn's off. The bar is 3 %.
//
// With WAGGLE_INSTRUCTIONS=1 the instructions of off and default are counted by valgrind, with one
// processor and one worker and without the collection of garbage, in as many turns. Other work on the machine does not change them, so a
// hundred pages and two turns tell; a crawl takes some fifty times as long:
//
//	WAGGLE_INSTRUCTIONS=1 WAGGLE_PAGES=200 WAGGLE_TURNS=2 go test -run '^$' -bench Plain -benchtime 1x -timeout 2h ./internal/process
//
// Metrics are then the million instructions a page of off, the least of the turns, what default
// has more than off, by these, in percent, and by how much the turns of off differ.
//
// What has no switch is in all of them: the language of each page is guessed, its scripts are
// looked for, and what a server calls a page is compared with its first bytes. docs/results/speed.md
// has what these cost by profile.
func BenchmarkPlain(b *testing.B) {
	budget, turns := number(b, "WAGGLE_PAGES", 2000), number(b, "WAGGLE_TURNS", 9)
	for _, name := range []string{"departments", "campus", "manuals"} {
		b.Run(name, func(b *testing.B) {
			place, w := builtWeb(b, name)
			proxy := serveInChild(b, place)
			dir := b.TempDir()
			j := job.Recorded(w.Topics[0], false, budget)
			run := func(out string, counted bool, flags ...string) cost {
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
				args := append([]string{"crawl", "-f", file, "-o", out, "--through", proxy}, flags...)
				if counted {
					return count(b, dir, args...)
				}
				return measure(b, waggle, args...)
			}
			j.Topic.Language = nil
			j.Scorer.Name = "breadth-first"
			j.Scope.Reach = "host" // no requests for what cannot be recorded
			off := []string{"--render", "never", "--links-from", "none", "--count-copies", "--count-hollow", "--types", "html", "--language", "en"}
			first := run("first", false, off...)
			j.Scope.Within = filepath.Join(dir, "first")
			if os.Getenv("WAGGLE_INSTRUCTIONS") != "" {
				j.Fetch.Timeout = job.Duration(10 * time.Minute)
				countArms(b, run, off, first.pages)
				return
			}
			arms := [][]string{off, {"--render", "never"}, {"--unsandboxed"}}
			more := make([][]float64, len(arms))
			var ms []float64
			for b.Loop() {
				for turn := range turns {
					var c [3]cost
					for i := range arms {
						arm := (turn + i) % len(arms) // each comes first as often
						c[arm] = run("out", false, arms[arm]...)
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

// countArms counts the instructions of the jobs off and default.
func countArms(b *testing.B, run func(out string, counted bool, flags ...string) cost, off []string, pages int) {
	turns := number(b, "WAGGLE_TURNS", 2)
	arms := [][]string{off, {"--render", "never"}}
	counts := make([][]float64, len(arms))
	for b.Loop() {
		for turn := range turns {
			for i, flags := range arms {
				c := run("out", true, append([]string{"--workers", "1"}, flags...)...)
				if c.pages != pages {
					b.Fatalf("job %d fetched %d pages, the first one %d", i, c.pages, pages)
				}
				counts[i] = append(counts[i], c.instructions/float64(pages)/1e6)
			}
			b.Logf("turn %d: off %.2f, default %.2f million instructions a page, %d pages", turn, counts[0][turn], counts[1][turn], pages)
		}
	}
	least, most := slices.Min(counts[0]), slices.Max(counts[0])
	b.ReportMetric(least, "off-Minstr/page")
	b.ReportMetric(100*(slices.Min(counts[1])/least-1), "default-%")
	b.ReportMetric(100*(most/least-1), "off-spread-%")
}

// count has valgrind count the instructions of a crawl. It does not know the instruction RDTSCP,
// by which the runtime of Go reads a clock where a lock is contended: in the copy that it is given
// RDTSC stands there, and a byte that does nothing.
func count(b *testing.B, dir string, args ...string) cost {
	b.Helper()
	program := filepath.Join(dir, "waggle")
	if _, err := os.Stat(program); err != nil {
		code, err := os.ReadFile(waggle)
		if err != nil {
			b.Fatal(err)
		}
		// RDTSCP; SHLQ $32, DX; ADDQ DX, AX: runtime.cputicks
		after := "\x48\xc1\xe2\x20\x48\x01\xd0"
		code = bytes.ReplaceAll(code, []byte("\x0f\x01\xf9"+after), []byte("\x0f\x31\x90"+after))
		if err := os.WriteFile(program, code, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	said := filepath.Join(dir, "counted")
	b.Setenv("GOMAXPROCS", "1")
	b.Setenv("GOGC", "off") // when garbage is collected is a matter of time
	c := measure(b, "valgrind", append([]string{"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--log-file=" + said, program}, args...)...)
	text, err := os.ReadFile(said)
	if err != nil {
		b.Fatal(err)
	}
	_, refs, ok := bytes.Cut(text, []byte("I   refs:"))
	line, _, _ := bytes.Cut(refs, []byte("\n"))
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(string(line)), ",", ""), 64)
	if !ok || err != nil {
		b.Fatalf("valgrind counted nothing: %v\n%s", err, text)
	}
	c.instructions = n
	return c
}
