package crawl

import "github.com/waggle-crawler/waggle/web"

// LeadingScorer is implemented by scorers that learn from what a page led to.
type LeadingScorer interface {
	// Led teaches that a page led to something wanted: its worth, in (0,1], where Visit
	// was told of the page itself. c is the link by which the page was reached.
	Led(c *web.Candidate, worth float64)
}

// leads are the pages that are fetched for their links alone: where documents are
// wanted and pages are the way, and sitemaps and feeds. What such a page says is worth
// little by itself. When it leads to something wanted, the link to it is taught to the
// scorer as one that is worth following, and the link to the page before it as half
// of that; so pages like it come sooner.
//
//	list.html ──► report.html ──► paper.pdf, wanted
//	   ½              1
type leads struct {
	types  map[string]bool // media types of such pages
	scorer LeadingScorer   // nil where there are none, or the scorer learns nothing of it
	at     map[web.URL]*lead
	ring   []web.URL
	next   int
	// Sitemaps queued in this run, by host.
	sitemaps map[web.Host]int
	// Documents fetched in this run where pages are only the way, and how many of them
	// were wanted, by host; nil where pages count.
	documents map[web.Host]tally
	// Links to documents that wait, and go by the priority of the page that holds them.
	tried map[web.URL]float64
}

type tally struct{ fetched, wanted int }

// lead is a page that may lead to something.
type lead struct {
	link  web.Candidate
	times int // it was rewarded
}

const (
	mostLeads   = 4096 // remembered, those fetched last
	mostRewards = 3    // of one page: many wanted documents are little more than three
	wayShare    = 0.25 // of the relevance of a page that is only a way
)

func newLeads(types []string, s Scorer) leads {
	l := leads{types: newSet(types), sitemaps: make(map[web.Host]int)}
	if len(types) > 0 {
		l.scorer, _ = s.(LeadingScorer)
		l.at = make(map[web.URL]*lead)
	}
	if l.types["text/html"] {
		l.documents, l.tried = make(map[web.Host]tally), make(map[web.URL]float64)
	}
	return l
}

// worth is what a scorer is told of a page.
func (l *leads) worth(v web.Verdict, linksOnly bool) web.Verdict {
	if linksOnly {
		v.Relevance *= wayShare
		v.Relevant = false
	}
	return v
}

// Documents of a host that are tried before it is known whether they are wanted, and the
// share of them that has to be for more to be tried.
const (
	triedDocuments  = 5
	wantedDocuments = 0.25
)

// tries tells whether an address that names a document is worth as much as the page that holds
// it: nothing is known yet of documents of its host, or many are wanted. A page is fetched for the
// documents that it leads to, and what a scorer learns of pages tells nothing of those.
func (l *leads) tries(u web.URL) bool {
	return l.documents != nil && len(l.tried) < mostLeads && l.promising(u.Host())
}

// try notes that a link to a document enters the frontier with the priority of the page that
// holds it.
func (l *leads) try(c *web.Candidate) {
	if p, ok := l.tried[c.URL]; !ok || p < c.Priority {
		l.tried[c.URL] = c.Priority
	}
}

// promising tells whether documents of a host are tried.
func (l *leads) promising(h web.Host) bool {
	n := l.documents[h]
	return n.fetched < triedDocuments || float64(n.wanted) >= wantedDocuments*float64(n.fetched)
}

// rank is the priority of a link, given what it would be otherwise.
func (l *leads) rank(u web.URL, priority float64) float64 {
	if len(l.tried) == 0 {
		return priority
	}
	if p, ok := l.tried[u]; ok && p > priority && l.promising(u.Host()) {
		return p
	}
	return priority
}

// arrive takes in a page that was reached by c.
func (l *leads) arrive(c *web.Candidate, linksOnly, wanted bool) {
	if !linksOnly {
		l.document(c.URL, wanted)
	}
	if l.note(c, linksOnly); wanted {
		l.reward(c)
	}
}

// document counts a document.
func (l *leads) document(u web.URL, wanted bool) {
	if l.documents == nil {
		return
	}
	n := l.documents[u.Host()]
	if n.fetched++; wanted {
		n.wanted++
	}
	l.documents[u.Host()] = n
}

// note remembers by which link a page was reached.
func (l *leads) note(c *web.Candidate, linksOnly bool) {
	if l.scorer == nil || !linksOnly {
		return
	}
	if len(l.ring) < mostLeads {
		l.ring = append(l.ring, c.URL)
	} else {
		delete(l.at, l.ring[l.next])
		l.ring[l.next] = c.URL
		l.next = (l.next + 1) % mostLeads
	}
	l.at[c.URL] = &lead{link: *c}
}

// reward teaches that the pages on the way to c led to something wanted.
func (l *leads) reward(c *web.Candidate) {
	if l.scorer == nil {
		return
	}
	worth := 1.
	for from := c.From; worth >= 0.5; worth /= 2 {
		page, ok := l.at[from]
		if !ok || page.times >= mostRewards {
			return
		}
		page.times++
		l.scorer.Led(&page.link, worth)
		from = page.link.From
	}
}

func newSet[T comparable](of []T) map[T]bool {
	m := make(map[T]bool, len(of))
	for _, x := range of {
		m[x] = true
	}
	return m
}
