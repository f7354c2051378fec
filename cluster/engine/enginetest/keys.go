package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// counters has many count by compare-and-set.
func counters(t *testing.T, h Host, name string) {
	const writers, each = 4, 25
	var group sync.WaitGroup
	for w := range writers {
		e := connect(t, h, name)
		group.Go(func() {
			for n := 0; n < each; {
				x, err := e.Get(t.Context(), "count")
				if err != nil {
					t.Error(err)
					return
				}
				at, _ := strconv.Atoi(strings.Split(string(x.Value)+" ", " ")[0])
				_, err = e.Put(t.Context(), "count", fmt.Appendf(nil, "%d %d %d", at+1, w, n), x.Revision)
				if err != nil && !errors.Is(err, engine.ErrChanged) {
					t.Error(err)
					return
				}
				if err == nil {
					n++
				}
			}
		})
	}
	group.Wait()
	x, err := connect(t, h, name).Get(t.Context(), "count")
	if n, _, _ := strings.Cut(string(x.Value), " "); err != nil || n != strconv.Itoa(writers*each) {
		t.Errorf("counted to %s, not %d: %v", x.Value, writers*each, err)
	}
}

// lists has several list keys that another puts and removes, through a restart: they come to
// see what it left.
func lists(t *testing.T, h Host, name string) {
	const keys, rounds, listers = 8, 12, 3
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, l := connect(t, h, name), connect(t, h, name)
	want := map[string]engine.Entry{}
	same := func(list []engine.Entry) bool {
		if len(list) != len(want) {
			return false
		}
		for i, x := range list {
			was := want[x.Key]
			if x.Revision != was.Revision || string(x.Value) != string(was.Value) || i > 0 && list[i-1].Key >= x.Key {
				return false
			}
		}
		return true
	}
	for i := range rounds {
		for k := range keys {
			key := fmt.Sprint("key.", k)
			value := fmt.Appendf(nil, "%d", i)
			if (i+k)%3 == 0 && want[key].Revision != 0 {
				value = nil
			}
			rev, err := w.Put(ctx, key, value, want[key].Revision)
			if err != nil {
				t.Fatalf("round %d, %s: %v", i, key, err)
			}
			if want[key] = (engine.Entry{Key: key, Value: value, Revision: rev}); value == nil {
				delete(want, key)
			}
		}
		if i == rounds/2 {
			if err := errors.Join(h.Stop(), h.Start()); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for range listers {
			group.Go(func() {
				for {
					list, err := l.List(ctx, "key.")
					if err != nil {
						t.Errorf("round %d: %v", i, err)
						return
					}
					if same(list) {
						return
					}
				}
			})
		}
		group.Wait()
	}
}
