package judgelab

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/web"
)

// Figures that can be made by hand.
func TestTallied(t *testing.T) {
	all := []observation{
		{metric.Prediction{Score: 0.9, Weight: 1, Positive: true}, 0.9},
		{metric.Prediction{Score: 0.5, Weight: 1}, 0.5},
		{metric.Prediction{Score: 0.4, Weight: 1, Positive: true}, 0.4},
		{metric.Prediction{Score: 0.1, Weight: 4}, 0.1},
		{metric.Prediction{Score: 0.05, Weight: 1, Positive: true}, 0.05},
	}
	x := tallied(all, 0.4)
	// Of the first three pages two are relevant; listed are three, two of them right.
	for name, c := range map[string][2]float64{
		"P@R": {x.AtR, 2. / 3}, "precision": {x.Precision(), 2. / 3}, "recall": {x.Recall(), 2. / 3}, "pages": {x.Pages, 8}, "listed": {float64(x.ListedPages), 3},
		// Bins: [0,.1) one page of .05, relevant; [.1,.2) four of .1; .4, .5 and .9.
		"ECE": {x.ECE(), (0.95 + 0.4 + 0.6 + 0.5 + 0.1) / 8},
	} {
		if math.Abs(c[0]-c[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
	if none := tallied(all[3:4], 0.4); !math.IsNaN(none.Precision()) {
		t.Errorf("precision of nothing listed is %v", none.Precision())
	}
}

func TestReadLabels(t *testing.T) {
	var l Labels
	for _, s := range []string{
		"# labels of a pool\nweb\ttopic\taddress\tgrade\treader\nw\tbees\thttp://a.test/\t2\tA\nw\tbees\thttp://b.test/\t?\tA\nw\tbees\thttp://a.test/\t1\tB\n",
		// Taken back is the reader's own grade; who cannot tell has none of either round.
		"web\ttopic\taddress\tgrade\treader\tround\n" +
			"w\tants\thttp://a.test/\t2\tA\t1\nw\tants\thttp://a.test/\t-\tA\t1\n" +
			"w\tants\thttp://b.test/\t2\tA\t1\nw\tants\thttp://b.test/\t1\tA\t2\nw\tants\thttp://b.test/\t-\tA\t2\n" +
			"w\tants\thttp://c.test/\t0\tB\t1\nw\tants\thttp://c.test/\t2\tA\t1\nw\tants\thttp://c.test/\t?\tA\t2\n" +
			"w\tants\thttp://d.test/\t1\tA\t1\nw\tants\thttp://d.test/\t?\tA\t1\n" +
			"w\tants\thttp://e.test/\t2\tA\t1\nw\tants\thttp://e.test/\t?\tA\t2\nw\tants\thttp://e.test/\t-\tA\t2\n",
		"topic\taddress\tas\nw/bees\thttp://c.test/\texample\nw/bees\thttp://d.test/\tnegative\n",
	} {
		if err := l.ReadLabels(strings.NewReader(s), "labels"); err != nil {
			t.Fatal(err)
		}
	}
	if g := l.Grades["w/bees"]; len(g) != 1 || g["http://a.test/"] != 1 || l.Chosen["w/bees"][0] != "http://c.test/" || l.Unlike["w/bees"][0] != "http://d.test/" {
		t.Errorf("%+v", l)
	}
	if g, want := l.Grades["w/ants"], map[string]int{"http://b.test/": 2, "http://c.test/": 0, "http://e.test/": 2}; !maps.Equal(g, want) {
		t.Errorf("grades %v, want %v", g, want)
	}
	if err := l.ReadLabels(strings.NewReader("topic\tgrade\nx\t1\n"), "labels"); err == nil || !strings.Contains(err.Error(), "labels:2: there is no address") {
		t.Errorf("a line without an address: %v", err)
	}
}

// A web is called as its web.yaml says, whatever its folder is called, and of equal bodies
// what is said of one is said of the page that stands for all.
func TestOpenWeb(t *testing.T) {
	address := func(path string) web.URL {
		u, err := web.Parse("http://a.test/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	bodies := map[string]string{"1": "<p>bees dance", "2": "<p>bees dance", "3": "<p>cars have wheels", "4": "<p>cars have wheels", "5": "<p>a way"}
	dir := filepath.Join(t.TempDir(), "folder")
	if _, err := corpus.Build(t.Context(), dir, corpus.Made{
		Manifest: corpus.Manifest{Name: "copies", Topics: []corpus.Topic{{Name: "bees", Description: "Bees", Keywords: []string{"bees"}, Seeds: []web.URL{address("5")}}}},
		Truth:    map[string][]web.URL{"bees": {address("2")}},
		Pages: func(yield func(*web.Response, error) bool) {
			for _, path := range slices.Sorted(maps.Keys(bodies)) {
				body := []byte(bodies[path])
				if !yield(&web.Response{
					URL: address(path), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
					Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
				}, nil) {
					return
				}
			}
		},
	}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	l := Labels{Grades: map[string]map[string]int{"copies/bees": {"http://a.test/4": 1}}}
	w, err := OpenWeb(t.Context(), dir, l)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.Pages) != 2 { // of three bodies that of 5 is thinned out
		t.Fatalf("%d pages", len(w.Pages))
	}
	x := w.Topics[0]
	if _, read := x.grade(w.Pages[0]); !x.relevant[w.Pages[0].Digest] || read {
		t.Errorf("%s is not relevant, or was read", w.Pages[0].URL)
	}
	if grade, read := x.grade(w.Pages[1]); x.relevant[w.Pages[1].Digest] || !read || grade != 1 {
		t.Errorf("%s is relevant, or was not read", w.Pages[1].URL)
	}
	if err := l.Check([]*Web{w}); err != nil {
		t.Error(err)
	}
	for want, l := range map[string]Labels{
		"of no topic of these webs (copies), but of others, such as folder/bees": {Grades: map[string]map[string]int{"folder/bees": {"http://a.test/4": 1}}},
		"of others, such as folder/ants":                                         {Chosen: map[string][]string{"folder/ants": {"http://a.test/4"}}},
		"the pool is of none of these webs (copies)":                             {Pool: &pool.Pool{Webs: []pool.Web{{Name: "folder"}}}},
	} {
		if err := l.Check([]*Web{w}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Pages of a walk that were read stand for the others of their stratum: four pages
// of the first, of which two were read, weigh two each; of the second one of three
// was read, which weighs three; of the third none was read.
func TestStandFor(t *testing.T) {
	w := &Web{document: map[[16]byte]int{}}
	x := &Topic{Read: map[web.URL]int{}, stratum: []uint8{0, 0, 0, 0, 1, 1, 1, 2}}
	var pages []*web.Page
	for i := range x.stratum {
		p := &web.Page{Digest: [16]byte{byte(i)}}
		p.URL, _ = web.Parse(fmt.Sprintf("http://a.test/%d", i))
		w.document[p.Digest] = i
		pages = append(pages, p)
	}
	x.Read[pages[0].URL], x.Read[pages[3].URL], x.Read[pages[5].URL] = 2, 0, 1
	if got, want := w.standFor(x, pages), []float64{2, 0, 0, 2, 0, 3, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("weights %v, want %v", got, want)
	}
	x.stratum = nil
	if got, want := w.standFor(x, pages), []float64{1, 0, 0, 1, 0, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("without a pool: weights %v, want %v", got, want)
	}
}
