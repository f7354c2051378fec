package process

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/collection/collectiontest"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/job"
)

// TestKilledDamagedCrawlGoesOn kills a crawl again and again, and damages a file of
// its folder every second time that nothing is damaged: a bit, a cut, a zeroed or a missing piece. Then
// what the messages say is done: a file is put back, or the crawl repaired, by a
// process that is killed on its way now and then. In the end the server's record
// decides: each page that it sent is in archive, log and, if it is relevant, in
// the harvest, or lost.txt names it; nothing is archived twice, and nothing that
// was acknowledged was asked for again. WAGGLE_KILLS sets how often (default 4).
// WAGGLE_SCORER names the scorer (default: one of four by chance).
// With WAGGLE_OUTAGES=1 the web goes down now and then as well. With -v each damage
// is logged, and what became of it.
func TestKilledDamagedCrawlGoesOn(t *testing.T) {
	long.Test(t, "kills and damages a crawl")
	t.Parallel()
	kills := killsWanted(t)
	h := &harness{
		T: t, web: serveNumbered(t, 40*max(kills, 50)), rng: killChance(t),
		dir: filepath.Join(t.TempDir(), "crawl"), counts: map[string]int{},
	}
	began := time.Now()
	scorer := []string{job.DefaultScorer, "best-first-both", "ache-like-soft", "apprentice-tempered"}[h.rng.IntN(4)]
	if s := os.Getenv("WAGGLE_SCORER"); s != "" {
		scorer = s
	}
	start := append(h.web.crawl(h.dir), "--scorer", scorer, "--keywords", "honey bee, waggle dance", "--example", h.example(), "--workers", "4")
	for !h.round(start, kills) {
	}
	h.settle()
	h.compare()
	for _, what := range slices.Sorted(maps.Keys(h.counts)) {
		t.Logf("%5d %s", h.counts[what], what)
	}
	t.Logf("%s: %d kills, %d outages, %d damages, %d requests in %s",
		scorer, h.killed, h.counts["outage"], h.counts["damaged"], h.web.asked, time.Since(began).Round(time.Second))
	if h.killed < kills/2 {
		t.Errorf("the crawl ended after %d of %d kills: it needs more pages", h.killed, kills)
	}
	if h.killed >= 8 && h.counts["damaged"] == 0 {
		t.Error("nothing was damaged")
	}
}

// harness is a crawl that is maltreated.
type harness struct {
	*testing.T
	web    *numberedWeb
	rng    *rand.Rand
	dir    string
	counts map[string]int
	killed int  // how often the crawl was
	spared bool // the last kill that left nothing damaged was followed by no damage
	// repeats is how many requests there were for what had been acknowledged.
	repeats int

	// The damage that nothing has mended yet: the file, how, and what it held.
	damaged, how string
	was          []byte
	steps        []string // what was done about it
}

// did notes what was done about the damage.
func (h *harness) did(what string) { h.steps = append(h.steps, what) }

// mended notes that nothing is damaged any more.
func (h *harness) mended(how string) {
	h.did(how)
	lost, err := collection.At(h.dir).Lost()
	if err != nil {
		h.Fatal(err)
	}
	outcome := strings.Join(h.steps, ", ")
	h.Logf("kill %d, damage %d: %s → %s; %d lost", h.killed, h.counts["damaged"], strings.TrimPrefix(h.how, h.dir+"/"), outcome, len(lost))
	h.counts["damage: "+how]++
	h.damaged, h.steps = "", nil
}

func (h *harness) example() string {
	name := filepath.Join(h.TempDir(), "bees.html")
	var b bytes.Buffer
	h.web.page(&b, 3)
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		h.Fatal(err)
	}
	return name
}

// round runs the crawl until it is killed, refused or over; true says over.
func (h *harness) round(start []string, kills int) (over bool) {
	args := []string{"crawl", "-o", h.dir, "--resume"}
	if !collection.At(h.dir).Begun() && h.damaged == "" {
		args = start
	}
	said, err, dead := h.run(args, h.killed < kills)
	switch {
	case dead:
		h.killed++
		h.lookForRepeats()
		h.afterKill()
		return false
	case err == nil:
		return true
	}
	h.refused(said, err)
	return false
}

// lookForRepeats tells of requests for what was acknowledged, as soon as they were made.
func (h *harness) lookForRepeats() {
	h.web.mu.Lock()
	defer h.web.mu.Unlock()
	if n := len(h.web.again); n > h.repeats {
		h.Logf("kill %d, damage %d: asked for again: %d more addresses, the last %s", h.killed, h.counts["damaged"], n-h.repeats, h.web.again[n-1])
		h.repeats = n
	}
}

// run runs a command; kill says that it may be killed on its way.
func (h *harness) run(args []string, kill bool) (said string, err error, killed bool) {
	var out bytes.Buffer
	cmd := waggleCommand(args)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	instant := time.NewTimer(runMost)
	defer instant.Stop()
	if kill {
		h.chooseInstant(instant, ended, h.web.gate(1+h.rng.IntN(40)))
		defer h.web.open()
		if outages() && args[0] == "crawl" && h.rng.IntN(4) == 0 {
			h.counts["outage"]++
			h.web.outage(true)
			defer h.web.outage(false)
			instant.Reset(time.Duration(h.rng.IntN(1000)) * time.Millisecond)
		}
	}
	if kill && h.damaged == "" && args[0] == "crawl" && h.rng.IntN(4) == 0 {
		h.verifyRunning()
	}
	select {
	case err := <-ended:
		if strings.Contains(out.String(), "goroutine ") {
			h.Fatalf("%q panicked: %s", args, out.String())
		}
		return out.String(), err, false
	case <-instant.C:
		cmd.Process.Kill()
		<-ended
		if !kill {
			h.Fatalf("%q does not end: %s", args, out.String())
		}
		return out.String(), nil, true
	}
}

// chooseInstant sets when to kill: soon after the web has answered enough requests,
// and one time in five while the crawl is set up or taken up.
func (h *harness) chooseInstant(instant *time.Timer, ended chan error, enough <-chan struct{}) {
	if h.rng.IntN(5) == 0 {
		instant.Reset(time.Duration(h.rng.IntN(200)) * time.Millisecond)
		return
	}
	select {
	case <-enough:
		instant.Reset(time.Duration(h.rng.IntN(20_000)) * time.Microsecond)
	case err := <-ended:
		ended <- err
	case <-instant.C:
		h.Fatalf("not enough requests in %v", runMost)
	}
}

func outages() bool { return os.Getenv("WAGGLE_OUTAGES") != "" }

// verifyRunning verifies the crawl while it runs, or is set up.
func (h *harness) verifyRunning() {
	if !collection.At(h.dir).Begun() {
		return
	}
	said, err := waggleCommand([]string{"verify", h.dir}).CombinedOutput()
	if err != nil {
		h.Fatalf("kill %d: verified while it runs: %v\n%s", h.killed, err, said)
	}
	h.counts["verified while it ran"]++
}

// afterKill looks at what the dead crawl is owed, and may damage it. Damage that
// a run went on with is sought first.
func (h *harness) afterKill() {
	if h.damaged != "" {
		h.verify()
		return
	}
	checkKilled(h.T, h.dir, h.web)
	if !collection.At(h.dir).Begun() {
		return
	}
	if h.spared = !h.spared; !h.spared {
		h.damage()
	}
}

// damage damages a file drawn at random.
func (h *harness) damage() {
	name, how, was, err := collectiontest.Damage(h.dir, h.rng)
	if err != nil {
		h.Fatal(err)
	}
	h.damaged, h.how, h.was = name, name+": "+how, was
	h.counts["damaged"]++
}

// refused does what a crawl that does not go on says.
func (h *harness) refused(said string, err error) {
	if h.damaged == "" {
		h.Fatalf("kill %d: refused without damage: %v\n%s", h.killed, err, said)
	}
	if !strings.Contains(said, filepath.Base(h.damaged)) && !strings.Contains(said, filepath.Base(filepath.Dir(h.damaged))) {
		h.Errorf("%s: refused without its name: %s", h.how, said)
	}
	h.did("refused")
	if !strings.Contains(said, "waggle repair") {
		h.putBack()
		return
	}
	if h.rng.IntN(3) == 0 {
		h.did("loss accepted")
		said, err, dead := h.run([]string{"crawl", "-o", h.dir, "--resume", "--accept-loss"}, true)
		if err != nil {
			h.Fatalf("%s: with --accept-loss: %v\n%s", h.how, err, said)
		}
		if dead {
			h.killed++
			h.did("killed while loss was accepted")
		}
		h.verify()
		return
	}
	h.repair()
}

// putBack puts the damaged file back, as a message asks for.
func (h *harness) putBack() {
	if err := os.WriteFile(h.damaged, h.was, 0o644); err != nil {
		h.Fatal(err)
	}
	h.mended("put back")
}

// verify seeks damage, and has it mended.
func (h *harness) verify() {
	said, err := waggleCommand([]string{"verify", h.dir}).CombinedOutput()
	var status *exec.ExitError
	switch {
	case err == nil:
		if len(h.steps) == 0 {
			h.did("did no harm")
		}
		h.mended("verified")
		checkKilled(h.T, h.dir, h.web)
	case !errors.As(err, &status) || status.ExitCode() != exitFailed || !bytes.Contains(said, []byte("DAMAGED")):
		h.Fatalf("kill %d, %s: verify: %v\n%s", h.killed, h.how, err, said)
	case !bytes.Contains(said, []byte("waggle repair")):
		h.did("found by verify")
		h.putBack()
	default:
		h.did("found by verify")
		h.repair()
	}
}

// repair repairs the crawl; every third time the first repair is killed.
func (h *harness) repair() {
	if h.rng.IntN(3) == 0 {
		cmd := waggleCommand([]string{"repair", h.dir})
		if err := cmd.Start(); err != nil {
			h.Fatal(err)
		}
		time.Sleep(time.Duration(h.rng.IntN(300)) * time.Millisecond) // the instant of the kill
		cmd.Process.Kill()
		cmd.Wait()
		h.did("repair killed")
	}
	said, err, _ := h.run([]string{"repair", h.dir}, false)
	if err != nil {
		h.Fatalf("%s: repair: %v\n%s", h.how, err, said)
	}
	if said, err := waggleCommand([]string{"verify", h.dir}).CombinedOutput(); err != nil {
		h.Fatalf("%s: after the repair: %v\n%s", h.how, err, said)
	}
	h.mended("repaired")
	h.acknowledge()
}

// acknowledge notes what is owed after a repair: what the new log tells, which a
// page in flight may have become part of.
func (h *harness) acknowledge() {
	for e, err := range collection.At(h.dir).Events() {
		if err != nil {
			h.Fatal(err)
		}
		switch e := e.(type) {
		case event.Fetched:
			h.web.ack(e.URL.String())
		case event.Failed:
			if !e.Retry {
				h.web.ack(e.URL.String())
			}
		}
	}
}

// settle mends what is left when the crawl is over.
func (h *harness) settle() {
	if h.damaged != "" {
		h.verify()
	}
	if said, err := waggleCommand([]string{"verify", h.dir}).CombinedOutput(); err != nil {
		h.Errorf("in the end: %v\n%s", err, said)
	}
}

// compare compares what the crawl holds with what the server sent.
func (h *harness) compare() {
	col := collection.At(h.dir)
	lost, err := col.Lost()
	if err != nil {
		h.Fatal(err)
	}
	isLost := map[string]bool{}
	for _, u := range lost {
		isLost[u] = true
	}
	archived, told := map[string]int{}, map[string]int{}
	for r, err := range col.Responses(nil) {
		if err != nil {
			h.Fatal(err)
		}
		archived[r.URL.String()]++
	}
	relevant := map[string]bool{}
	for p, err := range col.Fetched() {
		if err != nil {
			h.Fatal(err)
		}
		told[p.URL.String()]++
		relevant[p.URL.String()] = p.Relevant && p.Reason == ""
	}
	harvest, err := os.ReadFile(col.HarvestFile())
	if err != nil {
		h.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(harvest)) {
		listed[strings.Split(line, "\t")[1]] = true
	}
	h.web.mu.Lock()
	defer h.web.mu.Unlock()
	for u := range h.web.served {
		if isLost[u] {
			continue
		}
		if archived[u] != 1 || told[u] != 1 || relevant[u] != listed[u] {
			h.Errorf("%s was sent: archived %d times, told of %d times, relevant %v, in the harvest %v", u, archived[u], told[u], relevant[u], listed[u])
		}
	}
	for u, n := range archived {
		if n > 1 && !strings.HasSuffix(u, "/robots.txt") {
			h.Errorf("%s is archived %d times", u, n)
		}
	}
	if n := len(h.web.again); n > 0 {
		h.Errorf("asked for again although acknowledged: %d addresses, first %s", n, h.web.again[0])
	}
	h.Logf("%d pages sent, %d can be reached, %d lost", len(h.web.served), h.web.reachable(), len(lost))
}
