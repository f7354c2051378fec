package collection

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// rounds makes a crawl of n pages and a round after it, in which each page is as it was.
// There is nothing but their archives and what the round knows of the pages.
func rounds(t *testing.T, n int) (first, round Collection) {
	t.Helper()
	first = At(t.TempDir())
	round = first.Round(1)
	if err := os.MkdirAll(round.Dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	var known []Known
	for i := range n {
		u, err := web.Parse(fmt.Sprintf("https://bees.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, Known{URL: u})
	}
	w := opened(t, round.Dir())
	if err := errors.Join(w.SaveExamples(nil), w.SaveKnown(known), w.SaveJob([]byte("name: bees\n"))); err != nil {
		t.Fatal(err)
	}
	archives := [2]*store.Archive{}
	for i, c := range []Collection{first, round} {
		a, err := store.Create(c.ArchiveDir(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		archives[i] = a
	}
	appendTo := func(a *store.Archive, p *web.Response) {
		b, err := a.Encode(web.Exchange{Candidate: web.Candidate{URL: p.URL}, Response: p, Page: &web.Page{URL: p.URL, MIME: "text/html"}})
		if err == nil {
			_, err = a.Append(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Unix(1e9, 0).UTC()
	for i, k := range known {
		p := &web.Response{URL: k.URL, Status: 200, Proto: "HTTP/1.1", Started: at, Header: web.Header{"Content-Type": {"text/html"}}, RequestHead: []byte("GET / HTTP/1.1")}
		p.Raw = fmt.Appendf(nil, "<p>bee %d", i)
		p.Body = p.Raw
		appendTo(archives[0], p)
		again := *p
		again.Started = at.Add(time.Hour)
		for before, err := range first.Responses(func(u web.URL) bool { return u == k.URL }) {
			if err != nil {
				t.Fatal(err)
			}
			again.Revisit = &web.Revisit{NotModified: true, Record: before.Record, At: before.Started}
		}
		appendTo(archives[1], &again)
	}
	if err := errors.Join(archives[0].Close(), archives[1].Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return first, round
}

// A repair of a round reads the archives of earlier ones once, for all pages that are as
// they were.
func TestRepairReadsEarlierRoundsOnce(t *testing.T) {
	const pages = 40
	_, round := rounds(t, pages)
	w := opened(t, round.Dir())
	defer w.Close()
	r := w.newRepair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
	if err := r.run(r.readMarks, r.readLog, r.readArchive); err != nil {
		t.Fatal(err)
	}
	if r.made != pages || len(r.losses.urls) > 0 {
		t.Errorf("%d events, lost %q", r.made, r.losses.urls)
	}
	if len(r.earlier.round) != pages || len(r.earlier.finders) != 1 || len(r.earlier.finders[0].places) != pages {
		t.Errorf("what was read of earlier rounds is not kept: %d pages known, %d rounds", len(r.earlier.round), len(r.earlier.finders))
	}
}

// Where the archive of an earlier round is gone, a repair ends all the same: the pages
// whose bodies it held are lost.
func TestRepairWithoutAnEarlierRound(t *testing.T) {
	const pages = 5
	first, round := rounds(t, pages)
	if err := os.RemoveAll(first.ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	w := opened(t, round.Dir())
	defer w.Close()
	r, err := w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if r.Made != 0 || len(r.Lost) != pages || r.Aside == "" {
		t.Errorf("%d events, lost %q, aside %q", r.Made, r.Lost, r.Aside)
	}
	if lost, err := round.Lost(); err != nil || len(lost) != pages {
		t.Errorf("lost.txt has %q, %v", lost, err)
	}
	stores, err := w.OpenStores(t.Context(), StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// A list of what earlier rounds know that is damaged ends a repair, with what helps: it can be put back, and nothing
// is lost for it.
func TestRepairWithDamagedKnown(t *testing.T) {
	for what, damage := range map[string]func(name string, list []byte) error{
		"torn":    func(name string, list []byte) error { return os.WriteFile(name, list[:len(list)-5], 0o644) },
		"missing": func(name string, _ []byte) error { return os.Remove(name) },
		"empty":   func(name string, _ []byte) error { return os.WriteFile(name, nil, 0o644) },
		"cut at a line": func(name string, list []byte) error {
			return os.WriteFile(name, list[:bytes.IndexByte(list, '\n')+1], 0o644)
		},
		"another round": func(name string, list []byte) error {
			return os.WriteFile(name, bytes.ReplaceAll(list, []byte(`"digest"`), []byte(`"body":7,"digest"`)), 0o644)
		},
	} {
		t.Run(what, func(t *testing.T) {
			_, round := rounds(t, 2)
			list, err := os.ReadFile(round.KnownFile())
			if err := cmp.Or(err, damage(round.KnownFile(), list)); err != nil {
				t.Fatal(err)
			}
			w := opened(t, round.Dir())
			defer w.Close()
			_, err = w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
			if remedy := round.remedyOf(round.KnownFile()); !errors.As(err, new(*knownError)) || !strings.Contains(err.Error(), remedy) {
				t.Errorf("repaired: %v", err)
			}
		})
	}
}
