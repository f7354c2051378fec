package process

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/store"
)

// scorerKinds are scorers of every kind of state: none, a small one, a journal, a graph of
// links, a classifier fitted anew, bandits, agents, and one with a critic.
func scorerKinds(t *testing.T, web *numberedWeb) [][]string {
	words := []string{"--keywords", "honey bee, waggle dance"}
	kinds := [][]string{{"--scorer", "apprentice", "--critic", beeCritic(t, web), "--focus", "/bees"}}
	for _, name := range []string{job.DefaultScorer, "best-first-both", "ache-like-soft", "pagerank", "apprentice-tempered", "opic",
		"aggarwal", "anthelion-like", "infospiders-like"} {
		kinds = append(kinds, append([]string{"--scorer", name}, words...))
	}
	return kinds
}

// TestKilledCrawlGoesOn kills crawls at random instants, see instant, again and again, and
// checks each time what an acknowledged page is owed: it is in the archive, and
// its address is never asked for again. WAGGLE_KILLS sets how often (4, and 2 in
// the quick run); with 20 each kind of scorer has its turn.
func TestKilledCrawlGoesOn(t *testing.T) {
	t.Parallel()
	kills := killsWanted(t)
	rng := killChance(t)
	kinds := scorerKinds(t, serveNumbered(t, 800))
	each := max(2, kills/len(kinds))
	for i, k := range rng.Perm(len(kinds))[:max(1, min(len(kinds), kills/each))] {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 3))
		t.Run(kinds[k][1], func(t *testing.T) {
			web := serveNumbered(t, 80*max(each, 4))
			dir := filepath.Join(t.TempDir(), "crawl")
			crawlKilled(t, web, dir, append(append(web.crawl(dir), kinds[k]...), "--workers", "4"), instants(each, i*each, kills), rng)
			final := checkKilled(t, dir, web)
			if want := web.reachable(); final != want {
				t.Errorf("%d pages in the end; %d can be reached", final, want)
			}
			web.mu.Lock()
			defer web.mu.Unlock()
			if len(web.again) > 0 {
				t.Errorf("asked for again although acknowledged: %d addresses, first %s", len(web.again), web.again[0])
			}
			t.Logf("%q: %d kills, %d pages, %d requests", kinds[k], each, final, web.asked)
		})
	}
}

// TestKilledScorerIsTheSame crawls twice with one worker, by a scorer that learns: once
// undisturbed, once killed again and again. Both fetch the same pages in the same order,
// and the scorer knows the same in the end. The apprentice has a critic; waggle has
// a judge that changes its mind about pages, which the scorer learns anew.
func TestKilledScorerIsTheSame(t *testing.T) {
	long.Test(t, "kills crawls of two scorers")
	t.Parallel()
	for _, c := range []struct {
		scorer  string
		args    func(web *numberedWeb) []string
		renewed bool
	}{
		{"apprentice", func(web *numberedWeb) []string {
			return []string{"--scorer", "apprentice", "--critic", beeCritic(t, web), "--focus", "/bees"}
		}, false},
		{"waggle", func(*numberedWeb) []string {
			file := filepath.Join(t.TempDir(), "renewals.yaml")
			if err := os.WriteFile(file, []byte("scorer: {name: waggle, set: {renewals: 1}}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			return []string{"-f", file, "--keywords", "honey bee, waggle dance"}
		}, true},
	} {
		t.Run(c.scorer, func(t *testing.T) {
			t.Parallel()
			web := serveNumbered(t, 50*max(killsWanted(t), 8))
			rng, args := killChance(t), c.args(web)
			crawled := func(name string, kills int) (order []string, knows []byte) {
				dir := filepath.Join(t.TempDir(), name)
				crawlKilled(t, web, dir, append(append(web.crawl(dir), "--workers", "1"), args...), make([]instant, kills), rng)
				renewed := 0
				for e, err := range collection.At(dir).Events() {
					if err != nil {
						t.Fatal(err)
					}
					switch e := e.(type) {
					case event.Fetched:
						order = append(order, fmt.Sprintf("%s %.6f %.6f", e.URL, e.Priority, e.Relevance))
					case event.Rejudged:
						renewed += len(e.Pages)
					}
				}
				if c.renewed != (renewed > 0) {
					t.Errorf("%s: %d verdicts were renewed", name, renewed)
				}
				own, err := collection.At(dir).Lock()
				if err != nil {
					t.Fatal(err)
				}
				defer own.Close()
				if knows, err = own.ScorerState(); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d kills, %d pages, the scorer's state has %d bytes", name, kills, len(order), len(knows))
				return order, knows
			}
			whole, knows := crawled("whole", 0)
			killed, knew := crawled("killed", killsWanted(t))
			for i := range min(len(whole), len(killed)) {
				if whole[i] != killed[i] {
					t.Fatalf("page %d is %s after kills, and %s without", i, killed[i], whole[i])
				}
			}
			if len(whole) != len(killed) || len(whole) != web.reachable() || !bytes.Equal(knows, knew) {
				t.Errorf("%d and %d pages of %d; what the scorer knows is the same: %v", len(whole), len(killed), web.reachable(), bytes.Equal(knows, knew))
			}
		})
	}
}

// killsWanted is how often a crawl is killed.
func killsWanted(t *testing.T) int {
	return long.Count(t, "WAGGLE_KILLS", 1, 4)
}

func killChance(t *testing.T) *rand.Rand {
	seed := long.Seed(t, uint64(time.Now().UnixNano()))
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// beeCritic trains a critic on pages like those of the web: the class /bees,
// and /others.
func beeCritic(t *testing.T, web *numberedWeb) string {
	dir := t.TempDir()
	write := func(class string, i int) {
		rec := httptest.NewRecorder()
		web.page(rec, i)
		name := filepath.Join(dir, "pages", class, fmt.Sprint(i, ".html"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, rec.Body.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		write("bees", 10*i+3)
		write("others", 10*i+4)
	}
	critic := filepath.Join(dir, "bees.critic")
	for _, args := range [][]string{
		{"topic", "import", filepath.Join(dir, "pages"), "-o", filepath.Join(dir, "bees.tax")},
		{"topic", "train", filepath.Join(dir, "bees.tax"), "-o", critic},
	} {
		if said, err := waggleCommand(args).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, said)
		}
	}
	return critic
}

func waggleCommand(args []string) *exec.Cmd {
	return exec.Command(waggle, args...)
}

// An instant is when a crawl is killed.
type instant int

const (
	crawling  instant = iota // within 60 ms of a run's first request, and one in five within 150 ms of its start
	slowly                   // within seven seconds of a run's first request, of a slow web: all is synced after five
	stopping                 // within 200 ms of being told to stop
	finishing                // within 200 ms of the last page that there is, when the crawl comes to its end
)

// instants are those of so many kills of a crawl, where first others of all were before them. Of twenty,
// one falls while the crawl stops, and one while it ends, if that is its last, or else stops; one in
// twenty of a hundred and more comes late.
func instants(kills, first, all int) []instant {
	list := make([]instant, kills)
	for i := range list {
		switch k := (first + i) % 20; {
		case k == 19 && i == kills-1:
			list[i] = finishing
		case k == 9 || k == 19:
			list[i] = stopping
		case k == 4 && all >= 100:
			list[i] = slowly
		}
	}
	return list
}

// runMost is for how long a run may take that is to come to its end: only one that never does takes longer.
const runMost = 4 * time.Minute

// crawlKilled runs a crawl to its end and kills it on the way at these instants,
// looking each time at what is left of it.
func crawlKilled(t *testing.T, web *numberedWeb, dir string, start []string, kills []instant, rng *rand.Rand) {
	upTo := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	late := 0
	for round := range len(kills) + 1 {
		last, when := round == len(kills), crawling
		if !last {
			when = kills[round]
		}
		// The runs that are killed get no more answers than their part of the pages, so that
		// none of them ends the crawl, however fast it is.
		var whole <-chan struct{}
		switch {
		case last:
			web.open()
		case when == finishing:
			whole = web.whole()
			web.open()
		default:
			web.gate(web.n / (len(kills) + 1))
		}
		web.slowDown(when == slowly)
		args := []string{"crawl", "-o", dir, "--resume"}
		if _, err := os.Stat(filepath.Join(dir, "job.yaml")); err != nil {
			args = start
		}
		var said bytes.Buffer
		cmd := waggleCommand(args)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		web.run.Store(int64(round + 1))
		kill := time.NewTimer(runMost)
		// came waits for what a kill follows, and tells whether it came before the run ended.
		came := func(what <-chan struct{}) bool {
			select {
			case <-what:
				return true
			case err := <-ended:
				ended <- err
			case <-kill.C:
				t.Fatalf("round %d: neither the request that a kill follows in %v, nor an end\n%s", round, runMost, said.String())
			}
			return false
		}
		switch {
		case last:
		case when == finishing:
			if came(whole) {
				kill.Reset(upTo(200 * time.Millisecond))
			}
		case when == crawling && rng.IntN(5) == 0:
			kill.Reset(upTo(150 * time.Millisecond))
		default:
			select {
			case <-web.heard: // left over from before
			default:
			}
			if !came(web.heard) {
				break
			}
			after := upTo(60 * time.Millisecond)
			switch when {
			case slowly:
				after = upTo(7 * time.Second)
			case stopping:
				// Where a program cannot be told, as on Windows, it is only killed.
				time.AfterFunc(after, func() { cmd.Process.Signal(os.Interrupt) })
				after += upTo(200 * time.Millisecond)
			}
			kill.Reset(after)
		}
		select {
		case err := <-ended:
			switch {
			case when == stopping && cmd.ProcessState.ExitCode() != exitStopped, when != stopping && err != nil:
				t.Fatalf("round %d: %v\n%s", round, err, said.String())
			case last, when == stopping, when == finishing:
			default:
				t.Fatalf("the crawl ended after %d of %d kills: it needs more pages", round, len(kills))
			}
			late++
		case <-kill.C:
			web.run.Store(int64(-round - 1))
			cmd.Process.Kill()
			<-ended
			if last {
				t.Fatalf("the crawl does not end\n%s", said.String())
			}
		}
		if !last {
			web.run.Store(int64(-round - 1))
			checkKilled(t, dir, web)
		}
	}
	if late--; late > 0 {
		t.Logf("of %d runs that were to be killed %d had ended", len(kills), late)
	}
}

// checkKilled looks at the folder of a dead crawl as the next run will: every
// acknowledged page must be readable in the archive before its mark, once, or
// named in lost.txt. It returns the number of acknowledged pages.
func checkKilled(t *testing.T, dir string, web *numberedWeb) int {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "frontier")); err != nil {
		return 0
	}
	// What is looked at is a copy: opening repairs, and the next run is to
	// find what the kill left.
	copied := dir + "-copy"
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(collection.At(copied).HarvestFile()); err == nil && !bytes.HasSuffix(b, []byte("\n")) {
		t.Fatalf("the harvest after a kill is torn: it has %d bytes", len(b))
	}
	return checkCopy(t, collection.At(copied), "crawl", web)
}

// checkCopy is checkKilled for a folder that may be changed, of a crawl of that name.
func checkCopy(t *testing.T, col collection.Collection, name string, web *numberedWeb) int {
	t.Helper()
	own, err := col.Lock()
	if err != nil {
		t.Fatalf("the folder after a kill: %v", err)
	}
	defer own.Close()
	stores, err := own.OpenStores(t.Context(), collection.StoreOptions{Archive: store.Options{Prefix: name}})
	if err != nil {
		t.Fatalf("the stores after a kill: %v", err)
	}
	defer stores.Close()
	lost, err := col.Lost()
	if err != nil {
		t.Fatal(err)
	}
	isLost := map[string]bool{}
	for _, u := range lost {
		isLost[u] = true
	}
	archived := map[string]int{}
	for r, err := range col.Responses(nil) {
		if err != nil {
			t.Fatalf("the archive after a kill: %v", err)
		}
		archived[r.URL.String()]++
	}
	pages := 0
	for e, err := range event.ReadFile(col.EventLog()) { // torn lines would be errors
		if err != nil {
			t.Fatalf("the log after a kill: %v", err)
		}
		if f, ok := e.(event.Failed); ok && !f.Retry {
			web.ack(f.URL.String())
		}
		p, ok := e.(event.Fetched)
		if !ok {
			continue
		}
		pages++
		web.ack(p.URL.String())
		if n := archived[p.URL.String()]; n != 1 && !isLost[p.URL.String()] {
			t.Fatalf("%s is acknowledged and %d times in the archive", p.URL, n)
		}
	}
	return pages
}
