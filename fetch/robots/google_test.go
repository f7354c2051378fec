package robots

import (
	"strings"
	"testing"
)

// The cases that Google publishes with its parser (github.com/google/robotstxt,
// robots_test.cc of 2019), each file once, by our own table. A path behind "otherwise" has
// the other outcome there; why says for what reason.
func TestCasesOfGoogle(t *testing.T) {
	const (
		foo = "user-agent: FooBot | "
		no  = foo + "disallow: / | "
	)
	groups := "allow: /foo/bar/ |  | user-agent: FooBot | disallow: / | allow: /x/ | user-agent: BarBot | disallow: / | allow: /y/ |  |  | " +
		"allow: /w/ | user-agent: BazBot |  | user-agent: FooBot | allow: /z/ | disallow: /"
	long := "/x/" + strings.Repeat("a", 2083*8-3-len("disallow: ")+1)
	for _, c := range []struct {
		name, file, agent string
		allow, block      string
		otherwise, why    string // allowed here and not there, or the reverse, as the lists say
	}{
		{"system test", foo + "disallow: /", "FooBot", "", "/", "", ""},
		{"system test, no rules", "", "FooBot", "/", "", "", ""},
		{"system test, no agent", foo + "disallow: /", "", "/", "", "", ""},
		{"line syntax", foo + "disallow: /", "FooBot", "", "/x/y", "", ""},
		{"line syntax, unknown names", "foo: FooBot | bar: /", "FooBot", "/x/y", "", "", ""},
		{"line syntax, no colons", "user-agent FooBot | disallow /", "FooBot", "", "/x/y", "", ""},
		{"groups", groups, "FooBot", "/x/b /z/d", "/y/c /foo/bar/", "", ""},
		{"groups", groups, "BarBot", "/y/c /w/a", "/z/d /foo/bar/", "", ""},
		{"groups", groups, "BazBot", "/z/d", "/foo/bar/", "", ""},
		{"names in upper case", "USER-AGENT: FooBot | ALLOW: /x/ | DISALLOW: /", "FooBot", "/x/y", "/a/b", "", ""},
		{"names in mixed case", "uSeR-aGeNt: FooBot | AlLoW: /x/ | dIsAlLoW: /", "FooBot", "/x/y", "/a/b", "", ""},
		{"agents in upper case", "User-Agent: FOO BAR | Allow: /x/ | Disallow: /", "foo", "/x/y", "/a/b", "", ""},
		{"agents in lower case", "User-Agent: foo bar | Allow: /x/ | Disallow: /", "Foo", "/x/y", "/a/b", "", ""},
		{"an agent up to a space", "User-Agent: * | Disallow: / | User-Agent: Foo Bar | Allow: /x/ | Disallow: /", "Foo", "/x/y", "", "", ""},
		{"an agent with a space", "User-Agent: * | Disallow: / | User-Agent: Foo Bar | Allow: /x/ | Disallow: /", "Foo Bar", "/x/y", "", "/x/y",
			"the words behind a product token, also in what is asked about, are no part of it"},
		{"all crawlers", "user-agent: * | allow: / | user-agent: FooBot | disallow: /", "FooBot", "", "/x/y", "", ""},
		{"all others", "user-agent: * | allow: / | user-agent: FooBot | disallow: /", "BarBot", "/x/y", "", "", ""},
		{"only named ones", foo + "allow: / | user-agent: BarBot | disallow: / | user-agent: BazBot | disallow: /", "QuxBot", "/x/y", "", "", ""},
		{"case of paths", foo + "disallow: /x/", "FooBot", "", "/x/y", "", ""},
		{"case of paths", foo + "disallow: /X/", "FooBot", "/x/y", "", "", ""},
		{"longest", foo + "disallow: /x/page.html | allow: /x/", "FooBot", "", "/x/page.html", "", ""},
		{"longest", foo + "allow: /x/page.html | disallow: /x/", "FooBot", "/x/page.html", "/x/", "", ""},
		{"longest, both empty", foo + "disallow:  | allow: ", "FooBot", "/x/page.html", "", "", ""},
		{"longest, both all", foo + "disallow: / | allow: /", "FooBot", "/x/page.html", "", "", ""},
		{"longest, by a slash", foo + "disallow: /x | allow: /x/", "FooBot", "/x/", "/x", "", ""},
		{"longest, alike", foo + "disallow: /x/page.html | allow: /x/page.html", "FooBot", "/x/page.html", "", "", ""},
		{"longest, by a star", foo + "allow: /page | disallow: /*.html", "FooBot", "/page", "/page.html", "", ""},
		{"longest, against a star", foo + "allow: /x/page. | disallow: /*.html", "FooBot", "/x/page.html", "/x/y.html", "", ""},
		{"the group of one's own", "User-agent: * | Disallow: /x/ | User-agent: FooBot | Disallow: /y/", "FooBot", "/x/page", "/y/page", "", ""},
		{"escapes, none", no + "Allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par", "FooBot", "/foo/bar?qux=taz&baz=http://foo.bar?tar&par", "", "", ""},
		{"escapes, bare in the rule", no + "Allow: /foo/bar/ツ", "FooBot", "/foo/bar/%E3%83%84 /foo/bar/ツ", "", "/foo/bar/ツ",
			"RFC 9309, 2.2.2, has both escaped before they are compared, and Google leaves the path to the caller"},
		{"escapes, in the rule", no + "Allow: /foo/bar/%E3%83%84", "FooBot", "/foo/bar/%E3%83%84 /foo/bar/ツ", "", "/foo/bar/ツ", "the same"},
		{"escapes that need not be", no + "Allow: /foo/bar/%62%61%7A", "FooBot", "/foo/bar/%62%61%7A /foo/bar/baz", "", "/foo/bar/baz",
			"RFC 9309, 2.2.2, has escapes of characters that need none undone"},
		{"a star", foo + "Disallow: /foo/bar/quz | Allow: /foo/*/qux", "FooBot", "/foo/quz /foo//quz /foo/bax/quz", "/foo/bar/quz", "", ""},
		{"the end", foo + "Disallow: /foo/bar$ | Allow: /foo/bar/qux", "FooBot", "/foo/bar/qux /foo/bar/ /foo/bar/baz", "/foo/bar", "", ""},
		{"comments", foo + "# Disallow: / | Disallow: /foo/quz#qux | Allow: /", "FooBot", "/foo/bar", "/foo/quz", "", ""},
		{"index.html", "User-Agent: * | Allow: /allowed-slash/index.html | Disallow: /", "foobot", "/allowed-slash/index.html",
			"/allowed-slash/ /allowed-slash/index.htm /anyother-url", "/allowed-slash/", "RFC 9309 knows no such file, and another server means another page by it"},
		{"a long line", foo + "disallow: " + long + "/qux", "FooBot", "/fux " + long + "/fux", "", long + "/fux",
			"a rule is never cut, which would make another of it: only a file is, after 500 KiB"},
		{"long lines", no + "allow: " + long + "/qux", "FooBot", long + "/qux", "/ " + long + "/fux", long + "/fux", "the same"},
		{"fish", no + "allow: /fish", "FooBot", "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything", "/bar /Fish.asp /catfish /?id=fish", "", ""},
		{"fish*", no + "allow: /fish*", "FooBot", "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything", "/bar /Fish.bar /catfish /?id=fish", "", ""},
		{"fish/", no + "allow: /fish/", "FooBot", "/fish/ /fish/salmon /fish/?salmon /fish/salmon.html /fish/?id=anything", "/bar /fish /fish.html /Fish/Salmon.html", "", ""},
		{"*.php", no + "allow: /*.php", "FooBot", "/filename.php /folder/filename.php /folder/filename.php?parameters //folder/any.php.file.html /filename.php/ /index?f=filename.php/", "/bar /php/ /index?php /windows.PHP", "", ""},
		{"*.php$", no + "allow: /*.php$", "FooBot", "/filename.php /folder/filename.php", "/bar /filename.php?parameters /filename.php/ /filename.php5 /php/ /filename?php /aaaphpaaa //windows.PHP", "", ""},
		{"fish*.php", no + "allow: /fish*.php", "FooBot", "/fish.php /fishheads/catfish.php?parameters", "/bar /Fish.PHP", "", ""},
		{"precedence", foo + "allow: /p | disallow: /", "FooBot", "/page", "", "", ""},
		{"precedence, alike", foo + "allow: /folder | disallow: /folder", "FooBot", "/folder/page", "", "", ""},
		{"precedence, a star", foo + "allow: /page | disallow: /*.htm", "FooBot", "", "/page.htm", "", ""},
		{"precedence, the end", foo + "allow: /$ | disallow: /", "FooBot", "/", "/page.html", "", ""},
		{"LF", "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n", "bar", "", "/x", "", ""},
		{"CRLF", "User-Agent: foo\r\nAllow: /some/path\r\nUser-Agent: bar\r\n\r\n\r\nDisallow: /\r\n", "bar", "", "/x", "", ""},
		{"CR", "User-Agent: foo\rAllow: /some/path\rUser-Agent: bar\r\r\rDisallow: /\r", "bar", "", "/x", "", ""},
		{"mixed", "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /", "bar", "", "/x", "", ""},
		{"a byte order mark", "\xef\xbb\xbfUser-Agent: foo\nDisallow: /any\n", "foo", "", "/any", "", ""},
		{"two bytes of the mark", "\xef\xbbUser-Agent: foo\nDisallow: /any\n", "foo", "", "/any", "", ""},
		{"one byte of the mark", "\xefUser-Agent: foo\nDisallow: /any\n", "foo", "", "/any", "", ""},
		{"a broken mark", "\xef\x11\xbfUser-Agent: foo\nDisallow: /any\n", "foo", "/any", "", "", ""},
		{"a mark within", "User-Agent: foo\n\xef\xbb\xbfDisallow: /any\n", "foo", "/any", "", "", ""},
	} {
		r := Parse(lines(c.file))
		allow, block := strings.Fields(c.allow), strings.Fields(c.block)
		for i, p := range append(allow, block...) {
			if got := r.Allowed(c.agent, p); got != (i < len(allow)) {
				t.Errorf("%s: %.200q, %s, %.80s: allowed %v", c.name, c.file, c.agent, p, got)
			}
		}
		for _, p := range strings.Fields(c.otherwise) {
			if c.why == "" || !strings.Contains(" "+c.allow+" "+c.block+" ", " "+p+" ") {
				t.Errorf("%s: %.80s differs, and is not tested or not explained", c.name, p)
			}
		}
	}
	for _, file := range []string{"User-Agent: foo | Allow: /some/path | User-Agent: bar |  |  | Sitemap: http://foo.bar/sitemap.xml",
		"Sitemap: http://foo.bar/sitemap.xml | User-Agent: foo | Allow: /some/path"} {
		if got := Parse(lines(file)).Sitemaps(); len(got) != 1 || got[0] != "http://foo.bar/sitemap.xml" {
			t.Errorf("%q: sitemaps %q", file, got)
		}
	}
	for in, want := range map[string]string{"http://www.example.com": "http://www.example.com", "/a/b/c": "/a/b/c", "á": "%C3%A1", "%aa": "%AA"} {
		if got := normalise(in, true); got != want {
			t.Errorf("%q: normalised %q, want %q", in, got, want)
		}
	}
}
