package teach

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

func address(t *testing.T, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// On another day each way is named by the title of its page, where that is known,
// else by the link that led there, and always with its site; start pages have the
// titles that are known.
func TestNamesAfterARestart(t *testing.T) {
	set, problems, err := paths.Read(strings.NewReader("http://a.test/\nhttp://a.test/docs/INSTALL.html\tGoal\tHow to \x1b[1minstall\t3\n\n"+
		"http://b.test/\nhttp://b.test/docs/INSTALL.html\tGoal\n\nhttp://college.test/\nhttp://college.test/dept/\nhttp://college.test/dept/people\tFail\tPeople\t2\nhttp://college.test/dept/bee101\tGoal\n"), "f")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d := sit(t, college(), func(o *Options) {
		o.Paths = set
		o.Starts = []web.URL{address(t, "http://college.test/"), address(t, "http://b.test/")}
		o.Titles = map[web.URL]string{address(t, "http://college.test/dept/bee101"): "Bees\t101\u202e", address(t, "http://college.test/"): "College"}
	})
	st := d.Server.state()
	var got []string
	for _, p := range st.Paths {
		got = append(got, p.Site+": "+p.Last)
	}
	if want := "a.test: How to [1minstall|b.test: docs/INSTALL.html|college.test: Bees 101"; strings.Join(got, "|") != want {
		t.Errorf("ways %q, want %q", strings.Join(got, "|"), want)
	}
	if got, want := fmt.Sprint(st.Starts), "[{http://college.test/ College} {http://b.test/ }]"; got != want {
		t.Errorf("start pages %s, want %s", got, want)
	}
	// Where a page is on the way to is said in words.
	got = nil
	for _, s := range st.Steps {
		got = append(got, s.Label+"/"+s.State)
	}
	if want := "/before Fail /before Fail Fail/ Goal/"; strings.Join(got, " ") != want {
		t.Errorf("states %q, want %q", got, want)
	}
}

// A link that leads out of a recorded web looks dead and leads nowhere; the others
// are numbered as ever.
func TestLinksOutOfTheRecord(t *testing.T) {
	pages := college()
	pages["http://college.test/news"] = `text/html:<title>News</title><a href="/gone"><img src=x.png></a> <a class=mine title=t href="http://other.test/">other</a> <a href="/dept/">Departments</a>
		<map><area href="http://out.test/" alt="Area"></map><iframe src="http://out.test/frame"></iframe><a href="/gone">again</a> <a href="#here">here</a>`
	d := sit(t, pages, func(o *Options) {
		o.Recorded = "college"
		o.Has = func(u web.URL) bool { return strings.HasPrefix(u.String(), "http://college.test/dept") }
	})
	d.do("open", postRequest{URL: "http://college.test/news"})
	_, doc := d.request("GET", d.Server.state().Src, map[string]string{"Sec-Fetch-Dest": "iframe"}, "")
	if err := harmlesstest.Check(doc, d.Cap); err != nil {
		t.Error(err)
	}
	if n := strings.Count(doc, `class="waggle-dead"`); n != 5 {
		t.Errorf("%d dead links, want 5:\n%s", n, doc)
	}
	if n := strings.Count(doc, `href="/page/`); n != 1 {
		t.Errorf("%d links, want 1:\n%s", n, doc)
	}
	for _, want := range []string{`title="http://college.test/gone is not in the record"><span class="waggle-image">x.png</span>`, `>Area</a>`, `href="#here"`} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in\n%s", want, doc)
		}
	}
	if st, failed := d.click("Departments"); failed != "" || len(st.Steps) != 2 || st.Steps[1].Anchor != "Departments" {
		t.Errorf("%q, %+v", failed, st.Steps)
	}
}
