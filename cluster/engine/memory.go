package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is an engine in the memory of one process. Several workers in that process may
// use one.
type Memory struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	stopped bool
	logs    map[string][]Record
	ends    map[string][]time.Time // when the records of brief logs are forgotten
	brief   time.Duration
	keys    map[string]Entry
	last    Position
	rev     Revision
}

var _ Engine = (*Memory)(nil)

// NewMemory makes an empty engine.
func NewMemory() *Memory {
	return &Memory{
		changed: make(chan struct{}), logs: make(map[string][]Record), ends: make(map[string][]time.Time), brief: BriefFor,
		keys: make(map[string]Entry),
	}
}

// Forget has the engine forget what is appended to brief logs from now on after d, in place of BriefFor.
func (m *Memory) Forget(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.brief = d
}

// log is what a log holds. m.mu is held.
func (m *Memory) log(name string) []Record {
	ends, now, n := m.ends[name], time.Now(), 0
	for n < len(ends) && !now.Before(ends[n]) {
		n++
	}
	if n > 0 {
		m.ends[name], m.logs[name] = slices.Clone(ends[n:]), slices.Clone(m.logs[name][n:])
	}
	return m.logs[name]
}

// Stop makes all calls wait until Start.
func (m *Memory) Stop() { m.stop(true) }

// Start ends a Stop.
func (m *Memory) Start() { m.stop(false) }

func (m *Memory) stop(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = on
	m.tell()
}

// tell wakes those who wait for a change.
func (m *Memory) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// running waits for an engine that is not stopped, and takes the lock.
func (m *Memory) running(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		if !m.stopped {
			return nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Append implements Engine.
func (m *Memory) Append(ctx context.Context, drafts ...Draft) ([]Position, error) {
	for i := range drafts {
		if err := CheckDraft(&drafts[i]); err != nil {
			return nil, err
		}
	}
	if err := m.running(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	at := make([]Position, len(drafts))
	var refused error
	for i, d := range drafts {
		log := m.log(d.Log)
		end := Position(0)
		if len(log) > 0 {
			end = log[len(log)-1].Position
		}
		if d.IfLast && d.Last != end {
			refused = fmt.Errorf("log %s ends at %d and not at %d: %w", d.Log, end, d.Last, ErrChanged)
			continue
		}
		m.last++
		at[i] = m.last
		m.logs[d.Log] = append(log, Record{d.Log, m.last, bytes.Clone(d.Data)})
		if IsBrief(d.Log) {
			m.ends[d.Log] = append(m.ends[d.Log], time.Now().Add(m.brief))
		}
	}
	m.tell()
	return at, refused
}

// Read implements Engine.
func (m *Memory) Read(ctx context.Context, from map[string]Position, do func(Record) error) error {
	if _, err := CheckRead(from); err != nil {
		return err
	}
	at := maps.Clone(from)
	for {
		if err := m.running(ctx); err != nil {
			return err
		}
		var news []Record
		for log, p := range at {
			all := m.log(log)
			i, _ := slices.BinarySearchFunc(all, p+1, func(r Record, p Position) int { return compare(r.Position, p) })
			news = append(news, all[i:]...)
		}
		changed := m.changed
		m.mu.Unlock()
		slices.SortFunc(news, func(a, b Record) int { return compare(a.Position, b.Position) })
		for _, r := range news {
			if err := ctx.Err(); err != nil {
				return err
			}
			at[r.Log] = r.Position
			r.Data = bytes.Clone(r.Data)
			if err := do(r); err != nil {
				return err
			}
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func compare(a, b Position) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// End implements Engine.
func (m *Memory) End(ctx context.Context, log string) (Record, error) {
	if err := CheckName(log); err != nil {
		return Record{}, err
	}
	if err := m.running(ctx); err != nil {
		return Record{}, err
	}
	defer m.mu.Unlock()
	all := m.log(log)
	if len(all) == 0 {
		return Record{Log: log}, nil
	}
	r := all[len(all)-1]
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// First implements Engine.
func (m *Memory) First(ctx context.Context, log string, from Position) (Record, error) {
	if err := CheckName(log); err != nil {
		return Record{}, err
	}
	if err := m.running(ctx); err != nil {
		return Record{}, err
	}
	defer m.mu.Unlock()
	all := m.log(log)
	i, _ := slices.BinarySearchFunc(all, from, func(r Record, p Position) int { return compare(r.Position, p) })
	if i == len(all) {
		return Record{Log: log}, nil
	}
	r := all[i]
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// Get implements Engine.
func (m *Memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckName(key); err != nil {
		return Entry{}, err
	}
	if err := m.running(ctx); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	e := m.keys[key]
	e.Key, e.Value = key, bytes.Clone(e.Value)
	return e, nil
}

// Put implements Engine.
func (m *Memory) Put(ctx context.Context, key string, value []byte, was Revision) (Revision, error) {
	if err := CheckValue(key, value); err != nil {
		return 0, err
	}
	if err := m.running(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if is := m.keys[key].Revision; is != was {
		return 0, fmt.Errorf("key %s has revision %d and not %d: %w", key, is, was, ErrChanged)
	}
	m.tell()
	if value == nil {
		delete(m.keys, key)
		return 0, nil
	}
	m.rev++
	m.keys[key] = Entry{key, append([]byte{}, value...), m.rev}
	return m.rev, nil
}

// List implements Engine.
func (m *Memory) List(ctx context.Context, prefix string) ([]Entry, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := m.running(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []Entry
	for key, e := range m.keys {
		if strings.HasPrefix(key, prefix) {
			e.Value = bytes.Clone(e.Value)
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Close implements Engine. What is kept stays, and others go on.
func (m *Memory) Close() error { return nil }

func nameError(name string) error { return fmt.Errorf("%.80q: %w", name, ErrName) }

func sizeError(name string, n int) error {
	return fmt.Errorf("%d bytes for %.80s, and at most %d: %w", n, name, MaxRecord, ErrSize)
}
