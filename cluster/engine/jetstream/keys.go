package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// keyView holds the keys of the crawl, and the server tells it of each change. A worker looks at
// all shards every second: to ask for them each time took more messages than its pages did.
type keyView struct {
	stop       context.CancelFunc
	reconnects uint64 // of the connection, when it was begun

	mu      sync.Mutex
	entries map[string]engine.Entry
	removed map[string]uint64 // keys without a value, which the server knows as one of that number
	last    uint64            // it holds all changes up to this number of the stream
	over    bool              // no more changes come
	changed chan struct{}     // closed at the next change
}

// watchKeys begins a view. It lives on behind ctx.
func (e *Engine) watchKeys(ctx context.Context) (*keyView, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	v := &keyView{stop: stop, reconnects: e.conn.Stats().Reconnects, entries: make(map[string]engine.Entry), removed: make(map[string]uint64), changed: make(chan struct{})}
	inTime := context.AfterFunc(ctx, stop)
	w, err := e.kv.WatchAll(life)
	if !inTime() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		stop()
		return nil, err
	}
	go func() {
		defer v.end()
		for {
			select {
			case <-life.Done():
				go func() { // what comes until it has stopped would keep its sender
					for range w.Updates() {
					}
				}()
				return
			case x, ok := <-w.Updates():
				if !ok {
					return
				}
				if x != nil { // nil ends what was there at first
					v.take(x)
				}
			}
		}
	}()
	return v, nil
}

// take takes in a change.
func (v *keyView) take(x jetstream.KeyValueEntry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if x.Operation() == jetstream.KeyValuePut {
		v.entries[x.Key()] = engine.Entry{Key: x.Key(), Value: x.Value(), Revision: engine.Revision(x.Revision())}
		delete(v.removed, x.Key())
	} else {
		delete(v.entries, x.Key())
		v.removed[x.Key()] = x.Revision()
	}
	v.last = x.Revision()
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *keyView) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	close(v.changed)
	v.changed = make(chan struct{})
}

// upTo waits until the view holds all changes up to a number.
func (v *keyView) upTo(ctx context.Context, last uint64) error {
	for {
		v.mu.Lock()
		there, over, changed := v.last >= last, v.over, v.changed
		v.mu.Unlock()
		switch {
		case there:
			return nil
		case over:
			return nats.ErrDisconnected
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// list are the keys that begin with prefix, in their order.
func (v *keyView) list(prefix string) (out []engine.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, x := range v.entries {
		if strings.HasPrefix(x.Key, prefix) {
			x.Value = slices.Clone(x.Value)
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b engine.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// List implements engine.Engine: it asks the server for the number of the last change, and
// waits until that has come.
func (e *Engine) List(ctx context.Context, prefix string) (out []engine.Entry, err error) {
	if err := engine.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	err = e.again(ctx, func(ctx context.Context) error {
		select {
		case e.viewing <- struct{}{}:
			defer func() { <-e.viewing }()
		case <-ctx.Done():
			return ctx.Err()
		}
		v, err := e.currentKeys(ctx)
		if err == nil {
			out = v.list(prefix)
		}
		return err
	})
	return out, err
}

// currentKeys is a view that holds all changes before the call. One that may be of another life of the
// server is not used: a server that lost its last changes gives their numbers again.
func (e *Engine) currentKeys(ctx context.Context) (*keyView, error) {
	held := uint64(0)
	if v := e.view; v != nil {
		v.mu.Lock()
		held = v.last
		v.mu.Unlock()
	}
	stream, err := e.js.Stream(ctx, keyStream(e.crawl))
	if err != nil {
		return nil, err
	}
	last := stream.CachedInfo().State.LastSeq
	if v := e.view; v != nil && (last < held || v.reconnects != e.conn.Stats().Reconnects) {
		e.dropKeys()
	}
	if e.view == nil {
		if e.view, err = e.watchKeys(ctx); err != nil {
			e.view = nil
			return nil, err
		}
	}
	if err := e.view.upTo(ctx, last); err != nil {
		e.dropKeys()
		return nil, err
	}
	return e.view, nil
}

// Put implements engine.Engine.
func (e *Engine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	if err := engine.CheckValue(key, value); err != nil {
		return 0, err
	}
	put := func(was uint64) (is engine.Revision, err error) {
		m := message(keyStream(e.crawl), e.subjects+key, value)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(was))
		if value == nil {
			m.Header.Set("KV-Operation", "DEL")
		}
		err = e.publish(ctx, []publication{m}, func(_ int, sequence uint64) { is = engine.Revision(sequence) })
		if value == nil {
			is = 0
		}
		return is, err
	}
	if was == 0 {
		if removed := e.removedAt(key); removed > 0 {
			if is, err := put(removed); !errors.Is(err, engine.ErrChanged) {
				return is, err
			}
		}
	}
	is, err := put(uint64(was))
	if was != 0 || !errors.Is(err, engine.ErrChanged) {
		return is, err
	}
	// The key may have been removed: the server knows that as a value of its own.
	removed := uint64(0)
	err2 := e.again(ctx, func(ctx context.Context) error {
		_, err := e.kv.Get(ctx, key)
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
		history, err := e.kv.History(ctx, key)
		if err == nil && len(history) > 0 && history[0].Operation() != jetstream.KeyValuePut {
			removed = history[0].Revision()
		}
		return err
	})
	if err2 != nil || removed == 0 {
		return 0, errors.Join(err, err2)
	}
	return put(removed)
}

// removedAt is the number by which the server knows that a key was removed, as far as the view tells; 0 = it does not.
func (e *Engine) removedAt(key string) uint64 {
	select {
	case e.viewing <- struct{}{}:
		defer func() { <-e.viewing }()
	default:
		return 0
	}
	if e.view == nil {
		return 0
	}
	e.view.mu.Lock()
	defer e.view.mu.Unlock()
	return e.view.removed[key]
}

// dropKeys ends the view.
func (e *Engine) dropKeys() {
	if e.view != nil {
		e.view.stop()
		e.view = nil
	}
}
