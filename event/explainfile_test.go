package event

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// What is told of an address by a file of which few lines are decoded is what all events tell.
func TestExplainFile(t *testing.T) {
	dir := t.TempDir()
	logs := 0
	rapid.Check(t, func(t *rapid.T) {
		address := func(i int) web.URL {
			return addr(fmt.Sprintf(`https://h%d.example/%d?a=1&b="ü`, i%3, i))
		}
		number, share := rapid.IntRange(0, 12), rapid.Float64Range(0, 1)
		moment := 0
		now := func() At {
			moment++
			return At{epoch.Add(time.Duration(moment) * time.Second)}
		}
		links := func() (queued []Found, skipped []Skipped) {
			for range rapid.IntRange(0, 4).Draw(t, "links") {
				queued = append(queued, Found{URL: address(number.Draw(t, "to")), Priority: share.Draw(t, "priority"), Anchor: `"a" \ b`, Raised: rapid.Bool().Draw(t, "raised")})
			}
			if rapid.Bool().Draw(t, "skips") {
				skipped = []Skipped{{URL: address(number.Draw(t, "skipped")), Reason: web.ReasonMuted}}
			}
			return queued, skipped
		}
		events := []Event{Started{At: now(), Scorer: "waggle", Judge: "topic", Threshold: .5}, Seeded{At: now(), Queued: []Found{{URL: address(0)}}}}
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			u := address(number.Draw(t, "address"))
			queued, skipped := links()
			v := Visit{URL: u, Priority: share.Draw(t, "leased"), Link: rapid.SampledFrom([]web.LinkKind{"", web.LinkA, web.LinkRedirect}).Draw(t, "link")}
			if rapid.IntRange(0, 5).Draw(t, "seed") > 0 {
				v.From = address(number.Draw(t, "from"))
			}
			var e Event
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1, 2, 3:
				f := Fetched{At: now(), Visit: v, Status: 200, Title: "T", Digest: fmt.Sprintf("%032x", number.Draw(t, "digest")), Relevance: share.Draw(t, "relevance"), Queued: queued, Skipped: skipped}
				if f.Relevant = f.Relevance >= .5; rapid.IntRange(0, 3).Draw(t, "duplicate") == 0 {
					f.Reason, f.Relevant = web.ReasonDuplicate, false
				}
				e = f
			case 4:
				e = Failed{At: now(), Visit: v, Reason: web.ReasonRedirect, To: address(number.Draw(t, "moved")), Queued: rapid.Bool().Draw(t, "queued")}
			case 5:
				e = Failed{At: now(), Visit: v, Reason: web.ReasonTimeout, Retry: rapid.Bool().Draw(t, "retry")}
			case 6:
				e = Received{At: now(), From: v.From, Depth: 2, Queued: queued, Skipped: skipped}
			case 7:
				d := Dropped{At: now(), Reason: web.ReasonQueue, Count: 1, URLs: []web.URL{u}}
				if rapid.Bool().Draw(t, "host") {
					d.URLs, d.Host = nil, u.Host()
				}
				e = d
			case 8:
				r := share.Draw(t, "anew")
				e = Rejudged{At: now(), Pages: []Verdict{{URL: u, Relevance: r, Relevant: r >= .5}}}
			default:
				e = Act{At: now(), Number: 1, Do: Relevant, URL: u}
			}
			events = append(events, e)
		}
		if rapid.Bool().Draw(t, "threshold") {
			events = append(events, Changed{At: now(), Setting: SettingThreshold, Old: ".5", New: "0.3"})
		}
		path := filepath.Join(dir, fmt.Sprint(logs))
		logs++
		l, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(events...); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		all := Renewed(ReadFile(path), ReadFile(path))
		history := ReadHistory(path)
		if threshold, ok := history.Threshold(); ok {
			all = Under(threshold, all)
		}
		for i := range 13 {
			want, err := Explain(all, address(i))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ExplainFile(path, address(i))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b web.URL) bool { return a == b }), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-all events +file):\n%s", address(i), diff)
			}
		}
	})
}

// What is said anew of many other pages is not held in memory.
func TestExplainFileMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	u := addr("https://bees.example/")
	events := []Event{Fetched{Visit: Visit{URL: u}, Relevance: .9}, Rejudged{Pages: []Verdict{{URL: u, Relevance: .4}}}}
	const others, each = 50, 1000
	for i := range others {
		var r Rejudged
		for k := range each {
			r.Pages = append(r.Pages, Verdict{URL: addr(fmt.Sprintf("https://bees.example/%d/%d", i, k)), Relevance: .5})
		}
		events = append(events, r)
	}
	if _, err := l.Append(events...); err != nil {
		t.Fatal(err)
	}
	events = nil
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	before := live[0].Value.Uint64()
	var most atomic.Uint64
	var done atomic.Bool
	var look func(*[]byte)
	look = func(*[]byte) { // once after each collection of garbage
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		most.Store(max(most.Load(), live[0].Value.Uint64()))
		if !done.Load() {
			runtime.SetFinalizer(&[]byte{}, look)
		}
	}
	look(nil)
	x, err := ExplainFile(path, u)
	done.Store(true)
	if err != nil || len(x.Path) != 1 || x.Path[0].Relevance != .4 {
		t.Fatalf("%+v, %v", x.Path, err)
	}
	if grown := int64(most.Load()) - int64(before); grown > others*each*40 {
		t.Errorf("%d bytes are held at a time for %d verdicts on other pages", grown, others*each)
	}
}

// Lines of other programs, or damaged ones, are decoded or refused, and never misread.
func TestVisited(t *testing.T) {
	for line, want := range map[string][]string{
		`{"kind":"fetched","at":"2026","url":"http://a/","from":"http://b/","depth":1`: {"http://a/", "http://b/"},
		`{"kind":"fetched","at":"2026","url":"http://a/","depth":1`:                    {"http://a/", ""},
		`{"kind":"fetched","at":"2026","url":"http://a/\u0026"`:                        nil,
		`{"kind":"fetched","url":"http://a/","at":"2026"`:                              nil,
		`{"kind":"fetched","at":"2026","url":"http://a`:                                nil,
		`{"kind":"fetched","at":"2026","url":"http://a/","from":"http://b`:             nil,
		``: nil,
	} {
		u, from, ok := visited([]byte(line))
		if ok != (want != nil) || ok && !slices.Equal([]string{string(u), string(from)}, want) {
			t.Errorf("%s: %q %q %v", line, u, from, ok)
		}
	}
}
