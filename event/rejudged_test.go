package event

import (
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
		for e := range Renewed(log, log) {
			if p, ok := e.(Fetched); ok && (p.Reason != tt.want || p.Relevant != tt.relevant) {
				t.Errorf("left out for %q and called relevant %v: reason %q, relevant %v; want %q, %v", tt.reason, tt.said, p.Reason, p.Relevant, tt.want, tt.relevant)
			}
		}
	}
}
