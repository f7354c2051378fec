package extract_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/extract"
)

// person is what a made page tells.
type person struct{ name, mail, room string }

// template makes pages of people, of one of many forms, as a content system would.
type template struct {
	before, heading, wrap string // markup before, of the name, and around the facts
	label                 string // of the mail
	inline                bool   // label and value stand in one text
	link                  bool   // the mail is a link
	footer                bool   // the mail of the webmaster stands below
	noise                 int    // paragraphs between
}

func drawTemplate(t *rapid.T) template {
	return template{
		before:  rapid.SampledFrom([]string{"", "<nav><a href=/>Home</a> <a href=/staff>Staff</a></nav>", "<p>Welcome to the college"}).Draw(t, "before"),
		heading: rapid.SampledFrom([]string{"h1", "h2", "h3", "strong"}).Draw(t, "heading"),
		wrap:    rapid.SampledFrom([]string{"div", "address", "td", "li"}).Draw(t, "wrap"),
		label:   rapid.SampledFrom([]string{"E-mail", "Mail", "Write to"}).Draw(t, "label"),
		inline:  rapid.Bool().Draw(t, "inline"),
		link:    rapid.Bool().Draw(t, "link"),
		footer:  rapid.Bool().Draw(t, "footer"),
		noise:   rapid.IntRange(0, 3).Draw(t, "noise"),
	}
}

func (m template) page(p person, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>College</title><body>%s<%s>%s</%s>", m.before, m.heading, p.name, m.heading)
	for i := range m.noise {
		fmt.Fprintf(&b, "<p>Paragraph %d of page %d has no fact.", i, n)
	}
	open, closing := "<div class=facts><"+m.wrap+">", "</"+m.wrap+"></div>"
	if m.wrap == "td" {
		open, closing = "<table class=facts><tr><td>", "</td></tr></table>"
	}
	mail := p.mail
	if m.link {
		mail = fmt.Sprintf("<a href=\"mailto:%s\">%s</a>", p.mail, p.mail)
	}
	if m.inline {
		fmt.Fprintf(&b, "%sRoom: %s%s%s%s: %s%s", open, p.room, closing, open, m.label, mail, closing)
	} else {
		fmt.Fprintf(&b, "%s<b>Room</b> <i>%s</i>%s%s<b>%s</b> <span>%s</span>%s", open, p.room, closing, open, m.label, mail, closing)
	}
	if m.footer {
		b.WriteString("<footer>Questions: web@college.example</footer>")
	}
	return b.String()
}

var syllables = []string{"ba", "ne", "ro", "ti", "mu", "sal", "dor", "kin"}

func drawPerson(t *rapid.T, n int) person {
	word := func(label string) string {
		w := strings.Join(rapid.SliceOfN(rapid.SampledFrom(syllables), 2, 3).Draw(t, label), "")
		return strings.ToUpper(w[:1]) + w[1:]
	}
	p := person{name: word("first") + " " + word("last"), room: fmt.Sprintf("%c %d", 'A'+n%6, 100+n*7)}
	p.mail = fmt.Sprintf("%s%d@college.example", strings.ToLower(strings.Fields(p.name)[1]), n)
	return p
}

// What is learnt from three pages of a template finds the values on all other pages of it.
func TestLearnTemplate(t *testing.T) {
	columns := []extract.Column{{Name: "name"}, {Name: "mail"}, {Name: "room"}}
	rapid.Check(t, func(t *rapid.T) {
		m := drawTemplate(t)
		var people []person
		var pages []*extract.Page
		for n := range 6 {
			people = append(people, drawPerson(t, n))
			pages = append(pages, page(t, fmt.Sprintf("https://college.example/%d", n), m.page(people[n], n)))
		}
		var examples []extract.Example
		for n := range 3 {
			p := people[n]
			examples = append(examples, extract.Example{Page: pages[n], Values: []extract.Value{
				{Known: true, Texts: []string{p.name}}, {Known: true, Texts: []string{p.mail}}, {Known: true, Texts: []string{p.room}},
			}})
		}
		learnt, report, err := extract.Learn(context.Background(), columns, examples, pages[3:])
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Fields) != 3 || report.Fields[0].None > 0 {
			t.Fatalf("report %+v", report.Fields)
		}
		// The file that is written says the same when it is read.
		var file bytes.Buffer
		if _, err := learnt.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		read, err := extract.Read("learnt.yaml", file.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, file.String())
		}
		for n := range pages {
			p := people[n]
			got := read.Values(pages[n])
			for i, want := range []string{p.name, p.mail, p.room} {
				if len(got[i]) != 1 || got[i][0] != want {
					t.Fatalf("page %d: %s is %q, want %q\n%s\n%s", n, columns[i].Name, got[i], want, file.String(), m.page(p, n))
				}
			}
		}
	})
}

// Many values of a page, and a field that some pages lack.
func TestLearnManyAndNone(t *testing.T) {
	source := func(topics []string, office string) string {
		s := "<h1>Ada</h1><h2>Interests</h2><ul>"
		for _, x := range topics {
			s += "<li>" + x
		}
		s += "</ul><h2>Pages</h2><ol><li>home<li>away</ol>"
		if office != "" {
			s += "<p>Office: " + office + "</p>"
		}
		return s
	}
	pages := []*extract.Page{
		page(t, "https://a.example/1", source([]string{"bees", "maps"}, "Room 4")),
		page(t, "https://a.example/2", source([]string{"ants", "moss", "ferns"}, "")),
		page(t, "https://a.example/3", source([]string{"owls"}, "Room 12")),
	}
	examples := []extract.Example{
		{Page: pages[0], Values: []extract.Value{{Known: true, Texts: []string{"maps", "bees"}}, {Known: true, Texts: []string{"Room 4"}}}},
		{Page: pages[1], Values: []extract.Value{{Known: false}, {Known: true}}},
	}
	f, report, err := extract.Learn(context.Background(), []extract.Column{{Name: "topics", Many: true}, {Name: "office"}}, examples, pages[2:])
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q", f.Values(pages[2])); got != `[["owls"] ["Room 12"]]` {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprintf("%q", f.Values(pages[1])); got != `[["ants" "moss" "ferns"] []]` {
		t.Errorf("%s", got)
	}
	if len(report.Fields) != 2 {
		t.Errorf("%+v", report)
	}
}

// What cannot be learnt is said.
func TestLearnNothing(t *testing.T) {
	p := page(t, "https://a.example/1", "<h1>Ada Byron</h1>")
	for _, c := range []struct {
		value extract.Value
		want  string
	}{
		{extract.Value{Known: true, Texts: []string{"Kay"}}, `name: "Kay" stands nowhere on https://a.example/1`},
		{extract.Value{Known: true, Texts: []string{"yron"}}, `stands nowhere`},
		{extract.Value{Known: true}, "name: no page has a value of it"},
		{extract.Value{}, "name: no page has a value of it"},
	} {
		_, _, err := extract.Learn(context.Background(), []extract.Column{{Name: "name"}}, []extract.Example{{Page: p, Values: []extract.Value{c.value}}}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Pages that contradict each other are told from mistakes.
func TestLearnUnlike(t *testing.T) {
	known := func(s string) []extract.Value { return []extract.Value{{Known: true, Texts: []string{s}}} }
	_, _, err := extract.Learn(context.Background(), []extract.Column{{Name: "name"}}, []extract.Example{
		{Page: page(t, "https://a.example/1", "<p>Ada<p>Kay"), Values: known("Ada")},
		{Page: page(t, "https://a.example/2", "<p>Ada<p>Kay"), Values: known("Kay")},
	}, nil)
	if !errors.Is(err, extract.ErrUnlike) || !strings.HasPrefix(err.Error(), "name: ") {
		t.Errorf("%v", err)
	}
}

// The page that would teach most is one of the largest kind on which nothing is found.
func TestDoubts(t *testing.T) {
	var others []*extract.Page
	for n := range 5 {
		others = append(others, page(t, fmt.Sprintf("https://a.example/old/%d", n), fmt.Sprintf("<b>Name: P%d Q</b>", n)))
	}
	others = append(others, page(t, "https://a.example/new/1", "<h1>Kay Moss</h1>"), page(t, "https://a.example/odd", "<h2>Odd</h2>"))
	_, report, err := extract.Learn(context.Background(), []extract.Column{{Name: "name"}},
		[]extract.Example{{Page: page(t, "https://a.example/new/2", "<h1>Ada Byron</h1>"), Values: []extract.Value{{Known: true, Texts: []string{"Ada Byron"}}}}}, others)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Doubts) != 6 || report.Doubts[0].URL.String() != "https://a.example/old/0" || report.Doubts[0].Alike != 6 {
		t.Errorf("%+v", report.Doubts)
	}
	if f := report.Fields[0]; f.Agree != 1 || f.None != 6 {
		t.Errorf("%+v", f)
	}
}

// Tables filled in by hand, and what is wrong with them.
func TestReadFilled(t *testing.T) {
	f, err := extract.ReadFilled("filled.tsv", []byte("\ufeff# people\nurl\tname\ttopics[]\r\nhttps://a.example/1\t Ada \tbees | maps | bees\r\n\nhttps://a.example/2\t'=x\t?\nhttps://a.example/3\nhttps://a.example/4\t'\"x\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %v", f.Columns, f.Pages[0].Values); got != `[{name false} {topics true}] [{true [Ada]} {true [bees maps]}]` {
		t.Errorf("%s", got)
	}
	if v := f.Pages[1].Values; v[0].Texts[0] != "=x" || v[1].Known {
		t.Errorf("%+v", v)
	}
	if v := f.Pages[2].Values; !v[0].Known || len(v[0].Texts) != 0 {
		t.Errorf("%+v", v)
	}
	if v := f.Pages[3].Values; v[0].Texts[0] != `"x"` {
		t.Errorf("%+v", v)
	}
	for _, c := range []struct{ text, want string }{
		{"", "filled.tsv: it is empty"},
		{"https://a.example/\tx", "filled.tsv:1: the first line names the columns"},
		{"url\n", "filled.tsv:1: the first line names the columns"},
		{"url\ta b\n", `filled.tsv:1: name: "a b"`},
		{"url\ta\ta\n", `filled.tsv:1: there is a column "a" already`},
		{"url\ta\nnothing\tx", `filled.tsv:2: "nothing" is no address`},
		{"url\ta\nhttps://a.example/\tx\ty", "filled.tsv:2: it has 3 cells, and the first line names 2"},
		{"url\ta\nhttps://a.example/\tx\nhttps://a.example\ty", "filled.tsv:3: https://a.example/ stands in line 2 already"},
	} {
		if _, err := extract.ReadFilled("filled.tsv", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestScore(t *testing.T) {
	var s extract.Score
	s.Add([]string{"CS 512", "x"}, extract.Value{Known: true, Texts: []string{"cs512", "CS 9"}})
	s.Add([]string{"y"}, extract.Value{})
	s.Add(nil, extract.Value{Known: true})
	if s.Pages != 2 || s.Wanted != 2 || s.Given != 2 || s.Right != 1 || s.Precision() != 0.5 || s.Recall() != 0.5 {
		t.Errorf("%+v", s)
	}
}

// An element whose whole text is the name is taken, and not the name cut out of the title, nor the element behind
// words of the menu; names with apostrophes are found whole.
func TestLearnWholeText(t *testing.T) {
	source := func(name string) string {
		return "<title>" + name + " - Honey bee lab</title><body><ul><li><a href=/>Home</a><li><a href=/all>All</a></ul><h1 class=n>" + name + "</h1><p>Works on bees."
	}
	var pages []*extract.Page
	names := []string{"Ada Byron", "Kay Moss", "Bob O'Hara", "Mia D’Angelo", "Jeanne d'Arc"}
	for i, n := range names {
		pages = append(pages, page(t, fmt.Sprintf("https://lab.example/%d", i), source(n)))
	}
	index := page(t, "https://lab.example/", "<title>Department - Honey bee lab</title><body><ul><li><a href=/>Home</a></ul><h2>People</h2>")
	moved := page(t, "https://lab.example/new", "<title>Eve Wren - Honey bee lab</title><body><p>All</p><h1 class=n>Eve Wren</h1>")
	bare := page(t, "https://lab.example/bare", "<title>Eve Wren - Honey bee lab</title><body><h1 class=n>Eve Wren</h1>")
	for _, shown := range [][]int{{0}, {1}, {2}, {3}, {4}, {0, 1}, {0, 2}, {2, 3}} {
		for _, others := range [][]*extract.Page{nil, append([]*extract.Page{index}, pages...)} {
			var examples []extract.Example
			for _, i := range shown {
				examples = append(examples, extract.Example{Page: pages[i], Values: []extract.Value{{Known: true, Texts: []string{names[i]}}}})
			}
			f, _, err := extract.Learn(context.Background(), []extract.Column{{Name: "name"}}, examples, others)
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if _, err := f.WriteTo(&file); err != nil {
				t.Fatal(err)
			}
			for i, p := range append(slices.Clone(pages), moved, bare) {
				want := append(slices.Clone(names), "Eve Wren", "Eve Wren")[i]
				if got := fmt.Sprintf("%q", f.Values(p)[0]); got != fmt.Sprintf("%q", []string{want}) {
					t.Errorf("learnt of %d, %d others: page %d is %s, want %q\n%s", shown, len(others), i, got, want, file.String())
				}
			}
			if got := f.Values(index)[0]; len(got) > 0 {
				t.Errorf("learnt of %d, %d others: the index has the name %q\n%s", shown, len(others), got, file.String())
			}
		}
	}
}

// Where most other pages lack the element, the name is cut out of the title.
func TestLearnPartWhereWholeIsMissing(t *testing.T) {
	names := []string{"Ada Byron", "Kay Moss", "Tim Reed", "Una Lark", "Ian Marsh", "Zoe Fenn"}
	var pages []*extract.Page
	for i, n := range names {
		s := "<title>" + n + " - Honey bee lab</title><body>"
		if i == 0 {
			s += "<h1>" + n + "</h1>"
		}
		pages = append(pages, page(t, fmt.Sprintf("https://lab.example/%d", i), s+"<p>Works on bees, and on what they find in the meadows of the valley all summer."))
	}
	f, _, err := extract.Learn(context.Background(), []extract.Column{{Name: "name"}},
		[]extract.Example{{Page: pages[0], Values: []extract.Value{{Known: true, Texts: []string{names[0]}}}}}, pages[1:])
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pages {
		if got := f.Values(p)[0]; len(got) != 1 || got[0] != names[i] {
			t.Errorf("page %d: %q, want %q\n%+v", i, got, names[i], f.Fields[0])
		}
	}
}
