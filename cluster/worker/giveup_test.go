package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/frontier"
)

// silent is an engine that stopped answering once a worker had connected to it.
type silent struct {
	engine.Engine
	asked chan struct{}
}

func (s silent) Get(ctx context.Context, _ string) (engine.Entry, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return engine.Entry{}, ctx.Err()
}

// A worker that waits for an engine which is gone can be told so: it may join again.
func TestGiveUpJoining(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := silent{engine.NewMemory(), make(chan struct{}, 1)}
	w := New(ctx, Options{Engine: e, Name: "w"})
	f := frontier.NewMemory(frontier.Options{})
	defer f.Close()
	gone := errors.New("the engine is gone")
	go func() {
		<-e.asked
		w.GiveUp(gone)
	}()
	if err := w.Open(w.Context(), f, Crawl{}); err == nil {
		t.Error("it joined an engine that does not answer")
	}
	if err := w.Close(""); err != nil {
		t.Errorf("it leaves: %v", err)
	}
	if err := w.Failed(); !errors.Is(err, ErrOver) || !errors.Is(err, gone) {
		t.Errorf("it ends with %v", err)
	}
	if ctx.Err() != nil {
		t.Error("it waited until the test was over")
	}
}
