package export

import (
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What became of a link is told by what came of it at last: links leave the frontier by their
// addresses, or with all of their host, and may be found again.
func TestFates(t *testing.T) {
	u := address(t, "https://a.test/1")
	queued := event.Received{Queued: []event.Found{{URL: u}}}
	muted := event.Dropped{Reason: web.ReasonMuted, Count: 1, URLs: []web.URL{u}}
	closed := event.Dropped{Reason: web.ReasonHostPages, Host: u.Host(), Count: 1}
	for name, c := range map[string]struct {
		log  []event.Event
		want fate
	}{
		"muted":                      {[]event.Event{queued, muted}, fate{dropped, web.ReasonMuted}},
		"muted, and that undone":     {[]event.Event{queued, muted, queued}, fate{waiting, ""}},
		"muted twice":                {[]event.Event{queued, muted, queued, muted}, fate{dropped, web.ReasonMuted}},
		"muted, and found so":        {[]event.Event{queued, muted, event.Received{Skipped: []event.Skipped{{URL: u, Reason: web.ReasonMuted}}}}, fate{dropped, web.ReasonMuted}},
		"its host closed":            {[]event.Event{queued, closed}, fate{dropped, web.ReasonHostPages}},
		"found when it was open":     {[]event.Event{queued, closed, queued}, fate{waiting, ""}},
		"its host closed twice":      {[]event.Event{queued, closed, queued, closed}, fate{dropped, web.ReasonHostPages}},
		"its host closed, and muted": {[]event.Event{queued, closed, queued, muted}, fate{dropped, web.ReasonMuted}},
		"fetched before":             {[]event.Event{queued, event.Fetched{Visit: event.Visit{URL: u}}, closed}, fate{fetched, ""}},
		"another host closed":        {[]event.Event{queued, event.Dropped{Reason: web.ReasonHostPages, Host: "b.test", Count: 1}}, fate{waiting, ""}},
		"moved to a host that closed": {[]event.Event{
			event.Failed{Visit: event.Visit{URL: address(t, "https://b.test/")}, Reason: web.ReasonRedirect, To: u, Queued: true}, closed}, fate{dropped, web.ReasonHostPages}},
	} {
		t.Run(name, func(t *testing.T) {
			col := collection.At(t.TempDir())
			log, err := event.Open(col.EventLog(), []byte(event.Empty))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range c.log {
				if _, err := log.Append(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			in := &Input{Collections: []collection.Collection{col}}
			f, err := in.fates(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := f.of(u); !ok || got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
