package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/event"
)

// ErrUnknown is the error of Open with a folder of which the engine does not have the crawl.
var ErrUnknown = errors.New("this engine does not know the crawl of this folder: join by the engine by which it was begun, or, where that is lost, merge the folders of its workers (waggle cluster merge)")

var errUnread = errors.New("what the engine says of the crawl cannot be read: it is of another program, or of another version")

// RefusedError says why this worker cannot join the crawl, and what helps. Nothing was done.
type RefusedError struct{ why string }

func (e *RefusedError) Error() string { return e.why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// plain is the value of a setting for people: a list without its signs, and the beginning of a long one.
func plain(value string) string {
	var list []string
	if json.Unmarshal([]byte(value), &list) == nil {
		value = strings.Join(list, ", ")
	}
	if r := []rune(value); len(r) > longest {
		value = string(r[:longest]) + "…"
	}
	return cmp.Or(event.Line(value), "nothing")
}

// longest is how many characters of a setting are told.
const longest = 60

// seeAgain is how long a key is waited for that somebody else has put.
const seeAgain = 20 * time.Millisecond

// agree keeps the plan, or takes over that of the crawl.
func (w *Worker) agree(ctx context.Context) error {
	mine := w.o.Plan
	mine.Shards, mine.Term = cmp.Or(mine.Shards, DefaultShards), cmp.Or(mine.Term, shard.Term)
	mine.ID, mine.Format = cmp.Or(w.self.Crawl, rand.Text()), format
	if mine.Shards < 1 || mine.Shards > 1<<16 {
		return refused("%d shards: give 1 to %d", mine.Shards, 1<<16)
	}
	b, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	x, err := w.e.Get(ctx, keyCrawl)
	if err != nil {
		return err
	}
	if x.Revision == 0 {
		if w.self.Crawl != "" {
			return ErrUnknown
		}
		if _, err := w.e.Put(ctx, keyCrawl, b, 0); err == nil {
			w.plan = mine
			return nil
		} else if !errors.Is(err, engine.ErrChanged) {
			return err
		}
		for x.Revision == 0 { // what Get tells may be behind
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(seeAgain):
			}
			if x, err = w.e.Get(ctx, keyCrawl); err != nil {
				return err
			}
		}
	}
	if w.plan, err = readPlan(x.Value); err != nil {
		return err
	}
	if w.self.Crawl != "" && w.self.Crawl != w.plan.ID {
		return refused("the crawl in this folder is another than the one of this name on the engine: join that by a new folder, or this one's own engine")
	}
	return w.suits(ctx, &w.plan, mine.Settings, true, w.self.Crawl != "")
}

// Agree refuses to join a crawl of which the engine tells another job, before anything is done for it: settings are
// those that are known so far, and goesOn tells that the folder is one of the crawl. Open looks at all of them.
func (w *Worker) Agree(ctx context.Context, settings map[string]string, goesOn bool) error {
	late := time.AfterFunc(LateAfter, func() { w.o.Note("waits to join: the engine does not tell of the crawl") })
	defer late.Stop()
	x, err := w.e.Get(ctx, keyCrawl)
	if err != nil || x.Revision == 0 {
		return err
	}
	plan, err := readPlan(x.Value)
	if err != nil {
		return err
	}
	return w.suits(ctx, &plan, settings, false, goesOn)
}

func readPlan(b []byte) (p Plan, err error) {
	if err := json.Unmarshal(b, &p); err != nil || p.Shards < 1 || p.Shards > 1<<16 || p.Term <= 0 {
		return p, errUnread
	}
	if f := cmp.Or(p.Format, 1); f != format {
		return p, refused("this crawl was begun by another version of waggle, whose messages have format %d, where this one has %d: go on with the version by which it was begun; to change it, stop all workers, merge their folders (waggle cluster merge), and go on with what comes of it alone", f, format)
	}
	return p, nil
}

// suits refuses a plan other than what this worker was asked for, and has as settings; these are all, or some of
// them. Those that acts have changed since are not looked at where the worker goes on.
func (w *Worker) suits(ctx context.Context, plan *Plan, settings map[string]string, all, goesOn bool) error {
	if n := w.o.Plan.Shards; n != 0 && n != plan.Shards {
		return refused("the crawl has %d shards, and %d were asked for: leave --shards out, or give it as it is there", plan.Shards, n)
	}
	if d := w.o.Plan.Term; d != 0 && d != plan.Term {
		return refused("the term of the crawl is %v, and %v was asked for: leave --term out, or give it as it is there", plan.Term, d)
	}
	var differ []string
	steered, err := w.e.End(ctx, logActs)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(settings)) {
		if goesOn && steered.Position > 0 && ofActs(path) {
			continue
		}
		if theirs := plan.Settings[path]; theirs != settings[path] {
			differ = append(differ, fmt.Sprintf("%s is %s there and %s here", path, plain(theirs), plain(settings[path])))
		}
	}
	for path := range plan.Settings {
		if _, ok := settings[path]; !ok && all {
			differ = append(differ, fmt.Sprintf("%s is set there and not here", path))
		}
	}
	if len(differ) > 0 {
		return refused("another crawl of this name runs on the engine: %s; give this one another name, or the same job", strings.Join(differ, "; "))
	}
	return nil
}

// first waits until the engine answers, and until there are enough workers. Of a crawl that is over there may never be.
func (w *Worker) first(ctx context.Context) (map[int]bool, error) {
	taken := make(map[int]bool)
	told := false
	for {
		c, err := w.member.Tick(w.ctx)
		for _, n := range c.Taken {
			taken[n] = true
		}
		for _, n := range c.Give { // nothing of them is here yet
			delete(taken, n)
			err = errors.Join(err, w.member.Free(w.ctx, n))
		}
		if err == nil {
			if w.member.Enough() {
				w.enough.Store(true)
				w.await(0)
				return taken, nil
			}
			w.await(w.o.Least)
			var over engine.Entry
			if over, err = w.e.Get(w.ctx, keyOver); err == nil && over.Revision != 0 {
				w.member.Suffice()
				continue
			}
			err = errors.Join(err, w.publish(w.ctx))
			if !told {
				told = true
				live := 0
				for _, s := range w.member.Sessions() {
					if !s.Ended {
						live++
					}
				}
				w.o.Note(fmt.Sprintf("waits for %d workers; there so far: %d", w.o.Least, live))
			}
		}
		if errors.As(err, new(*shard.EndedError)) {
			return nil, fmt.Errorf("%w: %w", ErrOver, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.ctx.Done():
			return nil, context.Cause(w.ctx)
		case <-time.After(w.plan.Term / 15):
		}
	}
}

// await notes in the status how many workers this one waits for.
func (w *Worker) await(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Awaits = n
}

// HadEnough tells whether there have been as many workers as Options.Least: a session that follows need not wait for them.
func (w *Worker) HadEnough() bool { return w.enough.Load() }
