package frontier

import (
	"bytes"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waggle-crawler/waggle/web"
)

// readAhead holds the links that the next call of Rescore will ask for most likely, read and
// parsed in the background: that is most of the work of scoring anew what waits.
//
//	Rescore ends ─► the store as it is then is read from there on ─► the next Rescore takes from it
//
// What enters, leaves or moves meanwhile is noted and put in its place, so that Rescore does the
// same with a readAhead and without.
type readAhead struct {
	host    uint32 // it begins with the links of this host
	first   key    // and of them with the first that is not before this; zero = all
	changes map[uint32][]waitingLink
	n       int           // of changes
	done    chan struct{} // closed at the end; what follows is read by others after that
	links   []waitingLink // by host, best first
	atEnd   bool          // no link of the frontier is behind the last of them
}

// waitingLink is a link as the store has it.
type waitingLink struct {
	host uint32
	key
	value  []byte        // nil for one that left
	hash   uint64        // of its address; of links, and not of changes
	c      web.Candidate // its bytes are those of value; read of links, and not of changes
	score  float64       // as prescore has it, if scored
	scored bool
}

const (
	// readMore is how many links are read beyond those of a slice: where some left, the
	// slice ends later.
	readMore = 64
	// mostChanges is how many changes are noted before what was read is given up.
	mostChanges = 1 << 13
)

// startReadAhead begins to read n links from a place in the frontier on.
func (d *disk) startReadAhead(host uint32, from key, n int) {
	if k := d.kept; k != nil {
		k.began, k.host, k.first = true, host, from
		return
	}
	d.endReadAhead()
	lower := appendCandidateKey(nil, host, from)
	if from.seq == 0 {
		lower = lower[:hostKeySize]
	}
	a := &readAhead{host: host, first: from, changes: make(map[uint32][]waitingLink), done: make(chan struct{})}
	d.ahead = a
	var last *pendingCommit // what changes after this is noted, whether the iterator meets it or not
	if n := len(d.pending); n > 0 {
		last = d.pending[n-1]
	}
	go func() {
		defer close(a.done)
		if last != nil {
			select {
			case <-last.done:
			case <-d.halt.done:
			}
		}
		if d.halt.err() != nil {
			return // the next Rescore meets it, as what follows
		}
		it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: []byte{candidatePrefix + 1}})
		if err == nil {
			a.read(it, n)
		}
	}()
}

// endReadAhead waits for the reading that was begun last, and drops what it read.
func (d *disk) endReadAhead() {
	if d.ahead != nil {
		<-d.ahead.done
		d.ahead = nil
	}
}

// changed notes what the store will have at a key, nil for nothing.
func (d *disk) changed(h *host, k key, value []byte) {
	a := d.ahead
	if a == nil || h.id < a.host || a.isBehind(h.id) {
		return
	}
	if a.n++; a.n > mostChanges {
		d.endReadAhead()
		return
	}
	a.changes[h.id] = append(a.changes[h.id], waitingLink{host: h.id, key: k, value: bytes.Clone(value)})
}

// isBehind tells whether a host is behind all that was read, as far as that is known by now: what
// changes there is read from the store. In a large frontier that is where nearly all changes are.
func (a *readAhead) isBehind(host uint32) bool {
	select {
	case <-a.done:
		return !a.atEnd && (len(a.links) == 0 || host > a.links[len(a.links)-1].host)
	default:
		return false
	}
}

// read reads n links. What it fails to read, the next Rescore will.
func (a *readAhead) read(it *pebble.Iterator, n int) {
	a.links = make([]waitingLink, 0, n)
	var parser candidateParser
	ok := it.First()
	for ; ok && len(a.links) < n; ok = it.Next() {
		host, k, err := parseCandidateKey(it.Key())
		if err != nil {
			break
		}
		l := waitingLink{host: host, key: k, value: bytes.Clone(it.Value())}
		if l.c, err = parser.parse(l.value, k); err != nil {
			break
		}
		l.hash = hashOf(l.c.URL)
		a.links = append(a.links, l)
	}
	a.atEnd = !ok && it.Error() == nil
	if it.Close() != nil {
		a.atEnd = false
	}
}

// of returns the links of a host from a key on, of all when it is zero, as far as they were
// read; whole tells that the host has no more.
func (a *readAhead) of(host uint32, from key) (links []waitingLink, whole bool, err error) {
	if a == nil || host < a.host || host == a.host && a.first.seq != 0 && (from.seq == 0 || from.before(a.first)) {
		return nil, false, nil
	}
	<-a.done
	first := sort.Search(len(a.links), func(i int) bool {
		l := &a.links[i]
		return l.host > host || l.host == host && (from.seq == 0 || !l.before(from))
	})
	last := first + sort.Search(len(a.links)-first, func(i int) bool { return a.links[first+i].host > host })
	links, whole = a.links[first:last], last < len(a.links) || a.atEnd
	if changes := a.changes[host]; len(changes) > 0 {
		links, err = merged(links, changes, from, whole)
	}
	return links, whole, err
}

// prescore begins to score the first n links that were read, or are kept, on other cores. join takes its
// share of those that are left, and returns once all are scored.
func (d *disk) prescore(n int, score func(*web.Candidate) float64) (join func()) {
	if d.kept != nil {
		links := d.kept.ahead(n)
		return onAllCores(len(links), func(i, j int) {
			for _, l := range links[i:j] {
				l.score, l.scored = score(&l.c), true
			}
		})
	}
	a := d.ahead
	if a == nil {
		return func() {}
	}
	return onAllCores(n, func(i, j int) {
		<-a.done
		for j = min(j, len(a.links)); i < j; i++ {
			a.links[i].score, a.links[i].scored = score(&a.links[i].c), true
		}
	})
}

// onAllCores begins to call do for all parts i … j-1 of 0 … n-1 on other cores; join does as prescore's does.
func onAllCores(n int, do func(i, j int)) (join func()) {
	const some = 128 // that a core takes at a time
	var taken atomic.Int64
	work := func() {
		for {
			i := int(taken.Add(1)-1) * some
			if i >= n {
				return
			}
			do(i, min(i+some, n))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+some-1)/some) - 1 {
		others.Go(work)
	}
	return func() {
		work()
		others.Wait()
	}
}

// has returns a link, if it was read by now and none of its host has changed.
func (a *readAhead) has(host uint32, k key) (c web.Candidate, ok bool) {
	if a == nil || len(a.changes[host]) > 0 {
		return c, false
	}
	select {
	case <-a.done:
	default:
		return c, false
	}
	i := sort.Search(len(a.links), func(i int) bool {
		l := &a.links[i]
		return l.host > host || l.host == host && !l.before(k)
	})
	if i == len(a.links) || a.links[i].host != host || a.links[i].key != k {
		return c, false
	}
	return a.links[i].c, true
}

// merged are the links that were read of a host, the first of them not before from, with what changed
// since, in that order. Unless they are all of the host, they end where they did.
func merged(links, changes []waitingLink, from key, whole bool) ([]waitingLink, error) {
	now := make(map[key]*waitingLink, len(changes))
	for i := range changes {
		now[changes[i].key] = &changes[i]
	}
	out := make([]waitingLink, 0, len(links)+len(now))
	for _, l := range links {
		if now[l.key] == nil {
			out = append(out, l)
		}
	}
	for k, l := range now {
		if l.value == nil || from.seq != 0 && k.before(from) || !whole && (len(links) == 0 || !k.before(links[len(links)-1].key)) {
			continue
		}
		c, err := parseCandidate(l.value, k)
		if err != nil {
			return nil, err
		}
		out = append(out, waitingLink{host: l.host, key: k, value: l.value, hash: hashOf(c.URL), c: c})
	}
	slices.SortFunc(out, func(a, b waitingLink) int {
		if a.before(b.key) {
			return -1
		}
		return 1 // no two are equal
	})
	return out, nil
}
