package frontier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// OpenOn is Open on another file system.
var OpenOn = open

// Small makes the store write tables of so many bytes, and runs of a few addresses.
func Small(o Options, bytes uint64) Options {
	o.buffer = bytes
	return ShortRuns(o, 24)
}

// FewHosts keeps so many hosts at hand.
func FewHosts(o Options, hosts int) Options {
	o.hot = hosts
	return o
}

// ShortRuns makes a run of every so many addresses.
func ShortRuns(o Options, addresses int) Options {
	o.recent = addresses
	return o
}

// RebuildOn is Rebuild on another file system.
func RebuildOn(ctx context.Context, fs vfs.FS, from, to string) (RebuildReport, []*DamageError, error) {
	r, err := examine(fs, from)
	if err != nil {
		return RebuildReport{}, nil, err
	}
	b, err := r.rebuild(ctx, fs, to, nil)
	return b, r.Damage(), errors.Join(err, r.Close())
}

// ExamineOn is Examine on another file system.
var ExamineOn = examine

// HashOf is by what an address is known.
var HashOf = hashOf

// CountStates counts the states of hosts that are read of the store from now on.
func CountStates(f *Frontier) *int {
	c := &countingStore{hostStore: f.cold.store}
	f.cold.store = c
	return &c.n
}

type countingStore struct {
	hostStore
	n int
}

func (c *countingStore) hostState(id uint32) (web.HostState, error) {
	c.n++
	return c.hostStore.hostState(id)
}

// Whole tells whether all of the ledger could be read.
func (r *Remains) Whole() bool { return r.ledgerWhole }

// Spread lists how many candidates wait in each bin of priorities.
func Spread(f *Frontier) string {
	var b strings.Builder
	for i, p := range f.spread.parts {
		if p == nil {
			continue
		}
		for j, n := range p {
			if n != 0 {
				fmt.Fprintf(&b, "%v: %d\n", lowerEnd(uint32(i)<<8|uint32(j)), n)
			}
		}
	}
	return b.String()
}

// Asleep says where what a site at hand knows of its cold hosts differs from those hosts.
func Asleep(f *Frontier) (wrong string) {
	for domain, s := range f.sites {
		n := 0
		for id := range f.cold.chain(f.cold.hash(domain)) {
			_, asleep := s.asleep[id]
			if asleep != (f.hosts[id] == nil && f.cold.host(id).counts().names) {
				wrong += fmt.Sprintf("host %d of %s: asleep %t\n", id, domain, asleep)
			}
			if asleep {
				n++
			}
		}
		if n != len(s.asleep) {
			wrong += fmt.Sprintf("%d hosts of %s are asleep, of its own %d\n", len(s.asleep), domain, n)
		}
	}
	return wrong
}

// Crowd sets the number of names beyond which a site is crowded.
func Crowd(f *Frontier, names int) { f.crowdLimit = names }

// Working tells whether something is written or removed in the background.
func Working(f *Frontier) bool { return f.backend.(*disk).job != nil }

// Evict forgets the links that are in memory although the store has them.
func Evict(f *Frontier) { f.backend.(*disk).recent = recentLinks{} }

// Halt has the store stand still, as an error of it in the background does.
func Halt(f *Frontier, err error) { f.backend.(*disk).halt.stop(err) }

// Forgetful makes a frontier one that was Repaired.
func Forgetful(f *Frontier) { f.backend.(*disk).meta.forgetful = true }

// AtHand is how many hosts are at hand.
func AtHand(f *Frontier) int { return len(f.cold.ring) }

// Kept bounds the links that are kept while they are scored anew, in bytes, and how many moves are listed.
func Kept(o Options, bytes, moves int) Options {
	o.kept, o.moves = bytes, moves
	return o
}

// Keeps tells whether a frontier keeps the links that wait, and how many moves are listed.
func Keeps(f *Frontier) (keeps bool, listed int) {
	d := f.backend.(*disk)
	return d.kept != nil, d.listed
}

// Listed is how many moves are listed in what remains.
func (r *Remains) Listed() int { return r.past.last.moves }

// SmallDisk is a file system of which so many bytes are free.
type SmallDisk struct {
	vfs.FS
	free atomic.Uint64 // the frontier asks for it while it writes in the background
}

// NewSmallDisk has so many bytes free.
func NewSmallDisk(fs vfs.FS, free uint64) *SmallDisk {
	s := &SmallDisk{FS: fs}
	s.Leave(free)
	return s
}

// Leave makes so many bytes free.
func (s *SmallDisk) Leave(free uint64) { s.free.Store(free) }

func (s *SmallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: s.free.Load()}, nil
}
