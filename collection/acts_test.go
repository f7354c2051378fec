package collection

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// What is told to a crawl is kept line by line: what a process that died left of a line,
// and lines that are no acts, take a number and are refused, and the next act is whole.
func TestActFile(t *testing.T) {
	col := At(t.TempDir())
	pause := event.Act{Do: event.Pause}
	if _, err := col.Act(pause); err == nil || !strings.Contains(err.Error(), "holds no crawl") {
		t.Errorf("a folder without a crawl: %v", err)
	}
	setUp(t, col)
	acts, err := col.Acts(nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := func(n int) string {
		list, err := acts.After(n)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range list {
			line := fmt.Sprint(a.Number, " ", a.Words())
			if a.Refused != "" {
				line = fmt.Sprint(a.Number, " refused")
			}
			out = append(out, line)
		}
		return strings.Join(out, ", ")
	}
	expect := func(n int, want string) {
		t.Helper()
		if got := heard(n); got != want {
			t.Errorf("after %d: %q; want %q", n, got, want)
		}
	}
	add := func(text string) {
		f, err := os.OpenFile(col.ActFile(), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	expect(0, "")
	if n, err := col.Act(pause); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	expect(0, "1 pause")
	expect(1, "")
	add(`{"do":"pau`)
	expect(1, "") // it may still be written
	if n, err := col.Act(event.Act{Do: event.Mute, Place: "bees.test"}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	expect(1, "2 refused, 3 mute bees.test")
	add("\x00\xff\n{}\n[1]\n{\"do\":\"undo\",\"act\":1,\"number\":99,\"refused\":\"no\"}\n")
	expect(3, "4 refused, 5 refused, 6 refused, 7 undo 1")
	if _, err := col.Act(event.Act{Do: "dance"}); err == nil {
		t.Error("what is no act was kept")
	}

	// Of a file that is gone the log knows what was taken in.
	told, err := acts.After(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(col.ActFile()); err != nil {
		t.Fatal(err)
	}
	if acts, err = col.Acts(told); err != nil {
		t.Fatal(err)
	}
	if n, err := col.Act(event.Act{Do: event.Continue}); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	expect(7, "8 continue")
}

// setUp sets a crawl up whose job says nothing.
func setUp(t *testing.T, col Collection) {
	t.Helper()
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.SaveJob([]byte("name: x\n")), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// Several who tell a crawl something at once get a number each, of the line of their act.
func TestActsAtOnce(t *testing.T) {
	col := At(t.TempDir())
	setUp(t, col)
	const people, each = 8, 25
	numbers := make([][]int, people)
	var all sync.WaitGroup
	for p := range people {
		all.Go(func() {
			for i := range each {
				n, err := col.Act(event.Act{Do: event.Budget, Pages: p*each + i})
				if err != nil {
					t.Error(err)
					return
				}
				numbers[p] = append(numbers[p], n)
			}
		})
	}
	all.Wait()
	acts, err := col.Told()
	if err != nil || len(acts) != people*each {
		t.Fatal(len(acts), err)
	}
	for p := range people {
		for i, n := range numbers[p] {
			if a := acts[n-1]; a.Number != n || a.Pages != p*each+i {
				t.Errorf("act %d is of %d pages; it was given with %d", n, a.Pages, p*each+i)
			}
		}
	}
}

// Whatever an act says is in the file, for the crawl to read.
func TestActsAreKeptWhole(t *testing.T) {
	col := At(t.TempDir())
	setUp(t, col)
	u, err := web.Parse("https://bees.test/")
	if err != nil {
		t.Fatal(err)
	}
	given := []event.Act{
		{Do: event.Relevant, URL: u}, {Do: event.Irrelevant, URL: u}, {Do: event.More, URL: u}, {Do: event.Mute, Place: "bees.test/ads/"},
		{Do: event.Boost, Place: "bees.test"}, {Do: event.Budget, Pages: 20}, {Do: event.Delay, Delay: "3s"}, {Do: event.Keywords, Keywords: []string{"honey bee", "a, b"}}, {Do: event.Pause}, {Do: event.Continue},
		{Do: event.Undo, Act: 2},
	}
	for i, a := range given {
		if n, err := col.Act(a); n != i+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	heard, err := col.Waiting(nil)
	if err != nil || len(heard) != len(given) {
		t.Fatal(len(heard), err)
	}
	for i, a := range heard {
		if a.Words() != given[i].Words() || a.Refused != "" {
			t.Errorf("%q became %q, refused: %q", given[i].Words(), a.Words(), a.Refused)
		}
	}
}

// Where the crawl of several workers takes in nothing more, what waits is refused, and a new act
// too.
func TestActsWhereTheCrawlIsFull(t *testing.T) {
	w, err := At(t.TempDir()).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.SaveJob([]byte("name: x\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.BeOfSeveral(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Act(event.Act{Do: event.Pause}); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		acts, err := w.Told()
		if err != nil || len(acts) != 1 {
			t.Fatal(acts, err)
		}
		return acts[0].Refused
	}
	if got := told(); got != "" {
		t.Errorf("it is refused: %s", got)
	}
	if err := w.SaveWorkers(Workers{Full: "the crawl was told 65536 things, and takes no more"}); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "the crawl was told 65536 things, and takes no more" {
		t.Errorf("it is refused: %q", got)
	}
	if _, err := w.Act(event.Act{Do: event.Continue}); err == nil || !strings.Contains(err.Error(), "takes no more") {
		t.Errorf("told all the same: %v", err)
	}
}

// A page whose record is damaged is not found, and those beside it are.
func TestLookAtADamagedRecord(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, 0, StoreOptions{})
	look := At(dir).Look(parse.New(parse.Options{}))
	finds := func(path string) bool {
		t.Helper()
		p, err := look(t.Context(), address(path))
		if err != nil {
			t.Error(err)
		}
		return p != nil
	}
	if !finds("dance.html") || !finds("wheels.html") {
		t.Fatal("the pages are not found")
	}
	files, err := At(dir).ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range store.Index(files...) {
		if err != nil || e.Type != "response" || e.Target != address("dance.html").String() {
			continue
		}
		b, err := os.ReadFile(e.File)
		if err == nil {
			b[e.Offset+e.Length/2] ^= 0xff
			err = os.WriteFile(e.File, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if finds("dance.html") || !finds("wheels.html") {
		t.Error("the damaged page is found, or the other one is not")
	}
}
