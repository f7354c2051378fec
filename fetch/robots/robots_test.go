package robots

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// lines writes a robots.txt from lines apart by " | ".
func lines(s string) []byte { return []byte(strings.ReplaceAll(s, " | ", "\n") + "\n") }

func TestAllowed(t *testing.T) {
	const all = "User-agent: * | "
	for _, c := range []struct {
		rule         string // what the case is about
		file         string
		agent        string
		allow, block string // paths, apart by spaces
	}{
		// Groups (RFC 9309, 2.2.1).
		{"no rules at all", "", "waggle", "/ /a", ""},
		{"the group that names the crawler", "User-agent: waggle | Disallow: /a", "waggle", "/b", "/a /a/b"},
		{"the group of all crawlers", all + "Disallow: /a", "waggle", "/b", "/a"},
		{"a named group hides that of all", all + "Disallow: / | User-agent: waggle | Disallow: /b", "waggle", "/ /a", "/b"},
		{"the order of groups is nothing", "User-agent: waggle | Disallow: /b | User-agent: * | Disallow: /", "waggle", "/ /a", "/b"},
		{"an empty named group hides that of all", "User-agent: * | Disallow: / | User-agent: waggle", "waggle", "/a", ""},
		{"no group for the crawler", "User-agent: other | Disallow: /", "waggle", "/ /a", ""},
		{"names in any case", "USER-AGENT: WagGle | DISALLOW: /a", "wAggle", "/b", "/a"},
		{"groups of one name are one", "User-agent: waggle | Disallow: /a | User-agent: other | Disallow: /b | User-agent: Waggle | Disallow: /c", "waggle", "/b", "/a /c"},
		{"groups of all crawlers are one", all + "Disallow: /a | User-agent: x | Disallow: /b | User-agent: * | Disallow: /c", "waggle", "/b", "/a /c"},
		{"one group, several names", "User-agent: x | User-agent: waggle | User-agent: y | Disallow: /a", "waggle", "/b", "/a"},
		{"a name twice in a group", "User-agent: waggle | User-agent: waggle | Disallow: /a", "waggle", "/b", "/a"},
		{"a prefix is no name", "User-agent: wag | Disallow: /", "waggle", "/a", ""},
		{"a longer name is another", "User-agent: waggle-news | User-agent: waggles | User-agent: waggle2 | Disallow: /", "waggle", "/a", ""},
		{"a hyphen is part of a name", "User-agent: waggle | Disallow: /", "waggle-news", "/a", ""},
		{"a version after the name", "User-agent: waggle/1.2 | Disallow: /a", "waggle", "/b", "/a"},
		{"words after the name", "User-agent: Waggle the crawler | Disallow: /a", "waggle", "/b", "/a"},
		{"a whole User-Agent header as agent", "User-agent: waggle | Disallow: /a", "waggle/1.0 (+https://example.org)", "/b", "/a"},
		{"digits and dots in names", "User-agent: archive.org_bot | Disallow: /a | User-agent: MJ12bot | Disallow: /b", "MJ12bot", "/a", "/b"},
		{"a star begins no other name", "User-agent: *waggle | Disallow: /", "waggle", "/a", ""},
		{"words after the star", "User-agent: * all of you | Disallow: /a", "waggle", "/b", "/a"},
		{"a name that is missing", "User-agent: | Disallow: /", "waggle", "/a", ""},
		{"no crawler's name", "User-agent: waggle | Disallow: / | User-agent: * | Disallow: /b", "", "/a", "/b"},
		{"rules before any name", "Disallow: /a | User-agent: * | Disallow: /b", "waggle", "/a", "/b"},
		{"an empty line ends nothing", "User-agent: waggle |  | Disallow: /a |  | Disallow: /b", "waggle", "/c", "/a /b"},
		{"Crawl-delay does not end a run of names", "User-agent: waggle | Crawl-delay: 5 | User-agent: other | Disallow: /a", "waggle", "/b", "/a"},
		{"nor does Sitemap, nor an unknown line", "User-agent: waggle | Sitemap: http://a/ | Noindex: /x | User-agent: other | Disallow: /a", "waggle", "/x", "/a"},
		{"an empty Disallow ends it", "User-agent: waggle | Disallow: | User-agent: other | Disallow: /a", "waggle", "/a", ""},

		// Rules (RFC 9309, 2.2.2).
		{"a path matches from its start", all + "Disallow: /fish", "waggle", "/ /Fish /catfish /a/fish /fis", "/fish /fish.html /fish/salmon /fishheads /fish?id=1"},
		{"a final slash", all + "Disallow: /fish/", "waggle", "/fish /fish.html", "/fish/ /fish/?id=1 /fish/salmon"},
		{"an empty Disallow allows all", all + "Disallow:", "waggle", "/ /a", ""},
		{"an empty Allow is nothing", all + "Allow: | Disallow: /", "waggle", "", "/ /a"},
		{"the longest match wins", all + "Allow: /example/page/ | Disallow: /example/page/disallowed.gif", "waggle", "/example/page/ /example/page/a", "/example/page/disallowed.gif"},
		{"whatever the order", all + "Disallow: /a | Allow: /a/b | Disallow: /a/b/c", "waggle", "/a/b /a/b/d", "/a /a/c /a/b/c"},
		{"Allow wins at equal length", all + "Disallow: /page | Allow: /page", "waggle", "/page /page/a", ""},
		{"also across groups", all + "Allow: /page | User-agent: x | Allow: / | User-agent: * | Disallow: /page", "waggle", "/page", ""},
		{"in either order", all + "Disallow: /page | User-agent: x | Allow: / | User-agent: * | Allow: /page", "waggle", "/page", ""},
		{"longest across groups", all + "Allow: /page | User-agent: x | Allow: / | User-agent: * | Disallow: /page/a", "waggle", "/page/b", "/page/a"},
		{"Allow wins at equal length, with stars", all + "Disallow: /fold* | Allow: /folde", "waggle", "/folder", "/fold"},
		{"a star counts for the length", all + "Allow: /page | Disallow: /*.htm", "waggle", "/page", "/page.htm /a.html"},
		{"the end counts for the length", all + "Disallow: / | Allow: /$", "waggle", "/", "/a /a/"},
		{"robots.txt is always allowed", all + "Disallow: / | Disallow: /robots.txt$", "waggle", "/robots.txt /robots.txt?a", "/robots.txt.old /robots /a/robots.txt"},
		{"no path is the root", all + "Disallow: /$", "waggle", "/a", ""},

		// Special characters (RFC 9309, 2.2.3).
		{"a star", all + "Disallow: /*.php", "waggle", "/ /windows.PHP /php", "/index.php /a/b.php?c /a.phpx /.php"},
		{"the end", all + "Disallow: /*.php$", "waggle", "/a.php?b /a.php/ /a.php5", "/a.php /b/c.php /a.php.php"},
		{"a final star is nothing", all + "Disallow: /fish*", "waggle", "/catfish /Fish", "/fish /fish.html"},
		{"a star within", all + "Disallow: /fish*.php", "waggle", "/Fish.php /fish.asp", "/fish.php /fishheads/catfish.php?a"},
		{"several stars", all + "Disallow: /a*b*c$", "waggle", "/abcd /acb /ab", "/abc /axbxc /abcbc /aabbcc"},
		{"stars in a row", all + "Disallow: /a***b", "waggle", "/a", "/ab /axb"},
		{"a star before the end", all + "Disallow: /a*$", "waggle", "/b", "/a /abc"},
		{"a star first", all + "Disallow: *.gif", "waggle", "/a", "/a.gif /.gif"},
		{"pieces do not overlap", all + "Disallow: /ab*ba$", "waggle", "/aba", "/abba /abxba"},
		{"a dollar within is itself", all + "Disallow: /a$b", "waggle", "/a /ab", "/a$b /a%24b /a$bc"},
		{"an escaped star and dollar", all + "Disallow: /a%2a | Disallow: /b%24", "waggle", "/ab /a /b", "/a* /a%2Ab /b$ /b%24c"},
		{"a question mark", all + "Disallow: /*?", "waggle", "/a", "/a? /a?b"},
		{"a query", all + "Disallow: /*?*sid=", "waggle", "/sid=1 /a?b", "/a?sid=1 /a?b&sid=1"},
		{"a comment cuts a pattern", all + "Disallow: /a#b", "waggle", "/", "/a /ac"},
		{"a pattern without a slash", all + "Disallow: fish | Disallow: http://example.org/a", "waggle", "/fish /a", ""},

		// Escapes (RFC 9309, 2.2.2, the table).
		{"a plain query", all + "Disallow: /foo/bar?baz=quz", "waggle", "/foo/bar?baz=qu", "/foo/bar?baz=quz"},
		{"reserved characters, escaped in the path", all + "Disallow: /foo/bar?baz=https://foo.bar", "waggle", "/foo/bar?baz=https", "/foo/bar?baz=https%3A%2F%2Ffoo.bar /foo/bar?baz=https://foo.bar"},
		{"beyond ASCII, bare", all + "Disallow: /foo/bar/ツ", "waggle", "/foo/bar/", "/foo/bar/%E3%83%84 /foo/bar/ツ"},
		{"beyond ASCII, escaped", all + "Disallow: /foo/bar/%E3%83%84", "waggle", "/foo/bar/", "/foo/bar/%E3%83%84 /foo/bar/%e3%83%84 /foo/bar/ツ"},
		{"unreserved, escaped", all + "Disallow: /foo/bar/%62%61%7A", "waggle", "/foo/bar/%2562", "/foo/bar/baz /foo/bar/%62az"},
		{"the apostrophe", all + "Disallow: /it's | Disallow: /?it%27s%2F", "waggle", "/it", "/it's /it%27s /?it's%2fa /?it%27s%2F"},
		{"the tilde", all + "Disallow: /~joe/ | Disallow: /%7eann/", "waggle", "/~", "/~joe/a /%7Ejoe/a /%7ejoe/ /~ann/"},
		{"case of escapes", all + "Disallow: /a%3cd.html | Disallow: /a%2fb", "waggle", "/a/b /a", "/a%3Cd.html /a%3cd.html /a%2Fb"},
		{"an escaped slash is no slash", all + "Disallow: /a/b.html", "waggle", "/a%2fb.html", "/a/b.html"},
		{"nor for a star", all + "Disallow: /*%2F | Disallow: /*%26", "waggle", "/a/b?c&d", "/a%2fb /a?c=%26"},
		{"characters that addresses escape", all + "Disallow: /a|b | Disallow: /c?'d | Disallow: /e f", "waggle", "/a", "/a%7Cb /c?%27d /e%20f"},
		{"a percent sign that escapes nothing", all + "Disallow: /100% | Disallow: /%zz", "waggle", "/100", "/100%25 /100% /%25zz"},

		// Lines.
		{"CR", "User-agent: *\rDisallow: /a\r", "waggle", "/b", "/a"},
		{"CRLF", "User-agent: *\r\nDisallow: /a\r\n", "waggle", "/b", "/a"},
		{"no line end at the end", "User-agent: *\nDisallow: /a", "waggle", "/b", "/a"},
		{"a byte order mark", "\ufeffUser-agent: * | Disallow: /a", "waggle", "/b", "/a"},
		{"comments", "# hi | User-agent: * # all | #Disallow: /b | Disallow: /a #c", "waggle", "/b", "/a"},
		{"spaces anywhere", " \tUser-agent \t:\t * \t | \t Disallow  :  /a  ", "waggle", "/b", "/a"},
		{"no spaces", "user-agent:* | disallow:/a", "waggle", "/b", "/a"},
		{"no colon", "user-agent * | disallow /a", "waggle", "/b", "/a"},
		{"no colon and too many words", all + "disallow /a or so", "waggle", "/a", ""},
		{"misspellings", "useragent: waggle | disalow: /a | dissallow: /b | dissalow: /c | diasllow: /d | disallaw: /e", "waggle", "/f", "/a /b /c /d /e"},
		{"words that only begin alike", all + "Disallowed: /a | Disallo: /b", "waggle", "/a /b", ""},
		{"a full address as sitemap", all + "Sitemap: /x | Disallow: /a", "waggle", "/x", "/a"},

		// No robots.txt.
		{"HTML", "<!DOCTYPE html><html><head><title>Not found</title></head> | <body><p>Disallow: / for User-agent: *</p></body></html>", "waggle", "/ /a", ""},
		{"binary", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe: \x00", "waggle", "/ /a", ""},
		{"NUL bytes around lines", "\x00User-agent: *\x00 | \x00Disallow: /a\x00", "waggle", "/b", "/a"},
	} {
		r := Parse(lines(c.file))
		for _, p := range strings.Fields(c.allow) {
			if !r.Allowed(c.agent, p) {
				t.Errorf("%s: %q disallows %s", c.rule, c.file, p)
			}
		}
		for _, p := range strings.Fields(c.block) {
			if r.Allowed(c.agent, p) {
				t.Errorf("%s: %q allows %s", c.rule, c.file, p)
			}
		}
	}
}

// The example of RFC 9309, 5.1.
func TestExampleOfTheRFC(t *testing.T) {
	r := Parse([]byte(`
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`))
	for _, c := range []struct {
		agent, path string
		want        bool
	}{
		{"waggle", "/a.gif", false},
		{"waggle", "/a.gif?b", true},
		{"waggle", "/example/a", false},
		{"waggle", "/publications/", true},
		{"waggle", "/publications/a.gif", true},
		{"waggle", "/elsewhere", true},
		{"foobot", "/", false},
		{"foobot", "/publications/", false},
		{"foobot", "/example/page.html", true},
		{"foobot", "/example/allowed.gif", true},
		{"barbot", "/example/page.html", false},
		{"bazbot", "/example/page.html", false},
		{"bazbot", "/example/a", true},
		{"bazbot", "/a.gif", true},
		{"quxbot", "/example/page.html", true},
		{"quxbot", "/a.gif", true},
	} {
		if got := r.Allowed(c.agent, c.path); got != c.want {
			t.Errorf("%s %s: %v", c.agent, c.path, got)
		}
	}
}

func TestFromStatus(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\n")
	for _, c := range []struct {
		status int
		known  bool
		under  bool // whether /a may be fetched
	}{
		{200, true, false}, {204, true, false}, {299, true, false},
		{301, true, true}, {400, true, true}, {401, true, true}, {403, true, true}, {404, true, true}, {410, true, true},
		{429, false, false}, {500, false, false}, {503, false, false}, {599, false, false}, {999, false, false},
	} {
		r, ok := FromStatus(c.status, body)
		if ok != c.known || ok != (r != nil) {
			t.Errorf("%d: rules are known: %v, want %v", c.status, ok, c.known)
		}
		if ok && (!r.Allowed("waggle", "/") || r.Allowed("waggle", "/a") != c.under || !r.Allowed("waggle", "/robots.txt")) {
			t.Errorf("%d: / is disallowed, or /a is allowed where it should not be, or the reverse", c.status)
		}
	}
	if r := AllowAll(); !r.Allowed("", "") || !r.Allowed("waggle", "/a") {
		t.Error("AllowAll disallows")
	}
}

func TestLimit(t *testing.T) {
	const limit = 500 << 10
	rule := "Disallow: /last/page\n"
	file := func(filler int) []byte {
		head := "User-agent: *\nDisallow: /first\n"
		return []byte(head + strings.Repeat("#", filler-len(head)-1) + "\n" + rule + "Disallow: /beyond\n")
	}
	for _, c := range []struct {
		name   string
		filler int  // bytes before rule
		last   bool // whether /last/page may be fetched
	}{
		{"whole within", limit - len(rule), false},
		{"cut by one byte", limit - len(rule) + 1, true},
		{"cut in its path", limit - len("Disallow: /l") - 1, true},
		{"beyond", limit, true},
	} {
		r := Parse(file(c.filler))
		if r.Allowed("waggle", "/first") {
			t.Errorf("%s: /first is allowed", c.name)
		}
		if got := r.Allowed("waggle", "/last/page"); got != c.last {
			t.Errorf("%s: /last/page: %v", c.name, got)
		}
		if !r.Allowed("waggle", "/beyond") || !r.Allowed("waggle", "/l") {
			t.Errorf("%s: a rule from beyond 500 KiB holds", c.name)
		}
	}
	if r := Parse(bytes.Repeat([]byte("x"), 10<<20)); !r.Allowed("waggle", "/") {
		t.Error("10 MiB without a line end disallow")
	}
}

func TestCrawlDelay(t *testing.T) {
	for _, c := range []struct {
		file string
		want time.Duration
	}{
		{"User-agent: * | Crawl-delay: 10", 10 * time.Second},
		{"User-agent: * | crawl-delay : 1.5 # s", 1500 * time.Millisecond},
		{"User-agent: * | Crawl-delay: .5 | Disallow: /a", 500 * time.Millisecond},
		{"User-agent: * | Crawl-delay: 99999999999999999999", 24 * time.Hour},
		{"User-agent: * | Crawl-delay: 0", 0},
		{"User-agent: * | Crawl-delay: -1", 0},
		{"User-agent: * | Crawl-delay: NaN", 0},
		{"User-agent: * | Crawl-delay: 1e3", 0},
		{"User-agent: * | Crawl-delay: 1/5", 0},
		{"User-agent: * | Crawl-delay:", 0},
		{"User-agent: * | Crawl-delay: ten", 0},
		{"Crawl-delay: 10 | User-agent: *", 0},
		{"User-agent: other | Crawl-delay: 10", 0},
		{"User-agent: * | Crawl-delay: 10 | Disallow: | User-agent: Waggle | Crawl-delay: 2", 2 * time.Second},
		{"User-agent: * | Crawl-delay: 10 | Disallow: | User-agent: waggle | Disallow: /a", 0},
		{"User-agent: waggle | Crawl-delay: 3 | Disallow: | User-agent: x | Disallow: | User-agent: waggle | Crawl-delay: 2", 3 * time.Second},
		{"User-agent: waggle | Crawl-delay: 3 | User-agent: other | Disallow: /", 3 * time.Second},
	} {
		got, ok := Parse(lines(c.file)).CrawlDelay("waggle")
		if got != c.want || ok != (c.want > 0) {
			t.Errorf("%q: %v, %v, want %v", c.file, got, ok, c.want)
		}
	}
}

func TestSitemaps(t *testing.T) {
	r := Parse(lines("Sitemap: https://example.org/1.xml | User-agent: x | Disallow: / | SITEMAP : /2.xml # two | Site-map: 3 | Sitemap: "))
	if got, want := r.Sitemaps(), []string{"https://example.org/1.xml", "/2.xml", "3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Sitemaps()[0] = "changed"
	if got := r.Sitemaps()[0]; got != "https://example.org/1.xml" {
		t.Errorf("rules changed to %q", got)
	}
}

// matchByDefinition tries every way of placing the stars.
func matchByDefinition(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		for i := range len(path) + 1 {
			if matchByDefinition(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && pattern[0] == path[0] && matchByDefinition(pattern[1:], path[1:])
}

func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 0, 7, -1).Draw(t, "pattern") + rapid.SampledFrom([]string{"", "$"}).Draw(t, "end")
		path := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 10, -1).Draw(t, "path")
		if got, want := match(pattern, path), matchByDefinition(pattern, path); got != want {
			t.Fatalf("match(%q, %q) = %v", pattern, path, got)
		}
	})
}

// What a file says does not hang on its line ends, comments or empty lines,
// nor on the order of a group's rules.
func TestSpellingsOfOneFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`/[ab*/]{0,4}\$?`)
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"Allow: ", "Disallow: "}).Draw(t, "kind") + pattern.Draw(t, "pattern")
		}), 1, 6).Draw(t, "rules")
		end := rapid.SampledFrom([]string{"\n", "\r", "\r\n", " # c\n", "\n\n", "\t\n \n"}).Draw(t, "end")
		one := Parse([]byte("User-agent: *\n" + strings.Join(rules, "\n")))
		other := Parse([]byte("User-agent: *" + end + strings.Join(rapid.Permutation(rules).Draw(t, "order"), end)))
		path := "/" + rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 6, -1).Draw(t, "path")
		if one.Allowed("waggle", path) != other.Allowed("waggle", path) {
			t.Fatalf("%q: %v in one spelling, not in another", path, one.Allowed("waggle", path))
		}
		// The decision by its definition.
		longest, want := 0, true
		for _, r := range rules {
			kind, p, _ := strings.Cut(r, ": ")
			allow := kind == "Allow"
			if matchByDefinition(p, path) && (len(p) > longest || len(p) == longest && allow) {
				longest, want = len(p), allow
			}
		}
		if got := one.Allowed("waggle", path); got != want {
			t.Fatalf("%q on %q: %v", rules, path, got)
		}
	})
}

// A crawler asks with canonical paths, and sites write theirs as they like:
// disallowing a path by any spelling disallows the canonical one.
func TestCanonicalPaths(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("abYZ09-_~/?!&'()+,;=:@[]|^\"<>{}`éツ")), 0, 6, -1),
		rapid.SampledFrom([]string{"%41", "%7e", "%2f", "%3F", "%c3%bc", "%22", "%2A", "%24", "%25"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + strings.TrimRight(strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "path"), ""), "?")
		u, err := web.Parse("http://example.org" + path)
		if err != nil {
			t.Fatal(err)
		}
		if Parse([]byte("User-agent: *\nDisallow: "+path)).Allowed("waggle", u.RequestPath()) {
			t.Fatalf("Disallow: %s allows %s", path, u.RequestPath())
		}
	})
}

func TestPage(t *testing.T) {
	type H = web.Header
	tag := func(values ...string) H { return H{"X-Robots-Tag": values} }
	meta := func(pairs ...string) (m []Meta) {
		for p := range slices.Chunk(pairs, 2) {
			m = append(m, Meta{p[0], p[1]})
		}
		return m
	}
	var (
		none     web.Directives
		index    = web.Directives{NoIndex: true}
		follow   = web.Directives{NoFollow: true}
		both     = web.Directives{NoIndex: true, NoFollow: true}
		archive  = web.Directives{NoArchive: true}
		reserved = web.Directives{TDMReserved: true}
	)
	says := func(reserved bool, policy string) web.Reservation {
		return web.Reservation{Said: true, Reserved: reserved, Policy: policy}
	}
	const terms = "https://a/terms"
	for _, c := range []struct {
		name   string
		header H
		metas  []Meta
		want   web.Directives
	}{
		{"nothing", nil, nil, none},
		{"one", nil, meta("robots", "noindex"), index},
		{"a list, in any case", nil, meta(" ROBOTS ", "NoIndex,NOFOLLOW"), both},
		{"a list by spaces", nil, meta("robots", "noindex nofollow"), both},
		{"none", nil, meta("robots", "none"), both},
		{"all", nil, meta("robots", "all, index, follow"), none},
		{"wishes add up", nil, meta("robots", "noindex", "robots", "index, nofollow"), both},
		{"the crawler's name", nil, meta("Waggle", "noindex", "robots", "nofollow"), both},
		{"another's name", nil, meta("googlebot", "noindex", "waggles", "nofollow"), none},
		{"other metas", nil, meta("description", "noindex", "", "noindex"), none},
		{"noarchive and nocache", nil, meta("robots", "noarchive", "robots", "nocache"), archive},
		{"words that only begin alike", nil, meta("robots", "noindexer, noimageindex, max-snippet:-1"), none},
		{"unavailable_after", nil, meta("robots", "unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"), follow},
		{"AI", nil, meta("robots", "noai, noimageai"), web.Directives{NoAI: true, NoImageAI: true}},

		{"header", tag("noindex"), nil, index},
		{"header list", tag("noindex, nofollow"), nil, both},
		{"headers", tag("noindex", "NOFOLLOW"), nil, both},
		{"header none", tag("none"), nil, both},
		{"header for the crawler", tag("waggle: noindex, nofollow"), nil, both},
		{"header for another", tag("otherbot: noindex, nofollow"), nil, none},
		{"header for one, then another", tag("noindex, otherbot: nofollow, noarchive, Waggle: nofollow"), nil, both},
		{"header for another, then all", tag("otherbot: noindex", "nofollow"), nil, follow},
		{"header for another, then everyone", tag("otherbot: nofollow, *: noindex", "otherbot: nofollow, robots: noindex"), nil, index},
		{"header with a date", tag("unavailable_after: Friday, 25 Jun 2010 15:00:00 PST, noindex"), nil, index},
		{"header with limits", tag("max-snippet: 20, max-image-preview: large, noindex"), nil, index},
		{"header for another with a date", tag("otherbot: unavailable_after: 25 Jun 2010, noindex"), nil, none},
		{"header AI", tag("noai, noimageai"), nil, web.Directives{NoAI: true, NoImageAI: true}},
		{"header and meta", tag("noindex"), meta("robots", "nofollow"), both},

		{"TDM header", H{"Tdm-Reservation": {"1"}}, nil, reserved},
		{"TDM header 0", H{"Tdm-Reservation": {"0"}, "Tdm-Policy": {"https://a/p"}}, nil, none},
		{"TDM header and policy", H{"Tdm-Reservation": {" 1 "}, "Tdm-Policy": {"https://a/p"}}, nil, web.Directives{TDMReserved: true, TDMPolicy: "https://a/p"}},
		{"TDM meta", nil, meta("tdm-reservation", "1", "tdm-policy", "https://a/p"), web.Directives{TDMReserved: true, TDMPolicy: "https://a/p"}},
		{"TDM meta goes before a header", H{"Tdm-Reservation": {"1"}}, meta("TDM-Reservation", "0"), none},
		{"TDM meta goes before a header, the other way", H{"Tdm-Reservation": {"0"}}, meta("TDM-Reservation", "1"), reserved},
		{"TDM meta that says nothing", H{"Tdm-Reservation": {"1"}}, meta("tdm-reservation", "no"), reserved},
		{"TDM metas disagree", nil, meta("tdm-reservation", "1", "tdm-reservation", "0"), reserved},
		{"TDM headers disagree", H{"Tdm-Reservation": {"0", "1"}}, nil, reserved},
		{"TDM rubbish", H{"Tdm-Reservation": {"yes"}}, meta("tdm-reservation", "true"), none},
		{"TDM policy too long", H{"Tdm-Reservation": {"1"}, "Tdm-Policy": {strings.Repeat("a", 2049)}}, nil, reserved},
	} {
		if got := Page(web.Reservation{}, c.header, c.metas, "waggle/1.0"); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	withTerms := web.Directives{TDMReserved: true, TDMPolicy: terms}
	for _, c := range []struct {
		name   string
		site   web.Reservation
		header H
		metas  []Meta
		want   web.Directives
	}{
		{"site", says(true, terms), nil, nil, withTerms},
		{"site that reserves nothing", says(false, terms), nil, nil, none},
		{"site, and a header against it", says(true, terms), H{"Tdm-Reservation": {"0"}}, nil, none},
		{"site, and a meta against it", says(true, terms), nil, meta("tdm-reservation", "0"), none},
		{"site against a header", says(false, ""), H{"Tdm-Reservation": {"1"}}, nil, reserved},
		{"site, and another policy of the header", says(true, "https://a/p"), H{"Tdm-Policy": {terms}}, nil, withTerms},
		{"policy of the site, reservation of the page", says(false, terms), nil, meta("tdm-reservation", "1"), withTerms},
		{"site, and a header that says nothing", says(true, terms), H{"Tdm-Reservation": {"2"}, "Tdm-Policy": {" "}}, nil, withTerms},
		{"site, header, page in turn", says(true, terms), H{"Tdm-Reservation": {"0"}}, meta("tdm-reservation", "1"), withTerms},
	} {
		if got := Page(c.site, c.header, c.metas, "waggle/1.0"); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%7e\nCrawl-delay: 1.5\nSitemap: x"), "waggle", "/a?b%2f")
	f.Add([]byte("\ufeffuser-agent waggle/1\r\rdisalow:*\x00"), "Waggle/2", "")
	f.Fuzz(func(t *testing.T, body []byte, agent, path string) {
		r := Parse(body)
		allowed := r.Allowed(agent, path)
		if again := Parse(body).Allowed(strings.ToUpper(strings.ToLower(agent)), path); isASCII(agent) && again != allowed {
			t.Errorf("%q: %v, in upper case %v", agent, allowed, again)
		}
		if p := normalise(path, false); normalise(p, false) != p {
			t.Errorf("normal form of %q: %q, then %q", path, p, normalise(p, false))
		}
		if d, ok := r.CrawlDelay(agent); d < 0 || d > maxDelay || ok != (d > 0) {
			t.Errorf("Crawl-delay %v", d)
		}
		r.Sitemaps()
		if !r.Allowed(agent, "/robots.txt") {
			t.Error("/robots.txt is disallowed")
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add("waggle: noindex, other: none", "robots", "noai", "waggle")
	f.Fuzz(func(t *testing.T, tag, name, content, agent string) {
		site, meta := web.Reservation{Said: true, Policy: tag}, []Meta{{name, content}}
		said := Page(site, web.Header{"X-Robots-Tag": {tag}, "Tdm-Policy": {tag}}, meta, agent)
		more := Page(site, web.Header{"X-Robots-Tag": {tag, "nofollow"}, "Tdm-Policy": {tag}}, meta, agent)
		if !more.NoFollow || said.NoIndex && !more.NoIndex || said.NoAI && !more.NoAI {
			t.Errorf("%+v, and with one wish more %+v", said, more)
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }

// manyRules is a robots.txt of 200 rules as large sites have them.
func manyRules() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 200 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "Disallow: /section%d/private/\n", i)
		case 1:
			fmt.Fprintf(&b, "Allow: /section%d/public\n", i)
		case 2:
			fmt.Fprintf(&b, "Disallow: /*?sort%d=\n", i)
		case 3:
			fmt.Fprintf(&b, "Disallow: /*.type%d$\n", i)
		}
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	body := manyRules()
	b.ReportAllocs()
	for b.Loop() {
		Parse(body)
	}
}

func BenchmarkAllowed(b *testing.B) {
	r := Parse(manyRules())
	if !r.Allowed("waggle", "/docs/reference/api/index.html?lang=en&page=2") || r.Allowed("waggle", "/a.type3") {
		b.Fatal("wrong")
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed("waggle", "/docs/reference/api/index.html?lang=en&page=2")
	}
}

// The hardest file found: every rule makes one pass over a long path.
func BenchmarkAllowedHostile(b *testing.B) {
	for name, rule := range map[string]string{
		"stars":  "Disallow: /" + strings.Repeat("*a", 1000) + "*b\n",
		"long":   "Disallow: /*" + strings.Repeat("a", 4000) + "b\n",
		"little": "Disallow: *ab\n",
	} {
		r := Parse([]byte("User-agent: *\n" + strings.Repeat(rule, maxBody/len(rule))))
		path := "/" + strings.Repeat("a", 8000)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !r.Allowed("waggle", path) {
					b.Fatal("disallowed")
				}
			}
		})
	}
}
