// Package crawl joins the stages of a crawl. step.go decides, run.go runs,
// state.go holds what is stored for a later run.
package crawl

import (
	"context"
	"iter"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Frontier holds the links that wait. One goroutine calls its methods; they
// are batched, so that an implementation may live in another process. It
// promises no order beyond "best ready link first, approximately".
type Frontier interface {
	// Preview tells what Commit would do with found links, in their order, if
	// the turn forgot those addresses first. It changes nothing.
	Preview(ctx context.Context, forget []web.URL, found []web.Candidate) ([]web.Admission, error)
	// Commit applies a turn whole or not at all. One with a First may be written after it
	// has returned; an error of that is returned by a later call.
	Commit(ctx context.Context, turn web.Turn) (web.Receipt, error)
	// Unwritten waits until at most so many turns with a First are not written, and returns
	// how many are not. After an error none is being written.
	Unwritten(most int) (int, error)
	// Lease takes out at most n candidates, each the best of a different
	// host, among the hosts that are due at now and not busy, best first.
	// With a rescore it asks again for the priority of a candidate before
	// giving it out, and puts it back where it sank below the next best. With
	// among > 0 it takes only what is among the best so many of all that wait.
	Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error)
	// NextDue is the earliest moment at which Lease may give a candidate that
	// it does not give now; ok is false when there is none without a Turn.
	NextDue() (at time.Time, ok bool)
	// Rescore sets priorities anew, of about n waiting candidates from a place
	// in the frontier on, and returns the place where to go on: nil is the
	// beginning as well as the end. Turns and leases may lie between two calls;
	// a candidate that waited all the while is scored at least once. score may
	// also change what else a candidate carries, but for its address.
	Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) (next []byte, err error)
	// State returns what a Turn stored under name, nil if nothing was.
	State(ctx context.Context, name string) ([]byte, error)
	// StateNames are the names that begin with prefix under which something is stored. Nothing else
	// is asked of the frontier while they are ranged over.
	StateNames(ctx context.Context, prefix string) iter.Seq2[string, error]
	Stats(now time.Time) web.FrontierStats
	// Share tells for how many fetches at a time leases are asked for, and the
	// least pause between two requests to a host: by that a frontier can keep slow
	// hosts, and the many names of a site, to their share.
	Share(workers int, delay time.Duration)
	// Revise shows the state of every host, and keeps what revise changes of it.
	Revise(ctx context.Context, revise func(h *web.HostState)) error
	// Sync makes sure that what was committed survives a power failure.
	Sync() error
	Close() error
}

// Fetcher brings what an address holds. It follows no redirect. It is safe for
// concurrent use; the error is a *web.Failure, or ctx's.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// Sites knows what sites say of the use of all their pages, and asks them for it.
type Sites interface {
	// Complete sets Site and SiteFile of the response for a page. It may take as long as
	// politeness asks for. It is safe for concurrent use; the error is ctx's.
	Complete(ctx context.Context, r *web.Response) error
}

// Judge says how relevant a page is. It is pure and safe for concurrent use.
type Judge interface {
	Judge(ctx context.Context, p *web.Page) (web.Verdict, error)
}

// Scorer turns links into priorities.
type Scorer interface {
	// Extract reads from a judged page what scoring each of its links needs:
	// one entry for each of p.Links. It is pure and safe for concurrent use.
	Extract(p *web.Page, v web.Verdict) [][]byte
	// Visit tells the outcome of fetching c and returns the memory that the
	// links found there will carry. It is called in the step, in order.
	// p is nil when the fetch brought no page.
	Visit(c *web.Candidate, p *web.Page, v web.Verdict) (memory []byte)
	// Score is the priority of c under the present model, from its Features,
	// Memory, Depth and URL alone: higher is sooner. Numbers beyond ±1e8 are brought
	// below the priorities of seeds and boosted links; those far closer to each
	// other than they are large may become equal.
	Score(c *web.Candidate) float64
	// Stale reports, once, that every waiting candidate should be scored
	// anew. That is done in slices, one after each arrival, while candidates
	// whose turn comes are scored anew at once where Rescores is true.
	Stale() bool
	// Rescores tells whether Score can change while a candidate waits.
	Rescores() bool
	// State and Restore carry the model over a restart. State returns what has
	// been added to the state since it was last asked, nil for nothing; anew says
	// that this is the whole state, in place of all that was returned before. A
	// scorer of little state returns it whole, with anew, whenever it changed.
	// Restore is given the state in one piece.
	State() (state []byte, anew bool)
	Restore(state []byte) error
}

// Archive keeps what was fetched.
type Archive interface {
	// Encode renders an exchange as the bytes that will be kept. It is pure
	// and safe for concurrent use.
	Encode(x web.Exchange) ([]byte, error)
	// Append writes records and returns the mark of the archive's end, with
	// which a later run opens it: what lies behind the mark is cut off then.
	Append(records ...[]byte) (mark []byte, err error)
	// Sync makes sure that what was appended survives a power failure.
	Sync() error
	Close() error
}
