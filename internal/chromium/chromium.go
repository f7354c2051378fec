// Package chromium drives a real browser, for tests of local pages. Where there is
// none, tests are skipped, and say so.
package chromium

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/devtools"
)

// Browser drives a real Chromium.
type Browser struct {
	t       testing.TB
	tools   *devtools.Browser
	session string

	mu      sync.Mutex
	outside []string // addresses that the browser asked its proxy for
}

// patience bounds each wait for the browser: only one that hangs takes longer.
const patience = 3 * time.Minute

// Open starts Chromium on an empty page of 1280×800, or skips the test
// where there is none. Its way out is a proxy that keeps what was asked for and
// answers nothing.
func Open(t testing.TB) *Browser {
	t.Helper()
	program := Find(t)
	b := &Browser{t: t}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.outside = append(b.outside, r.Method+" "+r.Host+r.URL.Path)
		b.mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	var err error
	// Chromium now and then ends as it begins, or is too slow, where several begin at a time.
	for range 3 {
		// Pages of this machine need no sandbox, and root could not have one.
		b.tools, err = devtools.Start(t.Context(), devtools.Options{
			Program: program, NoSandbox: true, Args: append(spared(), "--proxy-server="+proxy.URL, "--window-size=1280,800"),
		})
		if !errors.Is(err, devtools.ErrEnded) && !errors.Is(err, context.DeadlineExceeded) {
			break
		}
		t.Logf("started once more: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.tools.Close() }) // at worst a folder among temporary ones stays
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	b.Call("Target.getTargets", nil, &targets)
	for _, x := range targets.TargetInfos {
		if x.Type == "page" {
			var s struct{ SessionID string }
			b.Call("Target.attachToTarget", map[string]any{"targetId": x.TargetID, "flatten": true}, &s)
			b.session = s.SessionID
		}
	}
	b.Call("Page.enable", nil, nil)
	b.Call("Runtime.enable", nil, nil)
	return b
}

// spared are arguments that spare a fifth of the processor time of a start: it is spent on
// what no page of waggle uses, as extensions and a renderer for a page that may come.
func spared() []string {
	return []string{
		"--disable-extensions", "--disable-sync", "--disable-software-rasterizer", "--disable-component-extensions-with-background-pages",
		"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess",
	}
}

// Find is the path of the browser; the test is skipped where there is none.
func Find(t testing.TB) string {
	t.Helper()
	program, err := devtools.Find()
	if err != nil {
		t.Skip("needs a browser: install chromium")
	}
	return program
}

// Call sends a command and waits for its result.
func (b *Browser) Call(method string, params, result any) {
	b.t.Helper()
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.tools.Call(within, b.session, method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// Eval is the value of a JavaScript expression in the controls, as JSON.
func (b *Browser) Eval(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Text)
	}
	return string(r.Result.Value)
}

// Until waits for an expression to be true: it is looked at whenever the
// document changes, and now and then for what changes without it.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	ok := b.Eval(fmt.Sprintf(`new Promise(done => {
		const is = () => { try { return !!(%s); } catch { return false; } };
		const end = (was) => { seen.disconnect(); clearInterval(again); clearTimeout(late); done(was); };
		const look = () => { if (is()) end(true); };
		const seen = new MutationObserver(look), again = setInterval(look, 500), late = setTimeout(end, %d, false);
		seen.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		look();
	})`, expression, patience.Milliseconds()*2/3))
	if ok != "true" {
		b.Shoot("failed")
		b.t.Fatalf("never true: %s\nnotice: %s", expression, b.Eval(`document.getElementById("notice")?.textContent`))
	}
}

// Click presses the mouse at a place of the window.
func (b *Browser) Click(x, y float64) {
	b.t.Helper()
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		// One about the mouse is answered when the page under it has seen it, which may
		// be gone by then.
		if err := b.tools.Send(b.session, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Seen waits until the page at a place of the window has seen what the mouse did before, or has lost it, as it was not
// painted yet; where that page is gone, until ctx is over, or patience.
func (b *Browser) Seen(ctx context.Context, x, y float64) {
	b.t.Helper()
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := b.tools.Call(within, b.session, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
	if err != nil && within.Err() == nil {
		b.t.Fatal(err)
	}
}

// Press types one key.
func (b *Browser) Press(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key}
		if kind == "keyDown" && len(key) == 1 {
			p["text"] = key
		}
		switch key {
		case "Enter":
			p["windowsVirtualKeyCode"], p["text"] = 13, "\r"
		case "Backspace":
			p["windowsVirtualKeyCode"] = 8
		}
		b.Call("Input.dispatchKeyEvent", p, nil)
	}
}

// Shoot keeps a picture of the window in the folder WAGGLE_SHOTS, if that is
// set.
func (b *Browser) Shoot(name string) {
	dir := os.Getenv("WAGGLE_SHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// Outside lists what the browser asked its proxy for so far, as method, host and
// path: addresses beyond this machine.
func (b *Browser) Outside() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.outside)
}

// Resize makes the window of a width and height in pixels; dark asks pages for
// their dark colours.
func (b *Browser) Resize(width, height int, dark bool) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}
