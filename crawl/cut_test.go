package crawl_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/web"
)

// cutWeb is a mapWeb that sends the first half of some bodies, as often as told.
type cutWeb struct {
	mapWeb
	why   string         // as Response.Truncated
	times map[string]int // by address; -1 = always
}

func (w cutWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := w.mapWeb.Fetch(ctx, u)
	address := strings.TrimPrefix(u.String(), "http://")
	if err == nil && w.times[address] != 0 {
		w.times[address]--
		r.Raw = r.Raw[:len(r.Raw)/2]
		r.Body, r.Truncated = r.Raw, w.why
	}
	return r, err
}

// Has makes a record of it.
func (w cutWeb) Has(u web.URL) bool {
	_, ok := w.mapWeb[strings.TrimPrefix(u.String(), "http://")]
	return ok
}

// countArchive counts the records that it is given, by address.
type countArchive map[string]int

func (countArchive) Encode(x web.Exchange) ([]byte, error) {
	return []byte(x.Response.URL.String() + " " + x.Response.Truncated), nil
}

func (a countArchive) Append(records ...[]byte) ([]byte, error) {
	for _, r := range records {
		a[strings.TrimPrefix(string(r), "http://")]++
	}
	return []byte("mark"), nil
}

func (countArchive) Sync() error  { return nil }
func (countArchive) Close() error { return nil }

// A page whose body ends early, as it is too slow or the connection broke, is asked
// for again, and its host is not left alone for that. One that never comes whole is a page that is told to be cut, and is
// archived once. Simulated and live it is the same.
func TestCutBody(t *testing.T) {
	for _, c := range []struct {
		why   string
		times int
		want  []string
	}{
		{"time", 1, []string{"failed timeout, again", "fetched"}},
		{"time", 2, []string{"failed timeout, again", "failed timeout, again", "fetched"}},
		{"time", -1, []string{"failed timeout, again", "failed timeout, again", "fetched, cut by time"}},
		{"disconnect", 1, []string{"failed reset, again", "fetched"}},
		{"disconnect", -1, []string{"failed reset, again", "failed reset, again", "fetched, cut by disconnect"}},
		{"length", -1, []string{"fetched, cut by length"}},
	} {
		t.Run(fmt.Sprintf("%s %d", c.why, c.times), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const address = "h0.example/2"
				const end = "<p>the end, <a href='/99'>which</a> is not in the first half of a body like this one"
				w := cutWeb{mapWeb: tree(1, 7), why: c.why, times: map[string]int{address: c.times}}
				w.mapWeb[address] += end
				var got []string
				listen := func(e event.Event) {
					switch e := e.(type) {
					case event.Fetched:
						if e.URL.String() != "http://"+address {
							return
						}
						text := "fetched"
						if e.Truncated {
							text += ", cut by " + e.Cut
						}
						got = append(got, text)
					case event.Failed:
						if e.URL.String() != "http://"+address {
							return
						}
						text := "failed " + string(e.Reason)
						if e.Retry {
							text += ", again"
						}
						got = append(got, text)
					}
				}
				live := newCrawl(t, w.mapWeb, 1)
				archive := countArchive{}
				live.Fetcher, live.Archive, live.Listen = w, archive, listen
				live.Policy.Backoff = time.Minute
				began := time.Now()
				if how, err := live.Run(t.Context()); err != nil || how != event.FrontierEmpty {
					t.Fatal(how, err)
				}
				if took := time.Since(began); took >= live.Policy.Backoff {
					t.Errorf("the host was left alone: %v", took)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("live: %q, want %q", got, c.want)
				}
				kept := address + " "
				if c.times < 0 {
					kept += c.why
				}
				for r, n := range archive {
					if n != 1 || strings.HasPrefix(r, address+" ") && r != kept {
						t.Errorf("%d records %q, want one %q", n, r, kept)
					}
				}
				if archive[kept] != 1 {
					t.Errorf("archive: %v", archive)
				}
				got, w.times[address] = nil, c.times
				simulated := newCrawl(t, w.mapWeb, 1)
				simulated.Listen = listen
				if _, err := sim.Run(t.Context(), simulated, w, sim.Options{IgnoreRobots: true}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("simulated: %q, want %q", got, c.want)
				}
			})
		})
	}
}

// withoutReader is a parser that cannot read a page the first so many times, as no process starts
// that reads documents.
type withoutReader struct {
	crawl.Parser
	url   string
	times *int
}

func (p withoutReader) Parse(r *web.Response) (*web.Page, error) {
	if r.URL.String() == p.url {
		if *p.times--; *p.times >= 0 {
			return nil, &web.Failure{Reason: web.ReasonReader, Temporary: true, Detail: "no process starts"}
		}
	}
	return p.Parser.Parse(r)
}

// A document that could not be read on this machine is asked for again, and what came of it in
// vain is not archived.
func TestNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for times, want := range map[int]string{1: "failed reader, again|fetched|", 9: "failed reader, again|failed reader, again|failed reader|"} {
			const address = "h0.example/2"
			left, got, archive := times, "", countArchive{}
			c := newCrawl(t, tree(1, 7), 1)
			c.Parser, c.Archive = withoutReader{c.Parser, "http://" + address, &left}, archive
			c.Listen = func(e event.Event) {
				switch e := e.(type) {
				case event.Fetched:
					if e.URL.String() == "http://"+address {
						got += "fetched|"
					}
				case event.Failed:
					if e.URL.String() != "http://"+address {
						return
					}
					if got += "failed " + string(e.Reason); e.Retry {
						got += ", again"
					}
					got += "|"
				}
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if kept := archive[address+" "]; got != want || kept != strings.Count(got, "fetched") {
				t.Errorf("after %d times: %s, archived %d times; want %s", times, got, kept, want)
			}
		}
	})
}

var _ crawl.Archive = countArchive{}
