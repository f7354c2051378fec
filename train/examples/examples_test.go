package examples

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

	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
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
	train := func(ctx context.Context, name string) (critic []byte, said string, err error) {
		l, err := Read(tax)
		if err != nil {
			return nil, "", err
		}
		samples, had, from, done, err := l.Samples(ctx, Options{
			Pages: filepath.Join(dir, name), Floor: 0.5, Note: func(s string) { t.Log(s) }, Progress: func(int, int, string) {},
			Apply: func(j *job.Job) error {
				none := job.Duration(0)
				j.Fetch.AllowPrivate, j.Fetch.Workers, j.Politeness.Delay = true, 1, &none
				return j.Check()
			},
		})
		if err != nil {
			return nil, "", err
		}
		defer done()
		c, err := judge.TrainCritic(samples, judge.Training{MinPages: 5, Trained: from})
		if err != nil {
			return nil, had.String(), err
		}
		critic, err = c.Append(nil)
		return critic, had.String(), err
	}
	whole, said, err := train(t.Context(), "whole")
	if err != nil || !strings.HasPrefix(said, "14 of 16 examples could be had (87.5%)\n       2 × the same page as another example") {
		t.Fatalf("in one go: %v\n%s", err, said)
	}

	clear(asked)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	after, stop = 6, cancel
	if _, _, err := train(ctx, "parts"); err == nil || !strings.Contains(err.Error(), "the same command goes on") {
		t.Fatalf("stopped: %v", err)
	}
	after = 0
	parts, _, err := train(t.Context(), "parts")
	if err != nil {
		t.Fatalf("going on: %v", err)
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
	if !bytes.Equal(whole, parts) {
		t.Error("the critic of the fetching in two parts is another one")
	}
}
