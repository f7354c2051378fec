package figures

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Figures are those of a whole crawl.
type Figures struct {
	Name      string  `json:"name"`
	Scorer    string  `json:"scorer"`
	Judge     string  `json:"judge"`
	Threshold float64 `json:"threshold"`
	Pages     int     `json:"pages"`
	Relevant  int     `json:"relevant"`
	Budget    int     `json:"budget"`  // pages; 0 = no limit
	Limit     float64 `json:"limit"`   // seconds; 0 = no limit
	Harvest   float64 `json:"harvest"` // share of relevant pages, [0,1]
	Recent    float64 `json:"recent"`  // of the last 200 pages
	// Next is how many relevant pages are expected among the next 100; nil before there
	// is a forecast.
	Next *Forecast `json:"next,omitempty"`

	Bytes    int64 `json:"bytes"`
	Requests int   `json:"requests"`
	Links    int   `json:"links"`   // on all pages
	Queued   int   `json:"queued"`  // that entered the frontier
	Waiting  int   `json:"waiting"` // there, or being fetched
	Muted    int   `json:"muted"`   // links that mutes set aside: they wait again once none holds for them
	Hosts    int   `json:"hosts"`   // that gave a page
	Known    int   `json:"known"`   // hosts of which anything is known
	Failed   int   `json:"failed"`  // of all hosts
	// Unrecorded are addresses that a recorded web does not have.
	Unrecorded int `json:"unrecorded,omitempty"`
	Skipped    int `json:"skipped"`
	// Logins are pages that ask for a login; see event.Summary.Logins. LoginsHelp says what helps.
	Logins     int    `json:"logins,omitempty"`
	LoginsHelp string `json:"logins_help,omitempty"`
	Retries    int    `json:"retries"`
	Workers    int    `json:"workers"`
	Runs       int    `json:"runs"`
	// Outage says that the network is down, and Outages how often it was.
	Outages int       `json:"outages"`
	Elapsed float64   `json:"elapsed"` // seconds of all runs
	Speed   float64   `json:"speed"`   // pages a second over the last minute of the log
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	// Ended says how the last run ended, and EndedWords say it to people; "" while it runs or if it
	// was killed.
	Ended      event.Ending `json:"ended"`
	EndedWords string       `json:"ended_words"`
	Doubts     []string     `json:"doubts,omitempty"`
	DoubtsAt   int          `json:"doubts_at,omitempty"` // how many pages there were when they were told
	// NotKept counts pages by why they are no harvest.
	NotKept map[web.Reason]int `json:"not_kept,omitempty"`
}

// Forecast is of the relevant pages among the next ones.
type Forecast struct {
	Pages int     `json:"pages"`
	Mean  float64 `json:"mean"`
	Low   int     `json:"low"`
	High  int     `json:"high"`
	Least int     `json:"least"` // relevant ones that can still be reached, at the least
}

// Figures returns those of the events so far. What is added later does not change them.
func (c *Crawl) Figures() Figures {
	s := &c.sum
	f := Figures{
		Name: event.Line(s.Name), Scorer: event.Line(s.Scorer), Judge: event.Line(s.Judge), Threshold: c.threshold,
		Pages: len(c.pages), Relevant: c.relevant, Budget: s.Budget, Limit: s.Limit.Seconds(), Recent: c.rate(len(c.pages)),
		Bytes: s.Bytes, Requests: s.Requests, Links: s.Links, Queued: s.Queued, Waiting: c.waiting, Muted: c.muted, Hosts: s.Hosts(), Known: len(c.hosts),
		Retries: s.Retries, Workers: s.Workers, Runs: s.Runs, Outages: s.Outages, Elapsed: s.Elapsed(s.Last).Seconds(), Speed: c.speed(),
		First: s.First, Last: s.Last, Ended: s.How, EndedWords: s.How.WithMuted(c.muted), NotKept: maps.Clone(s.NotKept),
	}
	for _, d := range s.Doubts {
		f.Doubts, f.DoubtsAt = append(f.Doubts, event.Line(d)), s.DoubtsAt
	}
	if f.Pages > 0 {
		f.Harvest = float64(f.Relevant) / float64(f.Pages)
	}
	for r, n := range s.Failures {
		if r == web.ReasonRecord {
			f.Unrecorded += n
		} else {
			f.Failed += n
		}
	}
	for _, n := range s.Skipped {
		f.Skipped += n
	}
	if f.Logins = s.Logins(); f.Logins > 0 {
		f.LoginsHelp = event.LoginsHelp
	}
	if next := c.forecast(); next.Ready() && c.waiting > 0 {
		low, high := next.Interval(event.GainPages)
		f.Next = &Forecast{event.GainPages, next.Mean(event.GainPages), low, high, next.Least()}
	}
	return f
}

// forecastPages is how many of the last pages a forecast looks at: all before them together
// change it by less than 10⁻⁶ pages.
const forecastPages = 2000

// forecast tells what the next pages bring, by the verdicts that hold.
func (c *Crawl) forecast() (f event.Forecast) {
	for i := max(0, len(c.pages)-forecastPages); i < len(c.pages); i++ {
		f.Add(c.pages[i].relevant)
	}
	return f
}

// Threshold is the judge's, as told last.
func (c *Crawl) Threshold() float64 { return c.threshold }

// speed is the pages a second in the last minute of the log.
func (c *Crawl) speed() float64 {
	n := len(c.pages)
	if n < 2 {
		return 0
	}
	end := c.sum.Last.UnixNano()
	from := sort.Search(n, func(i int) bool { return c.pages[i].at > end-int64(time.Minute) })
	if from > n-2 {
		return 0
	}
	span := time.Duration(end - c.pages[from].at).Seconds()
	return float64(n-from) / max(span, 1)
}

// rate is the share of relevant pages among the last event.Window of the first n.
func (c *Crawl) rate(n int) float64 {
	from := max(0, n-event.Window)
	if n == from {
		return 0
	}
	return float64(c.good.count(from, n)) / float64(n-from)
}

// Curve is the harvest over the pages fetched. Shape of all: [points].
type Curve struct {
	Pages    []int     `json:"pages"`
	Relevant []int     `json:"relevant"` // among these
	Recent   []float64 `json:"recent"`   // share of relevant ones among the last 200 pages
	At       []float64 `json:"at"`       // moment of the last of them, seconds of Unix time
}

// Curve returns at most n points of the harvest, evenly spread over the pages, the
// first and the last among them.
func (c *Crawl) Curve(n int) Curve {
	out := Curve{Pages: []int{}, Relevant: []int{}, Recent: []float64{}, At: []float64{}}
	all := len(c.pages)
	n = min(n, all)
	if n < 1 {
		return out
	}
	done, relevant := 0, 0
	for k := range n {
		to := all
		if n > 1 {
			to = 1 + k*(all-1)/(n-1)
		}
		relevant += c.good.count(done, to)
		done = to
		out.Pages = append(out.Pages, to)
		out.Relevant = append(out.Relevant, relevant)
		out.Recent = append(out.Recent, c.rate(to))
		out.At = append(out.At, float64(c.pages[to-1].at)/1e9)
	}
	return out
}

// Host is what a host gave.
type Host struct {
	Host     web.Host  `json:"host"`
	Pages    int       `json:"pages"`
	Relevant int       `json:"relevant"`
	Failed   int       `json:"failed"`
	Waiting  int       `json:"waiting"`
	Bytes    int64     `json:"bytes"`
	Took     float64   `json:"took"` // seconds a page, in the mean
	Last     time.Time `json:"last,omitzero"`
	Down     bool      `json:"down,omitempty"`
}

// Hosts returns at most n hosts from a place on in an order: "relevant", "pages",
// "rate", "waiting", "failed", "bytes", "took" or "host"; all is how many there are whose
// name holds a text.
func (c *Crawl) Hosts(order, holds string, from, n int) (list []Host, all int) {
	top := &best{most: max(0, from) + max(0, n), less: func(i, j int32) bool {
		a, b := &c.hosts[i], &c.hosts[j]
		// Not by cmp.Or, which would compare the names of all.
		if d := a.compare(b, order); d != 0 {
			return d < 0
		}
		if a.relevant != b.relevant {
			return a.relevant > b.relevant
		}
		if a.pages != b.pages {
			return a.pages > b.pages
		}
		return a.name < b.name
	}}
	word := newFolded(holds)
	for i := range c.hosts {
		if holds == "" || word.in([]byte(c.hosts[i].name)) {
			top.add(int32(i))
			all++
		}
	}
	list = []Host{}
	for _, i := range slice(top.sorted(), from, n) {
		list = append(list, c.hosts[i].show())
	}
	return list, all
}

// slice is the n elements of s from a place on, as far as there are any.
func slice[E any](s []E, from, n int) []E {
	from = min(max(0, from), len(s))
	return s[from:min(len(s), from+max(0, n))]
}

func (h *host) show() Host {
	out := Host{Host: h.name, Pages: h.pages, Relevant: h.relevant, Failed: h.failed, Waiting: h.waiting, Bytes: h.bytes, Down: h.down}
	if h.pages > 0 {
		out.Took = h.tookSum / float64(h.pages)
	}
	if h.last != 0 {
		out.Last = time.Unix(0, h.last).UTC()
	}
	return out
}

func (h *host) compare(b *host, order string) int {
	share := func(n float64, of int) float64 { return n / max(1, float64(of)) }
	switch order {
	case "pages":
		return cmp.Compare(b.pages, h.pages)
	case "rate":
		return cmp.Compare(share(float64(b.relevant), b.pages), share(float64(h.relevant), h.pages))
	case "waiting":
		return cmp.Compare(b.waiting, h.waiting)
	case "failed":
		return cmp.Compare(b.failed, h.failed)
	case "bytes":
		return cmp.Compare(b.bytes, h.bytes)
	case "took":
		return cmp.Compare(share(b.tookSum, b.pages), share(h.tookSum, h.pages))
	case "host":
		return cmp.Compare(h.name, b.name)
	}
	return 0
}

// Cause is a reason with how often it occurred, in words, and its last examples.
type Cause struct {
	Reason   web.Reason `json:"reason"`
	Brief    string     `json:"brief"`
	Meaning  string     `json:"meaning"`
	Count    int        `json:"count"`
	Examples []Example  `json:"examples"`
}

// Failures are the reasons for which fetches brought no page, the commonest first.
func (c *Crawl) Failures() []Cause { return causes(c.failed) }

// Skips are the reasons for which links never entered the frontier.
func (c *Crawl) Skips() []Cause { return causes(c.skipped) }

func causes(all map[web.Reason]*Examples) []Cause {
	out := []Cause{}
	for r, x := range all {
		out = append(out, Cause{r, event.Line(r.Brief()), event.Line(r.Meaning()), x.Count, x.Last()})
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Bin is the links that wait with a priority from From up to To.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// Waiting is the frontier by priority, in at most n bins of equal width; seeds, and links that a
// person put before others, whose priorities are beyond any other, are counted apart. Priorities are those with which the
// links were found: a scorer may think otherwise by now.
func (c *Crawl) Waiting(n int) (bins []Bin, boosted, seeds int) {
	bins = []Bin{}
	rest := c.waitings // in the order of priorities
	above := func(least float64) (links int) {
		for len(rest) > 0 && decode(rest[len(rest)-1].code) >= least {
			links += int(rest[len(rest)-1].links)
			rest = rest[:len(rest)-1]
		}
		return links
	}
	seeds, boosted = above(seedPriority), above(boostedPriority)
	if len(rest) == 0 || n < 1 {
		return bins, boosted, seeds
	}
	low, high := decode(rest[0].code), decode(rest[len(rest)-1].code)
	n = min(n, len(rest))
	width := (high - low) / float64(n)
	for i := range n {
		bins = append(bins, Bin{From: low + float64(i)*width, To: low + float64(i+1)*width})
	}
	for _, w := range rest {
		i := n - 1
		if width > 0 {
			i = min(i, int((decode(w.code)-low)/width))
		}
		bins[i].Count += int(w.links)
	}
	return bins, boosted, seeds
}

// seedPriority is less than that of any seed, and more than a scorer gives.
const seedPriority = 1e29

// boostedPriority is half of what a boost, or a wish for more like a page, adds to a priority.
const boostedPriority = 1e9 / 2
