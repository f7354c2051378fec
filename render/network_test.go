package render_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
)

// Nothing that a page does reaches the network: neither from the network of its own that
// a browser has where the system allows it, nor from that of the machine.
func TestNoNetwork(t *testing.T) {
	long.Test(t, "starts a browser")
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		t.Errorf("reached: %s %s", r.Method, r.URL)
	}))
	defer server.Close()
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			reached.Add(1)
			t.Errorf("a connection from %s", c.RemoteAddr())
		}
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := make([]byte, 2048); ; {
			_, from, err := packets.ReadFrom(b)
			if err != nil {
				return
			}
			reached.Add(1)
			t.Errorf("a packet from %s", from)
		}
	}()
	defer func() {
		packets.Close()
		<-read
	}()
	host := strings.TrimPrefix(server.URL, "http://")
	body := head + fmt.Sprintf(`
		<link rel=preconnect href="http://%[1]s/"><link rel=dns-prefetch href="//%[1]s/"><link rel=prefetch href="http://%[1]s/prefetch">
		<script type=speculationrules>{"prerender": [{"source": "list", "urls": ["http://%[1]s/prerender"]}]}</script>
		<img src="http://%[1]s/img"><link rel=icon href="http://%[1]s/icon"><video src="http://%[1]s/video" autoplay></video><object data="http://%[1]s/object"></object>
		<iframe src="http://%[1]s/frame"></iframe><style>@import "http://%[1]s/css"; @font-face { font-family: f; src: url(http://%[1]s/font) } body { font-family: f; background: url(http://%[1]s/bg) }</style>
		<script>
		const said = new Set(), say = x => { said.add(x); document.body.setAttribute("said", [...said].sort().join(" ")) };
		try { const w = new WebSocket("ws://%[1]s/socket"); w.onerror = () => say("socket"); w.onopen = () => say("OPEN") } catch (e) { say("socket") }
		try { new EventSource("http://%[1]s/events").onerror = () => say("events") } catch (e) { say("events") }
		try { navigator.sendBeacon("http://%[1]s/beacon", "x") } catch (e) {}
		try { new WebTransport("https://%[1]s/transport").ready.catch(() => say("transport")) } catch (e) { say("transport") }
		try { const c = new RTCPeerConnection({iceServers: [{urls: "stun:%[2]s"}, {urls: "turn:%[1]s?transport=tcp", username: "u", credential: "c"}]});
			c.onicecandidate = e => { if (e.candidate && e.candidate.candidate) say("CANDIDATE") };
			c.createDataChannel("x"); c.createOffer().then(o => c.setLocalDescription(o)) } catch (e) { say("peer") }
		fetch("http://%[1]s/fetch").catch(() => say("fetch"));
		import("http://%[1]s/module.js").catch(() => say("import"));
		</script>`, host, packets.LocalAddr())
	for _, name := range []string{"network of its own", "network of the machine"} {
		t.Run(name, func(t *testing.T) {
			s := &site{}
			p := pool(t, s, nil)
			if name == "network of the machine" {
				p.Online()
			}
			for range 2 { // the second time waits for what the first may still do
				r, err := p.Render(t.Context(), page("https://a.example/", body), 0)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%v %s %v", r.Took.Round(time.Millisecond), r.Ended, r.Refused)
				_, said, _ := strings.Cut(string(r.Body), `<body said="`)
				said, _, _ = strings.Cut(said, `"`)
				if said != "events import socket transport" && said != "CANDIDATE events import socket transport" {
					t.Errorf("the page says %q", said)
				}
				if strings.Contains(said, "CANDIDATE") && name == "network of its own" {
					t.Error("the page was told an address of the machine")
				}
			}
			for _, a := range s.asked { // by waggle's own route, which a guard stands in
				if u := at(a); u.Path() != "/fetch" && u.Path() != "/module.js" {
					t.Errorf("it was asked for %s", a)
				}
			}
		})
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d times", n)
	}
}

// The same page gives the same document, whatever chance and time it asks for.
func TestSameBytes(t *testing.T) {
	long.Test(t, "starts a browser")
	s := &site{bodies: map[string]string{"https://a.example/data.json": `"data"`}}
	var docs [2]string
	for i := range docs {
		p := pool(t, s, nil)
		p.SetClock(func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) })
		for range 1 + i { // whatever was rendered before
			r, err := p.Render(t.Context(), page("https://a.example/", head+`<script>
				const say = x => document.body.append(x + "\n");
				say(new Date().toISOString()); say(Math.random()); setTimeout(() => say(Math.random() + " after " + Math.round(performance.now() / 100)), 2000);
				fetch("/data.json").then(r => r.text()).then(say); setInterval(() => document.title = Date.now(), 100)</script>`), 0)
			if err != nil {
				t.Fatal(err)
			}
			docs[i] = string(r.Body)
		}
	}
	if docs[0] != docs[1] {
		t.Errorf("first\n%s\nthen\n%s", docs[0], docs[1])
	}
	if !strings.Contains(docs[0], "2026-03-01T12:00:0") {
		t.Errorf("the clock of the page is another:\n%s", docs[0])
	}
}
