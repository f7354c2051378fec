package synthetic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/web"
)

// maxRecorded bounds the pages of a web that is written to disk.
const maxRecorded = 1_000_000

// Source is the web as something a recorded web can be built from. It holds
// all pages and every robots.txt; of redirects and dead addresses those that a
// page leads to; of a calendar the days that pages lead to. Thus no link
// leads out of the record but those from day to day. Equal options give
// equal files.
//
// The error says what to change where a topic has too few pages to be looked
// for, or the web has more than 1,000,000 pages. Such a web can be fetched
// from without being recorded.
func (w *Web) Source() (corpus.Made, error) {
	if w.opt.Hosts > maxRecorded/w.opt.PagesPerHost {
		return corpus.Made{}, fmt.Errorf("synthetic web: %d hosts with %d pages each are too many to be recorded: want %d pages at most", w.opt.Hosts, w.opt.PagesPerHost, maxRecorded)
	}
	m := w.Manifest()
	truth := map[string][]web.URL{}
	for h := range w.opt.Hosts {
		for n := range w.opt.PagesPerHost {
			g := page{h, n}
			if source, _ := w.source(g); w.levelOf(source) == 0 {
				u, err := web.Parse(w.address(g))
				if err != nil {
					return corpus.Made{}, err
				}
				name := m.Topics[w.topic(source)].Name
				truth[name] = append(truth[name], u)
			}
		}
	}
	var errs []error
	for _, t := range m.Topics {
		switch {
		case len(t.Examples) < examples || len(truth[t.Name]) <= examples:
			errs = append(errs, fmt.Errorf("topic %s has %d targets, %d of them fit for examples (no copies, on hosts of the topic): %d examples and one page to find are needed; raise pages or targets, or lower topics", t.Name, len(truth[t.Name]), len(t.Examples), examples))
		case len(t.Seeds) == 0 || len(t.SeedsFar) == 0:
			errs = append(errs, fmt.Errorf("topic %s has no page to start from, as all are targets: raise pages, or lower targets or topics", t.Name))
		}
		if len(errs) == 3 {
			break
		}
	}
	if len(errs) > 0 {
		return corpus.Made{}, fmt.Errorf("synthetic web: %w", errors.Join(errs...))
	}
	return corpus.Made{Manifest: m, Truth: truth, Pages: w.responses(), Date: epoch()}, nil
}

// responses yields all that is recorded of the web.
func (w *Web) responses() iter.Seq2[*web.Response, error] {
	return func(yield func(*web.Response, error) bool) {
		beside := map[string]bool{} // redirects and dead addresses met in pages
		give := func(address string) bool {
			u, err := web.Parse(address)
			if err != nil {
				yield(nil, err)
				return false
			}
			r, err := w.Fetch(context.Background(), u)
			if err != nil {
				yield(nil, err)
				return false
			}
			for link := range links(r.Body) {
				if strings.Contains(link, "/moved/") || strings.Contains(link, "/gone/") {
					beside[strings.Clone(link)] = true // lest it keep the page in memory
				}
			}
			return yield(r, nil)
		}
		for h := range w.opt.Hosts {
			host := string(appendHost(nil, h))
			if !give(host + "/robots.txt") {
				return
			}
			for n := range w.opt.PagesPerHost {
				if !give(w.address(page{h, n})) {
					return
				}
			}
			if !w.hasTrap(h) {
				continue
			}
			for day := range entryDays {
				if !give(host + "/calendar?day=" + strconv.Itoa(day)) {
					return
				}
			}
		}
		list := make([]string, 0, len(beside))
		for link := range beside {
			list = append(list, link)
		}
		slices.Sort(list)
		for _, link := range list {
			if !give(link) {
				return
			}
		}
	}
}

// links finds the addresses that a page of this package links to.
func links(body []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest := string(body)
		for {
			_, after, ok := strings.Cut(rest, `href="`)
			if !ok {
				return
			}
			link, after, _ := strings.Cut(after, `"`)
			if !yield(link) {
				return
			}
			rest = after
		}
	}
}

// Setting is a property of a synthetic web by the key that Parse knows it by.
type Setting struct {
	Key     string
	Default string
	Range   string // "1 to 1000"
	Line    string // what it is
}

// Settings lists the keys of Parse.
func Settings() []Setting {
	var list []Setting
	for _, k := range keys() {
		list = append(list, k.Setting)
	}
	return list
}

// Parse reads options as a command line has them, such as
// "pages=20000,seed=1,topics=8". What is left out is as in Settings: a web
// that can be recorded in seconds. Pages are dealt out evenly, so their number
// is rounded up to a multiple of hosts. The error names every key that is
// wrong, and its range.
func Parse(text string) (Options, error) {
	p := defaults()
	var errs []error
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		all := keys()
		i := slices.IndexFunc(all, func(k key) bool { return k.Key == name })
		switch {
		case i < 0:
			var names []string
			for _, k := range all {
				names = append(names, k.Key)
			}
			errs = append(errs, fmt.Errorf("there is no key %q; the keys are %s", name, strings.Join(names, ", ")))
		case !ok:
			errs = append(errs, fmt.Errorf("%s has no value: want %s=%s", name, name, all[i].Range))
		case given[name]:
			errs = append(errs, fmt.Errorf("%s is given twice", name))
		case !all[i].set(&p, value):
			errs = append(errs, fmt.Errorf("%s is %q, want %s", name, value, all[i].Range))
		}
		given[name] = true
	}
	if len(errs) > 0 {
		return Options{}, errors.Join(errs...)
	}
	if p.pages < p.Topics {
		return Options{}, fmt.Errorf("pages is %d, want %d to %d: as many as topics at least", p.pages, p.Topics, maxRecorded)
	}
	if !given["hosts"] {
		p.Hosts = max(p.Topics, p.pages/pagesAHost)
	}
	if p.Hosts < p.Topics || p.Hosts > p.pages {
		return Options{}, fmt.Errorf("hosts is %d, want %d to %d: from topics to pages", p.Hosts, p.Topics, p.pages)
	}
	p.PagesPerHost = (p.pages + p.Hosts - 1) / p.Hosts
	return p.Options, p.validate()
}

// String writes options as Parse reads them.
func (o Options) String() string {
	p := plan{o, o.Hosts * o.PagesPerHost}
	var parts []string
	for _, k := range keys() {
		parts = append(parts, k.Key+"="+k.get(&p))
	}
	return strings.Join(parts, ",")
}

// plan is what Parse reads.
type plan struct {
	Options
	pages int
}

// pagesAHost is how many pages a host has where nobody says.
const pagesAHost = 200

// defaults is a web of the size of a recorded one: with more targets than a
// large one, for there to be some, and without calendars.
func defaults() plan {
	p := plan{Defaults(), 20_000}
	p.Seed, p.Topics, p.Hosts = 1, 8, p.pages/pagesAHost
	p.Targets, p.Growth, p.Traps = 0.02, 2.5, 0
	return p
}

// key is a setting with its way into a plan.
type key struct {
	Setting
	get func(*plan) string
	set func(*plan, string) bool
}

// keys are all settings, in the order they are told in.
func keys() []key {
	var list []key
	add := func(name, within, line string, get func(*plan) string, set func(*plan, string) bool) {
		start := defaults()
		list = append(list, key{Setting{name, get(&start), within, line}, get, set})
	}
	whole := func(name string, low, high int, line string, of func(*plan) *int) {
		add(name, fmt.Sprintf("%d to %d", low, high), line,
			func(p *plan) string { return strconv.Itoa(*of(p)) },
			func(p *plan, s string) bool {
				n, err := strconv.Atoi(s)
				*of(p) = n
				return err == nil && n >= low && n <= high
			})
	}
	number := func(name string, low, high float64, line string, of func(*plan) *float64) {
		add(name, fmt.Sprintf("%g to %g", low, high), line,
			func(p *plan) string { return strconv.FormatFloat(*of(p), 'g', -1, 64) },
			func(p *plan, s string) bool {
				x, err := strconv.ParseFloat(s, 64)
				*of(p) = x
				return err == nil && x >= low && x <= high
			})
	}
	share := func(name, line string, of func(*plan) *float64) { number(name, 0, 1, line, of) }

	whole("pages", 1, maxRecorded, "pages in all, rounded up to a multiple of hosts", func(p *plan) *int { return &p.pages })
	add("seed", fmt.Sprintf("0 to %d", uint64(math.MaxUint64)), "another seed makes another web",
		func(p *plan) string { return strconv.FormatUint(p.Seed, 10) },
		func(p *plan, s string) (ok bool) {
			n, err := strconv.ParseUint(s, 10, 64)
			p.Seed = n
			return err == nil
		})
	whole("topics", 1, 1000, "topics, each with seeds, examples and truth", func(p *plan) *int { return &p.Topics })
	whole("hosts", 1, maxRecorded, "hosts, one a topic at least; left out: one for 200 pages", func(p *plan) *int { return &p.Hosts })
	share("focus", "share of a host's pages on its home topic", func(p *plan) *float64 { return &p.Focus })
	number("targets", 0.001, 1, "share of pages that are targets of their topic", func(p *plan) *float64 { return &p.Targets })
	whole("hops", 0, 20, "levels of pages with a path to a target", func(p *plan) *int { return &p.Hops })
	number("growth", 0.001, 1000, "size of a level by that of the one nearer", func(p *plan) *float64 { return &p.Growth })
	whole("links", 1, 500, "links in the content of a page, on average", func(p *plan) *int { return &p.Links })
	share("locality", "share of these that stay on the page's topic", func(p *plan) *float64 { return &p.Locality })
	share("near", "share of those that lead to a level beside the page's own", func(p *plan) *float64 { return &p.Near })
	share("inside", "share of the other links that stay on the host", func(p *plan) *float64 { return &p.Inside })
	share("anchors", "share of anchors with words of the target's topic", func(p *plan) *float64 { return &p.Anchors })
	whole("words", 0, 100_000, "words in the content of a page", func(p *plan) *int { return &p.Words })
	share("signal", "share of topical words on a target", func(p *plan) *float64 { return &p.Signal })
	share("decay", "that share, by the share one level nearer", func(p *plan) *float64 { return &p.Decay })
	share("trail", "share of topical words that name the level instead, but on targets", func(p *plan) *float64 { return &p.Trail })
	whole("template", 0, 500, "links of a host's menu", func(p *plan) *int { return &p.Template })
	whole("boilerplate", 0, 100_000, "words the pages of a host share", func(p *plan) *int { return &p.Boilerplate })
	share("duplicates", "share of pages that are copies of others", func(p *plan) *float64 { return &p.Duplicates })
	share("redirects", "share of links over a redirect", func(p *plan) *float64 { return &p.Redirects })
	share("dead", "links that lead nowhere, by the other links", func(p *plan) *float64 { return &p.Dead })
	share("traps", "share of hosts with a calendar of 1,000 more pages", func(p *plan) *float64 { return &p.Traps })
	return list
}

// ParseSource is the source of the web that a text describes, see Parse.
func ParseSource(text string) (made corpus.Made, err error) {
	o, err := Parse(text)
	if err != nil {
		return made, err
	}
	w, err := New(o)
	if err != nil {
		return made, err
	}
	return w.Source()
}
