package event

import (
	"cmp"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// A page that was left out for what it is counts once it is called relevant; a copy of another page
// stays out, whatever is said of it.
func TestRenewedReasons(t *testing.T) {
	u := addr("http://bees.example/1")
	for _, tt := range []struct {
		reason   web.Reason
		said     bool
		want     web.Reason
		relevant bool
	}{
		{"", true, "", true},
		{"", false, "", false},
		{web.ReasonLinksOnly, true, "", true},
		{web.ReasonLinksOnly, false, web.ReasonLinksOnly, false},
		{web.ReasonLogin, true, "", true},
		{web.ReasonLogin, false, web.ReasonLogin, false},
		{web.ReasonDuplicate, true, web.ReasonDuplicate, false},
		{web.ReasonNearCopy, true, web.ReasonNearCopy, false},
		{web.ReasonNearCopy, false, web.ReasonNearCopy, false},
	} {
		log := sequence([]Event{
			Fetched{Visit: Visit{URL: u}, Reason: tt.reason},
			Rejudged{Pages: []Verdict{{URL: u, Relevance: 1, Relevant: tt.said}}},
		}, nil)
		pages := 0
		for e := range Renewed(log, log) {
			p, ok := e.(Fetched)
			if !ok {
				continue
			}
			pages++
			if p.Reason != tt.want || p.Relevant != tt.relevant || cmp.Or(p.Reason, p.Overruled) != tt.reason {
				t.Errorf("left out for %q and called relevant %v: reason %q, relevant %v; want %q, %v", tt.reason, tt.said, p.Reason, p.Relevant, tt.want, tt.relevant)
			}
		}
		if pages != 1 {
			t.Errorf("%d pages", pages)
		}
	}
}
