package viewer

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// guard keeps strangers from the page. The person gets an address with a key; the page
// that it opens has the key as a cookie from then on, which scripts cannot read and
// which is sent to the folder of this server alone: a browser sends cookies to all ports
// of a machine. A program gives the key in a header:
//
//	http://127.0.0.1:8123/FOLDER/?key=KEY        the page
//	Authorization: Bearer KEY                    a program
//
// What is asked for must name an address of this machine in Host, so that no name that
// somebody points here leads here, and must come from the page itself as far as the
// browser says. A proxy that answers in the place of this server, with TLS, has an address of
// its own, which is known too. The page works whether the proxy passes Host on or names this
// server there; the cookie is for TLS alone only where Host is passed on and the proxy's
// address begins with https.
type guard struct {
	key, folder string
	address     netip.AddrPort
	hosts       []string // besides addresses
	public      string   // the origin of the proxy, such as "https://crawls.example.org"; "" = there is none
}

func newGuard(address net.Addr, public string, random func() string) (*guard, error) {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w", err)
	}
	g := &guard{key: random(), folder: random()[:8], address: at}
	_, port, _ := net.SplitHostPort(address.String())
	g.hosts = []string{"localhost:" + port}
	if !at.Addr().IsLoopback() {
		if name, err := os.Hostname(); err == nil {
			g.hosts = append(g.hosts, strings.ToLower(name)+":"+port)
		}
	}
	if public == "" {
		return g, nil
	}
	host := ""
	if g.public, host, err = originOf(public); err != nil {
		return nil, err
	}
	g.hosts = append(g.hosts, host)
	return g, nil
}

// originOf is the origin of an address without a path, and its host as browsers name it.
func originOf(address string) (origin, host string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("%q is no address of a proxy: give one such as https://crawls.example.org", address)
	}
	host = strings.ToLower(u.Host)
	if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host, host, nil
}

// origins are those of the page of a request: a proxy may name itself to this server, or name
// this server.
func (g *guard) origins(r *http.Request) []string {
	here := "http://" + r.Host
	switch {
	case g.public == "":
		return []string{here}
	case strings.HasSuffix(g.public, "://"+strings.ToLower(r.Host)):
		return []string{g.public}
	}
	return []string{here, g.public}
}

// sources are the origins of a request, each with a path, for a policy.
func (g *guard) sources(r *http.Request, path string) string {
	return strings.Join(g.origins(r), path+" ") + path
}

// URL is where the page is, with its key.
func (g *guard) URL() string {
	return cmp.Or(g.public, "http://"+g.place()) + "/" + g.folder + "/?key=" + g.key
}

// place is the address to open: that of this machine where any is listened on.
func (g *guard) place() string {
	if g.address.Addr().IsUnspecified() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), g.address.Port()).String()
	}
	return g.address.String()
}

// known tells whether a Host header names this server.
func (g *guard) known(host string) bool {
	if slices.Contains(g.hosts, strings.ToLower(host)) {
		return true
	}
	at, err := netip.ParseAddrPort(host)
	if err != nil || at.Port() != g.address.Port() {
		return false
	}
	return at.Addr() == g.address.Addr() || g.address.Addr().IsUnspecified()
}

// headers sets what every answer has.
func headers(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
}

// trusts tells whether a request for data is of the person's page, or of a program with
// the key.
func (g *guard) trusts(r *http.Request) bool {
	if scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return same(bearer, g.key)
	}
	if o := r.Header.Get("Origin"); o != "" && !slices.Contains(g.origins(r), o) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") == "" {
		return false // every browser says where a change comes from
	}
	c, err := r.Cookie(g.cookie())
	return err == nil && same(c.Value, g.key)
}

func (g *guard) cookie() string { return "waggle-" + g.folder }

// admit gives the person's browser the key as a cookie, where the address has it.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) {
	if same(r.URL.Query().Get("key"), g.key) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie(), Value: g.key, Path: "/" + g.folder + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(g.origins(r)[0], "https:")})
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
