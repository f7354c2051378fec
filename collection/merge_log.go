package collection

import (
	"errors"
	"iter"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// mergeLogs writes the new event log.
func (m *merge) mergeLogs() (err error) {
	if m.retrace, err = crawl.NewRetrace(func(string) ([]byte, error) { return nil, nil }); err != nil {
		return err
	}
	if m.log, err = event.Open(m.w.EventLog(), nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.log.Close()) }()
	m.log.Room, m.logMark = newRoom(m.tmp).take, []byte(event.Empty)
	var lists []iter.Seq2[event.Entry, error]
	for _, s := range m.sources {
		lists = append(lists, s.told())
	}
	n := int64(0)
	var last time.Time
	for i, e := range inOrder(lists, func(e event.Entry) time.Time { return e.Event.Time() }) {
		if e.err != nil {
			return e.err
		}
		if err := errors.Join(m.ctx.Err(), m.tell(i, e.value)); err != nil {
			return err
		}
		last = e.value.Event.Time()
		n++
		m.o.Progress("event logs", n, 0)
	}
	// A run that was killed, and did not go on, has no end; the others have theirs.
	if m.started && !m.ended {
		for _, s := range m.sources {
			if s.how != "" && !s.running {
				if err := m.append(event.Ended{At: event.At{At: last}, How: s.how, Frontier: m.stats()}); err != nil {
					return err
				}
				break
			}
		}
	}
	return m.log.Sync()
}

// told are the events of a log that count. Lines are copies, as they wait for their turn.
func (s *source) told() iter.Seq2[event.Entry, error] {
	return func(yield func(event.Entry, error) bool) {
		for e, err := range s.entries() {
			e.Line = append([]byte(nil), e.Line...)
			if !yield(e, err) {
				return
			}
		}
		if s.tail.IsZero() {
			return
		}
		for e, err := range s.behind() {
			e.Line = append([]byte(nil), e.Line...)
			if !yield(e, err) {
				return
			}
		}
	}
}

// tell takes the next event in.
func (m *merge) tell(i int, e event.Entry) error {
	s := m.sources[i]
	switch ev := e.Event.(type) {
	case event.Started:
		return m.start(s, ev)
	case event.Ended:
		return m.end(s, ev)
	case event.Tick:
		s.stats, ev.Frontier = ev.Frontier, web.FrontierStats{}
		ev.Frontier = m.stats()
		return m.append(ev)
	case event.Act:
		if ev.Number != m.taken+1 {
			return nil // another worker told of it
		}
		m.taken++
		whole, ok := m.acts[ev.Number]
		if !ok { // it is behind what is acknowledged
			whole = ev
			m.acts[ev.Number] = ev
		}
		whole.At = ev.At
		return m.append(whole)
	case event.Changed:
		if now, ok := m.settings[ev.Setting]; ok && now == ev.New {
			return nil
		}
		m.settings[ev.Setting] = ev.New
	case event.Fetched:
		h := hashOf(ev.URL.String())
		if s.twice[h] != "" {
			return m.append(event.Received{At: ev.At, From: ev.URL, Depth: ev.Depth + 1, Queued: ev.Queued, Skipped: ev.Skipped})
		}
		body := hashOf(ev.Digest)
		_, twice := m.bodies[body]
		m.bodies[body] = struct{}{}
		m.report.Pages++
		if twice && !ev.Reason.Copy() && ev.Digest != "" { // what it is a duplicate of, another fetched
			ev.Reason, ev.Relevant = web.ReasonDuplicate, false
			return m.append(ev)
		}
	}
	m.retrace.Add(e.Event, false)
	var err error
	m.logMark, err = m.log.AppendEntry(e)
	return err
}

func (m *merge) append(e event.Event) (err error) {
	m.retrace.Add(e, false)
	m.logMark, err = m.log.Append(e)
	return err
}

// start opens a run, if none of another worker is open.
func (m *merge) start(s *source, e event.Started) error {
	for name, value := range e.Settings {
		if _, known := m.settings[name]; !known {
			m.settings[name] = value
		}
	}
	if s.running {
		return nil // it was killed and goes on
	}
	s.running = true
	if m.running++; m.running > 1 {
		return nil
	}
	e.Resumed, e.Several = m.started, false
	m.started, m.ended = true, false
	return m.append(e)
}

// end closes a run, if that of no other worker is open.
func (m *merge) end(s *source, e event.Ended) error {
	s.stats, s.how = e.Frontier, e.How
	if !s.running {
		return nil
	}
	s.running = false
	if m.running--; m.running > 0 {
		return nil
	}
	e.Frontier = m.stats()
	m.ended = true
	return m.append(e)
}

// stats are those of all frontiers.
func (m *merge) stats() (sum web.FrontierStats) {
	for _, s := range m.sources {
		sum.Queued += s.stats.Queued
		sum.Leased += s.stats.Leased
		sum.Seen += s.stats.Seen
		sum.Hosts += s.stats.Hosts
		sum.Ready += s.stats.Ready
		sum.Waiting += s.stats.Waiting
		sum.Down += s.stats.Down
		sum.Held += s.stats.Held
		sum.Muted += s.stats.Muted
	}
	return sum
}
