package fetch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// madeSites is a fetcher of made-up sites: robots.txt by host, and pages.
type madeSites struct {
	robots map[string]*web.Response // by host; others have none
	asked  map[string]int           // by address
}

func (a *madeSites) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	a.asked[u.String()]++
	if u.Path() != "/robots.txt" {
		return &web.Response{URL: u, Status: 200}, nil
	}
	if r := a.robots[string(u.Host())]; r != nil {
		own := *r
		own.URL = u
		return &own, nil
	}
	return &web.Response{URL: u, Status: 404}, nil
}

// run is a run of a crawl that keeps rules in a file, and is told what is wrong.
func run(t *testing.T, path string, a *madeSites, clock *still, notes *[]string) (*Robots, *KeptFile) {
	t.Helper()
	kept, err := OpenRobots(path, clock.Now, func(s string) { *notes = append(*notes, s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	return NewRobots(RobotsOptions{Pages: a, Files: a, Clock: clock, Kept: kept}), kept
}

// outcome is what a run says of a page: its reason, and of a rule unknown the
// time for which it is.
func outcome(t *testing.T, r *Robots, address string) string {
	t.Helper()
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Fetch(context.Background(), u)
	if err == nil {
		return "allowed"
	}
	f := err.(*web.Failure)
	if f.RetryAfter > 0 {
		return fmt.Sprint(f.Reason, " for ", f.RetryAfter)
	}
	return string(f.Reason)
}

func madeUp() *madeSites {
	return &madeSites{asked: map[string]int{}, robots: map[string]*web.Response{
		"some.test":  {Status: 200, Body: []byte("User-agent: *\nDisallow: /no\nCrawl-delay: 3\n\xff\x00 not UTF-8")},
		"later.test": {Status: 429, RetryAfter: 5 * time.Hour},
		"down.test":  {Status: 503},
	}}
}

var origins = []string{"http://some.test", "https://some.test", "http://later.test", "http://none.test", "http://down.test"}

// A run asks no site whose rules an earlier run has learnt, until they are over.
func TestRobotsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots")
	clock, a := newStill(), madeUp()
	var notes []string
	first, kept := run(t, path, a, clock, &notes)
	for _, o := range origins {
		outcome(t, first, o+"/no")
	}
	// The process dies here: nothing is closed.
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	grown := size()
	for _, step := range []struct {
		at   time.Duration // since the first run
		want []string      // for origins
		asks string        // robots.txt of these is asked for once more
	}{
		{0, []string{"robots", "robots", "robots-unknown for 5h0m0s", "allowed", "robots-unknown for 1m0s"}, ""},
		{-24 * time.Hour, []string{"robots", "robots", "robots-unknown for 5h0m0s", "allowed", "robots-unknown for 1m0s"}, ""},
		{time.Minute, []string{"robots", "robots", "robots-unknown for 4h59m0s", "allowed", "robots-unknown for 1m0s"}, "http://down.test"},
		{5 * time.Hour, []string{"robots", "robots", "robots-unknown for 5h0m0s", "allowed", "robots-unknown for 1m0s"}, "http://later.test http://down.test"},
		{24*time.Hour - time.Second, []string{"robots", "robots", "robots-unknown for 5h0m0s", "allowed", "robots-unknown for 1m0s"}, "http://later.test http://down.test"},
		{48 * time.Hour, []string{"robots", "robots", "robots-unknown for 5h0m0s", "allowed", "robots-unknown for 1m0s"}, strings.Join(origins, " ")},
	} {
		clear(a.asked)
		later := newStill()
		later.advance(step.at)
		r, kept := run(t, path, a, later, &notes)
		for i, o := range origins {
			if got := outcome(t, r, o+"/no"); got != step.want[i] {
				t.Errorf("%v later, %s: %s, want %s", step.at, o, got, step.want[i])
			}
			want := 0
			if strings.Contains(" "+step.asks+" ", " "+o+" ") {
				want = 1
			}
			if n := a.asked[o+"/robots.txt"]; n != want {
				t.Errorf("%v later: robots.txt of %s asked for %d times, want %d", step.at, o, n, want)
			}
		}
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
	if now := size(); now > 2*grown {
		t.Errorf("the file has grown from %d to %d bytes, and says no more than before", grown, now)
	}
	kept.Close()
}

// Whatever becomes of the file, a run reads of it what is whole, says so, and
// asks again for the rest.
func TestRobotsFileDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "robots")
	clock, a := newStill(), madeUp()
	var notes []string
	r, kept := run(t, path, a, clock, &notes)
	want := map[string]string{}
	for _, o := range origins {
		want[o] = outcome(t, r, o+"/no")
	}
	kept.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := append([]byte(nil), whole...)
		switch rapid.SampledFrom([]string{"bit", "cut", "zero", "insert", "double"}).Draw(rt, "damage") {
		case "bit":
			b[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case "cut":
			b = b[:rapid.IntRange(0, len(b)-1).Draw(rt, "length")]
		case "zero":
			clear(b[rapid.IntRange(0, len(b)-1).Draw(rt, "from"):])
		case "insert":
			at := rapid.IntRange(0, len(b)).Draw(rt, "at")
			b = append(b[:at:at], append(rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(rt, "bytes"), b[at:]...)...)
		case "double":
			b = append(b, b...)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			rt.Fatal(err)
		}
		notes = nil
		clear(a.asked)
		r, kept := run(t, path, a, clock, &notes)
		asked := 0
		for _, o := range origins {
			if got := outcome(t, r, o+"/no"); got != want[o] {
				rt.Errorf("%s: %s, want %s", o, got, want[o])
			}
			asked += a.asked[o+"/robots.txt"]
		}
		cut := len(b) < len(whole) && string(b) == string(whole[:len(b)]) // at a line's end nobody can know
		if asked > 0 && len(notes) == 0 && !cut {
			rt.Errorf("%d sites are asked again, and nothing is said of damage", asked)
		}
		kept.Close()
		// What was found damaged is mended.
		notes = nil
		_, kept = run(t, path, a, clock, &notes)
		kept.Close()
		if len(notes) > 0 {
			rt.Errorf("the next run still says %q", notes)
		}
	})
}

// The file stays within its bound, however many sites there are, and keeps those
// asked last.
func TestRobotsFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots")
	clock := newStill()
	var notes []string
	note := func(s string) { notes = append(notes, s) }
	kind := keptRobots()
	kind.room = 1 << 20
	room := kind.room
	kept, err := openKept(path, kind, clock.Now, note)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("User-agent: *\n" + strings.Repeat("Disallow: /a/path/of/this/site\n", 1000))
	const sites = 300
	for i := range sites {
		kept.add(keptRules{Origin: fmt.Sprintf("http://h%d.test", i), Status: 200, Body: body}, clock.Now().Add(robotsLife), robotsLife)
		info, err := os.Stat(path)
		if err != nil || info.Size() > int64(2*room+maxKeptLine) {
			t.Fatalf("%d bytes after %d sites, %v", info.Size(), i+1, err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err = openKept(path, kind, clock.Now, note); err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	entries := kept.take()
	if n := len(entries); n < 10 || n > room/(2*len(body)) || entries[n-1].Origin != fmt.Sprintf("http://h%d.test", sites-1) {
		t.Errorf("%d of %d sites are kept, the last is %s", n, sites, entries[n-1].Origin)
	}
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
}

// A file that cannot be written to costs a word, and no crawl.
func TestRobotsFileThatCannotBe(t *testing.T) {
	var notes []string
	f, err := New(Options{AllowPrivate: true, RobotsFile: filepath.Join(t.TempDir(), "none", "robots"), Note: func(s string) { notes = append(notes, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(notes) != 1 || !strings.Contains(notes[0], "robots.txt") {
		t.Errorf("noted %q", notes)
	}
}

// FuzzRobotsFile reads anything as a file of rules: a beginning as it is, and lines of entries
// whose sums are right. What is read is written so that it is read again.
func FuzzRobotsFile(f *testing.F) {
	clock := newStill()
	entry := func(k keptRules) string {
		_, e, _ := strings.Cut(strings.TrimSuffix(string(appendKept(nil, &k)), "\n"), " ")
		return e
	}
	rules := entry(keptRules{Origin: "http://a.test", Until: clock.now.Add(time.Hour), Life: 3600, Status: 200, Body: []byte("Disallow: /")})
	unknown := entry(keptRules{Origin: "https://b.test", Until: clock.now.Add(time.Minute), Life: 60, Missing: "status 429"})
	f.Add([]byte(keptRobots().header), []byte(rules+"\n"+unknown+"\n"+rules))
	f.Add([]byte(keptRobots().header+strings.Repeat("x", 100)+"\n"), []byte(unknown))
	f.Add([]byte("waggle robots 2\n"), []byte(nil))
	f.Fuzz(func(t *testing.T, head, entries []byte) {
		b := slices.Clone(head)
		for e := range bytes.SplitSeq(entries, []byte("\n")) {
			b = fmt.Appendf(b, "%016x %s\n", xxh3.Hash(e), e)
		}
		path := filepath.Join(t.TempDir(), "robots")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		kept, lines, damaged, err := keptRobots().read(path, clock.now)
		if err != nil || len(kept) > lines || damaged > lines+1 {
			t.Fatalf("%d entries and %d damaged of %d lines, %v", len(kept), damaged, lines, err)
		}
		for _, k := range kept {
			if v := k.verdict(); v.rules == nil == (v.missing == "") {
				t.Fatalf("%+v says neither rules nor why there are none", k)
			}
			again, ok := parseKept(appendKept(nil, &k))
			if !ok || again.Origin != k.Origin || !again.Until.Equal(k.Until) || again.Life != k.Life ||
				again.Status != k.Status || again.Missing != k.Missing || !bytes.Equal(again.Body, k.Body) {
				t.Fatalf("%+v is read again as %+v, %v", k, again, ok)
			}
		}
	})
}
