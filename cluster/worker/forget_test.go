package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/web"
)

// treeWeb is a web of pages each of which only one other links to, on sites by their numbers.
type treeWeb struct {
	pages, sites int
	mu           sync.Mutex
	asked        map[int]int
}

func (w *treeWeb) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	var site, n int
	if _, err := fmt.Sscanf(u.String(), "http://s%d.example/%d", &site, &n); err != nil {
		return nil, err
	}
	started := time.Now()
	time.Sleep(30 * time.Millisecond)
	w.mu.Lock()
	w.asked[n]++
	w.mu.Unlock()
	body := []byte("bees")
	for child := 2*n + 1; child <= 2*n+2 && child < w.pages; child++ {
		body = fmt.Appendf(body, ` <a href="http://s%d.example/%d">x</a>`, child%w.sites, child)
	}
	return &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: started, Took: 30 * time.Millisecond,
		Header: web.Header{"Content-Type": {"text/html"}}, Body: body, Raw: body,
	}, nil
}

// dozingEngine is an engine whose brief logs are read for a moment at a time, between naps.
type dozingEngine struct {
	*engine.Memory
	nap  time.Duration
	mu   sync.Mutex
	told int // records that were appended to brief logs
	read int // records of brief logs that were read
}

func (e *dozingEngine) Append(ctx context.Context, drafts ...engine.Draft) ([]engine.Position, error) {
	e.mu.Lock()
	for _, d := range drafts {
		if engine.IsBrief(d.Log) {
			e.told++
		}
	}
	e.mu.Unlock()
	return e.Memory.Append(ctx, drafts...)
}

func (e *dozingEngine) Read(ctx context.Context, from map[string]engine.Position, do func(engine.Record) error) error {
	brief, err := engine.CheckRead(from)
	if err != nil || !brief {
		return errors.Join(err, e.Memory.Read(ctx, from, do))
	}
	for {
		awake, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		err := e.Memory.Read(awake, from, func(r engine.Record) error {
			e.mu.Lock()
			e.read++
			e.mu.Unlock()
			from[r.Log] = r.Position
			return do(r)
		})
		ended := awake.Err() == nil
		cancel()
		if ended || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(e.nap):
		}
	}
}

// Workers that are too slow for what the engine forgets lose no link: each page is fetched once.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &treeWeb{pages: 4000, sites: 200, asked: map[int]int{}}
		memory := engine.NewMemory()
		memory.Forget(400 * time.Millisecond)
		dozing := &dozingEngine{Memory: memory, nap: 1700 * time.Millisecond}
		var all sync.WaitGroup
		errs := make([]error, 3)
		for n := range errs {
			dir := t.TempDir()
			all.Go(func() { errs[n] = session(t, w, 0, n, dozing, dir, aheadClock{}) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		again := 0
		for _, n := range w.asked {
			again += n - 1
		}
		if len(w.asked) != w.pages || again > 0 {
			t.Errorf("%d pages of %d, and %d requests again", len(w.asked), w.pages, again)
		}
		if want := dozing.told * len(errs); dozing.read == 0 || dozing.read > want/2 {
			t.Errorf("%d of %d records were read: this shows nothing", dozing.read, want)
		}
		t.Logf("each of %d workers was told %d times, and they read %d of that", len(errs), dozing.told, dozing.read)
	})
}
