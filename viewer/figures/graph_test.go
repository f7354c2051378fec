package figures

import (
	"maps"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A link that is redirected leads from the host of the page that has it to that of the page that
// came, whatever is between.
func TestGraphFollowsRedirects(t *testing.T) {
	c := New()
	moved := func(from, via, to string) event.Failed {
		f := event.Failed{At: at(2), Visit: event.Visit{URL: addr(t, via)}, Reason: web.ReasonRedirect, Status: 301, To: addr(t, to), Queued: true}
		if from != "" {
			f.From = addr(t, from)
		}
		return f
	}
	page := func(from, u string) event.Fetched {
		f := event.Fetched{At: at(3), Visit: event.Visit{URL: addr(t, u)}, Status: 200, Relevance: 1, Relevant: true}
		if from != "" {
			f.From = addr(t, from)
		}
		return f
	}
	for i, e := range []event.Event{
		event.Started{At: at(0), Threshold: 0.5},
		moved("", "http://a.test/", "https://a.test/"), page("http://a.test/", "https://a.test/"),
		moved("https://a.test/", "https://short.test/1", "https://www.short.test/1"),
		moved("https://short.test/1", "https://www.short.test/1", "https://b.test/1"), page("https://www.short.test/1", "https://b.test/1"),
		moved("https://a.test/", "http://b.test/2", "https://b.test/2"), page("http://b.test/2", "https://b.test/2"),
		page("https://b.test/2", "https://short.test/about"),
		page("https://short.test/about", "https://a.test/3"),
		moved("", "https://seed.test/", "https://b.test/4"), page("https://seed.test/", "https://b.test/4"),
	} {
		c.Add(e, int64(i))
	}
	g := c.Graph(10)
	got := map[string]int{}
	for _, l := range g.Links {
		got[string(g.Hosts[l.From].Host+" "+g.Hosts[l.To].Host)] = l.Relevant
	}
	want := map[string]int{"a.test b.test": 2, "b.test short.test": 1, "short.test a.test": 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, h := range g.Hosts {
		if led := map[web.Host]int{"a.test": 2, "b.test": 1, "short.test": 1}[h.Host]; h.Led != led {
			t.Errorf("%s led to %d, want %d", h.Host, h.Led, led)
		}
	}
}
