package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// How links get to the logs of their shards.
//
// By profile, most of what joining costs is sockets, acknowledgements and the client of the engine, a part for each
// message, whatever is in it (docs/results/many-machines.md). The links of one page go to six shards or more. So the
// record of a page (done/N) holds all links that it found, in one message with the page, and they are copied to
// links/M later, those of many pages together:
//
//	page ─► done/N: the page, links to N, links to other shards
//	                                       ├─ of others ── within forwardEvery ─────────► links/M
//	                                       └─ held here ── mostOwn, or M is to be given ─► links/M
//
// What was not copied when the worker ended is copied by who has N next, from the record on that the
// last one of N names (doneRecord.sent). So each link is in done/M or links/M before somebody else can have M,
// or comes to links/M behind that, where its holder reads on.
const (
	// forwardEvery is how long a link to a shard of another worker, or a lesson, is kept back at most.
	forwardEvery = 250 * time.Millisecond
	// mostOwn is how many links to other shards that this worker holds are kept back.
	mostOwn = 8192
)

// outbox is what was not copied yet. The driver alone uses it.
type outbox struct {
	others, own []web.Candidate
	// lessons are in no record of a page: those of a worker that is killed are lost with it, but for itself.
	lessons []crawl.Lesson
	last    time.Time // when something for others was copied
}

// sizeOf is about how many bytes a link has in a record.
func sizeOf(c *web.Candidate) int {
	return len(c.URL.String()) + len(c.Features) + len(c.Memory) + 64
}

// away puts links to other shards into the record of their page, and those for which it has no room into
// their logs at once. It returns those in the record.
func (w *Worker) away(r *doneRecord, others, own []web.Candidate) (o, p []web.Candidate, err error) {
	room := mostBytes
	var now []web.Candidate
	fit := func(links []web.Candidate) []web.Candidate {
		n := 0
		for n < len(links) && room > 0 {
			room -= sizeOf(&links[n])
			n++
		}
		r.away, now = append(r.away, links[:n]...), append(now, links[n:]...)
		return links[:n]
	}
	for i := range r.links {
		room -= sizeOf(&r.links[i])
	}
	o, p = fit(others), fit(own)
	return o, p, w.post(now, nil)
}

// keepBack notes what is to be copied.
func (w *Worker) keepBack(others, own []web.Candidate, lessons []crawl.Lesson) {
	o := &w.outbox
	if len(o.others)+len(o.lessons) == 0 {
		o.last = w.o.Clock.Now()
	}
	o.others, o.own, o.lessons = append(o.others, others...), append(o.own, own...), append(o.lessons, lessons...)
	w.keptBack.Store(len(o.others)+len(o.lessons) > 0)
}

// forward copies what has been kept back for long enough; with now, all that is for others.
func (w *Worker) forward(now bool) error {
	o := &w.outbox
	w.mu.Lock()
	own := len(o.own) >= mostOwn || len(o.own) > 0 && slices.ContainsFunc(w.changes, func(c change) bool { return c.takeover == nil })
	w.mu.Unlock()
	waits := len(o.others)+len(o.lessons) > 0
	// The clock may have been set back.
	if since := w.o.Clock.Now().Sub(o.last); !own && (!waits || !now && since >= 0 && since < forwardEvery) {
		return nil
	}
	links := o.others
	if own {
		links = append(links, o.own...)
	}
	if err := w.post(links, o.lessons); err != nil {
		return err
	}
	o.others, o.lessons = nil, nil
	w.keptBack.Store(false)
	if !own {
		return nil
	}
	o.own = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.holds {
		h.copied = h.Last
	}
	return nil
}

// post appends links to the logs of their shards, and lessons to that of all.
func (w *Worker) post(links []web.Candidate, lessons []crawl.Lesson) error {
	var drafts []engine.Draft
	for len(lessons) > 0 {
		n, size := 0, 0
		for n < len(lessons) && size < mostBytes {
			size += len(lessons[n].Data)
			n++
		}
		r := forAll{worker: w.self.Worker, lessons: lessons[:n]}
		drafts, lessons = append(drafts, engine.Draft{Log: logAll, Data: r.encode()}), lessons[n:]
	}
	if drafts = append(drafts, linkDrafts(w.moved, links, w.routes.of)...); len(drafts) == 0 {
		return nil
	}
	at, err := w.append(drafts)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range at {
		if p > w.posted.Position {
			w.posted = engine.Record{Log: drafts[i].Log, Position: p, Data: drafts[i].Data}
		}
	}
	return nil
}

// linkDrafts are the records of links, by shard.
func linkDrafts(after engine.Position, links []web.Candidate, of func(web.Host) int) (drafts []engine.Draft) {
	byShard := make(map[int][]web.Candidate)
	for _, c := range links {
		n := of(c.URL.Host())
		byShard[n] = append(byShard[n], c)
	}
	for _, n := range slices.Sorted(maps.Keys(byShard)) {
		for _, b := range linkRecords(after, byShard[n]) {
			drafts = append(drafts, engine.Draft{Log: logLinks(n), Data: b})
		}
	}
	return drafts
}

// passOn copies the links to other shards that holders of these found, and may not have copied. These are
// behind t.sent, and up to t.till; nobody else appends there any more.
func (w *Worker) passOn(ctx context.Context, took map[int]*takeover) error {
	from, end := make(map[string]engine.Position), make(map[string]engine.Position)
	for n, t := range took {
		from[logDone(n)], end[logDone(n)] = t.sent, t.till
	}
	// They are of a time when all that was said to everybody up to here may have been said.
	last, err := w.e.End(ctx, logAll)
	if err != nil {
		return err
	}
	var links []web.Candidate
	flush := func() error {
		drafts := linkDrafts(last.Position, links, func(h web.Host) int { return shard.Of(h, w.plan.Shards) })
		if links = nil; len(drafts) == 0 {
			return nil
		}
		_, err := w.e.Append(ctx, drafts...)
		return err
	}
	err = w.readTo(ctx, from, end, func(r engine.Record) error {
		d, err := readDoneRecord(r.Data, true)
		if err != nil {
			w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
			return nil
		}
		if links = append(links, d.away...); len(links) >= mostOwn {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}
