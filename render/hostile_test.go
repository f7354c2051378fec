package render_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/render"
	"github.com/waggle-crawler/waggle/web"
)

// hostile is a page that does what no page of a crawl may do.
type hostile struct {
	name, script string
	ended        []web.Reason // one of them; none = it comes to rest
	want         string       // in the document
	refused      map[web.Reason]int
}

// A page that does what no page of a crawl may do is ended, and said. The browser renders
// the next one.
//
// None of them ends by the time it takes: the limit of that is far away on any machine.
func TestHostile(t *testing.T) {
	long.Test(t, "shows hostile pages to a browser")
	testHostile(t, 5*time.Minute, []hostile{
		{name: "a thousand windows", script: `for (let i = 0; i < 1000; i++) window.open("/w" + i)`, ended: []web.Reason{web.ReasonRenderWindows}, want: "as sent"},
		{name: "windows by links", script: `const a = document.createElement("a"); a.href = "/x"; a.target = "_blank"; document.body.append(a); for (let i = 0; i < 1000; i++) a.click()`, ended: []web.Reason{web.ReasonRenderWindows}},
		{name: "windows of its own making", script: `for (let i = 0; i < 1000; i++) { const w = window.open("about:blank"); w && w.document.write("<script src=/w.js>") }`, ended: []web.Reason{web.ReasonRenderWindows}},
		{name: "endless alert", script: `for (;;) alert("!")`, ended: []web.Reason{web.ReasonRenderDialogs}},
		{name: "one alert", script: `alert("!"); document.body.append("after it " + confirm("?"))`, want: "after it false"},
		{name: "endless timers", script: `document.body.append("here"); setInterval(() => document.body.setAttribute("n", Math.random()), 1)`, want: "here"},
		{name: "endless scroll", script: `onscroll = () => { for (let i = 0; i < 50; i++) document.body.insertAdjacentHTML("beforeend", "<p style='height:100px'>more</p>") }; onscroll()`, want: "more"},
		{name: "endless polling", script: `document.body.append("here"); setInterval(() => fetch("/poll.json"), 10)`, want: "here", ended: []web.Reason{web.ReasonRenderRequests}},
		{name: "polling of another host's", script: `document.body.append("here"); setInterval(() => fetch("http://127.0.0.1/poll.json").catch(() => 0), 10)`, want: "here", ended: []web.Reason{web.ReasonRenderRequests}},
		{name: "endless document", script: `for (let i = 0; i < 5000; i++) document.body.insertAdjacentHTML("beforeend", "<p>" + "x".repeat(100))`, ended: []web.Reason{web.ReasonRenderSize}, want: "xxx"},
		{name: "a download", script: `const a = document.createElement("a"); a.href = URL.createObjectURL(new Blob(["x"])); a.download = "x.exe"; document.body.append(a); a.click()`, ended: []web.Reason{web.ReasonRenderDownload}},
		{name: "a flood of requests", script: `for (let i = 0; i < 1000; i++) fetch("/x" + i)`, ended: []web.Reason{web.ReasonRenderRequests}},
		{name: "more parts than it may have", script: `</script>` + parts(30) + `<p>the end</p><script>`, want: "the end", refused: map[web.Reason]int{web.ReasonRenderRequests: 10}},
		{name: "another page", script: `location = "/elsewhere?x=1"`, ended: []web.Reason{web.ReasonRenderMoved}, want: `<meta http-equiv="refresh" content="0; url=https://a.example/elsewhere?x=1">`},
		{name: "itself again", script: `location.reload()`, ended: []web.Reason{web.ReasonRenderMoved}},
		{name: "a form", script: `document.body.innerHTML += "<form method=post action=/buy></form>"; document.forms[0].submit()`, ended: []web.Reason{web.ReasonRenderMoved}},
		{name: "a document of its own making", script: `location = URL.createObjectURL(new Blob(["<p>other"], {type: "text/html"}))`, ended: []web.Reason{web.ReasonRenderMoved}},
		{name: "files of the machine", script: `fetch("file:///etc/passwd").catch(() => document.body.append("no file")); const i = document.createElement("iframe"); i.src = "file:///etc/passwd"; document.body.append(i); location = "file:///etc/passwd"`, want: "no file"},
		{name: "pages of the browser", script: `fetch("chrome://version").catch(() => document.body.append("no version")); window.open("chrome://version"); location = "chrome://version"`, want: "no version"},
		{name: "a private address", script: `fetch("http://127.0.0.1:80/admin").catch(() => document.body.append("no admin"))`, want: "no admin", refused: map[web.Reason]int{web.ReasonAddress: 1}},
		{name: "a redirect to a private address", script: `fetch("/inward.json").catch(() => document.body.append("no admin"))`, want: "no admin", refused: map[web.Reason]int{web.ReasonAddress: 1}},
		{name: "a service worker", script: `navigator.serviceWorker.register("/sw.js").catch(() => document.body.append("no service worker"))`, want: "no service worker"},
		{name: "printing", script: `print(); document.body.append("printed")`, want: "printed"},
		{name: "the whole screen", script: `document.body.requestFullscreen().catch(() => document.body.append("no screen"))`, want: "no screen"},
		{name: "permissions", script: `Notification.requestPermission(); navigator.mediaDevices?.getUserMedia({video: true}); navigator.geolocation.getCurrentPosition(() => 0, () => document.body.append(" no place"))`, want: " no place"},
	})
}

// parts are scripts with addresses of their own.
func parts(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`<script src="/part%d.js"></script>`, i)
	}
	return s
}

// anyEnd are the ways in which a page ends that takes too much.
var anyEnd = []web.Reason{web.ReasonRenderTime, web.ReasonRenderCPU, web.ReasonRenderMemory, web.ReasonRenderCrash}

// Pages that take what there is of time and memory are ended too. Each takes seconds, so
// WAGGLE_LONG=all tries them all, and WAGGLE_LONG=1 one.
func TestGreedy(t *testing.T) {
	long.Test(t, "shows a page that does not end to a browser")
	list := []hostile{
		{name: "endless loop", script: `for (;;) {}`, ended: anyEnd},
		{name: "endless loop later", script: `document.body.append("before"); setTimeout(() => { for (;;) {} }, 3000)`, ended: anyEnd},
		{name: "endless promises", script: `const f = () => Promise.resolve().then(f); f()`, ended: anyEnd},
		{name: "memory of the heap", script: `const a = []; for (;;) a.push(new Array(1e5).fill({}))`, ended: anyEnd},
		{name: "memory beside the heap", script: `const a = []; setInterval(() => a.push(new Uint8Array(64 << 20).fill(1)), 1)`, ended: anyEnd},
		{name: "one text of 200 MB", script: `document.body.append("x".repeat(200e6))`, ended: append([]web.Reason{web.ReasonRenderSize}, anyEnd...)},
		{name: "an endless tree", script: `let e = document.body; for (let i = 0; i < 100000; i++) { const d = document.createElement("div"); e.append(d); e = d }`, ended: anyEnd},
		{name: "a thousand workers", script: `for (let i = 0; i < 1000; i++) new Worker("/w.js?" + i)`, ended: append([]web.Reason{web.ReasonRenderWorkers, web.ReasonRenderRequests}, anyEnd...)},
		{name: "workers of its own making", script: `const u = URL.createObjectURL(new Blob(["for(;;){}"])); for (let i = 0; i < 1000; i++) new Worker(u)`, ended: append([]web.Reason{web.ReasonRenderWorkers}, anyEnd...)},
		{name: "mining", script: `const u = URL.createObjectURL(new Blob(["for(;;){}"])); for (let i = 0; i < 4; i++) new Worker(u)`, ended: anyEnd},
		{name: "a thousand frames", script: `for (let i = 0; i < 1000; i++) document.body.append(document.createElement("iframe"))`, want: "as sent", ended: append([]web.Reason{""}, anyEnd...)},
	}
	if !long.All() {
		list = list[:1]
	}
	testHostile(t, 2*time.Second, list)
}

func testHostile(t *testing.T, limit time.Duration, list []hostile) {
	s := &site{bodies: map[string]string{"https://a.example/w.js": `for (;;) {}`, "https://a.example/sw.js": `self.x = 1`, "https://a.example/inward.json": "Location: http://127.0.0.1:80/admin"}}
	p := pool(t, s, func(o *render.Options) {
		o.Limits = render.Limits{Time: limit, Memory: 700 << 20, Requests: 20, Body: 200_000}
		o.Refuse = func(_, u web.URL) web.Reason {
			if u.Host().Name() == "127.0.0.1" {
				return web.ReasonAddress
			}
			return ""
		}
	})
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			s.asked = nil
			r, err := p.Render(t.Context(), page("https://a.example/", head+"<p>as sent</p><script>"+c.script+"</script>"), 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v: %s %s; refused %v; %d bytes", r.Took.Round(time.Millisecond), r.Ended, r.Detail, r.Refused, len(r.Body))
			if c.ended == nil && r.Ended != "" || c.ended != nil && !slices.Contains(c.ended, r.Ended) {
				t.Errorf("ended: %q %s, want one of %q", r.Ended, r.Detail, c.ended)
			}
			if r.Body != nil && !strings.Contains(string(r.Body), c.want) || r.Body == nil && c.ended == nil {
				t.Errorf("%q is not in\n%.2000s", c.want, r.Body)
			}
			if c.refused != nil && !maps.Equal(c.refused, r.Refused) {
				t.Errorf("refused %v, want %v", r.Refused, c.refused)
			}
			if len(r.Body) > 4*200_000 {
				t.Errorf("a document of %d bytes", len(r.Body))
			}
			if len(s.asked) > 20 {
				t.Errorf("%d requests", len(s.asked))
			}
			for _, a := range s.asked {
				if strings.Contains(a, "127.0.0.1") || strings.Contains(a, "sw.js") || strings.Contains(a, "favicon") {
					t.Errorf("it was asked for %s", a)
				}
			}
		})
	}
	p.SetTime(5 * time.Minute) // an honest page may take longer than a greedy one where the machine is busy
	r, err := p.Render(t.Context(), page("https://a.example/", head+`<script>document.body.append("as " + "ever")</script>`), 0)
	if err != nil || !strings.Contains(string(r.Body), "as ever") {
		t.Errorf("a page after them: %v, %+v", err, r)
	}
}
