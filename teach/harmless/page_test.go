package harmless_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	. "github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/web"
)

// FuzzShow shows any page at all, and looks at what a browser would make of it.
func FuzzShow(f *testing.F) {
	f.Add(strings.TrimPrefix(harmlesstest.Hostile, "text/html; charset=utf-8:"))
	f.Add("<p>Bees <a href=/dept/>dance</a> <img src=bee.png alt=bee>")
	parser := parse.New(parse.Options{Analyzer: text.NewAnalyzer()})
	u, err := web.Parse("http://college.test/any")
	if err != nil {
		f.Fatal(err)
	}
	path := func(prefix string) func(int) string {
		return func(k int) string { return fmt.Sprintf("/%s/CAP/1/%d", prefix, k) }
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(src)})
		if err != nil {
			return // no page
		}
		got := Options{LinkPath: path("page"), ResourcePath: path("load"), Styles: true, Images: true}.Show(p, strings.ToValidUTF8(src, "\uFFFD"))
		if err := harmlesstest.Check(string(got.HTML), "CAP"); err != nil {
			t.Fatalf("%v\n%q\n%s", err, src, got.HTML)
		}
		// A browser that is shown its own reading of it reads the same: markup
		// cannot turn into other markup.
		root, err := html.Parse(bytes.NewReader(got.HTML))
		if err != nil {
			t.Fatal(err)
		}
		var again strings.Builder
		if err := html.Render(&again, root); err != nil {
			return // too deep to be written
		}
		if err := harmlesstest.Check(again.String(), "CAP"); err != nil {
			t.Fatalf("read twice: %v\n%q\n%s", err, src, again.String())
		}
	})
}
