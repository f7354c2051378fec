// Package shard divides the hosts of a crawl among its workers: each host belongs to a
// shard, and each shard to one worker at a time.
//
// # The life of a session
//
//	       Join               Leave, or another one ends it
//	none ─────────► live ───────────────────────────────────► ended
//	                │  ▲
//	                └──┘ renewed, every third of a term
//
// A session is the key session.ID, which its worker puts anew, by compare-and-set. Others
// may end it once they have seen it unchanged for a whole term by their own clocks; its
// next renewal fails then, for ever. Its worker stops using it before that, two thirds of a term after
// it began its last renewal that succeeded.
//
// Clocks are compared by nobody. A worker counts the longer of what its two clocks, the
// monotonic one and that of the wall, say of its own session, and the shorter one of those of
// others: the first stands still while a machine sleeps, the second may be set.
//
// # The life of a shard
//
//	      taken                      given up              freed
//	free ───────► held by a session ──────────► handed over ──────► free
//	  ▲                     │                        │
//	  └─────────────────────┴────────────────────────┘ its session is ended
//
// A shard is the key shard.N, which names the session that holds it, and is free without a
// key or where that session is ended. With n shards and w live sessions each may hold
// ⌈n/w⌉. No worker is in charge: each takes and gives up for itself, by compare-and-set.
//
// What an engine tells may be a little behind. So nothing is concluded from a key that is
// not there: a session that no key tells of is ended like any other, once it was seen so
// for a term, by a compare-and-set on the key that is not there.
package shard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/web"
)

// Of is the shard of a host among n, in [0,n). Hosts of one registrable domain are in
// one shard.
func Of(h web.Host, n int) int {
	return int(xxh3.HashString(h.Domain()) % uint64(n))
}

// Term is the default of Options.Term.
const Term = 15 * time.Second

// Session is a worker as the others see it.
type Session struct {
	ID     string
	Worker string // its name
	// Status is what the worker told of itself when it renewed the session last.
	Status json.RawMessage
	Ended  bool
	Shards int // that it holds
}

// value is what the key of a session holds.
type value struct {
	Worker string          `json:"worker"`
	Renew  int             `json:"renewal"` // counts them: so that no two are equal
	Status json.RawMessage `json:"status,omitempty"`
	Ended  bool            `json:"ended,omitempty"`
	By     string          `json:"by,omitempty"` // the session that ended it
}

func (v value) bytes() []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of texts and numbers, and JSON
	}
	return b
}

// Names of keys.
const (
	sessions = "session."
	shards   = "shard."
)

func shardKey(n int) string { return shards + strconv.Itoa(n) }

// shardOf is the number in the key of a shard; ok is false for one that is none of n.
func shardOf(key string, n int) (shard int, ok bool) {
	shard, err := strconv.Atoi(strings.TrimPrefix(key, shards))
	return shard, err == nil && shard >= 0 && shard < n && shardKey(shard) == key
}

// Holders counts the shards that sessions hold, by their identity. A session that has not
// ended is there also without a shard; one of a worker that died a moment ago has not.
func Holders(ctx context.Context, e engine.Engine) (map[string]int, error) {
	all, err := e.List(ctx, sessions)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int)
	for _, x := range all {
		if !readValue(x.Value).Ended {
			out[strings.TrimPrefix(x.Key, sessions)] = 0
		}
	}
	if all, err = e.List(ctx, shards); err != nil {
		return nil, err
	}
	for _, x := range all {
		if _, live := out[string(x.Value)]; live {
			out[string(x.Value)]++
		}
	}
	return out, nil
}

// Over tells whether a session is over. One that is not is watched: over is false once it is renewed, which takes about
// a third of a term, and where it stands still for a term Over ends it, as workers do with those of others.
func Over(ctx context.Context, e engine.Engine, id string, term time.Duration) (over bool, err error) {
	var still <-chan time.Time // from the first look on, however long that takes
	var first engine.Revision
	for stood := false; ; {
		all, err := e.List(ctx, sessions)
		if err != nil {
			return false, err
		}
		if still == nil {
			still = time.After(term)
		}
		i := slices.IndexFunc(all, func(x engine.Entry) bool { return x.Key == sessions+id })
		if i < 0 {
			return true, nil // it was swept
		}
		x, v := all[i], readValue(all[i].Value)
		first = cmp.Or(first, x.Revision)
		switch {
		case v.Ended:
			return true, nil
		case x.Revision != first:
			return false, nil
		case stood:
			v.Ended = true
			if _, err := e.Put(ctx, x.Key, v.bytes(), x.Revision); !errors.Is(err, engine.ErrChanged) {
				return err == nil, err
			}
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-still:
			stood = true
		case <-time.After(term / 15):
		}
	}
}

// longer and shorter are the time from a to b, by the clock that says more or less.
func longer(a, b time.Time) time.Duration  { return max(b.Sub(a), b.Round(0).Sub(a.Round(0))) }
func shorter(a, b time.Time) time.Duration { return min(b.Sub(a), b.Round(0).Sub(a.Round(0))) }

// EndedError says that a session is no longer its worker's.
type EndedError struct {
	ID  string
	Why string
}

func (e *EndedError) Error() string { return fmt.Sprintf("the session %s is over: %s", e.ID, e.Why) }
