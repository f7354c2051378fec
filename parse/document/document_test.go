package document_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/web"
)

// zipped makes a zip file of the files of an archive in text.
func zipped(t testing.TB, archive string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		method := zip.Deflate
		if f.Name == "mimetype" {
			method = zip.Store
			f.Data = bytes.TrimSpace(f.Data)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: method})
		if err == nil {
			_, err = w.Write(f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What becomes of documents of each kind: the command is the kind, its input the
// document, or the files of a zip file.
func TestKinds(t *testing.T) {
	datadriven.RunTest(t, "testdata/kinds.txt", func(t *testing.T, d *datadriven.TestData) string {
		src := []byte(d.Input)
		switch document.Kind(d.Cmd) {
		case document.Word, document.Open, document.EPUB:
			src = zipped(t, d.Input)
		case document.RTF:
			src = bytes.ReplaceAll(src, []byte("\\NUL"), []byte{0})
		}
		var l document.Limits
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "html":
				a.Scan(t, 0, &l.HTML)
			case "depth":
				a.Scan(t, 0, &l.Depth)
			case "links":
				a.Scan(t, 0, &l.Links)
			case "gzip":
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(src)
				z.Close()
				src = b.Bytes()
			case "latin1":
				src = bytes.ReplaceAll(src, []byte("ä"), []byte{0xe4})
			}
		}
		html, cut, err := document.Local{Limits: l}.HTML(document.Kind(d.Cmd), src, "")
		if err != nil {
			return err.Error() + "\n"
		}
		out := string(html)
		for _, end := range []string{"</head>", "</p>", "</h1>", "</h2>", "</li>", "</tr>", "</table>", "</div>", "</ul>", "</section>", "</article>", "<body>"} {
			out = strings.ReplaceAll(out, end, end+"\n")
		}
		out = strings.TrimPrefix(out, `<!doctype html>`)
		var lines []string
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		if cut {
			lines = append(lines, "cut")
		}
		return strings.Join(lines, "\n") + "\n"
	})
}

// A document is known by how it begins before it is by what its server says of it, and
// by that before its name.
func TestWhichKind(t *testing.T) {
	word := string(zipped(t, "-- [Content_Types].xml --\n<Types/>\n-- word/document.xml --\n<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>bees</w:t></w:r></w:p></w:body></w:document>\n"))
	ofOfficeOnline := string(zipped(t, "-- [Content_Types].xml --\n<Types/>\n-- _rels/.rels --\n<Relationships><Relationship Type='http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument' Target='word/document2.xml'/></Relationships>\n-- word/document2.xml --\n<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>bees</w:t></w:r></w:p></w:body></w:document>\n"))
	rss := "<?xml version='1.0'?><!-- <html> --><rss><channel><item><title>bees</title></item></channel></rss>"
	for _, c := range []struct{ name, mediaType, body, want string }{
		{"a", "application/octet-stream", word, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.zip", "application/zip", word, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a", "application/octet-stream", ofOfficeOnline, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.doc", "application/msword", "{\\rtf1 bees}", "application/rtf"},
		{"a", "text/plain", "bees", "text/plain"},
		{"a.md", "text/plain; charset=utf-8", "# bees", "text/markdown"},
		{"a.csv", "text/plain", "bees,wasps", "text/csv"},
		{"a.csv", "application/octet-stream", "bees,wasps", "text/csv"},
		{"a", "text/csv", "bees,wasps", "text/csv"},
		{"a", "application/json", `["bees"]`, "application/json"},
		{"a", "application/vnd.bees+json", `["bees"]`, "application/json"},
		{"a", "application/jsonl", "[\"bees\"]\n[\"wasps\"]\n", "application/jsonl"},
		{"a", "text/json", `["bees"]`, "text/json"},
		{"a", "application/problem+json", `["bees"]`, "application/problem+json"},
		{"a", "application/feed+json", `["bees"]`, "application/feed+json"},
		{"a.doc", "application/msword", word, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"feed", "text/xml", rss, "application/rss+xml"},
		{"feed", "application/atom+xml", "<feed><entry><title>bees</title></entry></feed>", "application/atom+xml"},
		{"sitemap.xml", "text/xml", "<urlset><url><loc>http://a.example/</loc></url></urlset>", document.SitemapType},
		{"sitemap.txt", "text/plain", "http://a.example/\n", document.SitemapType},
		{"map", "text/plain; charset=utf-8", "\xef\xbb\xbfhttps://a.example/1\r\n\r\nhttps://a.example/2", document.SitemapType},
		{"links.txt", "text/plain", "https://a.example/1\nhttps://a.example/2 is about bees\n", "text/plain"},
		{"links.txt", "text/plain", "//a.example/1\n", "text/plain"},
		{"empty.txt", "text/plain", "bees\nhttps://a.example/1\n", "text/plain"},
		{"other.xml", "text/xml", "<bees/>", ""},
		{"a.pdf", "application/pdf", "\xef\xbb\xbf\n<!DOCTYPE HTML><title>Log in</title><p>bees", "text/html"},
		{"a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "<html lang=en><p>bees</html>", "text/html"},
		{"a", "application/json", "<!doctype html><p>bees", "text/html"},
		{"a.pdf", "application/octet-stream", "<html><p>bees", "text/html"},
		{"a.rtf", "application/pdf", "{\\rtf1 bees}", "application/rtf"},
		{"download.php", "text/html; charset=utf-8", "{\\rtf1 bees}", "application/rtf"},
		{"download.php", "text/html", word, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.php", "text/html", "<p>{\\rtf1 bees}", "text/html"},
		{"a.txt", "text/plain", "<html><p>the source of a page", "text/plain"},
		{"a.png", "image/png", "\x89PNG\r\n\x1a\nbees", ""},
		{"a.zip", "application/zip", string(zipped(t, "-- bees.txt --\nbees\n")), ""},
	} {
		u, err := web.Parse("http://a.example/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		p := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}})
		page, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {c.mediaType}}, Body: []byte(c.body)})
		switch {
		case c.want == "" && !errors.Is(err, parse.ErrType):
			t.Errorf("%s, %s: %v, %v; want no document", c.name, c.mediaType, page, err)
		case c.want != "" && err != nil:
			t.Errorf("%s, %s: %v", c.name, c.mediaType, err)
		case c.want != "" && page.MIME != c.want:
			t.Errorf("%s, %s: it is %s, want %s", c.name, c.mediaType, page.MIME, c.want)
		}
	}
}

// A page made of a document has what one in HTML has, and all of its text counts.
func TestPage(t *testing.T) {
	u, _ := web.Parse("http://a.example/bees/report.md")
	body := "# Dances\n\nWhere the *food* is, says [the dance](dance.html) of a bee.\n"
	p := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}})
	page, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/markdown"}}, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	l := page.Links
	if page.Title != "Dances" || page.Main != "Dances Where the food is, says the dance of a bee." || len(l) != 1 ||
		l[0].URL.String() != "http://a.example/bees/dance.html" || l[0].Anchor != "the dance" || l[0].Heading != "Dances" || l[0].After != "of a bee." {
		t.Errorf("title %q, main %q, links %+v", page.Title, page.Main, l)
	}
	if again, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/markdown"}}, Body: []byte(body)}); err != nil || fmt.Sprint(again) != fmt.Sprint(page) {
		t.Errorf("the same document is another page: %v, %v", again, err)
	}
}

// A document that cannot be read fails with a reason that names it and what is wrong.
func TestDamaged(t *testing.T) {
	u, _ := web.Parse("http://a.example/report.docx")
	p := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}})
	_, err := p.Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}},
		Body: []byte("PK\x03\x04 half a file word/document.xml"), Raw: make([]byte, 35), Truncated: "length",
	})
	var f *web.Failure
	want := "http://a.example/report.docx: this Word document cannot be read: damaged: zip: not a valid zip file; its end is missing after 35 bytes: it is longer than the limit"
	if !errors.As(err, &f) || f.Reason != web.ReasonDamaged || f.Detail != want {
		t.Errorf("%+v\nwant %s", err, want)
	}
}

// Entries of sitemaps and feeds tell when they changed where links from these are asked for;
// links of a page that claims to do so tell nothing.
func TestDates(t *testing.T) {
	const (
		sitemap = "<urlset><url><loc>http://a.example/1</loc><lastmod>2026-01-02</lastmod></url><url><loc>http://a.example/2</loc><lastmod>0000-00-00</lastmod></url></urlset>"
		feed    = "<rss><channel><link>http://a.example/</link><item><link>http://a.example/1</link><pubDate>Fri, 02 Jan 2026 12:00:00 GMT</pubDate></item></channel></rss>"
		page    = `<p><a href="http://a.example/1" data-changed="2026-01-02">1</a>`
	)
	u, err := web.Parse("http://a.example/list")
	if err != nil {
		t.Fatal(err)
	}
	both := []parse.Source{parse.SourceSitemaps, parse.SourceFeeds}
	for _, c := range []struct {
		src, mediaType string
		sources        []parse.Source
		want           string
	}{
		{sitemap, "application/xml", both, "/1 2026-01-02 false|/2  false|"},
		{sitemap, "application/xml", both[1:], "/1  false|/2  false|"},
		{feed, "application/rss+xml", both, "/1 2026-01-02T12:00:00Z true|/  false|"},
		{feed, "application/rss+xml", both[:1], "/1  false|/  false|"},
		{page, "text/html", both, "/1  false|"},
	} {
		p, err := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}, Sources: c.sources}).Parse(&web.Response{
			URL: u, Status: 200, Header: web.Header{"Content-Type": {c.mediaType}}, Body: []byte(c.src),
		})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range p.Links {
			got += fmt.Sprintln(l.URL.Path(), l.Changed, l.Published)
		}
		if got = strings.ReplaceAll(got, "\n", "|"); got != c.want {
			t.Errorf("%s with %v: %s, want %s", c.mediaType, c.sources, got, c.want)
		}
	}
}

// Other languages of the entries of a sitemap take no room from the entries.
func TestAlternatesOfEntries(t *testing.T) {
	var src strings.Builder
	src.WriteString("<urlset>")
	for i := range 6000 {
		fmt.Fprintf(&src, `<url><loc>http://a.example/%d</loc><link hreflang="de" href="http://a.example/de/%d"/><link hreflang="en" href="http://a.example/%d"/><link hreflang="fr" href="http://a.example/fr/%d"/></url>`, i, i, i, i)
	}
	src.WriteString("</urlset>")
	u, _ := web.Parse("http://a.example/sitemap.xml")
	sources := []parse.Source{parse.SourceAlternates, parse.SourceFeeds, parse.SourceSitemaps}
	page, err := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}, Sources: sources}).Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"application/xml"}}, Body: []byte(src.String()),
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[web.LinkKind]int{}
	for _, l := range page.Links {
		kinds[l.Kind]++
	}
	if kinds[web.LinkEntry] != 6000 || kinds[web.LinkAlternate] != 4000 {
		t.Errorf("links: %v, want 6000 entries, and their languages up to the 10,000 links of a page", kinds)
	}
}

// Feeds and sitemaps are read in the encoding that they are in, and to their end where a byte
// is broken.
func TestEncodingsOfLists(t *testing.T) {
	const feed = "<rss><channel><item><title>Bär</title></item><item><title>Imme</title></item></channel></rss>"
	latin1 := strings.ReplaceAll(feed, "ä", "\xe4")
	utf16le, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("<?xml version='1.0' encoding='utf-16'?>" + feed)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, charset, src, want string }{
		{"UTF-8 that is said to be UTF-16", "", "<?xml version='1.0' encoding='utf-16'?>" + feed, "Bär"},
		{"UTF-8 that its server says to be UTF-16", "utf-16", feed, "Bär"},
		{"UTF-16 with its mark", "", utf16le, "Bär"},
		{"what the server says", "iso-8859-1", latin1, "Bär"},
		{"what the server says, against a declaration", "iso-8859-1", "<?xml version='1.0' encoding='utf-8'?>" + latin1, "Bär"},
		{"what the server says, against the bytes", "iso-8859-1", feed, "Bär"},
		{"what the server says, against the bytes and a declaration", "utf-8", "<?xml version='1.0' encoding='iso-8859-1'?>" + latin1, "Bär"},
		{"a declaration", "", "<?xml version='1.0' encoding='iso-8859-1'?>" + latin1, "Bär"},
		{"a broken byte", "", latin1, "B\ufffdr"},
		{"a control character", "utf-8", strings.ReplaceAll(feed, "ä", "\x0b"), "B\ufffdr"},
		{"an encoding that nobody knows", "none-such", "<?xml version='1.0' encoding='none-such'?>" + feed, "Bär"},
	} {
		html, cut, err := document.Local{}.HTML(document.Feed, []byte(c.src), c.charset)
		if err != nil || cut || !strings.Contains(string(html), "<h2>"+c.want+"</h2>") || !strings.Contains(string(html), "<h2>Imme</h2>") {
			t.Errorf("%s: %s, cut %v, %v", c.name, html, cut, err)
		}
	}
}

// book is an EPUB with such chapters, unpacked as they are.
func book(t *testing.T, chapters ...string) []byte {
	t.Helper()
	files := [][2]string{{"mimetype", "application/epub+zip"}, {"META-INF/container.xml", `<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>`}}
	var items, spine string
	for i, c := range chapters {
		items += fmt.Sprintf(`<item id="c%d" href="c%d.xhtml"/>`, i, i)
		spine += fmt.Sprintf(`<itemref idref="c%d"/>`, i)
		files = append(files, [2]string{fmt.Sprintf("c%d.xhtml", i), c})
	}
	files = append(files, [2]string{"p.opf", "<package><manifest>" + items + "</manifest><spine>" + spine + "</spine></package>"})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Chapters of a book are read in the encodings that they are in.
func TestEncodingsOfChapters(t *testing.T) {
	encode := func(e encoding.Encoding, s string) string {
		out, err := e.NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const russian = "<html><body><p>Танец пчёл показывает, где корм.</p></body></html>"
	src := book(t,
		encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "<html><body><p>Bär</p></body></html>"),
		encode(charmap.Windows1251, "<?xml version='1.0' encoding='windows-1251'?>"+russian),
		"<html><body><p>bro\xffken</p></body></html>")
	u, _ := web.Parse("http://a.example/book.epub")
	page, err := parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}}).Parse(&web.Response{URL: u, Status: 200, Body: src})
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(page.Main) || !strings.HasPrefix(page.Main, "Bär Танец пчёл показывает, где корм. bro") {
		t.Errorf("%q", page.Main)
	}
}

// A chapter that is damaged is cut, and the others are read.
func TestDamagedChapter(t *testing.T) {
	src := bytes.Replace(book(t, "<body><p>first</p></body>", "<body><p>second</p></body>", "<body><p>third</p></body>"), []byte("second"), []byte("secund"), 1)
	html, cut, err := document.Local{}.HTML(document.EPUB, src, "")
	if err != nil || !cut || !strings.Contains(string(html), "<p>first</p>") || !strings.Contains(string(html), "<p>third</p>") {
		t.Errorf("%s, cut %v, %v", html, cut, err)
	}
}

// The text of an entry beyond the bound is cut, and that is told.
func TestLongEntry(t *testing.T) {
	src := "<rss><channel><item><title>One</title><description><![CDATA[<p>" + strings.Repeat("bees ", 40<<10) + "]]></description></item></channel></rss>"
	html, cut, err := document.Local{}.HTML(document.Feed, []byte(src), "")
	if n := strings.Count(string(html), "bees"); err != nil || !cut || n < 20<<10 || n > 30<<10 {
		t.Errorf("%d words of 40 Ki, cut %v, %v", n, cut, err)
	}
}

// Texts that are full of signs of addresses take time in proportion: with its square these take
// a minute.
func TestManySignsOfAddresses(t *testing.T) {
	for _, text := range []string{strings.Repeat("a://", 1<<19), "http://a.b" + strings.Repeat(")", 1<<20), strings.Repeat("http://a.b/ ", 1<<17)} {
		began := time.Now()
		if _, _, err := (document.Local{}).HTML(document.Text, []byte(text), ""); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%.20s…: %v", text, took)
		}
	}
}
