package viewer

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// logActs has the log of a crawl that has ended hold acts as taken in.
func logActs(t *testing.T, col collection.Collection, acts ...event.Act) {
	t.Helper()
	info, err := os.Stat(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	l, err := event.Open(col.EventLog(), fmt.Append(nil, info.Size()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range acts {
		acts[i].At, acts[i].Number = event.At{At: info.ModTime()}, i+1
		_, more := l.Append(acts[i])
		err = errors.Join(err, more)
	}
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := col.Acts(acts); err != nil {
		t.Fatal(err)
	}
}

func address(t *testing.T, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Several crawls, acts that were taken in, refused, undone and that meet nothing, and the values of
// fields, one of them without a space: they fit narrow and wide windows, can be read in both colour
// schemes, and an act can be undone at each width.
func TestFullScreensInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	long := strings.Repeat("honeybee", 60)
	s := bees()
	s["https://bees.test/hive"] = "<title>Hive</title><h1>The hive</h1><p>A honey bee lives in a hive.<b>wax</b> <b>" + long + "</b>"
	col := crawled(t, s, "https://bees.test/")
	logActs(t, col,
		event.Act{Do: event.Irrelevant, URL: address(t, "https://bees.test/hive")},
		event.Act{Do: event.Undo, Act: 1},
		event.Act{Do: event.Mute, Place: "bees.test/" + long},
		event.Act{Do: event.Relevant, URL: address(t, "https://bees.test/never"), Refused: "the archive holds no page of this address"},
		event.Act{Do: event.Keywords, Keywords: []string{"honey bee", "waggle dance", long[:180]}, KeywordsBefore: []string{"honey bee"}},
	)
	if err := os.WriteFile(col.FieldsFile(), []byte("fields:\n  - {name: heading, css: h1}\n  - {name: parts, css: b, many: true}\n  - {name: price, css: i}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := crawledBy(t, "beside "+long[:80], "breadth-first", bees(), "https://bees.test/")
	d := serve(t, col, other)
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".figures dd")`)
	for _, width := range []int{320, 1280, 2560} {
		for _, dark := range []bool{false, true} {
			b.Resize(width, 1400, dark)
			for name, at := range map[string][2]string{
				"acts":   {"#/1/steer", `document.querySelectorAll(".acts tbody tr").length >= 5`},
				"fields": {"#/1/page?url=" + url.QueryEscape("https://bees.test/hive"), `document.querySelectorAll(".values tr").length === 3`},
				"beside": {"#/2/now", `document.querySelector(".u-over") && document.querySelector("select")`},
			} {
				b.Eval(fmt.Sprintf(`void(location.hash = %q)`, at[0]))
				b.Until(at[1])
				b.Until(`document.documentElement.scrollWidth <= innerWidth`)
				b.Shoot(fmt.Sprintf("full-%s-%d-%v", name, width, dark))
				if got := b.Eval(faint); got != "[]" {
					t.Errorf("%s at %d (dark: %v) has text that is hard to read: %s", name, width, dark, got)
				}
				if name != "acts" {
					continue
				}
				if got := b.Eval(`["undone", "not done: the archive", "nothing that is known matches it now"].filter(x => !document.querySelector(".acts").textContent.includes(x))`); got != "[]" {
					t.Errorf("the acts are without %s", got)
				}
				if got := b.Eval(`[...document.querySelectorAll(".acts button")].filter(e => e.getBoundingClientRect().right > innerWidth).length`); got != "0" {
					t.Errorf("at %d pixels %s acts are undone by a button that is not in sight", width, got)
				}
			}
		}
	}
}

// The way to a page names each kind of link as waggle explain does.
func TestWayNamesKindsInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	s := site{
		"https://bees.test/":      `<title>Bees</title><p>The honey bee.<iframe src="/frame"></iframe>`,
		"https://bees.test/frame": `<title>Frame</title><p>The honey bee.<map><area href="/area" alt="hive"></map>`,
		"https://bees.test/area":  `<title>Area</title><p>The honey bee. <link rel="next" href="/next">`,
		"https://bees.test/next":  `<title>Next</title><p>The honey bee. <a href="/last">waggle dance</a>`,
		"https://bees.test/last":  `<title>Last</title><p>The honey bee.`,
	}
	d := serve(t, crawled(t, s, "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL() + "#/1/page?url=" + url.QueryEscape("https://bees.test/last")}, nil)
	b.Until(`document.querySelector(".way li")`)
	if got := b.Eval(`[...document.querySelectorAll(".way .step")].map(e => e.textContent.split(",")[0]).join()`); got != `"seed,frame,link in an image map hive,link element (next),link waggle dance"` {
		t.Errorf("the way: %s", got)
	}
}
