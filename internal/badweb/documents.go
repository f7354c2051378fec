package badweb

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/parse/document/pdf/pdftest"
)

// Documents lists documents that harm who reads them. The Crawl of each is what a crawl
// says that reads documents of all kinds and follows sitemaps: "" for a page, "links-only"
// for one that is read for its links. They stand on hosts of their own, and the page at
// DocumentIndex links to them.
func (s *Server) Documents() []Scenario { return s.documents }

// DocumentIndex is a page that links to every document.
func (s *Server) DocumentIndex() string { return "http://documents.bad.test/" }

// EndlessSitemaps is the first of sitemaps each of which names a new one.
func (s *Server) EndlessSitemaps() string { return "http://sitemap-endless.bad.test/sitemap-0.xml" }

const (
	wordType    = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	pdfType     = "application/pdf"
	entityBomb  = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g SYSTEM "http://fine.bad.test/entity"><!ENTITY h SYSTEM "file:///etc/passwd">]>`
	unpackedMiB = 200 // of what unpacks to more than anybody reads
)

// documentList builds the documents and the sites they are on.
func (s *Server) documentList(sites map[string]site) (list []Scenario) {
	on := func(name, path, mediaType, crawl string, body func() []byte) {
		body = sync.OnceValue(body)
		sites[name+".bad.test"] = site{page: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			w.Write(body())
		}}
		list = append(list, Scenario{Name: name, URL: "http://" + name + ".bad.test/" + path, Status: 200, Crawl: crawl})
	}
	text := func(s string) func() []byte { return func() []byte { return []byte(s) } }
	word := func(document string) func() []byte {
		return func() []byte { return zipped("[Content_Types].xml", "<Types/>", "word/document.xml", document) }
	}

	// Zip files.
	on("docx-bomb", "a.docx", wordType, "damaged", func() []byte {
		return zipped("[Content_Types].xml", "<Types/>", "word/document.xml", "<w:document><w:p><w:t>", "", strings.Repeat("\x00", 1<<20))
	})
	on("docx-entries", "a.docx", wordType, "damaged", func() []byte {
		parts := []string{"word/document.xml", "<w:document/>"}
		for i := range 11_000 {
			parts = append(parts, fmt.Sprint(i), "")
		}
		return zipped(parts...)
	})
	on("docx-half", "a.docx", wordType, "damaged", func() []byte { b := word("<w:document/>")(); return b[:len(b)/2] })
	on("docx-entities", "a.docx", wordType, "", word(entityBomb+"<w:document><w:body><w:p><w:r><w:t>bees &f; &g; &h;</w:t></w:r></w:p></w:body></w:document>"))
	on("docx-deep", "a.docx", wordType, "", word("<w:document><w:p><w:r><w:t>bees</w:t></w:r></w:p>"+strings.Repeat("<w:tbl>", 1_000_000)))
	on("odt-locked", "a.odt", "application/vnd.oasis.opendocument.text", "damaged", func() []byte {
		return zipped("mimetype", "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml", "<m><e><encryption-data/></e></m>", "content.xml", "secret")
	})
	on("epub-again", "a.epub", "application/epub+zip", "", func() []byte { // one chapter, 9,000 times: 180 MB
		return zipped("mimetype", "application/epub+zip", "META-INF/container.xml", `<c><rootfile full-path="p"/></c>`,
			"p", `<package><title>Bees</title><item id="a" href="a"/>`+strings.Repeat(`<itemref idref="a"/>`, 9000)+"</package>", "a", "<body><p>"+strings.Repeat("bees dance ", 2000))
	})

	// PDF.
	page := func(contents string, more ...string) func() []byte {
		return func() []byte {
			return pdftest.Objects(append([]string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
				"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>", contents}, more...)...)
		}
	}
	on("pdf-loop", "a.pdf", pdfType, "", func() []byte {
		return pdftest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>")
	})
	on("pdf-form-in-itself", "a.pdf", pdfType, "damaged", page(pdftest.Stream("", "/X Do"),
		pdftest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>", "/X Do /X Do")))
	on("pdf-bomb", "a.pdf", pdfType, "damaged", func() []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		for range 3 * unpackedMiB {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
		return page(pdftest.Stream("/Filter /FlateDecode", b.String()))()
	})
	on("pdf-half", "a.pdf", pdfType, "damaged", func() []byte { return pdftest.Page("The waggle dance", "")[:600] })
	on("pdf-not", "a.pdf", pdfType, "", text("<!doctype html><title>Log in</title><p>%PDF-1.7 is for members."))

	// Texts.
	on("json-deep", "a.json", "application/json", "damaged", text(strings.Repeat("[", 400_000)))
	on("json-half", "a.json", "application/json", "", text(`{"title":"Bees","text":["dance","dan`))
	on("csv-quote", "a.csv", "text/csv", "", text("bees,\"dance\n"+strings.Repeat("bees dance\n", 50_000)))
	on("rtf-deep", "a.rtf", "application/rtf", "", text(`{\rtf1 bees `+strings.Repeat("{", 500_000)+"dance"))
	on("rtf-binary", "a.rtf", "application/rtf", "", text(`{\rtf1 bees \bin2147483647 `+strings.Repeat("{", 100)))
	on("markdown-deep", "a.md", "text/markdown", "", text(strings.Repeat("> ", 100_000)+"bees\n\n"+strings.Repeat("[", 50_000)+"\n\n"+strings.Repeat("*a_ ", 20_000)))
	on("text-one-word", "a.txt", "text/plain", "", text("bees "+strings.Repeat("x", 900_000)))

	// Feeds and sitemaps.
	on("feed-entities", "feed", "application/rss+xml", "", text(entityBomb+"<rss><channel><title>Bees &e;</title><item><title>dance &g; &h;</title></item></channel></rss>"))
	on("feed-of-a-gigabyte", "feed", "application/rss+xml", "", nil)
	sites["feed-of-a-gigabyte.bad.test"] = site{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		io.WriteString(w, "<rss><channel><title>Bees</title>")
		item := strings.Repeat("<item><title>A dance</title><description>bees</description></item>", 1000)
		for sent := 0; sent < 1<<30; sent += len(item) {
			if _, err := io.WriteString(w, item); err != nil {
				return
			}
		}
	}}
	on("sitemap-bomb", "sitemap.xml.gz", "application/gzip", "links-only", func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, "<urlset><url><loc>http://fine.bad.test/</loc></url>")
		for range unpackedMiB {
			z.Write(bytes.Repeat([]byte{' '}, 1<<20))
		}
		z.Close()
		return b.Bytes()
	})
	on("sitemap-cycle", "sitemap-1.xml", "application/xml", "links-only", nil)
	sites["sitemap-cycle.bad.test"] = site{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		io.WriteString(w, "<sitemapindex><sitemap><loc>http://sitemap-cycle.bad.test/sitemap-1.xml</loc></sitemap>"+
			"<sitemap><loc>http://sitemap-cycle.bad.test/sitemap-2.xml</loc></sitemap><!-- "+html.EscapeString(r.URL.Path)+" --></sitemapindex>")
	}}
	on("sitemap-endless", "sitemap-0.xml", "application/xml", "links-only", nil)
	sites["sitemap-endless.bad.test"] = site{page: func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/sitemap-%d.xml", &n)
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, "<sitemapindex><sitemap><loc>http://sitemap-endless.bad.test/sitemap-%d.xml</loc></sitemap><sitemap><loc>http://sitemap-endless.bad.test/sitemap-%d.xml</loc></sitemap></sitemapindex>", 2*n+1, 2*n+2)
	}}

	sites["documents.bad.test"] = site{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><title>Bad documents</title>\n")
		for _, d := range s.documents {
			rel := ""
			if strings.HasPrefix(d.Name, "sitemap-") {
				rel = `<link rel="sitemap" href="%s">`
			} else {
				rel = `<li><a href="%s">bees</a>`
			}
			fmt.Fprintf(w, rel+"\n", html.EscapeString(d.URL))
		}
	}}
	return list
}

// zipped makes a zip file of names and contents, in turn. What comes behind a name that
// is "" goes on with the file before, unpackedMiB times.
func zipped(parts ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	var w io.Writer
	for i := 0; i+1 < len(parts); i += 2 {
		times := unpackedMiB
		if parts[i] != "" {
			times = 1
			method := zip.Deflate
			if parts[i] == "mimetype" {
				method = zip.Store
			}
			w, _ = z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: method}) // to memory
		}
		for range times {
			io.WriteString(w, parts[i+1])
		}
	}
	z.Close()
	return b.Bytes()
}
