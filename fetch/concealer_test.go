package fetch_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// sent is a site that sends bodies with its pages, each of a media type; one of the type "gzip" comes with that
// content coding.
func sent(t *testing.T, bodies map[string][2]string) string {
	return strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		one, ok := bodies[r.URL.Path]
		kind, body := one[0], []byte(one[1])
		if kind == "gzip" {
			var b bytes.Buffer
			gz := gzip.NewWriter(&b)
			gz.Write(body)
			gz.Close()
			kind, body = "text/html", b.Bytes()
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(body)
	}), "/")
}

// What lets the user in is concealed in bodies, in each form and place, and the response says in how many. Its
// head tells of the body as it is then.
func TestBodyIsDiscreet(t *testing.T) {
	const password, token = "correct horse&1", "by-hand-4711"
	code := base64.StdEncoding.EncodeToString
	const hidden = web.Concealed
	bodies := map[string][2]string{
		"/plain":  {"text/html", "<p>Hello ada, your token is by-hand-4711!"},
		"/coded":  {"gzip", "<p>Hello ada, your token is by-hand-4711! " + strings.Repeat("bees ", 99)},
		"/script": {"text/javascript", `var t = "by\x2dhand-4711", p = "correct horse\u00261", a = "Basic ` + code([]byte("ada:"+password)) + `"`},
		"/json":   {"application/json", `{"t":"by-hand-4711","p":"correct horse\u00261","u":"https:\/\/a.example\/?p=correct%20horse%261"}`},
		"/links":  {"text/html", `<a href="/?t=by-hand-4711&amp;x=1">a</a> <a href="http://by-hand-4711.evil.example/">b</a> <a href="/hive">c</a> <p>correct horse&amp;1`},
		"/utf16":  {"text/html; charset=utf-16le", "\xff\xfe" + wide("<p>by-hand-4711 is it")},
		"/pdf":    {"application/pdf", "%PDF-1.7\n\x00\x01(by-hand-4711)\x80\xff"},
		"/latin1": {"text/html; charset=iso-8859-1", "<p>gr\xfc\xdfe-123"},
		"/quiet":  {"text/html", "<p>by-handy-4711 correct%20house"},
	}
	at := sent(t, bodies)
	own := fetch.BasicAuth("ada", password)
	own["X-Token"], own["X-Other"] = token, "grüße-123"
	f := direct(t, func(o *fetch.Options) {
		o.Secrets = map[string]fetch.Secret{at: own}
		o.Types = []string{"*/*"}
	})
	for path, want := range map[string]struct {
		body  string
		count int
	}{
		"/plain":  {"<p>Hello ada, your token is " + hidden + "!", 1},
		"/coded":  {"<p>Hello ada, your token is " + hidden + "! " + strings.Repeat("bees ", 99), 1},
		"/script": {`var t = "` + hidden + `", p = "` + hidden + `", a = "` + hidden + `"`, 3},
		"/json":   {`{"t":"` + hidden + `","p":"` + hidden + `","u":"https:\/\/a.example\/?p=` + hidden + `"}`, 3},
		"/links":  {`<a href="/?t=` + hidden + `&amp;x=1">a</a> <a href="http://` + hidden + `.evil.example/">b</a> <a href="/hive">c</a> <p>` + hidden, 3},
		"/utf16":  {"\xff\xfe" + wide("<p>"+hidden+" is it"), 1},
		"/pdf":    {"%PDF-1.7\n\x00\x01(" + hidden[:len(token)] + ")\x80\xff", 1},
		"/latin1": {"<p>" + hidden, 1},
		"/quiet":  {bodies["/quiet"][1], 0},
	} {
		r, err := f.Fetch(t.Context(), address(t, at+path))
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Body) != want.body || r.Concealed != want.count {
			t.Errorf("%s: %d places are concealed in %q, want %d in %q", path, r.Concealed, r.Body, want.count, want.body)
		}
		if !bytes.Equal(r.Raw, r.Body) || fmt.Sprint(r.Header["Content-Length"]) != fmt.Sprintf("[%d]", len(r.Raw)) || r.Header["Content-Encoding"] != nil ||
			!strings.Contains(string(r.Head), fmt.Sprintf("\r\nContent-Length: %d\r\n", len(r.Raw))) || strings.Contains(string(r.Head), "\r\nContent-Encoding") {
			t.Errorf("%s: %d bytes are kept with the head %s", path, len(r.Raw), r.Head)
		}
		if coded := r.Header["X-Crawler-Content-Encoding"] != nil; coded != (path == "/coded") {
			t.Errorf("%s: the head that is kept is %s", path, r.Head)
		}
	}
}

// A token that stands in a body whose content coding cannot be undone, or behind one, is in nothing that is kept.
func TestUndecodedBodyIsDiscreet(t *testing.T) {
	const token, said = "by-hand-4711", "500 the token by-hand-4711 is wrong"
	for _, c := range []struct {
		status            int
		packed            []byte
		wantRaw, wantBody string
	}{
		{500, []byte(said), strings.Replace(said, token, web.Concealed, 1), ""},
		{200, append(pack(t, "<p>hello", "gzip"), said...), "<p>hello", "<p>hello"},
	} {
		at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(c.status)
			w.Write(c.packed)
		}), "/")
		f := direct(t, func(o *fetch.Options) { o.Secrets = map[string]fetch.Secret{at: {"X-Token": token}} })
		r, err := f.Fetch(t.Context(), address(t, at+"/"))
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Raw) != c.wantRaw || string(r.Body) != c.wantBody || r.Concealed != 1 || r.Received() != len(c.packed) || r.Header["Content-Encoding"] != nil {
			t.Errorf("status %d: %d places are concealed in %q, and in the body %q, of %d bytes with the head %s", r.Status, r.Concealed, r.Raw, r.Body, r.Received(), r.Head)
		}
	}
}

// wide is ASCII in UTF-16, the lower byte first.
func wide(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteByte(c)
		b.WriteByte(0)
	}
	return b.String()
}

// The token of a login is concealed in the pages of any site that names its host, a cookie that a site set in its
// own pages, and both in a robots.txt. Words of markup, those of the address asked for, and those of other sites
// that are ordinary stay.
func TestBodyTellsElsewhere(t *testing.T) {
	const login, set, hidden = "0123456789abcdef0123", "fedcba9876543210fedc", web.Concealed
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "id="+set)
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Next", "https://in.example/?key=by-hand-4711")
		fmt.Fprintf(w, "<body class=x>https://wiki.example/?%s %s //in.example/?by-hand-4711 documentation sesame", login, set)
	}), "/")
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots = false
		o.Cookies = cookies.New(clock.System{})
		o.Secrets = map[string]fetch.Secret{
			"https://in.example": {"X-Token": "by-hand-4711", "X-Old": "documentation", "Cookie": "in.example"},
			at:                   {"X-A": "body", "X-B": "class", "X-C": "sesame", "X-D": "https"},
		}
		if err := o.Cookies.Add(cookies.Cookie{Name: "id", Value: login, Domain: "wiki.example", Path: "/"}); err != nil {
			t.Fatal(err)
		}
	})
	for path, want := range map[string]string{
		"/":        "<body class=x>https://wiki.example/?" + hidden + " " + hidden + " //in.example/?" + hidden + " documentation " + hidden,
		"/sesame/": "<body class=x>https://wiki.example/?" + hidden + " " + hidden + " //in.example/?" + hidden + " documentation sesame",
	} {
		r, err := f.Fetch(t.Context(), address(t, at+path))
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Body) != want {
			t.Errorf("%s: kept as %s", path, r.Body)
		}
		if got := r.Header["X-Next"][0]; got != "https://in.example/?key="+hidden {
			t.Errorf("%s: the head has %s", path, got)
		}
		if r.Robots != nil && strings.Contains(string(r.Robots.Body), set) {
			t.Errorf("robots.txt is kept as %s", r.Robots.Body)
		}
	}
	other, err := f.Fetch(t.Context(), address(t, strings.Replace(at, "127.0.0.1", "localhost", 1)+"/"))
	if err != nil || !strings.Contains(string(other.Body), "sesame") || strings.Contains(string(other.Body), login) {
		t.Errorf("another site is kept as %s: %v", other.Body, err)
	}
}

// The beginning of a secret at the end of a body that was cut is concealed as well, and a body does not grow
// beyond the bound.
func TestBodyIsCut(t *testing.T) {
	at := sent(t, map[string][2]string{
		"/cut":  {"text/html", "<p>bees by-hand-4711 and more"},
		"/full": {"text/html", strings.Repeat("4711 ", 40)},
	})
	f := func(most int) fetch.Fetcher {
		return direct(t, func(o *fetch.Options) {
			o.Secrets = map[string]fetch.Secret{at: {"X-Token": "by-hand-4711", "X-Pin": "4711"}}
			o.MaxBody = most
		})
	}
	r, err := f(15).Fetch(t.Context(), address(t, at+"/cut"))
	if err != nil || strings.Contains(string(r.Body), "by-h") || r.Truncated != "length" || r.Concealed != 1 {
		t.Errorf("kept as %q: %v", r.Body, err)
	}
	r, err = f(200).Fetch(t.Context(), address(t, at+"/full"))
	if err != nil || len(r.Body) != 200 || r.Truncated != "length" || strings.Contains(string(r.Body), "4711") {
		t.Errorf("kept as %q: %v", r.Body, err)
	}
}

// Without secrets a body stays what it is, whatever stands in it.
func TestBodyWithoutSecrets(t *testing.T) {
	body := "<p>" + web.Concealed + " by-hand-4711"
	r, err := direct(t, func(*fetch.Options) {}).Fetch(t.Context(), address(t, sent(t, map[string][2]string{"/": {"text/html", body}})+"/"))
	if err != nil || string(r.Body) != body || r.Concealed != 0 {
		t.Errorf("kept as %q, %d concealed: %v", r.Body, r.Concealed, err)
	}
}

// A redirect to a host in whose name a secret stands leads nowhere.
func TestSecretInHost(t *testing.T) {
	const token = "By-Hand-4711"
	to := ""
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusFound)
	}), "/")
	f := direct(t, func(o *fetch.Options) { o.Secrets = map[string]fetch.Secret{at: {"X-Token": token}} })
	for _, host := range []string{token + ".evil.example", strings.ToLower(token) + ".evil.example", "a." + token, "127.0.0.1"} {
		to = "http://" + host + "/"
		r, err := f.Fetch(t.Context(), address(t, at+"/"))
		if err != nil {
			t.Fatal(err)
		}
		told := host != "127.0.0.1"
		if r.Repeats != told || r.Location.IsZero() != told || strings.Contains(string(r.Head)+string(r.Body), host) == told {
			t.Errorf("%s: leads to %q; kept are %s and %s", to, r.Location, r.Head, r.Body)
		}
		if u := address(t, to); r.Tells(u) != told {
			t.Errorf("%s: tells a secret: %v", u, !told)
		}
	}
}
