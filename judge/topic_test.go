package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// writer makes pages of made-up institutions: sentences from the words of a
// subject among common ones, within what all pages of the site say.
type writer struct {
	r *rand.Rand
	n int
}

const (
	ofBees    = "bee bees hive hives honey colony queen swarm brood comb pollen nectar keeper beekeeping drones"
	ofLaw     = "court courts judge contract liability statute plaintiff defendant appeal lawyer tort damages verdict evidence clause"
	ofSteel   = "steel furnace ore iron alloy price tonne blast mill export tariff coke casting slab rolling"
	ofAnybody = "people time work year part place case week point number group problem fact hand area money story example state night water room mother book word side kind head house friend power game line end member law car city name minute idea body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education"
)

// page writes a page of so many words on a site, a third of them of a subject.
func (w *writer) page(site, subject string, words int) *web.Page {
	w.n++
	own, other := strings.Fields(subject), strings.Fields(ofAnybody)
	some := func(list []string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(list[w.r.IntN(len(list))] + " ")
		}
		return b.String()
	}
	c := text.NewCounter(analyzer)
	name := strings.ToUpper(site[:1]) + site[1:]
	// What all pages of the site say: names that English does not know.
	menu := []string{"Home", "About Us", name + " Institute of Applied Studies", "Zyrrkon Hall, Qvarten Campus", "Admissions", "Vloxen Fellowship", "News and Events", "Contact Zyrrkon Office", "Copyright " + name + " Institute"}
	p := &web.Page{Title: strings.TrimSpace(some(own, 2)) + " | " + name + " Institute"}
	p.URL, _ = web.Parse(fmt.Sprintf("http://www.%s.test/%d", site, w.n))
	c.Add(p.Title, true)
	leaf := func(s string, linked bool) {
		if linked {
			p.Links = append(p.Links, web.Link{URL: p.URL, Anchor: s, First: len(p.Leaves), Last: len(p.Leaves)})
		}
		p.Leaves = append(p.Leaves, web.Leaf{Text: s})
		c.Add(s, false)
	}
	for _, s := range menu[:6] {
		leaf(s, true)
	}
	for left := words; left > 0; left -= 30 {
		leaf(some(own, min(10, left))+some(other, max(0, min(20, left-10))), false)
	}
	for _, s := range menu[6:] {
		leaf(s, false)
	}
	p.Terms = c.Terms()
	return p
}

// judged is the share of pages that are relevant, before anything was observed.
func judged(t *testing.T, tp *topic.Topic, pages []*web.Page) float64 {
	t.Helper()
	j, err := judge.New("topic", tp, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0.
	for _, p := range pages {
		if relevance(t, j, p) >= j.Threshold() {
			n++
		}
	}
	return n / float64(len(pages))
}

// A single example and nothing written still tells pages of its subject from others, so that
// a scorer has something to learn from: with a slope that is nearly 0 all are alike.
func TestOneExampleAlone(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(7, 8))}
	tp := &topic.Topic{Examples: []*web.Page{w.page("north", ofBees, 300)}}
	j, err := judge.New("topic", tp, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ownSite, like, other := 0., 0., 0.
	for range 20 {
		like += relevance(t, j, w.page("south", ofBees, 300)) / 20
		other += relevance(t, j, w.page("south", ofLaw, 300)) / 20
		ownSite += relevance(t, j, w.page("north", ofLaw, 300)) / 20
	}
	if like < 0.5 || other > 0.15 || ownSite > 0.15 {
		t.Errorf("relevance of pages like the example %.3f, of others %.3f, of others of its site %.3f; want more than half, and at most .15", like, other, ownSite)
	}
}

// What misled the judge before: an institution that all examples come from, an
// example much longer than the others, and one that shows something else. Wanted
// pages of another institution are found all the same, and the other pages of the
// examples' own are not taken for wanted, from the first page on.
func TestWhatMisled(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(1, 2))}
	many := func(n int, site, subject string, words int) (out []*web.Page) {
		for range n {
			out = append(out, w.page(site, subject, words))
		}
		return out
	}
	wanted := append(many(20, "far", ofBees, 200), many(20, "near", ofBees, 200)...)
	siblings := append(many(20, "near", ofLaw, 200), many(20, "near", ofSteel, 200)...)
	keywords := []string{"bees", "honey"}
	for _, c := range []struct {
		name         string
		topic        topic.Topic
		found, wrong float64 // share of wanted pages at least, of siblings at most
	}{
		{"keywords alone", topic.Topic{Keywords: keywords}, 0.95, 0},
		{"one example", topic.Topic{Examples: many(1, "near", ofBees, 200)}, 0.8, 0.2},
		{"one example and keywords", topic.Topic{Keywords: keywords, Examples: many(1, "near", ofBees, 200)}, 0.95, 0},
		{"three examples", topic.Topic{Examples: many(3, "near", ofBees, 200)}, 0.9, 0.05},
		{"eight examples", topic.Topic{Examples: many(8, "near", ofBees, 200)}, 0.95, 0},
		{"short and long examples", topic.Topic{Keywords: keywords, Examples: append(many(2, "near", ofBees, 30), many(2, "near", ofBees, 5000)...)}, 0.95, 0},
		{"one of eight shows something else", topic.Topic{Keywords: keywords, Examples: append(many(7, "near", ofBees, 200), many(1, "near", ofLaw, 200)...)}, 0.95, 0},
		{"two of eight do", topic.Topic{Examples: append(many(6, "near", ofBees, 200), many(2, "near", ofLaw, 200)...)}, 0.9, 0.05},
	} {
		if found := judged(t, &c.topic, wanted); found < c.found {
			t.Errorf("%s: %.2f of the wanted pages are found, want %.2f", c.name, found, c.found)
		}
		if wrong := judged(t, &c.topic, siblings); wrong > c.wrong {
			t.Errorf("%s: %.2f of the institution's other pages are taken for wanted, at most %.2f may be", c.name, wrong, c.wrong)
		}
	}
}

// A crawl that strays to a neighbouring subject does not take that for its topic: what
// the judge says of the stray pages does not grow with their number, and wanted pages stay
// above them.
func TestNoDrift(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(7, 8))}
	j, err := judge.New("topic", &topic.Topic{Keywords: []string{"bees", "honey", "hive"}, Examples: []*web.Page{w.page("near", ofBees, 200)}}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const spelling = "bee spelling word contest spell champion letters judge round dictionary school finalist bees speller"
	mean := func(subject string) (sum float64) {
		for range 20 {
			sum += relevance(t, j, w.page("other", subject, 200)) / 20
		}
		return sum
	}
	stray, wanted := mean(spelling), mean(ofBees)
	if stray == 0 || stray > wanted {
		t.Fatalf("before: %.3f of stray pages, %.3f of wanted ones", stray, wanted)
	}
	for i := range 300 {
		observe(t, j.(adaptiveJudge), w.page(fmt.Sprintf("s%d", i%40), spelling, 200))
	}
	if after, still := mean(spelling), mean(ofBees); after > stray || still < 3*after || still < j.Threshold() {
		t.Errorf("stray pages have %.3f, after 300 of them %.3f; wanted ones %.3f and %.3f", stray, after, wanted, still)
	}
}

// Keywords that stand in a site's menu say nothing of its pages once some have
// been seen, and those in the text of a page still do.
func TestTemplateIsIgnored(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(3, 4))}
	j, err := judge.New("topic", &topic.Topic{Keywords: []string{"fellowship", "campus"}}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := j.(adaptiveJudge)
	plain, about := w.page("near", ofLaw, 100), w.page("near", ofLaw+" fellowship campus fellowship", 100)
	before := relevance(t, a, plain)
	for range 8 {
		observe(t, a, w.page("near", ofSteel, 100))
	}
	if after := relevance(t, a, plain); before == 0 || after > 0 {
		t.Errorf("a page with the keywords in its menu has %.3f, after pages of the site %.3f; want more than 0, and 0", before, after)
	}
	if is := relevance(t, a, about); is == 0 {
		t.Error("a page with the keywords in its text is taken for one without")
	}
	e := a.(judge.Explainer).Explain(about)
	if got := strings.Join(e.Ignored, "; "); !strings.Contains(got, "Vloxen Fellowship") || !strings.Contains(got, "Near Institute") || strings.Contains(got, "appeal") {
		t.Errorf("ignored: %s", got)
	}
	// What is the template of one site is text on another.
	if is := relevance(t, a, w.page("far", ofLaw, 100)); is == 0 {
		t.Error("the template of one site is ignored on another")
	}
}

// The judge says when it cannot tell, and what would help.
func TestNotes(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(5, 6))}
	mixed := topic.Topic{}
	for _, s := range []string{ofBees, ofLaw, ofSteel, "violin sonata quartet", "glacier moraine ice", "goal league striker"} {
		mixed.Examples = append(mixed.Examples, w.page("near", s, 60))
	}
	odd := topic.Topic{Keywords: []string{"bees", "honey"}}
	for range 5 {
		odd.Examples = append(odd.Examples, w.page("near", ofBees, 100))
	}
	odd.Examples = append(odd.Examples, w.page("near", ofLaw, 100))
	for _, c := range []struct {
		name      string
		topic     topic.Topic
		seen      string  // subject of the pages seen
		notes     string  // part of what it says, "" for nothing
		threshold float64 // 0 = its own
		language  string  // of the pages seen, "" where it is not known
	}{
		{"one example", topic.Topic{Examples: odd.Examples[:1]}, ofSteel, "one example page and no keywords", 0, ""},
		{"an example without a keyword", topic.Topic{Keywords: []string{"glacier"}, Examples: odd.Examples[:1]}, ofBees, "no word of the keywords stands on an example page", 0, ""},
		{"an example of something else", odd, ofSteel, "1 of 6 example pages look unlike the others, and unlike the keywords: http://www.near.test/12", 0, ""},
		{"examples of everything", mixed, ofAnybody, "hardly tells its own examples", 0, ""},
		{"a keyword on every page", topic.Topic{Keywords: []string{"steel"}}, ofSteel, "of the first 64 pages more than half of those that are not taken for relevant hold each of these keywords too, which tell little then: “steel”", 0, ""},
		{"all is relevant", topic.Topic{Keywords: []string{"steel", "furnace"}}, ofSteel, "64 of the first 64 pages are taken for relevant", 0.01, ""},
		{"nothing is", topic.Topic{Keywords: []string{"glacier"}}, ofSteel, "none of the first 256 pages is taken for relevant", 0, ""},
		{"pages of another language", topic.Topic{Keywords: []string{"glacier"}}, ofSteel, "none of the first 64 pages is in a language of the topic (en), most are in another one (de)", 0, "de"},
		{"a language of the topic", topic.Topic{Keywords: []string{"glacier"}}, ofSteel, "none of the first 256 pages is taken for relevant", 0, "en"},
		{"all is well", topic.Topic{Keywords: []string{"bees"}, Examples: odd.Examples[:5]}, "", "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := judge.New("topic", &c.topic, judge.Options{Threshold: c.threshold})
			if err != nil {
				t.Fatal(err)
			}
			notes, err := j.(judge.Doubter).Doubts()
			if err != nil {
				t.Fatal(err)
			}
			a := j.(adaptiveJudge)
			for i := range 300 {
				subject := c.seen
				if subject == "" {
					subject = []string{ofBees, ofLaw, ofSteel, ofLaw}[i%4]
				}
				p := w.page(fmt.Sprintf("s%d", i%40), subject, 100)
				p.Language = c.language
				observe(t, a, p)
				if n := a.Notes(); n != nil {
					if i+1 != 64 && i+1 != 256 {
						t.Errorf("after %d pages: %q", i+1, n)
					}
					notes = append(notes, n...)
				}
			}
			got := strings.Join(notes, "\n")
			if c.notes == "" && got != "" || !strings.Contains(got, c.notes) {
				t.Errorf("it says %q, want %q", got, c.notes)
			}
		})
	}
}

// An example of a file is told by the name of the file. Of many examples the first are looked at.
func TestNotesNameFiles(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(7, 8))}
	bees := topic.Topic{Keywords: []string{"bees"}}
	for i := range 31 {
		subject := ofBees
		if i == 4 {
			subject = ofLaw
		}
		bees.Examples = append(bees.Examples, w.page("near", subject, 100))
	}
	u, err := web.Parse("http://" + judge.FileHost + "/law%20and%20order.html")
	if err != nil {
		t.Fatal(err)
	}
	bees.Examples[4].URL = u
	j, err := judge.New("topic", &bees, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := j.(judge.Doubter).Doubts()
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 of the first 30 example pages look unlike the others, and unlike the keywords: law and order.html; leave out"; !strings.Contains(strings.Join(notes, "\n"), want) {
		t.Errorf("it says %q, want %q", notes, want)
	}
}

// Relevant pages hold the keywords as they should, and that is no reason to doubt.
func TestKeywordsOfRelevantPages(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(7, 8))}
	for others, doubted := range map[string]bool{ofLaw: false, strings.Repeat(ofLaw+" ", 5) + "bees": true} {
		j, err := judge.New("topic", &topic.Topic{Keywords: []string{"bees"}}, judge.Options{Threshold: 0.6})
		if err != nil {
			t.Fatal(err)
		}
		a := j.(adaptiveJudge)
		var notes []string
		for i := range 64 {
			subject := strings.Repeat("bees ", 20) + ofBees
			if i%5 == 0 {
				subject = others
			}
			observe(t, a, w.page(fmt.Sprintf("s%d", i%20), subject, 300))
			notes = append(notes, a.Notes()...)
		}
		if got := strings.Contains(strings.Join(notes, "\n"), "tell little"); got != doubted {
			t.Errorf("the other pages are of %q: it says %q", others, notes)
		}
	}
}

// At the end of a crawl, however short, all is said that holds then, and once.
func TestLastNotes(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(9, 10))}
	one := topic.Topic{Examples: []*web.Page{w.page("near", ofBees, 100)}}
	for _, c := range []struct {
		name  string
		topic topic.Topic
		pages int
		notes []string // beginnings
	}{
		{"too few pages", topic.Topic{Keywords: []string{"glacier"}}, 4, nil},
		{"none of few", topic.Topic{Keywords: []string{"glacier"}}, 20, []string{"none of the first 20 pages"}},
		{"none of as many as are looked at", topic.Topic{Keywords: []string{"glacier"}}, 64, []string{"none of the first 64 pages"}},
		{"none of many, which was told", topic.Topic{Keywords: []string{"glacier"}}, 300, nil},
		{"one example", one, 20, []string{"the judge has one example page and no keywords", "none of the first 20 pages"}},
		{"all is well", topic.Topic{Keywords: []string{"steel"}}, 20, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := judge.New("topic", &c.topic, judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := j.(adaptiveJudge)
			for i := range c.pages {
				observe(t, a, w.page(fmt.Sprintf("s%d", i%40), ofSteel, 100))
				a.Notes()
			}
			last := j.(interface{ LastNotes() ([]string, bool) })
			got, _ := last.LastNotes()
			if !slices.EqualFunc(got, c.notes, strings.HasPrefix) {
				t.Errorf("it says %q, want %q", got, c.notes)
			}
			if again, others := last.LastNotes(); again != nil || others {
				t.Errorf("asked again it says %q", again)
			}
		})
	}
}

// Likeness to the keywords looks at nothing else that is known of the topic.
func TestSimilarityToKeywords(t *testing.T) {
	page := func(words ...string) *web.Page {
		p := &web.Page{}
		for _, w := range words {
			p.Terms = append(p.Terms, web.Term{Text: w, Body: 1})
		}
		return p
	}
	top := &topic.Topic{Description: "steel", Keywords: []string{"honey bees", "wax"}, Examples: []*web.Page{page("steel", "wheel")}}
	for _, kind := range []string{"keywords", "keywords-idf"} {
		of, anchor, err := judge.Similarities(kind, top, analyzer)
		if err != nil {
			t.Fatal(err)
		}
		if got := of(page("steel", "wheel"), web.Verdict{}); got != 0 {
			t.Errorf("%s: the example and the description count: %v", kind, got)
		}
		if got := anchor("honey bees wax"); math.Abs(got-1) > 1e-6 {
			t.Errorf("%s: the keywords themselves are alike by %v", kind, got)
		}
		// cos((1,0,0), (1,1,1)) = 1/√3 by term frequencies alone.
		if got := of(page("wax"), web.Verdict{}); kind == "keywords" && math.Abs(got-1/math.Sqrt(3)) > 1e-6 {
			t.Errorf("%s: one word of three: %v", kind, got)
		}
	}
	if _, _, err := judge.Similarities("keywords", &topic.Topic{Examples: top.Examples}, analyzer); err == nil || !strings.Contains(err.Error(), "give keywords") {
		t.Errorf("without keywords: %v", err)
	}
}
