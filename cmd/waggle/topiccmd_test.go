package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A fetching of examples that is stopped goes on where it was: no page is asked
// for twice, and the critic is the one that a fetching in one go gives.
// Examples that have moved count where they went, once.
func TestTrainGoesOn(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	after := 0 // requests for pages until stop is called; 0 = never
	stop := func() {}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		n := 0
		for path, times := range asked {
			if path != "/robots.txt" {
				n += times
			}
		}
		ends := after > 0 && n == after && r.URL.Path != "/robots.txt"
		mu.Unlock()
		if ends {
			stop()
			<-r.Context().Done() // the answer never comes
			return
		}
		class, number, page := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !page:
			http.NotFound(w, r)
		case number == "3":
			http.Redirect(w, r, "/"+class+"/30", http.StatusMovedPermanently)
		case number == "4":
			http.Redirect(w, r, "/"+class+"/5", http.StatusFound) // another example
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<p>%s", strings.Repeat(class+" words of "+class+" in number"+number+" ", 9))
		}
	}))
	defer srv.Close()

	dir := t.TempDir()
	table := "# waggle taxonomy 1\n"
	for i := range 8 {
		table += fmt.Sprintf("/bees\t%s/bees/%d\n/cars\t%[1]s/cars/%d\n", srv.URL, i, i)
	}
	tax := filepath.Join(dir, "two.tax")
	if err := os.WriteFile(tax, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	train := func(ctx context.Context, name string) (code int, said string) {
		out, err := os.Create(filepath.Join(dir, name+".said"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		code = run(ctx, []string{"topic", "train", tax, "-o", filepath.Join(dir, name), "--allow-private", "--delay", "0", "--workers", "1"}, streams{out: out, err: out})
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return code, string(b)
	}
	if code, said := train(t.Context(), "whole"); code != exitDone || !strings.Contains(said, "14 of 16 examples could be had (87.5%)\n       2 × the same page as another example\n") {
		t.Fatalf("in one go: exit %d\n%s", code, said)
	}

	clear(asked)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	after, stop = 6, cancel
	if code, said := train(ctx, "parts"); code != exitStopped || !strings.Contains(said, "the same command goes on") {
		t.Fatalf("stopped: exit %d\n%s", code, said)
	}
	after = 0
	if code, said := train(t.Context(), "parts"); code != exitDone {
		t.Fatalf("going on: exit %d\n%s", code, said)
	}
	twice := 0
	for path, n := range asked {
		if n > 1 && path != "/robots.txt" {
			twice++ // the one whose answer never came
		}
	}
	if twice > 1 {
		t.Errorf("asked for again: %v", asked)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "whole"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := os.ReadFile(filepath.Join(dir, "parts"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(whole, parts) {
		t.Error("the critic of the fetching in two parts is another one")
	}
}
