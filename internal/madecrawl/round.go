package madecrawl

import (
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// AsBefore writes the archive of a round anew, in which each page is as it was in the crawl before.
func AsBefore(t *testing.T, before, round collection.Collection) {
	t.Helper()
	was := map[web.URL]*web.Response{}
	for r, err := range before.Responses(nil) {
		if err != nil {
			t.Fatal(err)
		}
		was[r.URL] = r
	}
	var again []*web.Response
	var known []collection.Known
	for r, err := range round.Responses(nil) {
		if err != nil {
			t.Fatal(err)
		}
		if b := was[r.URL]; r.Status == http.StatusOK {
			r = collection.Revisited(r, b, &web.Revisit{NotModified: true, Head: r.Head, Record: b.Record, At: b.Started})
			known = append(known, collection.Known{URL: r.URL})
		}
		again = append(again, r)
	}
	w, err := round.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.SaveKnown(known), w.Close(), os.RemoveAll(round.ArchiveDir())); err != nil {
		t.Fatal(err)
	}
	a, err := store.Create(round.ArchiveDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range again {
		record, err := a.Encode(web.Exchange{Candidate: web.Candidate{URL: r.URL}, Response: r, Page: &web.Page{URL: r.URL}})
		if err == nil {
			_, err = a.Append(record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
