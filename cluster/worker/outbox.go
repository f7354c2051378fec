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

// How links get to the workers that have their shards.
//
// By profile, most of what joining costs is sockets, acknowledgements and the client of the engine, a part for each
// message, whatever is in it (docs/results/many-machines.md). The links of one page go to six shards or more. So the
// record of a page (done/N) holds the links that it found, in one message with the page. Those to shards of others are
// told to all workers, those of many pages in one message, and each takes in what is of its shards. They are
// copied to links/M later, as those to shards held here are, many in one message for each M:
//
//	page ─► done/N: the page, links to N, links to other shards
//	                  ├─ of others ── within forwardEvery ► told ─┐
//	                  └─ held here ───────────────────────────────┴─ mostOwn, or somebody has to have them ─► links/M
//
// Somebody has to have them where M is to be given away; where a worker says that it takes in links to shards from here
// on, as it missed what was told before; and where this worker has nothing else to do.
//
// What was not copied when the worker ended is copied by who has N next, from the record on that the
// last one of N names (doneRecord.sent). So each link is in done/M or links/M before somebody else can have M,
// or comes to links/M behind that, where its holder reads on. What is told is only for the sake of time: nothing
// is rebuilt of it.
const (
	// forwardEvery is how long a link to a shard of another worker, or a lesson, is kept back at most.
	forwardEvery = 250 * time.Millisecond
	// mostOwn is how many links to other shards are kept back before they are copied.
	mostOwn = 8192
	// mostAnnounced is how many other workers are told of links that are for one of them: where there are more, that
	// would cost more than a message for each shard, and links are copied within forwardEvery.
	mostAnnounced = 16
)

// outbox is what was not copied yet. The driver alone uses it.
type outbox struct {
	others    []web.Candidate // to shards of other workers; not told yet
	announced []web.Candidate // likewise; each is in a record of the log told between from and till
	own       []web.Candidate // to shards held here
	from      engine.Position
	till      engine.Position // the last record that this session told
	// lessons are in no record of a page: those of a worker that is killed are lost with it, but for itself.
	lessons []crawl.Lesson
	last    time.Time // when something for others was told
	asked   bool      // somebody has missed what was told
}

// sizeOf is about how many bytes a link has in a record, and no fewer: where it was found is written anew for each
// that was found elsewhere than the one before it.
func sizeOf(c *web.Candidate) int {
	return len(c.URL.String()) + len(c.From.String()) + len(c.Features) + len(c.Memory) + 64
}

// away puts links to other shards into the record of their page, and those for which it has no room, be they to the
// shard of the page or to others, into their logs at once. It returns those to other shards that are in the record.
func (w *Worker) away(r *doneRecord, others, own []web.Candidate) (o, p []web.Candidate, err error) {
	room := mostBytes
	var now []web.Candidate
	fit := func(links []web.Candidate) []web.Candidate {
		n := 0
		for n < len(links) && room > 0 {
			room -= sizeOf(&links[n])
			n++
		}
		now = append(now, links[n:]...)
		return links[:n]
	}
	r.links = fit(r.links)
	o, p = fit(others), fit(own)
	r.away = slices.Concat(o, p)
	_, err = w.post(linkDrafts(linkRecord{after: w.moved, session: w.self.Session}, now, w.routes.of))
	return o, p, err
}

// keepBack notes what is to be copied.
func (w *Worker) keepBack(others, own []web.Candidate, lessons []crawl.Lesson) {
	o := &w.outbox
	if len(o.others)+len(o.lessons) == 0 && len(others)+len(lessons) > 0 {
		o.last = w.o.Clock.Now()
		w.keptBack.Store(w.o.Clock.Now().UnixNano())
		w.noteWaiting()
	}
	o.others, o.own, o.lessons = append(o.others, others...), append(o.own, own...), append(o.lessons, lessons...)
}

// forward tells and copies what has been kept back for long enough; with now, all that is for others.
func (w *Worker) forward(now bool) error {
	o := &w.outbox
	w.mu.Lock()
	all := len(o.own)+len(o.announced) >= mostOwn ||
		len(o.own) > 0 && slices.ContainsFunc(w.changes, func(c change) bool { return c.takeover == nil })
	w.mu.Unlock()
	copies := all || now || o.asked
	// The clock may have been set back.
	if since := w.o.Clock.Now().Sub(o.last); copies || since < 0 || since >= forwardEvery {
		if err := w.announce(now || w.crowd()); err != nil {
			return err
		}
	}
	if !copies {
		return nil
	}
	r := linkRecord{after: w.moved, session: w.self.Session, from: o.from, till: o.till}
	drafts := linkDrafts(r, o.announced, w.routes.of)
	if all {
		drafts = append(drafts, linkDrafts(linkRecord{after: w.moved, session: w.self.Session}, o.own, w.routes.of)...)
	}
	if _, err := w.post(drafts); err != nil {
		return err
	}
	o.announced, o.asked = nil, false
	if !all {
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

// crowd tells whether there are more workers than are told of links.
func (w *Worker) crowd() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.liveOthers > mostAnnounced
}

// announce tells all workers what waits for them; where links are to be copied, it does that instead.
func (w *Worker) announce(copied bool) error {
	o := &w.outbox
	if len(o.others)+len(o.lessons) == 0 {
		return nil
	}
	links := o.others
	if copied {
		links = nil
	}
	var drafts []engine.Draft
	for lessons := o.lessons; len(lessons) > 0; {
		n, size := 0, 0
		for n < len(lessons) && size < mostBytes {
			size += len(lessons[n].Data)
			n++
		}
		r := forAll{worker: w.self.Worker, lessons: lessons[:n]}
		drafts, lessons = append(drafts, engine.Draft{Log: logAll, Data: r.encode()}), lessons[n:]
	}
	if copied {
		drafts = append(drafts, linkDrafts(linkRecord{after: w.moved, session: w.self.Session}, o.others, w.routes.of)...)
	}
	for len(links) > 0 {
		n := fitting(links)
		var with []engine.Draft
		if n == len(links) {
			with, drafts = drafts, nil
		}
		if err := w.tell(links[:n], with); err != nil {
			return err
		}
		links = links[n:]
	}
	if _, err := w.post(drafts); err != nil {
		return err
	}
	o.others, o.lessons = nil, nil
	w.keptBack.Store(0)
	return nil
}

// tell appends a record of links to the log told, and others with it. It names the one before it, so those of one session are
// appended one after the other.
func (w *Worker) tell(links []web.Candidate, with []engine.Draft) error {
	o := &w.outbox
	r := announcement{session: w.self.Session, after: w.moved, before: o.till, links: sections(links, w.routes.of)}
	at, err := w.post(append([]engine.Draft{{Log: logTold, Data: r.encode()}}, with...))
	if err != nil {
		return err
	}
	if at[0] <= o.till { // nobody would read it who has read the one before
		err := older("record %d of the log %s follows %d", at[0], logTold, o.till)
		w.fail(fmt.Errorf("%w: %w", ErrOver, err))
		return err
	}
	if len(o.announced) == 0 {
		o.from = at[0]
	}
	o.announced, o.till = append(o.announced, links...), at[0]
	return nil
}

// post appends records of links and lessons.
func (w *Worker) post(drafts []engine.Draft) (at []engine.Position, err error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	if at, err = w.append(drafts); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range at {
		if p > w.posted.Position && !engine.IsBrief(drafts[i].Log) {
			w.posted = engine.Record{Log: drafts[i].Log, Position: p, Data: drafts[i].Data}
		}
	}
	return at, nil
}

// linkDrafts are the records of links, by shard.
func linkDrafts(r linkRecord, links []web.Candidate, of func(web.Host) int) (drafts []engine.Draft) {
	by := byShard(links, of)
	for _, n := range slices.Sorted(maps.Keys(by)) {
		for _, b := range linkRecords(r, by[n]) {
			drafts = append(drafts, engine.Draft{Log: logLinks(n), Data: b})
		}
	}
	return drafts
}

func byShard(links []web.Candidate, of func(web.Host) int) map[int][]web.Candidate {
	by := make(map[int][]web.Candidate)
	for _, c := range links {
		n := of(c.URL.Host())
		by[n] = append(by[n], c)
	}
	return by
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
		drafts := linkDrafts(linkRecord{after: last.Position, session: w.self.Session}, links, func(h web.Host) int { return shard.Of(h, w.plan.Shards) })
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
