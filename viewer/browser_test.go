package viewer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// faint are the texts of a page whose contrast is less than 4.5, with that.
//
// Source: WCAG 2.2, success criterion 1.4.3.
const faint = `(() => {
	const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
	const known = {};
	const rgba = (c) => known[c] ??= (pen.clearRect(0, 0, 1, 1), pen.fillStyle = c, pen.fillRect(0, 0, 1, 1), [...pen.getImageData(0, 0, 1, 1).data]);
	const light = (c) => { const [r, g, b] = rgba(c).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const out = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement, tile = e.closest(".tile");
		if (!texts.currentNode.data.trim() || e.closest("title, option, :disabled, [hidden]") || !e.getClientRects().length) continue;
		let under = e;
		while (under && !rgba(getComputedStyle(under).backgroundColor)[3]) under = under.parentElement;
		const back = light(tile ? getComputedStyle(tile.querySelector("rect")).fill : under ? getComputedStyle(under).backgroundColor : "white");
		const front = light(getComputedStyle(e)[tile ? "fill" : "color"]);
		const contrast = (Math.max(front, back) + .05) / (Math.min(front, back) + .05);
		if (contrast < 4.5) out.add(contrast.toFixed(2) + " " + texts.currentNode.data.trim().slice(0, 40));
	}
	return [...out];
})()`

// The screens are gone through with keys; each fits narrow and wide windows, in both
// colour schemes, and asks nobody but the server.
func TestInChromium(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".figures dd")?.textContent === "4" && document.querySelector(".u-over")`)
	if got := b.Eval(`location.search`); got != `""` {
		t.Errorf("the key stays in the address: %s", got)
	}
	b.Call("Page.reload", nil, nil) // the cookie has the key
	b.Until(`document.querySelector(".status")?.textContent.startsWith("ended")`)
	b.Press("2")
	b.Until(`document.querySelectorAll("table.pages tbody tr").length === 6`)
	b.Press("/")
	b.Until(`document.activeElement.id === "search"`)
	b.Call("Input.insertText", map[string]any{"text": "hive"}, nil)
	b.Until(`document.querySelectorAll("table.pages tbody tr").length === 1`)
	b.Eval(`document.activeElement.blur()`)
	b.Press("J")
	b.Press("Enter")
	b.Until(`document.querySelector("h1")?.textContent === "Hive" && document.querySelectorAll(".way li").length === 3 && document.querySelector(".parts")?.textContent.includes("lives in a hive")`)
	b.Press("I")
	b.Until(`document.querySelector(".said")?.textContent.startsWith("Act 1: irrelevant https://")`)
	b.Until(`document.querySelector(".labelled")?.textContent === "Called not relevant by a person, by act 1: it waits until the crawl goes on.Undo"`)
	b.Press("3")
	b.Until(`document.querySelector(".graph canvas[data-drawn=true]")`)
	b.Press("4")
	b.Until(`document.querySelector(".acts tbody tr")?.textContent.includes("waits")`)
	b.Eval(`document.querySelector(".acts button").click()`)
	b.Until(`document.querySelectorAll(".acts tbody tr").length === 2 && document.querySelector(".acts .gone")`)
	b.Press("5")
	b.Until(`document.querySelectorAll(".forms li").length > 2 && document.querySelector("pre").textContent.includes("honey bee")`)
	page := "#/1/page?url=" + url.QueryEscape("https://bees.test/")
	for _, width := range []int{320, 1280, 3840} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 900, dark)
			for screen, there := range map[string]string{"#/1/now": ".u-over", "#/1/pages": "table.pages tbody tr", page: ".links li", "#/1/links": "canvas", "#/1/steer": ".acts tbody tr", "#/1/collection": ".forms li"} {
				b.Eval(fmt.Sprintf(`void(location.hash = %q)`, screen))
				b.Until(fmt.Sprintf(`document.querySelector(%q)`, there))
				b.Shoot(fmt.Sprintf("%.9s-%d-%v", strings.Trim(screen, "#/"), width, dark))
				// Whatever is wider than the window is scrolled within a part of it.
				if got := b.Eval(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
					t.Errorf("%s is wider than %d pixels", screen, width)
				}
				if got := b.Eval(`[...document.querySelectorAll("a, button, input, select")].filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title)).map(e => e.outerHTML)`); got != "[]" {
					t.Errorf("%s has controls without a name: %s", screen, got)
				}
				if got := b.Eval(`[...document.querySelectorAll("a[aria-label], button[aria-label]")].filter(e => /\w/.test(e.textContent) && !e.getAttribute("aria-label").toLowerCase().includes(e.textContent.trim().toLowerCase())).map(e => e.outerHTML)`); got != "[]" {
					t.Errorf("%s has controls whose names are not what is seen: %s", screen, got)
				}
				if got := b.Eval(`[...document.querySelectorAll("th")].filter(e => !e.textContent.trim()).map(e => e.outerHTML)`); got != "[]" {
					t.Errorf("%s has columns without a name: %s", screen, got)
				}
				if got := b.Eval(faint); got != "[]" {
					t.Errorf("%s (dark: %v) has text that is hard to read: %s", screen, dark, got)
				}
			}
		}
	}
	b.Eval(`void(location.hash = "#/99/now")`) // an old bookmark
	b.Until(`document.querySelector("main h1")?.textContent === "There is no such crawl here" && document.querySelector("main a[href='#/1/now']")`)
	if out := b.Outside(); slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, ".test") }) {
		t.Errorf("the browser asked beyond this machine: %q", out)
	}
}

// The search is reached from every screen, and what is typed there is no key of the page.
func TestSearchKeyInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".u-over")`)
	page := "#/1/page?url=" + url.QueryEscape("https://bees.test/dance")
	for _, screen := range []struct{ at, there string }{
		{"#/1/now", ".u-over"}, {"#/1/pages", "table.pages tbody tr"}, {page, ".way li"}, {"#/1/links", "canvas"}, {"#/1/steer", ".steer"}, {"#/1/collection", ".forms li"},
	} {
		b.Eval(fmt.Sprintf(`void(location.hash = %q)`, screen.at))
		b.Until(fmt.Sprintf(`document.querySelector(%q)`, screen.there))
		b.Press("/")
		b.Until(`document.activeElement.id === "search"`)
		b.Press("i")
		b.Press("1")
		b.Call("Input.insertText", map[string]any{"text": "hive"}, nil)
		b.Until(`location.hash.includes("text=i1hive") && document.activeElement.id === "search"`)
		if got := b.Eval(`location.hash.startsWith("#/1/pages")`); got != "true" {
			t.Errorf("from %s what was typed left the search", screen.at)
		}
	}
	if acts, err := d.crawls[0].Collection().Told(); len(acts) > 0 || err != nil {
		t.Errorf("what was typed told the crawl %v, %v", acts, err)
	}
}

// What breadth-first found in a lab on the topic of the crawl's name stands beside the curve, and why there is nothing
// where the lab does not know the name.
func TestLabCurveInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := serveWith(t, Options{
		Collections: []collection.Collection{crawled(t, bees(), "https://bees.test/"), crawledBy(t, "wasps", "", bees(), "https://bees.test/")},
		Lab: func(name string) LabCurve {
			if name != "bees" {
				return LabCurve{Why: "the lab has no crawl of breadth-first on " + name}
			}
			return LabCurve{Web: "meadow", Pages: []int{2, 4}, Relevant: []float64{0.5, 1.5}, Crawls: 3}
		},
	})
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`[...document.querySelectorAll(".u-legend th")].map(e => e.textContent).join() === "Pages,Relevant,Of the last 200,Relevant, breadth-first in the lab"`)
	b.Until(`document.body.textContent.includes("mean of 3 crawls")`)
	for _, width := range []int{320, 1280, 3840} {
		b.Resize(width, 900, width == 1280)
		b.Until(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`)
		b.Shoot(fmt.Sprintf("lab-%d", width))
	}
	if got := b.Eval(`[...document.querySelectorAll(".astable tbody tr")].map(r => r.children[3].textContent).join()`); !strings.HasPrefix(strings.Trim(got, "\""), "0,1,1,2,") {
		t.Errorf("beside the curve stands %s", got)
	}
	b.Eval(`(() => { const s = document.querySelector(".beside select"); s.value = ""; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Until(`!document.body.textContent.includes("mean of 3 crawls")`)
	b.Eval(`void(location.hash = "#/2/now")`)
	b.Until(`document.body.textContent.includes("Nothing to compare with: the lab has no crawl of breadth-first on wasps.")`)
}

// The curve of a breadth-first crawl of the same name which is shown too stands beside that of
// another, in the colours of the scheme; what is chosen takes its place.
func TestCurvesInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	plain := bees()
	delete(plain, "https://flowers.test/")
	d := serve(t, crawled(t, bees(), "https://bees.test/"), crawledBy(t, "bees", "breadth-first", plain, "https://bees.test/"), crawledBy(t, "wasps", "", plain, "https://bees.test/"))
	d.crawls[1].until(t, func(s *watch.State) bool { return s.Figures.Pages > 0 })
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	const legend = `[...document.querySelectorAll(".u-legend th")].map(e => e.textContent).join()`
	b.Until(legend + ` === "Pages,Relevant,Of the last 200,Relevant, breadth-first"`)
	for _, width := range []int{320, 1280, 3840} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 900, dark)
			b.Until(`document.documentElement.scrollWidth <= innerWidth`) // the curve follows the window
			line := "154,95,6"
			if dark {
				line = "240,180,41"
			}
			b.Until(fmt.Sprintf(`(() => { const c = document.querySelector(".curve canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; for (let i = 0; i < d.length; i += 4) if (d[i+3] === 255 && d.slice(i, i+3).join() === %q) return true; return false })()`, line))
			b.Shoot(fmt.Sprintf("curves-%d-%v", width, dark))
		}
	}
	d.crawls[1].With(func(f *figures.Crawl) { // beyond its end the legend tells what the shorter crawl has
		b.Until(fmt.Sprintf(`[...document.querySelectorAll(".u-legend .u-value")].at(-1).textContent === "%d in its %d pages"`, f.Figures().Relevant, f.Pages()))
	})
	b.Eval(`void(document.querySelector(".astable").open = true)`)
	n := 0
	d.crawls[0].With(func(f *figures.Crawl) { n = f.Pages() })
	if got := b.Eval(`[...document.querySelectorAll(".astable tbody tr:last-child td")].slice(0, 4).map(e => e.textContent).join() === "` + fmt.Sprintf("%d,%d,66.7\u00a0%%,–", n, 4) + `"`); got != "true" {
		t.Error("beyond the end of the shorter crawl the table has a figure of it")
	}
	b.Eval(`(() => { const s = document.querySelector(".beside select"); s.value = ""; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Until(legend + ` === "Pages,Relevant,Of the last 200"`)
	b.Eval(`void(location.hash = "#/2/now")`)
	b.Until(`document.querySelector("header select").value === "2" && ` + legend + ` === "Pages,Relevant,Of the last 200"`)
	b.Eval(`void(location.hash = "#/3/now")`) // of another name: nothing stands beside it unasked
	b.Until(`document.querySelector("header select").value === "3" && document.querySelectorAll(".beside option").length === 3 && ` + legend + ` === "Pages,Relevant,Of the last 200"`)
}

// A hostile page, shown in every way, changes nothing, runs nothing and reaches nobody;
// and a page of another origin in the same browser is told nothing.
func TestHostileInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	var mu sync.Mutex
	var heard []string
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, r.Method+" "+r.URL.Path+" "+r.Header.Get("Cookie"))
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>evil</title>")
	}))
	defer evil.Close()
	const title = `</title><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	body := strings.TrimPrefix(harmlesstest.Hostile, "text/html; charset=utf-8:")
	body += "\n" + strings.ReplaceAll(body, "evil.test", strings.TrimPrefix(evil.URL, "http://"))
	body = strings.ReplaceAll(body, "<plaintext>", "")
	s := bees()
	s["https://bees.test/hostile"] = "<title>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(title) + " honey bee " + strings.Repeat("x", 1<<20) + "</title>" + body +
		`<a href="/x">` + strings.Repeat("w", 1<<20) + `</a>`
	d := serve(t, crawled(t, s, "https://bees.test/hostile", "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".u-over")`)
	b.Eval(`void(location.hash = "#/1/pages")`)
	b.Until(`[...document.querySelectorAll(".pages .title a")].some(a => a.textContent.includes("<script>"))`)
	b.Eval(`void(location.hash = "#/1/page?url=" + encodeURIComponent("https://bees.test/hostile"))`)
	b.Until(`document.querySelector(".links li") && document.querySelector("h1")?.textContent.includes("<script>")`)
	b.Until(`document.title.startsWith("</title><img src=x onerror=") && document.title.endsWith(" – bees – waggle") && document.title.length < 300`)
	b.Resize(320, 800, false)
	if got := b.Eval(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
		t.Error("a long word is wider than the window")
	}
	b.Resize(1280, 800, false)
	b.Eval(`void([...document.querySelectorAll(".switch button")].find(e => e.textContent === "As archived").click())`)
	b.Until(`document.querySelector("iframe.shown")`)
	b.Eval(`new Promise(done => document.querySelector("iframe.shown").addEventListener("load", done, {once: true}) ?? setTimeout(done, 1000))`)
	b.Shoot("hostile")
	if got := b.Eval(`[document.title === "owned", !!document.querySelector("main script, main img, main form"), location.pathname]`); got != fmt.Sprintf(`[false,false,"/%s/"]`, d.folder) {
		t.Errorf("the page became %s", got)
	}
	mu.Lock()
	if len(heard) > 0 {
		t.Errorf("the browser asked by itself: %q", heard)
	}
	mu.Unlock()
	// Another page in the same browser: of another port, so of the same site.
	b.Call("Page.navigate", map[string]any{"url": evil.URL}, nil)
	b.Until(`document.title === "evil"`)
	for _, try := range []string{
		`fetch(U + "api/crawls", {credentials: "include"}).then(r => r.text())`,
		`fetch(U + "api/crawls", {credentials: "include", mode: "no-cors"}).then(r => r.text()).then(x => { if (x) throw x; throw "opaque" })`,
		`fetch(U + "api/crawls/1/acts", {method: "POST", credentials: "include", mode: "no-cors", body: '{"do":"pause"}'}).then(r => r.text()).then(x => { if (x) throw x; throw "opaque" })`,
		`new Promise((done, fail) => { const s = document.createElement("script"); s.src = U + "api/crawls"; s.onload = done; s.onerror = fail; document.head.append(s) })`,
		`new Promise((done, fail) => { const s = new EventSource(U + "api/crawls/1/changes", {withCredentials: true}); s.onmessage = e => done(e.data); s.onerror = fail })`,
		`new Promise((done, fail) => { const f = document.createElement("iframe"); f.src = U; f.onload = () => { try { done(f.contentDocument.body.innerHTML.length > 0 ? "read" : fail()) } catch (e) { fail(e) } }; document.body.append(f) })`,
	} {
		got := b.Eval(fmt.Sprintf(`(async () => { const U = %q; try { return "told: " + await (%s) } catch (e) { return "refused" } })()`, d.http.URL+"/"+d.folder+"/", try))
		if got != `"refused"` {
			t.Errorf("%s: %.200s", try, got)
		}
	}
	if acts, err := d.crawls[0].Collection().Told(); len(acts) > 0 || err != nil {
		t.Errorf("another page told the crawl %v, %v", acts, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, h := range heard {
		if strings.Contains(h, d.key) {
			t.Errorf("another server was sent the key: %s", h)
		}
	}
	if out := b.Outside(); slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, ".test") }) {
		t.Errorf("the browser asked beyond this machine: %q", out)
	}
}

// A search shows the words that match as marks, whatever they stand in, folds near-copies
// and leads to them; without an index the page says how to make one.
func TestSearchInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	col := crawled(t, hive(), "https://bees.test/")
	d := serve(t, col)
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL() + "#/1/pages"}, nil)
	b.Until(`document.querySelector(".index code")?.textContent.startsWith("waggle index ")`)
	indexed(t, col)
	b.Until(`!document.querySelector(".index") && document.querySelector("#search")`)
	b.Press("/")
	b.Until(`document.activeElement.id === "search"`)
	b.Call("Input.insertText", map[string]any{"text": "waggle onerror"}, nil)
	b.Until(`document.querySelectorAll("table.pages tbody tr").length === 1 && [...document.querySelectorAll(".title a mark")].map(e => e.textContent).join() === "onerror,waggle"`)
	if got := b.Eval(`[document.title.includes("owned"), !!document.querySelector("main script, main img"), document.querySelector(".title a").textContent.includes("</mark><img src=x")]`); got != `[false,false,true]` {
		t.Errorf("the page became %s", got)
	}
	b.Eval(`void(location.hash = "#/1/pages?text=honey")`)
	b.Until(`document.querySelector(".copies") && document.querySelectorAll(".snippet mark").length > 4`)
	for _, width := range []int{320, 1280, 3840} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 900, dark)
			b.Shoot(fmt.Sprintf("search-%d-%v", width, dark))
			if got := b.Eval(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
				t.Errorf("a search is wider than %d pixels", width)
			}
		}
	}
	b.Eval(`void(document.querySelector(".copies").click())`)
	b.Until(`document.querySelectorAll("table.pages tbody tr").length === 2 && document.querySelector(".notice")?.textContent.startsWith("Near-copies of")`)
}

// From the words of a search, Enter and ArrowDown lead to the first row, and Escape leaves the
// field once it is empty.
func TestSearchKeysInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := serve(t, crawled(t, hive(), "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL() + "#/1/pages"}, nil)
	b.Until(`document.querySelectorAll("table.pages tbody tr").length > 1`)
	for _, key := range []string{"Enter", "ArrowDown"} {
		b.Press("/")
		b.Until(`document.activeElement.id === "search"`)
		b.Press(key)
		b.Until(`document.activeElement === document.querySelector("table.pages tbody tr a")`)
	}
	b.Press("/")
	b.Until(`document.activeElement.id === "search"`)
	b.Press("Escape")
	b.Until(`document.activeElement === document.body`)
	// A screen that is chosen right after a change of the words is not left again, however late the page hears of it.
	b.Eval(`(() => {
		const field = document.getElementById("search");
		field.dispatchEvent(new Event("input", {bubbles: true}));
		for (const until = performance.now() + 300; performance.now() < until;);
		location.hash = "#/1/collection";
	})()`)
	b.Until(`document.querySelector(".forms li")`)
	if got := b.Eval(`location.hash`); got != `"#/1/collection"` {
		t.Errorf("the screen that was chosen was left for %s", got)
	}
}

// A row that has the focus keeps it while the crawl brings newer pages; they are told of, and shown
// once they are asked for.
func TestSelectedRowInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	col := crawled(t, hive(), "https://bees.test/")
	d := serve(t, col)
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL() + "#/1/pages"}, nil)
	b.Until(`document.querySelectorAll("table.pages tbody tr").length > 1`)
	b.Press("j")
	b.Eval(`void(window.selected = document.activeElement)`)
	grown, err := os.ReadFile(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		u, err := web.Parse(fmt.Sprintf("https://later.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		at := event.At{At: time.Now()}
		e := event.Fetched{At: at, Visit: event.Visit{URL: u}, Status: 200, MIME: "text/html", Title: "Later", Digest: fmt.Sprintf("%032x", i)}
		if grown, err = event.AppendJSON(grown, e); err != nil {
			t.Fatal(err)
		}
		grown = append(grown, '\n')
	}
	if err := os.WriteFile(col.EventLog(), grown, 0o644); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.querySelector(".newer")?.textContent.includes("60 newer pages")`)
	if got := b.Eval(`document.activeElement === window.selected && window.selected.isConnected`); got != "true" {
		t.Errorf("the row lost the focus")
	}
	b.Press("r")
	b.Until(`window.selected.closest("tr").textContent.includes("called relevant")`)
	b.Eval(`void document.querySelector(".newer button").click()`)
	b.Until(`!window.selected.isConnected && document.querySelector("table.pages tbody tr").textContent.includes("Later") && !document.querySelector(".newer")`)
}
