// Package cookies keeps what sites have a crawl remember of them, as a browser would.
//
// The life of a cookie: set by a response, by a script of a rendered page or by a person
// who logged in → sent with each request that it matches → replaced, deleted by the site,
// expired, or pushed out by others of its site when there are too many. What a person gave is
// never pushed out by what a site sets.
//
// A cookie goes to the host that set it or, where that said so, to the hosts of one
// registrable domain, never to all of a public suffix. One that was set by https goes by
// https alone if it says so, and is not replaced by http. Ports do not matter. SameSite is
// not kept: a crawl has no page from which it comes.
//
// Source: RFC 6265bis (draft-ietf-httpbis-rfc6265bis-20), sections 5.6 to 5.8.
package cookies

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// Bounds of a jar. What a request carries is below those of a site, which servers take.
const (
	maxCookie    = 4 << 10 // bytes of a name and a value; longer ones are not kept
	maxAttribute = 1 << 10 // bytes of a path or domain that is set; longer ones are not heeded
	maxSite      = 50      // cookies of a registrable domain
	maxSiteBytes = 8 << 10 // of them, see Cookie.size
	maxSites     = 5000    // registrable domains
	maxBytes     = 8 << 20 // of all; a jar fits into its file, of maxFile at most
	maxAtOnce    = 200     // lines of one response that are looked at
	maxAge       = 400 * 24 * time.Hour
	saveEvery    = 5 * time.Second
)

// Cookie is a cookie in a jar.
type Cookie struct {
	Name, Value string
	Domain      string // name of a host, without a dot before it
	Below       bool   // it goes to the hosts below Domain as well
	Path        string
	Secure      bool // by https alone
	HTTPOnly    bool // no script sees it
	// Expires is when it ends; zero = with the session, which a crawl that goes on by a
	// file continues.
	Expires time.Time

	given bool // by Add, even if its site has replaced it since
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Jar holds cookies. Safe for concurrent use.
type Jar struct {
	clock Clock
	file  string // "" = it is kept nowhere
	lock  io.Closer

	mu      sync.Mutex
	sites   map[string]*site // by registrable domain
	bytes   int              // of all cookies
	uses    uint64
	changed bool // since it was saved
	saved   time.Time
	failed  error // of the last time that it was to be saved
}

// site is what a jar holds of a registrable domain.
type site struct {
	cookies []Cookie // in the order in which they were set first
	bytes   int
	given   int    // of the cookies, those that a person gave
	used    uint64 // of Jar.uses, the last time
}

// New is an empty jar that is kept nowhere.
func New(clock Clock) *Jar { return &Jar{clock: clock, sites: map[string]*site{}} }

// Header is the value of the Cookie header of a request, "" for none: longer paths first,
// then what was set earlier.
//
// Source: RFC 6265bis, section 5.8.3.
func (j *Jar) Header(u web.URL) string {
	var b strings.Builder
	for _, c := range j.matching(u) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if c.Name != "" {
			b.WriteString(c.Name + "=")
		}
		b.WriteString(c.Value)
	}
	return b.String()
}

// Scripted are the cookies that a script of a page may read.
func (j *Jar) Scripted(page web.URL) []Cookie {
	return slices.DeleteFunc(j.matching(page), func(c Cookie) bool { return c.HTTPOnly })
}

// matching are copies of the cookies that a request carries, in their order.
func (j *Jar) matching(u web.URL) (out []Cookie) {
	host, now := u.Host(), j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.sites[host.Domain()]
	if s == nil {
		return nil
	}
	j.uses++
	s.used = j.uses
	for _, c := range s.cookies {
		if c.live(now) && c.matches(u) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Cookie) int { return cmp.Compare(len(b.Path), len(a.Path)) })
	return out
}

func (c *Cookie) live(now time.Time) bool { return c.Expires.IsZero() || now.Before(c.Expires) }

// matches tells whether a cookie goes to an address.
func (c *Cookie) matches(u web.URL) bool {
	name, path := u.Host().Name(), pathOf(u)
	return (name == c.Domain || c.Below && strings.HasSuffix(name, "."+c.Domain)) &&
		(!c.Secure || u.Scheme() == "https") &&
		(path == c.Path || strings.HasPrefix(path, c.Path) && (strings.HasSuffix(c.Path, "/") || path[len(c.Path)] == '/'))
}

// pathOf is the path of an address without its query.
func pathOf(u web.URL) string {
	path, _, _ := strings.Cut(u.RequestPath(), "?")
	if path == "" || path[0] != '/' {
		return "/"
	}
	return path
}

// Tokens are the values by which somebody may be let in, of the cookies of a host and its whole site.
func (j *Jar) Tokens(h web.Host) (tokens []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.sites[h.Domain()]; s != nil {
		for i := range s.cookies {
			tokens = appendToken(tokens, s.cookies[i].Value)
		}
	}
	return tokens
}

// Answered takes in the cookies that a response for an address sets, and takes their lines out of its
// header. The tokens are those of the site before, and of those lines.
func (j *Jar) Answered(u web.URL, h http.Header) (tokens []string) {
	tokens = append(j.Tokens(u.Host()), Tokens(h)...)
	lines := h["Set-Cookie"]
	for _, line := range lines[:min(len(lines), maxAtOnce)] {
		if s, ok := parseSet(line); ok {
			j.take(u, s, false)
		}
	}
	h.Del("Set-Cookie")
	j.saveNow(false)
	return tokens
}

// Tokens are the values of cookies that a response sets by which somebody may be let in.
func Tokens(h http.Header) (tokens []string) {
	lines := h["Set-Cookie"]
	for _, line := range lines[:min(len(lines), maxAtOnce)] {
		if s, ok := parseSet(line); ok && s.age >= 0 {
			tokens = appendToken(tokens, s.Value)
		}
	}
	return tokens
}

// appendToken appends the value of a cookie, without the quotes around it, if it is a token.
func appendToken(tokens []string, value string) []string {
	if value = strings.Trim(value, `"`); isToken(value) {
		tokens = append(tokens, value)
	}
	return tokens
}

// SetScripted takes in the cookies that scripts can read after a page was shown: those of
// Scripted that are not among them were deleted.
func (j *Jar) SetScripted(page web.URL, given, left []Cookie) {
	for _, c := range left {
		if !slices.ContainsFunc(given, func(g Cookie) bool { return g.same(&c) && g.Value == c.Value }) {
			if !c.Below {
				c.Domain = ""
			}
			j.take(page, set{Cookie: c}, true)
		}
	}
	for _, c := range given {
		if !slices.ContainsFunc(left, func(l Cookie) bool { return l.same(&c) }) {
			c.Expires = time.Unix(1, 0)
			j.put(c)
		}
	}
	j.saveNow(false)
}

// same tells whether one cookie replaces the other.
func (c *Cookie) same(d *Cookie) bool {
	return c.Name == d.Name && c.Domain == d.Domain && c.Below == d.Below && c.Path == d.Path
}

// take takes in one cookie, if the one who sets it may.
func (j *Jar) take(u web.URL, s set, script bool) {
	c, domain := s.Cookie, s.Domain
	c.Domain, c.Below = u.Host().Name(), false
	if domain != "" && domain != c.Domain {
		if !strings.HasSuffix(c.Domain, "."+domain) || web.Host(domain).IsPublicSuffix() || isAddress(c.Domain) {
			return
		}
		c.Domain, c.Below = domain, true
	} else if domain != "" {
		c.Below = !isAddress(domain) && !web.Host(domain).IsPublicSuffix()
	}
	if c.Path == "" || c.Path[0] != '/' {
		path := pathOf(u)
		c.Path = path[:max(strings.LastIndexByte(path, '/'), 1)]
	}
	now := j.clock.Now()
	switch {
	case s.age < 0:
		c.Expires = time.Unix(1, 0)
	case s.age > 0:
		c.Expires = now.Add(s.age)
	}
	if limit := now.Add(maxAge); c.Expires.After(limit) {
		c.Expires = limit
	}
	name := strings.ToLower(cmp.Or(c.Name, c.Value)) // without a name, the value is what is read as one
	switch secure := u.Scheme() == "https"; {
	case c.Secure && !secure,
		c.Name == "" && (strings.HasPrefix(name, "__secure-") || strings.HasPrefix(name, "__host-")),
		strings.HasPrefix(name, "__secure-") && !c.Secure,
		strings.HasPrefix(name, "__host-") && (!c.Secure || c.Below || c.Path != "/"),
		!secure && j.hides(&c, func(old *Cookie) bool { return old.Secure }),
		script && j.hides(&c, func(old *Cookie) bool { return old.HTTPOnly }):
		return
	}
	if sendable(&c) != nil {
		return
	}
	j.put(c)
}

// sendable says why a cookie cannot be sent, or not be kept in a file; nil = it can. Letters beyond ASCII can where
// a browser whose scripts read them gives them back as they were: in UTF-8.
func sendable(c *Cookie) error {
	switch {
	case len(c.Name)+len(c.Value) > maxCookie:
		return errors.New("it is longer than 4 KiB")
	case len(c.Path) > maxAttribute:
		return errors.New("its path is longer than 1 KiB")
	case !utf8.ValidString(c.Name + c.Value + c.Path),
		strings.ContainsFunc(c.Name+c.Value+c.Path, func(r rune) bool { return r < ' ' || r == 0x7f || r == ';' }):
		return errors.New("it has characters that cannot be sent")
	}
	return nil
}

// hides tells whether a cookie would stand before one that it may not replace.
func (j *Jar) hides(c *Cookie, guarded func(old *Cookie) bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.sites[web.Host(c.Domain).Domain()]
	return s != nil && slices.ContainsFunc(s.cookies, func(old Cookie) bool {
		return old.Name == c.Name && guarded(&old) && (old.Domain == c.Domain ||
			strings.HasSuffix(old.Domain, "."+c.Domain) || strings.HasSuffix(c.Domain, "."+old.Domain))
	})
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil
}

// put puts a cookie in the place of the one that it replaces, or deletes that if it has
// expired, and keeps to the bounds.
func (j *Jar) put(c Cookie) {
	now, domain := j.clock.Now(), web.Host(c.Domain).Domain()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.sites[domain]
	if s == nil {
		if !c.live(now) {
			return
		}
		s = &site{}
		j.sites[domain] = s
	}
	j.uses++
	s.used = j.uses
	at := s.index(&c)
	c.given = c.given || at >= 0 && s.cookies[at].given
	switch {
	case at >= 0 && s.cookies[at] == c:
		return
	case at >= 0 && c.live(now):
		j.count(s, &s.cookies[at], -1)
		s.cookies[at] = c
		j.count(s, &c, 1)
	case at >= 0:
		j.remove(s, at)
	case c.live(now):
		s.cookies = append(s.cookies, c)
		j.count(s, &c, 1)
	default:
		return
	}
	j.changed = true
	for i := len(s.cookies) - 1; i >= 0; i-- {
		if !s.cookies[i].live(now) {
			j.remove(s, i)
		}
	}
	for len(s.cookies) > maxSite || s.bytes > maxSiteBytes {
		j.remove(s, s.outgoing(&c))
	}
	if len(s.cookies) == 0 {
		delete(j.sites, domain)
	}
	for len(j.sites) > maxSites || j.bytes > maxBytes {
		oldest := j.oldest()
		if at := s.index(&c); at >= 0 && !c.given && j.sites[oldest].given > 0 { // so has each site: the new one goes
			j.remove(s, at)
			continue
		}
		j.bytes -= j.sites[oldest].bytes
		delete(j.sites, oldest)
	}
}

func (s *site) index(c *Cookie) int {
	return slices.IndexFunc(s.cookies, func(old Cookie) bool { return old.same(c) })
}

// outgoing is the cookie that a site with too many loses next: what it set itself first, then
// what was set earlier; the new one only if nothing else may go.
func (s *site) outgoing(fresh *Cookie) int {
	for _, given := range []bool{false, true} {
		if given && !fresh.given {
			break
		}
		if at := slices.IndexFunc(s.cookies, func(c Cookie) bool { return c.given == given && !c.same(fresh) }); at >= 0 {
			return at
		}
	}
	return s.index(fresh)
}

// size is the bytes that a cookie counts for: no fewer than those of its line in a file.
func (c *Cookie) size() int { return len(c.Name) + len(c.Value) + len(c.Path) + len(c.Domain) + 64 }

// count counts a cookie of a site in (1) or out (-1).
func (j *Jar) count(s *site, c *Cookie, by int) {
	s.bytes += by * c.size()
	j.bytes += by * c.size()
	if c.given {
		s.given += by
	}
}

func (j *Jar) remove(s *site, at int) {
	j.count(s, &s.cookies[at], -1)
	s.cookies = slices.Delete(s.cookies, at, at+1)
}

// oldest is the domain of the site that was asked least recently, of those with nothing that
// a person gave if there are any.
func (j *Jar) oldest() string {
	oldest := ""
	var o *site
	for domain, s := range j.sites {
		if o == nil || (s.given > 0) != (o.given > 0) && s.given == 0 || (s.given > 0) == (o.given > 0) && s.used < o.used {
			oldest, o = domain, s
		}
	}
	return oldest
}

// tokenLength is the fewest bytes of a token.
const tokenLength = 16

// isToken tells whether a value is one by which somebody may be let in, and no words, such as the
// name of the page shown last: links that repeat a token are lost. Tokens are drawn at random. In a word
// of one, a row of letters and digits, these change often: more than once in 12 characters, more than twice
// in 8, or more than once in each of two words. Or the word is long, and has digits or capitals among small letters.
func isToken(s string) bool {
	if len(s) < tokenLength {
		return false
	}
	changing := 0 // words in which letters and digits change more than once
	row, changes, mixed := 0, 0, false
	random := func() bool { // at the end of a word
		if changes > 1 {
			changing++
		}
		return changing > 1 || changes > 1 && row >= 12 || changes > 2 && row >= 8 || mixed && row >= tokenLength
	}
	last := byte(' ') // 'a' and 'A' of letters, '0' of a digit, ' ' of others
	for i := 0; i < len(s); i++ {
		kind := byte(' ')
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			kind = '0'
		case 'a' <= c && c <= 'z':
			kind = 'a'
		case 'A' <= c && c <= 'Z':
			kind = 'A'
		case c == '%': // %2F is one character
			i += 2
		}
		if kind == ' ' {
			if random() {
				return true
			}
			row, changes, mixed, last = 0, 0, false, kind
			continue
		}
		if last != ' ' && (kind == '0') != (last == '0') {
			changes++
		}
		row++
		mixed = mixed || kind == '0' || kind == 'A' && last == 'a'
		last = kind
	}
	return random()
}

// Add adds a cookie as it is, such as one of a browser in which a person logged in. What sites
// set does not push it out. The error says what is wrong with it.
func (j *Jar) Add(c Cookie) error {
	c.given = true
	return j.admit(c)
}

// admit puts a cookie that no response set, if it can be one.
func (j *Jar) admit(c Cookie) error {
	c.Domain = strings.ToLower(strings.TrimLeft(c.Domain, "."))
	switch host := web.Host(c.Domain); {
	case c.Domain == "" || strings.ContainsAny(c.Domain, " \t/\\"):
		return errors.New("it is for no host")
	case c.Below && (isAddress(c.Domain) || host.IsPublicSuffix() && host.Domain() == c.Domain):
		return errors.New("it is for all hosts of a public suffix, or below an address")
	case c.Path == "" || c.Path[0] != '/':
		c.Path = "/"
	}
	if err := sendable(&c); err != nil {
		return err
	}
	if limit := j.clock.Now().Add(maxAge); c.Expires.After(limit) {
		c.Expires = limit
	}
	j.put(c)
	return nil
}
