package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// What is done where the folder of a worker is lost for good.
//
// Somebody says so (Lose). It is a key of the engine, which all workers see. A page is lost where
// the last record of its shard that tells of it is by such a worker, and lies in its archive
// behind what that had shipped. So it is lost until another one has fetched it, whoever
// looks:
//
//	Lose ─► key lost ─► who holds a shard with lost pages gives it up
//	                ─► who takes it reads its log: lost pages are forgotten, others are done
//	                ─► its links are read again, and those pages are fetched by them
//
// A worker whose folder is lost is refused: it would have these pages too.

const keyLost = "lost" // the losses, in order

// Loss is a folder that is lost.
type Loss struct {
	Worker string `json:"worker"` // its identity
	Name   string `json:"name"`
	// Place is where its archive was shipped to, "" where it was not, and Number and End what of
	// it is there: the files before that, and so many bytes of that.
	Place  string `json:"place,omitempty"`
	Number int    `json:"number"`
	End    int64  `json:"end"`
	// Addresses of which what was fetched is lost, and how many of these are pages; the others
	// are redirects, errors and the like.
	Addresses int `json:"addresses"`
	Pages     int `json:"pages"`
	// Shards has a bit for each shard in which these are, from the lowest of the first byte on: at
	// most 8 KiB, so that many losses have room in a key of the engine.
	Shards []byte `json:"in_shards"`
}

// add notes a shard that has lost pages.
func (l *Loss) add(shard int) {
	for len(l.Shards) <= shard/8 {
		l.Shards = append(l.Shards, 0)
	}
	l.Shards[shard/8] |= 1 << (shard % 8)
}

// in tells whether a shard has lost pages.
func (l *Loss) in(shard int) bool {
	return shard/8 < len(l.Shards) && l.Shards[shard/8]>>(shard%8)&1 == 1
}

// has tells whether a record is of something lost.
func (l *Loss) has(d *doneRecord) bool {
	if d.worker != l.Worker || len(d.archive) == 0 {
		return false
	}
	number, end, err := store.MarkedFile(d.archive)
	return err == nil && (number > l.Number || number == l.Number && end > l.End)
}

// Losses are the folders of a crawl that are lost, in the order in which that was said.
func Losses(ctx context.Context, e engine.Engine) ([]Loss, error) {
	list, _, err := losses(ctx, e)
	return list, err
}

func losses(ctx context.Context, e engine.Engine) (list []Loss, rev engine.Revision, err error) {
	x, err := e.Get(ctx, keyLost)
	if err != nil || len(x.Value) == 0 {
		return nil, x.Revision, err
	}
	if err := json.Unmarshal(x.Value, &list); err != nil {
		return nil, 0, errUnread
	}
	return list, x.Revision, nil
}

// Lose says that the folder of a worker is lost for good, by its name or its identity. The
// worker must not run: where its session has not ended, Lose tells note so and waits until it is renewed, which is an
// error, or a term has passed. over tells that the crawl was over: it goes on once its workers
// do. Of a loss that is known already, that alone is no error: an earlier call may have been cut
// off halfway.
func Lose(ctx context.Context, e engine.Engine, name string, note func(string)) (l Loss, over bool, err error) {
	var plan Plan
	x, err := e.Get(ctx, keyCrawl)
	if err != nil {
		return l, false, err
	}
	if json.Unmarshal(x.Value, &plan) != nil || plan.Shards < 1 || plan.Shards > 1<<16 {
		return l, false, errUnread
	}
	before, rev, err := losses(ctx, e)
	if err != nil {
		return l, false, err
	}
	s, err := find(ctx, e, name, before)
	if err != nil {
		return l, false, err
	}
	live, err := shard.Holders(ctx, e)
	if err != nil {
		return l, false, err
	}
	if _, is := live[s.Session]; is {
		note(fmt.Sprintf("%s has a session: looks for up to %v whether it runs", name, plan.Term))
		if is, err := shard.Over(ctx, e, s.Session, plan.Term); err != nil {
			return l, false, err
		} else if !is {
			return l, false, fmt.Errorf("%s runs and has a session, which its folder is needed for: stop the worker first", name)
		}
	}
	l = Loss{Worker: s.Worker, Name: s.Name, Place: s.ShippedTo}
	known := slices.IndexFunc(before, func(b Loss) bool { return b.Worker == s.Worker })
	if known >= 0 {
		l.Place, l.Number, l.End = before[known].Place, before[known].Number, before[known].End
	} else if len(s.Shipped) > 0 {
		if l.Number, l.End, err = store.MarkedFile(s.Shipped); err != nil {
			return l, false, errUnread
		}
	}
	if err := l.count(ctx, e, plan.Shards); err != nil {
		return l, false, err
	}
	if known < 0 {
		if now, err := find(ctx, e, s.Worker, before); err != nil {
			return l, false, err
		} else if now.Session != s.Session {
			return l, false, fmt.Errorf("%s has come back meanwhile, and its folder with it: stop the worker first, if that is to be lost", name)
		}
		b, err := json.Marshal(append(before, l))
		if err != nil {
			return l, false, err
		}
		if _, err := e.Put(ctx, keyLost, b, rev); err != nil {
			return l, false, err
		}
	}
	if x, err = e.Get(ctx, keyOver); err == nil && len(x.Value) > 0 && l.Addresses > 0 {
		over = true
		_, err = e.Put(ctx, keyOver, nil, x.Revision)
	}
	if err == nil && known >= 0 && !over {
		err = fmt.Errorf("that the folder of %s is lost is known already", name)
	}
	return l, over, err
}

// putOver says that the crawl is over, unless a loss was said meanwhile. Lose looks for that key
// after it has said so: one of the two sees what the other did.
func (w *Worker) putOver(ctx context.Context, how string) error {
	rev, err := w.e.Put(ctx, keyOver, []byte(how), 0)
	if errors.Is(err, engine.ErrChanged) {
		return nil // another worker has said it
	}
	if err != nil {
		return err
	}
	list, err := Losses(ctx, w.e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	known := min(w.overLosses, len(list))
	w.mu.Unlock()
	if slices.ContainsFunc(list[known:], func(l Loss) bool { return l.Addresses > 0 }) {
		if _, err = w.e.Put(ctx, keyOver, nil, rev); errors.Is(err, engine.ErrChanged) {
			return nil // Lose has done so
		}
	}
	return err
}

// ErrNoWorker is wrapped by the error of Lose where no worker has the name.
var ErrNoWorker = errors.New("there is no worker")

// find is the worker of a name; one whose folder is lost only where there is no other.
func find(ctx context.Context, e engine.Engine, name string, lost []Loss) (s Status, err error) {
	workers, err := Workers(ctx, e)
	if err != nil {
		return s, err
	}
	var found, gone []Status
	var names []string
	for _, w := range workers {
		switch {
		case w.Name != name && w.Worker != name:
			names = append(names, w.Name)
		case slices.ContainsFunc(lost, func(l Loss) bool { return l.Worker == w.Worker }):
			gone = append(gone, w)
		default:
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		found = gone
	}
	switch len(found) {
	case 0:
		return s, fmt.Errorf("%w %s; there are %s", ErrNoWorker, name, strings.Join(names, ", "))
	case 1:
		return found[0], nil
	}
	var which []string
	for _, w := range found {
		which = append(which, fmt.Sprintf("%s (told last %s)", w.Worker, w.Told.Format("2006-01-02 15:04:05")))
	}
	return s, fmt.Errorf("there are %d workers called %s: name one by its identity, %s", len(found), name, strings.Join(which, " or "))
}

// count counts what is lost.
func (l *Loss) count(ctx context.Context, e engine.Engine, shards int) error {
	w := &Worker{o: Options{Note: func(string) {}}, e: e}
	for from := 0; from < shards; from += readTogether {
		group := make(map[int]engine.Position)
		for n := from; n < min(from+readTogether, shards); n++ {
			group[n] = 0
		}
		w.losses = []Loss{*l}
		read, err := w.readDone(ctx, group, false)
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(read)) {
			if lost := len(read[n].lost); lost > 0 {
				l.Addresses += lost
				for _, page := range read[n].lost {
					if page {
						l.Pages++
					}
				}
				l.add(n)
			}
		}
	}
	return nil
}

// learnLosses reads which folders are lost.
func (w *Worker) learnLosses(ctx context.Context) error {
	list, err := Losses(ctx, w.e)
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.Worker == w.self.Worker {
			return fmt.Errorf("the folder of this worker, %s, was said to be lost, and others fetch its pages again: join by a new folder, and keep this one or remove it", l.Name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(list) > len(w.losses) {
		w.losses = list
	}
	return nil
}

// stale tells whether a shard was read when fewer losses were known, of which some are of it.
// w.mu is held.
func (w *Worker) stale(n int, v view) bool {
	return slices.ContainsFunc(w.losses[min(v.Losses, len(w.losses)):], func(l Loss) bool { return l.in(n) })
}

// giveStale gives up the shards that have lost pages.
func (w *Worker) giveStale() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, h := range w.holds {
		if !h.giving && w.stale(n, h.view) && w.toGive(n) {
			w.wakeDriver()
			w.noteWaiting()
		}
	}
}

// gives tells whether a change gives a shard.
func (c change) gives(n int) bool { return c.takeover == nil && c.give == n }

// toGive has a shard be given, once, and tells whether that is new. A second change would wait for the shard to be
// held again. w.mu is held.
func (w *Worker) toGive(n int) bool {
	if slices.ContainsFunc(w.changes, func(c change) bool { return c.gives(n) }) {
		return false
	}
	w.changes = append(w.changes, change{give: n})
	return true
}

// forget notes which addresses of a record are lost, and which no longer are. It is called
// before add: a record is of a page where it counts one more of its host than the one before, or
// another number, as after a loss. Of its addresses, the first of that host is the page's.
func (t *takeover) forget(d *doneRecord, losses []Loss) {
	lost := slices.ContainsFunc(losses, func(l Loss) bool { return l.has(d) })
	for _, u := range d.done {
		if lost {
			t.lost[u] = false
		} else {
			delete(t.lost, u)
		}
	}
	if !lost {
		return
	}
	for _, h := range d.hosts {
		i := slices.IndexFunc(d.done, func(u web.URL) bool { return u.Host() == h.host })
		if i >= 0 && h.fetched != t.hosts[h.host].fetched {
			t.lost[d.done[i]] = true
		}
	}
}

// settle takes what is lost out of what is done.
func (t *takeover) settle() {
	if len(t.lost) == 0 {
		return
	}
	t.done = slices.DeleteFunc(t.done, func(u web.URL) bool {
		_, lost := t.lost[u]
		return lost
	})
	for u, page := range t.lost {
		if h, ok := t.hosts[u.Host()]; page && ok && h.fetched > 0 {
			h.fetched--
			t.hosts[u.Host()] = h
		}
	}
}

// Member is which worker of which crawl this is, after Open.
func (w *Worker) Member() crawl.Member {
	return crawl.Member{Crawl: w.self.Crawl, Worker: w.self.Worker, Name: w.self.Name, Session: w.self.Session}
}

// without is how many of the pages that a worker tells of were lost with its folder: they do not
// count against the budget.
func without(s Status, losses []Loss) int {
	for _, l := range losses {
		if l.Worker == s.Worker {
			return min(l.Pages, s.Standing.Pages)
		}
	}
	return 0
}
