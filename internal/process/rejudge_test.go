package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/job"
)

// dieAfterSwap makes the test binary a waggle judge of a folder, by keywords, that is
// killed at the moment at which job and examples are the new ones and nothing is told
// of it yet.
const dieAfterSwap = "WAGGLE_TEST_DIE_AFTER_SWAP"

// judgeAndDie judges a crawl anew, and kills the process after the swap.
func judgeAndDie(dir, keywords string) error {
	col := collection.At(dir)
	j, err := job.Read(col.JobFile())
	if err != nil {
		return err
	}
	j.Topic.Keywords = []string{keywords}
	w, err := col.Lock()
	if err != nil {
		return err
	}
	defer w.Close()
	before, err := os.ReadFile(col.JobFile())
	if err != nil {
		return err
	}
	m := &job.Maker{Job: j, Writer: w, Begun: &w.Collection, Clock: swapClock{col, before}}
	defer m.Close()
	_, err = m.Rejudge(context.Background())
	return errors.Join(errors.New("it came to its end"), err)
}

// swapClock is a clock that kills the process when it is asked for the time and the job
// is another one: the moment of the verdicts is the first thing that is asked for
// after the swap.
type swapClock struct {
	col    collection.Collection
	before []byte
}

func (c swapClock) Now() time.Time {
	b, err := os.ReadFile(c.col.JobFile())
	if err != nil {
		panic(err) // job.yaml is there at any moment
	}
	if !bytes.Equal(b, c.before) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
	return time.Now()
}

func (swapClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	return clock.System{}.NewTimer(d)
}

// TestKilledJudge judges a crawl anew, again and again, by two topics in turn, and
// kills it each time: at a random moment, or right after the new job and examples took
// the places of the old ones. What it leaves is whole, and its harvest is the one
// before or the new one. The same command then comes to its end: the harvest is the
// new one, of the right number of pages, and says by what. In the end the crawl goes
// on. WAGGLE_KILLS sets how often (default 4).
func TestKilledJudge(t *testing.T) {
	long.Test(t, "kills waggle judge")
	t.Parallel()
	web := serveNumbered(t, 600)
	rng := killChance(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	must := func(args ...string) string {
		t.Helper()
		said, err := waggleCommand(args).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, said)
		}
		return string(said)
	}
	harvest := func() []byte {
		b, err := os.ReadFile(collection.At(dir).HarvestFile())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	must(append(web.crawl(dir), "--keywords", "honey bee, waggle dance", "--pages", "400")...)
	topics := []string{"page", "honey bee"}
	var by [2][]byte // the harvests
	// wholly looks at a harvest of which nothing is left of the one before.
	wholly := func(said, keywords string, want []byte) {
		t.Helper()
		b := harvest()
		if !bytes.Equal(b, want) {
			t.Fatalf("judged by %q without a kill, the harvest is not the new one:\n%s\nwant\n%s", keywords, b, want)
		}
		pages := bytes.Count(b, []byte("\n")) - 1
		relevant := 0 // by the log
		for p, err := range collection.At(dir).Fetched() {
			if err != nil {
				t.Fatal(err)
			}
			if p.Relevant && p.Reason == "" {
				relevant++
			}
		}
		if told := fmt.Sprintf("400 pages judged anew: %d relevant, ", pages); pages != relevant || !strings.Contains(said, told) {
			t.Fatalf("%d pages in the harvest, %d are relevant by the log, and the command said\n%s", pages, relevant, said)
		}
		by, err := os.ReadFile(collection.At(dir).ProvenanceFile())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			`judge: "keyword"`, fmt.Sprintf("pages: %d", pages),
			fmt.Sprintf(`  topic.keywords: "[\"%s\"]"`, keywords), `judged: "anew, from the archive; pages fetched later when they were fetched"`,
		} {
			if !bytes.Contains(by, []byte("\n"+line+"\n")) {
				t.Fatalf("judged by %q, harvest.yaml has no line %s:\n%s", keywords, line, by)
			}
		}
	}
	var took time.Duration
	for i, keywords := range topics {
		began := time.Now()
		said := must("judge", dir, "--judge", "keyword", "--keywords", keywords)
		took, by[i] = time.Since(began), harvest()
		wholly(said, keywords, by[i])
	}
	if bytes.Equal(by[0], by[1]) || bytes.Count(by[0], []byte("\n")) < 100 {
		t.Fatalf("the topics make no difference:\n%s\n%s", by[0], by[1])
	}
	counts := map[string]int{}
	for round := range killsWanted(t) {
		before, after := by[(round+1)%2], by[round%2]
		args := []string{"judge", dir, "--judge", "keyword", "--keywords", topics[round%2]}
		if round%4 >= 2 { // both topics
			swapped(t, dir, topics[round%2])
			counts["after the swap"]++
			if b := harvest(); !bytes.Equal(b, before) {
				t.Fatalf("round %d: killed after the swap, the harvest is not that before:\n%s", round, b)
			}
			must("verify", dir)
			if said, err := waggleCommand([]string{"crawl", "-o", dir, "--resume"}).CombinedOutput(); err == nil || !bytes.Contains(said, []byte("waggle judge")) {
				t.Fatalf("round %d: the crawl goes on with another topic than it was judged by: %v\n%s", round, err, said)
			}
			wholly(must(args...), topics[round%2], after)
			must("verify", dir)
			continue
		}
		cmd := waggleCommand(args)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		instant := time.Duration(rng.Int64N(int64(took * 11 / 10)))
		if rng.IntN(2) == 0 { // the files change at the end
			instant = max(0, took-time.Duration(rng.Int64N(int64(took/3))))
		}
		time.Sleep(instant) // of the kill
		cmd.Process.Kill()
		if cmd.Wait() == nil {
			counts["over before it was killed"]++
		}
		if said, err := waggleCommand([]string{"verify", dir}).CombinedOutput(); err != nil {
			if !bytes.Contains(said, []byte("was interrupted while it replaced files")) {
				t.Fatalf("round %d, killed after %s: %v\n%s", round, instant, err, said)
			}
			counts["in the middle of the swap"]++
			must("repair", dir)
			must("verify", dir)
		}
		switch b := harvest(); {
		case bytes.Equal(b, before):
			counts["the harvest before"]++
		case bytes.Equal(b, after):
			counts["the new harvest"]++
		default:
			t.Fatalf("round %d, killed after %s: the harvest is neither that before nor the new one:\n%s", round, instant, b)
		}
		wholly(must(args...), topics[round%2], after)
		must("verify", dir)
	}
	must("crawl", "-o", dir, "--resume", "--pages", "2000")
	must("verify", dir)
	if got, want := checkKilled(t, dir, web), web.reachable(); got != want {
		t.Errorf("%d pages in the end; %d can be reached", got, want)
	}
	t.Logf("judging took %s; %v", took, counts)
}

// swapped judges a crawl anew in a process that is killed after the swap.
func swapped(t *testing.T, dir, keywords string) {
	t.Helper()
	before, err := os.ReadFile(collection.At(dir).JobFile())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], dir, keywords)
	cmd.Env = append(os.Environ(), dieAfterSwap+"=1")
	said, err := cmd.CombinedOutput()
	if !errors.As(err, new(*exec.ExitError)) || len(said) > 0 {
		t.Fatalf("it was not killed after the swap: %v\n%s", err, said)
	}
	if after, err := os.ReadFile(collection.At(dir).JobFile()); err != nil || bytes.Equal(after, before) {
		t.Fatalf("there was no swap: %v", err)
	}
}

// BenchmarkRejudge judges a crawl of 2,000 real pages anew from its archive, with
// other keywords and 8 examples. It needs the recorded web manuals:
//
//	go test -run '^$' -bench Rejudge -benchtime 1x ./internal/process
//
// Metrics: pages per second, and per second of processor time, beside those of the
// crawl. The bar is 1,000 pages/s on two cores, 500 for each second of processor
// time: docs/results/judge.md has what was measured.
func BenchmarkRejudge(b *testing.B) {
	const budget = 2_000
	place, w := builtWeb(b, "manuals")
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
	for b.Loop() {
		began, judging := time.Now(), waggleCommand([]string{"judge", out, "--keywords", "thread, lock, mutex"})
		if said, err := judging.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
		spent := judging.ProcessState.UserTime() + judging.ProcessState.SystemTime()
		b.ReportMetric(float64(crawled.pages)/time.Since(began).Seconds(), "pages/s")
		b.ReportMetric(float64(crawled.pages)/spent.Seconds(), "pages/cpu-s")
		b.ReportMetric(crawled.perCPU(), "crawl-pages/cpu-s")
	}
}
