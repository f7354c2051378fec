// Package chromium drives a real browser, for tests of local pages. Where there is
// none, tests are skipped, and say so.
package chromium

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Browser drives a real Chromium over its debugging pipe: commands as JSON on
// its file descriptor 3, answers on 4, each ended by a zero byte.
type Browser struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when the pipe ends

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	session string
	outside []string // addresses that the browser asked its proxy for
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// patience bounds each wait for the browser.
const patience = 30 * time.Second

// Open starts Chromium on an empty page of 1280×800, or skips the test
// where there is none. Its way out is a proxy that keeps what was asked for and
// answers nothing.
func Open(t *testing.T) *Browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("needs a browser: install chromium")
	}
	if testing.Short() {
		t.Skip("starts a browser: leave out -short")
	}
	toRead, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, in: to, done: make(chan struct{}), waiting: map[int]chan answer{}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.outside = append(b.outside, r.Method+" "+r.Host+r.URL.Path)
		b.mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	dir, err := os.MkdirTemp("", "waggle-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	b.cmd = exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--proxy-server="+proxy.URL, "--window-size=1280,800",
		"--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	b.cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	// All its helpers hold this pipe, so Wait waits for them too.
	b.cmd.Stderr, b.cmd.WaitDelay = io.Discard, patience
	if err := b.cmd.Start(); err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	toRead.Close()
	fromWrite.Close()
	go b.read(from)
	t.Cleanup(func() {
		to.Close() // Chromium ends with its pipe
		select {
		case <-b.done:
		case <-time.After(patience):
			b.cmd.Process.Kill()
		}
		b.cmd.Wait()
		os.RemoveAll(dir) // at worst a folder among temporary ones stays
	})
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

func (b *Browser) read(from io.Reader) {
	defer close(b.done)
	r := bufio.NewReader(from)
	for {
		m, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var x struct {
			ID int
			answer
		}
		if json.Unmarshal(bytes.TrimSuffix(m, []byte{0}), &x) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[x.ID]; x.ID > 0 && c != nil {
			delete(b.waiting, x.ID)
			c <- x.answer
		}
		b.mu.Unlock()
	}
}

// Call sends a command and waits for its result.
func (b *Browser) Call(method string, params, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Browser) try(method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id, c := b.next, make(chan answer, 1)
	b.waiting[id] = c
	m, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		m, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.in.Write(append(m, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return errors.New(a.Error.Message)
		}
		if result != nil {
			return json.Unmarshal(a.Result, result)
		}
		return nil
	case <-b.done:
		return errors.New("the browser ended")
	case <-time.After(patience):
		return errors.New("no answer")
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

// send sends a command whose answer nobody waits for: one about the mouse is
// answered when the page under it has seen it, which may be gone by then.
func (b *Browser) send(method string, params any) {
	b.t.Helper()
	m, err := json.Marshal(map[string]any{"id": 1 << 30, "method": method, "params": params, "sessionId": b.session})
	if err == nil {
		b.mu.Lock()
		_, err = b.in.Write(append(m, 0))
		b.mu.Unlock()
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// Click presses the mouse at a place of the window.
func (b *Browser) Click(x, y float64) {
	b.t.Helper()
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.send("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})
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
