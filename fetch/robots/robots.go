// Package robots reads what sites wish of crawlers: robots.txt (RFC 9309), and
// the directives of pages and of their responses. It fetches nothing.
package robots

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBody is how much of a robots.txt is read, in bytes (RFC 9309, 2.5).
const maxBody = 500 << 10

// maxDelay is the longest Crawl-delay told apart from longer ones.
const maxDelay = 24 * time.Hour

// Rules are the rules of one robots.txt. They never change once made, and are
// safe for concurrent use.
type Rules struct {
	groups   []group
	agents   map[string][]int // product token in lower case, or "*" → its groups
	sitemaps []string
}

// group is what a run of User-agent lines shares.
type group struct {
	rules []rule        // longest pattern first, Allow before Disallow
	delay time.Duration // the longest Crawl-delay; 0 = none
}

// rule allows or disallows the paths that match a pattern in the form that
// normalise gives it.
type rule struct {
	pattern string
	stem    string // of pattern, up to the first * or the final $
	allow   bool
}

func newRule(pattern string, allow bool) rule {
	pattern = normalise(pattern, true)
	stem, _, _ := strings.Cut(strings.TrimSuffix(pattern, "$"), "*")
	return rule{pattern, stem, allow}
}

func (r *rule) matches(path string) bool {
	return strings.HasPrefix(path, r.stem) && (len(r.stem) == len(r.pattern) || match(r.pattern, path))
}

// AllowAll returns rules that allow everything.
func AllowAll() *Rules { return &Rules{} }

// FromStatus makes rules of the response to a request for robots.txt, its
// redirects followed (RFC 9309, 2.3.1): 2xx parses the body, and any other status
// below 500 means that there are no rules and allows all. Not so 5xx, and 429
// (RFC 6585), with which a server says that it wants to be asked later and not
// what the rules are: ok is false then, and nothing may be fetched until the
// rules are known.
func FromStatus(status int, body []byte) (rules *Rules, ok bool) {
	switch {
	case status >= 200 && status < 300:
		return Parse(body), true
	case status >= 500, status == 429:
		return nil, false
	}
	return AllowAll(), true
}

// Parse reads the first 500 KiB of a robots.txt; a line cut off there is
// dropped. Nothing is an error: lines that make no sense are passed over, so
// that what is no robots.txt at all allows everything.
//
// It is as lenient as Google's parser (github.com/google/robotstxt): any line
// end, spaces before the colon or in its place, usual misspellings. A line of
// an unknown kind, also Crawl-delay and Sitemap, does not end a run of
// User-agent lines (RFC 9309, 2.2.4).
func Parse(body []byte) *Rules {
	if len(body) > maxBody {
		body = body[:maxBody]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	text := string(body)
	for _, first := range []string{"\xef", "\xbb", "\xbf"} { // a byte order mark, or what is left of one
		rest, ok := strings.CutPrefix(text, first)
		if !ok {
			break
		}
		text = rest
	}
	r := &Rules{agents: map[string][]int{}}
	naming := false // in a run of User-agent lines
	for text != "" {
		var line string
		if i := strings.IndexAny(text, "\r\n"); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			line, text = text, ""
		}
		key, value := keyValue(line)
		last := len(r.groups) - 1
		switch key {
		case "user-agent", "useragent", "user agent":
			if !naming {
				r.groups = append(r.groups, group{})
				last, naming = last+1, true
			}
			a := strings.Clone(token(value))
			if of := r.agents[a]; a != "" && (len(of) == 0 || of[len(of)-1] != last) {
				r.agents[a] = append(of, last)
			}
		case "allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
			naming = false
			if last >= 0 && value != "" {
				r.groups[last].rules = append(r.groups[last].rules, newRule(value, key == "allow"))
			}
		case "crawl-delay", "crawldelay":
			if last >= 0 {
				r.groups[last].delay = max(r.groups[last].delay, seconds(value))
			}
		case "sitemap", "site-map":
			if value != "" {
				r.sitemaps = append(r.sitemaps, strings.Clone(value))
			}
		}
	}
	for _, g := range r.groups {
		slices.SortStableFunc(g.rules, func(a, b rule) int {
			if d := cmp.Compare(len(b.pattern), len(a.pattern)); d != 0 || a.allow == b.allow {
				return d
			} else if a.allow {
				return -1
			}
			return 1
		})
	}
	return r
}

// keyValue splits a line without its comment; the key is in lower case, and
// empty if there is none.
func keyValue(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, " \t\v\f\x00")
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		// "Disallow /a": two words.
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return "", ""
		}
		key, value = line[:i], strings.TrimLeft(line[i:], " \t")
		if strings.ContainsAny(value, " \t") {
			return "", ""
		}
	}
	key = strings.TrimRight(key, " \t")
	if len(key) > len("crawl-delay") {
		return "", ""
	}
	return strings.ToLower(key), strings.Trim(value, " \t")
}

// token returns the product token that a User-agent line or header begins
// with, in lower case: "Foo/1.2 (bar)" → "foo". It is "*" for all crawlers,
// "" where there is none. Digits and dots, which RFC 9309 does not foresee, are
// part of real names (MJ12bot, archive.org_bot).
func token(agent string) string {
	if agent == "*" || strings.HasPrefix(agent, "* ") || strings.HasPrefix(agent, "*\t") {
		return "*"
	}
	i := 0
	for i < len(agent) && isUnreserved(agent[i]) && agent[i] != '~' {
		i++
	}
	return strings.ToLower(agent[:i])
}

// seconds reads a Crawl-delay; 0 if it is none.
func seconds(s string) time.Duration {
	if strings.Trim(s, "0123456789.") != "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return time.Duration(min(f, maxDelay.Seconds()) * float64(time.Second))
}

// groupsOf returns the groups that are for agent: those that name it, else
// those for all crawlers. Groups of one name count as one.
func (r *Rules) groupsOf(agent string) []int {
	if a := token(agent); a != "" {
		if g, ok := r.agents[a]; ok {
			return g
		}
	}
	return r.agents["*"]
}

// Allowed tells whether the crawler with the product token agent ("waggle", in
// any case) may request requestPath, a path with its query. The rule with the
// longest pattern decides, Allow where two are of one length; /robots.txt
// itself is always allowed.
func (r *Rules) Allowed(agent, requestPath string) bool {
	if p, _, _ := strings.Cut(requestPath, "?"); p == "/robots.txt" {
		return true
	}
	groups := r.groupsOf(agent)
	if len(groups) == 0 {
		return true
	}
	path := normalise(requestPath, false)
	bare := unescape(path)
	escapes := bare != path
	best := rule{allow: true}
	for _, g := range groups {
		for i := range r.groups[g].rules {
			rule := &r.groups[g].rules[i]
			if len(rule.pattern) < len(best.pattern) {
				break
			}
			if rule.matches(path) || escapes && rule.matches(bare) {
				if len(rule.pattern) > len(best.pattern) || rule.allow {
					best = *rule
				}
				break
			}
		}
	}
	return best.allow
}

// CrawlDelay is the pause that the site asks of agent between requests, above
// 0 and at most a day; ok is false when it asks for none.
func (r *Rules) CrawlDelay(agent string) (delay time.Duration, ok bool) {
	for _, g := range r.groupsOf(agent) {
		delay = max(delay, r.groups[g].delay)
	}
	return delay, delay > 0
}

// Sitemaps are the addresses of sitemaps in the order of the file, as written:
// they may be anything.
func (r *Rules) Sitemaps() []string { return slices.Clone(r.sitemaps) }

// Weight is about how many bytes the rules take in memory: of short lines many times what these have.
func (r *Rules) Weight() int {
	const group, rule, agent, text = 32, 40, 120, 16 // of each, beside what it holds
	n := group * cap(r.groups)
	for _, g := range r.groups {
		n += rule * cap(g.rules)
		for i := range g.rules {
			n += text + len(g.rules[i].pattern)
		}
	}
	for name, of := range r.agents {
		n += agent + len(name) + 8*cap(of)
	}
	n += text * cap(r.sitemaps)
	for _, s := range r.sitemaps {
		n += text + len(s)
	}
	return n
}

// match tells whether a path begins with what a pattern stands for; both are
// normalised. Each piece between stars is looked for at its first place after
// the piece before: if a match exists, this finds one, and in linear time.
func match(pattern, path string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	piece, pattern, more := strings.Cut(pattern, "*")
	path, ok := strings.CutPrefix(path, piece)
	for more && ok {
		piece, pattern, more = strings.Cut(pattern, "*")
		if !more && anchored {
			return strings.HasSuffix(path, piece)
		}
		i := strings.Index(path, piece)
		if ok = i >= 0; ok {
			path = path[i+len(piece):]
		}
	}
	return ok && (!anchored || path == "")
}

// normalise brings a pattern or a path into the form in which they compare
// byte by byte (RFC 9309, 2.2.2): escapes of unreserved characters decoded, all
// that may not stand in an address escaped, hexadecimal digits in upper case.
// In a pattern * is special, and $ at its end; elsewhere they are written %2A
// and %24.
func normalise(s string, pattern bool) string {
	const upper = "0123456789ABCDEF"
	if !pattern {
		s, _, _ = strings.Cut(s, "#")
		if !strings.HasPrefix(s, "/") {
			s = "/" + s
		}
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isUnreserved(c) || isReserved(c) || pattern && (c == '*' || c == '$' && i == len(s)-1) {
			b = append(b, c)
			continue
		}
		if c == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c = byte(v)
				i += 2
				if isUnreserved(c) {
					b = append(b, c)
					continue
				}
			}
		}
		b = append(b, '%', upper[c>>4], upper[c&15])
	}
	return string(b)
}

// unescape decodes the escapes of reserved characters in a normalised path,
// but %2F and %3F before its query, where they would end a segment or begin the
// query. The RFC has a pattern match a path with these escapes where the
// pattern has the bare character. The reverse does not hold: Disallow: /*%2F
// is not meant for all slashes.
func unescape(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	query := false
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			v, _ := strconv.ParseUint(path[i+1:i+3], 16, 8)
			if d := byte(v); isReserved(d) && (query || d != '/' && d != '?') {
				c = d
				i += 2
			}
		} else if c == '?' {
			query = true
		}
		b = append(b, c)
	}
	return string(b)
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// isReserved tells whether c is a reserved character of RFC 3986 that is not
// special in patterns and does not end an address. The apostrophe is none:
// browsers escape it in queries, so its escape must mean the same.
func isReserved(c byte) bool { return c != 0 && strings.IndexByte(":/?[]@!&()+,;=", c) >= 0 }
