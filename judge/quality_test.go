package judge

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// tuned are the topics on which the constants of the judge were chosen; the
// other topics test it.
var tuned = map[string]bool{
	"campus/databases": true, "campus/statistics": true, "campus/bioinformatics": true, "campus/publication-pages": true,
	"departments/course": true, "departments/faculty": true,
}

// TestQuality ranks the pages of the recorded webs by each judge and prints
// how well that fits the truth, which no judge sees. Examples and seeds count
// neither as found nor as pages. With WAGGLE_QUALITY unset it is skipped, as
// it takes some minutes:
//
//	WAGGLE_QUALITY=1 go test ./judge -run TestQuality -v -timeout 30m
//
// Columns: P@R precision at the number of relevant pages, AP average
// precision, AUROC the chance that a relevant page stands above an irrelevant
// one, ECE the expected calibration error in ten bins, Brier the mean squared
// error against that of always saying the share of relevant pages, and
// precision and recall at γ.
func TestQuality(t *testing.T) {
	if os.Getenv("WAGGLE_QUALITY") == "" {
		t.Skip("set WAGGLE_QUALITY=1 to measure the judges on the recorded webs")
	}
	t.Logf("%-30s %-22s %5s %5s %6s %6s %7s %6s %6s", "topic (* tuned on)", "judge", "P@R", "AP", "AUROC", "ECE", "Brier", "prec", "rec")
	sums := map[string]*sum{}
	for _, name := range []string{"campus", "departments", "manuals"} {
		w := loadWeb(t, name)
		for _, tp := range w.topics {
			id := name + "/" + tp.Name
			for _, j := range rankers(t, tp, w) {
				m := measure(t, j.judge, tp, w)
				mark := " "
				if tuned[id] {
					mark = "*"
				}
				t.Logf("%-30s %-22s %5.2f %5.2f %6.3f %6.3f %7.2f %6.2f %6.2f", id+mark, j.name, m.pAtR, m.ap, m.auroc, m.ece, m.brier, m.precision, m.recall)
				for _, key := range []string{name + " " + j.name, map[bool]string{true: "tuned ", false: "test "}[tuned[id]] + j.name} {
					if sums[key] == nil {
						sums[key] = &sum{}
					}
					sums[key].add(m)
				}
			}
		}
	}
	keys := make([]string, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		s := sums[k]
		t.Logf("mean %-35s %2.0f topics: P@R %.3f AP %.3f AUROC %.3f ECE %.3f precision %.2f recall %.2f", k, s.n, s.pAtR/s.n, s.ap/s.n, s.auroc/s.n, s.ece/s.n, s.precision/s.n, s.recall/s.n)
	}
}

type ranker struct {
	name  string
	judge Judge
}

func rankers(t *testing.T, tp webTopic, w *recordedWeb) []ranker {
	var out []ranker
	o := Options{Analyzer: w.analyzer, DF: w.df, Frozen: true}
	for _, l := range Names() {
		if l.Name == "rules" || l.Name == "command" {
			continue
		}
		j, err := New(l.Name, &tp.Topic, o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ranker{l.Name, j})
	}
	// The same after the first pages of a crawl.
	o.Frozen = false
	j, err := New("topic", &tp.Topic, o)
	if err != nil {
		t.Fatal(err)
	}
	earlyCrawl(w, tp, j.(*fused))
	return append(out, ranker{"topic, blended", j})
}

type quality struct{ pAtR, ap, auroc, ece, brier, precision, recall float64 }

type sum struct {
	quality
	n float64
}

func (s *sum) add(m quality) {
	s.n++
	s.pAtR += m.pAtR
	s.ap += m.ap
	s.auroc += m.auroc
	s.ece += m.ece
	s.precision += m.precision
	s.recall += m.recall
}

func measure(t *testing.T, j Judge, tp webTopic, w *recordedWeb) quality {
	type judged struct {
		web.Verdict
		wanted bool
	}
	var all []judged
	wanted := 0.
	for _, p := range w.pages {
		if tp.given[p.URL.String()] {
			continue
		}
		v, err := j.Judge(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		is := tp.truth[p.URL.String()]
		if is {
			wanted++
		}
		all = append(all, judged{v, is})
	}
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(b.Similarity, a.Similarity) })
	var m quality
	hits, pairs := 0., 0.
	var bins [10]struct{ n, said, was float64 }
	kept, keptWanted := 0., 0.
	for i, x := range all {
		if x.wanted {
			hits++
			m.ap += hits / float64(i+1) / wanted
			pairs += float64(len(all)-i) - (wanted - hits + 1) // irrelevant pages below
		}
		if i+1 == int(wanted) {
			m.pAtR = hits / wanted
		}
		was := 0.
		if x.wanted {
			was = 1
		}
		b := &bins[min(9, int(x.Relevance*10))]
		b.n, b.said, b.was = b.n+1, b.said+x.Relevance, b.was+was
		m.brier += (x.Relevance - was) * (x.Relevance - was)
		if x.Relevant {
			kept++
			keptWanted += was
		}
	}
	n := float64(len(all))
	m.auroc = pairs / wanted / (n - wanted)
	for _, b := range bins {
		m.ece += math.Abs(b.said-b.was) / n
	}
	m.brier /= n * (wanted / n) * (1 - wanted/n)
	m.precision, m.recall = keptWanted/max(1, kept), keptWanted/wanted
	return m
}

// earlyCrawl lets j see the first pages of a best-first crawl that it guides
// itself: each step takes the link with the best page, the first one found of
// equals.
func earlyCrawl(w *recordedWeb, tp webTopic, j *fused) {
	type link struct {
		p        *web.Page
		priority float64
	}
	var queue []link
	seen := map[*web.Page]bool{}
	push := func(u string, priority float64) {
		if p := w.byURL[u]; p != nil && !seen[p] {
			seen[p] = true
			queue = append(queue, link{p, priority})
		}
	}
	for _, u := range tp.seeds {
		push(u, 1)
	}
	for n := 0; n < blendPages && len(queue) > 0; n++ {
		best := 0
		for i := range queue {
			if queue[i].priority > queue[best].priority {
				best = i
			}
		}
		p := queue[best].p
		queue = slices.Delete(queue, best, best+1)
		v, _ := j.Judge(context.Background(), p)
		j.Observe(p)
		for _, l := range p.Links {
			push(l.URL.String(), v.Similarity)
		}
	}
}

// recordedWeb is a folder of ../shared/webs as far as judges need it.
type recordedWeb struct {
	analyzer *text.Analyzer
	df       *text.DF
	pages    []*web.Page
	byURL    map[string]*web.Page
	topics   []webTopic
}

type webTopic struct {
	topic.Topic
	truth map[string]bool
	given map[string]bool // seeds and examples
	seeds []string
}

// loadWeb reads a recorded web, or skips the test where there is none.
func loadWeb(t testing.TB, name string) *recordedWeb {
	dir := os.Getenv("WAGGLE_WEBS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "webs")
	}
	dir = filepath.Join(dir, name)
	f, err := os.Open(filepath.Join(dir, "pages.jsonl.zst"))
	if err != nil {
		t.Skipf("no recorded web %s: %v; set WAGGLE_WEBS to the folder of webs", name, err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	w := &recordedWeb{analyzer: text.NewAnalyzer(), df: text.Background(), byURL: map[string]*web.Page{}}
	lines := make(chan []byte, 64)
	pages := make(chan *web.Page, 64)
	var parsers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		parsers.Go(func() {
			c := text.NewCounter(w.analyzer)
			for l := range lines {
				if p := quickPage(l, c); p != nil {
					pages <- p
				}
			}
		})
	}
	go func() {
		r := bufio.NewReaderSize(z, 1<<20)
		for {
			l, err := r.ReadBytes('\n')
			if len(l) > 0 {
				lines <- l
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("read %s: %v", name, err)
				break
			}
		}
		close(lines)
		parsers.Wait()
		close(pages)
	}()
	for p := range pages {
		w.pages = append(w.pages, p)
		w.byURL[p.URL.String()] = p
	}
	slices.SortFunc(w.pages, func(a, b *web.Page) int { return strings.Compare(a.URL.String(), b.URL.String()) })
	w.topics = loadTopics(t, dir, w)
	return w
}

// loadTopics reads web.yaml and the truth.
func loadTopics(t testing.TB, dir string, w *recordedWeb) []webTopic {
	b, err := os.ReadFile(filepath.Join(dir, "web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var y struct {
		Topics []struct {
			Name, Description, Truth  string
			Keywords, Seeds, Examples []string
		}
	}
	if err := yaml.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	canon := func(s string) string {
		u, err := web.Parse(s)
		if err != nil {
			return s
		}
		return u.String()
	}
	var out []webTopic
	for _, tp := range y.Topics {
		x := webTopic{Topic: topic.Topic{Name: tp.Name, Description: tp.Description, Keywords: tp.Keywords}, truth: map[string]bool{}, given: map[string]bool{}}
		truth, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tp.Truth)))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range strings.Fields(string(truth)) {
			x.truth[canon(u)] = true
		}
		for _, u := range tp.Examples {
			if p := w.byURL[canon(u)]; p != nil && len(p.Terms) > 0 {
				x.Examples = append(x.Examples, p)
			}
			x.given[canon(u)] = true
		}
		for _, u := range tp.Seeds {
			x.seeds = append(x.seeds, canon(u))
			x.given[canon(u)] = true
		}
		out = append(out, x)
	}
	return out
}

// quickPage makes a page with title, headings, terms and links of a line of
// pages.jsonl, nil where there is nothing to judge. It stands in for the
// parser, which this package may not import.
func quickPage(line []byte, c *text.Counter) *web.Page {
	var rec struct {
		URL    string
		Status int
		Type   string `json:"content_type"`
		Body   string
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		panic(fmt.Sprintf("a broken line in a recorded web: %v", err))
	}
	u, err := web.Parse(rec.URL)
	if err != nil || rec.Status != 0 && rec.Status != 200 {
		return nil
	}
	p := &web.Page{URL: u, Base: u}
	c.Reset()
	if strings.Contains(rec.Type, "html") || rec.Type == "" {
		doc, err := html.Parse(strings.NewReader(rec.Body))
		if err != nil {
			return nil
		}
		quickWalk(doc, p, c, false)
	} else {
		c.Add(rec.Body, false)
	}
	p.Terms = c.Terms()
	return p
}

func quickWalk(n *html.Node, p *web.Page, c *text.Counter, head bool) {
	switch n.Type {
	case html.TextNode:
		c.Add(n.Data, head)
		return
	case html.ElementNode:
		switch n.Data {
		case "script", "style", "noscript", "template":
			return
		case "title":
			if n.FirstChild != nil && p.Title == "" {
				p.Title = n.FirstChild.Data
			}
			head = true
		case "h1", "h2", "h3", "h4", "h5", "h6":
			head = true
		case "a", "frame", "iframe", "area":
			for _, a := range n.Attr {
				if a.Key == "href" || a.Key == "src" {
					if u, err := (web.Canon{}).Resolve(p.Base, a.Val); err == nil {
						p.Links = append(p.Links, web.Link{URL: u, Kind: web.LinkA, Anchor: quickText(n), Position: len(p.Links)})
					}
				}
			}
		}
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		quickWalk(k, p, c, head)
	}
}

func quickText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && b.Len() < 200 {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}
