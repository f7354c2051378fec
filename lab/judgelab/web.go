package judgelab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Web is a recorded web with its topics, and the pages on which judges are
// measured: all that are relevant to one of the topics or were read, and one of
// every thinning others, which stands for as many. Copies count once.
type Web struct {
	Name     string
	Topics   []*Topic
	Pages    []*web.Page
	weights  []float64
	analyzer *text.Analyzer
	record   *corpus.Web
	pages    *corpus.Pages
	cache    sync.Map // web.URL → *web.Page
}

const thinning = 8

// Topic is a topic of a web.
type Topic struct {
	corpus.Topic
	Truth    map[web.URL]bool
	Shown    map[web.URL]bool // seeds and examples, on which nothing is measured
	Examples []*web.Page      // of the web
	// What people said, if they did: grades of pages (2 mainly about the topic, 1 in
	// part, 0 not), examples that they chose, and pages unlike what is wanted.
	Read           map[web.URL]int
	Chosen, Unlike []*web.Page
}

// Labels are what people read: grades by WEB/TOPIC, and the examples they chose.
type Labels struct {
	Grades         map[string]map[string]int
	Chosen, Unlike map[string][]string
}

// ReadLabels reads tables with a line of column names: of grades with the columns
// web, topic, address and grade, or of examples with topic (WEB/TOPIC), address and
// as ("example" or "negative"). Lines that begin with # are passed over. Where
// several graded a page, the last one holds.
func (l *Labels) ReadLabels(r io.Reader, name string) error {
	if l.Grades == nil {
		*l = Labels{map[string]map[string]int{}, map[string][]string{}, map[string][]string{}}
	}
	lines := bufio.NewScanner(r)
	var columns []string
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if columns == nil {
			columns = fields
			continue
		}
		of := func(column string) string {
			if i := slices.Index(columns, column); i >= 0 && i < len(fields) {
				return fields[i]
			}
			return ""
		}
		id, address := of("topic"), of("address")
		if w := of("web"); w != "" {
			id = w + "/" + id
		}
		switch grade, err := strconv.Atoi(of("grade")); {
		case address == "":
			return fmt.Errorf("%s:%d: there is no address", name, n)
		case of("as") == "example":
			l.Chosen[id] = append(l.Chosen[id], address)
		case of("as") == "negative":
			l.Unlike[id] = append(l.Unlike[id], address)
		case err == nil:
			if l.Grades[id] == nil {
				l.Grades[id] = map[string]int{}
			}
			l.Grades[id][address] = grade
		}
	}
	return lines.Err()
}

// OpenWeb reads the recorded web in a folder. The caller closes it.
func OpenWeb(ctx context.Context, dir string, l Labels) (_ *Web, err error) {
	w := &Web{Name: filepath.Base(filepath.Clean(dir)), analyzer: text.NewAnalyzer()}
	if w.record, err = corpus.Open(dir); err != nil {
		return nil, err
	}
	p := parse.New(parse.Options{Analyzer: w.analyzer, Canon: w.record.Canon()})
	if w.pages, err = corpus.OpenPages(ctx, w.record, p, corpus.PagesOptions{}); err != nil {
		return nil, err
	}
	wanted := map[web.URL]bool{} // relevant to a topic, or read
	for _, t := range w.record.Topics {
		x := &Topic{Topic: t, Shown: map[web.URL]bool{}, Read: map[web.URL]int{}}
		if x.Truth, err = w.record.Truth(t.Name); err != nil {
			return nil, err
		}
		for u := range x.Truth {
			wanted[u] = true
		}
		for _, u := range slices.Concat(t.Seeds, t.SeedsFar, t.Examples) {
			x.Shown[u] = true
		}
		x.Examples = w.texts(t.Examples)
		id := w.Name + "/" + t.Name
		for address, grade := range l.Grades[id] {
			if u, err := web.Parse(address); err == nil {
				x.Read[u] = grade
				wanted[u] = true
			}
		}
		x.Chosen, x.Unlike = w.texts(parsed(l.Chosen[id])), w.texts(parsed(l.Unlike[id]))
		w.Topics = append(w.Topics, x)
	}
	bodies := map[[16]byte]bool{}
	n := 0
	for u := range w.record.URLs() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		digest, ok := w.pages.Digest(u)
		if !ok || bodies[digest] {
			continue
		}
		bodies[digest] = true
		weight := 1.
		if n++; !wanted[u] {
			if n%thinning != 0 {
				continue
			}
			weight = thinning
		}
		if p, ok := w.pages.Page(u); ok {
			few := *p
			few.Links = nil
			w.Pages, w.weights = append(w.Pages, &few), append(w.weights, weight)
		}
	}
	return w, nil
}

// Close closes the record.
func (w *Web) Close() error { return w.record.Close() }

func parsed(addresses []string) (out []web.URL) {
	for _, a := range addresses {
		if u, err := web.Parse(a); err == nil {
			out = append(out, u)
		}
	}
	return out
}

// texts are the pages of addresses that have any text.
func (w *Web) texts(addresses []web.URL) (out []*web.Page) {
	for _, u := range addresses {
		if p := w.page(u); p != nil && len(p.Terms) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// page is the page of an address, where a redirect leads if need be; nil if there
// is none.
func (w *Web) page(u web.URL) *web.Page {
	if p, ok := w.cache.Load(u); ok {
		return p.(*web.Page)
	}
	p, ok := w.pages.Page(u)
	for hops := 0; !ok && hops < 5; hops++ {
		r, err := w.record.Lookup(u)
		if err != nil || r == nil || r.Location.IsZero() {
			return nil
		}
		u = r.Location
		p, ok = w.pages.Page(u)
	}
	if ok {
		w.cache.Store(u, p)
	}
	return p
}
