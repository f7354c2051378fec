package harmless_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	. "github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/web"
)

// looks are pages that are shown as a browser shows them.
var looks = []string{
	`<!DOCTYPE html><title>t</title><p>Bees <a href="/dance">dance</a> and <a href="mailto:a@b.test">write</a>.`,
	`<!DOCTYPE html><style>a:link{color:red;text-decoration:none}.x{background:#ffc}</style><p><a class=x href="/a">a</a> <a href="#p">b</a>`,
	`<html><body bgcolor="#ccffcc" text="#333333" link="#990000"><h1>Old</h1><table border=1><tr><td>a<td><a href=b>b</a></table>`,
	`<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML//EN"><table><tr><td><font size=5>quirks <a href=x>x</a></font></table>`,
	`<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><table><tr><td>limited</table>`,
	`<!DOCTYPE html><body style="background:#def"><ul><li>one<li>two</ul><pre>code  here</pre>`,
	`<!DOCTYPE html><style>body{margin:0;background:#246;color:#fff}h1{font-size:3em}</style><h1>Dark</h1><a href=a>link</a>`,
	`<h2>No type</h2><hr><dl><dt>t<dd>d</dl><center>middle</center>`,
	`<!DOCTYPE html><blockquote>Quote <em>em</em> <strong>st</strong> <code>c</code></blockquote><ol start=3><li>x</ol>`,
	`<!DOCTYPE html><style>nav a{display:inline-block;padding:1em;border:1px solid}</style><nav><a href=/1>1</a><a href=/2 style="color:green">2</a></nav>`,
	`<!DOCTYPE html><p dir=rtl>שלום <bdi>abc</bdi><p lang=ja>蜜蜂`,
	`<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\"><body bgcolor=#036><form><input type=text size=30> <input type=submit value=Search><input type=hidden name=h><br><input type=radio checked> a <input type=radio> b</form><img src=x alt=Logo height=27><p>below`,
	`<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><form><select size=2><option>a<option selected>b</select><textarea cols=10 rows=3>two
lines</textarea></form><p>below`,
	`<!DOCTYPE html><form>a <button>Go <b>on</b></button><input type=password value=secret><input type=checkbox checked><input type=submit disabled><input placeholder=words></form><p>below`,
	`<p>text first<!DOCTYPE html><table><tr><td><font size=5>quirks</table>`,
	`<!DOCTYPE html><p>one</br>two<br/>three</p>four</br>`,
	`<!DOCTYPE html><style>.x{color:red;font-size:2em}span{background:#ff0}</style><p>a <o:p class=x>big <b>red</b></o:p> b <blink style="color:green">blink</blink> <nobr2>c</p><div>d</div></nobr2> e`,
	`<!DOCTYPE html><p>unknown <data class=x value=1>data</data> <picture><source srcset=x><img src=x alt=Bee></picture> <svg style="display:none"><foo/><circle r=5 /></svg> after`,
	"<!DOCTYPE html><p>A<!-- -->V <a href=x>To<!---->W</a> one <!-- x --> two<!>three</p><pre><!-- -->\n\nline</pre><ul><!-- --> <li>x<!-- -->y</ul>",
	`<!DOCTYPE html><p>f<script>x()</script>i <a href="">here</a> <a href=" ">there</a> <a>nowhere</a> <a href="#x">part</a> <a name=x>x</a>`,
	`<!DOCTYPE html><base href="http://other.test/"><p><a href="">elsewhere</a>`,
	`<!DOCTYPE html><style>a:link{color:red}a:visited{color:green}a:any-link{font-weight:bold}</style><p><a href="">here</a> <a href="/never">never</a>`,
	`<!DOCTYPE html><style>@media (prefers-color-scheme: dark){body{background:#000}}</style><details open><summary>s</summary>d</details>`,
}

// TestReplay compares pages that are shown with the same bodies as they are served,
// pixel by pixel, without their scripts. With WAGGLE_REPLAY, as many pages of
// recorded webs are compared as well, and how far they differ is logged.
func TestReplay(t *testing.T) {
	long.Test(t, "starts a browser")
	b := chromium.Open(t)
	pages := &replayed{t: t, parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer()}), shown: true}
	server := httptest.NewServer(pages)
	defer server.Close()
	b.Resize(1024, 1600, false)
	for i, body := range looks {
		if d := pages.differ(b, server.URL, body); d > 0 {
			b.Shoot(fmt.Sprintf("replay-%d", i))
			t.Errorf("%.4f of the pixels differ: %s", d, body)
		}
	}
	n, err := strconv.Atoi(os.Getenv("WAGGLE_REPLAY"))
	if err != nil {
		return // the pages above are all that is asked for
	}
	var shares []float64
	for _, name := range []string{"campus", "departments", "manuals"} {
		var own []float64
		for body := range recordedBodies(t, recorded.Web(t, name), (n+2)/3) {
			own = append(own, pages.differ(b, server.URL, body))
		}
		report(t, name, own)
		shares = append(shares, own...)
	}
	report(t, "all", shares)
}

// report logs how far pages differ.
func report(t *testing.T, name string, shares []float64) {
	if len(shares) == 0 {
		t.Fatalf("%s has no pages", name)
	}
	slices.Sort(shares)
	same, near := 0, 0
	for _, d := range shares {
		if d == 0 {
			same++
		}
		if d < 0.01 {
			near++
		}
	}
	t.Logf("%s: %d pages, %d the same, %d differ in less than 1 %% of the pixels; median %.2f %%, nine in ten below %.2f %%",
		name, len(shares), same, near, 100*shares[len(shares)/2], 100*shares[len(shares)*9/10])
}

// replayed serves one page, as it is or as it is shown; all else is a 404.
type replayed struct {
	t      *testing.T
	parser *parse.Parser
	body   string
	shown  bool
}

func (p *replayed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/page" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.URL.Query().Get("as") == "served" {
		w.Header().Set("Content-Security-Policy", "script-src 'none'")
		fmt.Fprint(w, p.body)
		return
	}
	u, err := web.Parse("http://college.test/page")
	if err != nil {
		p.t.Error(err)
		return
	}
	page, err := p.parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(p.body)})
	if err != nil {
		p.t.Error(err)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'")
	w.Write(Options{ResourcePath: func(k int) string { return fmt.Sprintf("/load/%d", k) }, Styles: true, Images: true}.Show(page, strings.ToValidUTF8(p.body, "\uFFFD")).HTML)
}

// differ is the share of pixels that differ between a body as served and as shown.
func (p *replayed) differ(b *chromium.Browser, server, body string) float64 {
	p.body = body
	a, c := p.picture(b, server+"/page?as=served"), p.picture(b, server+"/page?as=shown")
	if !a.Rect.Eq(c.Rect) {
		p.t.Fatalf("a picture of %v, one of %v", a.Rect, c.Rect)
	}
	n := 0
	for i := 0; i < len(a.Pix); i += 4 {
		if !bytes.Equal(a.Pix[i:i+4], c.Pix[i:i+4]) {
			n++
		}
	}
	return 4 * float64(n) / float64(len(a.Pix))
}

// picture is what the window shows of an address once it is loaded.
func (p *replayed) picture(b *chromium.Browser, address string) *image.RGBA {
	b.Call("Page.navigate", map[string]any{"url": address}, nil)
	b.Eval(`new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", () => done()))`)
	if at := b.Eval(`location.href`); at != strconv.Quote(address) {
		p.t.Fatalf("the browser is at %s, not at %s", at, address)
	}
	var shot struct{ Data string }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	if rgba, ok := decoded.(*image.RGBA); ok {
		return rgba
	}
	out := image.NewRGBA(decoded.Bounds())
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, decoded.At(x, y))
		}
	}
	return out
}

// recordedBodies are n pages of a recorded web, every seventh.
func recordedBodies(t *testing.T, dir string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		k := 0
		for _, page := range recordedPages(t, dir) {
			if k++; k%7 != 0 {
				continue
			}
			if n--; n < 0 || !yield(strings.ToValidUTF8(page, "\uFFFD")) {
				return
			}
		}
	}
}
