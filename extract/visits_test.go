package extract

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/web"
)

// A selector that would look at the same siblings or texts for ever is ended, and the page says
// so; on pages as they are it finds all.
func TestVisitsAreBounded(t *testing.T) {
	rows := func(n int) string { return "<table>" + strings.Repeat("<tr>", n) }
	nested := func(n, bytes int) string {
		return strings.Repeat("<div>", n) + "<template><p>" + strings.Repeat("y", bytes) + "</template>x"
	}
	article := strings.Repeat("<div>", 100) + "<h2 title=a:b>Article</h2>" + strings.Repeat("y", 400_000)
	for _, c := range []struct {
		css, body string
		found     int // -1: it is ended
	}{
		{"tr:nth-child(even)", rows(2000), 1000},
		{`tr:\6eth-child(even)`, rows(50_000), -1},
		{"tr:only-of-type", rows(50_000), -1},
		{"tr", rows(50_000), 50_000},
		{"tr:not(:first-child)", rows(50_000), 49_999},
		{"tr:not(:last-child)", rows(50_000), 49_999},
		{"div:contains(x)", nested(300, 10_000), 300},
		{"div:contains(x)", nested(300, 2_000_000), -1},
		{"div:has(:containsown(x))", nested(300, 1000), 299},
		{"div:matches(x)", nested(300, 200_000), -1},
		{"div:has(:contains(x))", nested(300, 20_000), -1},
		{"h2:matches(^Art)", article, 1},
		{"[title='a:b']:matches(^Art)", article, 1},
		{`h\32:matches(^Art)`, article, 1},
	} {
		root, err := html.Parse(strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		sel, err := compileCSS(c.css)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPage(web.URL{}, root)
		found := len(p.find(c.css, sel))
		if p.Short() != (c.found < 0) || c.found >= 0 && found != c.found {
			t.Errorf("%s on %d bytes: %d elements, ended: %v; want %d", c.css, len(c.body), found, p.Short(), c.found)
		}
	}
}
