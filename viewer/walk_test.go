package viewer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/viewer/start"
)

// A person who knows the page alone begins a crawl of a recorded web, corrects it by two
// labels, makes the index, searches, and takes the pages away.
func TestWalkInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	made := t.TempDir()
	src, err := corpus.Detect(filepath.Join("..", "docs", "guide", "meadow"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(t.Context(), made, src, corpus.Options{Name: "meadow"}); err != nil {
		t.Fatal(err)
	}
	meadow, err := corpus.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	replay, err := corpus.NewServer(meadow, corpus.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := corpus.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- replay.Serve(serving, l) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, meadow.Close()); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: t.TempDir(), Note: func(string) {}})
	t.Cleanup(func() { cancel(); s.Wait() })
	d := serveWith(t, Options{Start: s})
	b := chromium.Open(t)
	shoot := func(name string) {
		if os.Getenv("WAGGLE_SHOTS") == "" {
			return
		}
		for _, width := range []int{320, 1280, 2560} {
			for _, dark := range []bool{false, true} {
				b.Resize(width, 1400, dark)
				b.Eval(`new Promise(done => setTimeout(done, 700))`) // for charts to be drawn in the picture
				b.Shoot(fmt.Sprintf("walk-%s-%d-%v", name, width, dark))
			}
		}
		b.Resize(1280, 900, false)
	}
	press := func(text string) {
		b.Until(fmt.Sprintf(`[...document.querySelectorAll("button")].some(x => !x.disabled && x.textContent.startsWith(%q))`, text))
		b.Eval(fmt.Sprintf(`void [...document.querySelectorAll("button")].find(x => !x.disabled && x.textContent.startsWith(%q)).click()`, text))
	}
	fill := func(label, text string) {
		b.Eval(fmt.Sprintf(`(() => { const f = [...document.querySelectorAll("form.start label")].find(l => l.textContent.startsWith(%q)).querySelector("input, textarea, select"); f.closest("details") && (f.closest("details").open = true); f.focus(); f.select?.() })()`, label))
		b.Call("Input.insertText", map[string]any{"text": text}, nil)
	}
	b.Resize(1280, 900, false)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector("form.start")`)
	shoot("start")
	fill("Words and phrases", "honey bee, waggle dance")
	fill("Addresses", "https://meadow.example/")
	fill("Proxy", "http://"+l.Addr().String())
	fill("Delay", "0s")
	b.Until(`document.querySelector(".start pre").textContent.includes("through:") && !document.querySelector(".problem")`)
	shoot("go")
	b.Eval(`void document.querySelector("button.strong").click()`)
	b.Until(`document.querySelector(".status")?.textContent.startsWith("ended") && document.querySelector(".u-over")`)
	shoot("now")

	b.Press("2")
	b.Until(`document.querySelectorAll("table.pages tbody tr").length > 10`)
	b.Press("j")
	b.Press("i")
	b.Until(`document.querySelector(".said")?.textContent.startsWith("Act 1: irrelevant https://")`)
	b.Press("j")
	b.Press("m")
	b.Until(`document.querySelector(".said")?.textContent.startsWith("Act 2: more")`)
	press("Make the index")
	b.Until(`document.body.textContent.includes("Words of the page")`)
	b.Press("/")
	b.Until(`document.activeElement.id === "search"`)
	b.Call("Input.insertText", map[string]any{"text": `"waggle dance"`}, nil)
	b.Until(`document.querySelector("table.pages mark")`)
	shoot("search")
	b.Eval(`document.activeElement.blur()`)
	b.Press("j")
	b.Press("Enter")
	b.Until(`document.querySelector("h1") && document.querySelector(".way li") && document.querySelector(".parts p")`)
	shoot("page")
	press("As archived")
	b.Until(`document.querySelector("iframe.shown")`)
	shoot("archived")
	b.Press("3")
	b.Until(`document.querySelector(".graph canvas[data-drawn=true]")`)
	shoot("links")
	b.Press("4")
	b.Until(`document.querySelectorAll(".acts tbody tr").length === 2`)
	shoot("steer")
	b.Press("5")
	b.Until(`document.querySelectorAll(".forms li").length > 2`)
	shoot("collection")
	got := b.Eval(`(async () => { const l = [...document.querySelectorAll(".forms a")].find(a => a.textContent === "pages-csv"); return (await (await fetch(l.href)).text()).split("\n").length })()`)
	if strings.Trim(got, `"`) < "10" {
		t.Errorf("the table that is taken away has %s lines", got)
	}
}
