package viewer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/chromium"
)

// Of many hosts the largest are named in the drawing, in narrow and wide windows; what can be
// scrolled there is reached by keys and has a name.
func TestManyHostsInChromium(t *testing.T) {
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
			if screen == "links" {
				b.Until(`Number(document.querySelector("canvas").dataset.names) >= 3`)
			}
		}
	}
}
