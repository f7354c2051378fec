package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// An import that is stopped while its paths are looked up in a record ends so, and has no part of
// them.
func TestTeachImportStopped(t *testing.T) {
	u, err := web.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "web")
	if _, err := corpus.Build(t.Context(), dir, corpus.Made{Manifest: corpus.Manifest{Name: "one"}, Pages: func(yield func(*web.Response, error) bool) {
		yield(&web.Response{URL: u, Status: 200, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html"), Raw: []byte("<p>bees")}, nil)
	}}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	c := teachImportCmd{Web: dir}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, stopped := range []bool{false, true} {
		var problems []paths.Problem
		set, err := c.recorded(ctx, []paths.Path{{Steps: []paths.Step{{URL: u}}}}, &problems)
		var ended exit
		if errors.As(err, &ended); stopped && (ended.code != exitStopped || len(set) != 0) || !stopped && (err != nil || len(set) != 1) {
			t.Errorf("stopped %v: %d paths, %v", stopped, len(set), err)
		}
		cancel()
	}
}
