package cookies

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/web"
)

// still is a clock that is moved by hand.
type still struct{ now time.Time }

func (s *still) Now() time.Time { return s.now }

func newStill() *still { return &still{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func address(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func answered(t testing.TB, j *Jar, at string, lines ...string) http.Header {
	h := http.Header{"Set-Cookie": lines}
	j.Answered(address(t, at), h)
	return h
}

// What an address sets, and what another is then sent.
func TestCookies(t *testing.T) {
	for _, c := range []struct{ name, from, set, to, sent string }{
		{"its own host", "https://a.example/", "x=1", "https://a.example/y", "x=1"},
		{"another port", "https://a.example/", "x=1", "https://a.example:8443/", "x=1"},
		{"a host below, not asked for", "https://a.example/", "x=1", "https://b.a.example/", ""},
		{"a host below", "https://a.example/", "x=1; Domain=a.example", "https://b.a.example/", "x=1"},
		{"a host beside", "https://www.a.example/", "x=1; Domain=.A.Example", "https://b.a.example/", "x=1"},
		{"another site", "https://a.example/", "x=1; Domain=b.example", "https://b.example/", ""},
		{"a name that ends alike", "https://a.example/", "x=1; Domain=a.example", "https://bada.example/", ""},
		{"a public suffix", "https://a.co.uk/", "x=1; Domain=co.uk", "https://b.co.uk/", ""},
		{"a private public suffix", "https://a.github.io/", "x=1; Domain=github.io", "https://b.github.io/", ""},
		{"a public suffix for itself", "https://github.io/", "x=1; Domain=github.io", "https://github.io/", "x=1"},
		{"nobody below that", "https://github.io/", "x=1; Domain=github.io", "https://b.github.io/", ""},
		{"a top level domain", "https://a.example/", "x=1; Domain=example", "https://b.example/", ""},
		{"an address", "http://192.0.2.1/", "x=1; Domain=192.0.2.1", "http://192.0.2.1/", "x=1"},
		{"part of an address", "http://192.0.2.1/", "x=1; Domain=2.1", "http://192.0.2.1/", ""},
		{"its folder", "https://a.example/d/e", "x=1", "https://a.example/d/f", "x=1"},
		{"not above it", "https://a.example/d/e", "x=1", "https://a.example/", ""},
		{"a path", "https://a.example/", "x=1; Path=/d", "https://a.example/d/f", "x=1"},
		{"a path that begins alike", "https://a.example/", "x=1; Path=/d", "https://a.example/dd", ""},
		{"a query is no path", "https://a.example/?q=/d/", "x=1", "https://a.example/", "x=1"},
		{"by https alone", "https://a.example/", "x=1; Secure", "http://a.example/", ""},
		{"secure from http", "http://a.example/", "x=1; Secure", "https://a.example/", ""},
		{"prefix Secure", "https://a.example/", "__Secure-x=1", "https://a.example/", ""},
		{"prefix Host", "https://a.example/", "__Host-x=1; Secure; Path=/", "https://a.example/", "__Host-x=1"},
		{"prefix Host with a domain", "https://a.example/", "__Host-x=1; Secure; Path=/; Domain=a.example", "https://a.example/", ""},
		{"expired", "https://a.example/", "x=1; Expires=Sun, 01 Mar 2026 11:00:00 GMT", "https://a.example/", ""},
		{"for an hour", "https://a.example/", "x=1; Max-Age=3600", "https://a.example/", "x=1"},
		{"for no time", "https://a.example/", "x=1; Max-Age=0", "https://a.example/", ""},
		{"a quoted value", "https://a.example/", `x="1 2"`, "https://a.example/", `x="1 2"`},
		{"too long", "https://a.example/", "x=" + strings.Repeat("1", 5000), "https://a.example/", ""},
		{"JSON", "https://a.example/", `consent={"v":1,"at":"a\b"}; Path=/`, "https://a.example/", `consent={"v":1,"at":"a\b"}`},
		{"letters", "https://a.example/", "näme=größe", "https://a.example/", "näme=größe"},
		{"letters in no known encoding", "https://a.example/", "x=gr\xf6\xdfe", "https://a.example/", ""},
		{"a name that is no token", "https://a.example/", "user[id] = 7 , 8", "https://a.example/", "user[id]=7 , 8"},
		{"no name", "https://a.example/", "1; Path=/", "https://a.example/", "1"},
		{"no name, and a prefix", "https://a.example/", "=__Host-x=1; Secure; Path=/", "https://a.example/", ""},
		{"neither", "https://a.example/", " = ; Path=/", "https://a.example/", ""},
		{"a control character", "https://a.example/", "x=1; y=\x01", "https://a.example/", ""},
		{"attributes twice", "https://a.example/", "x=1; path=/d; PATH = /e ; Path=/" + strings.Repeat("f", 2000), "https://a.example/e", "x=1"},
		{"seconds that are none", "https://a.example/", "x=1; Max-Age=+0; Max-Age=; Max-Age=-; Max-Age=1s", "https://a.example/", "x=1"},
		{"many seconds", "https://a.example/", "x=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=99999999999999999999", "https://a.example/", "x=1"},
		{"many seconds ago", "https://a.example/", "x=1; Max-Age=-99999999999999999999", "https://a.example/", ""},
		{"a date that is none", "https://a.example/", "x=1; Expires=Sun, 31 Feb 2026 11:00:00 GMT; Expires=0; Expires=Sun, 01 Mar 2026 24:00:00", "https://a.example/", "x=1"},
		{"a year of two digits", "https://a.example/", "x=1; Expires=Thu, 01-Jan-70 00:00:01 GMT", "https://a.example/", ""},
		{"one to come", "https://a.example/", "x=1; Expires=Sun, 01-Mar-27 00:00:01 GMT", "https://a.example/", "x=1"},
		{"a day of one digit", "https://a.example/", "x=1; Expires=Sun, 1 Mar 2026 11:00:00 GMT", "https://a.example/", ""},
		{"RFC 850", "https://a.example/", "x=1; Expires=Sunday, 01-Mar-26 11:00:00 GMT", "https://a.example/", ""},
		{"asctime", "https://a.example/", "x=1; Expires=Sun Mar  1 11:00:00 2026", "https://a.example/", ""},
		{"rubbish", "https://a.example/", "\x00; =;;", "https://a.example/", ""},
	} {
		j := New(newStill())
		answered(t, j, c.from, c.set)
		if got := j.Header(address(t, c.to)); got != c.sent {
			t.Errorf("%s: %s sets %q; %s is sent %q, want %q", c.name, c.from, c.set, c.to, got, c.sent)
		}
	}
}

// Cookies are replaced, deleted and forgotten in time; http replaces none of https, and a
// script none that it cannot see.
func TestCookiesLive(t *testing.T) {
	clock := newStill()
	j := New(clock)
	const at, plain = "https://a.example/d/", "http://a.example/d/"
	is := func(where, want string) {
		t.Helper()
		if got := j.Header(address(t, where)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	answered(t, j, at, "a=1; Path=/", "b=2; Path=/d/; HttpOnly", "c=3; Path=/; Secure; Max-Age=60")
	is(at, "b=2; a=1; c=3")
	answered(t, j, at, "a=9; Path=/")
	is(at, "b=2; a=9; c=3")
	answered(t, j, plain, "c=4; Path=/", "c=4; Path=/d/")
	is(plain, "b=2; a=9")
	page := address(t, at)
	seen := j.Scripted(page)
	if len(seen) != 2 {
		t.Errorf("scripts see %v", seen)
	}
	// The script deletes a, sets d, and tries to set b and what is another site's.
	j.SetScripted(page, seen, []Cookie{seen[1], {Name: "d", Value: "5", Domain: "a.example", Path: "/"},
		{Name: "b", Value: "6", Domain: "a.example", Path: "/"}, {Name: "e", Value: "7", Domain: "b.example", Below: true, Path: "/"}})
	is(at, "b=2; c=3; d=5")
	is("https://b.example/", "")
	clock.now = clock.now.Add(time.Minute)
	is(at, "b=2; d=5")
	answered(t, j, at, "b=; Path=/d/; Max-Age=0")
	is(at, "d=5")
}

// A site that sets cookies without end pushes out its own alone, and a request stays small.
func TestCookieFlood(t *testing.T) {
	j := New(newStill())
	answered(t, j, "https://good.example/", "login=kept")
	for i := range 300 {
		var lines []string
		for n := range 300 {
			lines = append(lines, fmt.Sprintf("f%d-%d=%s; Domain=flood.example", i, n, strings.Repeat("x", 1+(i*n)%4000)))
		}
		answered(t, j, fmt.Sprintf("https://h%d.flood.example/", i), lines...)
	}
	if s := j.sites["flood.example"]; len(s.cookies) > maxSite || s.bytes > maxSiteBytes || len(s.cookies) == 0 {
		t.Errorf("%d cookies of %d bytes", len(s.cookies), s.bytes)
	}
	if n := len(j.Header(address(t, "https://www.flood.example/"))); n > maxSiteBytes+4*maxSite {
		t.Errorf("a request carries %d bytes", n)
	}
	if got := j.Header(address(t, "https://good.example/")); got != "login=kept" {
		t.Errorf("good.example is sent %q", got)
	}
	for i := range maxSites + 100 {
		answered(t, j, fmt.Sprintf("https://crowd%d.example/", i), "a="+strings.Repeat("x", 4000))
	}
	if len(j.sites) > maxSites || j.bytes > maxBytes {
		t.Errorf("%d sites, %d bytes", len(j.sites), j.bytes)
	}
	bytes := 0
	for _, s := range j.sites {
		for _, c := range s.cookies {
			bytes += c.size()
		}
	}
	if bytes != j.bytes {
		t.Errorf("%d bytes are counted as %d", bytes, j.bytes)
	}
}

// What a person gave stays, whatever its site and others set, also once it was written and
// read; its site may replace and delete it.
func TestGivenStays(t *testing.T) {
	clock := newStill()
	j := New(clock)
	const at = "https://www.a.example/"
	for _, name := range []string{"login", "second"} {
		if err := j.Add(Cookie{Name: name, Value: "given", Domain: "a.example", Below: true, Path: "/", Secure: true}); err != nil {
			t.Fatal(err)
		}
	}
	flood := func(j *Jar) {
		for i := range 2 * maxSite {
			answered(t, j, at, fmt.Sprintf("f%d=%s", i, strings.Repeat("x", 1+40*i)))
		}
		for i := range maxSites + 10 {
			answered(t, j, fmt.Sprintf("https://crowd%d.example/", i), "a="+strings.Repeat("x", 2000))
		}
	}
	is := func(j *Jar, want string) {
		t.Helper()
		if got := j.Header(address(t, "https://a.example/")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	flood(j)
	is(j, "login=given; second=given")
	answered(t, j, at, "login=rotated; Domain=a.example; Secure")
	j.file = filepath.Join(t.TempDir(), "cookies.txt")
	j.saveNow(true)
	k := New(clock)
	k.file = j.file
	if err := k.read(); err != nil {
		t.Fatal(err)
	}
	k.file = ""
	flood(k)
	is(k, "login=rotated; second=given")
	answered(t, k, at, "login=; Domain=a.example; Secure; Max-Age=0")
	is(k, "second=given")
	if err := k.Add(Cookie{Name: "third", Value: "given", Domain: "a.example", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	is(k, "second=given; third=given")

	// A site that was given all that it may have keeps that, and so does a jar.
	full := New(clock)
	for i := range maxSite {
		if err := full.Add(Cookie{Name: fmt.Sprint("g", i), Domain: "a.example", Path: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	answered(t, full, "https://a.example/", "more=1")
	if got := full.Header(address(t, "https://a.example/")); strings.Count(got, "g") != maxSite || strings.Contains(got, "more") {
		t.Errorf("a site that is full is sent %s", got)
	}
	for i := range maxSites + 1 {
		if err := full.Add(Cookie{Name: "g", Value: strings.Repeat("x", 2000), Domain: fmt.Sprintf("crowd%d.example", i), Path: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	sites := len(full.sites)
	answered(t, full, fmt.Sprintf("https://crowd%d.example/", maxSites), "more="+strings.Repeat("y", 4000))
	answered(t, full, "https://new.example/", "more="+strings.Repeat("y", 4000))
	if len(full.sites) != sites || full.bytes > maxBytes {
		t.Errorf("%d of %d sites stay, of %d bytes", len(full.sites), sites, full.bytes)
	}
}

// The tokens of a site are those of its cookies and of those that a response sets, on whatever path;
// words and addresses that are cookies too are none.
func TestAnsweredTokens(t *testing.T) {
	const token = "0123456789abcdef0123"
	j := New(newStill())
	answered(t, j, "https://a.example/", "id="+token, "lang=en", "last=introduction-to-beekeeping", "deep="+token+"aa; Path=/deep")
	h := http.Header{"Set-Cookie": {"id=" + token + "ff", `quoted="` + token + `ee"`, "gone=" + token + "; Max-Age=0"}, "X-Id": {"a"}}
	got := j.Answered(address(t, "https://a.example/"), h)
	if want := []string{token, token + "aa", token + "ff", token + "ee"}; !slices.Equal(got, want) || h["Set-Cookie"] != nil || h["X-Id"] == nil {
		t.Errorf("%q, want %q; the header is %v", got, want, h)
	}
	for value, want := range map[string]bool{
		"8f3c77b1": false, "best-of-2024-beekeeping": false, "Datenschutzerklaerung": false, "%2Fguide%2Fhives%2Findex.html": false,
		"rfc9110-http-semantics-2022b1": false, "python3-lib2to3-guide": false, "2026-11-29-mp3-to-mp4": false, "k3x9-a8s2-p0w7-zz": true,
		"1234567890123456": true, "123e4567-e89b-12d3-a456-426614174000": true, "kJhGfDsAqWeRtYuIoP": true,
		"s%3Aj7kq0pVx.2yG": true, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl": true,
	} {
		if isToken(value) != want {
			t.Errorf("%s is a token: %t, want %t", value, !want, want)
		}
	}
}

// A full jar is read back as it was written.
func TestFullFile(t *testing.T) {
	clock := newStill()
	j := New(clock)
	path := strings.Repeat("p", maxAttribute-1)
	for i := 0; i < 3000; i++ {
		at := fmt.Sprintf("https://full%d.example/", i)
		answered(t, j, at, "a="+strings.Repeat("x", 1000)+"; Domain="+at[8:len(at)-1]+"; Secure; HttpOnly; Path=/"+path,
			"b=; Path=/"+path, "c=; Path=/"+path, "d=; Path=/"+path+"p")
	}
	if j.bytes < maxBytes*99/100 {
		t.Errorf("the jar has %d bytes only", j.bytes)
	}
	j.file = filepath.Join(t.TempDir(), "cookies.txt")
	j.saveNow(true)
	k := New(clock)
	k.file = j.file
	if err := k.read(); err != nil {
		t.Fatal(err)
	}
	want := j.text(clock.now)
	if len(want) > maxBytes+len(preamble+ofSites) || string(k.text(clock.now)) != string(want) {
		t.Errorf("%d bytes were written for %d in memory; %d are there again", len(want), j.bytes, k.bytes)
	}
	if j.Header(address(t, "https://full2999.example/")) != "d=" {
		t.Error("a path that is too long is heeded")
	}
}

// A jar is on disk what it is in memory, for its owner alone, and for one process.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cookies.txt")
	clock := newStill()
	j, err := Open(name, clock)
	if err != nil {
		t.Fatal(err)
	}
	answered(t, j, "https://a.example/", "a=1; Domain=a.example; Secure; HttpOnly; Max-Age=3600", "b=2")
	answered(t, j, "http://127.0.0.1:8080/", "c=")
	if _, err := os.Stat(name); err == nil {
		t.Error("saved at once")
	}
	clock.now = clock.now.Add(saveEvery)
	answered(t, j, "http://b.example/x", `d="4 5"; Path=/x`)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := preamble + ofSites + "127.0.0.1\tFALSE\t/\tFALSE\t0\tc\t\n" +
		"#HttpOnly_.a.example\tTRUE\t/\tTRUE\t1772370000\ta\t1\na.example\tFALSE\t/\tFALSE\t0\tb\t2\n" +
		"b.example\tFALSE\t/x\tFALSE\t0\td\t\"4 5\"\n"
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if runtime.GOOS != "windows" {
		if _, err := Open(name, clock); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("a second one opens it: %v", err)
		}
		if info, err := os.Stat(name + ".lock"); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("its lock is of the mode %v, %v", info.Mode(), err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name + ".lock"); runtime.GOOS != "windows" && err == nil {
		t.Error("the lock is left behind")
	}
	again, err := Open(name, clock)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := string(again.text(clock.now)); got != want {
		t.Errorf("read again:\n%s", got)
	}
}

// What is wrong with a file is told without what stands in it.
func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ text, say string }{
		{"a.example\tFALSE\t/\tFALSE\t0\tid\tsecret\n# says nothing\n\nid=secret\n", "line 4: these are not seven fields"},
		{"a.example\tFALSE\t/\tFALSE\tsecret\tid\t1\n", "line 1: the fifth field"},
		{".co.uk\tTRUE\t/\tFALSE\t0\tid\tsecret\n", "line 1: it is for all hosts of a public suffix"},
		{"\tTRUE\t/\tFALSE\t0\tid\tsecret\n", "line 1: it is for no host"},
		{"a.example\tTRUE\t/\tFALSE\t0\tid\tsecret;x\n", "line 1: it has characters"},
	} {
		name := filepath.Join(t.TempDir(), "cookies.txt")
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(name, newStill()); err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", c.text, err, c.say)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	name := filepath.Join(t.TempDir(), "cookies.txt")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name, newStill()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

// Whatever a server sets, what is sent fits into a line of a head, stays within the bounds,
// and is the same once the jar was written and read.
func FuzzAnswered(f *testing.F) {
	f.Add("x=1; Domain=a.example; Path=/d", "https://b.a.example/d/e", "https://a.example/d/")
	f.Add("__Host-x=\"1\"; Secure; Path=/", "https://a.example/", "https://a.example/")
	f.Fuzz(func(t *testing.T, line, from, to string) {
		u, err1 := web.Parse(from)
		v, err2 := web.Parse(to)
		if err1 != nil || err2 != nil {
			return
		}
		clock := newStill()
		j := New(clock)
		used := allocated.By(func() { j.Answered(u, http.Header{"Set-Cookie": {line}}) })
		if most := uint64(1<<20 + 200*(len(line)+len(from))); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(line))
		}
		got := j.Header(v)
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(got) > maxCookie+1 {
			t.Fatalf("%q is sent", got)
		}
		if got != "" && u.Host().Domain() != v.Host().Domain() {
			t.Fatalf("%s is sent what %s set", v, u)
		}
		k := New(clock)
		for row := range strings.Lines(string(j.text(clock.now))) {
			if c, ok, err := parseLine(strings.TrimSuffix(row, "\n")); err != nil {
				t.Fatal(err)
			} else if ok {
				if err := k.Add(c); err != nil {
					t.Fatalf("%q: %v", row, err)
				}
			}
		}
		if again := k.Header(v); again != got {
			t.Fatalf("%q, after it was written %q", got, again)
		}
	})
}

// Whatever a script sets, what is written is read back as it is.
func FuzzScripted(f *testing.F) {
	f.Add("x", "1", "a.example", "/d", true, "https://b.a.example/d/e")
	f.Add("x", "a\tb", "a.example", "/", false, "https://a.example/")
	f.Add("n", "caf\u00e9", "a.example", "/", false, "https://a.example/")
	f.Add("n\u00e4me", "1\n", "a.example", "/\t", false, "https://a.example/")
	f.Add("", "a=b; c", "127.0.0.1", "", true, "http://127.0.0.1:8080/")
	f.Fuzz(func(t *testing.T, name, value, domain, path string, below bool, page string) {
		u, err := web.Parse(page)
		if err != nil {
			return
		}
		clock := newStill()
		j, k := New(clock), New(clock)
		left := []Cookie{{Name: name, Value: value, Domain: domain, Path: path, Below: below, Expires: clock.now.Add(time.Hour)}}
		used := allocated.By(func() { j.SetScripted(u, nil, left) })
		if n := len(name) + len(value) + len(domain) + len(path) + len(page); used > uint64(1<<20+200*n) {
			t.Errorf("%d bytes allocated for %d", used, n)
		}
		j.file, k.file = filepath.Join(t.TempDir(), "cookies.txt"), ""
		j.saveNow(true)
		if j.failed != nil {
			t.Fatal(j.failed)
		}
		if len(j.sites) == 0 {
			return
		}
		k.file = j.file
		if err := k.read(); err != nil {
			t.Fatalf("%q=%q; Path=%q of %s: %v", name, value, path, u, err)
		}
		if got, want := string(k.text(clock.now)), string(j.text(clock.now)); got != want {
			t.Fatalf("%q, after it was written %q", want, got)
		}
	})
}

// A cookie that is to last longer than a file can say is kept for as long as any.
func TestAddExpires(t *testing.T) {
	clock := newStill()
	j := New(clock)
	if err := j.Add(Cookie{Name: "x", Domain: "a.example", Path: "/", Expires: time.Unix(1e13, 0)}); err != nil {
		t.Fatal(err)
	}
	if got := j.Scripted(address(t, "https://a.example/")); len(got) != 1 || !got[0].Expires.Equal(clock.now.Add(maxAge)) {
		t.Error(got)
	}
}
