// Package read is the local page on which readers see the pages of a pool and
// grade them, each by themselves, by the narrative of the topic. What is shown,
// and who may ask, is the business of package harmless:
//
//	/page/CAP/t/n/    page n of topic t, both from 0, as archived
//	/load/CAP/t/n/k   its k-th image or style sheet
//
// # The life of a label
//
// A reader gives a name, takes a topic, and grades its pages in the order of the
// pool. Each grade is saved before the next page is shown, as a label of round 1. A
// reader does not see the labels of others before grading the page. Once two readers
// have graded a page differently, each of them may look at it again, with the grades of
// the others in view; the label of round 2 is kept beside that of round 1.
//
// Agreement is measured on labels of round 1. The grade of a page is that of its labels
// of round 2, if there are any, and else that of round 1.
//
// A label of round 1 can be changed and undone until its reader is shown a different
// grade; from then on it stays. What was shown before a restart is not known: after one,
// it stays wherever readers differ.
package read

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/web"
)

// Fetcher brings what an address holds. It is safe for concurrent use.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// Web is a recorded web whose pages are read.
type Web struct {
	Fetcher Fetcher
	Parser  *parse.Parser
	Canon   web.Canon
}

// Options say what is read and what becomes of it.
type Options struct {
	// Address is what the server listens on, "127.0.0.1:8123".
	Address string
	Pool    *pool.Pool
	// Narratives has one for each topic of the pool.
	Narratives map[pool.Key]pool.Narrative
	// Webs are those of the pool that are there, by name. Topics of others are not
	// offered.
	Webs map[string]Web
	// Labels are those given before.
	Labels []pool.Label
	// Save keeps labels for good. It is not called concurrently. Where it fails,
	// the reader is told and the grade does not count.
	Save func(...pool.Label) error
	// Reader is the name that is offered; "" = the reader is asked.
	Reader string
	Images bool // show images too, not only style sheets
	// Random draws keys; nil = crypto/rand.
	Random func() string
}

// Server is the page. It starts no goroutine.
type Server struct {
	Options
	*harmless.Guard
	assets fs.FS
	topics []*topic // that are offered

	mu      sync.Mutex
	readers map[string]int      // labels in force of each
	changes map[string][]change // by reader, the last at the end
	shown   map[readerPage]bool // to whom the grades of others were shown
	views   []*view             // the latest last, at most maxViews
}

// topic is one of the pool with the labels in force of its pages. Shape: [page].
type topic struct {
	*pool.Topic
	labels [][]pool.Label
}

// change is a label with the one that it replaced.
type change struct {
	topic, n int
	label    pool.Label
	before   *pool.Label
}

// readerPage is a reader and a page, for what the reader was shown.
type readerPage struct {
	reader   string
	topic, n int
}

// view is a page made harmless.
type view struct {
	topic, n int
	page     *web.Page // nil: html says why there is none
	harmless.Page
}

// maxViews bounds the pages kept.
const maxViews = 16

//go:embed assets
var assets embed.FS

// New makes the page. The error tells which option is wrong.
func New(o Options) (*Server, error) {
	guard, err := harmless.NewGuard(o.Address, o.Random)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if o.Pool == nil || o.Save == nil {
		return nil, errors.New("read: Pool and Save are needed")
	}
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, Guard: guard, assets: files, readers: map[string]int{}, changes: map[string][]change{}, shown: map[readerPage]bool{}}
	for i := range o.Pool.Topics {
		t := &o.Pool.Topics[i]
		if _, ok := o.Webs[t.Web]; !ok {
			continue
		}
		if _, ok := o.Narratives[t.Key()]; !ok {
			return nil, fmt.Errorf("read: topic %s has no narrative", t.Key())
		}
		s.topics = append(s.topics, &topic{t, make([][]pool.Label, len(t.Pages))})
	}
	if len(s.topics) == 0 {
		return nil, errors.New("read: none of the webs of the pool is there")
	}
	s.begin(pool.InForce(o.Labels))
	return s, nil
}

// begin takes in the labels in force of the time before.
func (s *Server) begin(labels []pool.Label) {
	type place struct{ topic, n int }
	places := map[pool.Key]map[web.URL]place{}
	for i, t := range s.topics {
		at := make(map[web.URL]place, len(t.Pages))
		for n, x := range t.Pages {
			at[x.URL] = place{i, n}
		}
		places[t.Key()] = at
	}
	for _, l := range labels {
		x, ok := places[l.Key][l.URL]
		if !ok {
			s.readers[l.Reader]++ // of a topic that is not offered
			continue
		}
		s.put(s.topics[x.topic], x.n, l)
		s.changes[l.Reader] = append(s.changes[l.Reader], change{topic: x.topic, n: x.n, label: l})
	}
	for i, t := range s.topics {
		for n, labels := range t.labels {
			if len(labels) < 2 {
				continue
			}
			for _, l := range labels {
				if _, _, differs := pool.Compare(l.Reader, labels); differs {
					s.shown[readerPage{l.Reader, i, n}] = true
				}
			}
		}
	}
}

// put puts a label in force. s.mu is held.
func (s *Server) put(t *topic, n int, l pool.Label) {
	i := slices.IndexFunc(t.labels[n], func(x pool.Label) bool { return x.Reader == l.Reader && x.Round == l.Round })
	switch {
	case l.Withdrawn():
		if i >= 0 {
			t.labels[n] = slices.Delete(t.labels[n], i, i+1)
			if s.readers[l.Reader]--; s.readers[l.Reader] == 0 {
				delete(s.readers, l.Reader)
			}
		}
	case i >= 0:
		t.labels[n][i] = l
	default:
		t.labels[n] = append(t.labels[n], l)
		s.readers[l.Reader]++
	}
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

// place reads "t/n/rest".
func (s *Server) place(path string) (topic, n int, rest string, ok bool) {
	f := strings.SplitN(path, "/", 3)
	if len(f) != 3 {
		return 0, 0, "", false
	}
	topic, n = harmless.Number(f[0]), harmless.Number(f[1])
	return topic, n, f[2], s.has(topic, n)
}

// has tells whether there is such a page.
func (s *Server) has(topic, n int) bool {
	return topic >= 0 && topic < len(s.topics) && n >= 0 && n < len(s.topics[topic].Pages)
}

// servePage answers with a page for the frame.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, origin, rest string) {
	if !harmless.Framed(w, r) {
		return
	}
	topic, n, rest, ok := s.place(rest)
	if !ok || rest != "" {
		s.WritePage(w, origin, http.StatusNotFound, harmless.Notice("There is no such page", "Choose another one."))
		return
	}
	s.WritePage(w, origin, http.StatusOK, s.look(r.Context(), topic, n).HTML)
}

// serveResource answers for images and style sheets of shown pages.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, rest string) {
	topic, n, rest, ok := s.place(rest)
	k := harmless.Number(rest)
	if !ok {
		harmless.Refuse(w)
		return
	}
	v := s.look(r.Context(), topic, n)
	if k < 0 || k >= len(v.Resources) {
		harmless.Refuse(w)
		return
	}
	if res := v.Resources[k]; res.Wants(w, r) {
		got, err := s.fetch(r.Context(), s.topics[topic].Web, res.URL)
		if err != nil {
			got = nil
		}
		res.Write(w, got)
	}
}

// maxRedirects bounds how far an address is followed.
const maxRedirects = 10

// fetch brings what an address of a web holds, and goes on to where it moved.
func (s *Server) fetch(ctx context.Context, name string, u web.URL) (*web.Response, error) {
	for n := 0; ; n++ {
		r, err := s.Webs[name].Fetcher.Fetch(ctx, u)
		if err != nil || r.Status < 300 || r.Status > 399 || r.Location.IsZero() {
			return r, err
		}
		if n == maxRedirects {
			return nil, fmt.Errorf("%s moved more than %d times", u, maxRedirects)
		}
		u = r.Location
	}
}

// look makes the view of a page, or finds it among those kept.
func (s *Server) look(ctx context.Context, topic, n int) *view {
	s.mu.Lock()
	i := slices.IndexFunc(s.views, func(v *view) bool { return v.topic == topic && v.n == n })
	if i >= 0 {
		v := s.views[i]
		s.mu.Unlock()
		return v
	}
	s.mu.Unlock()
	t := s.topics[topic]
	v := &view{topic: topic, n: n}
	r, err := s.fetch(ctx, t.Web, t.Pages[n].URL)
	if err == nil && r.Status/100 != 2 {
		err = fmt.Errorf("the record holds status %d for %s", r.Status, t.Pages[n].URL)
	}
	var shown string
	var isHTML bool
	if err == nil {
		v.page, err = s.Webs[t.Web].Parser.Parse(r)
	}
	if err == nil {
		shown, isHTML, err = s.Webs[t.Web].Parser.Shown(r) // as it was judged: rendered, where it was
	}
	if err != nil {
		v.HTML = harmless.Notice("This page cannot be shown", event.Line(err.Error())+". Is this the web that the pool was drawn from?")
		return v
	}
	v.Page = harmless.Options{
		ResourcePath: func(k int) string { return fmt.Sprintf("/load/%s/%d/%d/%d", s.Cap, topic, n, k) },
		Styles:       true, Images: s.Images, Canon: s.Webs[t.Web].Canon, Plain: !isHTML,
	}.Show(v.page, shown)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.views) == maxViews {
		s.views = slices.Delete(s.views, 0, 1)
	}
	s.views = append(s.views, v)
	return v
}
