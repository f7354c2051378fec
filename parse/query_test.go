package parse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// encodedPage is a page in an encoding.
func encodedPage(t *testing.T, label, body string) *web.Response {
	t.Helper()
	e, err := htmlindex.Get(label)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.NewEncoder().String(body)
	if err != nil {
		t.Fatal(err)
	}
	return response(t, "text/html; charset="+label, b)
}

func addresses(p *web.Page) (all []string) {
	for _, l := range p.Links {
		all = append(all, l.URL.String())
	}
	return all
}

// The query of a link is in the encoding of its page, as browsers have it; its path is in UTF-8.
//
// The bytes are those of the indexes of the Encoding Standard.
func TestQueriesInTheEncodingOfThePage(t *testing.T) {
	for _, c := range []struct{ label, ref, want string }{
		{"utf-8", "/s?q=привет", "/s?q=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82"},
		{"utf-16le", "/s?q=й", "/s?q=%D0%B9"},
		{"windows-1251", "/s?q=привет", "/s?q=%EF%F0%E8%E2%E5%F2"},
		{"windows-1251", "/путь?q=й&amp;p=a b", "/%D0%BF%D1%83%D1%82%D1%8C?q=%E9&p=a%20b"},
		{"windows-1251", "?q=й#й", "/dir/page.html?q=%E9"},
		{"windows-1251", "/s#?q=й", "/s"},
		{"windows-1251", "/s?q=%D0%B9", "/s?q=%D0%B9"},
		{"windows-1251", "/s?q=й&#8364;&#228;й", "/s?q=%E9%88%26%23228%3B%E9"},
		{"koi8-r", "//b.example/?q=ат", "http://b.example/?q=%C1%D4"},
		{"gbk", "/s?q=中文", "/s?q=%D6%D0%CE%C4"},
		{"gb2312", "/s?q=中&#128512;文", "/s?q=%D6%D0%26%23128512%3B%CE%C4"},
		{"gb18030", "/s?q=&#128512;", "/s?q=%949%FC6"}, // 94 39 FC 36
		{"big5", "/s?q=中文", "/s?q=%A4%A4%A4%E5"},
		{"shift_jis", "/s?q=日本", "/s?q=%93%FA%96%7B"},
		{"shift_jis", "/s?q=ア/ソ", "/s?q=%83A/%83%5C"},
		{"euc-jp", "/s?q=日本", "/s?q=%C6%FC%CB%DC"},
		{"iso-2022-jp", "/s?q=日本&amp;p=1", "/s?q=%1B$BF%7CK%5C%1B(B&p=1"},
		{"iso-2022-jp", "/s?q=ア", "/s?q=%1B$B%25%22%1B(B"},
		{"euc-kr", "/s?q=한글", "/s?q=%C7%D1%B1%DB"},
		{"iso-8859-1", "/s?q=é", "/s?q=%E9"},
		{"iso-8859-1", "/s?q=&#8364;&#1078;", "/s?q=%80%26%231078%3B"},
		{"iso-8859-15", "/s?q=€", "/s?q=%A4"},
	} {
		r := encodedPage(t, c.label, `<title>x</title><p>a page <a href="`+c.ref+`">link</a>`)
		p := parse.New(parse.Options{Analyzer: analyzer})
		compare(t, p, r)
		got, err := p.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		want := c.want
		if want[0] == '/' {
			want = "http://example.org" + want
		}
		if all := addresses(got); !slices.Equal(all, []string{want}) {
			t.Errorf("%s: %s leads to %q, want %s", c.label, c.ref, all, want)
		}
	}
}

// A page that needs a tree, and one that was rendered, have the links that it has otherwise.
func TestQueriesOfOtherWays(t *testing.T) {
	p := parse.New(parse.Options{Analyzer: analyzer, Sources: []parse.Source{parse.SourceJSONLD, parse.SourceScripts, parse.SourceHeaders}})
	const link = `<a href="/s?q=й">link</a>`
	want := []string{"http://example.org/s?q=%E9"}

	r := encodedPage(t, "windows-1251", `<table><p>`+link+`<b><p></b></table>`)
	if compare(t, p, r) == "" {
		t.Error("the page needs no tree")
	}
	got, err := p.Parse(r)
	if err != nil || !slices.Equal(addresses(got), want) {
		t.Errorf("by way of a tree: %q, %v", addresses(got), err)
	}

	r = encodedPage(t, "windows-1251", "<p>as sent")
	r.Rendering = &web.Rendering{Body: []byte("<p>й " + link)}
	if got, err = p.Parse(r); err != nil || !slices.Equal(addresses(got), want) || got.Charset != "utf-8" {
		t.Errorf("rendered: %q, %s, %v", addresses(got), got.Charset, err)
	}
	r = response(t, "text/html", "<meta charset=windows-1251><p>as sent")
	r.Rendering = &web.Rendering{Body: []byte("<p>й " + link)}
	if got, err = p.Parse(r); err != nil || !slices.Equal(addresses(got), want) {
		t.Errorf("rendered, by its meta element: %q, %v", addresses(got), err)
	}

	// What is data is in UTF-8 wherever it stands.
	r = encodedPage(t, "windows-1251", `<script type="application/ld+json">{"url":"/d?q=й"}</script><script>x="/c?q=й"</script>`+link)
	r.Header["Link"] = []string{`</h?q=й>; rel=next`}
	if got, err = p.Parse(r); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range got.Links {
		all = append(all, fmt.Sprint(l.Kind, " ", l.URL.RequestPath()))
	}
	slices.Sort(all)
	if want := []string{"a /s?q=%E9", "header /h?q=%D0%B9", "json-ld /d?q=%D0%B9", "script /c?q=%D0%B9"}; !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
}

// A form is sent in the encoding of its page, or in the one that it names.
func TestFormsInTheEncodingOfThePage(t *testing.T) {
	const fields = `<input name="имя" value="привет &amp; 100%"><input name=b value="&#228;~"></form>`
	for _, c := range []struct{ label, form, want string }{
		{"windows-1251", `<form action="/путь">`, "/%D0%BF%D1%83%D1%82%D1%8C?b=%26%23228%3B~&%E8%EC%FF=%EF%F0%E8%E2%E5%F2+%26+100%25"},
		{"windows-1251", `<form action=/s accept-charset="klingon-8 koi8-r">`, "/s?b=%26%23228%3B~&%C9%CD%D1=%D0%D2%C9%D7%C5%D4+%26+100%25"},
		{"windows-1251", `<form action=/s accept-charset=utf-8>`, "/s?b=%C3%A4~&%D0%B8%D0%BC%D1%8F=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82+%26+100%25"},
		{"utf-8", `<form action=/s>`, "/s?b=%C3%A4~&%D0%B8%D0%BC%D1%8F=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82+%26+100%25"},
	} {
		p := parse.New(parse.Options{Analyzer: analyzer, Sources: []parse.Source{parse.SourceForms}})
		r := encodedPage(t, c.label, c.form+fields)
		compare(t, p, r)
		got, err := p.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		if all := addresses(got); !slices.Equal(all, []string{"http://example.org" + c.want}) {
			t.Errorf("%s, %s leads to\n%q, want\n%q", c.label, c.form, all, c.want)
		}
	}
}

// A text of a form that is so long that it is cut within a character is sent all the same.
func TestTextOfAFormIsCut(t *testing.T) {
	for label, letter := range map[string]string{"windows-1251": "ж", "shift_jis": "ア", "gbk": "中", "euc-kr": "한", "iso-8859-1": "é"} {
		for n := range 4 {
			body := `<form action=/find><textarea name=q>` + strings.Repeat("x", n) + strings.Repeat(letter, 3000) + `</textarea></form>`
			p, err := parse.New(parse.Options{Sources: []parse.Source{parse.SourceForms}}).Parse(encodedPage(t, label, body))
			if err != nil {
				t.Fatal(err)
			}
			if all := addresses(p); len(all) != 1 || !strings.Contains(all[0], "/find?q="+strings.Repeat("x", n)+"%") {
				t.Errorf("%s, behind %d letters: %.100q", label, n, all)
			}
		}
	}
}
