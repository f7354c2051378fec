package seeds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse/document"
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

// sitemap reads a sitemap, and those that an index names.
func sitemap(ctx context.Context, f *Finder, where, _ string) (list []Seed, err error) {
	first, err := web.Given(where)
	if err != nil {
		return nil, err
	}
	waiting, seen := []web.URL{first}, map[web.URL]bool{first: true}
	var errs []error
	for n := 0; len(waiting) > 0 && n < maxSitemaps && len(list) < maxEntries; n++ {
		u := waiting[0]
		waiting = waiting[1:]
		b, _, err := f.document(ctx, u)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		err = document.ReadSitemap(b, document.Limits{}, func(e document.Listed) bool {
			to, err := web.Parse(e.URL)
			switch {
			case err != nil:
			case e.More && !seen[to]:
				seen[to] = true
				waiting = append(waiting, to)
			case !e.More:
				list = append(list, Seed{URL: to, Title: e.Title})
			}
			return len(list) < maxEntries
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u, err))
		}
	}
	return list, errors.Join(errs...)
}

// feed reads the entries of RSS and Atom.
func feed(ctx context.Context, f *Finder, where, _ string) (list []Seed, err error) {
	u, err := web.Given(where)
	if err != nil {
		return nil, err
	}
	b, at, err := f.document(ctx, u)
	if err != nil {
		return nil, err
	}
	_, err = document.ReadFeed(b, document.Limits{}, func(e document.Listed) bool {
		if to, err := (web.Canon{}).Resolve(at, e.URL); err == nil && e.URL != "" {
			list = append(list, Seed{URL: to, Title: e.Title, Text: plain(e.Text)})
		}
		return len(list) < maxEntries
	})
	return list, err
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

func noBookmarks() error { return job.Mistake{Err: errors.New("it holds no bookmarks")} }

// bookmarks reads a file that a browser exported, or Chromium's own, also by the folder of a
// profile.
func bookmarks(_ context.Context, _ *Finder, where, _ string) (list []Seed, err error) {
	if info, err := os.Stat(where); err == nil && info.IsDir() {
		file := filepath.Join(where, "Bookmarks")
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(where, "Default", "Bookmarks")
		}
		if _, err := os.Stat(file); err != nil {
			return nil, job.Mistake{Err: fmt.Errorf("%s holds no file Bookmarks of Chromium: name one, or a file that the browser has exported", where)}
		}
		where = file
	}
	in, err := os.Open(where)
	if err != nil {
		return nil, job.Mistake{Err: fmt.Errorf("%w: give a file that the browser has exported, or the folder of its profile", err)}
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return jsonBookmarks(b)
	}
	href, title := "", ""
	for z := html.NewTokenizer(bytes.NewReader(b)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if list == nil {
				return nil, noBookmarks()
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

// jsonBookmarks reads the file Bookmarks of a profile of Chromium, and a backup of Firefox.
// What is no bookmark in it is passed over.
func jsonBookmarks(b []byte) (list []Seed, err error) {
	var file struct {
		Roots    map[string]json.RawMessage // of Chromium
		Children []json.RawMessage          // of Firefox
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, job.Mistake{Err: fmt.Errorf("it is no file of bookmarks, or damaged: %w", err)}
	}
	waiting := file.Children
	for _, name := range []string{"bookmark_bar", "other", "synced"} {
		if r, ok := file.Roots[name]; ok {
			waiting = append(waiting, r)
		}
	}
	for len(waiting) > 0 {
		var n struct {
			Type, Name, Title, URL, URI string
			Children                    []json.RawMessage
		}
		err := json.Unmarshal(waiting[0], &n)
		waiting = waiting[1:]
		if err != nil {
			continue
		}
		waiting = append(waiting, n.Children...)
		switch n.Type {
		case "url":
			list = add(list, n.URL, n.Name, "")
		case "text/x-moz-place":
			list = add(list, n.URI, n.Title, "")
		}
	}
	if list == nil {
		return nil, noBookmarks()
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
