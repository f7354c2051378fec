package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/eval"
)

// made is a lab's results by hand: two recorded webs of two topics each and a
// synthetic one; breadth-first, shark-search and fish-search under the judges
// topic and truth, two repeats.
func made() Results {
	r := Results{
		Title: "Classics compared", Command: "waggle lab report out", Notes: []string{"Links outside the record are dropped."}, Budgets: []int{10, 20},
		Webs:   []Web{{"campus", 11650, 87, false, "recorded"}, {"manuals", 24000, 20, false, "recorded"}, {"hive", 1e9, 1e6, true, "made up"}},
		Judges: []Judge{{"campus", "bees", "topic", .5, .9, .8, .95, math.NaN(), 100, 10, 9, 8, nil, 0}},
		Costs:  []Cost{{"shark-search", "topic", []Stage{{"parse", .9, true}, {"score", .1, false}}, 0}},
	}
	rates := map[string]int{"breadth-first": 5, "shark-search": 2, "fish-search": 3}
	for _, w := range r.Webs {
		for t, topic := range []string{"bees", "wasps"} {
			ref := eval.Reference{Reachable: 12, Bound: make([]float64, 21), Greedy: make([]float64, 21)}
			for n := range ref.Bound {
				ref.Bound[n], ref.Greedy[n] = float64(min(max(n-1, 0), 12)), float64(min(max(n-2, 0), 12))
			}
			r.Topics = append(r.Topics, NewTopic(eval.TopicID{Web: w.Name, Topic: topic}, ref, eval.Mesh(20, 20)))
			for scorer, every := range rates {
				for _, judge := range []string{"topic", TruthJudge} {
					for repeat := range 2 {
						run := &eval.Run{Key: eval.Key{Web: w.Name, Topic: topic, Scorer: scorer, Judge: judge, Repeat: repeat}, Budget: 20}
						for i := range 20 {
							p := eval.Page{ID: int32(i * every), Score: 1 / float64(i+1)}
							if (i+t+repeat)%every == 0 || judge == TruthJudge {
								p.Mark = eval.Hit | eval.Relevant
							}
							run.Pages = append(run.Pages, p)
						}
						r.Cells = append(r.Cells, eval.NewCell(run, ref, r.Budgets, eval.Measures()))
					}
				}
			}
		}
	}
	return r
}

// one is the part of made that one web takes, without the judge truth: less
// to draw.
func one() Results {
	r := made()
	r.Webs = r.Webs[:1]
	r.Cells = slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Web != "campus" || c.Judge == TruthJudge })
	r.Topics = slices.DeleteFunc(r.Topics, func(t Topic) bool { return t.Web != "campus" })
	return r
}

// tables reads the tables of a page: by section, by heading, the rows as text.
func tables(t *testing.T, page []byte) map[string]map[string][][]string {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][][]string{}
	section, heading := "", ""
	var words func(n *html.Node) string
	words = func(n *html.Node) string {
		if n.Type == html.TextNode {
			return n.Data
		}
		s := ""
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			s += words(c)
		}
		return s
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "h2":
				section, heading = strings.TrimSpace(words(n)), ""
			case "h3", "summary":
				heading = strings.TrimSpace(words(n))
			case "tr":
				var row []string
				for c := n.FirstChild; c != nil; c = c.NextSibling {
					row = append(row, words(c))
				}
				if out[section] == nil {
					out[section] = map[string][][]string{}
				}
				out[section][heading] = append(out[section][heading], row)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	return out
}

func TestReport(t *testing.T) {
	page, err := HTML(made())
	if err != nil {
		t.Fatal(err)
	}
	all := tables(t, page)

	// campus at 20 pages, over two topics and two repeats. breadth-first hits
	// at i = 0 mod 5 shifted by 0, 1, 1, 2: 4 each. fish-search at 0 mod 3:
	// 7, 6, 6, 7. shark-search at 0 mod 2: 10 each. Best AUC first.
	var got [][]string
	for _, row := range all["campus"]["At 20 pages"] {
		got = append(got, row[:4])
	}
	want := [][]string{{"strategy", "topics", "hits", "harvest"}, {"shark-search", "2", "10", "0.500"}, {"fish-search", "2", "6.5", "0.325"}, {"breadth-first", "2", "4", "0.200"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("campus at 20 pages:\n got %v\nwant %v", got, want)
	}
	// All webs: the two recorded ones, four topics.
	if rows := all["All webs"]["At 20 pages"]; len(rows) != 4 || rows[1][1] != "4" {
		t.Errorf("all webs at 20 pages: %v", rows)
	}
	against := all["All webs: against breadth-first"]["AUC against breadth-first at 20 pages"]
	// n = 4, all won: Wilcoxon 2/16; two comparisons, so Holm doubles it.
	if len(against) != 4 || !slices.Equal(against[1][4:7], []string{"4, 0, 0", ".125", ".250"}) ||
		!slices.Equal(against[0][:4], []string{"strategy", "H/U", "H/G", "difference"}) || !slices.Equal(against[1][:3], []string{"shark-search", "0.833", "0.833"}) || against[3][0] != "breadth-first" {
		t.Errorf("against breadth-first: %v", against)
	}
	if worst := against[1][slices.Index(against[0], "worst topic")]; worst != "bees campus, +0.287" {
		t.Errorf("worst topic: %q", worst)
	}
	hits := all["campus"]["Hits of each topic at 20 pages"]
	if want := [][]string{{"strategy", "bees", "wasps"}, {"shark-search", "10 .83 · .83", "10 .83 · .83"}, {"fish-search", "6.5 .54 · .54", "6.5 .54 · .54"},
		{"breadth-first", "4 .33 · .33", "4 .33 · .33"}, {"G: greedy", "12", "12"}, {"U: bound", "12", "12"}, {"reachable", "12", "12"}}; !slices.EqualFunc(hits, want, slices.Equal) {
		t.Errorf("hits of each topic: %v", hits)
	}
}

// The judge that never errs stays in its own section, in every format.
func TestTruthStaysOutOfHeadlines(t *testing.T) {
	r := made()
	with, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Judge == TruthJudge })
	without, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := tables(t, with), tables(t, without)
	for section := range a {
		switch {
		case strings.HasPrefix(section, "Diagnosis"):
			if b[section] != nil {
				t.Error("a diagnosis without the judge truth")
			}
		case section == "Webs": // counts runs
		default:
			for heading, rows := range a[section] {
				if !slices.EqualFunc(rows, b[section][heading], slices.Equal) {
					t.Errorf("%s, %s: with truth\n%v\nwithout\n%v", section, heading, rows, b[section][heading])
				}
			}
		}
	}
	if len(a["Diagnosis: with a judge that never errs not a result"]) == 0 {
		t.Errorf("no diagnosis among %v", len(a))
	}
}

// A synthetic web never shows its name without its label, and takes no part in
// what spans several webs.
func TestSyntheticWebsAreLabelled(t *testing.T) {
	r := made()
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Markdown(r, "")
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`(id|href)="[^"]*"`)
	for format, s := range map[string]string{"HTML": ids.ReplaceAllString(string(page), ""), "Markdown": string(text)} {
		if n, labelled := strings.Count(s, "hive"), strings.Count(s, "hive (synthetic)"); n == 0 || n != labelled {
			t.Errorf("%s: the synthetic web is named %d times and labelled %d times", format, n, labelled)
		}
	}
	plots, err := Plots(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plots {
		if strings.HasPrefix(p.Name, "hive") {
			var b bytes.Buffer
			if err := p.Drawing.SVG(&b); err != nil || !strings.Contains(b.String(), "hive (synthetic)") {
				t.Errorf("plot %s is not labelled, %v", p.Name, err)
			}
		}
	}
	data, err := ValuesCSV(r)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) < 100 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		if row[1] != strconv.FormatBool(row[0] == "hive") {
			t.Fatalf("row %v", row)
		}
	}
}

// Whatever order the cells come in, and however often: the same bytes.
func TestSameResultsSameBytes(t *testing.T) {
	first, second := made(), made()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(second.Cells), func(i, j int) {
		second.Cells[i], second.Cells[j] = second.Cells[j], second.Cells[i]
	})
	slices.Reverse(second.Topics)
	slices.Reverse(second.Webs)
	for name, f := range map[string]func(Results) ([]byte, error){
		"HTML": HTML, "values": ValuesCSV, "curves": CurvesCSV,
		"Markdown": func(r Results) ([]byte, error) { return Markdown(r, "plots") },
	} {
		a, err := f(first)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := f(second); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
}

// Webs whose names make the same slug, or none, or that of a section, have
// anchors and charts of their own.
func TestNamesThatSlugAlike(t *testing.T) {
	r := one()
	cells, topics := r.Cells, r.Topics
	r.Webs, r.Cells, r.Topics = nil, nil, nil
	for _, name := range []string{"a b", "a-b", "蜂", "蜜", "all", "costs"} {
		r.Webs = append(r.Webs, Web{Name: name})
		for _, c := range cells {
			c.Web = name
			r.Cells = append(r.Cells, c)
		}
		for _, topic := range topics {
			topic.Web = name
			r.Topics = append(r.Topics, topic)
		}
	}
	b, err := newBuilder(r)
	if err != nil {
		t.Fatal(err)
	}
	p := b.page()
	seen := map[string]bool{}
	for _, s := range p.Sections {
		if s.ID == "" || seen["#"+s.ID] {
			t.Errorf("section %s: a second #%s", s.Title, s.ID)
		}
		seen["#"+s.ID] = true
	}
	for _, c := range p.plots() {
		if c.Name == "" || strings.HasPrefix(c.Name, "-") || seen[c.Name] {
			t.Errorf("a second chart %q", c.Name)
		}
		seen[c.Name] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d names", len(seen))
	}
}

// Names come from files that anybody may have written.
func TestHostileNames(t *testing.T) {
	const unseen = "\x1b[2J\u202e\u0007"
	const evil = unseen + `</svg></script><script>alert("1")</script><img src=x onerror=alert(2)>|=1+1`
	r := made()
	r.Title, r.Command, r.Notes, r.Webs[0].Note = evil, evil, []string{evil}, evil
	r.Webs[0].Name = evil
	for i := range r.Cells {
		if r.Cells[i].Web == "campus" {
			r.Cells[i].Web = evil
		}
		if r.Cells[i].Scorer == "fish-search" {
			r.Cells[i].Scorer = "=" + evil
		}
	}
	for i := range r.Topics {
		if r.Topics[i].Web == "campus" {
			r.Topics[i].Web, r.Topics[i].Topic = evil, evil
		}
	}
	r.Cells[0].Error = evil
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			own := n.Data == "script" && n.FirstChild != nil && n.FirstChild.Data == pageJS && len(n.Attr) == 0
			if slices.Contains([]string{"script", "img", "iframe", "object", "link"}, n.Data) && !own {
				t.Errorf("the page holds a <%s>", n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || (a.Key == "href" && !strings.HasPrefix(a.Val, "#")) || a.Key == "src" {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	text, err := Markdown(r, "plots")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		// The command stands in a code block, indented by four.
		if !strings.HasPrefix(line, "    ") && strings.ContainsAny(line, "<>") {
			t.Errorf("Markdown holds an element: %s", line)
		}
	}
	data, err := ValuesCSV(r)
	if err != nil || bytes.Contains(data, []byte(",=")) || bytes.Contains(data, []byte(`,"=`)) {
		t.Errorf("CSV holds a formula, %v", err)
	}
	plots, err := Plots(r)
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	for _, p := range plots {
		if err := p.Drawing.SVG(&drawn); err != nil {
			t.Fatal(err)
		}
	}
	for format, b := range map[string][]byte{"HTML": page, "Markdown": text, "CSV": data, "SVG": drawn.Bytes()} {
		if i := bytes.IndexAny(b, "\x1b\u202e\u0007"); i >= 0 {
			t.Errorf("%s holds a character that commands the screen: %q", format, b[max(0, i-20):i+5])
		}
	}
}

func TestFailedRunsAreTold(t *testing.T) {
	r := one()
	r.Cells[3] = eval.Cell{Key: r.Cells[3].Key, Error: "the record is damaged"}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	rows := tables(t, page)["Failed runs"][""]
	if len(rows) != 2 || rows[1][1] != "the record is damaged" {
		t.Errorf("failed runs: %v", rows)
	}
}

func TestResultsThatCannotBeReported(t *testing.T) {
	for _, test := range []struct {
		name string
		spol func(*Results)
		says string
	}{
		{"budgets", func(r *Results) { r.Budgets = []int{20, 10} }, "smallest first"},
		{"measure", func(r *Results) { r.Headline = []string{"hitz"} }, `no measure "hitz"`},
		{"unknown web", func(r *Results) { r.Webs = r.Webs[:1] }, "nobody knows whether it is synthetic"},
		{"a web for all", func(r *Results) { r.Webs[0].Name = "*" }, "which stands for all"},
		{"twice", func(r *Results) { r.Cells = append(r.Cells, r.Cells[0]) }, "two cells are named"},
	} {
		r := made()
		test.spol(&r)
		if _, err := HTML(r); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		}
	}
	if _, err := HTML(Results{}); err != nil {
		t.Errorf("nothing at all: %v", err)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(filepath.Join(dir, "plots"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"earlier-harvest.svg", "earlier-harvest.png", "mine.svg"} {
		if err := os.WriteFile(filepath.Join(dir, "plots", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := made()
	r.Webs, r.Budgets = r.Webs[:1], r.Budgets[1:]
	r.Cells = slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Web != "campus" || c.Scorer == "fish-search" })
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "plots", "[em]*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != "mine.svg" {
		t.Errorf("of an earlier report and a file of somebody's own there are %q, %v", left, err)
	}
	links := regexp.MustCompile(`\]\((plots/[^)]*)\.svg\)`).FindAllSubmatch(text, -1)
	if len(links) < 4 {
		t.Errorf("%d plots in report.md", len(links))
	}
	for _, l := range links {
		for _, kind := range []string{".svg", ".png"} {
			if _, err := os.Stat(filepath.Join(dir, string(l[1])+kind)); err != nil {
				t.Error(err)
			}
		}
	}
}

// A folder that cannot be written to is one line, not one a file.
func TestWriteTellsOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "taken")
	if err := os.MkdirAll(filepath.Join(dir, "report.html"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "report.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, one()); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), filepath.Join(dir, "report.")) {
		t.Errorf("%v", err)
	}
}

// Every table that sets strategies side by side says what was possible,
// whatever measures were asked for.
func TestEveryTableShowsWhatWasPossible(t *testing.T) {
	for name, headline := range map[string][]string{"default": nil, "of one's choice": {"harvest"}} {
		r := made()
		r.Headline = headline
		r.Topics[1].Dev = true
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for section, list := range tables(t, page) {
			for title, rows := range list {
				switch head := rows[0]; {
				case head[0] != "strategy":
				case strings.Contains(strings.ToLower(title), "hits of each topic"):
					seen++
					for _, row := range rows[1:4] {
						if !strings.Contains(row[1], " · ") {
							t.Errorf("%s, %s, %s: %v", name, section, title, row)
						}
					}
				default:
					seen++
					if !slices.Contains(head, "H/U") || !slices.Contains(head, "H/G") {
						t.Errorf("%s, %s, %s: %v", name, section, title, head)
					}
				}
			}
		}
		if seen < 30 {
			t.Errorf("%s: %d tables of strategies", name, seen)
		}
	}
}

// No measure is in the CSV alone.
func TestEveryMeasureHasATable(t *testing.T) {
	r := one()
	for i := range r.Cells {
		for k := range r.Cells[i].Values {
			r.Cells[i].Values[k].Value = .5 // also of what does not apply
		}
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	all := tables(t, page)
	var shown []string
	for _, rows := range [][][]string{all["campus"]["At 20 pages"], all["campus"]["All other measures at 20 pages"], all["As the papers measured decoration"]["campus at 20 pages, as the papers measured"]} {
		if len(rows) == 0 {
			t.Fatal("a table is missing")
		}
		shown = append(shown, rows[0]...)
	}
	for _, m := range eval.Measures() {
		if m.Read {
			continue // those of a truth that was read have tables of their own
		}
		if !slices.Contains(shown, heading(m.Name)) {
			t.Errorf("%s is in no table", m.Name)
		}
	}
}
