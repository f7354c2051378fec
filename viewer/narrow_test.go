package viewer

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// Of many hosts the largest are named in the drawing, in narrow and wide windows; what can be
// scrolled there is reached by keys and has a name.
func TestManyHostsInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	s := site{}
	var all strings.Builder
	all.WriteString(`<title>Bees</title><p>The honey bee.`)
	for h := range 40 {
		host := fmt.Sprintf("https://www.department-%d.university.test/", h)
		fmt.Fprintf(&all, ` <a href="%s">honey bee %d</a>`, host, h)
		s[host] = fmt.Sprintf(`<title>Department %d</title><p>The honey bee, number %d.`, h, h)
	}
	s["https://bees.test/"] = all.String()
	d := serve(t, crawled(t, s, "https://bees.test/"))
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".u-over")`)
	for _, width := range []int{320, 1280} {
		b.Resize(width, 900, false)
		for screen, there := range map[string]string{"now": ".hosts tbody tr", "links": "canvas[data-drawn=true]"} {
			b.Eval(fmt.Sprintf(`void(location.hash = "#/1/%s")`, screen))
			b.Until(fmt.Sprintf(`document.querySelector(%q)`, there))
			if got := b.Eval(`[...document.querySelectorAll(".scroll")].filter(e => e.tabIndex !== 0 || e.getAttribute("role") !== "region" || !(e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent)).length`); got != "0" {
				t.Errorf("%s at %d pixels: %s boxes that scroll cannot be reached by keys, or have no name", screen, width, got)
			}
			if width == 320 {
				if got := b.Eval(`[...document.querySelectorAll(".scroll")].filter(e => !e.closest("details") && e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 40))`); got != "[]" {
					t.Errorf("%s: figures of hosts are behind the border: %s", screen, got)
				}
				b.Shoot("hosts-320-" + screen)
			}
			if screen == "links" {
				b.Until(`Number(document.querySelector("canvas").dataset.names) >= 3`)
			}
		}
	}
}

// In a narrow window nothing of what a person said of pages, of copies, and of the acts is cut or
// scrolled sideways.
func TestActsAreNarrowInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	col := crawled(t, hive(), "https://bees.test/")
	log, err := os.ReadFile(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	home, copied := web.URL{}, web.URL{}
	if home, err = web.Parse("https://bees.test/"); err == nil {
		copied, err = web.Parse("https://copies.test/a")
	}
	if err != nil {
		t.Fatal(err)
	}
	at := event.At{At: time.Now()}
	for _, e := range []event.Event{
		event.Fetched{At: at, Visit: event.Visit{URL: copied}, Status: 200, MIME: "text/html", Bytes: 123_456, Reason: web.ReasonNearCopy},
		event.Act{At: at, Number: 1, Do: event.More, URL: home},
		event.Act{At: at, Number: 2, Do: event.Mute, Place: "a-place-with-a-long-name.department.university.test/forum/"},
	} {
		if log, err = event.AppendJSON(log, e); err != nil {
			t.Fatal(err)
		}
		log = append(log, '\n')
	}
	if err := os.WriteFile(col.EventLog(), log, 0o644); err != nil {
		t.Fatal(err)
	}
	d := serve(t, col)
	b := chromium.Open(t)
	b.Resize(320, 900, false)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".u-over")`)
	for screen, there := range map[string]string{
		"steer": ".acts tbody tr:nth-child(2)", "pages?fold=0": "table.pages tbody tr:nth-child(2)", "page?url=" + url.QueryEscape("https://bees.test/"): ".labelled",
	} {
		b.Eval(fmt.Sprintf(`void(location.hash = "#/1/%s")`, screen))
		b.Until(fmt.Sprintf(`document.querySelector(%q)`, there))
		b.Shoot(fmt.Sprintf("narrow-%.5s", screen))
		if got := b.Eval(`[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.scrollWidth + " of " + e.clientWidth)`); got != "[]" {
			t.Errorf("%s: boxes are wider than the window: %s", screen, got)
		}
		if got := b.Eval(`[...document.querySelectorAll(".relevance")].filter(e => e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right).map(e => e.textContent)`); got != "[]" {
			t.Errorf("%s: %s run over the border", screen, got)
		}
	}
}
