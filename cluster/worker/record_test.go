package worker

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

func drawURL(t *rapid.T, name string) web.URL {
	s := fmt.Sprintf("http://s%d.example/%s", rapid.IntRange(0, 9).Draw(t, name), rapid.StringMatching(`[a-z0-9]{0,12}(\?q=[a-z]{1,4})?`).Draw(t, name))
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func drawBytes(t *rapid.T, name string) []byte {
	b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, name)
	if len(b) == 0 {
		return nil
	}
	return b
}

func drawLinks(t *rapid.T) (out []web.Candidate) {
	for range rapid.IntRange(0, 6).Draw(t, "links") {
		c := web.Candidate{
			URL: drawURL(t, "url"), Depth: rapid.IntRange(0, 60).Draw(t, "depth"), Redirects: rapid.IntRange(0, 9).Draw(t, "redirects"),
			Priority: rapid.Float64Range(-1e30, 1e30).Draw(t, "priority"), Features: drawBytes(t, "features"), Memory: drawBytes(t, "memory"),
			Kind: rapid.SampledFrom([]web.LinkKind{"", web.LinkA, web.LinkRedirect, web.LinkSeed}).Draw(t, "kind"),
		}
		if rapid.Bool().Draw(t, "found") {
			c.From = drawURL(t, "from")
		}
		out = append(out, c)
	}
	return out
}

// What links wait for is handed over although there is no room for more links.
func TestRoomForWhatLinksWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(t.Context(), Options{Engine: engine.NewMemory()})
		w.holds[0] = &liveShard{gen: 1}
		const after = 7
		full := letter{shard: 0, gen: 1, place: 1, linkRecord: linkRecord{after: after}, links: make([]web.Candidate, mostInbox)}
		for _, l := range []letter{full, {shard: -1, place: after}} {
			if err := w.put(l); err != nil {
				t.Fatal(err)
			}
		}
		more := make(chan error, 1)
		go func() { more <- w.put(letter{shard: 0, gen: 1, place: 2, links: make([]web.Candidate, 1)}) }()
		synctest.Wait()
		if len(w.inbox) != 2 {
			t.Fatalf("%d letters, and there is no room for links", len(w.inbox))
		}
		taken := 0
		for range 3 { // that of all, what waited for it, the one behind
			var m crawl.Mail
			w.mu.Lock()
			w.letters(&m)
			w.mu.Unlock()
			taken += len(m.Links)
			synctest.Wait()
		}
		if err := <-more; err != nil || taken != mostInbox+1 {
			t.Errorf("%d links were taken in, %v", taken, err)
		}
	})
}

// What is written is read as it was.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := drawLinks(t)
		if len(links) > 0 {
			head := linkRecord{after: 7, session: "w", from: 8, till: 1 << 40}
			for _, b := range linkRecords(head, links) {
				r, got, err := readLinkRecord(b)
				if err != nil || r != head || !reflect.DeepEqual(got, links) {
					t.Fatalf("%v\n got %v %+v\nwant %v %+v", err, r, got, head, links)
				}
			}
		}
		d := doneRecord{worker: "w", archive: drawBytes(t, "archive"), events: drawBytes(t, "events"), links: links, away: drawLinks(t)}
		d.sent = engine.Position(rapid.Uint32().Draw(t, "sent"))
		if d.archive == nil {
			d.archive = []byte{}
		}
		if d.events == nil {
			d.events = []byte{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "done") {
			d.done = append(d.done, drawURL(t, "done"))
			d.hosts = append(d.hosts, hostRecord{web.Host("s1.example"), rapid.IntRange(0, 1000).Draw(t, "fetched"), time.Duration(rapid.IntRange(0, 100_000).Draw(t, "wait")) * time.Millisecond})
		}
		got, err := readDoneRecord(d.encode(), true)
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, d)
		}
		all := forAll{worker: "w"}
		if rapid.Bool().Draw(t, "moved") {
			all.moved = []web.URL{drawURL(t, "moved")}
			all.lessons = []crawl.Lesson{{Judge: rapid.Bool().Draw(t, "judge"), Data: append([]byte{1}, drawBytes(t, "lesson")...)}}
		}
		if got, err := readForAll(all.encode()); err != nil || !reflect.DeepEqual(got, all) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, all)
		}
		routes := newRoutes(testShards)
		told := announcement{session: "w", after: 9, before: 1 << 41, links: sections(links, routes.of)}
		if rapid.Bool().Draw(t, "live") {
			told.live = []int{0, 3, mostShards}
		}
		if got, err := readAnnouncement(told.encode()); err != nil || !reflect.DeepEqual(got, told) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, told)
		}
		n := 0
		for i := range told.links {
			of, err := told.links[i].read()
			if n += len(of); err != nil || slices.ContainsFunc(of, func(c web.Candidate) bool { return routes.of(c.URL.Host()) != told.links[i].shard }) {
				t.Fatalf("%v: of shard %d are %v", err, told.links[i].shard, of)
			}
		}
		if n != len(links) {
			t.Fatalf("%d of %d links", n, len(links))
		}
	})
}

// An engine takes every record of links, however long the addresses where they were found are.
func TestRecordsOfLinksFit(t *testing.T) {
	var links []web.Candidate
	for i := range mostLinks {
		from, err := web.Parse(fmt.Sprintf("http://s.example/%d?%s", i, strings.Repeat("x", 1900)))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, web.Candidate{URL: page(t, i%testShards, fmt.Sprint(i)), From: from, Kind: web.LinkA})
	}
	for i, b := range linkRecords(linkRecord{session: "w"}, links) {
		if len(b) > engine.MaxRecord {
			t.Errorf("record %d has %d bytes", i, len(b))
		}
	}
	told := announcement{session: "w", links: sections(links[:fitting(links)], newRoutes(testShards).of)}
	if n := len(told.encode()); n > engine.MaxRecord {
		t.Errorf("what is told at once has %d bytes", n)
	}
}

// Whatever stands in a log is read or refused, and takes no more memory than a small
// multiple of its bytes. Links have addresses, and are the same when they are written and read again.
func FuzzRecords(f *testing.F) {
	u, err := web.Parse("http://a.example/b")
	if err != nil {
		f.Fatal(err)
	}
	links := []web.Candidate{{URL: u, From: u, Kind: web.LinkA, Priority: 0.5, Features: []byte{1}}, {URL: u, Kind: web.LinkSeed}}
	f.Add(linkRecords(linkRecord{after: 3, session: "w", from: 4, till: 5}, links)[0])
	f.Add((&doneRecord{worker: "w", taken: true}).encode())
	f.Add((&doneRecord{worker: "w", done: []web.URL{u}, hosts: []hostRecord{{u.Host(), 3, time.Second}}, links: links, sent: 9, away: links}).encode())
	f.Add((&forAll{worker: "w", moved: []web.URL{u}, lessons: []crawl.Lesson{{Data: []byte("x")}}}).encode())
	f.Add((&announcement{session: "w", after: 2, before: 1, live: []int{3}, links: []section{{2, appendLinks(nil, links)}}}).encode())
	for _, a := range []event.Act{
		{Do: event.Mute, Place: "a.example/b/", Told: time.Unix(1e9, 0).UTC(), Known: 2},
		{Do: event.Relevant, URL: u}, {Do: event.Keywords, Keywords: []string{"bee", "waggle dance"}}, {Do: "dance"},
		{Do: event.Mute, Place: strings.Repeat("a", mostAct)},
	} {
		b, err := encodeAct("w", 3, a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		within := func(what string, read func()) {
			t.Helper()
			if used := allocated.By(read); used > uint64(128<<10+256*len(b)) {
				t.Errorf("%d bytes allocated for %s of %d", used, what, len(b))
			}
		}
		same := func(links []web.Candidate) {
			t.Helper()
			for _, c := range links {
				if c.URL.IsZero() {
					t.Error("a link without an address")
				}
			}
			in := wire.NewReader(appendLinks(nil, links))
			if again := readLinks(in); in.End() != nil || !reflect.DeepEqual(again, links) {
				t.Errorf("%v\n got %+v\nwant %+v", in.Err(), again, links)
			}
		}
		var err error
		var links []web.Candidate
		within("links", func() { _, links, err = readLinkRecord(b) })
		if err == nil {
			same(links)
		}
		var d doneRecord
		within("a turn", func() { d, err = readDoneRecord(b, true) })
		if err == nil {
			for _, h := range d.hosts {
				if h.wait < 0 || h.fetched < 0 {
					t.Errorf("a host rests for %v after %d pages", h.wait, h.fetched)
				}
			}
			same(d.links)
			same(d.away)
		}
		var all forAll
		within("what is for all", func() { all, err = readForAll(b) })
		if err == nil {
			if again, err := readForAll(all.encode()); err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("%v\n got %+v\nwant %+v", err, again, all)
			}
		}
		var told announcement
		within("what is told", func() { told, err = readAnnouncement(b) })
		if err == nil {
			for i := range told.links {
				within("links that are told", func() { links, err = told.links[i].read() })
				if err == nil {
					same(links)
				}
			}
		}
		var a event.Act
		within("an act", func() { _, _, a, err = readActRecord(b) })
		if err == nil && a.Refused == "" {
			if err := a.Check(); err != nil {
				t.Errorf("%+v is taken: %v", a, err)
			}
		}
	})
}

// The links of one log are taken in in their order, also where the first of them wait for something else: the
// place up to which a shard has them never passes one that waits, and never goes back.
func TestLinksInOrder(t *testing.T) {
	w := New(t.Context(), Options{Engine: engine.NewMemory()})
	w.holds[0], w.holds[1] = &liveShard{gen: 1}, &liveShard{gen: 2}
	link := func(n, gen int, place, after engine.Position) letter {
		return letter{shard: n, gen: gen, place: place, linkRecord: linkRecord{after: after}, links: make([]web.Candidate, 1)}
	}
	for _, c := range []struct {
		letters []letter
		links   int
		at      [2]engine.Position
	}{
		{[]letter{link(0, 1, 11, 7), link(1, 2, 12, 0), link(0, 1, 13, 0)}, 1, [2]engine.Position{0, 12}},
		{[]letter{link(0, 1, 14, 8), {shard: forAllOf, place: 7}}, 0, [2]engine.Position{0, 12}},
		{nil, 2, [2]engine.Position{13, 12}},
		{[]letter{{shard: forAllOf, place: 8}, link(0, 1, 15, 7)}, 0, [2]engine.Position{13, 12}},
		{nil, 2, [2]engine.Position{15, 12}},
	} {
		for _, l := range c.letters {
			if err := w.put(l); err != nil {
				t.Fatal(err)
			}
		}
		var m crawl.Mail
		w.mu.Lock()
		w.letters(&m)
		at := [2]engine.Position{w.holds[0].Links, w.holds[1].Links}
		w.mu.Unlock()
		if len(m.Links) != c.links || at != c.at {
			t.Errorf("%d links, up to %v, not %d up to %v", len(m.Links), at, c.links, c.at)
		}
	}
	if w.links != 0 || len(w.inbox) != 0 {
		t.Errorf("%d letters and %d links wait", len(w.inbox), w.links)
	}
}
