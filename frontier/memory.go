package frontier

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// NewMemory makes an exact frontier that lives and dies with the process, for
// simulation and tests. It keeps the byte slices of candidates as given: who
// adds them must not change them afterwards.
func NewMemory(opts Options) *Frontier {
	return newFrontier(opts, &memory{
		addressMarks: make(map[web.URL]memoryMark),
		blobs:        make(map[string][]byte),
	})
}

// memory is a backend of sorted slices.
type memory struct {
	addressMarks map[web.URL]memoryMark
	queues       queues[web.Candidate]
	blobs        map[string][]byte

	batch  [32]web.Candidate // that are being scored anew
	looked byte              // keeps the compiler from leaving reads out, see read
}

// memoryMark is the mark of an address. The priority of one that waits is that of its
// candidate: to score all that waits anew, no address is looked up.
type memoryMark struct {
	c    *web.Candidate // in a queue; nil unless it waits
	seq  uint64
	how  status
	host uint32 // of that queue
}

func (m *memory) mark(u web.URL) (mark, error) {
	s := m.addressMarks[u]
	if s.c == nil {
		return mark{how: s.how}, nil
	}
	return mark{key{s.c.Priority, s.seq}, s.how, s.host}, nil
}

func (m *memory) marks(of []web.Candidate, to []mark) ([]mark, error) {
	for i := range of {
		is, _ := m.mark(of[i].URL)
		to = append(to, is)
	}
	return to, nil
}

func (m *memory) setMark(u web.URL, is mark, h *host, _ bool) {
	s := memoryMark{how: is.how}
	if is.how == waiting {
		s.c, s.seq, s.host = m.queues.at(h.id, is.key), is.seq, h.id
	}
	m.addressMarks[u] = s
}

func (m *memory) addresses() int { return len(m.addressMarks) }

func (m *memory) put(h *host, k key, c *web.Candidate) {
	own := *c
	own.Priority = k.prio
	m.queues.put(h.id, k, &own)
}

func (m *memory) remove(h *host, k key) { m.queues.remove(h.id, k) }

func (m *memory) take(h *host, k key, u web.URL) {
	m.remove(h, k)
	m.addressMarks[u] = memoryMark{how: taken}
}

func (m *memory) erase(*host) {}

func (m *memory) rekey(h *host, from, to key, c *web.Candidate) {
	m.remove(h, from)
	m.put(h, to, c)
	m.setMark(c.URL, mark{to, waiting, h.id}, h, false)
}

func (m *memory) setHost(*host) {}

func (m *memory) setState(name string, value []byte) {
	if len(value) == 0 {
		delete(m.blobs, name)
		return
	}
	m.blobs[name] = append([]byte{}, value...)
}

// commit writes nothing: what a turn is to be written after is done at once.
func (m *memory) commit(c change) error {
	for name, value := range c.state {
		m.setState(name, value)
	}
	if c.first == nil {
		return nil
	}
	state, err := c.first()
	if err != nil {
		return &writeError{err, true}
	}
	for name, value := range state {
		m.setState(name, value)
	}
	return nil
}

func (m *memory) unwritten(int) (int, error) { return 0, nil }

func (m *memory) rescored(int) error { return nil }

func (m *memory) startReadAhead(uint32, key, int) {}

func (m *memory) prescore(int, func(*web.Candidate) float64) (join func()) { return func() {} }

func (m *memory) peek(h *host, i int) (key, error) { return m.queues.of[h.id][i].key, nil }

func (m *memory) worst(h *host, bound key) (key, bool, error) {
	k, ok := m.queues.worst(h.id, bound)
	return k, ok, nil
}

func (m *memory) load(h *host, k key) (web.Candidate, error) {
	return *m.queues.at(h.id, k), nil
}

func (m *memory) each(h *host, do func(k key, c *web.Candidate) error) error {
	for _, it := range m.queues.of[h.id] {
		c := *it.link
		if err := do(it.key, &c); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) rescore(h *host, from key, n int, score func(c *web.Candidate, prescored *float64) (float64, error)) (next key, looked int, err error) {
	q, i, j, next := m.queues.slice(h.id, from, n)
	for batch := range slices.Chunk(q[i:j], len(m.batch)) {
		m.read(batch)
		for x := range batch {
			it, c := &batch[x], &m.batch[x]
			p, err := score(c, nil)
			if err != nil {
				return key{}, 0, err
			}
			if revised(it.link, c) {
				*it.link = *c
			}
			it.prio, it.link.Priority = p, p
		}
	}
	m.queues.reorder(q, i, j)
	return next, j - i, nil
}

// read copies the candidates of at most len(m.batch) items to m.batch, and looks at
// what they carry. Nothing else is done meanwhile, so that the processor waits for many
// of them at a time: in a crawl of 200,000 pages they are spread over more memory than
// its caches hold, and waiting for one after another was why a page cost 1.3 times as
// much there as at page 10,000 with apprentice-tempered.
func (m *memory) read(items []item[web.Candidate]) {
	for x := range items {
		m.batch[x] = *items[x].link
	}
	for x := range items {
		for _, b := range [2][]byte{m.batch[x].Features, m.batch[x].Memory} {
			if len(b) > 0 {
				m.looked += b[0]
			}
		}
	}
}

func (m *memory) state(name string) ([]byte, error) {
	b, ok := m.blobs[name]
	if !ok {
		return nil, nil
	}
	return bytes.Clone(b), nil
}

func (m *memory) stateNames(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range sortedNames(m.blobs) {
			if strings.HasPrefix(name, prefix) && !yield(name, nil) {
				return
			}
		}
	}
}

func (m *memory) sync() error  { return nil }
func (m *memory) close() error { return nil }
