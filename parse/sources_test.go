package parse_test

import (
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

const sourcesPage = `<!doctype html><head><title>Bees</title>
<link rel=alternate hreflang=de href=/de/>
<link rel=alternate type=application/rss+xml title=News href=/feed>
<link rel=sitemap href=/sitemap.xml>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Article","headline":"Dance","url":"https://a.example/dance","image":"https://a.example/i.png","hasPart":[{"name":"Two","@id":"/two"}]}</script>
<script>var next = "/page/3", api='https:\/\/a.example\/list?x=1', s = "/style.css", t = "a / b";</script>
</head><body><p><a href=/a>a</a>
<form action=/find name=search><input type=hidden name=lang value=en><input name=q><select name=s><option value=1>one<option value=2 selected>two</select><input type=submit name=go value=Go></form>
<form method=post action=/buy><input name=x value=1></form>
<form action=/login><input name=user value=me><input type=password name=p></form>
</body>`

// Each source of links can be asked for by itself, and a link names the one it is of.
func TestSources(t *testing.T) {
	header := web.Header{"Content-Type": {"text/html"}, "Link": {`</next>; rel="next"; title="On \"and\" on", <style.css>; rel=preload`, `<https://a.example/f>; type="application/atom+xml"; rel=alternate`}}
	always := "a /a"
	for _, c := range []struct {
		sources []parse.Source
		want    string
	}{
		{nil, "alternate /de/|" + always},
		{[]parse.Source{}, always},
		{[]parse.Source{parse.SourceAlternates}, "alternate /de/|" + always},
		{[]parse.Source{parse.SourceHeaders}, always + `|header /next "On "and" on"`},
		{[]parse.Source{parse.SourceFeeds}, `feed /feed "News"|` + always},
		{[]parse.Source{parse.SourceFeeds, parse.SourceHeaders}, `feed /feed "News"|` + always + `|header /next "On "and" on"|feed /f`},
		{[]parse.Source{parse.SourceSitemaps}, "sitemap /sitemap.xml|" + always},
		{[]parse.Source{parse.SourceJSONLD}, always + `|json-ld /two "Two"|json-ld /dance "Dance"`},
		{[]parse.Source{parse.SourceScripts}, always + "|script /page/3|script /list?x=1"},
		{[]parse.Source{parse.SourceForms}, always + `|form /find?lang=en&q=&s=2 "search"|form /find?lang=en&q=&s=1 "search"`},
	} {
		u, _ := web.Parse("https://a.example/")
		p, err := parse.New(parse.Options{Sources: c.sources}).Parse(&web.Response{URL: u, Status: 200, Header: header, Body: []byte(sourcesPage)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, l := range p.Links {
			s := string(l.Kind) + " " + l.URL.RequestPath()
			if l.Anchor != "" && l.Kind != web.LinkA {
				s += ` "` + l.Anchor + `"`
			}
			got = append(got, s)
			if l.Position != i {
				t.Errorf("%v: link %d says that it is %d", c.sources, i, l.Position)
			}
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.sources, s, c.want)
		}
	}
}

// Whatever scripts, JSON-LD, forms and headers hold, no more comes of them than the bounds
// allow, and it comes soon.
func FuzzSources(f *testing.F) {
	f.Add(sourcesPage, `</next>; rel="next"; title="On \"and\"`)
	f.Add(`<script type="application/ld+json">`+strings.Repeat(`{"a":[`, 1000), strings.Repeat("<a>;rel=next,", 300))
	f.Add("<form>"+strings.Repeat("<select name=s><option value=1>", 100), "<")
	p := parse.New(parse.Options{Sources: parse.Sources(), MaxLinks: 2000})
	f.Fuzz(func(t *testing.T, body, link string) {
		u, _ := web.Parse("https://a.example/")
		page, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}, "Link": {link}}, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Links) > 2000 {
			t.Errorf("%d links", len(page.Links))
		}
	})
}

// A form leads to what a browser sends of it, and to each value of its first choice.
func TestForms(t *testing.T) {
	for fields, want := range map[string]string{
		`<input name=q>`: "", // nothing is filled in
		`<input name=q><input name=lang value=en>`:                                         "/?lang=en&q=",
		`<select name=s><option>bees<option selected> wild <b>bees</b> </option></select>`: "/?s=wild+bees /?s=bees",
		`<select name=s><option value="">all<option>hives</select>`:                        "/?s= /?s=hives",
		`<textarea name=t>` + "\n" + `two hives</textarea>`:                                "/?t=two+hives",
		`<textarea name=t></textarea><input name=a value=1>`:                               "/?a=1&t=",
		`<input type=radio name=r value=1><input type=radio name=r value=2>`:               "/?r=1 /?r=2",
		`<input name=a value=1><input type=radio name=r value=1>`:                          "/?a=1 /?a=1&r=1",
		`<input type=radio name=r value=1><input type=radio name=r value=2 checked>`:       "/?r=2 /?r=1",
		`<input type=checkbox name=c checked><input type=checkbox name=d>`:                 "/?c=on",
		`<select name=s><option>a</select><select name=u><option>x<option>y</select>`:      "/?s=a&u=x",
		`<input name=a value=1><input name=b value=2 disabled>`:                            "/?a=1",
		`<select name=s><option>a</select><p>text</p><textarea name=t>x</textarea>`:        "/?s=a&t=x",
		many(50, "<input name=a%d value=1>") + `<input type=password name=p>`:              "",
		many(51, "<input name=a%d value=1>") + `<input type=file name=p>`:                  "",
	} {
		if s := formLinks(t, fields); s != want {
			t.Errorf("%s: %q, want %q", fields, s, want)
		}
	}
}

// formLinks are the paths that a form with such fields leads to.
func formLinks(t *testing.T, fields string) string {
	t.Helper()
	u, _ := web.Parse("https://a.example/")
	p, err := parse.New(parse.Options{Sources: []parse.Source{parse.SourceForms}, Analyzer: analyzer}).Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte("<!doctype html><form>" + fields + "</form>")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.Links {
		got = append(got, l.URL.RequestPath())
	}
	return strings.Join(got, " ")
}

// A form that holds more than an address does leads nowhere, and is not written out for each
// option.
func TestLargeForm(t *testing.T) {
	fields := `<input name=q value="` + strings.Repeat("b", 1<<20) + `"><select name=s>` + strings.Repeat("<option value=x>", 50) + "</select>"
	var got string
	if used := allocated.By(func() { got = formLinks(t, fields) }); used > 64<<20 || got != "" {
		t.Errorf("%d MiB for a form of 1 MiB, which leads to %.100q", used>>20, got)
	}
}

// What is found in a source of a page has its bound, in however many pieces it stands.
func TestSourcesOfManyPieces(t *testing.T) {
	body := many(300, `<script type="application/ld+json">[{"url":"/d%[1]d"},{"url":"/e%[1]d"}]</script><script>a = "/s%[1]d"</script><form action=/f%[1]d><input name=q value=1></form>`)
	u, _ := web.Parse("https://a.example/")
	p, err := parse.New(parse.Options{Sources: parse.Sources(), Analyzer: analyzer}).Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte("<!doctype html>" + body)})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[web.LinkKind]int{}
	for _, l := range p.Links {
		kinds[l.Kind]++
	}
	if kinds[web.LinkJSONLD] != 500 || kinds[web.LinkScript] != 200 || kinds[web.LinkForm] != 50 {
		t.Errorf("links: %v, want 500 of JSON-LD, 200 of scripts, 50 of forms", kinds)
	}
}
