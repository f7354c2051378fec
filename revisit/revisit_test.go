package revisit

import (
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// What a reader sees to be other is a change, and what only the bytes tell is none.
func TestWordsTellChanges(t *testing.T) {
	page := func(html string) *web.Page {
		u, _ := web.Parse("https://a.example/")
		p, err := parse.New(parse.Options{Analyzer: parse.NewAnalyzer("en")}).Parse(&web.Response{
			URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte("<!doctype html>" + html)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name, before, after string
		changed             bool
	}{
		{"a number", "<p>visitors 12345678", "<p>visitors 87654321", true},
		{"a digit", "<p>version 1", "<p>version 2", true},
		{"a common word", "<p>the offer is valid", "<p>the offer is not valid", true},
		{"title and heading", "<title>version 1</title><h1>version 1</h1>", "<title>version 2</title><h1>version 2</h1>", true},
		{"the title alone", "<title>version 1</title><p>x", "<title>version 2</title><p>x", true},
		{"a price", "<p>10 EUR", "<p>25 EUR", true},
		{"a sign", "<p>-5 °C", "<p>5 °C", true},
		{"Chinese", "<p>三", "<p>九", true},
		{"how often", "<p>bee bee", "<p>bee", true},
		{"the form of a word", "<p>bee", "<p>bees", true},
		{"a comment", "<p>bee<!-- 1 -->", "<p>bee<!-- 2 -->", false},
		{"a script", "<p>bee<script>var t = 1</script>", "<p>bee<script>var t = 2</script>", false},
		{"a style", "<style>p{margin:1px}</style><p>bee", "<style>p{margin:2px}</style><p>bee", false},
		{"an attribute", "<p class=a1>bee", "<p class=a2>bee", false},
		{"white space", "<p>a bee", "<p>a\n   bee", false},
		{"order", "<ul><li>bee<li>wasp</ul>", "<ul><li>wasp<li>bee</ul>", false},
		{"a hidden token", "<form><input type=hidden value=a1></form><p>bee", "<form><input type=hidden value=a2></form><p>bee", false},
	} {
		before, after := wordsOf(page(c.before)), wordsOf(page(c.after))
		if (before != after) != c.changed {
			t.Errorf("%s: changed is %v", c.name, !c.changed)
		}
		if !strings.HasPrefix(before, asWritten) || strings.HasPrefix(termsOf(page(c.before)), asWritten) {
			t.Errorf("%s: %s cannot be told from what earlier versions wrote", c.name, before)
		}
	}
}
