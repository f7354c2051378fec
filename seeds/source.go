package seeds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Kind is a kind of source.
type Kind struct {
	Name  string
	Where string // what stands behind its name: "URL", "FILE"; in brackets where it may be left out
	Line  string // what it gives, for people
	Asks  bool   // it is asked for words
	find  func(ctx context.Context, f *Finder, where, words string) ([]Seed, error)
}

// Kinds are all kinds there are.
func Kinds() []Kind {
	return []Kind{
		{"searxng", "URL", "results of a SearXNG instance that gives JSON", true, searxng},
		{"mediawiki", "URL", "pages of a wiki, by its api.php, such as https://wiki.example.org/w/api.php", true, mediawiki},
		{"openalex", "[URL]", "landing pages of scholarly works", true, openalex},
		{"commoncrawl", "SITE[@URL]", "pages of a site that the newest index of Common Crawl knows", false, commonCrawl},
		{"sitemap", "URL", "pages of a sitemap, or of an index of them", false, sitemap},
		{"feed", "URL", "entries of a feed (RSS, Atom)", false, feed},
		{"bookmarks", "FILE", "bookmarks: the HTML that browsers export, a backup of Firefox (JSON), or Chromium's file Bookmarks", false, bookmarks},
		{"history", "FILE", "pages in the history of Firefox or Chromium, the most visited first", false, history},
	}
}

// addressOf is the address that stands behind the name, "" for none.
func (k Kind) addressOf(where string) string {
	switch {
	case strings.HasSuffix(k.Where, "@URL]"):
		_, address, _ := strings.Cut(where, "@")
		return address
	case strings.Trim(k.Where, "[]") == "URL":
		return where
	}
	return ""
}

// Source is a source of seeds.
type Source struct {
	Where string
	kind  Kind
}

func (s Source) String() string {
	if s.Where == "" {
		return s.kind.Name
	}
	return s.kind.Name + "=" + s.Where
}

// ParseSource reads a source as a person writes it: KIND=WHERE.
func ParseSource(s string) (Source, error) {
	name, where, _ := strings.Cut(s, "=")
	if web.HasCredentials(name) || web.HasCredentials(where) {
		return Source{}, fmt.Errorf("a source: %w", web.ErrCredentials)
	}
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.Name)
		}
		return Source{}, fmt.Errorf("there is no source %q; there are: %s", name, strings.Join(names, ", "))
	}
	if where == "" && !strings.HasPrefix(kinds[i].Where, "[") {
		return Source{}, fmt.Errorf("the source %s is written %s=%s", name, name, kinds[i].Where)
	}
	if address := kinds[i].addressOf(where); address != "" {
		if _, err := web.Given(address); err != nil {
			return Source{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return Source{where, kinds[i]}, nil
}

// Asks tells whether the source is asked for words.
func (s Source) Asks() bool { return s.kind.Asks }
