package fetch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// MinDelay is the least time between two requests to a host that is somebody
// else's, whatever Options.Delay says.
const MinDelay = time.Second

// route tells where a request for u goes and what the server there is owed. The
// error is a *web.Failure for an address to which no request may be sent, or
// ctx's.
//
//	                         delay              contact
//	a recorded web           Options.Delay      –
//	a private address        Options.Delay      –
//	a host of one's own      Options.Delay      needed
//	everybody else           at least MinDelay  needed
func (w *wire) route(ctx context.Context, u web.URL) (Route, error) {
	o, delay := &w.options, time.Duration(w.delay.Load())
	if f := checkPort(u); f != nil {
		return Route{}, f
	}
	if o.Recorded {
		return Route{Delay: delay}, nil
	}
	name := u.Host().Name()
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	literal := err == nil
	var addrs []netip.Addr // nil = the proxy finds out
	switch {
	case literal:
		addrs = []netip.Addr{addr}
	case w.blind():
		if err := w.guardName(ctx, u, name); err != nil {
			return Route{}, err
		}
	default:
		if addrs, err = w.resolve(ctx, name); err != nil {
			return Route{}, failure(ctx, u, fmt.Errorf("%w: %w", errNoConnection, err))
		}
	}
	public := addrs == nil
	var refused error
	admitted := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		why := guard(a)
		switch {
		case why != nil && (!o.AllowPrivate || guardClosed(a) != nil):
			refused = failure(ctx, u, why)
		case why == nil && o.anonymous():
			refused = noContact(u, a)
		default:
			public = public || why == nil
			admitted = append(admitted, a)
		}
	}
	if addrs == nil && o.anonymous() {
		refused = noContact(u, netip.Addr{})
	}
	if refused != nil && len(admitted) == 0 {
		return Route{}, refused
	}
	r := Route{Addrs: admitted, Delay: delay}
	if public && !o.owns(name) {
		r.Delay = max(delay, MinDelay)
	}
	if w.blind() {
		r.Addrs = nil // the connection is to the proxy
	}
	return r, nil
}

// anonymous tells whether requests do not say who sends them.
func (o *Options) anonymous() bool { return o.Contact == "" && o.ownAgent == "" }

func noContact(u web.URL, at netip.Addr) *web.Failure {
	where := "may be on the public web"
	if at.IsValid() {
		where = fmt.Sprintf("is on the public web (%s)", at)
	}
	return &web.Failure{Reason: web.ReasonContact, Address: at, Detail: fmt.Sprintf(
		"%s: %s %s, whose owners need a way to reach you: give a contact (contact in the job file, or --contact)", u, u.Host().Name(), where)}
}

// owns tells whether a host is among Options.OwnHosts, or below one of them.
func (o *Options) owns(name string) bool {
	return slices.ContainsFunc(o.OwnHosts, func(own string) bool {
		return name == own || strings.HasSuffix(name, "."+own)
	})
}

// target is the address to which a request goes that passed the gate.
type target struct {
	addr  netip.Addr
	share int // one of so many addresses that are still to be tried
}

type targetKey struct{}

func withTarget(ctx context.Context, t target) context.Context {
	return context.WithValue(ctx, targetKey{}, t)
}

func targetOf(ctx context.Context) (t target, ok bool) {
	t, ok = ctx.Value(targetKey{}).(target)
	return t, ok
}
