package worker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// What workers tell each other of links, for the sake of time: see outbox.go. A worker reads the log told from where it
// ended when that worker joined, and says when it takes in what is told of a shard. Whoever told of such links
// before, and has not copied them, copies them.
//
// The engine forgets what is told, and tells nobody so. A worker that was slow notices by the next record of the same
// session, which names the one before it; or by the copy, which names the last record that has some of its links.
// Then it says once more when it takes in what is told. So a copy is left out only where this worker has taken
// in each record between live, which is where it last said so, and the one at till.

// announcement is a record of the log told.
type announcement struct {
	session string
	after   engine.Position // of the log all
	before  engine.Position // the record that the session told before, 0 = none
	live    []int
	links   []section
}

// section is the links to hosts of one shard, as they are in the record: a worker reads those of its own shards.
type section struct {
	shard int
	links []byte // as appendLinks writes them
}

// sections are links by shard.
func sections(links []web.Candidate, of func(web.Host) int) (out []section) {
	by := byShard(links, of)
	for _, n := range slices.Sorted(maps.Keys(by)) {
		out = append(out, section{n, appendLinks(nil, by[n])})
	}
	return out
}

// read reads the links.
func (s *section) read() ([]web.Candidate, error) {
	in := wire.NewReader(s.links)
	links := readLinks(in)
	return links, in.End()
}

func (r *announcement) encode() []byte {
	b := wire.AppendString([]byte{kindTold}, r.session)
	b = binary.AppendUvarint(b, uint64(r.after))
	b = binary.AppendUvarint(b, uint64(r.before))
	b = binary.AppendUvarint(b, uint64(len(r.live)))
	for _, n := range r.live {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(r.links)))
	for i := range r.links {
		b = binary.AppendUvarint(b, uint64(r.links[i].shard))
		b = wire.AppendString(b, string(r.links[i].links))
	}
	return b
}

func readAnnouncement(b []byte) (r announcement, err error) {
	in := wire.NewReader(b)
	if kind := in.Byte(); in.Err() == nil && kind != kindTold {
		return r, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	r.session = in.String()
	r.after, r.before = engine.Position(in.Number(math.MaxInt64)), engine.Position(in.Number(math.MaxInt64))
	for range in.Count(1) {
		r.live = append(r.live, in.Number(mostShards))
	}
	for range in.Count(2) {
		r.links = append(r.links, section{in.Number(mostShards), in.Take(in.Count(1))})
	}
	return r, in.End()
}

// readAnnounced reads what is told behind a position.
func (w *Worker) readAnnounced(from engine.Position) {
	err := w.e.Read(w.ctx, map[string]engine.Position{logTold: from}, func(r engine.Record) error {
		t, err := readAnnouncement(r.Data)
		if err != nil {
			w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
			return nil // the next one by the same session tells that one is missed
		}
		l := letter{shard: ofAnnounced, place: r.Position}
		if l.session, l.after, l.before, l.live = t.session, t.after, t.before, t.live; t.session != w.self.Session {
			l.announced = t.links
		}
		return w.put(l)
	})
	w.fail(err)
}

// sayLive tells the others from where in the log told on this worker takes in links to shards.
func (w *Worker) sayLive(shards []int) error {
	r := announcement{session: w.self.Session, live: shards}
	at, err := w.e.Append(w.ctx, engine.Draft{Log: logTold, Data: r.encode()})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range shards {
		if held := w.holds[n]; held != nil {
			held.said = at[0]
		}
	}
	return nil
}

// noticeForgotten finds out whether the engine forgot what was told before a record that comes: links, or that this
// worker takes them in. It says so once more then, and what was told before that comes by copies. w.mu is held.
func (w *Worker) noticeForgotten(l *letter) {
	missed := l.before > w.toldBy[l.session]
	var again []int
	for n, held := range w.holds {
		unheard := held.live == math.MaxInt64 && held.said > 0 && held.said < l.place
		if unheard || missed && held.live < l.before {
			held.live, held.said = math.MaxInt64, 0
			again = append(again, n)
		}
	}
	if len(again) == 0 {
		return
	}
	slices.Sort(again)
	w.background.Go(func() {
		if err := w.sayLive(again); err != nil {
			w.fail(err)
		}
	})
}

// takeAnnounced takes in what was told. w.mu is held.
func (w *Worker) takeAnnounced(l *letter) (links []web.Candidate) {
	w.noticeForgotten(l)
	if len(l.live) == 0 {
		w.toldBy[l.session] = l.place
	}
	for i := range l.announced {
		s := &l.announced[i]
		held := w.holds[s.shard]
		if held == nil || held.giving || l.place <= held.live {
			continue
		}
		of, err := s.read()
		if err != nil {
			w.o.Note(fmt.Sprintf("links to shard %d that a worker told of are left out: %v", s.shard, err))
		}
		links = append(links, of...)
	}
	if len(l.live) == 0 {
		return links
	}
	is := make(map[int]bool, len(l.live))
	for _, n := range l.live {
		is[n] = true
		if held := w.holds[n]; held != nil && l.session == w.self.Session {
			held.live = min(held.live, l.place)
		}
	}
	of := func(c web.Candidate) bool { return is[w.routes.of(c.URL.Host())] }
	if o := &w.outbox; slices.ContainsFunc(o.announced, of) || slices.ContainsFunc(o.others, of) {
		o.asked = true
		w.wakeDriver()
	}
	return links
}
