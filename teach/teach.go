// Package teach is the local web page on which a person shows the crawler what
// is sought: they browse a site, live or recorded, and name some of the pages
// (Vydiswaran & Sarawagi 2005, section 1.2). What comes of it is a set of
// labelled paths (package topic/paths).
//
// What is shown and who may ask is the business of package harmless. Here
//
//	/page/CAP/n/      is the n-th page that was fetched
//	/page/CAP/n/k     link k of it: fetches what it leads to, and shows that
//	/load/CAP/n/k     its k-th image or style sheet
//
// No request that a page can cause changes a path: it only changes what the frame
// shows. The controls notice that and record the click.
package teach

import (
	"context"
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
	"github.com/waggle-crawler/waggle/teach/harmless"
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
	*harmless.Guard
	assets fs.FS
	closed chan struct{}

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
	harmless.Page
	from web.URL // page on which its link was clicked; zero = opened by the controls
	link paths.Click
}

//go:embed assets
var assets embed.FS

// New makes the page. The error tells which option is wrong.
func New(o Options) (*Server, error) {
	guard, err := harmless.NewGuard(o.Address, o.Random)
	if err != nil {
		return nil, fmt.Errorf("teach: %w", err)
	}
	if o.Fetcher == nil || o.Parser == nil || o.Save == nil {
		return nil, errors.New("teach: Fetcher, Parser and Save are needed")
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
		Options: o, Guard: guard, assets: files,
		closed: make(chan struct{}), book: newBook(o.Paths, o.History, o.Task), titles: titles, loaded: map[web.URL]*web.Response{}, changed: make(chan struct{}), version: 1,
	}
	return s, nil
}

// Close ends requests that wait for news. It is called once.
func (s *Server) Close() error {
	close(s.closed)
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch at, origin, rest := s.Admit(w, r); at {
	case harmless.Controls:
		s.ServeControls(w, r, origin, s.assets, rest)
	case harmless.Action:
		s.serveAction(w, r, origin, rest)
	case harmless.Shown:
		s.servePage(w, r, origin, rest)
	case harmless.Loaded:
		s.serveResource(w, r, rest)
	}
}

// servePage answers for what the frame shows: "n/" is a page, "n/k" a link.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, origin, rest string) {
	if !harmless.Framed(w, r) {
		return
	}
	n, k, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	v := s.view(harmless.Number(n))
	s.mu.Unlock()
	if v == nil {
		s.WritePage(w, origin, http.StatusGone, harmless.Notice("This page is no longer kept", wayBack))
		return
	}
	if k == "" {
		s.mu.Lock()
		if s.framed != v.number {
			s.framed = v.number
			s.touch()
		}
		s.mu.Unlock()
		s.WritePage(w, origin, http.StatusOK, v.HTML)
		return
	}
	i := harmless.Number(k)
	if i < 0 || i >= len(v.Links) {
		s.WritePage(w, origin, http.StatusNotFound, harmless.Notice("There is no such link", wayBack))
		return
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode == "navigate" && r.Header.Get("Sec-Fetch-User") != "?1" {
		harmless.Refuse(w) // nobody clicked
		return
	}
	l := v.Links[i]
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
	next := s.look(r.Context(), l.URL, v.url, paths.Click{Anchor: event.Line(l.Anchor), Ordinal: l.Ordinal})
	if r.Context().Err() != nil {
		return // the person went elsewhere meanwhile
	}
	http.Redirect(w, r, s.pagePath(next.number), http.StatusSeeOther)
}

func (s *Server) pagePath(view int) string { return fmt.Sprintf("/page/%s/%d/", s.Cap, view) }

// serveResource answers for images and style sheets of shown pages.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, rest string) {
	n, k, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	v := s.view(harmless.Number(n))
	s.mu.Unlock()
	i := harmless.Number(k)
	if v == nil || i < 0 || i >= len(v.Resources) || s.Resources == nil {
		harmless.Refuse(w)
		return
	}
	if res := v.Resources[i]; res.Wants(w, r) {
		res.Write(w, s.load(r.Context(), res.URL))
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
func (s *Server) look(ctx context.Context, u, from web.URL, l paths.Click) *view {
	v := &view{url: u, from: from, link: l}
	r, err := follow(ctx, s.Fetcher, u)
	var page *web.Page
	var shown string
	var isHTML bool
	if err == nil {
		if v.url = r.URL; v.url != u {
			v.link.Via = u
		}
		if r.Status/100 == 2 {
			page, err = s.Parser.Parse(r)
		}
		if page != nil {
			page = r.WithoutTelling(page)
			shown, isHTML, err = s.Parser.Shown(r)
		}
	}
	var failure *web.Failure
	switch {
	case page != nil:
		v.page = page
	case errors.As(err, &failure):
		v.HTML = harmless.Notice("This page cannot be fetched", event.Line(about(u, failure.Detail)+" ("+failure.Reason.Brief()+"). "+wayBack))
	case err != nil:
		v.HTML = harmless.Notice("This cannot be shown", event.Line(about(v.url, err.Error())+", so a path cannot go there. "+wayBack))
	case s.Recorded != "" && r.Status == http.StatusNotFound:
		v.HTML = harmless.Notice("Not in the record", fmt.Sprintf("%s was not recorded in %s, so a path cannot go there. %s", v.url, s.Recorded, wayBack))
	default:
		v.HTML = harmless.Notice("The site has no such page", fmt.Sprintf("%s answered with status %d, so a path cannot go there. %s", v.url, r.Status, wayBack))
	}
	s.mu.Lock()
	s.made++
	v.number = s.made
	s.mu.Unlock()
	if v.page != nil {
		v.Page = harmless.Options{
			LinkPath:     func(k int) string { return fmt.Sprintf("/page/%s/%d/%d", s.Cap, v.number, k) },
			ResourcePath: func(k int) string { return fmt.Sprintf("/load/%s/%d/%d", s.Cap, v.number, k) },
			Styles:       s.Resources != nil, Images: s.Images && s.Resources != nil, Canon: s.Canon, Has: s.Has, Plain: !isHTML,
		}.Show(page, shown)
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
