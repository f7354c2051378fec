package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
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

// leapClock is a clock whose timers fire at once, as if their time had passed.
type leapClock struct{ now time.Time }

func (c *leapClock) Now() time.Time { return c.now }

func (c *leapClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.now = c.now.Add(d)
	fire := make(chan time.Time, 1)
	fire <- c.now
	return fire, func() {}
}

// slowSite is a host that answers one request in so long, and whose page n has moved to n+1, but for the last.
type slowSite struct {
	clock *leapClock
	pause time.Duration
	last  string
	next  time.Time
	asked []string
}

func (s *slowSite) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	if left := s.next.Sub(s.clock.now); left > 0 {
		return nil, &web.Failure{Reason: web.ReasonBusy, Temporary: true, RetryAfter: left}
	}
	s.next, s.asked = s.clock.now.Add(s.pause), append(s.asked, u.Path())
	if u.Path() == s.last {
		return &web.Response{URL: u, Status: 200}, nil
	}
	to, err := web.Parse(u.String() + "+")
	return &web.Response{URL: u, Status: 301, Location: to}, err
}

// A page that has moved within a host that asks for long pauses is waited for where it has moved to,
// and for two minutes in all.
func TestFollowWaits(t *testing.T) {
	x, err := web.Parse("http://slow.test/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		last   string
		asked  []string
		waited time.Duration
		comes  bool
	}{
		{"/x+", []string{"/x", "/x+"}, 50 * time.Second, true},
		{"/x++", []string{"/x", "/x+", "/x++"}, 100 * time.Second, true},
		{"/x+++", []string{"/x", "/x+", "/x++"}, 100 * time.Second, false},
	} {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := &leapClock{begin}
		site := &slowSite{clock: clock, pause: 50 * time.Second, last: c.last}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		r, err := (&Maker{Fetcher: site, Clock: clock}).Follow(ctx, x)
		cancel()
		if comes := err == nil && r.URL.Path() == c.last; comes != c.comes || !slices.Equal(site.asked, c.asked) || clock.now.Sub(begin) != c.waited {
			t.Errorf("%s: %v, asked %.3q … (%d), waited %v; want %q, %v", c.last, err, site.asked[:min(3, len(site.asked))], len(site.asked), clock.now.Sub(begin), c.asked, c.waited)
		}
	}
}
