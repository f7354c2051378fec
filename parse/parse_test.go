package parse_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	xunicode "golang.org/x/text/encoding/unicode"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func response(t testing.TB, contentType, body string) *web.Response {
	t.Helper()
	u, err := web.Parse("http://example.org/dir/page.html")
	if err != nil {
		t.Fatal(err)
	}
	r := &web.Response{URL: u, Status: 200, Header: web.Header{}, Body: []byte(body)}
	if contentType != "" {
		r.Header["Content-Type"] = []string{contentType}
	}
	return r
}

// analyzer is shared by all parsers of these tests: it never changes a result.
var analyzer = text.NewAnalyzer()

func page(t testing.TB, body string) *web.Page {
	t.Helper()
	p, err := parse.New(parse.Options{Analyzer: analyzer}).Parse(response(t, "text/html; charset=utf-8", body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leafOffset is the offset of Chakrabarti, Punera & Subramanyam 2002, section 2.2.1:
// leaves of the anchor have offset 0, others count from its nearest end.
func leafOffset(l web.Link, leaf int) int {
	switch {
	case leaf < l.First:
		return leaf - l.First
	case leaf > l.Last:
		return leaf - l.Last
	}
	return 0
}

func TestLeafOffsets(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string // offset:text of every leaf, one line a link
	}{
		{
			"element inside the anchor",
			`<p>See <a href=x>the <em>waggle</em> dance</a><br>of bees</p>`,
			[]string{"-1:See 0:the 0:waggle 0:dance 1: 2:of_bees"},
		},
		{
			"empty leaves count",
			`<p>left</p><img src=a><table><tr><td></td><td><a href=x>mid</a></td><td> </td></tr></table><hr>right`,
			[]string{"-3:left -2: -1: 0:mid 1: 2: 3:right"},
		},
		{
			"two links near one another",
			`<ul><li>one <a href=x>first</a> and <a href=y>second</a> two</ul>`,
			[]string{
				"-1:one 0:first 1:and 2:second 3:two",
				"-3:one -2:first -1:and 0:second 1:two",
			},
		},
		{
			"a link without content is a leaf itself",
			`a<a href=x></a>b`,
			[]string{"-1:a 0: 1:b"},
		},
		{
			"an image is a leaf with its alt text",
			`a<a href=x><img src=i alt="A  bee"></a>b`,
			[]string{"-1:a 0:A_bee 1:b"},
		},
		{
			"comments and white space are no leaves",
			"<!-- x -->\n<p>\n a\n</p>\n<!-- y -->\n<a href=x>\n<b>b</b>\n</a>\n",
			[]string{"-1:a 0:b"},
		},
		{
			"the head has no leaves, a script has one",
			`<head><title>T</title><script>1</script></head><body>a<script>var x = "<p>"</script><a href=x>b</a>`,
			[]string{"-2:a -1: 0:b"},
		},
		{
			"rows of a table one after another",
			`<table><tr><td>1<td>2<tr><td><a href=x>3</a><td>4</table>`,
			[]string{"-2:1 -1:2 0:3 1:4"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := page(t, c.body)
			var got []string
			for _, l := range p.Links {
				var line []string
				for i, leaf := range p.Leaves {
					line = append(line, fmt.Sprintf("%d:%s", leafOffset(l, i), strings.ReplaceAll(leaf.Text, " ", "_")))
				}
				got = append(got, strings.Join(line, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("offsets\n%q, want\n%q", got, c.want)
			}
		})
	}
}

const article = `<!DOCTYPE html>
<html lang="en-GB"><head>
<title>Waggle
  dance</title>
<meta name="Description" content="How bees talk">
<meta name="keywords" content="bees, dance">
<link rel="stylesheet" href="/style.css">
<link rel="canonical" href="page.html#top">
<link rel="next" href="next.html" title="More">
<link rel="alternate" type="application/rss+xml" href="/feed">
<link rel="alternate" hreflang="de" href="/de/">
</head><body class="wide main">
<nav><ul class="top bar"><li><a href="/">Start</a></li><li><a href="#here">Here</a></ul></nav>
<h1>The <i>dance</i></h1>
<p>In the hive a forager that has found rich flowers runs straight ahead and waggles, then circles
back, <a class="x" href="flowers.html?b=1#c">again and <b>again</b></a>, so that her sisters learn the way and the distance.</p>
<h2><a href="history.html" rel="ugc nofollow">His<i>tory</i></a></h2>
<p>Karl von Frisch read it first. <a href="mailto:a@example.org">Mail</a> <a href="javascript:void(0)">Go</a>
<a href="//other.example/"><img src=b.png alt="another hive"></a></p>
<map><area href="north.html" alt="North"></map>
<iframe src="inner.html" title="Map"></iframe>
<footer>Copyright of the bees</footer>
</body></html>`

func TestPage(t *testing.T) {
	p := page(t, article)
	for _, c := range []struct{ name, got, want string }{
		{"Title", p.Title, "Waggle dance"},
		{"Description", p.Description, "How bees talk"},
		{"Keywords", p.Keywords, "bees, dance"},
		{"Language", p.Language, "en"},
		{"MIME", p.MIME, "text/html"},
		{"Charset", p.Charset, "utf-8"},
		{"Base", p.Base.String(), "http://example.org/dir/page.html"},
		{"Headings", strings.Join(p.Headings, "|"), "The dance|History"},
		{"Alts", strings.Join(p.Alts, "|"), "another hive"},
		{"Main", p.Main, "The dance In the hive a forager that has found rich flowers runs straight ahead and waggles, " +
			"then circles back, again and again, so that her sisters learn the way and the distance. " +
			"History Karl von Frisch read it first. Mail Go"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %q, want %q", c.name, c.got, c.want)
		}
	}
	if p.Truncated {
		t.Error("Truncated")
	}
	terms := map[string]web.Term{}
	for _, term := range p.Terms {
		terms[term.Text] = term
	}
	for _, want := range []web.Term{
		{Text: "danc", Head: 2, Body: 2},
		{Text: "waggl", Head: 1, Body: 2},
		{Text: "histori", Head: 1, Body: 1},
		{Text: "hive", Head: 0, Body: 1}, // an alt is no visible text
		{Text: "bee", Head: 0, Body: 1},
	} {
		if terms[want.Text] != want {
			t.Errorf("term %v, want %v", terms[want.Text], want)
		}
	}
}

func TestLinks(t *testing.T) {
	var got []string
	for i, l := range page(t, article).Links {
		if l.Position != i {
			t.Errorf("link %d has position %d", i, l.Position)
		}
		got = append(got, fmt.Sprintf("%s %s [%s] %s nofollow=%v under %q\n   before %q\n   after %q",
			l.Kind, l.URL, l.Anchor, l.TagPath, l.NoFollow, l.Heading, l.Before, l.After))
	}
	want := []string{
		`next http://example.org/dir/next.html [More] html/head/link nofollow=false under ""
   before ""
   after ""`,
		`alternate http://example.org/de/ [] html/head/link nofollow=false under ""
   before ""
   after ""`,
		`a http://example.org/ [Start] html/body.wide/nav/ul.top/li/a nofollow=false under ""
   before ""
   after "Here The dance In the hive a forager that has"`,
		`a http://example.org/dir/flowers.html?b=1 [again and again] html/body.wide/p/a.x nofollow=false under "The dance"
   before "rich flowers runs straight ahead and waggles, then circles back,"
   after ", so that her sisters learn the way and the"`,
		`a http://example.org/dir/history.html [History] html/body.wide/h2/a nofollow=true under "History"
   before "so that her sisters learn the way and the distance."
   after "Karl von Frisch read it first. Mail Go Copyright of"`,
		`a http://other.example/ [another hive] html/body.wide/p/a nofollow=false under "History"
   before "distance. History Karl von Frisch read it first. Mail Go"
   after "Copyright of the bees"`,
		`area http://example.org/dir/north.html [North] html/body.wide/map/area nofollow=false under "History"
   before "distance. History Karl von Frisch read it first. Mail Go"
   after "Copyright of the bees"`,
		`iframe http://example.org/dir/inner.html [Map] html/body.wide/iframe nofollow=false under "History"
   before "distance. History Karl von Frisch read it first. Mail Go"
   after "Copyright of the bees"`,
	}
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("link %d\n%s, want\n%s", i, g, w)
		}
	}
}

func urls(p *web.Page) string {
	var s []string
	for _, l := range p.Links {
		s = append(s, string(l.Kind)+" "+strings.TrimPrefix(l.URL.String(), "http://example.org"))
	}
	return strings.Join(s, ", ")
}

func TestReferences(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"frames", `<html><frameset cols="*,*"><frame src=menu.html><frameset><frame src="/b"></frameset></frameset></html>`,
			"frame /dir/menu.html, frame /b"},
		{"refresh", `<meta http-equiv=Refresh content="5; URL='new.html'">`, "refresh /dir/new.html"},
		{"refresh without url=", `<meta http-equiv=refresh content="0;/n">`, "refresh /n"},
		{"refresh of the page itself", `<meta http-equiv=refresh content="60">`, ""},
		{"refresh in the body", `<p>x<meta http-equiv=refresh content="0,url=y">`, "refresh /dir/y"},
		{"base", `<base href="/other/x"><a href=y>y</a><base href=/no/>`, "a /other/y"},
		{"base after the links", `<a href=y>y</a><base href=/other/>`, "a /other/y"},
		{"unusable base", `<base href="mailto:x"><a href=y>y</a>`, "a /dir/y"},
		{"self", `<a href=page.html>x</a><a href="#a">x</a><a href="">x</a><a href="?q">x</a>`, "a /dir/page.html?q"},
		{"with a base, a fragment stays on the page as far as a crawler goes", `<base href=/o><a href="#a">x</a>`, ""},
		{"twice is two links", `<a href=y>1</a><a href=y#z>2</a>`, "a /dir/y, a /dir/y"},
		{"other schemes", `<a href="MAILTO:x">x</a><a href="ftp://h/">x</a><a href="data:,x">x</a><a href="foo:bar">x</a>`, ""},
		{"a colon in a path", `<a href="Talk:Bee">x</a><a href="./Talk:Bee">x</a><a href="/wiki/Talk:Bee">x</a>`, "a /dir/Talk:Bee, a /wiki/Talk:Bee"},
		{"line breaks in an address", "<a href=' /a\nb '>x</a>", "a /ab"},
		{"entities", `<a href="?a=1&amp;b=2">x</a>`, "a /dir/page.html?a=1&b=2"},
		{"alternates that are no pages", `<link rel="alternate stylesheet" href=s><link rel=alternate type="application/atom+xml" href=f>`, ""},
		{"alternates that are", `<link rel=alternate type="text/html; charset=x" href=m>`, "alternate /dir/m"},
		{"canonical", `<link rel=canonical href=c>`, "canonical /dir/c"},
		{"nothing in script, noscript, template, comment", `<script>"<a href=1>"</script><noscript><a href=2></a></noscript><template><a href=3></a></template><!--<a href=4>-->`, ""},
		{"an anchor without href", `<a name=x>y</a>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := urls(page(t, c.body)); got != c.want {
				t.Errorf("links %q, want %q", got, c.want)
			}
		})
	}
}

// A page tells whether a field asks for a password.
func TestPassword(t *testing.T) {
	for body, want := range map[string]bool{
		"<form><input name=user><input type=password name=p></form>": true,
		"<INPUT TYPE=' Password '>":                                  true,
		"<input type=text value=password>":                           false,
		"<p>password":                                                false,
		"<!-- <input type=password> -->":                             false,
	} {
		u, err := web.Parse("https://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse.New(parse.Options{}).Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Password != want {
			t.Errorf("%s: %v", body, p.Password)
		}
	}
}

// A page tells whether a field asks for the name of an account.
func TestAccount(t *testing.T) {
	for body, want := range map[string]bool{
		"<input type=email>":                                 true,
		"<input type=' EMail ' name=q>":                      true,
		"<input autocomplete='section-a username webauthn'>": true,
		"<input type=text name=Username>":                    true,
		"<input name=identifier>":                            true,
		"<input name=q>":                                     false,
		"<input type=hidden name=user>":                      false,
		"<input type=password autocomplete=username>":        false,
		"<p>username":                                        false,
	} {
		if p := page(t, body); p.Account != want {
			t.Errorf("%s: %v", body, p.Account)
		}
	}
}

// A page tells whether a form that asks for a password stands alone on it.
func TestPasswordAlone(t *testing.T) {
	const form = "<form><h2>Who are you?</h2><input name=user><input type=password></form>"
	for body, want := range map[string]bool{
		form: true,
		"<nav><a href=/>Home of a society with a long name</a> <a href=/about>About this society and its aims</a></nav>" + form: true,
		"<p>Welcome." + form + "<p>© 2026":                                                    true,
		"<script type='application/ld+json'>{}</script>" + form:                               true,
		"<input type=password>":                                                               false,
		form + "<script src=shop.js></script>":                                                false,
		"<div id=root></div><script type=module>go()</script>" + form:                         false,
		form + "<h1>Which hive?</h1>":                                                         false,
		form + "<iframe src=shop></iframe>":                                                   false,
		form + "<p>Bees keep warm in a cluster all winter long. They eat what they have.</p>": false,
		"<form>Search <input name=q></form><form><input name=user></form>":                    false,
		"<form><input name=q></form>" + form + "<p>Bees keep warm in a cluster all winter long, and eat the honey that they have.": false,
	} {
		if p := page(t, body); p.PasswordAlone != want {
			t.Errorf("%s: %v", body, p.PasswordAlone)
		}
	}
}

func TestFramesAreLeaves(t *testing.T) {
	p := page(t, `<head><link rel=next href=n></head><frameset><frame src=a><frame src=b></frameset>`)
	if len(p.Links) != 3 || len(p.Leaves) != 2 {
		t.Fatalf("%d links, %d leaves: %v", len(p.Links), len(p.Leaves), p.Links)
	}
	for i, want := range [][2]int{{0, -1}, {0, 0}, {1, 1}} {
		if l := p.Links[i]; l.First != want[0] || l.Last != want[1] {
			t.Errorf("%s spans %d…%d, want %v", l.Kind, l.First, l.Last, want)
		}
	}
}

func encode(e encoding.Encoding, s string) string {
	out, err := e.NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

func TestCharset(t *testing.T) {
	const german = "Bienen tanzen für ihre Schwestern: die Güte der Blüten, der Weg dorthin, und wie weit er ist."
	const greek = "Οι μέλισσες χορεύουν για να δείξουν στις αδελφές τους τον δρόμο προς τα λουλούδια."
	const japaneseText = "ミツバチは踊りで仲間に花の場所を教える。太陽の方向と距離を伝えるのである。"
	utf16 := xunicode.UTF16(xunicode.LittleEndian, xunicode.UseBOM)
	for _, c := range []struct{ name, contentType, body, charset, text string }{
		{"ASCII", "text/html", "bees", "utf-8", "bees"},
		{"UTF-8 undeclared", "text/html", german, "utf-8", german},
		{"header", "text/html; charset=ISO-8859-7", encode(charmap.ISO8859_7, greek), "iso-8859-7", greek},
		{"header against meta", "text/html; charset=iso-8859-7", "<meta charset=utf-8>" + encode(charmap.ISO8859_7, greek), "iso-8859-7", greek},
		{"BOM against header", "text/html; charset=latin1", "\xef\xbb\xbf" + german, "utf-8", german},
		{"UTF-16 by BOM", "text/html", encode(utf16, german), "utf-16le", german},
		{"meta", "text/html", "<meta charset='shift_jis'>" + encode(japanese.ShiftJIS, japaneseText), "shift_jis", japaneseText},
		{"meta, old style", "text/html", `<META http-equiv="Content-Type" CONTENT="text/html; charset=windows-1253">` + encode(charmap.Windows1253, greek), "windows-1253", greek},
		{"meta in a comment", "text/html", "<!-- <meta charset=utf-16> --><meta charset=euc-jp>" + encode(japanese.EUCJP, japaneseText), "euc-jp", japaneseText},
		{"unknown label", "text/html; charset=klingon", german, "utf-8", german},
		{"latin1 means windows-1252", "text/html; charset=iso-8859-1", "\x93bees\x94", "windows-1252", "“bees”"},
		{"guessed, western", "text/html", encode(charmap.Windows1252, german), "windows-1252", german},
		{"guessed, Japanese", "text/html", "<p>" + encode(japanese.EUCJP, strings.Repeat(japaneseText, 3)), "euc-jp", strings.Repeat(japaneseText, 3)},
		{"broken UTF-8", "text/html; charset=utf-8", "caf\xe9 bees", "utf-8", "caf\uFFFD bees"},
		{"NUL bytes", "text/html", "be\x00es", "utf-8", "be\uFFFDes"},
		{"cut within a character", "text/html", "für B\xc3", "utf-8", "für B"},
		{"plain text", "text/plain; charset=windows-1253", encode(charmap.Windows1253, greek), "windows-1253", greek},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parse.New(parse.Options{}).Parse(response(t, c.contentType, c.body))
			if err != nil {
				t.Fatal(err)
			}
			var text []string
			for _, l := range p.Leaves {
				if l.Text != "" {
					text = append(text, l.Text)
				}
			}
			if got := strings.Join(text, "|"); p.Charset != c.charset || got != c.text {
				t.Errorf("%s %q, want %s %q", p.Charset, got, c.charset, c.text)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct{ contentType, body, mime, links string }{
		{"text/html", "<a href=x>", "text/html", "a /dir/x"},
		{"TEXT/HTML;charset", "<a href=x>", "text/html", "a /dir/x"},
		{"", "<!doctype html><a href=x>", "text/html", "a /dir/x"},
		{"text/plain", "<a href=x>", "text/plain", ""},
		{"application/xhtml+xml", `<html><script src="s"/><title/><body><a href="x"/>y<a href="z">z</a></body></html>`, "application/xhtml+xml", "a /dir/x, a /dir/z"},
		{"application/pdf", "%PDF-", "", ""},
		{"image/png", "\x89PNG", "", ""},
	} {
		p, err := parse.New(parse.Options{}).Parse(response(t, c.contentType, c.body))
		if c.mime == "" {
			if !errors.Is(err, parse.ErrType) {
				t.Errorf("%q: error %v, want ErrType", c.contentType, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.contentType, err)
		} else if p.MIME != c.mime || urls(p) != c.links {
			t.Errorf("%q: %s with links %q, want %s with %q", c.contentType, p.MIME, urls(p), c.mime, c.links)
		}
	}
}

func TestLanguage(t *testing.T) {
	long := func(s string) string { return "<p>" + strings.Repeat(s+" ", 3) }
	for _, c := range []struct{ name, body, want string }{
		{"attribute", `<html lang="de-AT"><p>x`, "de"},
		{"three letters", `<html lang="eng"><p>x`, "en"},
		{"xml:lang", `<html xml:lang="fr"><p>x`, "fr"},
		{"meta", `<meta http-equiv=content-language content="es, en"><p>x`, "es"},
		{"nonsense attribute", `<html lang="!!"><p>x`, ""},
		{"too short to guess", `<p>the bees`, ""},
		{"English", long("The dance of the bees tells where to find the flowers and how far away they are."), "en"},
		{"German", long("Der Tanz der Bienen verrät den Weg zu den Blüten und wie weit sie vom Stock entfernt sind."), "de"},
		{"French", long("La danse des abeilles indique où se trouvent les fleurs et à quelle distance de la ruche."), "fr"},
		{"Chinese", long("蜜蜂的舞蹈告诉同伴花在哪里，以及离蜂巢有多远。太阳的方向也很重要。"), "zh"},
		{"code", long("int main(void) { printf(foo->bar[3]); return 0; } static void *ptr = NULL;"), ""},
	} {
		if got := page(t, c.body).Language; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDirectives(t *testing.T) {
	p := page(t, `<meta name=robots content="noindex, nofollow">`)
	if !p.Directives.NoIndex || !p.Directives.NoFollow || p.Directives.NoArchive {
		t.Errorf("directives %+v", p.Directives)
	}
}

// Tags are the elements of the leaves, where they are asked for.
func TestTags(t *testing.T) {
	const body = `<p>Of <b class=x>bees</b><br><img src=i alt="a hive"><hr><table><tr><td>one<td></table><bee-hive>two</bee-hive>`
	p, err := parse.New(parse.Options{Analyzer: analyzer, Tags: true}).Parse(response(t, "text/html; charset=utf-8", body))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"p", "b", "br", "img", "hr", "td", "td", "other"}; !slices.Equal(p.Tags, want) || len(p.Leaves) != len(want) {
		t.Errorf("%q of %d leaves, want %q", p.Tags, len(p.Leaves), want)
	}
	if q := page(t, body); q.Tags != nil || !slices.Equal(q.Leaves, p.Leaves) {
		t.Errorf("not asked for: %q", q.Tags)
	}
}

// The nesting of leaves, where it is asked for: elements around each, and those around
// the leaf before too. A childless element is not around itself.
func TestNesting(t *testing.T) {
	const body = `<body>of<ul><li><a href=x>bees <b>dance</b></a><li>honey<br></ul><img src=i alt=hive><hr><p>steel`
	p, err := parse.New(parse.Options{Analyzer: analyzer, Nesting: true}).Parse(response(t, "text/html; charset=utf-8", body))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, n := range p.Nesting {
		got = append(got, fmt.Sprint(p.Leaves[i].Text, " ", n.Depth, " ", n.Shared))
	}
	if want := []string{"of 2 0", "bees 5 2", "dance 6 5", "honey 4 3", " 4 4", "hive 2 2", " 2 2", "steel 3 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if q := page(t, body); q.Nesting != nil || !slices.Equal(q.Leaves, p.Leaves) {
		t.Errorf("not asked for: %v", q.Nesting)
	}
}

// Every page of the recorded webs that is looked at is well-formed.
func TestRecordedPages(t *testing.T) {
	parser := parse.New(parse.Options{})
	for _, name := range []string{"campus", "departments", "manuals"} {
		t.Run(name, func(t *testing.T) {
			links := 0
			for _, r := range recordedPages(t, name, 37, 40) {
				p, err := parser.Parse(r)
				if err != nil {
					continue // documents of other types are recorded, too
				}
				check(t, p)
				links += len(p.Links)
			}
			if links == 0 {
				t.Error("no links")
			}
		})
	}
}

// The statistics of two encodings can be equally good: the choice is the same
// every time.
func TestGuessIsSteady(t *testing.T) {
	for _, body := range []string{"<!-- c --> \xff<!-- c --><tr>", "\xe4\xf6", "a\x80", "\x81\x40\x81\x41"} {
		parser := parse.New(parse.Options{Analyzer: analyzer})
		want := ""
		for range 200 {
			p, err := parser.Parse(response(t, "text/html", body))
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = p.Charset
			}
			if p.Charset != want {
				t.Fatalf("%q is %s now, and was %s", body, p.Charset, want)
			}
		}
	}
}

// Terms are made by the rules of the page's own language where the analyzer has it.
func TestTermsOfLanguages(t *testing.T) {
	german := "<p>Datenbanken speichern Tabellen. " + strings.Repeat("Die Abfrage einer Datenbank liefert Zeilen aus mehreren Tabellen zurück. ", 3)
	for _, c := range []struct {
		name      string
		languages []string
		html      string
		want      string // the language of terms
		term      string
	}{
		{"English alone", nil, "<html lang=de>" + german, "", "datenbanken"},
		{"German alone", []string{"de"}, german, "", "datenbank"},
		{"the page declares its language", []string{"en", "de"}, "<html lang=de><p>Datenbanken", "de", "datenbank"},
		{"it declares nothing", []string{"en", "de"}, german, "de", "datenbank"},
		{"it declares what it is not", []string{"en", "de"}, "<html lang=en>" + german, "de", "datenbank"},
		{"a language that the analyzer has not", []string{"en", "de"}, "<html lang=fr><p>running", "fr", "run"},
		{"too short to tell", []string{"en", "de"}, "<p>running", "", "run"},
	} {
		p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer(c.languages...)})
		page, err := p.Parse(response(t, "text/html; charset=utf-8", c.html))
		if err != nil {
			t.Fatal(err)
		}
		if page.TermLanguage != c.want {
			t.Errorf("%s: terms of %q, want %q", c.name, page.TermLanguage, c.want)
		}
		if !slices.ContainsFunc(page.Terms, func(x web.Term) bool { return x.Text == c.term }) {
			t.Errorf("%s: no term %q in %v", c.name, c.term, page.Terms)
		}
	}
}

// The main text leaves out navigation where there is text beside it, and is never one stray
// line of a page: a button, a line below a list, one paragraph of many short ones.
func TestMainText(t *testing.T) {
	long := strings.Repeat("the honey bee dances in the hive ", 7)
	list := strings.Repeat(`<li><a href="/x">Dance of the bee</a>`, 8)
	for _, c := range []struct{ name, body, want string }{
		{"prose beside a list of links", "<ul>" + list + "</ul><p>" + long, long},
		{"a button", "<p>bees honey waggle dance bee honey waggle dance alpha</p><button>go</button>", "bees honey waggle dance bee honey waggle dance alpha go"},
		{"an address below a list", "<ul>" + list + "</ul><p>webmaster@example.org of the bees", strings.Repeat("Dance of the bee ", 8) + "webmaster@example.org of the bees"},
		{"short paragraphs", "<p>Teachers<p>Fred Bee<p>Ada Wasp<p>Their hours and the room of both<p>Thursday 4:30 to 5:30", "Teachers Fred Bee Ada Wasp Their hours and the room of both Thursday 4:30 to 5:30"},
		{"a recipe", "<p>" + long + "<h2>Ingredients</h2><ul><li>flour<li>honey</ul><h2>Steps</h2><ol><li>mix<li>bake</ol>", long + "Ingredients flour honey Steps mix bake"},
		{"a table with links", "<p>" + long + `<table><tr><td><a href="/a">Ada</a><td>room 1<tr><td><a href="/b">Bo</a><td>room 2</table>`, long + "Ada room 1 Bo room 2"},
		{"sentences with links", `<p>The <a href="/m">ashy mining bee</a> is a <a href="/s">species</a> of <a href="/b">sand bee</a> found in <a href="/e">Europe</a> and in the north of Africa.<ul>` + list + "</ul>", "The ashy mining bee is a species of sand bee found in Europe and in the north of Africa."},
		{"a menu of two", `<p>` + long + `<p><a href="/x">Home</a><p><a href="/y">Bees</a>`, long + "Home Bees"},
		{"a footer beside prose", "<p>" + long + "<p>© the bees", long + "© the bees"},
		{"navigation alone", "<nav>Home Bees</nav>", "Home Bees"},
		{"navigation by its role", "<div role='Navigation'>Home Bees</div><p>" + long, long},
		{"what is hidden", "<p>" + long + "<p hidden>Sent.<p hidden=until-found>Folded.<div><span hidden>An error</span> End.</div>", long + "Folded. End."},
		{"what no reader hears", "<div aria-hidden=true><p>Menu</div><p>" + long + "<span aria-hidden=true>*</span>", long + "*"},
		{"what no style shows", "<div style='color: red; Display : none !important'>Thanks!</div><div Style='displdisplay:\tNONE'>Go</div><p style='display:block'>" + long, long},
		{"options outside of a select", "<p>" + long + "<datalist><option>Bee<option>Wasp</datalist>", long},
		{"buttons that copy code", "<p>" + long + "<pre><button> Copy <i></i></button>go build</pre><p>Copy <button>Copy that</button>", long + "go build Copy Copy that"},
		{"such a button without code", "<p>" + long + "<button>Copy</button>", long + "Copy"},
		{"a page that scripts show", "<body style='display:none'><p>" + long, long},
		{"soft hyphens", "<p>" + long + "honey&shy;bee wag\u00adgle", long + "honeybee waggle"},
	} {
		p := page(t, c.body)
		if got := strings.Join(strings.Fields(p.Main), " "); got != strings.TrimSpace(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
