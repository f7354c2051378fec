package viewer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/viewer/start"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// hives is a web on this machine.
func hives(t *testing.T) (address string) {
	t.Helper()
	pages := map[string]string{
		"/":      `<title>Bees</title><p>The honey bee. <a href="/dance">the waggle dance of the honey bee</a> <a href="/cars">cars</a>`,
		"/dance": `<title>Dance</title><p>The waggle dance of the honey bee tells where flowers are: bees of the hive follow the dance. <a href="/hive">hive</a>`,
		"/hive":  `<title>Hive</title><p>The honey bee lives in a hive. Bees of the hive dance the waggle dance for flowers. <a href="/far">honey</a>`,
		"/far":   `<title>Honey</title><p>Bees of the hive make honey of flowers; the honey bee dances.`,
		"/cars":  `<title>Cars</title><p>Four wheels, an engine and a road: cars of the town, their engines and their wheels.`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// starting is a page that begins crawls in a folder, which end with the test.
func starting(t *testing.T) (d *desk, dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: dir, Note: func(string) {}})
	t.Cleanup(func() { cancel(); s.Wait() })
	return serveWith(t, Options{Start: s}), dir
}

// send posts JSON, and gives the lines of the answer.
func (d *desk) send(path string, body any) (status int, lines []string) {
	d.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.http.URL+path, bytes.NewReader(b))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Body.Close()
	for in := bufio.NewScanner(got.Body); in.Scan(); {
		lines = append(lines, in.Text())
	}
	return got.StatusCode, lines
}

// draftOf is a crawl of a web on this machine.
func draftOf(web, folder string) map[string]any {
	return map[string]any{"folder": folder, "values": map[string][]string{
		"seeds": {web + "/"}, "topic.keywords": {"honey bee", "waggle dance"}, "topic.examples": {web + "/dance", web + "/hive"}, "topic.negatives": {web + "/cars"},
		"fetch.allow-private": {"true"}, "politeness.delay": {"0s"}, "budget.pages": {"3"}, "fetch.workers": {"1"},
	}, "files": []map[string]any{{"name": "honey.txt", "text": "The honey bee makes honey of flowers, and tells of them by the waggle dance."}}}
}

// A draft becomes a crawl: what is wrong with it is told by setting, its examples are
// judged, it begins, ends, and goes on once it was granted more.
func TestStart(t *testing.T) {
	d, dir := starting(t)
	web := hives(t)
	if _, b := d.ask("/api/crawls"); strings.TrimSpace(string(b)) != "[]" {
		t.Errorf("crawls before any: %s", b)
	}
	if got, b := d.ask("/api/start"); got.StatusCode != http.StatusOK || !strings.Contains(string(b), `"path":"topic.keywords"`) || !strings.Contains(string(b), `"name":"openalex"`) {
		t.Errorf("%d %s", got.StatusCode, b)
	}
	if code, got := d.send("/api/start/check", draftOf(web, "bees")); code != 200 || !strings.Contains(got[0], `{"problems":[],"job":"name: bees\n`) || !strings.Contains(got[0], `waggle crawl -f job.yaml -o bees"`) {
		t.Errorf("%d %s", code, got)
	}
	code, got := d.send("/api/start/try", draftOf(web, "bees"))
	var tried struct{ Tried start.Tried }
	if err := json.Unmarshal([]byte(got[len(got)-1]), &tried); err != nil || code != 200 || len(tried.Tried.Trials) != 4 {
		t.Fatalf("%d %v %s", code, err, got)
	}
	for _, x := range tried.Tried.Trials {
		if wanted := !strings.HasSuffix(x.Source, "/cars"); x.Relevant != wanted || !x.Right || x.Knows || x.Negative == wanted {
			t.Errorf("%+v", x)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bees")); err == nil {
		t.Error("there is a folder before the crawl began")
	}
	if code, got := d.send("/api/start/begin", draftOf(web, "bees")); code != 200 || got[len(got)-1] != `{"crawl":"1"}` {
		t.Fatalf("%d %s", code, got)
	}
	c := d.find("1")
	c.until(t, func(s *watch.State) bool { return s.Figures.Ended == "BudgetSpent" && !s.Running })
	if _, got := d.send("/api/start/begin", draftOf(web, "bees")); !strings.Contains(got[0], "holds a crawl already") {
		t.Errorf("in the same folder again: %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "bees", "harvest.tsv")); err != nil {
		t.Error(err)
	}
	if code, got := d.send("/api/crawls/1/acts", map[string]any{"do": "budget", "pages": 5}); code != 200 {
		t.Fatal(got)
	}
	if code, got := d.send("/api/crawls/1/go-on", map[string]any{}); code != 200 || got[len(got)-1] != `{"crawl":"1"}` {
		t.Fatalf("%d %s", code, got)
	}
	c.until(t, func(s *watch.State) bool { return s.Figures.Pages == 5 && s.Figures.Ended != "" && !s.Running })
	if st, _ := c.State(time.Now()); st.Figures.Runs != 2 || st.Error != "" {
		t.Errorf("%+v", st)
	}
}

// What a draft cannot say is refused at its place, and nothing is left behind.
func TestBadDrafts(t *testing.T) {
	d, dir := starting(t)
	web := hives(t)
	with := func(path string, values ...string) map[string]any {
		x := draftOf(web, "bees")
		x["values"].(map[string][]string)[path] = values
		return x
	}
	for _, x := range []struct {
		draft      map[string]any
		path, want string
	}{
		{with("judge.command", "rm"), "judge.command", "cannot be set here"},
		{with("topic.examples", "/etc/passwd"), "topic.examples.0", "is no address"},
		{with("judge.critic", "x"), "judge.critic", "cannot be set here"},
		{with("budget.pages", "many"), "budget.pages", "a whole number is wanted"},
		{with("seeds", "mailto:x"), "seeds.0", ""},
		{with("contact", "nobody"), "contact", ""},
		{with("politeness.delay", "5"), "politeness.delay", "has no unit"},
		{with("scope.include", "("), "scope.include.0", ""},
		{map[string]any{}, "topic", "say what is wanted"},
		{map[string]any{}, "seeds", "give an address to start from"},
		{map[string]any{}, "folder", "give the folder of the crawl a name"},
		{draftOf(web, "../bees"), "folder", "does not lead to a folder in"},
		{draftOf(web, "/tmp/bees"), "folder", "does not lead to a folder in"},
		{draftOf(web, strings.Repeat("a", 300)), "folder", "the name is too long"},
		{draftOf(web, "."), "folder", "does not lead to a folder in"},
		{draftOf(web, "be\u202ees"), "folder", "not shown as they stand"},
		{draftOf(web, "bees\n"), "folder", "not shown as they stand"},
		{draftOf(web, "be\x1b[31mes"), "folder", "not shown as they stand"},
		{draftOf(web, "\u200b"), "folder", "not shown as they stand"},
		{map[string]any{"files": []map[string]any{{"name": "../x.html", "text": "x"}}}, "files", "no name of a file"},
		{map[string]any{"files": []map[string]any{{"name": "x.html", "text": "x"}, {"name": "x.html", "text": "y"}}}, "files", "two files"},
	} {
		for _, path := range []string{"/api/start/check", "/api/start/begin"} {
			_, got := d.send(path, x.draft)
			var answer struct{ Problems start.Problems }
			if err := json.Unmarshal([]byte(got[len(got)-1]), &answer); err != nil {
				t.Fatal(got)
			}
			found := false
			for _, p := range answer.Problems {
				found = found || p.Path == x.path && strings.Contains(p.Text, x.want)
			}
			if !found {
				t.Errorf("%s: %s of %v; want %q at %s", path, got, x.draft, x.want, x.path)
			}
		}
	}
	// A crawl that cannot begin, as the web refuses it, leaves no folder.
	none := draftOf(web, "bees")
	none["values"] = map[string][]string{"seeds": {web + "/"}, "topic.examples": {web + "/none"}, "fetch.allow-private": {"true"}, "politeness.delay": {"0s"}}
	delete(none, "files")
	if _, got := d.send("/api/start/begin", none); !strings.Contains(got[len(got)-1], "no example page could be had") {
		t.Errorf("%s", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	for _, name := range []string{"Bienen und Blüten", "蜜蜂", "زنبور\u200cها"} {
		if _, got := d.send("/api/start/check", draftOf(web, name)); !strings.HasPrefix(got[0], `{"problems":[],`) {
			t.Errorf("a folder %q: %s", name, got)
		}
	}
	if code, got := d.send("/api/start/check", []int{1}); code != 400 {
		t.Errorf("%d %s", code, got)
	}
	// Where no crawl can be begun, nobody says that one can.
	other := serve(t, crawled(t, bees(), "https://bees.test/"))
	if code, _ := other.send("/api/start/begin", draftOf(web, "bees")); code != 404 {
		t.Errorf("begun where none can be: %d", code)
	}
}

// Pages to start from are found in lists that the person has, judged, and ranked.
func TestStartSeeds(t *testing.T) {
	d, _ := starting(t)
	web := hives(t)
	x := draftOf(web, "bees")
	x["rounds"], x["pages"] = 1, 5
	marks := "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL>"
	for _, p := range []string{"/dance", "/cars", "/hive"} {
		marks += `<DT><A HREF="` + web + p + `">` + p + `</A>`
	}
	x["lists"] = []map[string]any{{"kind": "bookmarks", "name": "b.html", "body": []byte(marks)}}
	_, got := d.send("/api/start/seeds", x)
	var answer struct{ Seeds []start.Seed }
	if err := json.Unmarshal([]byte(got[len(got)-1]), &answer); err != nil || len(answer.Seeds) != 2 || !answer.Seeds[0].Judged {
		t.Errorf("%v: %s", err, got)
	}
	x["sources"] = []string{"bookmarks=/etc/passwd"}
	if _, got := d.send("/api/start/seeds", x); !strings.Contains(got[0], "is chosen, and not named") {
		t.Errorf("%s", got)
	}
}

// A person fills in the form, has the judge tried, and begins; the crawl is shown.
func TestStartInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d, dir := starting(t)
	web := hives(t)
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector("form.start") && document.title.startsWith("A new crawl")`)
	fill := func(label, text string) {
		b.Eval(fmt.Sprintf(`(() => { const f = [...document.querySelectorAll("form.start label")].find(l => l.textContent.startsWith(%q)).querySelector("input, textarea, select"); f.closest("details") && (f.closest("details").open = true); f.focus(); if (f.type === "checkbox") f.click(); else f.select?.() })()`, label))
		if text != "" {
			b.Call("Input.insertText", map[string]any{"text": text}, nil)
		}
	}
	b.Eval(`void document.querySelector("button.strong").click()`)
	b.Until(`document.querySelectorAll(".problem").length > 2`)
	for _, width := range []int{320, 1280, 3840} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 900, dark)
			b.Shoot(fmt.Sprintf("start-%d-%v", width, dark))
			if got := b.Eval(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
				t.Errorf("the form is wider than %d pixels", width)
			}
			if got := b.Eval(`[...document.querySelectorAll("a, button, input, select, textarea")].filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title)).map(e => e.outerHTML)`); got != "[]" {
				t.Errorf("controls without a name: %s", got)
			}
		}
	}
	b.Resize(1280, 900, false)
	fill("Words and phrases", "honey bee, waggle dance")
	fill("Pages like those you want", web+"/dance\n"+web+"/hive")
	fill("Addresses", web+"/")
	fill("Private addresses", "")
	fill("Delay", "0s")
	b.Until(`[...document.querySelectorAll("form.start label")].find(l => l.textContent.startsWith("Folder")).querySelector("input").value === "honey-bee"`)
	fill("Delay", "x") // what is wrong stands at the button that was pressed
	b.Eval(`void [...document.querySelectorAll("button")].find(x => x.textContent.startsWith("Try the judge")).click()`)
	b.Until(`document.querySelector("[aria-labelledby=topic-title] > .problem")?.textContent.startsWith("politeness.delay: ") && ![...document.querySelectorAll("[aria-labelledby=go-title] .problem")].some(e => e.textContent.startsWith("politeness"))`)
	fill("Delay", "0s")
	b.Until(`!document.querySelector(".problem")`)
	b.Eval(`void [...document.querySelectorAll("button")].find(x => x.textContent.startsWith("Try the judge")).click()`)
	b.Until(`document.querySelectorAll(".tried .trials li").length === 2 && document.querySelector(".tried strong").textContent.startsWith("2 of 2 pages")`)
	b.Shoot("start-tried")
	finder := `[...document.querySelectorAll("details.more")].find(x => x.querySelector("summary").textContent === "Find some")`
	b.Eval(`void (d => { d.open = true; const s = d.querySelector("select"); s.value = "bookmarks"; s.dispatchEvent(new Event("change", { bubbles: true })) })(` + finder + `)`)
	b.Until(finder + `.querySelector("input[type=file]")`)
	b.Eval(fmt.Sprintf(`void (d => { const f = d.querySelector("input[type=file]"), t = new DataTransfer(); t.items.add(new File([%q], "marks.html")); f.files = t.files; f.dispatchEvent(new Event("change", { bubbles: true })) })(`+finder+`)`,
		`<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF="`+web+`/dance">Dance</A><DT><A HREF="`+web+`/cars">Cars</A><DT><A HREF="`+web+`/hive">Hive</A>`))
	b.Until(finder + `.querySelector(".chips li")`)
	b.Eval(`void [...document.querySelectorAll("button")].find(x => x.textContent === "Look for seeds").click()`)
	b.Until(finder + `.querySelectorAll(":scope > .trials li").length === 2 && ` + finder + `.textContent.includes("1 page was left out")`)
	for _, width := range []int{320, 1280, 2560} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 1400, dark)
			b.Eval(`void document.getElementById("seeds-title").scrollIntoView()`)
			b.Until(`document.documentElement.scrollWidth <= innerWidth`)
			b.Shoot(fmt.Sprintf("start-seeds-%d-%v", width, dark))
			if got := b.Eval(faint); got != "[]" {
				t.Errorf("the seeds at %d (dark: %v) have text that is hard to read: %s", width, dark, got)
			}
		}
	}
	b.Resize(1280, 900, false)
	b.Until(`document.querySelector(".start pre").textContent.includes("allow-private: true") && !document.querySelector(".problem")`)
	b.Eval(`void document.querySelector("button.strong").click()`)
	b.Until(`document.querySelector(".figures dd")?.textContent === "4" && document.querySelector(".status")?.textContent.startsWith("ended")`)
	if _, err := os.Stat(filepath.Join(dir, "honey-bee", "job.yaml")); err != nil {
		t.Error(err)
	}
	b.Eval(`void document.querySelector("a.new").click()`)
	b.Until(`document.querySelector("form.start") && [...document.querySelectorAll("textarea")].every(x => x.value === "")`)
	b.Shoot("start-again")
}

// A crawl that is begun where a folder was named has that name, until it is there; and who is to
// be told hears its events, those of an earlier run apart from those of this one.
func TestBegunInAFolderIsHeard(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bees"), 0o755); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var heard []string
	hear := func(when, dir string) func(event.Event) {
		return func(e event.Event) {
			switch e.(type) {
			case event.Fetched, event.Ended:
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, when+" "+filepath.Base(dir)+" "+e.Kind())
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: dir, Folder: "bees", Note: func(string) {}, Hear: func(dir string) (earlier, now func(event.Event)) {
		return hear("earlier", dir), hear("now", dir)
	}})
	t.Cleanup(func() { cancel(); s.Wait() })
	d := serveWith(t, Options{Start: s})
	if _, b := d.ask("/api/start"); !strings.Contains(string(b), `"folder":"bees"`) {
		t.Errorf("%.200s", b)
	}
	if code, got := d.send("/api/start/begin", draftOf(hives(t), "bees")); code != 200 || got[len(got)-1] != `{"crawl":"1"}` {
		t.Fatalf("%d %s", code, got)
	}
	d.find("1").until(t, func(s *watch.State) bool { return s.Figures.Ended == "BudgetSpent" && !s.Running })
	if _, b := d.ask("/api/start"); strings.Contains(string(b), `"folder"`) {
		t.Errorf("the folder of a crawl is offered again: %.200s", b)
	}
	if code, got := d.send("/api/crawls/1/acts", map[string]any{"do": "budget", "pages": 4}); code != 200 {
		t.Fatal(got)
	}
	if code, got := d.send("/api/crawls/1/go-on", map[string]any{}); code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	s.Wait()
	mu.Lock()
	defer mu.Unlock()
	fetched := func(when string, n int) string { return strings.Repeat(when+" bees fetched, ", n) }
	want := fetched("now", 3) + "now bees ended, " + fetched("earlier", 3) + "earlier bees ended, " + fetched("now", 1) + "now bees ended"
	if got := strings.Join(heard, ", "); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

// What a crawl notes once it runs is told where the page is served, and not to the request
// that began the crawl, whose answer is complete.
func TestNotesOfARunningCrawl(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no browser is there, which is noted of the first page that needs one
	if browser, err := devtools.Find(); err == nil {
		t.Skipf("%s is found without PATH: that a browser is missing is noted nowhere", browser)
	}
	answered := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answered) })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		<-answered
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<div id=root></div><script src=/a.js></script>`)
	}))
	t.Cleanup(web.Close)
	var mu sync.Mutex
	var noted []string
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	s := start.New(ctx, start.Options{Dir: dir, Note: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		noted = append(noted, line)
	}})
	t.Cleanup(func() { cancel(); s.Wait() })
	t.Cleanup(answer) // first, as crawl and server may wait for it
	d := serveWith(t, Options{Start: s})
	code, got := d.send("/api/start/begin", map[string]any{"folder": "bees", "values": map[string][]string{
		"seeds": {web.URL + "/"}, "topic.keywords": {"honey bee"}, "fetch.allow-private": {"true"}, "politeness.delay": {"0s"},
	}})
	answer()
	if code != 200 || got[len(got)-1] != `{"crawl":"1"}` {
		t.Fatalf("%d %s", code, got)
	}
	d.find("1").until(t, func(s *watch.State) bool { return s.Figures.Ended != "" && !s.Running })
	s.Wait()
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(noted, "\n"); !strings.Contains(all, filepath.Join(dir, "bees")+": some pages are made by scripts") {
		t.Errorf("noted: %s", all)
	}
}
