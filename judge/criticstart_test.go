package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// startCritic knows /Arts/Folk_music, /Arts/Jazz and /Steel.
func startCritic(t *testing.T) *judge.Critic {
	t.Helper()
	c, err := judge.TrainCritic(func(yield func(judge.Sample, error) bool) {
		for i := range 30 {
			class := []string{"/Arts/Folk_music", "/Arts/Jazz", "/Steel"}[i%3]
			if !yield(judge.Sample{Class: class, Key: fmt.Sprint(i), Terms: []web.Term{{Text: "page", Body: int32(1 + i%2)}, {Text: "word" + class, Body: 3}}}, nil) {
				return
			}
		}
	}, judge.Training{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a crawl can begin with is the same whatever the order of the examples, is kept
// in the file of the critic, and comes from each class in turn.
func TestCriticStart(t *testing.T) {
	all := []taxonomy.Example{
		{Topic: "/Arts/Folk_music", Source: "http://folk.test/1", Title: "Songs", Description: "Old songs"},
		{Topic: "/Arts/Folk_music", Source: "http://folk.test/2", Title: "Songs"},
		{Topic: "/Arts/Folk_music", Source: "http://folk.test/2"},
		{Topic: "/Arts/Folk_music", Source: "file:here.html"},
		{Topic: "/Arts/Jazz", Source: "http://jazz.test/1", Title: "Jazz"},
		{Topic: "/Steel", Source: "http://steel.test/1", Title: "Steel"},
		{Topic: "/Unknown", Source: "http://unknown.test/"},
		{Topic: "/Arts"},
		{Topic: "/Arts", Description: "All that is played."},
		{Topic: "/Arts/Folk_music", Description: "Songs of old."},
		{Topic: "/Arts/Folk", Description: "A topic that was folded."},
	}
	for i := range 100 {
		all = append(all, taxonomy.Example{Topic: "/Arts/Jazz", Source: fmt.Sprintf("http://jazz.test/more/%d", i), Description: strings.Repeat("word ", 100)})
	}
	var starts []judge.Start
	for range 2 {
		slices.Reverse(all)
		c := startCritic(t)
		c.KeepExamples(slices.Values(all))
		b, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = judge.ReadCritic(b, "critic"); err != nil {
			t.Fatal(err)
		}
		s, err := c.Start([]string{"/Arts"})
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, s)
		folk, err := c.Start([]string{"/Arts/Folk_music"})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(folk.Addresses)
		if got := fmt.Sprint(folk.Addresses, folk.Keywords); got != "[http://folk.test/1 http://folk.test/2] [Arts Folk music]" {
			t.Errorf("folk music starts with %s", got)
		}
		if folk.Description != "Songs of old. Songs. Old songs" && folk.Description != "Songs of old. Songs" {
			t.Errorf("its description is %q", folk.Description)
		}
		if !strings.HasPrefix(s.Description, "All that is played. ") || len(c.Record.Topics) != 2 {
			t.Errorf("music starts with %q, of %v", s.Description, c.Record.Topics)
		}
	}
	// A text without spaces between its words keeps its length as well.
	long := startCritic(t)
	long.KeepExamples(slices.Values([]taxonomy.Example{{Topic: "/Steel", Description: "钢铁 " + strings.Repeat("钢铁工业的历史。", 100)}}))
	if text := long.Record.Topics[0].Text; len(text) > 1000 || len(text) < 1000-3 || !utf8.ValidString(text) {
		t.Errorf("%d bytes are kept: %q", len(text), text)
	}
	s := starts[0]
	if fmt.Sprint(s) != fmt.Sprint(starts[1]) {
		t.Errorf("in another order the start is another: %v and %v", s, starts[1])
	}
	jazz := func(a string) bool { return strings.HasPrefix(a, "http://jazz.test/") }
	if len(s.Addresses) != 30 || jazz(s.Addresses[0]) == jazz(s.Addresses[1]) || !jazz(s.Addresses[29]) || len(s.Description) > 2000 {
		t.Errorf("%d addresses, %v …, a description of %d bytes", len(s.Addresses), s.Addresses[:4], len(s.Description))
	}
	if _, err := startCritic(t).Start([]string{"/Nothing"}); err == nil || !strings.Contains(err.Error(), "knows no topic /Nothing") {
		t.Errorf("a topic that is not known: %v", err)
	}
}
