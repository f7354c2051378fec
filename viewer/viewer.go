// Package viewer is the local web page on which crawls are looked at while they run and
// afterwards, and its HTTP interface. Figures come from the event log of a collection,
// which is followed as it grows, pages from its archive. Nothing is asked for beyond the
// machine.
//
//	/FOLDER/              the page: script, style sheet
//	/FOLDER/api/…         what it shows, as JSON; see api.go
//	/FOLDER/page/CAP/…    archived pages made harmless, for a frame; see package harmless
//	/FOLDER/load/CAP/…    their images and style sheets
//	/api/…, /metrics      the same for programs, which give the key in a header
//
// FOLDER, the key and CAP are drawn anew by each New.
package viewer

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/viewer/start"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// Options say what is shown and to whom.
type Options struct {
	// Address is what the server listens on.
	Address net.Addr
	// Public is the address of a proxy that answers in its place, such as
	// "https://crawls.example.org"; "" = there is none.
	Public string
	// Collections are those shown; a folder may be without a log yet.
	Collections []collection.Collection
	// Folders are those in which crawls may begin later, or in the folders below which they may,
	// which are then shown too.
	Folders []string
	// Documents reads what is no HTML; nil = it is not shown.
	Documents parse.Documents
	// Start begins crawls; nil = none can be begun on the page.
	Start *start.Starter
	// Index says when the indexes for searching are made.
	Index watch.Indexing
	// Fields are those whose values are shown of each page, in place of those in the folders;
	// nil = the latter. On the page others can be taken.
	Fields *watch.FieldFile
	// Lab is what breadth-first found in a lab on the topic that a crawl is named by; nil = no lab is at hand.
	Lab func(crawl string) LabCurve
	// Every is how often logs are looked at; 0 = twice a second.
	Every time.Duration
	// Writable tells why no file can be made in a folder, nil where one can; nil = the system is asked.
	Writable func(dir string) error
	// Random draws keys of at least 8 characters; nil = crypto/rand.
	Random func() string
}

// Server is the page. Its goroutines end with Run.
type Server struct {
	*guard
	every  time.Duration
	cap    string // the key of archived pages
	start  *start.Starter
	index  watch.Indexing
	docs   parse.Documents
	mux    *http.ServeMux
	assets fs.FS
	shown  views

	folders []string // in which crawls may begin
	lab     func(crawl string) LabCurve
	fields  *watch.FieldFile // that crawls have at first

	writable func(dir string) error

	mu     sync.Mutex
	crawls []*crawl
	more   chan struct{} // closed when there are others to choose from
	follow func(*crawl)  // follows a further one; nil while Run does not run
}

// crawl is a crawl as it is asked for.
type crawl struct {
	*watch.Crawl
	at   string // its folder, as a whole path
	gone bool   // it was in one of the folders in which crawls may begin, and is not any more; Server.mu
}

//go:embed page/dist
var assets embed.FS

// New makes the page.
func New(o Options) (*Server, error) {
	if o.Random == nil {
		o.Random = rand.Text
	}
	if o.Every == 0 {
		o.Every = 500 * time.Millisecond
	}
	g, err := newGuard(o.Address, o.Public, o.Random)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	files, err := fs.Sub(assets, "page/dist")
	if err != nil {
		return nil, err
	}
	s := &Server{guard: g, every: o.Every, cap: o.Random(), assets: files, start: o.Start, index: o.Index, docs: o.Documents, folders: o.Folders, fields: o.Fields, lab: o.Lab, writable: o.Writable, more: make(chan struct{})}
	for _, c := range o.Collections {
		s.add(c)
	}
	s.mux = s.newMux()
	return s, nil
}

// Run follows the logs, and looks for further crawls, until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var wait sync.WaitGroup
	follow := func(c *crawl) { wait.Go(func() { c.Run(ctx, s.every) }) }
	s.mu.Lock()
	s.follow = follow
	for _, c := range s.crawls {
		follow(c)
	}
	s.mu.Unlock()
	s.findMore(ctx)
	s.mu.Lock()
	s.follow = nil
	s.mu.Unlock()
	wait.Wait()
}

// add shows a further crawl, and returns it; one that is shown already is as it is.
func (s *Server) add(col collection.Collection) *crawl {
	at := absolute(col.Dir())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.crawls {
		if c.at == at {
			return c
		}
	}
	c := &crawl{Crawl: watch.New(strconv.Itoa(len(s.crawls)+1), col, s.docs), at: at}
	c.Index(s.index)
	c.UseFields(s.fields)
	c.AskWritable(s.writable)
	s.crawls = append(s.crawls, c)
	s.tellOthers()
	if s.follow != nil {
		s.follow(c)
	}
	return c
}

// tellOthers wakes those who wait for other crawls to choose from. s.mu is held.
func (s *Server) tellOthers() {
	close(s.more)
	s.more = make(chan struct{})
}

// all are the crawls that were found, also those whose folders are gone.
func (s *Server) all() []*crawl {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.crawls)
}

// present are the crawls to choose from, and what is closed when there are others.
func (s *Server) present() ([]*crawl, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.crawls), func(c *crawl) bool { return c.gone }), s.more
}

// find is the crawl of an id, nil if there is none.
func (s *Server) find(id string) *crawl {
	for _, c := range s.all() {
		if c.ID() == id {
			return c
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	if !s.known(r.Host) {
		http.Error(w, "This address is not known here.", http.StatusMisdirectedRequest)
		return
	}
	path := r.URL.Path
	rest, inside := strings.CutPrefix(path, "/"+s.folder+"/")
	first, under, _ := strings.Cut(rest, "/")
	switch {
	case inside && (first == "page" || first == "load"):
		s.serveArchived(w, r, first, under)
	case inside && first == "api":
		s.serveAPI(w, r, "/"+rest)
	case inside:
		s.serveAsset(w, r, rest)
	case strings.HasPrefix(path, "/api/") || path == "/metrics":
		s.serveAPI(w, r, path)
	default:
		http.Error(w, "Nothing is here: open the address that waggle printed.", http.StatusNotFound)
	}
}

// serveAPI answers for what needs the key.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, path string) {
	if !s.trusts(r) {
		writeError(w, http.StatusForbidden, errors.New("no key: open the address that waggle printed, or give its key as Authorization: Bearer KEY"))
		return
	}
	at := *r.URL
	at.Path = path
	inner := r.Clone(r.Context())
	inner.URL = &at
	s.mux.ServeHTTP(w, inner)
}

// serveAsset answers for the files of the page. They hold no secret, so they need no
// key: a browser that opens the page again from its history gets it, and the key from
// its cookie.
func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "No.", http.StatusMethodNotAllowed)
		return
	}
	if name == "" {
		name = "index.html"
		s.admit(w, r)
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"frame-src "+s.sources(r, "/"+s.folder+"/page/"+s.cap+"/")+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	http.ServeFileFS(w, r, s.assets, name)
}
