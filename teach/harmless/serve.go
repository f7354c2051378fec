package harmless

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// TokenHeader carries the token of what the controls ask for. No form and no
// link can set a header, so none can ask.
const TokenHeader = "Waggle-Token"

// Guard keeps strangers from a local page. It is safe for concurrent use.
type Guard struct {
	// Token is the key of the controls, and Cap that of shown pages.
	Token, Cap string
	address    string
	hosts      []string
}

// NewGuard guards the page at an address. random draws keys; nil = crypto/rand.
// The error says that the address is not 127.0.0.1 and a port.
func NewGuard(address string, random func() string) (*Guard, error) {
	host, port, ok := strings.Cut(address, ":")
	if !ok || host != "127.0.0.1" {
		return nil, fmt.Errorf("the address %q is not 127.0.0.1:PORT: the page is for this machine only", address)
	}
	if random == nil {
		random = rand.Text
	}
	return &Guard{address: address, Token: random(), Cap: random(), hosts: []string{address, "localhost:" + port}}, nil
}

// URL is where the controls are, token included.
func (g *Guard) URL() string { return "http://" + g.address + "/" + g.Token + "/" }

// Place is a part of the local page.
type Place int

// The places.
const (
	Nowhere  Place = iota // the request was refused
	Controls              // a file of the controls
	Action                // what the controls ask for; see Trusts
	Shown                 // a shown page
	Loaded                // an image or a style sheet of one
)

// Admit sets the headers that every answer has and says which part of the page a
// request is for: rest is what follows the key. What is not for the asker is
// refused here.
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request) (at Place, origin, rest string) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if !slices.Contains(g.hosts, r.Host) {
		http.Error(w, "This address is not known here.", http.StatusMisdirectedRequest)
		return Nowhere, "", ""
	}
	origin = "http://" + r.Host
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case same(first, g.Token):
		return Controls, origin, rest
	case first == "do":
		return Action, origin, rest
	case first == "page" || first == "load":
		given, rest, _ := strings.Cut(rest, "/")
		if !same(given, g.Cap) || r.Method != http.MethodGet {
			break
		}
		if first == "page" {
			return Shown, origin, rest
		}
		return Loaded, origin, rest
	}
	Refuse(w)
	return Nowhere, "", ""
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Refuse answers what is not for the asker, and tells nothing.
func Refuse(w http.ResponseWriter) { http.Error(w, "No.", http.StatusForbidden) }

// Trusts tells whether an action was asked for by the controls. Where it was
// not, it is refused.
func (g *Guard) Trusts(w http.ResponseWriter, r *http.Request, origin string) bool {
	o, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if o != "" && o != origin || site != "" && site != "same-origin" || !same(r.Header.Get(TokenHeader), g.Token) {
		Refuse(w)
		return false
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	return true
}

// ServeControls answers for the files of the controls; "" is index.html. Besides
// assets there are base.css, controls.js and icon.svg, which all controls share.
func (g *Guard) ServeControls(w http.ResponseWriter, r *http.Request, origin string, assets fs.FS, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		Refuse(w)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"frame-src "+origin+"/page/"+g.Cap+"/; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if name == "" {
		name = "index.html"
	}
	if _, err := fs.Stat(assets, name); err != nil {
		assets, name = shared, "assets/"+name
	}
	http.ServeFileFS(w, r, assets, name)
}

//go:embed assets
var shared embed.FS

// Framed tells whether a request for a shown page is the navigation of a frame,
// as far as the browser says, so that no image or style sheet "loads" a page.
// Where it is not, it is refused.
func Framed(w http.ResponseWriter, r *http.Request) bool {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "iframe" {
		Refuse(w)
		return false
	}
	return true
}

// WritePage answers with a document for the frame.
func (g *Guard) WritePage(w http.ResponseWriter, origin string, status int, doc []byte) {
	load := origin + "/load/" + g.Cap + "/"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline' "+load+"; img-src "+load+"; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors "+origin)
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), autoplay=(), fullscreen=()")
	w.WriteHeader(status)
	w.Write(doc) // a reader that leaves is no fault
}

// Wants tells whether a request is for that kind of resource, as far as the
// browser says. Where it is not, it is refused.
func (r Resource) Wants(w http.ResponseWriter, req *http.Request) bool {
	want := "image"
	if r.Style {
		want = "style"
	}
	if dest := req.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != want {
		Refuse(w)
		return false
	}
	return true
}

// Write answers with a resource as it was fetched; got may be nil.
func (r Resource) Write(w http.ResponseWriter, got *web.Response) {
	if got == nil || got.Status != http.StatusOK {
		http.Error(w, "not to be had", http.StatusNotFound)
		return
	}
	if r.Style {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Write([]byte(cleanCSS(strings.ToValidUTF8(string(got.Body[:min(len(got.Body), maxCSS)]), ""))))
		return
	}
	switch kind := http.DetectContentType(got.Body); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/x-icon":
		w.Header().Set("Content-Type", kind)
		w.Write(got.Body)
	default:
		http.Error(w, "no image", http.StatusNotFound)
	}
}
