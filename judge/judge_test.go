package judge_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// analyzer is large: all pages of these tests share one.
var analyzer = text.NewAnalyzer()

// page makes a page whose words are those of title and body.
func page(url, title, body string) *web.Page {
	u, err := web.Parse(url)
	if err != nil {
		panic(err)
	}
	c := text.NewCounter(analyzer)
	c.Add(title, true)
	c.Add(body, false)
	return &web.Page{URL: u, Title: title, Terms: c.Terms(), Main: body, Leaves: []web.Leaf{{Text: title}, {Text: body}}}
}

const menu = "Home Products Press Careers Contact Imprint Newsletter Login. "

// bees is a small topic on a site whose pages all carry the same menu.
func bees() *topic.Topic {
	return &topic.Topic{
		Name:        "bees",
		Description: "Keeping honey bees",
		Keywords:    []string{"bees", "honey", "queen excluder"},
		Examples: []*web.Page{
			page("http://x.test/1", "Wintering a hive", menu+"Bees cluster in the hive through the winter and eat their honey. The keeper insulates the hive and leaves the colony its combs."),
			page("http://x.test/2", "Swarms", menu+"When the colony grows a swarm leaves the hive with the old queen. Bees look for a cavity; the keeper offers a hive with combs."),
			page("http://x.test/3", "Harvest", menu+"Honey is ripe when the combs are capped. The keeper takes them from the hive above the queen excluder, and the colony keeps the rest."),
		},
	}
}

var (
	onTopic  = page("http://x.test/a", "The brood nest", menu+"The queen lays in the combs of the hive; bees feed the brood, and the keeper watches the bees, the colony and its honey.")
	near     = page("http://x.test/b", "Wasps", menu+"Wasps build paper nests. A colony dies in winter.")
	offTopic = page("http://x.test/c", "Quarterly results", menu+"Revenue grew by four percent as prices of steel and energy fell, says the board of the company.")
)

func relevance(t testing.TB, j judge.Judge, p *web.Page) float64 {
	t.Helper()
	v, err := j.Judge(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !(v.Relevance >= 0 && v.Relevance <= 1 && v.Similarity >= 0 && v.Similarity <= 1) {
		t.Fatalf("%s: verdict %+v is outside [0,1]", j.Name(), v)
	}
	if v.Relevant != (v.Relevance >= j.Threshold()) {
		t.Fatalf("%s: verdict %+v at threshold %v", j.Name(), v, j.Threshold())
	}
	return v.Relevance
}

// pure are the judges that a topic alone makes.
func pure() (names []string) {
	for _, l := range judge.Descriptions() {
		if l.Name != "rules" && l.Name != "command" {
			names = append(names, l.Name)
		}
	}
	return names
}

// Every judge puts a page on the topic above one that is not, an anchor
// likewise, and says of the first that it is relevant (but for the cosines,
// whose threshold a quarter of the examples themselves do not reach).
func TestOrder(t *testing.T) {
	for _, name := range pure() {
		t.Run(name, func(t *testing.T) {
			j, err := judge.New(name, bees(), judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if j.Name() != name {
				t.Errorf("it calls itself %q", j.Name())
			}
			on, off := relevance(t, j, onTopic), relevance(t, j, offTopic)
			if on <= off {
				t.Errorf("on topic %.3f, off topic %.3f", on, off)
			}
			if on < j.Threshold() && !strings.HasPrefix(name, "cosine") {
				t.Errorf("the page on the topic has %.3f, below the threshold %.3f", on, j.Threshold())
			}
			if on, off := j.Text("honey bees"), j.Text("quarterly results"); on <= off {
				t.Errorf("anchors: on topic %.3f, off topic %.3f", on, off)
			}
			relevance(t, j, &web.Page{}) // a page without words is judged too
		})
	}
}

// Each part of a topic is enough for the default judge, and each part counts.
func TestTopicParts(t *testing.T) {
	whole := bees()
	for name, part := range map[string]*topic.Topic{
		"keywords":    {Keywords: whole.Keywords},
		"description": {Description: whole.Description},
		"examples":    {Examples: whole.Examples},
		"one example": {Examples: whole.Examples[:1]},
	} {
		j, err := judge.New("topic", part, judge.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if on, off := relevance(t, j, onTopic), relevance(t, j, offTopic); on <= off || on < 0.1 {
			t.Errorf("%s alone: on topic %.3f, off topic %.3f", name, on, off)
		}
	}
}

// Negative examples lower pages like them against the wanted ones. (For naive
// Bayes they take the place of the background, by which such pages can be as
// low already.)
func TestNegatives(t *testing.T) {
	for _, name := range []string{"topic", "bayes"} {
		with := bees()
		with.Negatives = []*web.Page{
			page("http://x.test/n1", "Hornets", menu+"Hornets and wasps build paper nests under the roof."),
			page("http://x.test/n2", "Removal", menu+"We remove wasps and their paper nests."),
		}
		plain, err := judge.New(name, bees(), judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		warned, err := judge.New(name, with, judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := relevance(t, plain, near) / relevance(t, plain, onTopic)
		after := relevance(t, warned, near) / relevance(t, warned, onTopic)
		if after >= before && (name == "topic" || after > 0.01) {
			t.Errorf("%s: wasps against bees %.3f without negative examples, %.3f with them", name, before, after)
		}
	}
}

// A word counts more in a title, and a phrase more than its words apart.
func TestWhereWordsStand(t *testing.T) {
	j, err := judge.New("keyword", &topic.Topic{Keywords: []string{"bees", "query processing"}}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("steel energy price market board ", 20)
	for _, c := range []struct {
		name         string
		better, less *web.Page
	}{
		{"title", page("http://x.test/", "Bees", filler), page("http://x.test/", "News", filler+"bees")},
		{"phrase", page("http://x.test/", "", filler+"query processing"), page("http://x.test/", "", filler+"query query")},
		{"more often", page("http://x.test/", "", filler+"bees bees bees"), page("http://x.test/", "", filler+"bees a a")},
		{"shorter page", page("http://x.test/", "", filler+"bees"), page("http://x.test/", "", filler+filler+filler+"bees")},
	} {
		if b, l := relevance(t, j, c.better), relevance(t, j, c.less); b <= l {
			t.Errorf("%s: %.4f is not above %.4f", c.name, b, l)
		}
	}
}

// The cosine to itself is 1, and the tf cosine of two pages is what pencil and
// paper say: (2·1 + 1·1) / (√(2²+1²)·√(1²+1²)) for "bee bee hive" and "bee hive".
func TestCosineValue(t *testing.T) {
	example := page("http://x.test/1", "", "bees bees hive")
	for _, name := range []string{"cosine-tf-max", "cosine-tf-centroid"} {
		j, err := judge.New(name, &topic.Topic{Examples: []*web.Page{example}}, judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			body string
			want float64
		}{{"bees bees hive", 1}, {"bees hive", 0.9486832980505138}, {"steel", 0}} {
			if got := relevance(t, j, page("http://x.test/2", "", c.body)); got < c.want-1e-12 || got > c.want+1e-12 {
				t.Errorf("%s of %q: %v, want %v", name, c.body, got, c.want)
			}
		}
	}
}

func TestNewErrors(t *testing.T) {
	none := &topic.Topic{}
	words := &topic.Topic{Keywords: []string{"bees"}}
	for _, c := range []struct {
		name  string
		topic *topic.Topic
		o     judge.Options
		want  string
	}{
		{"oracle", words, judge.Options{}, "the judges are topic, cosine-tf-max"},
		{"topic", none, judge.Options{}, "give keywords"},
		{"topic", words, judge.Options{Threshold: 1.5}, "threshold 1.5"},
		{"keyword", &topic.Topic{Description: "Bees"}, judge.Options{}, "no keywords"},
		{"bayes", words, judge.Options{}, "example pages"},
		{"rules", none, judge.Options{}, "no rules"},
		{"rules", none, judge.Options{Rules: []judge.Rule{{Field: "body", Pattern: "a"}, {Field: "colour", Pattern: "red"}}}, `rule 2: field "colour"`},
		{"rules", none, judge.Options{Rules: []judge.Rule{{Field: "url", Pattern: "("}}}, "rule 1"},
		{"rules", none, judge.Options{Rules: []judge.Rule{{Field: "url", Pattern: "a", Weight: 7}}}, "weight 7"},
		{"command", none, judge.Options{}, "no command"},
		{"command", none, judge.Options{Command: []string{"/nonexistent/judge"}}, "/nonexistent/judge"},
	} {
		if _, err := judge.New(c.name, c.topic, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestRules(t *testing.T) {
	j, err := judge.New("rules", &topic.Topic{}, judge.Options{Rules: []judge.Rule{
		{Field: "url", Pattern: `/bees?/`, Weight: 0.6},
		{Field: "title", Pattern: `(?i)\bhive`, Weight: 0.3},
		{Field: "body", Pattern: `honey`, Weight: 0.3},
		{Field: "body", Pattern: `cookie`, Weight: -1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url, title, body string
		want             float64
	}{
		{"http://x.test/bees/", "", "", 0.6},
		{"http://x.test/bees/", "The Hive", "honey", 1},
		{"http://x.test/", "The Hive", "honey", 0.6},
		{"http://x.test/bees/", "The Hive", "honey cookie", 0.2},
		{"http://x.test/", "", "cookie", 0},
	} {
		if got := relevance(t, j, page(c.url, c.title, c.body)); got < c.want-1e-12 || got > c.want+1e-12 {
			t.Errorf("%s %q %q: %v, want %v", c.url, c.title, c.body, got, c.want)
		}
	}
}

// adaptiveJudge is what a crawl looks for in a judge.
type adaptiveJudge interface {
	judge.Judge
	Observe(p *web.Page, said web.Verdict) []web.Renewal
	Notes() []string
	State() map[string][]byte
	Restore(part func(name string) ([]byte, error)) error
}

// observe lets a judge see a page as a crawl does.
func observe(t testing.TB, a adaptiveJudge, p *web.Page) []web.Renewal {
	t.Helper()
	v, err := a.Judge(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return a.Observe(p, v)
}

func newAdapting(t testing.TB) adaptiveJudge {
	j, err := judge.New("topic", bees(), judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := j.(adaptiveJudge)
	if !ok {
		t.Fatal("the judge topic does not adapt")
	}
	return a
}

// Words of a site's menu look rare at first; pages that carry nothing else of
// the examples show that they are not.
func TestMenuIsLearnt(t *testing.T) {
	j, err := judge.New("topic", &topic.Topic{Examples: bees().Examples}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := j.(adaptiveJudge)
	before := a.Text("products imprint")
	for i := range 64 {
		observe(t, a, page(fmt.Sprintf("http://y%d.test/", i), fmt.Sprint("Item ", i), menu+"Steel and energy."))
	}
	if after := a.Text("products imprint"); after >= before {
		t.Errorf("the menu's words weighed %.3f before, %.3f after 64 pages with it", before, after)
	}
	if on, off := relevance(t, a, onTopic), relevance(t, a, offTopic); on <= off {
		t.Errorf("on topic %.3f, off topic %.3f", on, off)
	}
}

// The view changes after 1, 2, 4 … 256 pages and never again: pages of a host of
// which no template is known are judged alike in between.
func TestWhenItAdapts(t *testing.T) {
	a := newAdapting(t)
	last := relevance(t, a, near)
	var changed []int
	for n := 1; n <= 600; n++ {
		body := menu + "colony winter hive steel"
		if n%3 == 0 {
			body = "energy steel winter"
		}
		observe(t, a, page(fmt.Sprintf("http://y%d.test/", n), "", body))
		if r := relevance(t, a, near); r != last {
			changed, last = append(changed, n), r
		}
	}
	if want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256}; len(changed) == 0 || slices.ContainsFunc(changed, func(n int) bool { return !slices.Contains(want, n) }) {
		t.Errorf("it changed after %v pages", changed)
	}
}

// What the judge says anew of pages is what it says of them when asked, and
// nothing is left out that changed.
func TestRenewal(t *testing.T) {
	for name, tp := range map[string]*topic.Topic{"all": bees(), "examples": {Examples: bees().Examples}, "keywords": {Keywords: bees().Keywords}} {
		t.Run(name, func(t *testing.T) {
			j, err := judge.New("topic", tp, judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := j.(adaptiveJudge)
			said := map[web.URL]web.Verdict{}
			pages := map[web.URL]*web.Page{}
			renewals := 0
			for n := range 300 {
				p := page(fmt.Sprintf("http://y%d.test/%d", n%3, n), "Item", menu+strings.Repeat("bees hive steel energy colony prices combs ", n%5)+strings.Repeat("swarm ", n%7))
				v, _ := a.Judge(t.Context(), p)
				said[p.URL], pages[p.URL] = v, p
				for _, r := range a.Observe(p, v) {
					renewals++
					if was := said[r.URL]; was.Relevant != r.Was || reflect.DeepEqual(was, r.Verdict) {
						t.Fatalf("page %d: %+v, and it had said %+v", n, r, was)
					}
					said[r.URL] = r.Verdict
				}
				if n+1 < 256 && (n+1)&n == 0 {
					for u, p := range pages {
						if is, _ := a.Judge(t.Context(), p); !reflect.DeepEqual(is, said[u]) && (is.Relevant != said[u].Relevant || max(is.Relevance-said[u].Relevance, said[u].Relevance-is.Relevance) > 0.0201) {
							t.Fatalf("after %d pages it says %+v of %s, and had told %+v", n+1, is, u, said[u])
						}
					}
				}
			}
			if renewals == 0 && name != "keywords" {
				t.Error("nothing was ever said anew: the test shows nothing")
			}
		})
	}
}

// A judge restored at any page goes on as the one that was never stopped.
func TestRestore(t *testing.T) {
	tp, o := bees(), judge.Options{DF: text.Background(), Analyzer: analyzer}
	pages := []*web.Page{onTopic, near, offTopic, page("http://x.test/d", "", menu), page("http://y.test/e", "Bees | Y", "winter steel")}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "pages before the stop")
		m := rapid.IntRange(0, 70).Draw(t, "pages after it")
		step := rapid.IntRange(1, 4).Draw(t, "step")
		seldom := rapid.IntRange(1, 9).Draw(t, "pages between two turns")
		make := func() adaptiveJudge {
			j, err := judge.New("topic", tp, o)
			if err != nil {
				t.Fatal(err)
			}
			return j.(adaptiveJudge)
		}
		observe := func(a adaptiveJudge, i int) []web.Renewal {
			p := pages[i*step%len(pages)]
			v, _ := a.Judge(context.Background(), p)
			return a.Observe(p, v)
		}
		whole, first, second := make(), make(), make()
		state := map[string][]byte{}
		for i := range n {
			observe(whole, i)
			observe(first, i)
			if i%seldom == 0 || i == n-1 {
				maps.Copy(state, first.State())
			}
		}
		if n > 0 && first.State() != nil {
			t.Fatal("a second State says that something changed")
		}
		if err := second.Restore(func(name string) ([]byte, error) { return state[name], nil }); err != nil {
			t.Fatal(err)
		}
		for i := n; i <= n+m; i++ {
			for _, p := range pages {
				a, _ := whole.Judge(context.Background(), p)
				b, _ := second.Judge(context.Background(), p)
				if !reflect.DeepEqual(a, b) {
					t.Fatalf("after %d pages: %v, restored %v", i, a, b)
				}
			}
			if a, b := observe(whole, i), observe(second, i); !reflect.DeepEqual(a, b) {
				t.Fatalf("after %d pages it said anew %v, restored %v", i, a, b)
			}
		}
	})
}

// A state that is cut short, changed or another topic's is refused, and the judge
// is as before.
func TestRestoreErrors(t *testing.T) {
	a := newAdapting(t)
	for range 5 {
		observe(t, a, offTopic)
	}
	state := a.State()
	for name, whole := range state {
		fresh := newAdapting(t)
		was := relevance(t, fresh, near)
		for n := range len(whole) {
			cut := maps.Clone(state)
			cut[name] = whole[:n]
			if n == 0 && name == "" {
				continue // there is none
			}
			if fresh.Restore(func(name string) ([]byte, error) { return cut[name], nil }) == nil {
				t.Errorf("part %q cut to %d of %d bytes was accepted", name, n, len(whole))
			}
		}
		if is := relevance(t, fresh, near); is != was {
			t.Errorf("part %q: the judge changed from %v to %v by what it refused", name, was, is)
		}
	}
	frozen, err := judge.New("topic", bees(), judge.Options{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := frozen.(adaptiveJudge).Restore(func(name string) ([]byte, error) { return state[name], nil }); err == nil || !strings.Contains(err.Error(), "frozen") {
		t.Errorf("a frozen judge took a state: %v", err)
	}
}

// Judging is safe while the step observes, and says the same to all.
func TestConcurrentUse(t *testing.T) {
	for _, name := range pure() {
		j, err := judge.New(name, bees(), judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 200 {
					if _, err := j.Judge(context.Background(), onTopic); err != nil {
						t.Error(err)
					}
					j.Text("honey bees")
				}
			})
		}
		if a, ok := j.(adaptiveJudge); ok {
			for range 100 {
				observe(t, a, offTopic)
			}
		}
		group.Wait()
	}
}

// longPage has about as many different stems as a page of the web.
func longPage() *web.Page {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "word%d ", i%450)
	}
	return page("http://x.test/", "The hive", b.String()+"bees honey colony queen")
}

func BenchmarkJudge(b *testing.B) {
	p := longPage()
	for _, name := range pure() {
		b.Run(name, func(b *testing.B) {
			j, err := judge.New(name, bees(), judge.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				j.Judge(context.Background(), p)
			}
		})
	}
}

// BenchmarkSite judges and observes a page of 450 different words in 230 leaves,
// of which 100 belong to the template of its site.
func BenchmarkSite(b *testing.B) {
	pages := make([]*web.Page, 80)
	for n := range pages {
		var leaves []web.Leaf
		c := text.NewCounter(analyzer)
		for i := range 230 {
			s := fmt.Sprintf("menu entry number%d", i)
			if i >= 100 {
				s = fmt.Sprintf("word%d bees of page%d here word%d word%d", i, n, 2*i, 3*i)
			}
			leaves = append(leaves, web.Leaf{Text: s})
			c.Add(s, false)
		}
		pages[n] = page(fmt.Sprintf("http://x.test/%d", n), fmt.Sprintf("Page %d | Site", n), "")
		pages[n].Leaves, pages[n].Terms = leaves, c.Terms()
	}
	a := newAdapting(b)
	b.Run("Observe", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if n%len(pages) == 0 {
				a = newAdapting(b)
			}
			observe(b, a, pages[n%len(pages)])
			n++
		}
	})
	b.Run("Judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a.Judge(context.Background(), pages[7])
		}
	})
}

func BenchmarkText(b *testing.B) {
	j, err := judge.New("topic", bees(), judge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		j.Text("The queen excluder and the honey harvest")
	}
}
