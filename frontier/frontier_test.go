package frontier_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
)

var _ crawl.Frontier = (*frontier.Frontier)(nil)

// options are those that the conformance suite asks for.
func options(o frontiertest.Options) frontier.Options {
	return frontier.Options{MaxPerHost: o.MaxPerHost, Max: o.Max, MaxNames: o.MaxNames, Shortest: o.Shortest}
}

func TestMemory(t *testing.T) {
	frontiertest.Run(t, frontiertest.Maker{
		New: func(o frontiertest.Options) (frontiertest.Frontier, error) {
			return frontier.NewMemory(options(o)), nil
		},
	})
}

func TestDisk(t *testing.T) { onDisk(t, options) }

// TestDiskCold is TestDisk with a seen-set and hosts that are hardly ever in memory.
func TestDiskCold(t *testing.T) {
	onDisk(t, func(o frontiertest.Options) frontier.Options {
		return frontier.FewHosts(frontier.ShortRuns(options(o), 2), 1)
	})
}

func onDisk(t *testing.T, options func(o frontiertest.Options) frontier.Options) {
	onDisk := make(map[frontiertest.Frontier]vfs.FS)
	open := func(fs vfs.FS, o frontiertest.Options) (frontiertest.Frontier, error) {
		f, err := frontier.OpenOn(fs, "crawl/frontier", options(o))
		if err != nil {
			return nil, err
		}
		onDisk[f] = fs
		return f, nil
	}
	frontiertest.Run(t, frontiertest.Maker{
		New: func(o frontiertest.Options) (frontiertest.Frontier, error) { return open(vfs.NewMem(), o) },
		Reopen: func(f frontiertest.Frontier, o frontiertest.Options) (frontiertest.Frontier, error) {
			if err := f.Close(); err != nil {
				return nil, err
			}
			return open(onDisk[f], o)
		},
	})
}
