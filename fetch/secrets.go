package fetch

import (
	"context"
	"encoding/base64"
	"net/http"
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
	cookies *cookies.Jar // nil = none are kept
	// certified tells that the origin is shown its certificate of Options.Certificates.
	certified bool
}

type personalKey struct{}

// personalFetcher is a fetcher of pages that sends secrets and cookies.
type personalFetcher struct {
	Fetcher
	secrets map[string]Secret // by origin: "https://a.example"
	cookies *cookies.Jar
}

func (t personalFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	ctx = context.WithValue(ctx, personalKey{}, personal{t.secrets[u.Origin()], t.cookies, true})
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
		ctx = context.WithValue(ctx, personalKey{}, personal{nil, t.cookies, page.Origin() == u.Origin()})
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

// answered takes the cookies that a response sets, and takes out of its header what is as
// secret as what was sent.
func (p personal) answered(u web.URL, h http.Header) {
	if p.cookies != nil {
		p.cookies.Answered(u, h)
	}
	for name, values := range h {
		for i, v := range values {
			for _, secret := range p.secret {
				if secret != "" {
					v = strings.ReplaceAll(v, secret, web.Concealed)
				}
			}
			h[name][i] = v
		}
	}
}

// leastSecret is the length in bytes from which on a secret is looked for in addresses: a
// shorter one, such as the "en" of a header, stands in many by chance.
const leastSecret = 8

// repeated tells whether an address holds a secret that was sent.
func (p personal) repeated(text string) bool {
	for _, secret := range p.secret {
		if len(secret) >= leastSecret && strings.Contains(text, secret) {
			return true
		}
	}
	return false
}
