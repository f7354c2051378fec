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

// A page of which a judge says that it is no longer wanted stays out under any threshold, and when
// more is said of it, until it is called relevant.
func TestReasonOfVerdict(t *testing.T) {
	u := addr("http://bees.example/1")
	out := Verdict{URL: u, Relevance: .8, Was: true, Reason: web.ReasonLinksOnly}
	for name, tt := range map[string]struct {
		later    []Verdict
		want     web.Reason
		relevant bool
	}{
		"nothing more":           {nil, web.ReasonLinksOnly, false},
		"more relevant":          {[]Verdict{{URL: u, Relevance: .9}}, web.ReasonLinksOnly, false},
		"relevant":               {[]Verdict{{URL: u, Relevance: .9, Relevant: true}}, "", true},
		"relevant, and then not": {[]Verdict{{URL: u, Relevance: .9, Relevant: true}, {URL: u, Relevance: .9, Was: true}}, web.ReasonLinksOnly, false},
		"wanted again":           {[]Verdict{{URL: u, Relevance: .9, Wanted: true}}, "", true},
		"wanted again, below":    {[]Verdict{{URL: u, Relevance: .1, Wanted: true}}, "", false},
		"wanted again, and more": {[]Verdict{{URL: u, Relevance: .1, Wanted: true}, {URL: u, Relevance: .9}}, "", true},
		"wanted again, and then not": {[]Verdict{{URL: u, Relevance: .9, Wanted: true}, {URL: u, Relevance: .9, Reason: web.ReasonLinksOnly}},
			web.ReasonLinksOnly, false},
		"by a person, at that time": {[]Verdict{{URL: u, Relevance: 1, Relevant: true, Reason: web.ReasonLinksOnly}}, "", true},
	} {
		events := []Event{Fetched{Visit: Visit{URL: u}, Relevance: .8, Relevant: true}, Rejudged{Judge: "topic", Threshold: .5, Pages: []Verdict{out}}}
		for _, v := range tt.later {
			events = append(events, Rejudged{Pages: []Verdict{v}})
		}
		log := sequence(events, nil)
		for e := range Under(.4, Renewed(log, log)) {
			if p, ok := e.(Fetched); ok && (p.Reason != tt.want || p.Relevant != tt.relevant) {
				t.Errorf("%s: reason %q, relevant %v; want %q, %v", name, p.Reason, p.Relevant, tt.want, tt.relevant)
			}
		}
		x, err := Explain(log, u)
		if err != nil || x.Reason != tt.want {
			t.Errorf("%s: explained by %q, %v; want %q", name, x.Reason, err, tt.want)
		}
	}
}
