package parse_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Whatever the markup, there is a page with the text and the link in it.
func TestMalformed(t *testing.T) {
	for _, body := range []string{
		`<a href=x>bee`,
		`<a href="x">bee</b></p></div></a></html>`,
		`<table><a href=x>bee</table>`,
		`<p><div><a href=x><p>bee</a></p>`,
		`<a href=x <b>bee</b`,
		`<a href=x>bee<`,
		`<a href=x>bee<!--`,
		`<a href=x>bee<![CDATA[`,
		`<select><option></select><a href=x>bee`,
		`<svg><a href=x>bee</svg>`,
		`<math><mi><a href=x>bee`,
		`</html></body><a href=x>bee`,
		`<a href='x' href=y title=">">bee`,
		"<a\x0chref=x>bee",
		`<html><head><a href=x>bee</head>`,
		`<b><i><b><i></b></i><a href=x>bee</b></i>`,
	} {
		p := page(t, body)
		if len(p.Links) == 0 || !strings.Contains(p.Main, "bee") {
			t.Errorf("%q: %d links, text %q", body, len(p.Links), p.Main)
		}
	}
	for _, body := range []string{"", "\x00", "<", "<>", "</", "<!", "&", "\xff\xfe", "\xef\xbb\xbf"} {
		page(t, body)
	}
}

// Pages made to break a crawler: each gives a page, cut where it must be, and
// takes memory in proportion.
func TestBounds(t *testing.T) {
	r := strings.Repeat
	for _, c := range []struct {
		name, body string
		links      int // at least
		truncated  bool
	}{
		{"100,000 nested tags", r("<div>", 100_000) + "<a href=x>bee</a>", 1, true},
		{"100,000 nested tags of every kind", r("<b><table><td><p><ul><li><span><select>", 12_500) + "</select><a href=x>bee</a>", 1, true},
		{"100,000 nested tables with end tags that do not fit", r("<div><table><tr><td></div>", 25_000) + "<a href=x>bee</a>", 1, true},
		{"100,000 nested framesets", r("<frameset>", 100_000) + "<frame src=x>", 0, true},
		{"100,000 end tags", r("</div>", 100_000) + "<a href=x>bee</a>", 1, false},
		{"a million links", r("<a href=x>y</a>", 1_000_000), 10_000, true},
		{"100,000 links to different pages", many(100_000, "<a href=/%d>y</a>"), 10_000, true},
		{"formatting elements brought back in every paragraph", many(400, "<font a%d=1>") + r("<p>x", 100_000), 0, false},
		{"formatting elements without attributes", "<p>" + r("<b><i><u><s><tt>", 3) + r("</p><p>x", 50_000), 0, false},
		{"a long address brought back in every paragraph", `<p><a href="/` + r("a", 1<<20) + `">x` + r("<p>x", 1_000), 0, false},
		{"attributes of a link brought back in every paragraph", "<p><a" + many(20_000, " a%d") + " href=x>" + r("<p>x", 1_000), 1, false},
		{"attributes of one formatting element brought back in every paragraph", "<p><b" + many(4_000, " a%d") + ">" + r("<p>x", 5_000), 0, false},
		{"attributes added to the body", many(30_000, "<body a%d=1>") + "<a href=x>bee</a>", 1, false},
		{"a tag of 100,000 attributes", "<p " + r("a ", 100_000) + "><a href=x>bee</a>", 1, false},
		{"a long text", "<p>" + r("bee ", 300_000), 0, true},
		{"a long title", "<title>" + r("bee ", 100_000) + "</title><a href=x>bee</a>", 1, false},
		{"a long tag name", "<" + r("x", 1_000_000) + "><a href=x>bee</a>", 1, false},
		{"unclosed everything", r("<p><a href=x><b><i>", 10_000), 1, false},
		{"50,000 headings", r("<h2>x</h2>", 50_000) + "<a href=x>bee</a>", 1, false},
		{"many entities", "<p>" + r("&amp;", 300_000), 0, false},
		{"NUL bytes", r("\x00", 400_000) + "<a href=x>bee</a>", 1, true},
		{"a link behind the bound", r("<br>", 110_000) + "<a href=x>bee</a>", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p := page(t, c.body)
			runtime.ReadMemStats(&after)
			if len(p.Links) < c.links || p.Truncated != c.truncated {
				t.Errorf("%d links, truncated %v, want at least %d, %v", len(p.Links), p.Truncated, c.links, c.truncated)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 512 {
				t.Errorf("took %d MiB for a body of %d MiB", used, len(c.body)>>20)
			}
			check(t, p)
		})
	}
}

// many is n times a piece of markup, each with its number.
func many(n int, piece string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, piece, i)
	}
	return b.String()
}

// check asserts what holds for every page.
func check(t interface {
	Helper()
	Errorf(string, ...any)
}, p *web.Page) {
	t.Helper()
	tidy := func(what, s string, limit int) {
		if !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0 || len(s) > limit {
			t.Errorf("%s of %d bytes: %.200q", what, len(s), s)
		}
	}
	const whole = 1 << 20
	tidy("title", p.Title, 1<<10)
	tidy("description", p.Description, 4<<10)
	tidy("keywords", p.Keywords, 4<<10)
	tidy("main", p.Main, whole)
	tidy("MIME", p.MIME, 100)
	tidy("language", p.Language, 2)
	for _, s := range slices.Concat(p.Headings, p.Alts) {
		tidy("heading or alt", s, 1<<10)
	}
	for _, l := range p.Leaves {
		tidy("leaf", l.Text, whole)
	}
	if !slices.IsSortedFunc(p.Terms, func(a, b web.Term) int { return strings.Compare(a.Text, b.Text) }) {
		t.Errorf("terms are not in order")
	}
	for _, term := range p.Terms {
		if tidy("term", term.Text, 160); term.Text == "" || term.Head < 0 || term.Body < max(1, term.Head) {
			t.Errorf("term %+v", term)
		}
	}
	first := 0
	for i, l := range p.Links {
		tidy("anchor", l.Anchor, 1<<10)
		tidy("before", l.Before, 256)
		tidy("after", l.After, 256)
		tidy("heading", l.Heading, 1<<10)
		tidy("tag path", l.TagPath, 200)
		if l.URL.IsZero() || l.URL == p.URL || l.Kind == "" || l.Position != i {
			t.Errorf("link %d: %+v", i, l)
		}
		if n := len(strings.Fields(l.Before)); n > 10 {
			t.Errorf("link %d has %d words before it", i, n)
		}
		if n := len(strings.Fields(l.After)); n > 10 {
			t.Errorf("link %d has %d words after it", i, n)
		}
		switch {
		case l.First > l.Last && l.First == 0 && l.Last == -1:
		case l.First < first || l.Last < l.First || l.Last >= len(p.Leaves):
			t.Errorf("link %d spans %d…%d of %d leaves; the one before starts at %d", i, l.First, l.Last, len(p.Leaves), first)
		default:
			first = l.First
		}
	}
}

// soup draws markup of all the kinds the parser has rules for.
func soup() *rapid.Generator[string] {
	tags := []string{"a", "b", "p", "div", "table", "tr", "td", "ul", "li", "h1", "h2", "nav", "font", "select", "option", "svg",
		"math", "script", "style", "title", "template", "noscript", "frameset", "frame", "iframe", "body", "html", "head", "br",
		"img", "form", "textarea", "em", "section", "caption", "base", "meta", "link", "area"}
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "bee", "the dance", "\n", "蜜蜂", "&amp;", "\x00", "\u202e", "\xff", "<!-- c -->", "\u00a0", "é"}),
		rapid.Custom(func(t *rapid.T) string {
			tag := rapid.SampledFrom(tags).Draw(t, "tag")
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				return "</" + tag + ">"
			case 1:
				return "<" + tag + ">"
			default:
				attr := rapid.SampledFrom([]string{"href=x", "src=y", `class="a b"`, "alt=z", "rel=next href=n", "rel=nofollow href=q#f",
					`http-equiv=refresh content="0;url=r"`, "lang=en", "href=/", `name=robots content=noindex`}).Draw(t, "attr")
				return "<" + tag + " " + attr + ">"
			}
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
	})
}

func TestPagesAreWellFormed(t *testing.T) {
	shared := parse.New(parse.Options{})
	rapid.Check(t, func(rt *rapid.T) {
		r := response(t, "text/html", soup().Draw(rt, "body"))
		p, err := shared.Parse(r)
		if err != nil {
			rt.Fatal(err)
		}
		check(rt, p)
		// What a parser saw before makes no difference.
		fresh, _ := parse.New(parse.Options{Analyzer: analyzer}).Parse(r)
		if !reflect.DeepEqual(p, fresh) {
			rt.Fatalf("a used parser gives\n%+v\na fresh one\n%+v", p, fresh)
		}
	})
}

// White space between tags is layout: without it, the leaves are the same.
func TestLayoutMakesNoLeaves(t *testing.T) {
	p := page(t, article)
	q := page(t, strings.ReplaceAll(article, "\n<", "<"))
	if !slices.Equal(p.Leaves, q.Leaves) {
		t.Errorf("leaves\n%q, without line breaks\n%q", p.Leaves, q.Leaves)
	}
}

func TestConcurrentUse(t *testing.T) {
	parser := parse.New(parse.Options{})
	bodies := []string{article, "<frameset><frame src=x>", strings.Repeat("<p>bees <a href=y>dance</a>", 500), ""}
	var wg sync.WaitGroup
	for i := range 40 {
		body := bodies[i%len(bodies)]
		wg.Go(func() {
			got, err := parser.Parse(response(t, "text/html; charset=utf-8", body))
			if err != nil {
				t.Error(err)
			} else if want := page(t, body); !reflect.DeepEqual(got, want) {
				t.Errorf("page of %.40q differs", body)
			}
		})
	}
	wg.Wait()
}

func FuzzParse(f *testing.F) {
	const html, xhtml, plain = byte(0), byte(1), byte(2)
	types := append(parse.Types(), "", "image/png")
	f.Add(html, "", []byte(article))
	f.Add(html, "shift_jis", []byte("<p>\x83\x7e<a href=x>\x00"))
	f.Add(xhtml, "", []byte("<a/><script/><b href=x>"))
	f.Add(plain, "", []byte("a\x00b"))
	f.Add(html, "", []byte(strings.Repeat("<div><table>", 300)+"<a href=x>"))
	f.Add(html, "", []byte("<frameset><frame src=x><svg><title><a href=y>"))
	parser := parse.New(parse.Options{MaxTags: 2000, MaxLinks: 20, MaxLeaves: 50, MaxText: 1000})
	f.Fuzz(func(t *testing.T, kind byte, charset string, body []byte) {
		contentType := types[int(kind)%len(types)]
		if charset != "" {
			contentType += "; charset=" + charset
		}
		r := response(t, contentType, string(body))
		p, err := parser.Parse(r)
		if err != nil {
			if !errors.Is(err, parse.ErrType) {
				t.Fatal(err)
			}
			return
		}
		check(t, p)
		if len(p.Links) > 20 || len(p.Leaves) > 50 {
			t.Errorf("%d links, %d leaves", len(p.Links), len(p.Leaves))
		}
	})
}
