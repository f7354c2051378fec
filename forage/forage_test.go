package forage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/forage"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// world answers for a few sites: HTML, "→address" for a redirect; all else is
// 404, and hosts that end in down.test do not answer.
type world struct {
	pages   map[string]string
	parser  *parse.Parser
	fetched []string
	after   func(n int) // called with the number of fetches so far
}

func (w *world) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.fetched = append(w.fetched, u.String())
	if w.after != nil {
		w.after(len(w.fetched))
	}
	if strings.HasSuffix(u.Host().Domain(), "down.test") {
		return nil, &web.Failure{Reason: web.ReasonConnect, Detail: "connection refused"}
	}
	body, ok := w.pages[u.String()]
	if !ok {
		return &web.Response{URL: u, Status: 404}, nil
	}
	if to, moved := strings.CutPrefix(body, "→"); moved {
		return &web.Response{URL: u, Status: 302, Location: parseURL(to)}, nil
	}
	return &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(body), Body: []byte(body)}, nil
}

// Page is a record's.
func (w *world) Page(u web.URL) (*web.Page, bool) {
	r, err := w.Fetch(context.Background(), u)
	if err != nil || r.Status != 200 {
		return nil, false
	}
	p, err := w.parser.Parse(r)
	return p, err == nil
}

func parseURL(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// shops are sites built alike:
//
//	/ ─► /list ─► /honey1 … /honey3 (goals)
//	└──► /news ─► /news1 … /news9      each with a link home
func shops(names ...string) *world {
	w := &world{pages: map[string]string{}, parser: parse.New(parse.Options{})}
	for _, name := range names {
		put := func(page, title, body string) {
			w.pages["http://"+name+"/"+page] = "<title>" + title + "</title><body>" + body + ` <a href="/">home</a></body>`
		}
		put("", "welcome", `<a href="/news">news of today</a> <a href="/list">our goods</a>`)
		put("list", "goods", `the goods <a href="/honey1">honey</a> <a href="/honey2">honey</a> <a href="/honey3">honey</a> <a href="/news">news of today</a>`)
		var news strings.Builder
		for i := range 9 {
			fmt.Fprintf(&news, `<a href="/news%d">more news</a> `, i+1)
			put(fmt.Sprintf("news%d", i+1), "news", "nothing new today")
		}
		put("news", "news", news.String())
		for i := range 3 {
			put(fmt.Sprintf("honey%d", i+1), "honey", fmt.Sprintf("honey by the jar, number %d", i+1))
		}
	}
	return w
}

// taught is what two shops taught.
func taught(t testing.TB) *guide.Guide {
	t.Helper()
	w := shops("a.test", "b.test")
	var set []paths.Path
	for _, host := range []string{"a.test", "b.test"} {
		step := func(page, label string) paths.Step {
			return paths.Step{URL: parseURL("http://" + host + "/" + page), Label: label}
		}
		set = append(set,
			paths.Path{Steps: []paths.Step{step("", ""), step("list", "List"), step("honey1", paths.Goal)}},
			paths.Path{Steps: []paths.Step{step("", ""), step("news", ""), step("news1", paths.Fail)}},
			paths.Path{Steps: []paths.Step{step("", ""), step("list", "List"), step("news", paths.Fail)}},
		)
	}
	f, err := train.FitPaths(context.Background(), set, w, train.FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := guide.New(f, guide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func forager(t testing.TB, w *world) *forage.Forager {
	return &forage.Forager{Guide: taught(t), Fetcher: w, Parser: w.parser, Recorded: true, Reach: "host"}
}

// The goal of a site that taught nothing is reached in as few pages as there are
// links to it, with the path that led there, and then the site is done.
func TestFirstGoal(t *testing.T) {
	for _, join := range []guide.Join{guide.Max, guide.Sum, guide.NoisyOr} {
		w := shops("c.test")
		f := forager(t, w)
		f.Join = join
		r, err := f.Site(t.Context(), parseURL("http://c.test/"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Ending != forage.Done || r.Pages != 3 || len(r.Goals) != 1 {
			t.Fatalf("%s: %+v", join, r)
		}
		var way []string
		for _, s := range r.Goals[0].Path {
			way = append(way, s.URL.Path()+" "+s.Label+" "+s.Anchor)
		}
		if want := []string{"/ →List ", "/list List our goods", "/honey1 Goal honey"}; !slices.Equal(want, way) {
			t.Errorf("%s: the way is %q, want %q", join, way, want)
		}
		// For people, only the pages that bear a label are named.
		var b strings.Builder
		if err := forage.WriteGoals(&b, []forage.Result{r}); err != nil || !strings.HasSuffix(b.String(), "\thttp://c.test/ > List http://c.test/list > Goal http://c.test/honey1\n") {
			t.Errorf("%s: %v, goals.tsv\n%s", join, err, b.String())
		}
	}
}

// Better stops once the links that wait are worth no more than the goal that was
// just fetched (section 4.4.3); Never finds all goals.
func TestStops(t *testing.T) {
	for stop, goals := range map[forage.Stop]int{forage.First: 1, forage.Better: 1, forage.Never: 3} {
		w := shops("c.test")
		f := forager(t, w)
		f.Stop = stop
		r, err := f.Site(t.Context(), parseURL("http://c.test/"))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Goals) != goals {
			t.Errorf("%s: %d goals", stop, len(r.Goals))
		}
		if want := map[bool]forage.Ending{true: forage.Through, false: forage.Done}[stop == forage.Never]; r.Ending != want {
			t.Errorf("%s ends as %s", stop, r.Ending)
		}
		if stop == forage.Never && r.Goals[2].Pages > 6 {
			t.Errorf("three goals took %d pages of 14, and five would do", r.Goals[2].Pages)
		}
	}
}

// Sure asks more of a goal than that the likeliest way leads there: what is less
// probable is passed by, and the site goes on.
func TestSure(t *testing.T) {
	run := func(stop forage.Stop, sure float64) forage.Result {
		f := forager(t, shops("c.test"))
		f.Stop, f.Sure = stop, sure
		r, err := f.Site(t.Context(), parseURL("http://c.test/"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := run(forage.Never, 0).Goals
	most := 0.
	for _, g := range all {
		if !(g.Sure > 0.5 && g.Sure < 1) {
			t.Errorf("%s is a goal with probability %v", g.URL(), g.Sure)
		}
		most = max(most, g.Sure)
	}
	for _, sure := range []float64{0, 0.5, all[0].Sure, (all[0].Sure + 1) / 2, most, 1} {
		var want []string
		for _, g := range all {
			if g.Sure >= sure {
				want = append(want, g.URL().String())
			}
		}
		var got []string
		for _, g := range run(forage.Never, sure).Goals {
			got = append(got, g.URL().String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %v on the goals are %q, want %q", sure, got, want)
		}
		r := run(forage.First, sure)
		if len(want) == 0 && (len(r.Goals) > 0 || r.Ending != forage.Through) || len(want) > 0 && (r.Ending != forage.Done || r.Goals[0].URL().String() != want[0]) {
			t.Errorf("from %v on the site ends as %+v, want it at the first of %q", sure, r, want)
		}
	}
}

// Claim asks that all words of a page speak for a goal as well, and passes by what is less
// likely. A model that has no say claims as before.
func TestClaim(t *testing.T) {
	run := func(f *forage.Forager, claim float64) (goals []float64) {
		f.Stop, f.Claim = forage.Never, claim
		r, err := f.Site(t.Context(), parseURL("http://c.test/"))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Goals {
			goals = append(goals, g.Claim)
		}
		return goals
	}
	all := run(forager(t, shops("c.test")), 0)
	if len(all) != 3 || slices.Min(all) == 1 {
		t.Fatalf("goals with claims %v", all)
	}
	for _, claim := range []float64{0.2, all[1], 1} {
		want := slices.DeleteFunc(slices.Clone(all), func(c float64) bool { return c < claim })
		if got := run(forager(t, shops("c.test")), claim); !slices.Equal(got, want) {
			t.Errorf("from %v on the goals have %v, want %v", claim, got, want)
		}
	}
}

// Of two pages with equal links, the one that two pages link to comes first by sum
// and noisy-or, the one found first by max (section 3.3).
func TestManyPathsToAPage(t *testing.T) {
	for join, want := range map[guide.Join]string{guide.Max: "/x", guide.Sum: "/y", guide.NoisyOr: "/y"} {
		w := shops()
		w.pages["http://c.test/"] = `<title>welcome</title><a href="/p">our goods</a> <a href="/q">our goods</a>`
		w.pages["http://c.test/p"] = `<title>one</title><a href="/x">more news</a> <a href="/y">more news</a>`
		w.pages["http://c.test/q"] = `<title>two</title><a href="/z">more news</a> <a href="/y">more news</a>`
		f := forager(t, w)
		f.Join, f.Stop = join, forage.Never
		if _, err := f.Site(t.Context(), parseURL("http://c.test/")); err != nil {
			t.Fatal(err)
		}
		if got := w.fetched; len(got) != 6 || got[3] != "http://c.test"+want {
			t.Errorf("%s: %q, and the fourth is to be %s", join, got, want)
		}
	}
}

// Bad input: a site that is down, one that has moved, one that is not there;
// each has a line, and the rest goes on.
func TestBadSites(t *testing.T) {
	w := shops("c.test", "www.moved.test", "d.test")
	w.pages["http://moved.test/"] = "→http://www.moved.test/"
	w.pages["http://sold.test/"] = "→http://d.test/"
	w.pages["http://round.test/"] = "→http://round.test/"
	w.pages["http://gone.test/x"] = "a page that nobody links to"
	w.pages["http://empty.test/"] = "nothing here"
	var sites []web.URL
	for _, s := range []string{"http://x.down.test/", "http://sold.test/", "http://gone.test/", "http://moved.test/", "http://round.test/", "http://empty.test/", "http://c.test/"} {
		sites = append(sites, parseURL(s))
	}
	f := forager(t, w)
	f.Reach = "domain"
	results, err := forage.OpenResults(t.TempDir(), "a task")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context(), sites, 1, results.Add); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := forage.WriteSites(&b, results.Of(sites)); err != nil {
		t.Fatal(err)
	}
	want := `site	ending	goals	pages to the first	pages	failed	note
http://x.down.test/	down	0		0	0	the start page cannot be had: no connection could be made: connection refused
http://sold.test/	moved	0		0	0	the start page redirects to http://d.test/, on another site; give that one, if it is meant
http://gone.test/	down	0		0	1	the start page cannot be had: status 404
http://moved.test/	done	1	3	3	0	
http://round.test/	down	0		0	0	the start page redirects to http://round.test/, from where no page comes
http://empty.test/	through	0		1	0	
http://c.test/	done	1	3	3	0	
`
	if got := b.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Dead links and redirects without end cost a site no more than ten requests for
// each page of its budget.
func TestDeadLinks(t *testing.T) {
	for kind, to := range map[string]func(n int) string{
		"dead":      func(int) string { return "" },
		"redirects": func(n int) string { return fmt.Sprintf("→http://c.test/on/%d", n) },
	} {
		w := shops("c.test")
		var links strings.Builder
		for i := range 500 {
			fmt.Fprintf(&links, `<a href="/dead/%d">goods</a> `, i)
		}
		w.pages["http://c.test/"] = "<title>welcome</title>" + links.String()
		w.after = func(n int) { // before the answer to the n-th
			if u := w.fetched[n-1]; u != "http://c.test/" {
				if at := to(n); at != "" {
					w.pages[u] = at
				}
			}
		}
		f := forager(t, w)
		f.Recorded, f.Delay, f.Pages = false, 0, 10
		w.fetched = nil
		r, err := f.Site(t.Context(), parseURL("http://c.test/"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Ending != forage.Budget || len(w.fetched) != 100 || !strings.Contains(r.Note, "only 1 of 100 requests brought a page") {
			t.Errorf("%s: %d requests, %s, %q", kind, len(w.fetched), r.Ending, r.Note)
		}
	}
}

// What earlier runs found stays in the tables when other sites are foraged into
// the same folder. A site that was down is tried again.
func TestOtherSites(t *testing.T) {
	dir := t.TempDir()
	run := func(w *world, names ...string) (fetched []string) {
		var sites []web.URL
		for _, name := range names {
			sites = append(sites, parseURL("http://"+name+"/"))
		}
		results, err := forage.OpenResults(dir, "a task")
		if err != nil {
			t.Fatal(err)
		}
		f := forager(t, w)
		w.fetched = nil
		if err := f.Run(t.Context(), slices.DeleteFunc(slices.Clone(sites), results.Has), 1, results.Add); err != nil {
			t.Fatal(err)
		}
		if err := results.Close(sites); err != nil {
			t.Fatal(err)
		}
		return w.fetched
	}
	run(shops("c.test"), "c.test", "d.test")
	if again := run(shops("d.test", "e.test"), "e.test", "d.test", "c.test"); slices.Contains(again, "http://c.test/") {
		t.Errorf("the second run fetched %q", again)
	}
	run(shops("e.test"), "e.test")
	for name, want := range map[string][]string{"goals.tsv": {"e", "c", "d"}, "sites.tsv": {"e", "c", "d"}} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(strings.Split(line, "\t")[0], "http://"), ".test/"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// A run that is stopped goes on with the sites that are left, and the tables
// are those of a run that was not.
func TestResume(t *testing.T) {
	sites := []web.URL{parseURL("http://c.test/"), parseURL("http://d.test/"), parseURL("http://e.test/")}
	tables := func(dir string) string {
		var all []byte
		for _, name := range []string{"goals.tsv", "sites.tsv"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		return string(all)
	}
	run := func(dir string, stopAfter int) (fetched []string) {
		w := shops("c.test", "d.test", "e.test")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.after = func(n int) {
			if n == stopAfter {
				cancel()
			}
		}
		results, err := forage.OpenResults(dir, "a task")
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(slices.Clone(sites), results.Has)
		err = forager(t, w).Run(ctx, left, 1, results.Add)
		if stopAfter == 0 && err != nil || stopAfter > 0 && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := results.Close(sites); err != nil {
			t.Fatal(err)
		}
		return w.fetched
	}
	whole, parts := t.TempDir(), t.TempDir()
	run(whole, 0)
	run(parts, 5) // within the second site
	// A line that a power failure cut short.
	file, err := os.OpenFile(filepath.Join(parts, "results.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"start":"http://e.te`)
	file.Close()
	if again := run(parts, 0); slices.Contains(again, "http://c.test/") || !slices.Contains(again, "http://d.test/") {
		t.Errorf("the second run fetched %q", again)
	}
	if a, b := tables(whole), tables(parts); a != b {
		t.Errorf("without a stop\n%s\nwith one\n%s", a, b)
	}
}

// A line of results that is none is told with its place, as a goal without a way to it.
func TestNoResult(t *testing.T) {
	dir := t.TempDir()
	if r, err := forage.OpenResults(dir, "a task"); err != nil || r.Close(nil) != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "results.jsonl")
	for _, line := range []string{"bees", `{"goals":[]}`, `{"start":"http://a.example/","goals":[{"pages":3}]}`} {
		if err := os.WriteFile(file, []byte(`{"start":"http://b.example/","ending":"goal"}`+"\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := forage.OpenResults(dir, "a task"); err == nil || !strings.Contains(err.Error(), "results.jsonl:2 is no result") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// What is no address is told by its line, and left out.
func TestReadSites(t *testing.T) {
	sites, problems, err := forage.ReadSites(strings.NewReader("# shops\n\nc.test a shop\nftp://d.test/\nhttps://c.test/\nhttp://e.test/x\nnonsense here\nmailto:me@a.test\nlocalhost:80\n[2001:db8::1]\n"), "sites.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(sites) != 4 || sites[2].String() != "http://localhost/" || sites[3].String() != "http://[2001:db8::1]/" || sites[0].String() != "https://c.test/" || sites[1].String() != "http://e.test/x" {
		t.Errorf("%v", sites)
	}
	if len(problems) != 4 || !strings.Contains(problems[2], `sites.txt:7: "nonsense" is no address`) || !strings.Contains(problems[3], `sites.txt:8: "mailto:me@a.test" is no address`) || !strings.HasPrefix(problems[0], "sites.txt:4: ") || !strings.Contains(problems[1], "sites.txt:5: https://c.test/ stands in line 3") {
		t.Errorf("%q", problems)
	}
}

func TestMilestone(t *testing.T) {
	for label, want := range map[string]string{"List": "List", "Goal": "Goal", "→Goal": "", "→Fail": "", "Fail": "", "": ""} {
		if got := (forage.Step{Label: label}).Milestone(); got != want {
			t.Errorf("%q is shown as %q, want %q", label, got, want)
		}
	}
}
