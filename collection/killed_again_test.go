package collection

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/collection/collectiontest"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// fickle is a scorer that changes its mind about every link with every few pages.
type fickle struct {
	visits uint64
	stale  bool
	heavy  int // bytes of its state, which it tells at its 20th visit; 0 = few, at each
}

func (s *fickle) Extract(p *web.Page, _ web.Verdict) [][]byte { return make([][]byte, len(p.Links)) }

func (s *fickle) Visit(*web.Candidate, *web.Page, web.Verdict) []byte {
	s.visits++
	s.stale = s.visits%13 == 0
	return nil
}

func (s *fickle) Score(c *web.Candidate) float64 {
	return float64(xxh3.HashStringSeed(c.URL.String(), s.visits/2) % 1000)
}

func (s *fickle) Stale() (is bool) {
	is, s.stale = s.stale, false
	return is
}

func (s *fickle) Rescores() bool { return true }

func (s *fickle) State() ([]byte, bool) {
	b := binary.AppendUvarint(nil, s.visits)
	if s.heavy > 0 && s.visits != 20 {
		return nil, false
	}
	for r := rand.New(rand.NewPCG(s.visits, 1)); len(b) < s.heavy; {
		b = append(b, byte(r.Uint32()))
	}
	return b, true
}

func (s *fickle) Restore(b []byte) error {
	s.visits, _ = binary.Uvarint(b)
	return nil
}

func (s snapFrontier) Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	l, err := s.Frontier.Lease(ctx, now, n, among, rescore)
	s.snap()
	return l, err
}

func (s snapFrontier) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) ([]byte, error) {
	next, err := s.Frontier.Rescore(ctx, from, n, score)
	s.snap()
	return next, err
}

// TestKilledAgain kills a crawl whose links are scored anew again and again: at a
// write of the frontier, or between two steps of a turn. Now and then a file is damaged
// after that; then what the messages say is done. What a kill leaves is whole, and
// nothing that was acknowledged is asked for again. WAGGLE_DAMAGES sets how many
// crawls (default 1), of which more begin with the same, and WAGGLE_SEED where chance
// begins.
func TestKilledAgain(t *testing.T) {
	t.Parallel()
	crawls, seed := long.Count(t, "WAGGLE_DAMAGES", 1, 1), long.Seed(t, 1)
	for range crawls {
		k := &killedAgain{
			T: t, rng: rand.New(rand.NewPCG(seed, 17)), dir: filepath.Join(t.TempDir(), "c"),
			m: &meadow{n: 150, clock: newLeapClock(), asked: map[string]int{}, acked: map[string]bool{}},
		}
		k.story = append(k.story, fmt.Sprintf("seed %d", seed))
		for range long.Of(3, 20) {
			if !k.round() {
				break
			}
		}
		seed++
	}
}

// killedAgain is a crawl that is killed again and again.
type killedAgain struct {
	*testing.T
	rng     *rand.Rand
	m       *meadow
	dir     string
	story   []string
	damaged string // a file; "" = none
	was     []byte // what it held
}

// round runs the crawl until it is killed, refused or over; false says over, or that
// nothing more is to be learnt.
func (k *killedAgain) round() (more bool) {
	k.Helper()
	killed, err := k.run()
	switch {
	case err != nil && k.damaged == "":
		k.Errorf("%q: refused without damage: %v", k.story, err)
		return false
	case err != nil:
		k.refused(err)
		return true
	case len(k.m.again) > 0:
		k.Errorf("%q: asked for again: %q", k.story, k.m.again)
		return false
	case killed == "":
		return false
	}
	k.dir = killed
	v, err := At(k.dir).Verify(k.Context(), nil)
	if err != nil {
		k.Fatal(err)
	}
	switch {
	case v.Whole:
	case k.damaged == "":
		k.Errorf("%q: killed without damage: %v", k.story, v.Damage)
		return false
	default:
		k.mend(isOfSetup(v.Damage))
	}
	k.acknowledge()
	if k.rng.IntN(2) == 0 {
		k.damage()
	}
	return true
}

// run runs the crawl, and returns a copy of its folder as it was at a moment by
// chance; "" if it ended before.
func (k *killedAgain) run() (killed string, err error) {
	k.m.stop = nil
	k.m.clock.advance(time.Minute)
	at := int64(1 + k.rng.IntN(1500))
	if k.rng.IntN(3) == 0 {
		at = int64(1 + k.rng.IntN(120))
	}
	// The store writes from goroutines of its own. Whoever writes waits while a copy is
	// made: otherwise files copied late would tell of more than those copied early.
	var (
		mu  sync.Mutex
		ops int64
	)
	step := func(counts bool) {
		mu.Lock()
		defer mu.Unlock()
		if counts {
			ops++
		}
		if !counts || ops != at {
			return
		}
		killed = copyOf(k.T, k.dir)
		if k.m.stop != nil {
			k.m.stop()
		}
	}
	var o StoreOptions
	o.Frontier.FS = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			// What the witness does not speak of yet was acknowledged to nobody.
			step(filepath.Base(op.Path) != "witness")
		}
		return nil
	}))
	dies := func() { step(true) }
	_, err = k.m.crawl(k.T, k.dir, o, 0, func(c *crawl.Crawl) {
		c.Clock, c.Scorer, c.Workers = k.m.clock, &fickle{}, 4
		c.Frontier, c.Archive, c.Log = snapFrontier{c.Frontier, dies}, snapArchive{c.Archive, dies}, snapLog{c.Log, dies}
	})
	k.story = append(k.story, fmt.Sprintf("killed at operation %d", at))
	return killed, err
}

// damage damages a file: of the frontier, or any.
func (k *killedAgain) damage() {
	target := At(k.dir).FrontierDir()
	if k.rng.IntN(3) == 0 {
		target = k.dir
	}
	name, how, was, err := collectiontest.Damage(target, k.rng)
	if errors.Is(err, collectiontest.ErrEmpty) {
		return // it had hardly begun
	}
	if err != nil {
		k.Fatal(err)
	}
	k.damaged, k.was = name, was
	k.story = append(k.story, name[len(k.dir):]+": "+how)
}

// refused does what a crawl that does not go on says.
func (k *killedAgain) refused(err error) {
	var broken *OpenError
	k.mend(!(errors.As(err, &broken) && broken.Damaged || isFrontierDamage(err)))
	k.acknowledge()
}

// isOfSetup tells damage that no repair mends.
func isOfSetup(list []Damage) bool {
	return slices.ContainsFunc(list, func(d Damage) bool { return d.Remedy != remedyRepair && d.Remedy != remedyAgain })
}

// mend puts the damaged file back, or has the crawl repaired.
func (k *killedAgain) mend(putBack bool) {
	what := "repaired"
	if putBack {
		what = "put back"
		if err := os.WriteFile(k.damaged, k.was, 0o644); err != nil {
			k.Fatal(err)
		}
	} else {
		repaired(k.T, k.dir)
	}
	k.story, k.damaged = append(k.story, what), ""
}

// acknowledge notes what the crawl is owed.
func (k *killedAgain) acknowledge() {
	for u := range acknowledged(k.T, k.dir) {
		k.m.acked[u] = true
	}
}
