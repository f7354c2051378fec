package figures

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Page is a page in a list.
type Page struct {
	Number     int        `json:"number"` // in the order fetched, from 1
	URL        string     `json:"url"`
	Title      string     `json:"title"` // at most 300 bytes
	Host       web.Host   `json:"host"`
	At         time.Time  `json:"at"`
	Relevance  float64    `json:"relevance"`
	Similarity float64    `json:"similarity"`
	Relevant   bool       `json:"relevant"`
	Status     int        `json:"status"`
	MIME       string     `json:"mime"`
	Language   string     `json:"language"`
	Depth      int        `json:"depth"`
	Bytes      int        `json:"bytes"`
	Took       float64    `json:"took"` // seconds
	Priority   float64    `json:"priority"`
	Reason     web.Reason `json:"reason,omitempty"` // why it is no harvest
	Brief      string     `json:"brief,omitempty"`  // that in words
	Cut        bool       `json:"cut,omitempty"`    // its end is missing
	Label      event.Verb `json:"label,omitempty"`  // what a person said of it, so that no judge decides
	Act        int        `json:"act,omitempty"`    // the number of that act
}

// Filter says which pages of a crawl are listed, and how. The zero Filter lists all, as
// they were fetched.
type Filter struct {
	// Text has words that must all stand in the title or the address, in any case.
	Text string
	// Only are the numbers of pages that a search has found, from 1, the best first; nil =
	// no search. They stay in their order where Order is "".
	Only     []int
	Host     web.Host
	Language string
	MIME     string
	Verdict  string   // "relevant", "other", or "left-out": no harvest for a reason; "" = all
	Least    float64  // relevance from
	Most     *float64 // relevance up to; nil = 1
	Since    time.Time
	Until    time.Time
	Fold     bool    // of pages that repeat one another only the first that is wanted
	CopiesOf web.URL // only the page of this address, and those that repeat it; zero = all
	// Order is "fetched", "relevance", "similarity", "bytes", "took", "depth", "host" or
	// "address"; "" = "fetched".
	Order string
	// Down turns the order round: the largest first.
	Down bool
	From int // pages to pass over
	N    int // pages wanted
}

// List returns the pages that a filter wants, and how many it would list in all.
func (c *Crawl) List(f Filter) (list []Page, all int) {
	numbers, all := c.Numbers(f)
	list = make([]Page, len(numbers))
	for i, n := range numbers {
		list[i] = c.page(n - 1)
	}
	return list, all
}

// Named returns the numbers of the pages of addresses that were fetched, by the hashes of
// these (XXH3, 64 bits), in their order. Other addresses are passed over.
func (c *Crawl) Named(addresses []uint64) []int {
	numbers := make([]int, 0, len(addresses))
	for _, a := range addresses {
		if i, ok := c.byURL[a]; ok {
			numbers = append(numbers, int(i)+1)
		}
	}
	return numbers
}

// Numbers returns the numbers of the pages that a filter wants, and how many it would list
// in all.
func (c *Crawl) Numbers(f Filter) (list []int, all int) {
	m := c.matcher(f)
	m.matchText()
	less := c.less(f)
	if less == nil { // as they come
		ids := slices.Values(f.Only)
		switch {
		case f.Only != nil:
		case f.Down:
			ids = func(yield func(int) bool) {
				for i := len(c.pages); i > 0 && yield(i); i-- {
				}
			}
		default:
			ids = func(yield func(int) bool) {
				for i := 1; i <= len(c.pages) && yield(i); i++ {
				}
			}
		}
		for n := range ids {
			if n < 1 || n > len(c.pages) || !m.is(n-1) {
				continue
			}
			if all >= f.From && len(list) < f.N {
				list = append(list, n)
			}
			all++
			if len(list) == f.N && m.all() { // no need to look at the others
				if f.Fold {
					return list, len(c.pages) - len(c.copies.of)
				}
				return list, len(c.pages)
			}
		}
		return list, all
	}
	top := &best{less: less, most: max(0, f.From) + max(0, f.N)}
	before, follows := c.passed.before(c, f)
	if follows {
		top.most = max(0, f.N)
	}
	deep := f.From > deepFrom && !follows
	take := func(i int) {
		switch {
		case !m.is(i):
			return
		case follows && !less(before, int32(i)):
		case deep:
			top.ids = append(top.ids, int32(i))
		default:
			top.add(int32(i))
		}
		all++
	}
	if f.Only != nil {
		for _, n := range f.Only {
			if n >= 1 && n <= len(c.pages) {
				take(n - 1)
			}
		}
	} else {
		for i := range c.pages {
			take(i)
		}
	}
	var wanted []int32
	switch {
	case follows:
		wanted = top.sorted()
	case deep:
		wanted = ranked(top.ids, less, f.From, f.N)
	default:
		wanted = slice(top.sorted(), f.From, f.N)
	}
	for _, i := range wanted {
		list = append(list, int(i)+1)
	}
	if n := len(wanted); n > 0 {
		c.passed.note(c, f, f.From+n, wanted[n-1])
	}
	return list, all
}

// less is the order of a filter, with pages that are equal by it as they were fetched;
// nil where pages are listed as they come.
func (c *Crawl) less(f Filter) func(i, j int32) bool {
	var by func(a, b *page) int
	switch f.Order {
	case "relevance":
		by = func(a, b *page) int { return cmp.Compare(a.relevance, b.relevance) }
	case "similarity":
		by = func(a, b *page) int { return cmp.Compare(a.similarity, b.similarity) }
	case "bytes":
		by = func(a, b *page) int { return cmp.Compare(a.bytes, b.bytes) }
	case "took":
		by = func(a, b *page) int { return cmp.Compare(a.took, b.took) }
	case "depth":
		by = func(a, b *page) int { return cmp.Compare(a.depth, b.depth) }
	case "host":
		by = func(a, b *page) int { return cmp.Compare(c.hosts[a.host].name, c.hosts[b.host].name) }
	case "address":
		by = func(a, b *page) int {
			x, _ := c.texts.get(a.text)
			y, _ := c.texts.get(b.text)
			return bytes.Compare(x, y)
		}
	case "fetched":
		if f.Only == nil {
			return nil
		}
		by = func(a, b *page) int { return cmp.Compare(a.at, b.at) }
	default:
		return nil
	}
	return func(i, j int32) bool {
		d := by(&c.pages[i], &c.pages[j])
		if f.Down {
			d = -d
		}
		return cmp.Or(d, cmp.Compare(i, j)) < 0
	}
}

// matcher is a filter ready for the pages of a crawl.
type matcher struct {
	*Crawl
	Filter
	words          []folded
	host           uint32
	mime, language uint16
	none           bool     // no page can match
	copied         int32    // the page of Filter.CopiesOf; -1 = of any
	since, until   int64    // as page.at
	holds          []uint16 // by page, how many of the words its texts hold; nil = to be looked at. Shape: [page]
	wanted         []bool   // by page, whether it is; nil = to be looked at. Shape: [page]
}

func (c *Crawl) matcher(f Filter) *matcher {
	m := &matcher{Crawl: c, Filter: f, host: noHost, copied: -1, since: math.MinInt64, until: math.MaxInt64}
	for _, word := range strings.Fields(f.Text) {
		m.words = append(m.words, newFolded(word))
	}
	if !f.CopiesOf.IsZero() {
		i, ok := c.copied(f.CopiesOf)
		m.copied, m.none = i, m.none || !ok
	}
	if f.Host != "" {
		id, ok := c.hostID[f.Host]
		m.host, m.none = id, m.none || !ok
	}
	if f.MIME != "" {
		n, ok := c.words.by[f.MIME]
		m.mime, m.none = n, m.none || !ok
	}
	if f.Language != "" {
		n, ok := c.words.by[f.Language]
		m.language, m.none = n, m.none || !ok
	}
	if !f.Since.IsZero() {
		m.since = nanoseconds(f.Since)
	}
	if !f.Until.IsZero() {
		m.until = nanoseconds(f.Until)
	}
	return m
}

// nanoseconds are those from 1970 to a moment; before 1678 and after 2262, as many as an int64 holds.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// all tells whether every page is wanted.
func (m *matcher) all() bool {
	f := m.Filter
	return f.Only == nil && f.Text == "" && f.Host == "" && f.Language == "" && f.MIME == "" && f.Verdict == "" &&
		f.Least == 0 && f.Most == nil && f.Since.IsZero() && f.Until.IsZero() && f.CopiesOf.IsZero()
}

// is tells whether page i, from 0, is wanted.
func (m *matcher) is(i int) bool {
	if m.wanted != nil {
		return m.wanted[i]
	}
	if !m.matches(i) {
		return false
	}
	if m.Fold && m.pages[i].leftOut() {
		of, copied := m.copies.of[int32(i)]
		return !copied || !m.matches(int(of))
	}
	return true
}

// matches tells whether page i is wanted, whatever it repeats.
func (m *matcher) matches(i int) bool {
	p := &m.pages[i]
	switch {
	case m.none,
		m.copied >= 0 && !m.isCopy(i),
		m.host != noHost && p.host != m.host,
		m.mime != 0 && p.mime != m.mime,
		m.language != 0 && p.language != m.language,
		p.relevance < m.Least,
		m.Most != nil && p.relevance > *m.Most,
		p.at < m.since,
		p.at > m.until,
		m.Verdict == "relevant" && !p.relevant,
		m.Verdict == "other" && (p.relevant || p.leftOut()),
		m.Verdict == "left-out" && !p.leftOut():
		return false
	}
	if m.holds != nil {
		return int(m.holds[i]) == len(m.words)
	}
	if len(m.words) > 0 {
		address, title := m.texts.get(p.text)
		for _, w := range m.words {
			if !w.in(title) && !w.in(address) {
				return false
			}
		}
	}
	return true
}

// isCopy tells whether page i is the page of Filter.CopiesOf, or repeats it.
func (m *matcher) isCopy(i int) bool {
	if int32(i) == m.copied {
		return true
	}
	of, ok := m.copies.of[int32(i)]
	return ok && of == m.copied
}

// page is page i, from 0, as it is listed.
func (c *Crawl) page(i int) Page {
	p := &c.pages[i]
	address, title := c.texts.get(p.text)
	var reason web.Reason
	if p.leftOut() {
		reason = web.Reason(c.words.list[p.reason])
	}
	out := Page{
		Number: i + 1, URL: string(address), Title: string(title), Host: c.hosts[p.host].name, At: time.Unix(0, p.at).UTC(),
		Relevance: p.relevance, Similarity: float64(p.similarity), Relevant: p.relevant, Status: int(p.status),
		MIME: event.Line(c.words.list[p.mime]), Language: event.Line(c.words.list[p.language]), Depth: int(p.depth), Bytes: int(p.bytes),
		Took: float64(p.took), Priority: float64(p.priority), Reason: reason, Cut: p.cut,
	}
	if reason != "" {
		out.Brief = event.Line(reason.Brief())
	}
	if held := c.labels[xxh3.Hash(address)]; len(held) > 0 {
		out.Act = held[len(held)-1]
		out.Label = c.acts[out.Act-1].Do
	}
	return out
}

// Page returns the page of an address that was fetched last, and where its event begins
// in the log.
func (c *Crawl) Page(u web.URL) (p Page, offset int64, ok bool) {
	i, ok := c.byURL[hash(u)]
	if !ok {
		return Page{}, 0, false
	}
	return c.page(int(i)), c.pages[i].line, true
}

// Numbered is page n, from 1.
func (c *Crawl) Numbered(n int) (Page, bool) {
	if n < 1 || n > len(c.pages) {
		return Page{}, false
	}
	return c.page(n - 1), true
}

// Event tells where in the log the event begins that brought an address to its end: a
// page, or a redirect.
func (c *Crawl) Event(u web.URL) (offset int64, ok bool) {
	id := hash(u)
	if i, ok := c.byURL[id]; ok {
		return c.pages[i].line, true
	}
	r, ok := c.moved[id]
	return r.line, ok
}

// Fate is what became of an address, for lists of links.
type Fate struct {
	Fate      event.Fate `json:"fate"`
	Relevance float64    `json:"relevance,omitempty"` // of a page
	Relevant  bool       `json:"relevant,omitempty"`
	Title     string     `json:"title,omitempty"`
	Reason    web.Reason `json:"reason,omitempty"`
	Brief     string     `json:"brief,omitempty"`
}

// Fate tells what became of an address. One that was never queued is event.Unseen here,
// whether it was skipped or not.
func (c *Crawl) Fate(u web.URL) Fate {
	id := hash(u)
	if i, ok := c.byURL[id]; ok {
		p := c.page(int(i))
		return Fate{Fate: event.Taken, Relevance: p.Relevance, Relevant: p.Relevant, Title: p.Title, Reason: p.Reason, Brief: p.Brief}
	}
	l, ok := c.links[id]
	ok = ok && l.state != linkMutedFound
	if !ok {
		return Fate{Fate: event.Unseen}
	}
	f := Fate{}
	what := l.what
	switch {
	case c.waits(l):
		return Fate{Fate: event.Waiting}
	case l.state == linkWaits: // its host was given up
		f.Fate, what = event.GivenUp, c.hosts[l.host].why
	case l.state == linkLeft, l.state == linkMuted:
		f.Fate = event.GivenUp
	case l.state == linkMoved:
		f.Fate = event.Moved
	default:
		f.Fate = event.Broken
	}
	f.Reason = web.Reason(c.words.list[what])
	f.Brief = event.Line(f.Reason.Brief())
	return f
}

// Choices are what filters can be set to.
type Choices struct {
	Languages []Choice `json:"languages"`
	Types     []Choice `json:"types"`
}

// Choice is a word with how many pages have it.
type Choice struct {
	Word  string `json:"word"`
	Pages int    `json:"pages"`
}

// maxChoices bounds each list of Choices.
const maxChoices = 100

// Choices returns the languages and media types of the pages, the commonest first.
func (c *Crawl) Choices() Choices {
	list := func(counts []int) []Choice {
		out := []Choice{}
		for n, pages := range counts {
			if n != 0 && pages > 0 {
				out = append(out, Choice{c.words.list[n], pages})
			}
		}
		slices.SortFunc(out, func(a, b Choice) int { return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Word, b.Word)) })
		return out[:min(len(out), maxChoices)]
	}
	return Choices{list(c.spoken), list(c.typed)}
}

// Graph is hosts, and the links between them along which pages were fetched.
type Graph struct {
	Hosts []GraphHost `json:"hosts"`
	Links []GraphLink `json:"links"`
	All   int         `json:"all"` // hosts of which a page was fetched
}

// GraphHost is a host of a Graph.
type GraphHost struct {
	Host     web.Host `json:"host"`
	Pages    int      `json:"pages"`
	Relevant int      `json:"relevant"`
	// Led is how many relevant pages of other hosts were found on its pages.
	Led int `json:"led"`
}

// GraphLink says that pages of one host were found on pages of another.
type GraphLink struct {
	From     int `json:"from"` // of Graph.Hosts
	To       int `json:"to"`
	Pages    int `json:"pages"`
	Relevant int `json:"relevant"`
}

// maxGraphLinks bounds the links of a graph, for each of its hosts.
const maxGraphLinks = 5

// Graph returns the graph of at most n hosts, those with most relevant pages first, and
// of the links that led to most relevant pages, at most five for each host.
func (c *Crawl) Graph(n int) Graph {
	var ids []uint32
	for i := range c.hosts {
		if c.hosts[i].pages > 0 {
			ids = append(ids, uint32(i))
		}
	}
	slices.SortFunc(ids, func(i, j uint32) int {
		a, b := &c.hosts[i], &c.hosts[j]
		return cmp.Or(cmp.Compare(b.relevant+b.led, a.relevant+a.led), cmp.Compare(b.pages, a.pages), cmp.Compare(a.name, b.name))
	})
	g := Graph{Hosts: []GraphHost{}, Links: []GraphLink{}, All: len(ids)}
	place := map[uint32]int{}
	for _, i := range slice(ids, 0, n) {
		place[i] = len(g.Hosts)
		g.Hosts = append(g.Hosts, GraphHost{c.hosts[i].name, c.hosts[i].pages, c.hosts[i].relevant, c.hosts[i].led})
	}
	for k, v := range c.leads {
		from, ok := place[k.from]
		to, ok2 := place[k.to]
		if ok && ok2 {
			g.Links = append(g.Links, GraphLink{from, to, v.pages, v.relevant})
		}
	}
	slices.SortFunc(g.Links, func(a, b GraphLink) int {
		return cmp.Or(cmp.Compare(b.Relevant, a.Relevant), cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	g.Links = g.Links[:min(len(g.Links), maxGraphLinks*len(g.Hosts))]
	return g
}

// Acts are what people told the crawl, as it took them in.
func (c *Crawl) Acts() []event.Act { return c.acts }

// EarlierActs is how many of them earlier runs took in.
func (c *Crawl) EarlierActs() int { return c.earlier }

// Changes are those of the crawl's settings, oldest first.
func (c *Crawl) Changes() []event.Changed { return c.changes }
