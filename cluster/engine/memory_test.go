package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/enginetest"
)

// memoryHost has an engine for each name.
type memoryHost struct {
	mu sync.Mutex
	by map[string]*engine.Memory
}

func (h *memoryHost) Connect(_ context.Context, name string) (engine.Engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[name] == nil {
		h.by[name] = engine.NewMemory()
		h.by[name].Forget(enginetest.ForgetAfter)
	}
	return h.by[name], nil
}

func (h *memoryHost) Stop() error  { return h.all((*engine.Memory).Stop) }
func (h *memoryHost) Start() error { return h.all((*engine.Memory).Start) }

func (h *memoryHost) all(do func(*engine.Memory)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.by {
		do(m)
	}
	return nil
}

func TestMemory(t *testing.T) {
	enginetest.Run(t, &memoryHost{by: map[string]*engine.Memory{}})
}
