package teach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/web"
)

// tiles lays a page out so that a test knows where its links are: the n-th is
// the n-th tile of 60 pixels.
const tiles = `<style>body{margin:0;font-family:sans-serif}h1{display:none}p,ul,ol,li{margin:0;padding:0;list-style:none;font-size:0}` +
	`a{display:block;height:60px;font-size:20px;border-bottom:1px solid #ccc;box-sizing:border-box}</style>`

// browser is a browser that shows the page.
type browser struct {
	*chromium.Browser
	t *testing.T
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{chromium.Open(t), t}
}

// tile clicks the n-th tile of the page in the frame, from 0, and tells where that is.
func (b *browser) tile(n int) (x, y float64) {
	b.t.Helper()
	var at struct{ Left, Top float64 }
	if err := json.Unmarshal([]byte(b.Eval(`(r => ({left: r.left, top: r.top}))(document.getElementById("page").getBoundingClientRect())`)), &at); err != nil {
		b.t.Fatal(err)
	}
	x, y = at.Left+100, at.Top+float64(60*n+30)
	b.Click(x, y)
	return x, y
}

// followed clicks a tile until the server is asked for its link: a browser
// drops clicks on a page that it has not painted yet.
func (d *desk) followed(b *browser, n int) {
	b.t.Helper()
	asked, hear := context.WithCancel(b.t.Context())
	defer hear()
	d.hearing.Lock()
	d.onAsked = func(r string) {
		if link.MatchString(r) {
			hear()
		}
	}
	d.hearing.Unlock()
	for range 7 {
		// A second click while the first is on its way would leave the page again.
		x, y := b.tile(n)
		seen, enough := context.WithTimeout(asked, 20*time.Second)
		b.Seen(seen, x, y)
		enough()
		select {
		case <-asked.Done():
			return
		case <-time.After(3 * time.Second):
		}
	}
	b.Shoot("failed")
	b.t.Fatalf("tile %d: no link was asked for", n)
}

var link = regexp.MustCompile(`^GET /page/\d+/\d+$`)

// at waits until the person stands on a page, ready to label it by a click or a key: the page that was
// clicked has given the keyboard back.
func (b *browser) at(title string) {
	b.t.Helper()
	b.Until(`document.querySelector("#trail [aria-current] .name")?.textContent === ` + quote(title) + ` && !document.querySelector("#labels .goal").disabled && document.activeElement.id !== "page"`)
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string is always JSON
	return string(b)
}

// stayedHome fails the test if the browser asked a site of it for anything by
// itself. (What Chromium asks its maker is not the page's doing.)
func (b *browser) stayedHome() {
	b.t.Helper()
	for _, asked := range b.Outside() {
		if strings.Contains(asked, ".test") {
			b.t.Errorf("the browser asked beyond this machine: %s", asked)
		}
	}
}

// TestInChromium teaches in a real browser: open a start page, click links in
// the page, label by click and by key, go back with the browser's own button.
func TestInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	pages := college()
	for u, is := range pages {
		pages[u] = strings.Replace(is, "<body>", "<body>"+tiles, 1)
	}
	d := sit(t, pages, nil)
	b := openBrowser(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector("#starts button")`)
	b.Shoot("1-welcome")
	b.Eval(`document.querySelector("#starts button").click()`)
	b.at("College of Bees")
	b.Shoot("2-start")

	// By mouse into the page, by keyboard back out of it.
	d.followed(b, 0)
	b.at("Departments")
	b.Press("m")
	b.Call("Input.insertText", map[string]any{"text": "Departments"}, nil)
	b.Press("Enter")
	b.Until(`document.querySelector("#labels .c0[aria-pressed=true]")`)
	d.followed(b, 0)
	b.at("Courses")
	d.followed(b, 1)
	b.at("Bees 102")
	b.Press("g")
	b.Until(`document.querySelector("#labels .goal[aria-pressed=true]")`)
	b.Shoot("3-goal")
	if got, want := d.tsv(), "/\n/dept/\tDepartments\tDepartments\t1\n/dept/courses.html\t\tCourses\t1\n/dept/bee102\tGoal\tBees 102\t2"; got != want {
		t.Errorf("kept:\n%s\nwant:\n%s", got, want)
	}

	// The browser's own way back, then another link: a second path. A label is
	// one click.
	b.Eval(`history.back()`)
	b.at("Courses")
	d.followed(b, 0)
	b.at("Bees 101")
	b.Eval(`document.querySelector("#labels .fail").click()`)
	b.Until(`document.querySelectorAll("#paths li").length === 2`)
	b.Until(`document.querySelector("#labels .fail[aria-pressed=true]")`)
	b.Press("u")
	b.Until(`!document.querySelector("#labels [aria-pressed=true]")`)
	b.Press("r")
	b.Until(`document.querySelector("#labels .fail[aria-pressed=true]")`)
	b.Press("u")
	b.Until(`!document.querySelector("#labels [aria-pressed=true]")`)
	b.Press("f")
	b.Until(`document.querySelector("#labels .fail[aria-pressed=true]")`)
	b.Shoot("4-two-paths")
	if got, want := d.tsv(), "/\n/dept/\tDepartments\tDepartments\t1\n/dept/courses.html\t\tCourses\t1\n/dept/bee101\tFail\tBees 101\t1"; !strings.HasSuffix(got, want) {
		t.Errorf("kept:\n%s\nwant at the end:\n%s", got, want)
	}

	// A site that is down, and the way back, by key and by button.
	b.Press("n")
	b.at("College of Bees")
	d.followed(b, 1)
	b.at("news")
	b.Press("b")
	b.at("College of Bees")
	d.followed(b, 0)
	b.at("Departments")
	b.Eval(`document.querySelector("#back").click()`)
	b.at("College of Bees")
	b.Until(`document.querySelector("#back").disabled`)

	// On a page off the path no name can be given: what is typed stays in the box,
	// and no letter of it runs as a key.
	d.followed(b, 4) // a page that is gone
	b.Until(`document.querySelector("#labels .goal").disabled && document.querySelector("#milestone.off") && document.activeElement.id === "panel"`)
	before := d.tsv()
	b.Press("g")
	b.Until(`document.querySelector("#notice.wrong")?.textContent.includes("not on your path")`)
	b.Press("m")
	for _, key := range "unfug" {
		b.Press(string(key))
	}
	b.Press("Enter")
	b.Until(`document.activeElement === document.getElementById("name") && document.getElementById("name").value === "unfug"`)
	b.Until(`document.querySelector("#notice.wrong")?.textContent.includes("not on your path")`)
	b.Shoot("5-off-the-path")
	b.Press("Escape")
	b.Press("b")
	b.at("College of Bees")
	if got := d.tsv(); got != before {
		t.Errorf("kept:\n%s\nwant as before:\n%s", got, before)
	}
	b.Eval(`document.getElementById("name").value = ""`)
	b.Resize(1280, 800, true)
	b.Shoot("5-dark")
	b.Resize(420, 800, true)
	b.Shoot("6-narrow")
	b.Eval(`document.querySelector("aside").scrollTo(0, 10000)`)
	b.Until(`(r => r.bottom <= innerHeight && r.top >= document.querySelector("aside").getBoundingClientRect().top)(document.querySelector("#labels .goal").getBoundingClientRect())`)
	b.Until(`document.querySelector("#now").getBoundingClientRect().height < 0.75*document.querySelector("aside").clientHeight`)
	b.Shoot("7-narrow-scrolled")
	b.stayedHome()
}

// TestStartPagesInChromium finds one of many start pages by words of its title or
// address, with the keyboard alone.
func TestStartPagesInChromium(t *testing.T) {
	d := sit(t, college(), func(o *Options) {
		o.Starts, o.Titles = nil, map[web.URL]string{}
		for n := range 43 {
			u := address(t, fmt.Sprintf("http://site%d.test/", n))
			o.Starts = append(o.Starts, u)
			o.Titles[u] = fmt.Sprintf("Manual of number %d", n)
		}
		o.Starts[41] = address(t, "http://college.test/dept/")
		o.Titles[o.Starts[41]] = "All Departments"
	})
	b := openBrowser(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelectorAll("#starts button").length === 43`)
	b.Press("/")
	for _, key := range "dEp coll" {
		b.Press(string(key))
	}
	b.Until(`document.querySelectorAll("#starts button").length === 1`)
	b.Shoot("1-filter")
	b.Press("x")
	b.Until(`!document.querySelector("#starts button") && document.getElementById("no-starts").checkVisibility()`)
	b.Press("Backspace")
	b.Until(`document.querySelectorAll("#starts button").length === 1`)
	b.Press("Enter")
	b.at("Departments")
}

// TestHostileInChromium shows a hostile page in a real browser: it changes
// nothing, reaches nobody, and the controls go on working.
func TestHostileInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := sit(t, college(), func(o *Options) { o.Images = true })
	// Whoever the page names hears what is asked: by name the browser's proxy,
	// and on this machine, where browsers use none, a server.
	evil, asked := listener(t)
	body := strings.ReplaceAll(harmlesstest.Hostile, "WAGGLE", d.http.URL)
	body += "\n" + strings.ReplaceAll(strings.TrimPrefix(body, "text/html; charset=utf-8:"), "evil.test", evil)
	body = strings.ReplaceAll(body, "<plaintext>", "") // of which there is only one, the last
	if !strings.Contains(body, "http://"+evil+"/preload") {
		t.Fatal("the page does not name the server")
	}
	// The page covers itself with links: wherever one clicks, one is hit.
	lure := `<a style="position:fixed;inset:0;z-index:2147483647" target="_top" href="http://college.test/lured">lure</a>`
	d.site.pages["http://college.test/hostile"] = strings.ReplaceAll(body, "<form id=f", lure+"<form id=f")
	d.site.pages["http://college.test/lured"] = strings.Replace(body, "<h1>Hostile</h1>", "<h1>Lured</h1>", 1)
	b := openBrowser(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector("#starts button")`)
	b.Eval(`(e => { e.value = "http://college.test/hostile"; e.form.requestSubmit(); })(document.getElementById("url"))`)
	b.Until(`document.querySelector("#trail [aria-current]") && !document.querySelector("#labels .goal").disabled`)
	b.Shoot("7-hostile")
	for _, x := range []string{"#labels .goal", "#labels .fail", "#undo", "#address input"} {
		if b.Eval(`(e => { const r = e.getBoundingClientRect(); const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2); return e.contains(top); })(document.querySelector(`+quote(x)+`))`) != "true" {
			t.Errorf("%s is covered", x)
		}
	}
	d.followed(b, 2)
	b.Until(`document.querySelectorAll("#trail li").length === 2`)
	b.Shoot("8-lured")
	// All over the page, with forms and handlers under the mouse.
	for n := range 9 {
		b.tile(n)
	}
	b.Until(`(g => {
		if (g.getAttribute("aria-pressed") === "true") return true;
		if (!g.disabled && Date.now() - (window.last ?? 0) > 700) { window.last = Date.now(); g.click(); }
	})(document.querySelector("#labels .goal"))`)
	if got := b.Eval(`[location.href, history.length > 0, document.title]`); got != `["`+d.URL()+`",true,"waggle teach"]` {
		t.Errorf("the window is at %s", got)
	}
	b.stayedHome()
	if got := asked(); len(got) > 0 {
		t.Errorf("the browser asked by itself: %q", got)
	}
	// Style sheets are asked for by waggle, as every resource.
	if d.site.asked == nil {
		t.Error("nothing was fetched")
	}
	d.hearing.Lock()
	defer d.hearing.Unlock()
	for _, r := range d.heard {
		method, path, _ := strings.Cut(r, " ")
		ours := strings.HasPrefix(path, "/page/") || strings.HasPrefix(path, "/load/") || slices.Contains([]string{"/", "/app.js", "/app.css", "/base.css", "/controls.js", "/icon.svg", "/do/state", "/favicon.ico"}, path) && method == "GET" ||
			slices.Contains([]string{"/do/resume", "/do/open", "/do/arrived", "/do/label"}, path) && method == "POST"
		if !ours {
			t.Errorf("the browser asked the server: %s", r)
		}
	}
}

// listener is a server on this machine that notes what it is asked.
func listener(t *testing.T) (host string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var heard []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heard = append(heard, r.Method+" "+r.URL.Path)
		mu.Unlock()
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
}

// TestStrangerInChromium opens another site in the same browser, which knows
// where waggle listens and, what none can, both keys: it can neither read nor
// do anything, nor show the controls in a frame to have them clicked.
func TestStrangerInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	d := sit(t, college(), nil)
	d.do("open", postRequest{URL: "http://college.test/"})
	saved, framed := len(d.saved), d.Server.state().Framed
	page := strings.NewReplacer("WAGGLE", d.http.URL, "TOKEN", d.Token, "CAP", d.Cap).Replace(`<!DOCTYPE html><title>Stranger</title>
<iframe src="WAGGLE/TOKEN/" name=controls></iframe><iframe src="WAGGLE/page/CAP/1/" name=page></iframe><iframe src="WAGGLE/page/CAP/1/0" name=link></iframe>
<img src="WAGGLE/page/CAP/1/0"><img src="WAGGLE/do/state"><link rel=stylesheet href="WAGGLE/TOKEN/app.css"><script src="WAGGLE/TOKEN/app.js" type=module></script>
<form name=f action="WAGGLE/do/undo" method=post enctype=text/plain target=out><input name="{}//" value=""></form><iframe name=out></iframe>
<script>
const said = [];
const note = (name, p) => p.then((x) => x && said.push(name + ": " + x), () => {});
const text = (r) => r.type === "opaque" ? "" : r.text();
window.ready = Promise.all([
  note("state", fetch("WAGGLE/do/state", {headers: {"Waggle-Token": "TOKEN"}}).then(text)),
  note("blind state", fetch("WAGGLE/do/state", {mode: "no-cors"}).then(text)),
  note("undo", fetch("WAGGLE/do/undo", {method: "POST", headers: {"Waggle-Token": "TOKEN", "Content-Type": "application/json"}, body: "{}"}).then(text)),
  note("blind undo", fetch("WAGGLE/do/undo", {method: "POST", mode: "no-cors", body: "{}"}).then(text)),
  note("beacon", Promise.resolve(void navigator.sendBeacon("WAGGLE/do/undo", "{}"))),
  note("controls", fetch("WAGGLE/TOKEN/").then(text)),
  note("page", fetch("WAGGLE/page/CAP/1/", {credentials: "include"}).then(text)),
  new Promise((done) => { document.querySelector("[name=out]").onload = done; document.forms.f.submit(); }),
]).then(() => said);
for (const name of ["controls", "page", "link"]) try { if (frames[name].document.body.textContent) said.push(name + " read"); } catch {}
</script>`)
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}))
	defer stranger.Close()
	b := openBrowser(t)
	b.Call("Page.navigate", map[string]any{"url": stranger.URL}, nil)
	b.Until(`window.ready`)
	if got := b.Eval(`window.ready`); got != "[]" {
		t.Errorf("the stranger learnt %s", got)
	}
	b.Shoot("9-stranger")
	// Frames that refuse to be shown hold an error page of the browser's own.
	if got := b.Eval(`[...document.querySelectorAll("iframe")].filter((f) => { try { return f.contentDocument; } catch { return false; } }).map((f) => f.name)`); strings.Contains(got, "controls") || strings.Contains(got, "page") {
		t.Errorf("frames that can be read: %s", got)
	}
	if st := d.Server.state(); len(d.saved) != saved || st.Framed != framed {
		t.Errorf("%d times something was saved, the frame shows %d", len(d.saved)-saved, st.Framed)
	}
	for _, u := range d.site.asked {
		if u != "http://college.test/" && u != "http://college.test/site.css" {
			t.Errorf("waggle fetched %s", u)
		}
	}
}
