package paths

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// sameURL compares addresses in diffs.
var sameURL = cmp.Comparer(func(a, b web.URL) bool { return a == b })

// read reads paths that must be without problems.
func read(t *testing.T, file string) []Path {
	t.Helper()
	set, problems, err := Read(strings.NewReader(file), "paths.tsv")
	if err != nil || len(problems) > 0 {
		t.Fatalf("err %v, problems %v", err, problems)
	}
	return set
}

// The states of unlabelled pages, and which paths are positive (section 2.4.1).
func TestStates(t *testing.T) {
	for _, c := range []struct {
		labels   string // of the pages in turn, "-" = none
		states   string
		positive bool
	}{
		{"- Dept - Goal", "→Dept Dept →Goal Goal", true},
		{"- - Goal -", "→Goal →Goal Goal", true},
		{"- Fail", "→Fail Fail", false},
		{"Home Dept Goal Fail", "Home Dept Goal Fail", false},
		{"- Dept", "→Dept Dept", false},
		{"Goal", "Goal", true},
		{"- -", "", false},
	} {
		var p Path
		for i, l := range strings.Fields(c.labels) {
			u, err := web.Parse(fmt.Sprintf("http://a.test/%d", i))
			if err != nil {
				t.Fatal(err)
			}
			p.Steps = append(p.Steps, Step{URL: u, Label: strings.Trim(l, "-")})
		}
		var states []string
		for _, s := range p.States() {
			states = append(states, s.String())
		}
		if got := strings.Join(states, " "); got != c.states || p.Positive() != c.positive {
			t.Errorf("%s: states %q, positive %v; want %q, %v", c.labels, got, p.Positive(), c.states, c.positive)
		}
	}
}

const byHand = `# waggle paths
# site: cornell
# task: courses
http://cs.cornell.edu/
http://cs.cornell.edu/Info/Courses/	Courses	Course Information
http://cs.cornell.edu/CS414.html	goal	CS414	17	http://cs.cornell.edu/414
# site:
http://cs.test	
http://cs.test/people/		People
http://cs.test/people/ann	Fail
`

// TestForms reads one set of paths in all its forms.
func TestForms(t *testing.T) {
	want := read(t, byHand)
	if len(want) != 2 || want[0].SiteName() != "cornell" || want[1].SiteName() != "cs.test" || want[0].Line != 4 || want[1].Line != 8 {
		t.Fatalf("%+v", want)
	}
	if got := want[0].Steps[2]; got.Label != Goal || got.Link.Ordinal != 17 || got.Link.Via.String() != "http://cs.cornell.edu/414" {
		t.Errorf("third page: %+v", got)
	}
	var tsv, lines bytes.Buffer
	if err := WriteTSV(&tsv, want); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&lines, want); err != nil {
		t.Fatal(err)
	}
	array := "[\n" + strings.Join(strings.Split(strings.TrimSpace(lines.String()), "\n"), ",\n") + "]"
	for form, file := range map[string]string{
		"tabbed": tsv.String(), "with CRLF and BOM": "\xef\xbb\xbf" + strings.ReplaceAll(byHand, "\n", "\r\n"),
		"JSON lines": lines.String(), "JSON array": array,
	} {
		got := read(t, file)
		for i := range got {
			if got[i].Line == 0 || got[i].File != "paths.tsv" {
				t.Errorf("%s: path %d is of %s", form, i, got[i].Place())
			}
			got[i].Line = want[i].Line
		}
		if d := cmp.Diff(want, got, sameURL); d != "" {
			t.Errorf("%s: -want +got\n%s", form, d)
		}
	}
}

// TestSpreadOut tells what to do with paths that are not one a line.
func TestSpreadOut(t *testing.T) {
	_, _, err := Read(strings.NewReader("\n{\n  \"steps\": [{\"url\": \"http://a.test/\", \"label\": \"Goal\"}]\n}\n"), "f")
	if err == nil || !strings.HasPrefix(err.Error(), "f: line 2: a path over several lines: write each on one line") {
		t.Error(err)
	}
}

// TestMalformed reads on behind what is wrong.
func TestMalformed(t *testing.T) {
	good := "\n\nhttp://good.test/\tGoal\n"
	goodJSON := "\n{\"steps\":[{\"url\":\"http://good.test/\",\"label\":\"Goal\"}]}\n"
	for name, c := range map[string]struct{ file, want string }{
		"no address":       {"home page\tGoal" + good, `f:1: "home page" is no address`},
		"spaces, no tab":   {"http://a.test/    Goal" + good, `f:1: the address "http://a.test/    Goal" holds a space: fields are parted by tabs`},
		"second line":      {"http://a.test/\nftp://a.test/\tGoal" + good, `f:2: `},
		"too many fields":  {"http://a.test/\tGoal\tx\t1\thttp://b.test/\tz" + good, "f:1: 6 fields, at most 5: page, label, anchor, ordinal, via; the path of line 1 is left out"},
		"ordinal":          {"http://a.test/\tGoal\tx\t0" + good, `f:1: "0" is no place of a link, which are counted from 1; the path of line 1 is left out`},
		"long label":       {"http://a.test/\t" + strings.Repeat("é", 33) + good, "is longer than 64 bytes"},
		"escape in label":  {"http://a.test/\tre\x1bd" + good, `the label "re\x1bd" holds the invisible character U+001B`},
		"state as label":   {"http://a.test/\t→Goal" + good, `begins with "→"`},
		"via":              {"http://a.test/\tGoal\t\t\tjavascript:x" + good, "f:1: "},
		"long path":        {strings.Repeat("http://a.test/\n", MaxSteps+1) + good, "f:1001: more than 1000 pages; the path of line 1 is left out"},
		"JSON syntax":      {`{"steps":` + goodJSON, "f:1: "},
		"JSON key":         {`{"stepz":[]}` + goodJSON, `f:1: unknown field "stepz"; the path of line 1 is left out`},
		"JSON step":        {`{"steps":[{"url":"http://a.test/"},{"url":"mailto:x"}]}` + goodJSON, "f:1: step 2: "},
		"JSON line of two": {strings.TrimSpace(goodJSON) + `{"steps":[{"url":"http://a.test/"}]}`, "f:1: what follows the path on the line is left out"},
		"JSON empty":       {`{}` + goodJSON, "f:1: 0 steps, which may be 1 to 1000"},
	} {
		set, problems, err := Read(strings.NewReader(c.file), "f")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) || !problems[0].Dropped {
			t.Errorf("%s: problems %q, want one with %q", name, problems, c.want)
		}
		if len(set) != 1 || set[0].SiteName() != "good.test" {
			t.Errorf("%s: the good path was not read: %+v", name, set)
		}
	}
	for name, c := range map[string]struct{ file, want string }{
		"binary":    {strings.Repeat("x", maxLine+1), "line 1 is longer than"},
		"array end": {`[{"steps":[{"url":"http://a.test/"}]}`, "f: line 1: the array does not end"},
	} {
		if _, _, err := Read(strings.NewReader(c.file), "f"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestRoundTrip writes any paths in both forms and reads them again.
func TestRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[a-z#\t:é"\\<]{0,8}( [a-z]{1,3})?`)
	step := rapid.Custom(func(t *rapid.T) Step {
		u := func(name string) web.URL {
			u, err := web.Parse("http://a.test/" + rapid.StringMatching(`[a-z?#=]{0,6}`).Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		s := Step{URL: u("page"), Label: rapid.SampledFrom([]string{"", "", Goal, Fail, "Dept", "two words"}).Draw(t, "label")}
		s.Link = Click{Anchor: oneLine(text.Draw(t, "anchor")), Ordinal: rapid.IntRange(0, 9).Draw(t, "ordinal")}
		if via := u("via"); via != s.URL {
			s.Link.Via = via
		}
		return s
	})
	path := rapid.Custom(func(t *rapid.T) Path {
		return Path{
			Site: oneLine(text.Draw(t, "site")), Task: oneLine(text.Draw(t, "task")), Source: oneLine(text.Draw(t, "source")),
			Steps: rapid.SliceOfN(step, 1, 5).Draw(t, "steps"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(path, 1, 4).Draw(t, "paths")
		for form, write := range map[string]func(*bytes.Buffer) error{
			"tabbed": func(b *bytes.Buffer) error { return WriteTSV(b, want) },
			"JSON":   func(b *bytes.Buffer) error { return WriteJSON(b, want) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			got, problems, err := Read(&b, "f")
			if err != nil || len(problems) > 0 {
				t.Fatalf("%s: %v %v", form, err, problems)
			}
			for i := range got {
				got[i].File, got[i].Line = "", 0
			}
			if d := cmp.Diff(want, got, sameURL); d != "" {
				t.Fatalf("%s: -want +got\n%s", form, d)
			}
		}
	})
}

// FuzzRead reads anything: what comes out is well-formed and can be written.
func FuzzRead(f *testing.F) {
	f.Add(byHand)
	f.Add(`[{"steps":[{"url":"http://a.test/","label":"Goal"}]}]`)
	f.Add(`{"steps":[{"url":"http://a.test/","label":"Goal"}]}`)
	f.Fuzz(func(t *testing.T, file string) {
		set, _, err := Read(strings.NewReader(file), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteTSV(&b, set); err != nil {
			t.Fatal(err)
		}
		again, problems, err := Read(&b, "f")
		if err != nil || len(problems) > 0 || len(again) != len(set) {
			t.Fatalf("%d paths written, %d read: %v %v", len(set), len(again), err, problems)
		}
		Check(set, nil)
	})
}

// record is a few pages with their links.
type record map[string]*web.Page

func (r record) Page(u web.URL) (*web.Page, bool) {
	p, ok := r[u.String()]
	return p, ok
}

func page(links ...string) *web.Page {
	p := &web.Page{}
	for i, l := range links {
		addr, anchor, _ := strings.Cut(l, " ")
		u, err := web.Parse("http://a.test" + addr)
		if err != nil {
			panic(err)
		}
		p.Links = append(p.Links, web.Link{URL: u, Anchor: anchor, Position: i})
	}
	return p
}

// TestCheck tells what is wrong with paths, and what becomes of them.
func TestCheck(t *testing.T) {
	rec := record{
		"http://a.test/":      page("/dept Departments", "/dept", "/goal All of it"),
		"http://a.test/dept":  page("/goal", "/moved Course", "/other X", "/goal Goals"),
		"http://a.test/goal":  page(),
		"http://a.test/other": page("/goal Y"),
	}
	for name, c := range map[string]struct {
		file string
		rec  Record
		// kept is one line a path: its pages as "/path=label"; told the kinds
		// and places of problems.
		kept, told string
	}{
		"fine": {
			"http://a.test/\nhttp://a.test/goal\tGoal\n", rec,
			"/ /goal=Goal(All of it 3)", ""},
		"cut behind the last label": {
			"http://a.test/\nhttp://a.test/goal\tGoal\nhttp://a.test/nowhere\n", rec,
			"/ /goal=Goal(All of it 3)", ""},
		"links are looked up": {
			"http://a.test/\nhttp://a.test/dept\nhttp://a.test/goal\tGoal\thttp://a.test/goal\n\n" +
				"http://a.test/dept\nhttp://a.test/goal\tGoal\t\t1\n\nhttp://a.test/dept\nhttp://a.test/other\nhttp://a.test/goal\tGoal\n\n" +
				"http://a.test/dept\nhttp://a.test/other\tFail\t\t\thttp://a.test/moved\n", rec,
			"/ /dept(Departments 1) /goal=Goal(Goals 4)\n/dept /goal=Goal( 1)\n/dept /other(X 3) /goal=Goal(Y 1)\n/dept /other=Fail(Course 2)", ""},
		"no label": {"http://a.test/\nhttp://a.test/goal\n\nhttp://a.test/goal\tGoal\n", nil,
			"/goal=Goal", "unlabelled p:1 dropped"},
		"no goal": {"http://a.test/dept\tDept\n\nhttp://a.test/dept\tDept\nhttp://a.test/goal\tGoal\n", nil,
			"/dept=Dept\n/dept=Dept /goal=Goal", "no goal p:1"},
		"none at all": {"http://a.test/\nhttp://a.test/dept\tFail\n", nil,
			"/ /dept=Fail", "none reaches -"},
		"two goals": {"http://a.test/\nhttp://a.test/goal\tGoal\nhttp://a.test/other\tGoal\n", nil,
			"/ /goal=Goal", "two goals p:1"},
		"label once": {"http://a.test/dept\tDept\nhttp://a.test/goal\tGoal\n\nhttp://a.test/other\tDepts\nhttp://a.test/goal\tGoal\n\nhttp://a.test/\nhttp://a.test/dept\tDept\nhttp://a.test/goal\tGoal\n", nil,
			"/dept=Dept /goal=Goal\n/other=Depts /goal=Goal\n/ /dept=Dept /goal=Goal", "label once p:4"},
		"contradiction": {"http://a.test/\tFail\n\nhttp://a.test/dept\nhttp://a.test/\tGoal\n\nhttp://a.test/other\nhttp://a.test/\tGoal\n", nil,
			"/dept /=Goal\n/other /=Goal", "contradiction p:1 dropped"},
		"contradiction, the last given holds": {"http://a.test/\tFail\n\nhttp://a.test/dept\nhttp://a.test/\tGoal\n", nil,
			"/dept /=Goal", "contradiction p:1 dropped"},
		"one page, two tasks": {"# task: x\nhttp://a.test/\tFail\n\n# task: y\nhttp://a.test/\tGoal\n", nil,
			"/=Fail\n/=Goal", "none reaches -"},
		"outside": {"http://a.test/\nhttp://b.test/\nhttp://a.test/goal\tGoal\n\nhttp://a.test/\nhttp://a.test/goal\tGoal\n", rec,
			"/ /goal=Goal(All of it 3)", "outside p:1 dropped"},
		"unlinked": {"http://a.test/goal\nhttp://a.test/dept\nhttp://a.test/goal\tGoal\n", rec,
			"/goal /dept /goal=Goal(Goals 4)", "unlinked p:1"},
		"repeated": {"http://a.test/goal\tGoal\n\nhttp://a.test/goal\tGoal\n", nil,
			"/goal=Goal", "repeated p:3 dropped"},
	} {
		set, malformed, err := Read(strings.NewReader(c.file), "p")
		if err != nil || len(malformed) > 0 {
			t.Fatalf("%s: %v %v", name, err, malformed)
		}
		before := fmt.Sprint(set)
		usable, problems := Check(set, c.rec)
		if fmt.Sprint(set) != before {
			t.Errorf("%s: Check changed its input", name)
		}
		var kept, told []string
		for _, p := range usable {
			var b strings.Builder
			for i, s := range p.Steps {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(strings.TrimPrefix(s.URL.String(), "http://a.test"))
				if s.Label != "" {
					b.WriteString("=" + s.Label)
				}
				if s.Link.Ordinal > 0 {
					fmt.Fprintf(&b, "(%s %d)", s.Link.Anchor, s.Link.Ordinal)
				}
			}
			kept = append(kept, b.String())
		}
		for _, p := range problems {
			place := p.Place
			if place == "" {
				place = "-"
			}
			told = append(told, strings.TrimSpace(string(p.Kind)+" "+place+map[bool]string{true: " dropped"}[p.Dropped]))
		}
		if got := strings.Join(kept, "\n"); got != c.kept {
			t.Errorf("%s: kept\n%s\nwant\n%s", name, got, c.kept)
		}
		if got := strings.Join(told, "\n"); got != c.told {
			t.Errorf("%s: told\n%s\nwant\n%s\n%v", name, got, c.told, problems)
		}
	}
}

// TestUnfold follows trails: a transcript of clicks and the paths they make.
func TestUnfold(t *testing.T) {
	for _, c := range []struct{ clicks, want string }{
		{"a;b;c", "a b c"},
		{"a;b;<;c", "a b|a c"},
		{"a;b;<;b;<;c", "a b|a b|a c"}, // the same wrong turn twice
		{"a;b;c;<;<;d;e", "a b c|a d e"},
		{"a;b;<", "a b"}, // ends where it began: nothing was clicked there again
		{"a;a;b", "a b"}, // a reload
		{"a;b;a;c", "a c"},
		{"a", "a"},
	} {
		clicks := strings.NewReplacer("a", "http://x.test/a", "b", "http://x.test/b", "c", "http://x.test/c", "d", "http://x.test/d", "e", "http://x.test/e").Replace(c.clicks)
		g, err := readGame("unfinished\t1\t\thttp://x.test/z\t" + clicks)
		if err != nil {
			t.Fatal(err)
		}
		ways, err := Unfold(g.Visits())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, way := range ways {
			var s []string
			for _, x := range way {
				s = append(s, strings.TrimPrefix(x.URL.Path(), "/"))
			}
			got = append(got, strings.Join(s, " "))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", c.clicks, s, c.want)
		}
	}
	if _, err := Unfold([]Visit{{From: 0}}); err == nil {
		t.Error("a visit that comes from itself: no error")
	}
}

// TestGames reads recorded searches, with the wrong turns and without.
func TestGames(t *testing.T) {
	const file = "#kind\tduration_s\trating_or_end\ttarget\tpath\n" +
		"finished\t9\t1.0\thttp://x.test/goal\thttp://x.test/a;http://x.test/b;<;http://x.test/goal\n" +
		"unfinished\t9\ttimeout\thttp://x.test/goal\thttp://x.test/a;http://x.test/b;<;http://x.test/c\n" +
		"unfinished\t9\ttimeout\thttp://x.test/goal\thttp://x.test/a;http://x.test/d;<\n" +
		"finished\t9\n" +
		"finished\t9\t\thttp://x.test/goal\thttp://x.test/a;<;http://x.test/goal\n"
	for deadEnds, want := range map[bool][]string{
		false: {"/a /goal=Goal"},
		true:  {"/a /b=Fail", "/a /goal=Goal", "/a /b=Fail", "/a /d=Fail"},
	} {
		var got []string
		problems, err := ReadGames(strings.NewReader(file), "games", func(g Game) bool {
			set, err := g.Paths(deadEnds)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range set {
				var s []string
				for _, x := range p.Steps {
					s = append(s, strings.TrimSuffix(x.URL.Path()+"="+x.Label, "="))
				}
				got = append(got, strings.Join(s, " "))
			}
			return true
		})
		if err != nil || len(problems) != 2 || problems[0].Place != "games:5" || problems[1].Place != "games:6" {
			t.Fatalf("err %v, problems %v", err, problems)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with dead ends %v: %q, want %q", deadEnds, got, want)
		}
	}
}

// TestMisspelt guesses what was meant by a label that stands in one place.
func TestMisspelt(t *testing.T) {
	for label, meant := range map[string]string{
		"Gaol": "Goal", "Goals": "Goal", "Gol": "Goal", "Deptt": "Dept", "dept": "Dept", "Detp": "Dept", "Deep": "", "X": "",
	} {
		set, _, err := Read(strings.NewReader("http://a.test/a\t"+label+"\nhttp://a.test/goal\tGoal\n\nhttp://a.test/b\tDept\nhttp://a.test/goal\tGoal\n\nhttp://a.test/c\tDept\nhttp://a.test/goal\tGoal\n"), "p")
		if err != nil {
			t.Fatal(err)
		}
		_, problems := Check(set, nil)
		if len(problems) != 1 || problems[0].Kind != Once || strings.Contains(problems[0].Text, "meant?") != (meant != "") || meant != "" && !strings.Contains(problems[0].Text, `Is "`+meant+`" meant?`) {
			t.Errorf("%s: %v", label, problems)
		}
	}
}
