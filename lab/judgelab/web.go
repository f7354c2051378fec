package judgelab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic"
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
	cache    sync.Map         // web.URL → *web.Page
	document map[[16]byte]int // number of a body, see eval.Graph; nil without a pool
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
	stratum        []uint8 // [document] from which pages were drawn for readers; nil without a pool
	// Of equal bodies the first page stands for all: what is said of one is said of it.
	relevant map[[16]byte]bool
	grades   map[[16]byte]int
}

// grade is what people said of a page, or else of a copy of it.
func (x *Topic) grade(p *web.Page) (grade int, known bool) {
	if grade, known = x.Read[p.URL]; !known {
		grade, known = x.grades[p.Digest]
	}
	return grade, known
}

// Labels are what people read: grades by WEB/TOPIC, and the examples they chose.
type Labels struct {
	Grades         map[string]map[string]int
	Chosen, Unlike map[string][]string
	// Pool is the pool that the graded pages were drawn from; nil = its strata are
	// not known, and every page that was read counts once.
	Pool *pool.Pool
}

// OpenLabels reads files of labels and examples, and the pool in a folder that the
// labelled pages were drawn from; "" is none.
func OpenLabels(poolDir string, files ...string) (l Labels, err error) {
	for _, name := range files {
		if name == "" {
			continue
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = l.ReadLabels(bytes.NewReader(b), name)
		}
		if err != nil {
			return l, err
		}
	}
	if poolDir != "" {
		l.Pool, err = pool.Open(poolDir)
	}
	return l, err
}

// ReadLabels reads tables with a line of column names: of grades with the columns
// web, topic, address and grade, or of examples with topic (WEB/TOPIC), address and
// as ("example" or "negative"). Lines that begin with # are passed over. Where
// several graded a page, the last one holds. As in the labels of a pool, the grade -
// takes back what the same reader said before of the page in the same round, and ?
// says that the reader cannot tell.
func (l *Labels) ReadLabels(r io.Reader, name string) error {
	if l.Grades == nil {
		l.Grades, l.Chosen, l.Unlike = map[string]map[string]int{}, map[string][]string{}, map[string][]string{}
	}
	type decision struct {
		reader, round string
		grade         int // if known
		known         bool
	}
	given := map[[2]string][]decision{} // by topic and address, the last at the end
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
		now := decision{reader: of("reader"), round: of("round")}
		grade, err := strconv.Atoi(of("grade"))
		switch said := of("grade"); {
		case address == "":
			return fmt.Errorf("%s:%d: there is no address", name, n)
		case of("as") == "example":
			l.Chosen[id] = append(l.Chosen[id], address)
		case of("as") == "negative":
			l.Unlike[id] = append(l.Unlike[id], address)
		case err == nil, said == pool.Label{}.Withdrawal().Grade.String(), said == pool.CannotTell.String():
			at := [2]string{id, address}
			all := slices.DeleteFunc(given[at], func(d decision) bool { return d.reader == now.reader && d.round == now.round })
			if now.grade, now.known = grade, err == nil; now.known || said == pool.CannotTell.String() {
				all = append(all, now)
			}
			given[at] = all
			if l.Grades[id] == nil {
				l.Grades[id] = map[string]int{}
			}
			unsure := map[string]bool{} // readers who cannot tell
			for _, d := range all {
				unsure[d.reader] = unsure[d.reader] || !d.known
			}
			delete(l.Grades[id], address)
			for _, d := range all {
				if !unsure[d.reader] {
					l.Grades[id][address] = d.grade
				}
			}
		}
	}
	return lines.Err()
}

// Check tells whether what people read is of none of the webs.
func (l Labels) Check(webs []*Web) error {
	var names, ids []string
	for _, w := range webs {
		names = append(names, w.Name)
		for _, t := range w.Topics {
			ids = append(ids, w.Name+"/"+t.Name)
		}
	}
	given := slices.Sorted(maps.Keys(l.Grades))
	given = slices.AppendSeq(given, maps.Keys(l.Chosen))
	given = slices.AppendSeq(given, maps.Keys(l.Unlike))
	if len(given) > 0 && !slices.ContainsFunc(given, func(id string) bool { return slices.Contains(ids, id) }) {
		return fmt.Errorf("the labels and examples are of no topic of these webs (%s), but of others, such as %s: a web is called as its web.yaml says", strings.Join(names, ", "), given[0])
	}
	if l.Pool != nil && !slices.ContainsFunc(names, func(name string) bool { _, ok := l.Pool.Web(name); return ok }) {
		return fmt.Errorf("the pool is of none of these webs (%s): a web is called as its web.yaml says", strings.Join(names, ", "))
	}
	return nil
}

// OpenWeb reads the recorded web in a folder. The caller closes it.
func OpenWeb(ctx context.Context, dir string, l Labels) (_ *Web, err error) {
	w := &Web{}
	if w.record, err = corpus.Open(dir); err != nil {
		return nil, err
	}
	w.Name = w.record.Name
	var languages []string
	for _, t := range w.record.Topics {
		written := topic.Topic{Description: t.Description, Keywords: t.Keywords, Language: t.Language}
		languages = append(languages, written.Languages()...)
	}
	w.analyzer = text.NewAnalyzer(languages...)
	p := parse.New(parse.Options{Analyzer: w.analyzer, Canon: w.record.Canon()})
	if w.pages, err = corpus.OpenPages(ctx, w.record, p, corpus.PagesOptions{}); err != nil {
		return nil, err
	}
	wanted := map[[16]byte]bool{} // bodies that are relevant to a topic, or were read
	for _, t := range w.record.Topics {
		x := &Topic{Topic: t, Shown: map[web.URL]bool{}, Read: map[web.URL]int{}, relevant: map[[16]byte]bool{}, grades: map[[16]byte]int{}}
		if x.Truth, err = w.record.Truth(t.Name); err != nil {
			return nil, err
		}
		for u := range x.Truth {
			if d, ok := w.pages.Digest(u); ok {
				x.relevant[d], wanted[d] = true, true
			}
		}
		for _, u := range slices.Concat(t.Seeds, t.SeedsFar, t.Examples) {
			x.Shown[u] = true
		}
		x.Examples = w.texts(t.Examples)
		id := w.Name + "/" + t.Name
		for _, address := range slices.Sorted(maps.Keys(l.Grades[id])) { // of copies the last holds
			if u, err := web.Parse(address); err == nil {
				x.Read[u] = l.Grades[id][address]
				if d, ok := w.pages.Digest(u); ok {
					x.grades[d], wanted[d] = x.Read[u], true
				}
			}
		}
		x.Chosen, x.Unlike = w.texts(parsed(l.Chosen[id])), w.texts(parsed(l.Unlike[id]))
		w.Topics = append(w.Topics, x)
	}
	if err := w.strata(l.Pool); err != nil {
		return nil, err
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
		if n++; !wanted[digest] {
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

// strata takes the strata of the topics from a pool, if it is of this web.
func (w *Web) strata(p *pool.Pool) error {
	if p == nil {
		return nil
	}
	known, ok := p.Web(w.Name)
	if !ok {
		return nil
	}
	g, err := eval.WebGraph(w.record, w.pages, eval.GraphOptions{})
	if err != nil {
		return err
	}
	if g.Revision() != known.Revision {
		return fmt.Errorf("%w: %s", eval.ErrPool, w.Name)
	}
	w.document = map[[16]byte]int{}
	for i := range int32(g.Len()) {
		if digest, ok := w.pages.Digest(g.Page(i)); ok {
			w.document[digest] = int(g.Document(i))
		}
	}
	for _, x := range w.Topics {
		if t, err := p.Topic(pool.Key{Web: w.Name, Topic: x.Name}); err == nil {
			x.stratum = t.Member
		}
	}
	return nil
}

// standFor gives the pages of a walk that were read the weights of all pages of the
// walk, by strata: in each, N_h pages of the walk of which n_h were read, a page that
// was read stands for N_h/n_h. Pages of strata of which none was read stand for
// nothing and are left out.
//
// Shape: weights [len(pages)], 0 = it was not read. Without a pool each counts once.
//
// Source: Holt & Smith (1979), poststratification.
func (w *Web) standFor(x *Topic, pages []*web.Page) []float64 {
	of := func(p *web.Page) (stratum int, read bool) {
		_, read = x.grade(p)
		if d, ok := w.document[p.Digest]; ok && x.stratum != nil {
			return int(x.stratum[d]), read
		}
		return -1, read
	}
	all, graded := map[int]float64{}, map[int]float64{}
	for _, p := range pages {
		h, read := of(p)
		all[h]++
		if read {
			graded[h]++
		}
	}
	weights := make([]float64, len(pages))
	for i, p := range pages {
		if h, read := of(p); read {
			weights[i] = 1
			if h >= 0 {
				weights[i] = all[h] / graded[h]
			}
		}
	}
	return weights
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
