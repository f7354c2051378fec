// Package teach is the local web page on which a person shows the crawler what
// is sought: they browse a site, live or recorded, and name some of the pages
// (Vydiswaran & Sarawagi 2005, section 1.2). What comes of it is a set of
// labelled paths (package topic/paths).
//
// # Who may do what
//
// Two kinds of document live at the server's one address:
//
//	/TOKEN/           the controls: ours, with script, and the only ones that
//	                  know the token
//	/page/CAP/n/      the n-th page that was fetched, made harmless (show.go);
//	                  shown in an iframe of the controls
//	/page/CAP/n/k     link k of it: fetches what it leads to, and shows that
//	/load/CAP/n/k     its k-th image or style sheet
//	/do/…             what the controls ask for; the token is in a header
//
// A page has no script, lives in an opaque origin, can load nothing but its own
// resources and can move its frame nowhere but along its links, all of which go
// through the fetcher. No request that a page can cause changes a path: it only
// changes what the frame shows. The controls notice that and record the click.
//
// A browser elsewhere on the machine reaches none of it: the Host header must
// name the address listened on (so that no other name leads here), the Origin
// of a request must be ours, and the token and CAP are drawn anew each time.
package teach

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Fetcher brings what an address holds. It is safe for concurrent use; the
// error is a *web.Failure, or ctx's.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// Suggester says which labels would teach a model most.
type Suggester interface {
	// Suggest returns at most n suggestions, the most useful first, given what
	// was shown so far. Candidates are ways whose last page has no label: those
	// without any label among the shown, and those of Options.Candidates. A
	// suggester may find others by itself. It is not called concurrently.
	Suggest(ctx context.Context, shown, candidates []paths.Path, n int) ([]Suggestion, error)
}

// Suggestion is a page whose label would teach much.
type Suggestion struct {
	// Path leads to the page, which is its last; labels on the way are kept.
	Path paths.Path
	// Guess is what a model takes the page for, "" = it has no idea.
	Guess string
	// Why tells in a few words what makes it worth asking.
	Why string
}

// Options say what is shown and what becomes of it.
type Options struct {
	// Address is what the server listens on, "127.0.0.1:8123": the only Host
	// it answers to, besides localhost with the same port.
	Address string
	// Fetcher brings pages, Resources their images and style sheets (nil =
	// they are not shown).
	Fetcher, Resources Fetcher
	Images             bool // show images too, not only style sheets
	// Recorded is the name of the recorded web that Fetcher reads, "" = live, and
	// Has tells which addresses it holds: links to others are shown as dead. nil =
	// all.
	Recorded string
	Has      func(web.URL) bool
	Parser   *parse.Parser
	Canon    web.Canon
	// Starts are the pages to begin at.
	Starts []web.URL
	// Titles are those of pages that are known beforehand.
	Titles map[web.URL]string
	// Paths are those shown so far; the person goes on at the end of the last.
	Paths []paths.Path
	// History is what can be undone of Paths and redone, as Save was given it or
	// ReadHistory returned it.
	History History
	// Milestones are labels to offer besides those of Paths.
	Milestones []string
	Task       string // of new paths; see paths.Path
	// Keeper is where Save keeps the paths, for people: "paths.tsv".
	Keeper string
	// Save keeps all paths, and what can be undone and redone of them, at once and
	// for good. It is called after each action that changed them, not concurrently.
	// Where it fails, the action is undone and the person is told.
	Save func(set []paths.Path, h History) error
	// Suggester, if set, is asked what to label next.
	Suggester  Suggester
	Candidates []paths.Path
	// Random draws tokens; nil = crypto/rand.
	Random func() string
}

// Server is the page. It starts no goroutine; Close ends requests that wait.
type Server struct {
	Options
	token, cap string
	hosts      []string
	assets     fs.FS
	closed     chan struct{}

	mu       sync.Mutex
	book     *book
	views    []*view // the latest last, at most maxViews
	made     int     // views ever made
	framed   int     // number of the view the frame shows by its own doing
	current  int     // number of the view of the page where the person stands; 0 = none
	titles   map[web.URL]string
	notice   string // for the person, about the last action
	version  int    // counts changes
	changed  chan struct{}
	suggests []Suggestion
	loading  int                       // links being fetched
	loaded   map[web.URL]*web.Response // images and sheets, so that a site is asked once
	weight   int                       // bytes of loaded
	checked  struct {                  // what problems found, at which version
		version  int
		problems []string
	}

	asking sync.Mutex // one suggestion at a time
}

// maxViews bounds the pages kept to be shown again when a browser goes back.
const maxViews = 24

// maxWeight bounds the bytes of resources kept.
const maxWeight = 32 << 20

// maxTitles bounds the titles remembered for the list of paths.
const maxTitles = 5000

// view is a page as it was fetched once.
type view struct {
	number int // from 1
	url    web.URL
	page   *web.Page // nil = nothing that could be labelled; html says why
	shown
	from web.URL // page on which its link was clicked; zero = opened by the controls
	link paths.Followed
}

//go:embed assets
var assets embed.FS

// New makes the page. The error tells which option is wrong.
func New(o Options) (*Server, error) {
	host, port, ok := strings.Cut(o.Address, ":")
	if !ok || host != "127.0.0.1" {
		return nil, fmt.Errorf("teach: the address %q is not 127.0.0.1:PORT: the page is for this machine only", o.Address)
	}
	if o.Fetcher == nil || o.Parser == nil || o.Save == nil {
		return nil, errors.New("teach: Fetcher, Parser and Save are needed")
	}
	if o.Random == nil {
		o.Random = rand.Text
	}
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	titles := make(map[web.URL]string, len(o.Titles))
	for u, title := range o.Titles {
		titles[u] = event.Line(title)
	}
	s := &Server{
		Options: o, token: o.Random(), cap: o.Random(), hosts: []string{o.Address, "localhost:" + port}, assets: files,
		closed: make(chan struct{}), book: newBook(o.Paths, o.History, o.Task), titles: titles, loaded: map[web.URL]*web.Response{}, changed: make(chan struct{}), version: 1,
	}
	return s, nil
}

// URL is where the page is, token included.
func (s *Server) URL() string { return "http://" + s.Address + "/" + s.token + "/" }

// Close ends requests that wait for news. It is called once.
func (s *Server) Close() error {
	close(s.closed)
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if !slices.Contains(s.hosts, r.Host) {
		http.Error(w, "This address is not known here.", http.StatusMisdirectedRequest)
		return
	}
	origin := "http://" + r.Host
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case same(first, s.token):
		s.serveControls(w, r, origin, rest)
	case first == "do":
		s.serveAction(w, r, origin, rest)
	case first == "page" || first == "load":
		given, rest, _ := strings.Cut(rest, "/")
		if !same(given, s.cap) || r.Method != http.MethodGet {
			refuse(w)
			return
		}
		if first == "page" {
			s.servePage(w, r, origin, rest)
		} else {
			s.serveResource(w, r, rest)
		}
	default:
		refuse(w)
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refuse answers what is not for the asker, and tells nothing.
func refuse(w http.ResponseWriter) { http.Error(w, "No.", http.StatusForbidden) }

// serveControls answers for the files of the controls.
func (s *Server) serveControls(w http.ResponseWriter, r *http.Request, origin, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"frame-src "+origin+"/page/"+s.cap+"/; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if name == "" {
		name = "index.html"
	}
	http.ServeFileFS(w, r, s.assets, name)
}

// servePage answers for what the frame shows: "n/" is a page, "n/k" a link.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, origin, rest string) {
	// Browsers tell what a request is for. Only the navigation of a frame is
	// answered, so that no image or style sheet "loads" a link.
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "iframe" {
		refuse(w)
		return
	}
	n, k, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	v := s.view(number(n))
	s.mu.Unlock()
	if v == nil {
		s.write(w, origin, http.StatusGone, notice("This page is no longer kept", wayBack))
		return
	}
	if k == "" {
		s.mu.Lock()
		if s.framed != v.number {
			s.framed = v.number
			s.touch()
		}
		s.mu.Unlock()
		s.write(w, origin, http.StatusOK, v.html)
		return
	}
	i := number(k)
	if i < 0 || i >= len(v.links) {
		s.write(w, origin, http.StatusNotFound, notice("There is no such link", wayBack))
		return
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode == "navigate" && r.Header.Get("Sec-Fetch-User") != "?1" {
		refuse(w) // nobody clicked
		return
	}
	l := v.links[i]
	s.mu.Lock()
	s.loading++
	s.touch()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.loading--
		s.touch()
		s.mu.Unlock()
	}()
	next := s.look(r.Context(), l.url, v.url, paths.Followed{Anchor: event.Line(l.anchor), Ordinal: l.ordinal})
	if r.Context().Err() != nil {
		return // the person went elsewhere meanwhile
	}
	http.Redirect(w, r, s.pagePath(next.number), http.StatusSeeOther)
}

// write answers with a document for the frame.
func (s *Server) write(w http.ResponseWriter, origin string, status int, doc []byte) {
	load := origin + "/load/" + s.cap + "/"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline' "+load+"; img-src "+load+"; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors "+origin)
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), autoplay=(), fullscreen=()")
	w.WriteHeader(status)
	w.Write(doc) // a reader that leaves is no fault
}

func (s *Server) pagePath(view int) string { return fmt.Sprintf("/page/%s/%d/", s.cap, view) }

// serveResource answers for images and style sheets of shown pages.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, rest string) {
	n, k, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	v := s.view(number(n))
	s.mu.Unlock()
	i := number(k)
	if v == nil || i < 0 || i >= len(v.resources) || s.Resources == nil {
		refuse(w)
		return
	}
	res := v.resources[i]
	want := map[bool]string{true: "style", false: "image"}[res.style]
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != want {
		refuse(w)
		return
	}
	got := s.load(r.Context(), res.url)
	if got == nil || got.Status != http.StatusOK {
		http.Error(w, "not to be had", http.StatusNotFound)
		return
	}
	if res.style {
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

// maxLoad bounds how long a page waits for an image or a style sheet.
const maxLoad = 8 * time.Second

// load brings an image or a style sheet, of those kept or anew; nil if it is
// not to be had.
func (s *Server) load(ctx context.Context, u web.URL) *web.Response {
	s.mu.Lock()
	got, ok := s.loaded[u]
	s.mu.Unlock()
	if ok {
		return got
	}
	limited, cancel := context.WithTimeout(ctx, maxLoad)
	defer cancel()
	got, err := follow(limited, s.Resources, u)
	if err != nil {
		got = nil
	}
	if ctx.Err() != nil {
		return nil // the person went on: that says nothing of the resource
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(u.String()) + 256
	if got != nil {
		size += len(got.Body)
	}
	if s.weight += size; s.weight > maxWeight {
		clear(s.loaded)
		s.weight = size
	}
	s.loaded[u] = got
	return got
}

// maxRedirects bounds how far a link is followed.
const maxRedirects = 10

// follow fetches u and goes on to where it has moved.
func follow(ctx context.Context, f Fetcher, u web.URL) (*web.Response, error) {
	for n := 0; ; n++ {
		r, err := f.Fetch(ctx, u)
		if err != nil || r.Status < 300 || r.Status > 399 || r.Location.IsZero() {
			return r, err
		}
		if n == maxRedirects {
			return nil, &web.Failure{Reason: web.ReasonRedirects, Detail: fmt.Sprintf("%s moved more than %d times", u, maxRedirects)}
		}
		u = r.Location
	}
}

// look fetches a page and makes a view of it, of a notice if there is none.
func (s *Server) look(ctx context.Context, u, from web.URL, l paths.Followed) *view {
	v := &view{url: u, from: from, link: l}
	r, err := follow(ctx, s.Fetcher, u)
	var page *web.Page
	if err == nil {
		if v.url = r.URL; v.url != u {
			v.link.Via = u
		}
		if r.Status/100 == 2 {
			page, err = s.Parser.Parse(r)
		}
	}
	var failure *web.Failure
	switch {
	case page != nil:
		v.page = page
	case errors.As(err, &failure):
		v.html = notice("This page cannot be fetched", event.Line(about(u, failure.Detail)+" ("+string(failure.Reason)+"). "+wayBack))
	case err != nil:
		v.html = notice("This cannot be shown", event.Line(about(v.url, err.Error())+", so a path cannot go there. "+wayBack))
	case s.Recorded != "" && r.Status == http.StatusNotFound:
		v.html = notice("Not in the record", fmt.Sprintf("%s was not recorded in %s, so a path cannot go there. %s", v.url, s.Recorded, wayBack))
	default:
		v.html = notice("The site has no such page", fmt.Sprintf("%s answered with status %d, so a path cannot go there. %s", v.url, r.Status, wayBack))
	}
	s.mu.Lock()
	s.made++
	v.number = s.made
	s.mu.Unlock()
	if v.page != nil {
		text := utf8Of(page, r.Body)
		if strings.HasPrefix(page.MIME, "text/plain") {
			v.shown = plain(page, text)
		} else {
			v.shown = showing{
				linkPath:     func(k int) string { return fmt.Sprintf("/page/%s/%d/%d", s.cap, v.number, k) },
				resourcePath: func(k int) string { return fmt.Sprintf("/load/%s/%d/%d", s.cap, v.number, k) },
				styles:       s.Resources != nil, images: s.Images && s.Resources != nil, canon: s.Canon, has: s.Has,
			}.show(page, text)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.views) == maxViews {
		s.views = slices.Delete(s.views, 0, 1)
	}
	s.views = append(s.views, v)
	if v.page != nil && len(s.titles) < maxTitles {
		s.titles[v.url] = event.Line(v.page.Title)
	}
	return v
}

// wayBack is the remedy where a page is not to be had.
const wayBack = "Go back with the key B, or choose a page of your path on the side."

// about is what was said of an address, which it need not have named.
func about(u web.URL, said string) string {
	if strings.HasPrefix(said, u.String()) {
		return said
	}
	return u.String() + ": " + said
}

// view finds a view that is still kept. s.mu is held.
func (s *Server) view(number int) *view {
	i := slices.IndexFunc(s.views, func(v *view) bool { return v.number == number })
	if i < 0 {
		return nil
	}
	return s.views[i]
}

// touch tells those who wait that something changed. s.mu is held.
func (s *Server) touch() {
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// marshal writes an answer.
func marshal(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}
