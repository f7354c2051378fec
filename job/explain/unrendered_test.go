package explain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// Of a page that was fetched and not rendered it is told why.
func TestUnrendered(t *testing.T) {
	const script = "<script src=/go.js></script>"
	full := "<p>" + strings.Repeat("bee ", 200) + "<a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>"
	site := madecrawl.Site{
		"https://bees.test/":      {Body: full + "<a href=/plain>p</a><a href=/login>l</a><a href=/short>s</a>" + script},
		"https://bees.test/plain": {Body: "<p>bee"},
		"https://bees.test/login": {Body: "<title>Sign in</title><form>bee <input type=password></form>" + script},
		"https://bees.test/short": {Body: "<p>bee</p>" + script},
	}
	dir := filepath.Join(t.TempDir(), "bees")
	col := madecrawl.Crawl(t, dir, "bees", site, "https://bees.test/")
	for _, c := range []struct{ render, path, want string }{
		{"auto", "", "pages with text and links as they are sent are expected to gain too little"},
		{"auto", "plain", "there is no script in it that a browser would run"},
		{"auto", "login", "its title says that it asks for a login"},
		{"auto", "short", "the web is a recorded one, or no browser was found (older logs do not say). No page was rendered before it."},
		{"always", "plain", "the crawl had no browser; a crawl of a recorded web never has one"},
		{"never", "short", "rendering is off (fetch.render: never)"},
	} {
		if err := os.WriteFile(col.JobFile(), []byte("name: bees\ntopic: {keywords: [bee]}\nfetch: {render: "+c.render+"}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, doubts strings.Builder
		if _, err := Explain(t.Context(), &out, col, nil, addr(t, "https://bees.test/"+c.path), func(what string, err error) { doubts.WriteString(what + ": " + err.Error() + "\n") }); err != nil {
			t.Fatal(err)
		}
		if line := "\nNo browser was asked for it: "; !strings.Contains(out.String(), line) || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s, /%s: want %q in\n%s%s", c.render, c.path, c.want, &out, &doubts)
		}
	}
}

// What a browser made of a page is told, and whether the page is what it made or what was sent.
func TestRenderedBy(t *testing.T) {
	for _, c := range []struct {
		r    event.Rendered
		want string
	}{
		{event.Rendered{Took: 2, Words: 90, Links: 7, SentWords: 10, SentLinks: 1},
			"A browser rendered it in 2s: 90 words and 7 links, where 10 and 1 were sent."},
		{event.Rendered{Took: 2, Words: 3, Links: 7, SentWords: 10, SentLinks: 1, AsSent: true},
			"A browser rendered it in 2s: 3 words and 7 links, where 10 and 1 were sent, so it is as it was sent."},
		{event.Rendered{Took: 2, Words: 90, Links: 0, SentWords: 10, SentLinks: 1, AsSent: true},
			"A browser rendered it in 2s: 90 words and 0 links, where 10 and 1 were sent, so it is as it was sent."},
		{event.Rendered{Took: 2, AsSent: true},
			"A browser was to render it and brought no document, so it is as it was sent."},
		{event.Rendered{Took: 2, Again: 1, AsSent: true},
			"A browser was to render it and brought no document, so it is as it was sent; its browser was gone before the page had been shown, so it was rendered again (1 time)."},
	} {
		if got := renderedBy(&c.r); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.r, got, c.want)
		}
	}
}
