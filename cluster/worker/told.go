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

// announcement is a record of the log told.
type announcement struct {
	worker string
	after  engine.Position // of the log all
	live   []int
	links  []section
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
	b := wire.AppendString([]byte{kindTold}, r.worker)
	b = binary.AppendUvarint(b, uint64(r.after))
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
	r.worker = in.String()
	r.after = engine.Position(in.Number(math.MaxInt64))
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
		l := letter{shard: ofAnnounced, place: r.Position}
		t, err := readAnnouncement(r.Data)
		if err != nil {
			w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
		}
		if l.worker, l.after, l.live = t.worker, t.after, t.live; t.worker != w.self.Worker {
			l.announced = t.links
		}
		return w.put(l)
	})
	w.fail(err)
}

// takeAnnounced takes in what was told. w.mu is held.
func (w *Worker) takeAnnounced(l *letter) (links []web.Candidate) {
	w.announcedTo = l.place
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
		if held := w.holds[n]; held != nil && l.worker == w.self.Worker {
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
