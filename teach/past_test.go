package teach

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// TestPast does things at random, ends, goes on and undoes: each undo finds the
// paths and the place as they were, however often the book was put away, and
// also when it was put away between the writing of its two files.
func TestPast(t *testing.T) {
	address := func(s string) web.URL {
		u, err := web.Parse("http://college.test/" + s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	rapid.Check(t, func(t *rapid.T) {
		type moment struct {
			set        string
			path, step int
		}
		b := newBook(nil, History{}, "")
		var were, gone []moment // what undo and redo have to find, the next last
		is := func() moment { return moment{digest(b.set), b.path, b.step} }
		write := func(set []paths.Path, h History) string {
			var w bytes.Buffer
			if err := WriteHistory(&w, set, h); err != nil {
				t.Fatal(err)
			}
			return w.String()
		}
		// read makes a book of the two files, and stands where b does: where
		// somebody stands is kept with each action, not in between.
		read := func(set []paths.Path, past string) {
			got, err := ReadHistory(strings.NewReader(past), set)
			if err != nil {
				t.Fatal(err)
			}
			path, step := b.path, b.step
			b = newBook(set, got, "")
			b.path, b.step = path, step
		}
		page := rapid.SampledFrom([]string{"", "a", "b", "c"})
		label := rapid.SampledFrom([]string{"", paths.Goal, paths.Fail, "Dept"})
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			was, before, stood := is(), slices.Clone(b.set), len(b.Past)
			switch what := rapid.SampledFrom([]string{"start", "follow", "label", "remove", "stand", "adopt", "undo", "undo", "redo", "put away", "killed"}).Draw(t, "what"); what {
			case "start":
				b.start(address(page.Draw(t, "page")))
			case "follow":
				if b.path >= 0 {
					b.follow(address(page.Draw(t, "page")), paths.Click{Anchor: "a <b> \u2028 #"})
				}
			case "label":
				b.label(label.Draw(t, "label"))
			case "remove":
				b.remove(rapid.IntRange(0, 5).Draw(t, "path"))
			case "stand":
				b.stand(rapid.IntRange(0, 5).Draw(t, "path"), rapid.IntRange(0, 3).Draw(t, "step"))
			case "adopt":
				b.adopt(paths.Path{Site: "s", Steps: []paths.Step{{URL: address("")}, {URL: address("c")}}})
			case "undo":
				if said := b.undo(); (said == "") != (len(were) == 0) {
					t.Fatalf("undone: %q, of %d", said, len(were))
				}
				if n := len(were) - 1; n >= 0 {
					if is() != were[n] {
						t.Fatalf("undo found %+v, not %+v", is(), were[n])
					}
					were, gone = were[:n], append(gone, was)
				}
				continue
			case "redo":
				if said := b.redo(); (said == "") != (len(gone) == 0) {
					t.Fatalf("redone: %q, of %d", said, len(gone))
				}
				if n := len(gone) - 1; n >= 0 {
					if is() != gone[n] {
						t.Fatalf("redo found %+v, not %+v", is(), gone[n])
					}
					were, gone = append(were, was), gone[:n]
				}
				continue
			case "put away":
				read(b.set, write(b.set, b.History))
			case "killed": // the action is written to the past, not to the paths
				ahead := newBook(b.set, b.History, "")
				ahead.path, ahead.step = b.path, b.step
				ahead.start(address("d"))
				read(b.set, write(ahead.set, ahead.History))
				gone = nil
			}
			if len(b.Past) > stood {
				were, gone = append(were, was), nil
				if digest(b.Past[len(b.Past)-1].before(b.set)) != digest(before) {
					t.Fatal("a moment does not lead back")
				}
			}
		}
	})
}

// TestStrangePast tells what is the matter with a past that is not that of the
// paths, or damaged.
func TestStrangePast(t *testing.T) {
	set, _, err := paths.Read(strings.NewReader("http://a.test/\tGoal\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadHistory(strings.NewReader(`{"waggle":"undo","now":"00"}`), set); !errors.Is(err, ErrOtherPast) || got.Past != nil {
		t.Errorf("other paths: %v %v", got, err)
	}
	head := `{"waggle":"undo","now":"` + digest(set) + "\"}\n"
	for past, want := range map[string]string{
		"":        "changed since",
		"nothing": "line 1: this is no file of what can be undone",
		head + `{"what":"x","path":-1,"step":0,"at":0,"added":2,"old":[]}`:                                  "line 2: it changes paths that there are not",
		head + `{"what":"x","path":-1,"step":0,"at":-1,"added":0,"old":[]}`:                                 "line 2: no action",
		head + `{"what":"x","path":-1,"step":0,"at":0,"added":1,"old":[{"steps":[{"url":"javascript:"}]}]}`: "line 2: ",
		head + `{"what":`: "line 2: ",
		head + `{"what":"x","path":-1,"step":0,"at":0,"added":1,"old":[]}` + "\n" + `{"what":"x","path":-1,"step":0,"at":0,"added":2,"old":[],"redo":true}`: "line 3: it changes paths that there are not",
		head + `{"what":"x","path":-1,"step":0,"at":0,"added":1,"old":[],"redo":true}` + "\n" + `{"what":"x","path":-1,"step":0,"at":0,"added":1,"old":[]}`: "line 3: what can be undone stands behind",
	} {
		got, err := ReadHistory(strings.NewReader(past), set)
		if err == nil || !strings.Contains(err.Error(), want) || got.Past != nil || got.Future != nil {
			t.Errorf("%s: %v %v, want %q", past, got, err, want)
		}
	}
	// A place that is not on the path is nowhere.
	past, err := ReadHistory(strings.NewReader(head+`{"what":"x","path":7,"step":9,"at":0,"added":1,"old":[]}`), set)
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(set, past, "")
	if b.undo() != "x" || b.path != -1 || len(b.set) != 0 {
		t.Errorf("%+v", b)
	}
}
