package fetch

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Secret is what lets a user in at a site: headers by their names, such as Authorization and
// Cookie.
//
// It is sent with requests for pages to that origin, scheme and port included, and never
// with those for robots.txt or for what a page asks for in a browser, since any page may ask
// for anything. A redirect to another origin does not carry it. It does not stand in
// Response.RequestHead, so no archive holds it; neither do the cookies that the origin sets,
// which may be as good as a password.
type Secret map[string]string

// BasicAuth is the secret of a name and a password. Source: RFC 7617.
func BasicAuth(name, password string) Secret {
	return Secret{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))}
}

type secretKey struct{}

// secretFetcher is a fetcher that sends secrets.
type secretFetcher struct {
	Fetcher
	secrets map[string]Secret // by origin: "https://a.example"
}

func (t secretFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if s, ok := t.secrets[u.Scheme()+"://"+string(u.Host())]; ok {
		ctx = context.WithValue(ctx, secretKey{}, s)
	}
	return t.Fetcher.Fetch(ctx, u)
}

func secretOf(ctx context.Context) Secret {
	s, _ := ctx.Value(secretKey{}).(Secret)
	return s
}

// conceal takes out of the header of a response what is as secret as what was sent.
func conceal(h http.Header, s Secret) {
	if len(s) == 0 {
		return
	}
	h.Del("Set-Cookie")
	for name, values := range h {
		for i, v := range values {
			for _, secret := range s {
				if secret != "" {
					v = strings.ReplaceAll(v, secret, "…")
				}
			}
			h[name][i] = v
		}
	}
}
