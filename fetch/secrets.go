package fetch

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/web"
)

// Secret is what lets a user in at a site: headers by their names, such as Authorization and
// Cookie.
//
// It is sent with requests for pages to that origin, scheme and port included, and never
// with those for robots.txt or for what a page asks for in a browser, since any page may ask
// for anything. A redirect to another origin does not carry it. It does not stand in
// Response.RequestHead, so no archive holds it; neither do the cookies that the origin sets
// with any response, which may be as good as a password.
type Secret map[string]string

// BasicAuth is the secret of a name and a password. Source: RFC 7617.
func BasicAuth(name, password string) Secret {
	return Secret{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))}
}

// personal is what a request carries beside what all do: by what its user is let in.
type personal struct {
	secret  Secret
	words   []string     // of the secret
	cookies *cookies.Jar // nil = none are kept
	// certified tells that the origin is shown its certificate of Options.Certificates.
	certified bool
}

type personalKey struct{}

// personalFetcher is a fetcher of pages that sends secrets and cookies.
type personalFetcher struct {
	Fetcher
	secrets map[string]Secret // by origin: "https://a.example"
	words   map[string][]string
	cookies *cookies.Jar
}

func newPersonalFetcher(f Fetcher, secrets map[string]Secret, jar *cookies.Jar) personalFetcher {
	words := map[string][]string{}
	for origin, s := range secrets {
		words[origin] = s.words()
	}
	return personalFetcher{f, secrets, words, jar}
}

func (t personalFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	ctx = context.WithValue(ctx, personalKey{}, personal{t.secrets[u.Origin()], t.words[u.Origin()], t.cookies, true})
	return t.Fetcher.Fetch(ctx, u)
}

// siteFetcher is a fetcher of what pages ask for that sends cookies to their own sites, and
// shows a certificate to their own origin: any page may ask any other site for anything.
type siteFetcher struct {
	Fetcher
	cookies *cookies.Jar
}

func (t siteFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if page, ok := ctx.Value(pageKey{}).(web.URL); ok && page.Scheme() == u.Scheme() && page.Host().Domain() == u.Host().Domain() {
		ctx = context.WithValue(ctx, personalKey{}, personal{cookies: t.cookies, certified: page.Origin() == u.Origin()})
	}
	return t.Fetcher.Fetch(ctx, u)
}

// certifiedFetcher is a fetcher of robots.txt, which a server may not give without a
// certificate either.
type certifiedFetcher struct{ Fetcher }

func (t certifiedFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	return t.Fetcher.Fetch(context.WithValue(ctx, personalKey{}, personal{certified: true}), u)
}

func personalOf(ctx context.Context) personal {
	p, _ := ctx.Value(personalKey{}).(personal)
	return p
}

// set sets what the request for an address carries. A cookie that Options.Secrets names is
// sent as it stands there.
func (p personal) set(h http.Header, u web.URL) {
	for name, value := range p.secret {
		h.Set(name, value)
	}
	if p.cookies == nil {
		return
	}
	fixed := h.Get("Cookie")
	var all []string
	if fixed != "" {
		all = append(all, fixed)
	}
	for one := range strings.SplitSeq(p.cookies.Header(u), "; ") {
		name, _, _ := strings.Cut(one, "=")
		if one != "" && !strings.Contains("; "+fixed, "; "+name+"=") {
			all = append(all, one)
		}
	}
	if len(all) > 0 {
		h.Set("Cookie", strings.Join(all, "; "))
	}
}

// setsSecrets tells whether the cookies that an address sets may be as good as a password,
// whatever asked for it: a page, a robots.txt, or what a page asks for.
func (o *Options) setsSecrets(u web.URL) bool {
	_, certified := o.Certificates[u.Origin()]
	return o.Cookies != nil || certified || len(o.Secrets[u.Origin()]) > 0
}

// answered takes the cookies that a response sets, and takes out of its head what is as
// secret as what was sent.
func (p personal) answered(u web.URL, in *http.Response) {
	if p.cookies != nil {
		p.cookies.Answered(u, in.Header)
	}
	if len(p.words) == 0 {
		return
	}
	in.Status = conceal(in.Status, p.words, true)
	for name, values := range in.Header {
		for i, v := range values {
			values[i] = conceal(v, p.words, protocol[name])
		}
	}
}

// repeats tells whether an address to which another one redirects holds a secret that was sent,
// behind its host. A short word that stands in the other one as well is there by chance.
func (p personal) repeats(to, from web.URL) bool {
	holds := func(text, word string) bool { return conceal(text, []string{word}, false) != text }
	return slices.ContainsFunc(p.words, func(w string) bool {
		return holds(to.RequestPath(), w) && (len(w) >= longSecret || !holds(from.String(), w))
	})
}

// Secrets are looked for by their words. One of fewer than longSecret bytes is found only where
// neither letters nor digits stand beside it, since others hold it by chance; one of fewer
// than leastSecret, such as the 1 of a header, is not looked for.
const (
	longSecret  = 8
	leastSecret = 4
)

// protocol are headers by which a crawl, or its browser, goes: what a page is, where it leads, and what its
// owner wishes. They hold short words by chance alone. Location is apart: see personal.repeats.
var protocol = map[string]bool{
	"Content-Encoding": true, "Content-Length": true, "Content-Type": true, "Transfer-Encoding": true,
	"Date": true, "Etag": true, "Expires": true, "Last-Modified": true, "Retry-After": true,
	"Content-Language": true, "Content-Security-Policy": true, "Link": true,
	"Tdm-Policy": true, "Tdm-Reservation": true, "X-Robots-Tag": true, web.RecordHeader: true,
}

// words are the texts that give a secret away, the longest first: each value that is sent, what stands in it
// behind the scheme of an authorization, the password of a name, and the value of each cookie that is long.
// What a client can read (Accept-Language and its like) is no secret.
func (s Secret) words() (words []string) {
	add := func(w string) {
		if len(w) >= leastSecret {
			words = append(words, w)
		}
	}
	for name, value := range s {
		if strings.HasPrefix(name, "Accept") {
			continue
		}
		add(value)
		switch name {
		case "Authorization":
			scheme, told, _ := strings.Cut(value, " ")
			add(strings.TrimSpace(told))
			if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(told)); err == nil && strings.EqualFold(scheme, "Basic") {
				_, password, _ := strings.Cut(string(plain), ":")
				add(password)
			}
		case "Cookie":
			for one := range strings.SplitSeq(value, ";") {
				_, v, _ := strings.Cut(one, "=")
				if v = strings.Trim(strings.TrimSpace(v), `"`); len(v) >= longSecret { // shorter ones are such as en-US, dark
					add(v)
				}
			}
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(words)
}

// conceal puts web.Concealed in the place of words in a text; of a text that holds one in the way
// of addresses (a%20b) nothing else is left. onlyLong leaves short words where they are.
func conceal(text string, words []string, onlyLong bool) string {
	each := func(s string) string {
		for _, w := range words {
			if len(w) >= longSecret || !onlyLong {
				s = concealWord(s, w)
			}
		}
		return s
	}
	out := each(text)
	for _, coded := range []string{out, strings.ReplaceAll(out, "+", " ")} {
		if plain := unescape(coded); each(plain) != plain {
			return web.Concealed
		}
	}
	return out
}

// unescape is url.PathUnescape that leaves what is no escape as it is.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(code))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// concealWord is conceal for one word as it stands.
func concealWord(text, word string) string {
	var b strings.Builder
	done := 0 // so much of text is in b
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return b.String() + text[done:]
		}
		i += from
		end := i + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[done:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if len(word) < longSecret && (isAlphanumeric(before) || isAlphanumeric(after)) {
			from = i + 1
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(web.Concealed)
		done, from = end, end
	}
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
