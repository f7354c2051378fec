package read

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/web"
)

// TestInChromium reads with keys alone, goes back, undoes, changes topic, and
// looks again where another reader differs.
func TestInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := sit(t, nil, nil)
	for n := range 3 { // bob has read some
		if failed := d.do("label", request{Reader: "bob", N: n, Grade: "1", Round: 1}, nil); failed != "" {
			t.Fatal(failed)
		}
	}
	b := chromium.Open(t)
	shows := func(title string) {
		t.Helper()
		b.Until(fmt.Sprintf(`document.getElementById("title").textContent === %q && !document.querySelector(".grade").disabled`, title))
	}
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.activeElement?.id === "name"`) // an empty document has neither
	b.Shoot("1-name")
	b.Call("Input.insertText", map[string]any{"text": "ada"}, nil)
	b.Press("Enter")
	shows("bees 1")
	b.Until(`document.getElementById("mainly").textContent.startsWith("The page is mainly about bees") && document.querySelector("#text .main")`)
	b.Shoot("2-text")
	b.Press("1") // as bob
	shows("bees 2")
	b.Press("2") // not as bob
	shows("bees 3")
	b.Press("?") // or c
	shows("bees 4")
	b.Press("u")
	shows("bees 3")
	b.Until(`document.getElementById("notice").textContent.startsWith("Undone")`)
	b.Press("0")
	shows("bees 4")
	b.Press("t")
	b.Until(`document.getElementById("text").hidden && !document.getElementById("page").hidden`)
	b.Shoot("3-archived")
	b.Press("t")
	// A click into the page leaves the keys where they were.
	b.Until(`document.getElementById("page").hidden`)
	b.Press("t")
	b.Until(`document.getElementById("text").hidden`)
	b.Click(900, 400)
	b.Until(`document.activeElement.id === "panel"`)
	for n := 4; n <= 6; n++ {
		shows(fmt.Sprint("bees ", n))
		b.Press("0")
	}
	b.Until(`!document.getElementById("end").hidden && document.getElementById("count").textContent === "6 of 6 read"`)
	b.Shoot("4-end")
	// Where readers differ: pages 2 and 3.
	b.Press("s")
	shows("bees 2")
	b.Until(`document.getElementById("others").textContent.startsWith("You said 2. Another reader said 1.")`)
	b.Shoot("5-again")
	b.Press("1")
	shows("bees 3")
	b.Press("0")
	b.Until(`!document.getElementById("end").hidden && document.getElementById("end").textContent.startsWith("You have looked")`)
	b.Press("u")
	shows("bees 3")
	b.Until(`!document.getElementById("others").hidden`)
	b.Press("s")
	b.Eval(`(s => { s.value = "1"; s.dispatchEvent(new Event("change")); })(document.getElementById("topic"))`)
	shows("cars 1")
	b.Eval(`document.querySelector("[data-grade='2']").click()`)
	shows("cars 2")
	b.Press("ArrowLeft")
	shows("cars 1")
	b.Until(`document.querySelector("[data-grade='2']").getAttribute("aria-pressed") === "true"`)
	b.Press("n")
	shows("cars 2")
	// The same after a reload, by the same name.
	b.Call("Page.reload", nil, nil)
	shows("cars 2")
	want := "b1 bob 1/1; b2 bob 1/1; b3 bob 1/1; b1 ada 1/1; b2 ada 2/1; b3 ada ?/1; b3 ada -/1; b3 ada 0/1; b4 ada 0/1; b5 ada 0/1; b6 ada 0/1; b2 ada 1/2; b3 ada 0/2; b3 ada -/2; c1 ada 2/1"
	if got := d.kept(); got != want {
		t.Errorf("kept %s\nwant %s", got, want)
	}
	if out := b.Outside(); slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, ".test") }) {
		t.Errorf("the browser asked beyond this machine: %q", out)
	}
}

// slow is a site of which one page comes when it is let go.
type slow struct {
	site
	page string
	free chan struct{}
}

func (s slow) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.String() == s.page {
		<-s.free
	}
	return s.site.Fetch(ctx, u)
}

// TestSlowPageInChromium goes on to a page that is not there yet: until it is, keys
// and buttons grade nothing, and the page before is not shown in its place.
func TestSlowPageInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := sit(t, nil, func(o *Options) { o.Reader = "ada" })
	hive := d.Webs["hive"]
	gate := slow{hive.Fetcher.(site), "http://hive.test/bees/2", make(chan struct{})}
	hive.Fetcher = gate
	d.Webs["hive"] = hive
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.getElementById("title").textContent === "bees 1" && !document.querySelector(".grade").disabled`)
	b.Press("0")
	b.Until(`document.getElementById("count").textContent === "1 of 6 read"`)
	b.Until(`!document.getElementById("loading").hidden && getComputedStyle(document.getElementById("title")).visibility === "hidden" && getComputedStyle(document.getElementById("text")).visibility === "hidden"`)
	b.Press("2")
	b.Press("c")
	b.Eval(`document.querySelectorAll(".grade").forEach(e => e.click())`)
	if got := b.Eval(`[...document.querySelectorAll(".grade")].every(e => e.disabled)`); got != "true" {
		t.Error("grades can be clicked while the page is not there")
	}
	b.Press("ArrowRight") // to a page that is there
	b.Until(`document.getElementById("title").textContent === "bees 3" && !document.querySelector(".grade").disabled && document.getElementById("loading").hidden`)
	b.Press("1")
	b.Until(`document.getElementById("title").textContent === "bees 4" && !document.querySelector(".grade").disabled`)
	b.Press("n")
	b.Press("n")
	b.Press("n") // 5, 6, 2
	b.Until(`!document.getElementById("loading").hidden`)
	close(gate.free)
	b.Until(`document.getElementById("title").textContent === "bees 2" && document.getElementById("address").textContent.endsWith("/bees/2") && !document.querySelector(".grade").disabled`)
	b.Press("2")
	b.Until(`document.getElementById("count").textContent === "3 of 6 read"`)
	if got := d.kept(); got != "b1 ada 0/1; b3 ada 1/1; b2 ada 2/1" {
		t.Errorf("kept %s", got)
	}
}

// TestWidthsInChromium shows the page at three widths, light and dark: nothing
// lies beyond the window, and all grades can be reached.
func TestWidthsInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := sit(t, site{"http://hive.test/bees/1": "text/html:<title>" + strings.Repeat("Averylongwordwithoutanend", 20) + "</title><p>" + strings.Repeat("beesbeesbees", 100) + "<p>" + strings.Repeat("They dance. ", 200)}, func(o *Options) { o.Reader = "ada" })
	b := chromium.Open(t)
	for _, width := range []int{320, 1024, 1920} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 800, dark)
			b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
			b.Until(`document.querySelector("#text p") && !document.querySelector(".grade").disabled`)
			b.Shoot(fmt.Sprintf("width-%d-%v", width, dark))
			if got := b.Eval(`[document.documentElement.scrollWidth <= innerWidth, [...document.querySelectorAll(".grade, #undo, #mode, #next, #topic")].filter(e => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth || r.width < 24 || r.height < 24; }).map(e => e.id || e.dataset.grade)]`); got != "[true,[]]" {
				t.Errorf("%d pixels: %s", width, got)
			}
			if got := b.Eval(`[...document.querySelectorAll(".grade")].filter(e => { e.scrollIntoView({block: "nearest"}); const r = e.getBoundingClientRect(); const top = document.elementFromPoint(r.left + r.width / 2, r.top + Math.min(r.height, 20) / 2); return !e.contains(top); }).map(e => e.dataset.grade)`); got != "[]" {
				t.Errorf("%d pixels: grades that cannot be clicked: %s", width, got)
			}
			if got := b.Eval(`document.getElementById("text").clientHeight`); len(got) < 3 {
				t.Errorf("%d pixels: %s are left for the text", width, got)
			}
		}
	}
}

// TestHostileInChromium shows a hostile page in a real browser: it changes
// nothing, reaches nobody, and the controls go on working.
func TestHostileInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	var mu sync.Mutex
	var heard []string
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heard = append(heard, r.Method+" "+r.URL.Path)
		mu.Unlock()
	}))
	defer evil.Close()
	d := sit(t, nil, func(o *Options) { o.Images, o.Reader = true, "ada" })
	body := strings.ReplaceAll(harmlesstest.Hostile, "WAGGLE", d.http.URL)
	body += "\n" + strings.ReplaceAll(strings.TrimPrefix(body, "text/html; charset=utf-8:"), "evil.test", strings.TrimPrefix(evil.URL, "http://"))
	body = strings.ReplaceAll(body, "<plaintext>", "") // of which there is only one, the last
	if !strings.Contains(body, strings.TrimPrefix(evil.URL, "http://")) {
		t.Fatal("the page does not name the server")
	}
	// The page covers itself with a link out of its frame: every click hits it.
	const lure = `<a style="position:fixed;inset:0;z-index:2147483647" target="_top" href="http://hive.test/cars/1">lure</a>`
	body = strings.ReplaceAll(body, "<form id=f", lure+"<form id=f")
	const title = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	body = strings.Replace(body, ":", ":<title>"+html.EscapeString(title)+"</title>", 1)
	d.Webs["hive"].Fetcher.(site)["http://hive.test/bees/1"] = body
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`!document.querySelector(".grade").disabled && document.querySelector("#text p")`)
	b.Until(fmt.Sprintf(`document.getElementById("title").textContent === %q && !document.querySelector("#top img, #top script, #text img, #text script, #text a")`, title))
	b.Shoot("6-hostile-text")
	b.Eval(`void document.getElementById("page").addEventListener("load", () => window.loads = (window.loads ?? 0) + 1)`)
	b.Press("t")
	b.Until(`!document.getElementById("page").hidden && window.loads > 0`)
	for n := range 12 {
		b.Click(500+float64(n%4)*180, 150+float64(n/4)*180)
	}
	b.Until(`document.activeElement.id === "panel"`)
	b.Shoot("7-hostile")
	for _, x := range []string{".g2", ".gx", "#undo", "#mode", "#topic"} {
		if b.Eval(fmt.Sprintf(`(e => { const r = e.getBoundingClientRect(); return e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)); })(document.querySelector(%q))`, x)) != "true" {
			t.Errorf("%s is covered", x)
		}
	}
	b.Press("0")
	b.Until(`document.getElementById("title").textContent === "bees 2"`)
	if got := b.Eval(`[location.href, document.title]`); got != fmt.Sprintf(`["%s","waggle lab read"]`, d.URL()) {
		t.Errorf("the window is at %s", got)
	}
	if got := d.kept(); got != "b1 ada 0/1" {
		t.Errorf("kept %s", got)
	}
	if out := b.Outside(); slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, ".test") }) {
		t.Errorf("the browser asked beyond this machine: %q", out)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(heard) > 0 {
		t.Errorf("the browser asked by itself: %q", heard)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.heard, "GET /page/0/0/") {
		t.Errorf("the page was never shown: %q", d.heard)
	}
	for _, r := range d.heard {
		method, path, _ := strings.Cut(r, " ")
		ours := method == "GET" && (strings.HasPrefix(path, "/page/0/") || strings.HasPrefix(path, "/load/0/") || slices.Contains([]string{"/", "/app.js", "/app.css", "/base.css", "/controls.js", "/icon.svg", "/favicon.ico"}, path)) ||
			method == "POST" && slices.Contains([]string{"/do/state", "/do/topic", "/do/page", "/do/label"}, path)
		if !ours {
			t.Errorf("the browser asked the server: %s", r)
		}
	}
}
