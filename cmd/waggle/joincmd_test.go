package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/view"
)

// An address of an engine without its scheme is no folder, and a password in it is not told.
func TestJoinWithoutScheme(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, join := range []string{"worker:secret@hive", "secret@hive", "worker:secret@hive:4222", "worker:sec@ret@hive"} {
		err := (&engineFlags{Join: join}).checkEngine()
		if err == nil || !strings.Contains(err.Error(), "nats://") || !strings.Contains(err.Error(), "hive") {
			t.Errorf("%s: %v", join, err)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("%s is told as %v", join, err)
		}
	}
	if err := os.Mkdir("me@home", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, join := range []string{"me@home", "engine", filepath.Join("a", "engine")} {
		if err := (&engineFlags{Join: join}).checkEngine(); err != nil {
			t.Errorf("%s: %v", join, err)
		}
	}
}

// shown notes what a view is told.
type shown struct {
	view.View
	kinds []string
}

func (s *shown) Add(e event.Event) { s.kinds = append(s.kinds, e.Kind()) }

// The end of a session that is followed by another one is not shown as that of the crawl.
func TestSessionEndIsNotShown(t *testing.T) {
	for over, want := range map[bool][]string{false: {"started", "ended"}, true: {"started"}} {
		s := &shown{}
		v := goingOn{s, func() bool { return over }}
		v.Add(event.Started{})
		v.Add(event.Ended{})
		if !slices.Equal(s.kinds, want) {
			t.Errorf("session over: %v, shown: %v", over, s.kinds)
		}
	}
}
