package hollow_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// FuzzReason gives pages of anybody: none ends the rules, and a page says the same twice.
func FuzzReason(f *testing.F) {
	for _, w := range furtherWalls {
		f.Add(w.title, w.body)
	}
	f.Add("\xff cookies policy", "<button>\xe3\x82</button><p>404")
	u, err := web.Parse("https://a.example/")
	if err != nil {
		f.Fatal(err)
	}
	parser := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	f.Fuzz(func(t *testing.T, title, body string) {
		p, err := parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<title>" + title + "</title>" + body)})
		if err != nil {
			return
		}
		first := hollow.Reason(p)
		if again := hollow.Reason(p); again != first {
			t.Errorf("%q, and %q the second time", first, again)
		}
		if terms := hollow.Refusal(403, p); first == web.ReasonLogin && terms != first {
			t.Errorf("a login is %q with status 403", terms)
		}
	})
}
