package teach

import (
	"testing"
)

// TestInChromium teaches in a real browser: open a start page, click links in
// the page, label by click and by key.
func TestInChromium(t *testing.T) {
	d := sit(t, college(), nil)
	b := openBrowser(t)
	b.call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.until(`document.querySelector("#starts button")`)
	b.shoot("1-welcome")
	b.eval(`document.querySelector("#starts button").click()`)
	b.until(`document.querySelector("#trail li [aria-current]")`)
	b.until(`!document.querySelector("#labels .goal").disabled`)
	b.shoot("2-start")
}
