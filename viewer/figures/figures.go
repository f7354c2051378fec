// Package figures folds the events of a crawl into what a person who watches it is
// shown: its pages, hosts, failures, links that wait, and harvest. Events come one by
// one, so the figures of a running crawl grow with its log. At any moment they are
// those of the events so far, however these were parted; they hold at most 350 bytes for
// each page and 55 for each link that waits, see TestMemoryOfFigures.
package figures

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Crawl is the figures of one crawl. New makes one. It is not for concurrent use.
type Crawl struct {
	sum    event.Summary
	scorer string
	pages  []page
	texts  texts
	hosts  []host
	hostID map[web.Host]uint32
	words  words
	byURL  map[uint64]int32 // the page of an address, by its hash
	links  map[uint64]link  // what became of an address that is no page, by its hash

	moved map[uint64]redirect // by the hash of the address that leads on

	passed   cursor
	copies   copies        // pages that repeat another
	good     bitset        // the pages that are relevant
	leads    map[pair]lead // pages of one host that were found on another
	waitings tally         // links that wait, by priority, see encode
	typed    []int         // pages by media type. Shape: [word]
	spoken   []int         // pages by language. Shape: [word]

	failed, skipped map[web.Reason]*Examples
	changes         []event.Changed
	acts            []event.Act
	labels          map[uint64][]int // numbers of the labels of a page that hold, by the hash of its address
	earlier         int              // of acts, those of earlier runs
	threshold       float64
	told            bool // the crawl was given another threshold than it had
	relevant        int
	waiting         int
	muted           int // links that mutes set aside
	traps           int
	lines           int // events added
}

// page is a page that was fetched.
type page struct {
	line       int64 // offset of its event in the log
	at         int64 // nanoseconds of Unix time
	text       int64 // its address and title, see texts
	from       uint64
	relevance  float64
	similarity float32
	priority   float32
	took       float32 // seconds
	bytes      uint32
	host       uint32
	fromHost   uint32 // of the page that it was found on, before any redirects; noHost for a seed
	depth      uint16
	status     uint16
	mime       uint16 // a word
	language   uint16 // a word
	reason     uint16 // a word; 0 = it is part of the harvest if it is relevant
	overruled  bool   // the last verdict overrules the reason
	wanted     bool   // see event.Verdict
	came       bool   // it was relevant when it came
	relevant   bool
	cut        bool
}

// leftOut tells whether the page is no harvest whatever its relevance.
func (p *page) leftOut() bool { return p.reason != 0 && !p.overruled }

// redirect is an address that leads on to another.
type redirect struct {
	line     int64  // offset of its event in the log
	fromHost uint32 // as that of a page
}

// noHost stands for the host of nothing.
const noHost = ^uint32(0)

type host struct {
	name          web.Host
	pages, failed int
	relevant      int
	led           int // relevant pages of other hosts that were found on its pages
	waiting       int
	waitings      tally // the same by priority, see encode
	bytes         int64
	first, last   int64 // nanoseconds of Unix time
	tookSum       float64
	down          bool
	generation    uint8  // how often all that waited for it was dropped; after 255, 0: see forget
	why           uint16 // the last time; a word
}

// link is what became of an address that is no page.
type link struct {
	what       uint16 // of one that waits its priority, see encode; else the reason, a word
	state      linkState
	generation uint8 // of its host, when it came to wait
	host       uint32
}

type linkState uint8

const (
	linkWaits linkState = iota + 1
	linkLeft            // left the frontier unfetched
	linkFailed
	linkMoved
	linkMuted      // left the frontier, as its place was muted
	linkMutedFound // was found in a muted place, and never queued
)

// aside tells whether a mute keeps the link from the frontier.
func (l link) aside() bool { return l.state == linkMuted || l.state == linkMutedFound }

// New returns the figures of a crawl of which nothing is known.
func New() *Crawl {
	return &Crawl{
		hostID: map[web.Host]uint32{}, words: newWords(), byURL: map[uint64]int32{}, links: map[uint64]link{}, moved: map[uint64]redirect{}, leads: map[pair]lead{}, copies: newCopies(),
		failed: map[web.Reason]*Examples{}, skipped: map[web.Reason]*Examples{},
	}
}

// Events is how many events were added.
func (c *Crawl) Events() int { return c.lines }

// Pages is the number of pages fetched.
func (c *Crawl) Pages() int { return len(c.pages) }

// hash stands for an address: among 10⁸ two share one with a probability below 0.1 %.
func hash(u web.URL) uint64 { return xxh3.HashString(u.String()) }

// Add takes the next event of the log, which begins at an offset there.
func (c *Crawl) Add(e event.Event, offset int64) {
	c.sum.Add(e)
	c.lines++
	switch e := e.(type) {
	case event.Started:
		c.earlier = len(c.acts)
		c.scorer = e.Scorer
		if !c.told {
			c.threshold = e.Threshold
		}
	case event.Changed:
		c.changed(e)
	case event.Seeded:
		c.found(e.Queued)
		c.left(e.At.At, web.URL{}, e.Skipped)
	case event.Received:
		c.found(e.Queued)
		c.left(e.At.At, e.From, e.Skipped)
	case event.Fetched:
		c.fetched(e, offset)
	case event.Failed:
		c.failure(e, offset)
	case event.Dropped:
		c.dropped(e)
	case event.HostDown:
		c.hosts[c.host(e.Host)].down = !e.Over
	case event.Trap:
		c.traps++
	case event.Rejudged:
		c.rejudged(e)
	case event.Act:
		c.acts = append(c.acts, e)
		c.label(e)
		c.set(e)
	}
}

// Knows tells whether a host, or one below it, is known: one that gave a page, failed, or of
// which links were found.
func (c *Crawl) Knows(host string) bool {
	for i := range c.hosts {
		if name := string(c.hosts[i].name); name == host || strings.HasSuffix(name, "."+host) {
			return true
		}
	}
	return false
}

// set notes another budget or delay that an act set, or that undoing one set back: of other settings
// a Changed tells.
func (c *Crawl) set(a event.Act) {
	about, earlier := a, c.acts[:len(c.acts)-1]
	if a.Do == event.Undo && a.Act > 0 && a.Act <= len(earlier) {
		about = earlier[a.Act-1]
	}
	x := event.Changed{At: a.At}
	switch {
	case a.Refused != "":
		return
	case about.Do == event.Budget:
		now, _ := event.BudgetAfter(c.acts)
		was, ok := event.BudgetAfter(earlier)
		if !ok {
			was = a.Was
		}
		x.Setting, x.Old, x.New = "budget.pages", strconv.Itoa(was), strconv.Itoa(now)
	case about.Do == event.Delay:
		now, _ := event.DelayAfter(c.acts)
		was, ok := event.DelayAfter(earlier)
		if !ok {
			was, _ = time.ParseDuration(a.Before)
		}
		x.Setting, x.Old, x.New = "politeness.delay", was.String(), now.String()
	}
	if x.Old != x.New {
		c.changes = append(c.changes, x)
	}
}

// Paused tells whether the run is paused by an act.
func (c *Crawl) Paused() bool { return c.sum.Held() }

// label notes which labels hold.
func (c *Crawl) label(a event.Act) {
	switch {
	case a.Refused != "":
	case a.Label():
		if c.labels == nil {
			c.labels = map[uint64][]int{}
		}
		id := hash(a.URL)
		c.labels[id] = append(c.labels[id], len(c.acts))
	case a.Do == event.Undo && a.Act > 0 && a.Act <= len(c.acts) && c.acts[a.Act-1].Label():
		id := hash(c.acts[a.Act-1].URL)
		c.labels[id] = slices.DeleteFunc(c.labels[id], func(n int) bool { return n == a.Act })
	}
}

// changed takes another threshold to all pages.
func (c *Crawl) changed(e event.Changed) {
	c.changes = append(c.changes, e)
	v, err := strconv.ParseFloat(e.New, 64)
	if e.Setting != event.SettingThreshold || err != nil {
		return
	}
	c.threshold, c.told = v, true
	for i := range c.pages {
		c.judge(i, c.pages[i].relevance >= v)
	}
}

// judge sets whether page i, from 0, is relevant.
func (c *Crawl) judge(i int, relevant bool) {
	p := &c.pages[i]
	relevant = relevant && !p.leftOut()
	if relevant == p.relevant {
		return
	}
	d := 1
	if p.relevant {
		d = -1
	}
	p.relevant = relevant
	c.good.set(i, relevant)
	c.relevant += d
	c.hosts[p.host].relevant += d
	if p.leads() {
		c.hosts[p.fromHost].led += d
		k := pair{p.fromHost, p.host}
		l := c.leads[k]
		l.relevant += d
		c.leads[k] = l
	}
}

// leads tells whether the page was found on one of another host.
func (p *page) leads() bool { return p.fromHost != noHost && p.fromHost != p.host }

func (c *Crawl) rejudged(e event.Rejudged) {
	if e.Judge != "" {
		c.threshold, c.told = e.Threshold, false
	}
	for _, v := range e.Pages {
		i, ok := c.byURL[hash(v.URL)]
		if !ok {
			continue
		}
		p := &c.pages[i]
		p.relevance, p.similarity = v.Relevance, float32(v.Similarity)
		last := v.After(event.Verdict{Reason: web.Reason(c.words.list[p.reason]), Wanted: p.wanted})
		p.reason, p.wanted = c.words.number(string(last.Reason)), last.Wanted
		p.overruled = last.Overrules(last.Reason)
		c.judge(int(i), v.Relevant)
	}
}

// host is the number of a host, a new one if it was not known.
func (c *Crawl) host(h web.Host) uint32 {
	id, ok := c.hostID[h]
	if !ok {
		id = uint32(len(c.hosts))
		c.hosts = append(c.hosts, host{name: h})
		c.hostID[h] = id
	}
	return id
}

func (c *Crawl) fetched(e event.Fetched, offset int64) {
	id := hash(e.URL)
	c.ended(id)
	p := page{
		line: offset, at: e.At.At.UnixNano(), text: c.texts.add(e.URL.String(), event.Line(e.Title)), relevance: e.Relevance,
		similarity: float32(e.Similarity), priority: float32(e.Priority), took: float32(e.Took), bytes: uint32(min(e.Bytes, 1<<32-1)),
		host: c.host(e.URL.Host()), fromHost: noHost, depth: uint16(min(e.Depth, 1<<16-1)), status: uint16(e.Status),
		mime: c.words.number(e.MIME), language: c.words.number(e.Language), reason: c.words.number(string(e.Reason)),
		cut: e.Cut != "" || e.Truncated, came: e.Relevant && e.Reason == "",
	}
	if !e.From.IsZero() {
		p.from, p.fromHost = hash(e.From), c.originHost(e.From)
	}
	h := &c.hosts[p.host]
	h.pages++
	h.bytes += int64(e.Bytes)
	h.tookSum += e.Took
	h.down = false
	h.seen(p.at)
	relevant := e.Relevant
	if c.told {
		relevant = e.Relevance >= c.threshold
	}
	if p.leads() {
		k := pair{p.fromHost, p.host}
		l := c.leads[k]
		l.pages++
		c.leads[k] = l
	}
	count(&c.typed, p.mime)
	count(&c.spoken, p.language)
	i := len(c.pages)
	c.byURL[id] = int32(i)
	c.pages = append(c.pages, p)
	c.repeats(i, &e)
	c.judge(i, relevant)
	c.found(e.Queued)
	c.left(e.At.At, e.URL, e.Skipped)
	if e.Telling > 0 { // of the links themselves nothing is known
		note(c.skipped, web.ReasonTelling, Example{URL: e.URL, At: e.At.At, Detail: "links of this page: " + strconv.Itoa(e.Telling)})
		c.skipped[web.ReasonTelling].Count += e.Telling - 1
	}
}

// originHost is the host of the page on which a link was found, which from is said to be; noHost for
// a seed. Where from is no page but a redirect, the page is the one that links to that.
func (c *Crawl) originHost(from web.URL) uint32 {
	if from.IsZero() {
		return noHost
	}
	id := hash(from)
	if _, page := c.byURL[id]; !page {
		if r, ok := c.moved[id]; ok {
			return r.fromHost
		}
	}
	return c.host(from.Host())
}

func (h *host) seen(at int64) {
	if h.first == 0 {
		h.first = at
	}
	h.last = at
}

func (c *Crawl) failure(e event.Failed, offset int64) {
	id := hash(e.URL)
	h := &c.hosts[c.host(e.URL.Host())]
	h.bytes += int64(e.Bytes)
	h.seen(e.At.At.UnixNano())
	if e.Reason == web.ReasonBusy || e.Outage || e.Retry { // back in the frontier
		if !c.waits(c.links[id]) {
			c.wait(e.URL, id, e.Priority)
		}
		return
	}
	c.ended(id)
	state := linkFailed
	if e.Reason == web.ReasonRedirect || e.Reason == web.ReasonRedirectKnown {
		state = linkMoved
	} else if e.Reason != web.ReasonRecord {
		h.failed++
	}
	if state == linkMoved || !e.To.IsZero() { // a seed without a scheme leads on where https failed
		c.moved[id] = redirect{offset, c.originHost(e.From)}
	}
	if _, page := c.byURL[id]; !page {
		c.links[id] = link{state: state, what: c.words.number(string(e.Reason)), host: c.host(e.URL.Host())}
	}
	if state != linkMoved {
		detail := e.Detail
		if e.Reason == web.ReasonStatus {
			detail = "HTTP " + strconv.Itoa(e.Status)
		}
		note(c.failed, e.Reason, Example{URL: e.URL, From: e.From, Detail: event.Line(detail), At: e.At.At})
	}
	if e.Queued {
		c.wait(e.To, hash(e.To), e.Priority)
	}
}

// found takes links that entered the frontier, or rose in it.
func (c *Crawl) found(l []event.Found) {
	for _, f := range l {
		c.wait(f.URL, hash(f.URL), f.Priority)
	}
}

// waits tells whether a link is in the frontier, or being fetched.
func (c *Crawl) waits(l link) bool {
	return l.state == linkWaits && l.generation == c.hosts[l.host].generation
}

// wait puts an address into the frontier, or gives it another priority there.
func (c *Crawl) wait(u web.URL, id uint64, priority float64) {
	host, code := c.host(u.Host()), encode(priority)
	h := &c.hosts[host]
	if l := c.links[id]; c.waits(l) {
		c.waitings.add(l.what, -1)
		c.hosts[l.host].waitings.add(l.what, -1)
	} else {
		h.waiting++
		c.waiting++
		if l.aside() {
			c.muted--
		}
	}
	c.waitings.add(code, 1)
	h.waitings.add(code, 1)
	c.links[id] = link{state: linkWaits, what: code, generation: h.generation, host: host}
}

// ended takes an address out of the frontier, or from those set aside.
func (c *Crawl) ended(id uint64) {
	l := c.links[id]
	if l.aside() {
		c.muted--
	}
	if c.waits(l) {
		c.hosts[l.host].waiting--
		c.waiting--
		c.waitings.add(l.what, -1)
		c.hosts[l.host].waitings.add(l.what, -1)
	}
	delete(c.links, id)
}

// left counts links that never entered.
func (c *Crawl) left(at time.Time, from web.URL, l []event.Skipped) {
	for _, s := range l {
		note(c.skipped, s.Reason, Example{URL: s.URL, From: from, At: at})
		if s.Reason != web.ReasonMuted && c.muted == 0 {
			continue
		}
		id := hash(s.URL)
		_, page := c.byURL[id]
		switch l := c.links[id]; {
		case l.aside() && s.Reason != web.ReasonMuted:
			c.ended(id)
		case s.Reason == web.ReasonMuted && !page && !l.aside() && !c.waits(l):
			c.links[id] = link{state: linkMutedFound}
			c.muted++
		}
	}
}

func (c *Crawl) dropped(e event.Dropped) {
	reason := c.words.number(string(e.Reason))
	if len(e.URLs) == 0 && e.Host != "" { // all that waited for the host
		h := &c.hosts[c.host(e.Host)]
		c.waiting -= h.waiting
		for _, w := range h.waitings {
			c.waitings.add(w.code, -w.links)
		}
		h.waiting, h.waitings, h.down, h.why = 0, nil, false, reason
		if h.generation++; h.generation == 0 {
			c.forget(e.Host)
		}
		return
	}
	for _, u := range e.URLs {
		id := hash(u)
		if l := c.links[id]; c.waits(l) {
			c.ended(id)
			state := linkLeft
			if e.Reason == web.ReasonMuted {
				state = linkMuted
				c.muted++
			}
			c.links[id] = link{state: state, what: reason, host: l.host}
		}
	}
}

// forget has the links of a host that left it in any earlier generation no longer count as
// waiting: generations begin anew, and a link is to take 8 bytes.
func (c *Crawl) forget(name web.Host) {
	host := c.host(name)
	for id, l := range c.links {
		if l.host == host && l.state == linkWaits {
			c.links[id] = link{state: linkLeft, what: c.hosts[host].why, host: host}
		}
	}
}

// Examples are the last of what had one reason.
type Examples struct {
	Count int
	last  []Example // a ring
	next  int
}

// Example is an address that failed or was skipped.
type Example struct {
	URL    web.URL   `json:"url"`
	From   web.URL   `json:"from,omitzero"` // where it was found; zero for a seed
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// maxExamples are kept of a reason.
const maxExamples = 20

func note(all map[web.Reason]*Examples, r web.Reason, e Example) {
	x := all[r]
	if x == nil {
		x = &Examples{}
		all[r] = x
	}
	x.Count++
	if len(x.last) < maxExamples {
		x.last = append(x.last, e)
		return
	}
	x.last[x.next] = e
	x.next = (x.next + 1) % maxExamples
}

// Last are the examples, the latest first.
func (x *Examples) Last() []Example {
	out := slices.Concat(x.last[x.next:], x.last[:x.next])
	slices.Reverse(out)
	return out
}
