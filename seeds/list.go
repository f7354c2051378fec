package seeds

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/waggle-crawler/waggle/teach/profile"
	"github.com/waggle-crawler/waggle/web"
)

// Bounds on lists, which anybody may have written.
const (
	maxSitemaps = 50
	maxEntries  = 50_000   // of all sitemaps, a feed, a history
	maxUnzipped = 64 << 20 // bytes
	maxFile     = 64 << 20 // bytes of a file of bookmarks
)

// newXML reads XML in any character set.
func newXML(b []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	return d
}

// sitemap reads a sitemap, and those that an index names.
//
// Source: sitemaps.org, protocol 0.9.
func sitemap(ctx context.Context, f *Finder, where, _ string) (list []Seed, err error) {
	first, err := web.Parse(web.WithScheme(where))
	if err != nil {
		return nil, err
	}
	waiting, seen := []web.URL{first}, map[web.URL]bool{first: true}
	var errs []error
	for n := 0; len(waiting) > 0 && n < maxSitemaps && len(list) < maxEntries; n++ {
		u := waiting[0]
		waiting = waiting[1:]
		b, err := f.document(ctx, u)
		if err == nil {
			b, err = unzipped(b)
		}
		if err == nil {
			err = readSitemap(b, func(address string, more bool) {
				to, err := web.Parse(strings.TrimSpace(address))
				switch {
				case err != nil:
				case more && !seen[to]:
					seen[to] = true
					waiting = append(waiting, to)
				case !more && len(list) < maxEntries:
					list = append(list, Seed{URL: to})
				}
			})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u, err))
		}
	}
	return list, errors.Join(errs...)
}

// unzipped is a document without gzip, where it has it.
func unzipped(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxUnzipped))
}

// readSitemap gives the addresses of a sitemap, and those of further ones.
func readSitemap(b []byte, yield func(address string, more bool)) error {
	d := newXML(b)
	within, known := "", false
	for {
		token, err := d.Token()
		if err == io.EOF {
			if !known {
				return errors.New("it is no sitemap")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "urlset", "sitemapindex":
				known = true
			case "url", "sitemap":
				within = t.Name.Local
			case "loc":
				var address string
				if err := d.DecodeElement(&address, &t); err != nil {
					return err
				}
				if within != "" {
					yield(address, within == "sitemap")
				}
			}
		case xml.EndElement:
			if t.Name.Local == within {
				within = ""
			}
		}
	}
}

// feed reads the entries of RSS and Atom.
func feed(ctx context.Context, f *Finder, where, _ string) (list []Seed, err error) {
	u, err := web.Parse(web.WithScheme(where))
	if err != nil {
		return nil, err
	}
	b, err := f.document(ctx, u)
	if err != nil {
		return nil, err
	}
	type link struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
		Text string `xml:",chardata"`
	}
	d := newXML(b)
	known := false
	for len(list) < maxEntries {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return list, err
		}
		t, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch t.Name.Local {
		case "rss", "feed", "RDF":
			known = true
		case "item", "entry":
			var e struct {
				Title       string `xml:"title"`
				Description string `xml:"description"`
				Summary     string `xml:"summary"`
				Links       []link `xml:"link"`
			}
			if err := d.DecodeElement(&e, &t); err != nil {
				return list, err
			}
			for _, l := range e.Links {
				address := strings.TrimSpace(l.Href + l.Text)
				if to, err := (web.Canon{}).Resolve(u, address); err == nil && address != "" && (l.Rel == "" || l.Rel == "alternate") {
					list = append(list, Seed{URL: to, Title: e.Title, Text: plain(e.Description + " " + e.Summary)})
					break
				}
			}
		}
	}
	if !known {
		return nil, errors.New("it is no feed")
	}
	return list, nil
}

// plain is the text of a piece of HTML.
func plain(s string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(head(s, 16<<10))); ; {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
			b.WriteByte(' ')
		}
	}
}

// bookmarks reads a file that a browser exported, or Chromium's own.
func bookmarks(_ context.Context, _ *Finder, where, _ string) (list []Seed, err error) {
	in, err := os.Open(where)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return chromiumBookmarks(b)
	}
	href, title := "", ""
	for z := html.NewTokenizer(bytes.NewReader(b)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if list == nil {
				return nil, errors.New("it holds no bookmarks")
			}
			return list, nil
		case html.StartTagToken:
			if t := z.Token(); t.Data == "a" {
				href, title = "", ""
				for _, a := range t.Attr {
					if a.Key == "href" {
						href = a.Val
					}
				}
			}
		case html.TextToken:
			if href != "" {
				title += string(z.Text())
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "a" && href != "" {
				list = add(list, href, title, "")
				href = ""
			}
		}
	}
}

// chromiumBookmarks reads the file Bookmarks of a profile.
func chromiumBookmarks(b []byte) (list []Seed, err error) {
	type node struct {
		Type, Name, URL string
		Children        []json.RawMessage
	}
	var file struct {
		Roots map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	var waiting []json.RawMessage
	for _, name := range []string{"bookmark_bar", "other", "synced"} {
		if r, ok := file.Roots[name]; ok {
			waiting = append(waiting, r)
		}
	}
	if waiting == nil {
		return nil, errors.New("it holds no bookmarks")
	}
	for len(waiting) > 0 {
		var n node
		if err := json.Unmarshal(waiting[0], &n); err != nil {
			return list, err
		}
		waiting = append(waiting[1:], n.Children...)
		if n.Type == "url" {
			list = add(list, n.URL, n.Name, "")
		}
	}
	return list, nil
}

// history reads the history of a browser.
func history(ctx context.Context, _ *Finder, where, _ string) (list []Seed, err error) {
	pages, err := profile.Pages(ctx, where, maxEntries)
	for _, p := range pages {
		list = append(list, Seed{URL: p.URL, Title: p.Title})
	}
	return list, err
}
