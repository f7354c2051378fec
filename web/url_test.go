package web

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		// Shape.
		{"http://example.org", "http://example.org/"},
		{"HTTP://Example.ORG/Path", "http://example.org/Path"},
		{"  \n http://example.org/a\t ", "http://example.org/a"},
		{"ht\ntp://exa\tmple.org/a\nb", "http://example.org/ab"},
		{"http:example.org/a", "http://example.org/a"},
		{"http:///example.org/a", "http://example.org/a"},
		{`http:\\example.org\a\..\b`, "http://example.org/b"},
		// Ports.
		{"http://example.org:80/", "http://example.org/"},
		{"https://example.org:443/", "https://example.org/"},
		{"https://example.org:80/", "https://example.org:80/"},
		{"http://example.org:/", "http://example.org/"},
		{"http://example.org:0080/", "http://example.org/"},
		{"http://example.org:08080/", "http://example.org:8080/"},
		{"http://example.org:8080", "http://example.org:8080/"},
		// Credentials are not sent.
		{"https://user:secret@example.org/", "https://example.org/"},
		{"https://user@example.org:8443/", "https://example.org:8443/"},
		{"http://www.bank.example@evil.example/", "http://evil.example/"},
		// Fragments and empty queries.
		{"http://example.org/a#b", "http://example.org/a"},
		{"http://example.org/a?#b", "http://example.org/a"},
		{"http://example.org/a?", "http://example.org/a"},
		{"http://example.org?q", "http://example.org/?q"},
		{"http://example.org/a #b", "http://example.org/a%20"},
		{"http://bücher.example/a #b", "http://xn--bcher-kva.example/a%20"},
		{"http://example.org#?/a", "http://example.org/"},
		// Dot segments (RFC 3986, 5.2.4), escaped or not; empty ones stay.
		{"http://example.org/a/b/../c/./d", "http://example.org/a/c/d"},
		{"http://example.org/../../a", "http://example.org/a"},
		{"http://example.org/a/..", "http://example.org/"},
		{"http://example.org/a/b/.", "http://example.org/a/b/"},
		{"http://example.org/a/%2e%2E/b/%2e", "http://example.org/b/"},
		{"http://example.org/a//../b", "http://example.org/a/b"},
		{"http://example.org//a//b/", "http://example.org//a//b/"},
		{"http://example.org/...", "http://example.org/..."},
		{"http://example.org/?a/../b", "http://example.org/?a/../b"},
		// Escapes.
		{"http://example.org/%7euser/%41%2f%c3%bc", "http://example.org/~user/A%2F%C3%BC"},
		{"http://example.org/a b|c^d\"e", "http://example.org/a%20b%7Cc%5Ed%22e"},
		{"http://example.org/?a b|c\\d'e", "http://example.org/?a%20b%7Cc%5Cd%27e"},
		{"http://example.org/it's?a[]=1", "http://example.org/it's?a[]=1"},
		{"http://example.org/100%", "http://example.org/100%25"},
		{"http://example.org/%zz?%", "http://example.org/%25zz?%25"},
		{"http://example.org/%%34%31", "http://example.org/%2541"}, // not %41, which is A
		{"http://example.org/%2541", "http://example.org/%2541"},
		{"http://example.org/%00%0a%7f", "http://example.org/%00%0A%7F"},
		{"http://example.org/a\x00b\x7f", "http://example.org/a%00b%7F"},
		{"http://example.org/é?ü=…", "http://example.org/%C3%A9?%C3%BC=%E2%80%A6"},
		{"http://example.org/\xff", "http://example.org/%EF%BF%BD"},
		{`https://jgarcia.ics.uci.edu/%5C%22https:%5C/`, `https://jgarcia.ics.uci.edu/%5C%22https:%5C/`},
		// Hosts.
		{"http://example.org./", "http://example.org/"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://B%C3%BCCHER.example/", "http://xn--bcher-kva.example/"},
		{"http://faß.example/", "http://xn--fa-hia.example/"},
		{"http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"},
		{"http://ex%41mple.org/", "http://example.org/"},
		{"http://my_host.example/", "http://my_host.example/"},
		{"http://localhost:8080/", "http://localhost:8080/"},
		// Numeric hosts.
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://017700000001/", "http://127.0.0.1/"},
		{"http://127.0.0.1./", "http://127.0.0.1/"},
		{"http://１２７.0.0.1/", "http://127.0.0.1/"},
		{"http://[::1]:80/", "http://[::1]/"},
		{"http://[0:0::FFFF:1.2.3.4]:81/", "http://[::ffff:102:304]:81/"},
	} {
		u, err := Parse(c.in)
		if err != nil || u.String() != c.want {
			t.Errorf("Parse(%q)\n got %q, %v\nwant %q", c.in, u, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "/a", "a", "?a", "#a", "//example.org/", "example.org/", "http:", "http://", "http:///", "http://:80/",
		"http://user@/", "http://a b/", "http://a%00b/", "http://a%2fb/", "http://a<b/", "http://a,b/", "http://ex\x7fample/",
		"http://a..b/", "http://.a/", "http://a../", "http://./",
		"http://example.org:65536/", "http://example.org:18446744073709551696/", "http://example.org:8o/", "http://example.org:-1/",
		"http://256.1.1.1/", "http://1.2.3.4.5/", "http://1.2.3.09/", "http://a.1/", "http://1.2.3.-1/", "http://1.%2b2.3.4/", "http://4294967296/",
		"http://[::1/", "http://[::1%25eth0]/", "http://[1:2]/", "http://xn--a/", "http://xn--/", "http://\u00ad/",
		"http://" + strings.Repeat("a", 64) + ".example/",
		"http://" + strings.Repeat("a.", 127) + "example/",
		"http://example.org/" + strings.Repeat("a", 8192),
		"http://example.org/" + strings.Repeat("é", 1400),
		"http://example.org/" + strings.Repeat("./", 20000),
	} {
		if u, err := Parse(in); err == nil || !u.IsZero() {
			t.Errorf("Parse(%.80q) = %.80q, want an error", in, u)
		} else if errors.Is(err, ErrNotWeb) || len(err.Error()) > 2000 {
			t.Errorf("Parse(%.80q): %.300s", in, err)
		}
	}
	for _, in := range []string{
		"mailto:a@example.org", "javascript:void(0)", "JavaScript:alert(1)", " data:text/html," + strings.Repeat("a", 1<<20),
		"ftp://example.org/", "file:///etc/passwd", "tel:+123", "about:blank", "java\nscript:1", "httpx://a/", "a.b:c",
	} {
		if _, err := (Canon{}).Resolve(must(t, "http://example.org/"), in); !errors.Is(err, ErrNotWeb) {
			t.Errorf("Resolve(%.80q): error %v, want ErrNotWeb", in, err)
		}
	}
}

func TestLongest(t *testing.T) {
	longest := "http://example.org/" + strings.Repeat("a", 8192-len("http://example.org/"))
	if u, err := Parse(longest + "#" + strings.Repeat("b", 100000)); err != nil || u.String() != longest {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
	if _, err := Parse(longest + "a"); err == nil {
		t.Errorf("%d bytes: accepted", len(longest)+1)
	}
}

// The references of RFC 3986, 5.4, and others that pages are known to hold.
func TestResolve(t *testing.T) {
	for _, c := range []struct{ base, ref, want string }{
		{"http://a/b/c/d;p?q", "g:h", ""},
		{"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
		{"http://a/b/c/d;p?q", "/g", "http://a/g"},
		{"http://a/b/c/d;p?q", "//g", "http://g/"},
		{"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
		{"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"},
		{"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q"},
		{"http://a/b/c/d;p?q", "g#s", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y"},
		{"http://a/b/c/d;p?q", ";x", "http://a/b/c/;x"},
		{"http://a/b/c/d;p?q", "g;x?y#s", "http://a/b/c/g;x?y"},
		{"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
		{"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
		{"http://a/b/c/d;p?q", "./", "http://a/b/c/"},
		{"http://a/b/c/d;p?q", "..", "http://a/b/"},
		{"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
		{"http://a/b/c/d;p?q", "../..", "http://a/"},
		{"http://a/b/c/d;p?q", "../../../../g", "http://a/g"},
		{"http://a/b/c/d;p?q", "/../g", "http://a/g"},
		{"http://a/b/c/d;p?q", "g.", "http://a/b/c/g."},
		{"http://a/b/c/d;p?q", "..g", "http://a/b/c/..g"},
		{"http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/"},
		{"http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"},
		{"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"},
		{"http://a/b/c/d;p?q", "http:g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "?", "http://a/b/c/d;p"},
		{"http://a/b/c/d;p?q", " g ", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", `..\g`, "http://a/b/g"},
		{"http://a/b/c/d;p?q", `\\g\h`, "http://g/h"},
		{"http://a/b/c/d;p?q", "///g", "http://g/"},
		{"http://a/b/c/d;p?q", "/b:c", "http://a/b:c"},
		{"http://a/b/c/d;p?q", "./b:c", "http://a/b/c/b:c"},
		{"http://a/b/c/d;p?q", "1:c", "http://a/b/c/1:c"},
		{"http://a/b/c/d;p?q", "%2e%2e/g", "http://a/b/g"},
		{"https://a:8443/b", "//g:443", "https://g/"},
		{"https://a:8443/b", "/c", "https://a:8443/c"},
		{"http://a/b//", "../c", "http://a/b/c"},
		{"http://a", "b", "http://a/b"},
		{"http://a/?x=/y/", "b", "http://a/b"},
	} {
		u, err := Canon{}.Resolve(must(t, c.base), c.ref)
		if u.String() != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s + %q\n got %q, %v\nwant %q", c.base, c.ref, u, err, c.want)
		}
	}
}

func TestStrip(t *testing.T) {
	sessions, tracking := Canon{StripSessions: true}, Canon{StripTracking: true}
	for _, c := range []struct {
		canon    Canon
		in, want string
	}{
		{Canon{}, "http://a/b;jsessionid=1?sid=1&utm_source=x", "http://a/b;jsessionid=1?sid=1&utm_source=x"},
		{sessions, "http://a/b;jsessionid=0A1B.node1", "http://a/b"},
		{sessions, "http://a/b;JSESSIONID=0A1B!-12!34?q=1", "http://a/b?q=1"},
		{sessions, "http://a/b;v=1;jsessionid=2;w=3/c;jsessionid=4", "http://a/b;v=1;w=3/c"},
		{sessions, "http://a/b/..;jsessionid=1/c", "http://a/b/..;jsessionid=1/c"},
		{sessions, "http://a/?PHPSESSID=12&q=1", "http://a/?q=1"},
		{sessions, "http://a/?q=1&phpsessid=12", "http://a/?q=1"},
		{sessions, "http://a/?q=1&%50HPSESSID=12&r=2&", "http://a/?q=1&r=2&"},
		{sessions, "http://a/b?PHPSESSID=12", "http://a/b"},
		{sessions, "http://a/?ASPSESSIONIDQQGQGTBC=KNEB&a", "http://a/?a"},
		{sessions, "http://a/?cfid=1&cftoken=2&osCsid=3&a=b", "http://a/?a=b"},
		{sessions, "http://a/?sid=d41d8cd98f00b204e9800998ecf8427e&t=1", "http://a/?t=1"},
		{sessions, "http://a/article.pl?sid=06/12/01", "http://a/article.pl?sid=06/12/01"},
		{sessions, "http://a/?sid=2006/12/01/a-long-title", "http://a/?sid=2006/12/01/a-long-title"},
		{sessions, "http://a/talk?session=12&sid=intro", "http://a/talk?session=12&sid=intro"},
		{sessions, "http://a/?s=d41d8cd98f00b204e9800998ecf8427e", "http://a/"},
		{sessions, "http://a/?s=how+to", "http://a/?s=how+to"},
		{sessions, "http://a/(S(lit3py55t21z5v55vlm25s55))/b.aspx", "http://a/b.aspx"},
		{sessions, "http://a/b/(X(1)A(xy-_)S(z))/", "http://a/b/"},
		{sessions, "http://a/(S(x))", "http://a/"},
		{sessions, "http://a/(S(x));jsessionid=1/b", "http://a/b"},
		{sessions, "http://a/??", "http://a/??"},
		{sessions, "http://a/?&PHPSESSID=1", "http://a/"},
		{sessions, "http://a/wiki/(S)/(S())/f(S(x))", "http://a/wiki/(S)/(S())/f(S(x))"},
		{sessions, "http://a/?utm_source=x", "http://a/?utm_source=x"},
		{tracking, "http://a/?utm_source=x&UTM_Medium=y&a=1&gclid=2&fbclid=3&mc_cid=4&b", "http://a/?a=1&b"},
		{tracking, "http://a/?utm=1&ref=2&utm_x", "http://a/?utm=1&ref=2"},
		{tracking, "http://a/b;jsessionid=1?PHPSESSID=2", "http://a/b;jsessionid=1?PHPSESSID=2"},
		{Canon{true, true}, "http://a/b;jsessionid=1?PHPSESSID=2&utm_id=3", "http://a/b"},
	} {
		if u, err := c.canon.Parse(c.in); err != nil || u.String() != c.want {
			t.Errorf("%+v.Parse(%q)\n got %q, %v\nwant %q", c.canon, c.in, u, err, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	for _, c := range []struct{ in, scheme, host, name, domain, origin, request, path string }{
		{"https://www.cs.example.co.uk/a/b?q=1/2", "https", "www.cs.example.co.uk", "www.cs.example.co.uk", "example.co.uk", "https://www.cs.example.co.uk", "/a/b?q=1/2", "/a/b"},
		{"http://example.org:8080", "http", "example.org:8080", "example.org", "example.org", "http://example.org:8080", "/", "/"},
		{"http://10.0.0.1:81/?a", "http", "10.0.0.1:81", "10.0.0.1", "10.0.0.1", "http://10.0.0.1:81", "/?a", "/"},
		{"http://[2001:db8::1]:81/a", "http", "[2001:db8::1]:81", "[2001:db8::1]", "[2001:db8::1]", "http://[2001:db8::1]:81", "/a", "/a"},
		{"http://localhost/", "http", "localhost", "localhost", "localhost", "http://localhost", "/", "/"},
		{"http://co.uk/", "http", "co.uk", "co.uk", "co.uk", "http://co.uk", "/", "/"},
		{"", "", "", "", "", "", "/", "/"},
	} {
		var u URL
		if err := u.UnmarshalText([]byte(c.in)); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
		h := u.Host()
		got := [...]string{u.Scheme(), string(h), h.Name(), h.Domain(), u.Origin(), u.RequestPath(), u.Path()}
		want := [...]string{c.scheme, c.host, c.name, c.domain, c.origin, c.request, c.path}
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, want)
		}
	}
}

func TestUnmarshalAllocatesOnce(t *testing.T) {
	text := []byte("https://www.example.org/docs/reference/api/index.html?lang=en&page=2")
	var u URL
	if n := testing.AllocsPerRun(100, func() {
		if err := u.UnmarshalText(text); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// A canonical address is what net/http sends: net/url reads it, and writes it
// as it is.
func checkCanonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, u URL) {
	t.Helper()
	s := u.String()
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			t.Fatalf("%q holds byte %#x", s, s[i])
		}
	}
	if len(s) > maxURL || strings.ContainsAny(s, `#\"<>^{|}`+"`") {
		t.Fatalf("%q is not canonical", s)
	}
	if again, err := Parse(s); err != nil || again != u {
		t.Fatalf("%q parses as %q, %v", s, again, err)
	}
	var text URL
	if err := text.UnmarshalText([]byte(s)); err != nil || text != u {
		t.Fatalf("%q unmarshals as %q, %v", s, text, err)
	}
	std, err := url.Parse(s)
	if err != nil || std.String() != s || std.RequestURI() != u.RequestPath() || std.Host != string(u.Host()) || std.User != nil {
		t.Fatalf("net/url reads %q as %q, %v", s, std, err)
	}
	if u.Origin()+u.RequestPath() != s {
		t.Fatalf("%q is not %q and %q", s, u.Origin(), u.RequestPath())
	}
}

// checkPaths compares the plain parser with the complete one.
func checkPaths(t interface {
	Helper()
	Fatalf(string, ...any)
}, base, ref string) {
	t.Helper()
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i+1]
	}
	if s := schemeOf(ref); ref != strings.Trim(ref, " ") || s != "" && s != "http" && s != "https" {
		return
	}
	plain, ok := appendPlain(nil, base, ref)
	if !ok {
		return
	}
	parsed, err := appendParsed(nil, base, ref)
	if err != nil || string(plain) != string(parsed) {
		t.Fatalf("base %q, reference %q:\n plain %q\nparsed %q, %v", base, ref, plain, parsed, err)
	}
}

// reference draws what a page might hold, mostly from the characters that
// mean something in an address.
func reference() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"/", "/", ".", "..", "/../", "/./", "?", "#", "%", "%2e", "%2F", "%41", "%c3%bc", "%25", "%zz", ":", ":80", ":443", ":8080",
			"@", "\\", "//", ";", "&", "=", "'", "|", "^", "[", "]", "(S(a1))", ";jsessionid=1", "sid=0123456789abcdef", "utm_a=1", "PHPSESSID=1",
			"http:", "https:", "http://", "HTTPS://", "a", "b.c", "example.org", "127.0.0.1", "0x7f", "1", "-", "_", "xn--", "xn--bcher-kva",
			"[::1]", "bücher", "é", "。", " ", "\t", "\n", "\x00", "\x7f", "\xff", "\u00ad", "ß", "+",
		}),
		rapid.StringOfN(rapid.RuneFrom([]rune("abcdefXYZ019-_.~")), 0, 6, -1),
		rapid.String(),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 10), func(p []string) string { return strings.Join(p, "") })
}

func TestCanonicalIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		canon := Canon{rapid.Bool().Draw(t, "sessions"), rapid.Bool().Draw(t, "tracking")}
		in := rapid.SampledFrom([]string{"", "http://", "https://example.org/", "http://example.org:81/?"}).Draw(t, "prefix") + reference().Draw(t, "rest")
		u, err := canon.Parse(in)
		if err != nil {
			return
		}
		checkCanonical(t, u)
		if again, err := canon.Parse(u.String()); err != nil || again != u {
			t.Fatalf("%+v: %q → %q → %q, %v", canon, in, u, again, err)
		}
		ref := reference().Draw(t, "reference")
		if v, err := canon.Resolve(u, ref); err == nil {
			checkCanonical(t, v)
		}
		checkPaths(t, "", in)
		checkPaths(t, u.s, ref)
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"http://example.org/a/../b?c#d", "HTTP://u:p@EX.org:80//%7e%2F%zz", "http://0x7f.1/", "http://[::1]/", "http://bücher.example/",
		"http://a/(S(x))/b;jsessionid=1?sid=0123456789abcdef&utm_a", "http:\\\\a\\b", "https://1.2.3.-1/", "http://xn--zckzah/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkPaths(t, "", s)
		for _, canon := range []Canon{{}, {true, true}} {
			if u, err := canon.Parse(s); err == nil {
				checkCanonical(t, u)
				if again, err := canon.Parse(u.String()); err != nil || again != u {
					t.Fatalf("%+v: %q → %q → %q, %v", canon, s, u, again, err)
				}
				u.Host().Domain()
			}
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("http://a/b/c/d;p?q", "../g?y#s")
	f.Add("https://a:8443/b//", "//g:443/./..")
	f.Add("http://[::1]/x?y", "?%zz'")
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := Parse(base)
		if err != nil {
			return
		}
		checkPaths(t, b.s, ref)
		for _, canon := range []Canon{{}, {true, true}} {
			if u, err := canon.Resolve(b, ref); err == nil {
				checkCanonical(t, u)
			}
		}
	})
}

func must(t testing.TB, s string) URL {
	t.Helper()
	u, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The benchmarks compare with the parser alone, which keeps credentials, dots
// and the case of escapes.
func BenchmarkParse(b *testing.B) {
	for name, s := range map[string]string{
		"plain":   "https://www.example.org/docs/reference/api/index.html?lang=en&page=2#top",
		"escapes": "http://Example.org:80/a%2fb/%7euser/../My File.html?q=caf%c3%a9",
		"idn":     "http://bücher.example/ü?q=1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(s); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/whatwg", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u, err := whatwg.Parse(s)
				if err != nil || u.Href(true) == "" {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	base, ref := must(b, "https://www.example.org/docs/reference/api/index.html"), "../guide/part%202.html?x=1&utm_source=a#top"
	for name, canon := range map[string]Canon{"": {}, "strip": {true, true}} {
		b.Run("relative"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canon.Resolve(base, ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("relative/whatwg", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			u, err := whatwg.ParseRef(base.s, ref)
			if err != nil || u.Href(true) == "" {
				b.Fatal(err)
			}
		}
	})
	b.Run("mailto", func(b *testing.B) {
		for b.Loop() {
			if _, err := (Canon{}).Resolve(base, "mailto:someone@example.org"); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}

func BenchmarkUnmarshalText(b *testing.B) {
	text := []byte("https://www.example.org/docs/reference/api/index.html?lang=en&page=2")
	b.ReportAllocs()
	for b.Loop() {
		var u URL
		if err := u.UnmarshalText(text); err != nil {
			b.Fatal(err)
		}
	}
}
