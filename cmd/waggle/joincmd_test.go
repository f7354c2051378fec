package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
