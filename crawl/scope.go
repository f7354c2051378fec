package crawl

import (
	"path"
	"regexp"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Reach says how far from the seeds a crawl may go.
type Reach string

// The reaches of a scope.
const (
	ReachAny    Reach = "any"    // the whole web
	ReachDomain Reach = "domain" // registrable domains of the seeds
	ReachHost   Reach = "host"   // hosts of the seeds
)

// Scope decides by its address alone whether a link may be fetched.
type Scope struct {
	Reach   Reach            // "" = ReachAny
	Include []*regexp.Regexp // when there are any, an address must match one
	Exclude []*regexp.Regexp // an address must match none
	Within  map[web.URL]bool // the only addresses there are; nil = no such bound

	homes map[string]bool // hosts or domains of the seeds, by Reach
}

// withSeeds returns the scope with its homes taken from the seeds.
func (s Scope) withSeeds(seeds []web.URL) Scope {
	s.homes = make(map[string]bool, len(seeds))
	for _, u := range seeds {
		s.homes[s.home(u.Host())] = true
	}
	return s
}

// extend takes the home of u into the scope: a seed that redirects elsewhere
// (example.org to www.example.org) means its target. It reports whether that
// was news.
func (s Scope) extend(u web.URL) bool {
	if h := s.home(u.Host()); s.Reach != "" && s.Reach != ReachAny && !s.homes[h] {
		s.homes[h] = true
		return true
	}
	return false
}

func (s Scope) home(h web.Host) string {
	if s.Reach == ReachDomain {
		return h.Domain()
	}
	return string(h)
}

// check returns "" for an address the crawl may fetch.
func (s Scope) check(u web.URL) web.Reason {
	if (s.Reach == ReachHost || s.Reach == ReachDomain) && !s.homes[s.home(u.Host())] {
		return web.ReasonScope
	}
	if s.Within != nil && !s.Within[u] {
		return web.ReasonScope
	}
	for _, x := range s.Exclude {
		if x.MatchString(u.String()) {
			return web.ReasonScope
		}
	}
	for _, x := range s.Include {
		if x.MatchString(u.String()) {
			return ""
		}
	}
	if len(s.Include) > 0 {
		return web.ReasonScope
	}
	return ""
}

// Bounds beyond which an address is taken for a product of a trap.
const (
	maxTrapURL      = 2000 // bytes
	maxTrapSegments = 30   // segments of a path
	maxTrapRepeats  = 3    // times in a row that a group of segments may occur
	maxTrapGroup    = 4    // segments in such a group
)

// isTrap recognises addresses that servers make up without end: paths that
// repeat a group of segments (/a/b/a/b/a/b), or grow without bound.
func isTrap(u web.URL) bool {
	if len(u.String()) > maxTrapURL {
		return true
	}
	segments := strings.Split(strings.Trim(u.Path(), "/"), "/")
	if len(segments) > maxTrapSegments {
		return true
	}
	for size := 1; size <= maxTrapGroup; size++ {
		run := 1 // length of the present run of equal groups, in groups
		for i := size; i+size <= len(segments); {
			if equal(segments[i:i+size], segments[i-size:i]) {
				if run++; run > maxTrapRepeats {
					return true
				}
				i += size
			} else {
				run = 1
				i++
			}
		}
	}
	return false
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// otherFiles holds the extensions of files which are never documents in HTML.
// It is a table, never changed.
var otherFiles = func() map[string]bool {
	m := make(map[string]bool)
	for _, x := range strings.Fields(`
		7z aac aif aiff apk avi bin bmp bz2 css csv dmg doc docm docx deb eot eps epub exe flac flv
		gif gz ico ics iso jar jpeg jpg js json m4a m4v mid mov mp3 mp4 mpeg mpg msi odp ods odt ott
		ogg ogv otf pdf pkg png ppt pptx ps psd rar rpm rss rtf so svg swf tar tex tgz tif tiff
		ttf wav webm webp wma wmv woff woff2 xls xlsx xml xz z zip zst`) {
		m[x] = true
	}
	return m
}()

// isOtherFile tells by the extension of its path that an address names a file
// which is not a document in HTML, and none of those wanted. A query may make anything
// of a name, so addresses with one are given the benefit of the doubt.
func isOtherFile(u web.URL, wanted map[string]bool) bool {
	if strings.Contains(u.RequestPath(), "?") {
		return false
	}
	// Wikis and code browsers name pages about files after the files.
	if strings.Contains(u.Path(), "/wiki/") || strings.Contains(u.Path(), "/blob/") {
		return false
	}
	ext := path.Ext(u.Path())
	if len(ext) < 2 {
		return false
	}
	ext = strings.ToLower(ext[1:])
	return otherFiles[ext] && !wanted[ext]
}
