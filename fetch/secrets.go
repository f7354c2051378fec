package fetch

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

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
	words   []string     // that give away a secret which the user has for the site
	cookies *cookies.Jar // nil = none are kept
	// certified tells that the origin is shown its certificate of Options.Certificates.
	certified bool
	elsewhere *keyring // nil = the user has nothing secret
}

// keyring is what lets the user in at all sites.
type keyring struct {
	words   wordsByOrigin
	cookies *cookies.Jar // nil = none are kept
}

// at are the words of what lets the user in at a host, by whatever scheme and port.
func (k *keyring) at(h web.Host) []string { return k.with(k.words["//"+h.Name()], h) }

// with are words with those of the cookies of a host.
func (k *keyring) with(words []string, h web.Host) []string {
	if k.cookies == nil {
		return words
	}
	return withTokens(words, k.cookies.Tokens(h))
}

type personalKey struct{}

// personalFetcher is a fetcher of pages that sends secrets and cookies.
type personalFetcher struct {
	Fetcher
	secrets map[string]Secret // by origin: "https://a.example"
	keyring
}

func (t personalFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	ctx = context.WithValue(ctx, personalKey{}, personal{t.secrets[u.Origin()], t.words.of(u.Origin()), t.cookies, true, &t.keyring})
	return t.Fetcher.Fetch(ctx, u)
}

// siteFetcher is a fetcher of what pages ask for that sends cookies to their own sites, and
// shows a certificate to their own origin: any page may ask any other site for anything. A page
// may tell in any request what it was sent.
type siteFetcher struct {
	Fetcher
	keyring
}

func (t siteFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if page, ok := ctx.Value(pageKey{}).(web.URL); ok {
		own := personal{words: t.with(t.words.of(page.Origin()), page.Host()), elsewhere: &t.keyring}
		if page.Scheme() == u.Scheme() && page.Host().Domain() == u.Host().Domain() {
			own.cookies, own.certified = t.cookies, page.Origin() == u.Origin()
		}
		ctx = context.WithValue(ctx, personalKey{}, own)
	}
	return t.Fetcher.Fetch(ctx, u)
}

// certifiedFetcher is a fetcher of robots.txt, which a server may not give without a
// certificate either.
type certifiedFetcher struct {
	Fetcher
	keyring
}

func (t certifiedFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	return t.Fetcher.Fetch(context.WithValue(ctx, personalKey{}, personal{words: t.words.of(u.Origin()), certified: true, elsewhere: &t.keyring}), u)
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

// answered takes the cookies that a response sets, and takes out of its head what is as secret as what was
// sent. The words are those of all that is secret between the user and the site.
func (o *Options) answered(p personal, u web.URL, in *http.Response) (words []string) {
	words = p.words
	var tokens []string
	switch {
	case p.cookies != nil:
		tokens = p.cookies.Answered(u, in.Header)
	case o.setsSecrets(u):
		tokens = cookies.Tokens(in.Header)
		in.Header.Del("Set-Cookie")
	}
	words = withTokens(words, tokens)
	if len(words) == 0 {
		return nil
	}
	f := newFinder(words)
	code, said, _ := strings.Cut(in.Status, " ")
	in.Status = strings.TrimSuffix(code+" "+f.conceal(said, false), " ")
	for name, values := range in.Header {
		for i, v := range values {
			values[i] = f.conceal(v, protocol[name])
		}
	}
	return words
}

// known are the words of what is secret between the user and a host before it answers.
func (p personal) known(h web.Host) []string {
	if p.cookies == nil {
		return p.words
	}
	return withTokens(p.words, p.cookies.Tokens(h))
}

func withTokens(words, tokens []string) []string {
	if len(tokens) == 0 {
		return words
	}
	words = slices.Clone(words)
	for _, t := range tokens {
		words = append(words, forms(t)...)
	}
	return inOrder(words)
}
