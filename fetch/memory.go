package fetch

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"

	"github.com/waggle-crawler/waggle/web"
)

// memory bounds the bytes of bodies that are in use at a time, and of what is
// made of them. All fetchers of a crawl share one. Requests for robots.txt are
// not counted.
//
// The life of a share: opened with a request → grows while the body comes in →
// kept until the response is released → closed.
//
//	                  counted
//	body as received  the buffer it is in
//	body as decoded   the buffer it is in, if it is not the one above
//	document          6 more for each byte of the decoded body
//	zstd              the window that the stream asks for, at most 8 MiB
//	brotli            the window for its first part, and 1 more for each byte of
//	                  the decoded body, with which the window grows
//
// Six is what the tree of a document takes while its page is made, at the most
// that was measured: 5.9 for 10 MB of nothing but text, 5.0 for a list of links.
//
// A share that would grow beyond the bound waits, while its time does not run,
// until others are closed. The oldest share never waits: so somebody always goes
// on, and the bound is exceeded by one document at most.
//
// What a large document leaves behind counts as well until the garbage
// collector has been there, which is called for when somebody waits for the
// place: else the heap would grow to a multiple of the bound before.
type memory struct {
	max     int64
	collect func()        // runs the garbage collector
	cycles  func() uint64 // times it has run
	litter  chan struct{} // holds one value while somebody who waits should collect

	mu      sync.Mutex
	used    int64    // by open shares
	left    int64    // by closed ones, not yet collected
	closing uint64   // cycles when the last of those was closed
	open    []*share // oldest first
	waiting []*claim // in the order of their shares
}

// largeShare is the size from which on what a share leaves behind counts. The
// garbage of usual pages comes and goes with the collector's own rhythm.
const largeShare = 4 << 20

// treeFactor is how many bytes a document takes for each of its body, beyond
// the body, while a page is made of it.
const treeFactor = 6

// share is what one request takes.
type share struct {
	of   *memory
	size int64
}

// claim is a share that waits to grow.
type claim struct {
	share   *share
	more    int64
	granted chan struct{}
}

func newMemory(max int64) *memory {
	return &memory{max: max, collect: runtime.GC, cycles: gcCycles, litter: make(chan struct{}, 1)}
}

// gcCycles is how often the garbage collector has run.
func gcCycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// share opens a share of no bytes.
func (m *memory) share() *share {
	s := &share{of: m}
	m.mu.Lock()
	m.open = append(m.open, s)
	m.mu.Unlock()
	return s
}

// grow adds n bytes to a share once there is room. Where it must wait it calls
// hold(true) before and hold(false) afterwards. The error is ctx's; the share is
// as it was then. A nil share counts nothing.
func (s *share) grow(ctx context.Context, n int, hold func(bool)) error {
	if s == nil || n <= 0 {
		return nil
	}
	m := s.of
	m.mu.Lock()
	if len(m.waiting) == 0 && m.fits(s, int64(n)) {
		s.take(int64(n))
		m.mu.Unlock()
		return nil
	}
	c := &claim{s, int64(n), make(chan struct{})}
	at, _ := slices.BinarySearchFunc(m.waiting, c, func(a, b *claim) int {
		return slices.Index(m.open, a.share) - slices.Index(m.open, b.share)
	})
	m.waiting = slices.Insert(m.waiting, at, c)
	m.serve()
	granted := !slices.Contains(m.waiting, c)
	m.mu.Unlock()
	if granted {
		return nil
	}
	hold(true)
	defer hold(false)
	web.AtStage(ctx, web.StageMemory)
	defer web.AtStage(ctx, web.StageRequest)
	for {
		select {
		case <-c.granted:
			return nil
		case <-m.litter:
			m.sweep()
		case <-ctx.Done():
			return c.withdraw(ctx)
		}
	}
}

// withdraw ends a claim that waits no longer.
func (c *claim) withdraw(ctx context.Context) error {
	m := c.share.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := slices.Index(m.waiting, c); at >= 0 {
		m.waiting = slices.Delete(m.waiting, at, at+1)
	} else {
		c.share.take(-c.more) // granted at the same moment
	}
	m.serve()
	return ctx.Err()
}

func (s *share) take(n int64) {
	s.size += n
	s.of.used += n
}

// fits tells whether a share may grow: there is room, or it is the oldest.
func (m *memory) fits(s *share, n int64) bool {
	return m.used+m.left+n <= m.max || m.open[0] == s
}

// serve lets those grow for whom there is room, the oldest first. Where there
// would be more room once the garbage is collected, one who waits is told.
func (m *memory) serve() {
	for len(m.waiting) > 0 {
		c := m.waiting[0]
		if !m.fits(c.share, c.more) {
			if m.left == 0 || m.used+c.more > m.max {
				return
			}
			if m.cycles() < m.closing+2 {
				select {
				case m.litter <- struct{}{}:
				default:
				}
				return
			}
			m.left = 0 // a collection that began after the last was closed has ended
			continue
		}
		c.share.take(c.more)
		close(c.granted)
		m.waiting = m.waiting[1:]
	}
}

// sweep collects the garbage of closed shares, and serves those who wait.
func (m *memory) sweep() {
	m.mu.Lock()
	gone := m.left
	m.mu.Unlock()
	if gone > 0 {
		m.collect()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = max(0, m.left-gone)
	m.serve()
}

// shrink takes n bytes from a share.
func (s *share) shrink(n int) {
	if s == nil || n <= 0 {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.take(-int64(n))
	s.of.serve()
}

// close ends a share.
func (s *share) close() {
	if s == nil {
		return
	}
	m := s.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.size >= largeShare {
		m.left += s.size
		m.closing = m.cycles()
	}
	s.take(-s.size)
	m.open = slices.DeleteFunc(m.open, func(o *share) bool { return o == s })
	m.serve()
}
