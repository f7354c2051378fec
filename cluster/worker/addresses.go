package worker

import (
	"cmp"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
)

// addresses are those of servers that carry sites of several shards, so that several workers
// ask there. Each tells where it asked lately, and waits at an address as many times longer as
// there are others that told of it: together they ask there about once in a delay. They know it
// late, by about a fifteenth of a term, and several may ask at a time. The zero addresses is ready.
//
// An address is told as the lower half of its hash. Two that have the same are
// taken for one, which is asked less often than it might be.
type addresses struct {
	mu     sync.Mutex
	asked  map[uint32]time.Time // by this worker, last
	others map[uint32]int       // how many of the others ask there
}

const (
	// addressFor is for how long a worker counts as one that asks at an address.
	addressFor = time.Minute
	// addressesTold is of how many a worker tells, the last ones: 4 bytes each.
	addressesTold = 512
)

// Sharers tells how many other workers ask at an address, too, and notes that this one does. It
// is safe for concurrent use.
func (w *Worker) Sharers(addr netip.Addr) int {
	return w.addresses.ask(addr, w.o.Clock.Now())
}

func (a *addresses) ask(addr netip.Addr, now time.Time) int {
	h := uint32(xxh3.Hash(addr.AsSlice()))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked = make(map[uint32]time.Time)
	}
	a.asked[h] = now
	return a.others[h]
}

// tell returns where this worker asked lately, and forgets where it did before.
func (a *addresses) tell(now time.Time) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.asked, func(_ uint32, at time.Time) bool { return now.Sub(at) > addressFor })
	list := slices.SortedFunc(maps.Keys(a.asked), func(x, y uint32) int {
		return cmp.Or(a.asked[y].Compare(a.asked[x]), cmp.Compare(x, y))
	})
	var b []byte
	for _, h := range list[:min(len(list), addressesTold)] {
		b = binary.LittleEndian.AppendUint32(b, h)
	}
	return b
}

// learn takes in what each of the others told last, instead of what they told before.
func (a *addresses) learn(told [][]byte) {
	others := make(map[uint32]int)
	for _, b := range told {
		own := make(map[uint32]bool) // one worker counts once, whatever it tells
		for ; len(b) >= 4 && len(own) < addressesTold; b = b[4:] {
			if h := binary.LittleEndian.Uint32(b); !own[h] {
				own[h] = true
				others[h]++
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.others = others
}
