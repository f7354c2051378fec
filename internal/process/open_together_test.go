package process

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
)

// shownWorkers is what `waggle open` tells of the workers of a crawl.
type shownWorkers struct {
	Running               bool
	Over                  string
	Shards, Held          int
	Pages, Relevant, Left int
	Workers               []struct {
		Name, Machine, State  string
		Own                   bool
		Pages, Relevant, Held int
		Speed                 float64
		Heard                 time.Time
	}
}

// states are the workers with their states, and a star at that of the folder.
func (s *shownWorkers) states() string {
	var out []string
	for _, w := range s.Workers {
		own := ""
		if w.Own {
			own = "*"
		}
		out = append(out, w.Name+own+" "+w.State)
	}
	return strings.Join(out, ", ")
}

// opened asks the page of a folder for its workers.
func (c *crew) opened(dir string) (ask func() *shownWorkers) {
	c.Helper()
	cmd := waggleCommand([]string{"open", dir, "--no-browser", "--no-index"})
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, _ := strings.Cut(strings.TrimSpace(line), "Look here: ")
	at, errURL := url.Parse(address)
	if err != nil || errURL != nil {
		c.Fatal(line, err, errURL)
	}
	return func() *shownWorkers {
		r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, "http://"+at.Host+"/api/crawls/1/workers", nil)
		if err != nil {
			c.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+at.Query().Get("key"))
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			c.Fatal(err)
		}
		defer got.Body.Close()
		var s shownWorkers
		if err := json.NewDecoder(got.Body).Decode(&s); err != nil || got.StatusCode != http.StatusOK {
			c.Fatal(got.Status, err)
		}
		return &s
	}
}

// shows waits until the page shows what is wanted.
func (c *crew) shows(ask func() *shownWorkers, what string, is func(*shownWorkers) bool) *shownWorkers {
	c.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		s := ask()
		if is(s) {
			return s
		}
		if time.Now().After(late) {
			c.Fatalf("%s is not shown: %+v", what, *s)
		}
	}
}

// `waggle open` of the folder of any worker shows all of them while they run, and what was
// known last when they have ended.
func TestOpenShowsWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 20, 40, 20*time.Millisecond)
	c.args = []string{"--pages", "5000"}
	c.serveEngine()
	allowed := 60
	c.web.allow(allowed)
	w0, w1 := c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")
	c.web.await(t, 50)
	first, second := c.opened(w0.dir), c.opened(w1.dir)
	for own, ask := range map[string]func() *shownWorkers{"w0": first, "w1": second} {
		s := c.shows(ask, "two workers of which both have pages", func(s *shownWorkers) bool {
			if len(s.Workers) == 2 && s.Workers[0].Pages > 0 && s.Workers[1].Pages > 0 && s.Held == 32 {
				return true
			}
			// A worker that has its shards first may have taken all pages so far.
			allowed += 2
			c.web.allow(allowed)
			return false
		})
		if want := strings.Replace("w0 running, w1 running", own, own+"*", 1); s.states() != want || s.Shards != 32 || !s.Running {
			t.Errorf("%s and %+v", s.states(), s)
		}
		if s.Left != 5000-s.Pages || s.Pages != s.Workers[0].Pages+s.Workers[1].Pages || s.Workers[0].Machine == "" {
			t.Errorf("the sums are %+v", s)
		}
	}
	c.waggle("steer", w1.dir, "pause")
	c.shows(first, "a pause", func(s *shownWorkers) bool { return s.states() == "w0* paused, w1 paused" })
	c.shows(second, "a pause", func(s *shownWorkers) bool { return s.states() == "w0 paused, w1* paused" })
	w1.kill()
	lost := c.shows(first, "a worker that was lost", func(s *shownWorkers) bool { return s.states() == "w0* paused, w1 lost" })
	if kept := c.shows(second, "what was known last", func(s *shownWorkers) bool { return !s.Running }); kept.states() != "w0 paused, w1* paused" {
		t.Errorf("a folder whose worker was killed shows %s", kept.states())
	}
	c.waggle("steer", w0.dir, "continue")
	c.web.allow(0)
	c.finish(w0)
	over := c.shows(first, "the end", func(s *shownWorkers) bool { return !s.Running && s.Over != "" })
	if over.states() != "w0* left, w1 lost" || over.Over != "FrontierEmpty" || over.Workers[1].Pages < lost.Workers[1].Pages {
		t.Errorf("in the end: %s, %+v", over.states(), over)
	}
	status := c.waggle("cluster", "status", "--join", c.engine)
	for i, want := range []string{"machine", "left: no link is left", "lost"} {
		if lines := strings.Split(status, "\n"); !strings.Contains(lines[i], want) {
			t.Errorf("line %d of the status is without %q:\n%s", i, want, status)
		}
	}
}
