package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Of examples that say the same one is left, and one that says nothing is none.
func TestExamplesThatAddNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := file("first bee.html", "<title>Bees</title>The honey bee and its waggle dance")
	second := file("second.html", "<title>Bees</title>The honey bee and its waggle dance")
	empty := file("empty.html", "")
	var notes []string
	m := &Maker{
		Job: &Job{
			Seeds: []string{"https://bees.test/"},
			Topic: Topic{Keywords: []string{"honey bee"}, Examples: []string{first, second, empty}, Negatives: []string{second}},
		},
		Note: func(s string) { notes = append(notes, s) },
	}
	if err := m.MakeTopic(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"example " + second + " is the same page as " + first + " and is left out",
		"example " + second + ", which is not wanted, is the same page as " + first + ", which is: leave one of them out",
		"example " + empty + " has no text and is left out",
	}; !slices.Equal(notes, want) {
		t.Errorf("noted %q, want %q", notes, want)
	}
	if len(m.Topic.Examples) != 1 || len(m.Topic.Negatives) != 1 {
		t.Errorf("%d examples and %d negatives, want one of each", len(m.Topic.Examples), len(m.Topic.Negatives))
	}
	if got, want := m.Topic.Examples[0].URL.String(), "http://example.invalid/first%20bee.html"; got != want {
		t.Errorf("the example is %s, want %s", got, want)
	}
}
