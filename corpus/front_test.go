package corpus

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// HEAD is answered as GET, without the body and with its length.
func TestHead(t *testing.T) {
	s, client, _ := start(t, served(t), ServerOptions{})
	for address, want := range map[string]int64{"http://a.example/": 7, "https://a.example/": 9} {
		r, err := client.Head(address)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != 200 || r.ContentLength != want || r.Header.Get("Content-Type") != "text/html" {
			t.Errorf("HEAD %s: %d, %d bytes, %v", address, r.StatusCode, r.ContentLength, r.Header)
		}
	}
	r, err := client.Head("http://a.example/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 404 || r.Header.Get(web.RecordHeader) != web.RecordAbsent {
		t.Errorf("HEAD of what is not recorded: %d, %v", r.StatusCode, r.Header)
	}
	if got, want := s.Stats(), (ServerStats{Requests: 3, Answered: 2, Missing: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// Who opens the server's own address learns what it is; recorded hosts answer
// for themselves, by whatever way they are asked for.
func TestPageForAStranger(t *testing.T) {
	w := served(t)
	w.Name, w.Description, w.Source = "bees & <b>co</b>", "Hives", "<script>alert(1)</script>"
	w.Topics = []Topic{{Name: "queens", Description: "Of <i>hives</i>", Seeds: []web.URL{mustURL(t, "http://a.example/"), mustURL(t, "http://a.example/gone"), mustURL(t, "http://a.example/")}}}
	_, client, addr := start(t, w, ServerOptions{})
	direct := &http.Client{Transport: &http.Transport{}}
	defer direct.CloseIdleConnections()
	r, body := get(t, direct, "http://"+addr+"/")
	if r.StatusCode != 200 || r.Header.Get(web.RecordHeader) != "" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d, %v", r.StatusCode, r.Header)
	}
	for _, want := range []string{
		"bees &amp; &lt;b&gt;co&lt;/b&gt;: a recorded web", "8 pages of 3 hosts", "Nothing is asked of the live web", "queens", "Of &lt;i&gt;hives&lt;/i&gt;",
		"waggle crawl --through http://" + addr + " --delay 0", "&lt;script&gt;alert(1)", CertificatePath,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q:\n%s", want, body)
		}
	}
	_, port, _ := strings.Cut(addr, ":")
	if r, body := get(t, direct, "http://localhost:"+port+"/favicon.ico"); r.StatusCode != 404 || !strings.Contains(body, "a recorded web") {
		t.Errorf("another page of its own: %d", r.StatusCode)
	}
	// The page for what is missing leads to what there is.
	_, body = get(t, client, "http://a.example/x?<script>")
	if !strings.Contains(body, "http://a.example/x?%3Cscript%3E is not in the recorded web bees &amp;") || strings.Count(body, `<a href="http://a.example/"`) != 1 || strings.Contains(body, "gone") {
		t.Errorf("what is missing:\n%s", body)
	}
}
