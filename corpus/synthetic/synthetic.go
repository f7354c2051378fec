// Package synthetic is a web that nobody recorded and that is stored nowhere:
// every response is a pure function of the web's options and the address. A web
// of 10⁹ addresses takes a few kilobytes.
//
// It is made up. It serves to test scale, and that a strategy does today what
// it did yesterday; it is no ground for saying that one strategy is better than
// another on any real web. Names and pages therefore say "synthetic", and so
// does the manifest of one that is small enough to be recorded (Parse, Source):
// what is measured on it is labelled.
//
// # Pages
//
// There are Hosts · PagesPerHost pages. A page is a host h and a number p:
//
//	http://h7.synthetic.example/        p = 0
//	http://h7.synthetic.example/DIR/p123.html
//
// Every page has a topic and a level. A host has a home topic, h mod Topics,
// which most of its pages share. Level 0 are the targets of the page's topic,
// which are its truth. A page of a level from 1 to Hops has a link to a page of
// its topic that is one level nearer:
//
//	level   0 ◄── 1 ◄── 2 ◄── … ◄── Hops      Hops+1: no path is promised
//	share   t     t·g   t·g²                  what is left
//
// with t = Targets and g = Growth. The share of words that tell of the topic
// falls by Decay from level to level, so that tunnelling has to be learned. With Trail the
// pages before the targets have words of their own level instead, which no target shows,
// and no link skips a level: by its likeness to targets no page on the way can be told
// from one that is far away.
//
// Source: the idea is that of RandomNamedGraphServer in BUbiNG (Boldi, Marino,
// Santini, Vigna 2018); levels are the layers of context graphs (Diligenti et
// al. 2000).
package synthetic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/web"
)

// Options say what the web is like. Start from Defaults: here zero means zero.
type Options struct {
	Seed         uint64
	Hosts        int // 1…1e9, at least Topics
	PagesPerHost int // 1…1e9
	Topics       int // 1…1000

	Focus    float64 // share of a host's pages that have its home topic at any rate
	Targets  float64 // share of pages that are targets of their topic, (0,1]
	Hops     int     // levels with a path to a target, 0…20
	Growth   float64 // size of a level by the size of the one nearer, > 0
	Links    int     // mean number of links in the content, 1…500; uniform between half and one and a half of it
	Locality float64 // share of these that lead to the page's own topic at any rate
	Near     float64 // share of the links within the topic that lead to the page's own level or one beside it
	Inside   float64 // share of the links across topics that stay on the host
	Anchors  float64 // share of anchors that are words of their target's topic

	Words       int     // in the content, 0…100,000
	Signal      float64 // share of topical words on targets
	Decay       float64 // that share, by the share one level nearer
	Trail       float64 // share of topical words that name the level instead, but on targets; and of links over levels that are moved off the trail
	Template    int     // links of a host's menu, the same on all its pages
	Boilerplate int     // words of a host's template, the same on all its pages

	Duplicates float64 // share of pages that are copies of others
	Redirects  float64 // share of links that lead over a redirect (301)
	Dead       float64 // links that lead nowhere (404), by the other links
	Traps      float64 // share of hosts with a calendar that never ends
}

// Defaults is a web of 10⁹ pages that resembles a real one in its proportions.
func Defaults() Options {
	return Options{
		Hosts: 100_000, PagesPerHost: 10_000, Topics: 50,
		Focus: 0.7, Targets: 0.005, Hops: 4, Growth: 3,
		Links: 20, Locality: 0.5, Near: 0.5, Inside: 0.6, Anchors: 0.5,
		Words: 300, Signal: 0.3, Decay: 0.6, Template: 8, Boilerplate: 60,
		Duplicates: 0.05, Redirects: 0.03, Dead: 0.03, Traps: 0.1,
	}
}

func (o *Options) validate() error {
	var errs []error
	whole := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s is %d, want %d to %d", name, v, low, high))
		}
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) {
			errs = append(errs, fmt.Errorf("%s is %v, want a share in [0,1]", name, v))
		}
	}
	whole("Topics", o.Topics, 1, 1000)
	whole("Hosts", o.Hosts, max(1, o.Topics), 1e9)
	whole("PagesPerHost", o.PagesPerHost, 1, 1e9)
	whole("Hops", o.Hops, 0, 20)
	whole("Links", o.Links, 1, 500)
	whole("Words", o.Words, 0, 100_000)
	whole("Template", o.Template, 0, 500)
	whole("Boilerplate", o.Boilerplate, 0, 100_000)
	share("Focus", o.Focus)
	share("Targets", o.Targets)
	share("Locality", o.Locality)
	share("Near", o.Near)
	share("Inside", o.Inside)
	share("Anchors", o.Anchors)
	share("Signal", o.Signal)
	share("Decay", o.Decay)
	share("Trail", o.Trail)
	share("Duplicates", o.Duplicates)
	share("Redirects", o.Redirects)
	share("Dead", o.Dead)
	share("Traps", o.Traps)
	if o.Targets*slots < 0.5 {
		errs = append(errs, fmt.Errorf("a share Targets of %v, want at least %v", o.Targets, 0.5/slots))
	}
	if !(o.Growth > 0 && o.Growth <= 1000) {
		errs = append(errs, fmt.Errorf("a factor Growth of %v, want one in (0,1000]", o.Growth))
	}
	if len(errs) > 0 {
		return fmt.Errorf("synthetic web: %w", errors.Join(errs...))
	}
	return nil
}

// slots is the number of classes in which levels are dealt out: page p of host
// h has the level of slot (p + a number of h's own) mod slots, so that pages of
// a given level can be found without looking.
const slots = 4096

// Web is a synthetic web. It is immutable and safe for concurrent use.
type Web struct {
	opt     Options
	level   [slots]uint8
	atLevel [][]int // slots, by level 0…Hops+1
	// drawn holds the pages that sample draws from, by topic and level 0…Hops+1,
	// in a web whose hosts are too small to find them by their slots; else nil.
	drawn [][][]page
}

// maxDrawn bounds the pages of a web that are sorted beforehand.
const maxDrawn = 1 << 22

// New makes a synthetic web. The error names every option that is out of
// range.
func New(o Options) (*Web, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Web{opt: o, atLevel: make([][]int, o.Hops+2)}
	// Levels follow one another, each in its share of slots; which pages get
	// them is up to the hosts' numbers and to shuffle.
	bound, share, slot := 0., o.Targets, 0
	for k := range o.Hops + 1 {
		bound += share
		for ; slot < slots && (float64(slot)+0.5)/slots < bound; slot++ {
			w.level[slot] = uint8(k)
		}
		share *= o.Growth
	}
	for ; slot < slots; slot++ {
		w.level[slot] = uint8(o.Hops + 1)
	}
	s := stream(o.Seed)
	for i := slots - 1; i > 0; i-- {
		j := s.below(i + 1)
		w.level[i], w.level[j] = w.level[j], w.level[i]
	}
	for i, k := range w.level {
		w.atLevel[k] = append(w.atLevel[k], i)
	}
	if o.PagesPerHost < slots && o.Hosts <= maxDrawn/o.PagesPerHost {
		w.sort()
	}
	return w, nil
}

// sort fills drawn: the pages of the hosts that are at home in their topic.
func (w *Web) sort() {
	drawn := make([][][]page, w.opt.Topics)
	for t := range drawn {
		drawn[t] = make([][]page, w.opt.Hops+2)
	}
	for h := range w.opt.Hosts {
		home := h % w.opt.Topics
		for n := range w.opt.PagesPerHost {
			if g := (page{h, n}); w.topic(g) == home && !w.copies(g) {
				k := w.levelOf(g)
				drawn[home][k] = append(drawn[home][k], g)
			}
		}
	}
	w.drawn = drawn
}

// Manifest describes the web as that of a recorded web would. Every topic has
// a few seeds two levels from a target, far seeds Hops levels away (or as far
// as there are pages of the topic), and examples; its truth is a function, see
// Truth.
func (w *Web) Manifest() corpus.Manifest {
	m := corpus.Manifest{
		Name:        "synthetic-" + strconv.FormatUint(w.opt.Seed, 10),
		Description: "Made up, not recorded: " + w.opt.String(),
		Source:      "made up by waggle's package corpus/synthetic",
		Synthetic:   true,
		Hosts:       w.opt.Hosts,
		Pages:       w.Len(),
	}
	for t := range w.opt.Topics {
		m.Topics = append(m.Topics, w.Topic(t))
	}
	return m
}

// examples is the number of example pages of a topic.
const examples = 5

// Topic describes topic t, 0…Topics-1.
func (w *Web) Topic(t int) corpus.Topic {
	x := corpus.Topic{
		Name:        fmt.Sprintf("synthetic-%d", t),
		Description: "Made-up words about nothing",
		Seeds:       w.starts(t, min(2, w.opt.Hops)),
		SeedsFar:    w.starts(t, w.opt.Hops),
		Examples:    w.Some(t, 0, examples),
	}
	for i := range 5 {
		x.Keywords = append(x.Keywords, word(t, i))
	}
	return x
}

// starts lists pages to start from: of a level or, where the nearer levels are
// so large that they leave none for it, of the next one that has any.
func (w *Web) starts(topic, level int) []web.URL {
	list := w.Some(topic, level, 3)
	for ; len(list) == 0 && level > 1; level-- {
		list = w.Some(topic, level-1, 3)
	}
	return list
}

// Some lists up to n different pages of a topic and level; fewer where there
// are hardly any.
func (w *Web) Some(topic, level, n int) (list []web.URL) {
	s := w.stream("some", topic, level)
	seen := map[page]bool{}
	for range 20 * n {
		g, ok := w.sample(&s, topic, level)
		if !ok || seen[g] {
			continue
		}
		seen[g] = true
		u, err := web.Parse(w.address(g))
		if err == nil {
			list = append(list, u)
		}
		if len(list) == n {
			break
		}
	}
	return list
}

// Len is the number of pages, calendars and redirects apart.
func (w *Web) Len() int { return w.opt.Hosts * w.opt.PagesPerHost }

// Facts are what is known of a page and not told to a crawl.
type Facts struct {
	Topic int
	Level int // 0 = a target of its topic, Hops+1 = far away
	// Copy tells that the page has the body of another. Topic and Level are
	// those of the other then.
	Copy bool
}

// Facts of an address; ok is false where there is no page.
func (w *Web) Facts(u web.URL) (f Facts, ok bool) {
	k, g, _ := w.parse(u)
	if k != isPage {
		return Facts{}, false
	}
	source, copied := w.source(g)
	return Facts{w.topic(source), w.levelOf(source), copied}, true
}

// Truth tells of a topic whether an address is relevant: a target or a copy of
// one.
func (w *Web) Truth(topic int) func(web.URL) bool {
	return func(u web.URL) bool {
		f, ok := w.Facts(u)
		return ok && f.Topic == topic && f.Level == 0
	}
}

// Has tells whether an address is part of the web.
func (w *Web) Has(u web.URL) bool {
	k, _, _ := w.parse(u)
	return k != isNothing
}

// Fetch makes the response for an address, 404 for one that is not part of
// the web. The error is ctx's.
func (w *Web) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, g, n := w.parse(u)
	r := &web.Response{URL: u, Started: epoch(), Proto: "HTTP/1.1", Status: 200, Header: web.Header{}}
	line := "200 OK"
	switch k {
	case isPage:
		g, _ = w.source(g)
		r.Body = w.body(g)
	case isCalendar:
		r.Body = w.calendar(g.host, n)
	case isRedirect:
		r.Status, line = 301, "301 Moved Permanently"
		to, err := web.Parse(w.address(g))
		if err != nil {
			return nil, &web.Failure{Reason: web.ReasonProtocol, Detail: err.Error(), Err: err}
		}
		r.Location = to
		r.Header["Location"] = []string{to.String()}
	case isRobots:
		r.Header["Content-Type"] = []string{"text/plain"}
		r.Body = []byte("User-agent: *\nDisallow: /private/\n")
	default:
		r.Status, line = 404, "404 Not Found"
	}
	if r.Header["Content-Type"] == nil && len(r.Body) > 0 {
		r.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	}
	r.Raw = r.Body
	r.Head = []byte("HTTP/1.1 " + line)
	for _, name := range []string{"Content-Type", "Location"} {
		if v := r.Header[name]; len(v) > 0 {
			r.Head = append(r.Head, "\r\n"+name+": "+v[0]...)
		}
	}
	return r, nil
}

// epoch is the moment of all responses.
func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// page is an address that holds a page.
type page struct{ host, n int }

// kind is what an address of the web holds.
type kind uint8

const (
	isNothing kind = iota
	isPage
	isCalendar // n is the day
	isRedirect
	isRobots
)

const domain = ".synthetic.example"

// address writes the address of a page.
func (w *Web) address(g page) string { return string(w.appendAddress(nil, g)) }

func (w *Web) appendAddress(b []byte, g page) []byte {
	b = appendHost(b, g.host)
	if g.n == 0 {
		return append(b, '/')
	}
	b = append(b, '/')
	// Half of the directories are named by what tells of the page.
	s := w.stream("directory", g.host, g.n)
	if s.next()&1 == 0 {
		b = append(b, word(w.vocabulary(&s, w.topic(g), w.levelOf(g)), s.below(3))...)
	} else {
		b = append(b, "pages"...)
	}
	b = append(b, "/p"...)
	b = strconv.AppendInt(b, int64(g.n), 10)
	return append(b, ".html"...)
}

func appendHost(b []byte, h int) []byte {
	b = append(b, "http://h"...)
	b = strconv.AppendInt(b, int64(h), 10)
	return append(b, domain...)
}

// parse tells what an address holds: the inverse of all addresses written
// here, and nothing else.
func (w *Web) parse(u web.URL) (k kind, g page, n int) {
	name, ok := strings.CutSuffix(string(u.Host()), domain)
	if !ok || u.Scheme() != "http" || !strings.HasPrefix(name, "h") {
		return isNothing, page{}, 0
	}
	if g.host, ok = number(name[1:], w.opt.Hosts); !ok {
		return isNothing, page{}, 0
	}
	path := u.RequestPath()
	switch {
	case path == "/":
		return isPage, g, 0
	case path == "/robots.txt":
		return isRobots, g, 0
	case strings.HasPrefix(path, "/calendar?day="):
		n, ok := number(path[len("/calendar?day="):], lastDay)
		if !ok || !w.hasTrap(g.host) {
			return isNothing, page{}, 0
		}
		return isCalendar, g, n
	case strings.HasPrefix(path, "/moved/"):
		if g.n, ok = number(path[len("/moved/"):], w.opt.PagesPerHost); ok {
			return isRedirect, g, 0
		}
		return isNothing, page{}, 0
	}
	file := path[strings.LastIndexByte(path, '/')+1:]
	file, ok = strings.CutSuffix(file, ".html")
	if !ok || !strings.HasPrefix(file, "p") {
		return isNothing, page{}, 0
	}
	if g.n, ok = number(file[1:], w.opt.PagesPerHost); !ok || w.address(g) != u.String() {
		return isNothing, page{}, 0
	}
	return isPage, g, 0
}

// lastDay of a calendar: it ends, but not in anybody's lifetime.
const lastDay = 1 << 40

// number reads a decimal number below limit, written as it would be here.
func number(s string, limit int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < limit && (s == "0" || s[0] != '0' && s[0] != '+')
}

// topic of a page by its address; a copy has the topic of its source instead.
func (w *Web) topic(g page) int {
	s := w.stream("topic", g.host, g.n)
	if s.chance(w.opt.Focus) {
		return g.host % w.opt.Topics
	}
	return s.below(w.opt.Topics)
}

func (w *Web) levelOf(g page) int { return int(w.level[(g.n+w.turn(g.host))%slots]) }

// turn is the number by which a host's slots are turned.
func (w *Web) turn(host int) int {
	s := w.stream("turn", host, 0)
	return s.below(slots)
}

// source is the page whose body g has, and whether that is another. Copies are
// made of originals only.
func (w *Web) source(g page) (page, bool) {
	if !w.copies(g) {
		return g, false
	}
	s := w.stream("source", g.host, g.n)
	from := w.anyPage(&s)
	if w.copies(from) || from == g {
		return g, false
	}
	return from, true
}

func (w *Web) copies(g page) bool {
	s := w.stream("copy", g.host, g.n)
	return g.n > 0 && s.chance(w.opt.Duplicates)
}

func (w *Web) hasTrap(host int) bool {
	s := w.stream("trap", host, 0)
	return s.chance(w.opt.Traps)
}

// anyPage draws a page from all.
func (w *Web) anyPage(s *stream) page {
	return page{s.below(w.opt.Hosts), s.below(w.opt.PagesPerHost)}
}

// tries bounds the search for a page of a kind.
const tries = 200

// sample draws a page that is no copy, of a topic and level, from a host that
// is at home in the topic.
func (w *Web) sample(s *stream, topic, level int) (page, bool) {
	if w.drawn != nil {
		if in := w.drawn[topic][level]; len(in) > 0 {
			return in[s.below(len(in))], true
		}
		return page{}, false
	}
	in := w.atLevel[level]
	if len(in) == 0 {
		return page{}, false
	}
	rounds := (w.opt.PagesPerHost + slots - 1) / slots
	for range tries {
		h := w.homeHost(s, topic)
		n := s.below(rounds)*slots + (in[s.below(len(in))]-w.turn(h)+slots)%slots
		g := page{h, n}
		if n < w.opt.PagesPerHost && w.topic(g) == topic && !w.copies(g) {
			return g, true
		}
	}
	return page{}, false
}

// homeHost draws a host whose home topic is the given one.
func (w *Web) homeHost(s *stream, topic int) int {
	return topic + w.opt.Topics*s.below((w.opt.Hosts-topic+w.opt.Topics-1)/w.opt.Topics)
}

// ofTopic draws a page of a topic, of any level.
func (w *Web) ofTopic(s *stream, topic int) page {
	for range tries {
		g := page{w.homeHost(s, topic), s.below(w.opt.PagesPerHost)}
		if w.topic(g) == topic {
			return g
		}
	}
	return w.anyPage(s)
}
