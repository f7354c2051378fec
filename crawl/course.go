package crawl

import (
	"context"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Course is a crawl whose caller brings time and arrivals: a simulator. It
// goes through the same steps as Run, which does so with workers, a network
// and the machine's clock, and it starts no goroutine.
//
// A course is not taken up again, so its turns carry no state for that: a judge
// that learns would write down all it knows with every page.
//
// Its life: Begin, then in a loop Ended, Lease, and Arrive for whatever of the
// leased came first by Crawl.Clock, then End. Not for concurrent use.
type Course struct{ d *driver }

// Begin starts the crawl. Its Frontier is empty and in memory, its Fetcher may
// be nil, and Workers is the number of leases that may be out at a time.
func (c *Crawl) Begin(ctx context.Context) (*Course, error) {
	d := c.newDriver()
	d.step.noResume = true
	if err := d.start(ctx); err != nil {
		d.awaitWrites()
		d.step.forget()
		return nil, err
	}
	return &Course{d}, nil
}

// Ended counts the time that passed and tells whether the crawl is over, and
// how.
func (c *Course) Ended() (how event.Ending, over bool, err error) {
	now := c.d.Clock.Now()
	if how, over, err = c.d.ended(context.Background(), now); err != nil {
		return how, over, err
	}
	if over {
		return how, over, c.d.finishRenewal(context.Background())
	}
	return how, over, c.d.renew(context.Background(), now)
}

// Lease gives out what may be fetched now, best first: as many as there are
// idle workers, and no more than the budget has room for.
//
// A lease of the kind web.LinkProbe is a request that the frontier knows nothing
// of: it asks whether anybody answers.
func (c *Course) Lease(ctx context.Context) ([]web.Lease, error) {
	for {
		now := c.d.Clock.Now()
		out, err := c.d.lease(ctx, now)
		if err != nil || len(out) > 0 {
			return out, err
		}
		if again, err := c.d.idle(ctx, now); err != nil || !again {
			return nil, err
		}
		if _, over, err := c.Ended(); err != nil || over {
			return nil, err
		}
	}
}

// Arrive takes in what came of a lease.
func (c *Course) Arrive(ctx context.Context, a Arrival) error {
	c.d.inFlight--
	if err := c.d.arrive(ctx, a); err != nil {
		return err
	}
	return c.d.tell(0)
}

// Charge counts against the budget of pages what brought none.
func (c *Course) Charge(pages int) { c.d.step.Charge(pages) }

// NextDue is when Lease may give something without an Arrive before it; ok is
// false when there is no such moment, or the crawl is over by what Lease took in.
func (c *Course) NextDue() (at time.Time, ok bool) {
	now := c.d.Clock.Now()
	if _, over := c.d.over(now); over || c.d.inFlight >= c.d.Workers {
		return time.Time{}, false
	}
	return c.d.nextDue()
}

// End closes the crawl.
func (c *Course) End(how event.Ending) error {
	defer c.d.step.forget()
	c.d.endRenewal()
	return c.d.end(how)
}
