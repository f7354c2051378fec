package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// ForgetAfter is short, as the suite waits for it.
const ForgetAfter = time.Second

// brief has the engine forget what is in brief logs, and nothing else, also over a restart; their positions go on
// rising, and who reads on is told what comes.
func brief(t *testing.T, h Host, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	e := connect(t, h, name)
	log := engine.Brief + "log"
	last, records := engine.Position(0), 0
	appended := func(what string) {
		t.Helper()
		at, err := e.Append(ctx, engine.Draft{Log: log, Data: []byte(what)}, engine.Draft{Log: "log", Data: []byte(what)})
		if err != nil {
			t.Fatal(err)
		}
		if at[0] <= last {
			t.Errorf("record %s is at %d, and the one before it was at %d", what, at[0], last)
		}
		last = at[0]
		records++
	}
	appended("0")
	came := make(chan engine.Record)
	var group sync.WaitGroup
	defer group.Wait()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	follower, from := connect(t, h, name), last
	group.Go(func() {
		err := follower.Read(reading, map[string]engine.Position{log: from}, func(r engine.Record) error {
			select {
			case came <- r:
			case <-reading.Done():
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	every := time.NewTicker(ForgetAfter / 10)
	defer every.Stop()
	for i, restart := range []bool{false, true, false} {
		for { // until it is forgotten
			first, err1 := e.First(ctx, log, 1)
			end, err2 := e.End(ctx, log)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if first.Position == 0 && end.Position == 0 {
				break
			}
			<-every.C
		}
		if restart {
			if err := errors.Join(h.Stop(), h.Start()); err != nil {
				t.Fatal(err)
			}
		}
		// A reader that connects again may come too late for the first of them.
		before := last
		for read, what := false, fmt.Sprint(i+1); !read; {
			appended(what)
			select {
			case r := <-came:
				if read = string(r.Data) == what; r.Log != log || r.Position <= from || read && r.Position <= before {
					t.Errorf("behind %d the reader is told %s %d %s", from, r.Log, r.Position, r.Data)
				}
				from = r.Position
			case <-time.After(ForgetAfter):
			case <-ctx.Done():
				t.Fatalf("record %s is not read", what)
			}
		}
	}
	kept := 0
	err := e.Read(ctx, map[string]engine.Position{"log": 0}, func(engine.Record) error {
		if kept++; kept == records {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("%d of %d records of another log are kept: %v", kept, records, err)
	}
	if err := e.Read(ctx, map[string]engine.Position{"log": 0, log: 0}, func(engine.Record) error { return nil }); !errors.Is(err, engine.ErrName) {
		t.Errorf("brief logs are read with others: %v", err)
	}
}
