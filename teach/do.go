package teach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// maxAsked bounds the bytes of a request.
const maxAsked = 64 << 10

// serveAction answers the controls:
//
//	GET  state?after=V   the state, once its version exceeds V (or after 25 s)
//	GET  export?form=F   all paths, as tsv or json
//	POST open     {url}          a new path at an address
//	POST arrived  {view}         the frame shows this view now
//	POST go       {path, step}   stand on a page of a path
//	POST label    {label, url}   label the page shown, which is at url
//	POST remove   {path}
//	POST undo     {}
//	POST redo     {}
//	POST resume   {}             show the page where the person stands
//	POST suggest  {}             ask what to label next
//	POST take     {path}         walk the suggestion of this number
//
// The answer to a POST is the state. What cannot be done is 409 with the
// reason as {"error"}.
func (s *Server) serveAction(w http.ResponseWriter, r *http.Request, origin, name string) {
	if !s.Trusts(w, r, origin) {
		return
	}
	switch {
	case r.Method == http.MethodGet && name == "state":
		s.wait(r.Context(), harmless.Number(r.URL.Query().Get("after")))
		marshal(w, http.StatusOK, s.state())
	case r.Method == http.MethodGet && name == "export":
		s.export(w, r.URL.Query().Get("form"))
	case r.Method == http.MethodPost:
		var a postRequest
		dec := json.NewDecoder(io.LimitReader(r.Body, maxAsked))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&a); err != nil {
			marshal(w, http.StatusBadRequest, map[string]string{"error": "not understood: " + err.Error()})
			return
		}
		if err := s.do(r.Context(), name, a); err != nil {
			status := http.StatusConflict
			if errors.Is(err, errAction) {
				status = http.StatusNotFound
			}
			marshal(w, status, map[string]string{"error": event.Line(err.Error())})
			return
		}
		marshal(w, http.StatusOK, s.state())
	default:
		harmless.Refuse(w)
	}
}

// postRequest is what comes with a POST.
type postRequest struct {
	URL   string `json:"url"`
	View  int    `json:"view"`
	Path  int    `json:"path"`
	Step  int    `json:"step"`
	Label string `json:"label"`
}

var errAction = errors.New("no such action")

// do does what was asked.
func (s *Server) do(ctx context.Context, name string, a postRequest) error {
	switch name {
	case "open":
		return s.open(ctx, a.URL)
	case "suggest":
		return s.suggest(ctx)
	case "take":
		return s.take(ctx, a.Path)
	}
	s.mu.Lock()
	said, err := s.change(name, a)
	if err == nil {
		s.notice = said
		s.touch()
	}
	s.mu.Unlock()
	if err != nil || name == "arrived" || name == "label" {
		return err
	}
	return s.catchUp(ctx)
}

// change changes the book. s.mu is held. It returns what to tell the person.
func (s *Server) change(name string, a postRequest) (said string, err error) {
	switch name {
	case "arrived":
		return s.arrived(a.View)
	case "label":
		return s.label(a.Label, a.URL)
	case "go":
		if !s.book.stand(a.Path, a.Step) {
			return "", errors.New("there is no such page any more")
		}
		return "", nil
	case "remove":
		if !s.book.remove(a.Path) {
			return "", errors.New("there is no such path any more")
		}
		return "The path is removed. Undo brings it back.", s.keep()
	case "undo":
		return s.turn("undone", s.book.undo)
	case "redo":
		return s.turn("redone", s.book.redo)
	case "resume":
		return "", nil
	default:
		return "", fmt.Errorf("%w: %q", errAction, name)
	}
}

// turn undoes or redoes an action and saves the paths. s.mu is held.
func (s *Server) turn(done string, turn func() string) (said string, err error) {
	before := *s.book
	what := turn()
	if what == "" {
		return "", errors.New("there is nothing to be " + done)
	}
	if err := s.Save(s.book.set, s.book.History); err != nil {
		*s.book = before
		return "", fmt.Errorf("not %s, because it could not be kept: %w", done, err)
	}
	return strings.ToUpper(done[:1]) + done[1:] + ": " + what + ".", nil
}

// keep saves the paths, or takes back what was done. s.mu is held.
func (s *Server) keep() error {
	if err := s.Save(s.book.set, s.book.History); err != nil {
		s.book.takeBack()
		return fmt.Errorf("not done, because it could not be kept: %w", err)
	}
	return nil
}

// arrived records that the frame shows another view: a link was clicked on a
// page of the present path, or the browser went back or forth.
func (s *Server) arrived(n int) (said string, err error) {
	v := s.view(n)
	if v == nil || n == s.current {
		return s.notice, nil
	}
	if v.page == nil {
		return "", nil // the frame says what is the matter
	}
	here, ok := s.book.here()
	if !ok {
		return "", errors.New("begin a path first: open a start page")
	}
	steps := s.book.set[s.book.path].Steps
	on := func(u web.URL) int {
		return slices.IndexFunc(steps, func(t paths.Step) bool { return t.URL == u || t.Link.Via == u && !u.IsZero() })
	}
	before := v.from
	if at := on(before); before != here.URL && at >= 0 {
		s.book.stand(s.book.path, at)
	} else if before != here.URL {
		if at = on(v.url); at < 0 {
			return "", fmt.Errorf("%s is not on this path", v.url)
		}
		s.book.stand(s.book.path, at)
		s.current = n
		return "", nil
	}
	changed, err := s.book.follow(v.url, v.link)
	if err != nil {
		return "", err
	}
	if changed {
		if err := s.keep(); err != nil {
			return "", err
		}
	}
	s.current = n
	if a, b := steps[0].URL.Host().Domain(), v.url.Host().Domain(); a != b {
		return fmt.Sprintf("This page is on another site: %s, not %s.", b, a), nil
	}
	return "", nil
}

// label labels the page that is shown, as the person saw it at addr.
func (s *Server) label(label, addr string) (said string, err error) {
	label, err = paths.CleanLabel(label)
	if err != nil {
		return "", err
	}
	here, ok := s.book.here()
	if !ok || !s.labelable() || here.URL.String() != addr {
		return "", errors.New("the page has changed meanwhile; look again")
	}
	elsewhere, err := s.book.label(label)
	if err != nil {
		return "", err
	}
	if err := s.keep(); err != nil {
		return "", err
	}
	here, _ = s.book.here()
	switch {
	case elsewhere == 1:
		said = "Changed at one more place, as a page has one label. "
	case elsewhere > 1:
		said = fmt.Sprintf("Changed at %d more places, as a page has one label. ", elsewhere)
	}
	if here.Label == paths.Goal || here.Label == paths.Fail {
		said += "Now go back and take another way, or begin a new path."
	}
	return said, nil
}

// labelable tells whether the person sees the page where they stand. s.mu is
// held.
func (s *Server) labelable() bool { return s.framed == s.current && s.seen() }

// seen tells whether the present view is of the page where the person stands.
func (s *Server) seen() bool {
	v := s.view(s.current)
	here, ok := s.book.here()
	return ok && v != nil && v.page != nil && (v.url == here.URL || v.link.Via == here.URL)
}

// open begins a path at an address that was typed or chosen.
func (s *Server) open(ctx context.Context, addr string) error {
	addr = web.WithScheme(strings.TrimSpace(addr))
	if !strings.Contains(addr, "://") && addr != "" {
		addr = "https://" + addr
	}
	u, err := s.Canon.Parse(addr)
	if err != nil {
		return err
	}
	v := s.look(ctx, u, web.URL{}, paths.Click{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = ""
	if v.page != nil {
		s.book.start(v.url)
		if err := s.keep(); err != nil {
			return err
		}
		if a, b := u.Host().Domain(), v.url.Host().Domain(); a != b {
			s.notice = fmt.Sprintf("%s has moved to another site, %s. The path begins there.", u, b)
		}
	}
	s.current, s.framed = v.number, v.number
	s.touch()
	return nil
}

// catchUp shows the page where the person stands, fetching it if need be.
func (s *Server) catchUp(ctx context.Context) error {
	s.mu.Lock()
	here, ok := s.book.here()
	there := s.seen()
	if !ok {
		s.current = 0
	}
	if !ok || there {
		s.framed = s.current
		s.touch()
	}
	s.mu.Unlock()
	if !ok || there {
		return nil
	}
	v := s.look(ctx, here.URL, web.URL{}, paths.Click{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.book.here(); ok && now.URL == here.URL {
		s.current, s.framed = v.number, v.number
		s.touch()
	}
	return nil
}

// Suggestions asked for at a time, and candidates given.
const (
	maxSuggestions = 6
	maxCandidates  = 5000
)

// suggest asks what to label next.
func (s *Server) suggest(ctx context.Context) error {
	if s.Suggester == nil {
		return errors.New("start waggle teach with --suggest to be asked about pages")
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	var shown, candidates []paths.Path
	for _, p := range s.book.set {
		if p.Ending() != "" {
			shown = append(shown, p)
		} else {
			candidates = append(candidates, p)
		}
	}
	s.mu.Unlock()
	candidates = append(candidates, s.Candidates...)
	got, err := s.Suggester.Suggest(ctx, shown, candidates[:min(len(candidates), maxCandidates)], maxSuggestions)
	if err != nil {
		return err
	}
	got = slices.DeleteFunc(slices.Clone(got), func(g Suggestion) bool { return len(g.Path.Steps) == 0 })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suggests = got[:min(len(got), maxSuggestions)]
	s.notice = ""
	if len(s.suggests) == 0 {
		s.notice = "No page is in doubt: label what you like, best on another site."
	}
	s.touch()
	return nil
}

// take walks a suggestion, if its page can be had.
func (s *Server) take(ctx context.Context, n int) error {
	s.mu.Lock()
	if n < 0 || n >= len(s.suggests) {
		s.mu.Unlock()
		return errors.New("there is no such suggestion any more")
	}
	p := s.suggests[n].Path
	s.mu.Unlock()
	p.Steps = slices.Clone(p.Steps)
	last := &p.Steps[len(p.Steps)-1]
	asked := last.URL
	v := s.look(ctx, asked, web.URL{}, paths.Click{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = ""
	if v.page == nil {
		s.notice = fmt.Sprintf("%s cannot be had, so it was taken off the list.", asked)
	} else {
		if v.url != asked {
			last.URL, last.Link.Via = v.url, asked
		}
		s.book.adopt(p)
		if err := s.keep(); err != nil {
			return err
		}
		s.current, s.framed = v.number, v.number
	}
	s.suggests = slices.DeleteFunc(slices.Clone(s.suggests), func(g Suggestion) bool { return g.Path.Steps[len(g.Path.Steps)-1].URL == asked })
	s.touch()
	return nil
}

// wait returns when the version exceeds after, ctx or the server ends, or 25 s
// have passed.
func (s *Server) wait(ctx context.Context, after int) {
	t := time.NewTimer(25 * time.Second)
	defer t.Stop()
	s.mu.Lock()
	version, changed := s.version, s.changed
	s.mu.Unlock()
	if version > after {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	case <-s.closed:
	case <-t.C:
	}
}

func (s *Server) export(w http.ResponseWriter, form string) {
	s.mu.Lock()
	set := s.book.set
	s.mu.Unlock()
	var b bytes.Buffer
	write := paths.WriteTSV
	if form == "json" {
		write = paths.WriteJSON
	}
	if err := write(&b, set); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename=paths."+map[bool]string{true: "jsonl", false: "tsv"}[form == "json"])
	w.Write(b.Bytes())
}
