package judgelab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

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
		"topic\taddress\tas\nw/bees\thttp://c.test/\texample\nw/bees\thttp://d.test/\tnegative\n",
	} {
		if err := l.ReadLabels(strings.NewReader(s), "labels"); err != nil {
			t.Fatal(err)
		}
	}
	if g := l.Grades["w/bees"]; len(g) != 1 || g["http://a.test/"] != 1 || l.Chosen["w/bees"][0] != "http://c.test/" || l.Unlike["w/bees"][0] != "http://d.test/" {
		t.Errorf("%+v", l)
	}
	if err := l.ReadLabels(strings.NewReader("topic\tgrade\nx\t1\n"), "labels"); err == nil || !strings.Contains(err.Error(), "labels:2: there is no address") {
		t.Errorf("a line without an address: %v", err)
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
