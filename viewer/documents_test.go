package viewer

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// typed is a web whose bodies are "type|body".
type typed map[string]string

func (s typed) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	kind, body, ok := strings.Cut(s[u.String()], "|")
	if !ok {
		return site{}.Fetch(ctx, u)
	}
	r, err := site{u.String(): body}.Fetch(ctx, u)
	r.Header["Content-Type"] = []string{kind}
	r.Head = []byte("HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n")
	return r, err
}

// A document that is no page in HTML is shown as a reader sees it: a text as it was sent, line
// by line, and others as the HTML that was made of them. Nothing of one acts.
func TestDocumentsAreShown(t *testing.T) {
	const act = `<script>alert(1)</script><img src=x onerror=alert(1)>`
	s := typed{
		"https://bees.test/":            `text/html|<title>Bees</title><p>The honey bee. <a href="/dance.txt">1</a> <a href="/alt.txt">2</a> <a href="/counts.csv">3</a> <a href="/dance.md">4</a> <a href="/winter.json">5</a>`,
		"https://bees.test/dance.txt":   "text/plain|The honey bee\n=============\n\n  hive    12 " + act + "\n  comb     3\n",
		"https://bees.test/alt.txt":     "text/plain; charset=iso-8859-1|The honey bee, or Honigbl\xfcte\n",
		"https://bees.test/counts.csv":  "text/csv|hive of the honey bee," + act + "\nnorth,12\n",
		"https://bees.test/dance.md":    "text/markdown|# Waggle dance\n\nThe *honey* bee " + act + "\n",
		"https://bees.test/winter.json": `application/json|{"title": "Winter", "text": "The honey bee <b>rests</b>"}`,
	}
	docs, done := job.LocalDocuments()
	w, err := collection.At(filepath.Join(t.TempDir(), "bees")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	none := job.Duration(0)
	m := &job.Maker{Writer: w, Fetcher: s, Documents: docs, Job: &job.Job{
		Name: "bees", Seeds: []string{"https://bees.test/"}, Topic: job.Topic{Keywords: []string{"honey bee"}},
		Fetch: job.Fetch{Workers: 1, Types: []string{"all"}}, Politeness: job.Politeness{Delay: &none},
	}}
	crawlBy(t, m)
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	d := serveWith(t, Options{Documents: docs, Collections: []collection.Collection{w.Collection}})
	for path, x := range map[string]struct{ want, never string }{
		"dance.txt":   {"<pre>\nThe honey bee\n=============\n\n  hive    12 &lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\n  comb     3\n</pre>", "&lt;p&gt;"},
		"alt.txt":     {"Honigblüte", "&lt;p&gt;"},
		"counts.csv":  {"<td>12</td>", "&lt;td"},
		"dance.md":    {"<em>honey</em> bee", "&lt;em"},
		"winter.json": {"The honey bee &lt;b&gt;rests", "&lt;p&gt;"},
	} {
		var p bodyView
		d.get("body?url="+url.QueryEscape("https://bees.test/"+path), &p)
		got, doc := d.ask("/"+d.folder+"/"+p.Src, "Sec-Fetch-Dest", "iframe")
		if got.StatusCode != 200 || !strings.Contains(string(doc), x.want) || strings.Contains(string(doc), x.never) {
			t.Errorf("%s: %d, want %q and no %q in\n%s", path, got.StatusCode, x.want, x.never, doc)
		}
		if strings.Contains(string(doc), "<script") || strings.Contains(string(doc), "<img") {
			t.Errorf("%s acts:\n%s", path, doc)
		}
	}
}
