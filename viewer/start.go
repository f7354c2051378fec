package viewer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/seeds"
	"github.com/waggle-crawler/waggle/viewer/start"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// startView is what the screen on which a crawl is begun is made of.
type startView struct {
	Dir      string        `json:"dir"`              // in which folders of crawls are made
	Folder   string        `json:"folder,omitempty"` // the name of the next one, where it is known before the topic
	Closed   string        `json:"closed,omitempty"` // why none can be made there; "" where that is not known
	Settings []settingView `json:"settings"`
	Sources  []sourceView  `json:"sources"` // of seeds
}

// settingView is a setting of a job; see job.Setting.
type settingView struct {
	Path    string   `json:"path"`
	Line    string   `json:"line"`
	Form    string   `json:"form,omitempty"`
	Kind    string   `json:"kind"`
	Default string   `json:"default,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Example string   `json:"example,omitempty"`
	Words   bool     `json:"words,omitempty"` // a list whose values commas part
}

// sourceView is a kind of source of seeds; see seeds.Kind.
type sourceView struct {
	Name  string `json:"name"`
	Where string `json:"where"`
	Line  string `json:"line"`
	Asks  bool   `json:"asks"`
}

// wantedSeeds asks for seeds.
type wantedSeeds struct {
	start.Draft
	start.Wanted
}

// progress is a line of an answer that takes time: a note on the way, and at the end what is
// wrong, or the result.
type progress struct {
	Note     string         `json:"note,omitempty"`
	Problems start.Problems `json:"problems,omitempty"`
	Tried    *start.Tried   `json:"tried,omitempty"`
	Seeds    *[]start.Seed  `json:"seeds,omitempty"`
	LeftOut  []start.Seed   `json:"left_out,omitempty"` // judged not relevant
	Crawl    string         `json:"crawl,omitempty"`    // its id
}

// starts are the routes by which a crawl is prepared and begun.
func (s *Server) starts() []route {
	if s.start == nil {
		return nil
	}
	const lines = "application/x-ndjson"
	return []route{
		{path: "/api/start", line: "What can be said of a new crawl: settings, and sources of seeds.", answer: startView{}, serve: s.serveStart},
		{path: "/api/start/check", postLine: "What is wrong with the draft of a crawl, and its job file.", takes: start.Draft{}, told: start.Checked{}, post: s.checkDraft},
		{path: "/api/start/try", postLine: "What the judge of a draft says of its example pages, each by a judge that does not know it.", takes: start.Draft{}, told: progress{}, kind: lines, post: s.slowly(s.tryDraft)},
		{path: "/api/start/seeds", postLine: "Pages from which the crawl of a draft may start.", takes: wantedSeeds{}, told: progress{}, kind: lines, post: s.slowly(s.seedDraft)},
		{path: "/api/start/begin", postLine: "Begin the crawl of a draft.", takes: start.Draft{}, told: progress{}, kind: lines, post: s.slowly(s.beginDraft)},
		{path: "/api/crawls/{id}/go-on", postLine: "Go on with a crawl that does not run.", takes: struct{}{}, told: progress{}, kind: lines, post: s.of(s.goOn)},
	}
}

// noStart says why no crawl can begin here, and what helps, "" where that is not known.
func (s *Server) noStart() string {
	if why := watch.MayNotWrite(s.start.Dir(), s.writable); why != "" {
		return why + ": open it as a user who may, or open another folder"
	}
	return ""
}

func (s *Server) serveStart(w http.ResponseWriter, _ *http.Request) {
	v := startView{Dir: event.Line(s.start.Dir()), Folder: s.start.Folder(), Closed: s.noStart(), Sources: []sourceView{}}
	for _, path := range start.Paths() {
		x, ok := job.Lookup(path)
		if !ok {
			panic("no setting at " + path) // start.Paths is wrong
		}
		v.Settings = append(v.Settings, settingView{x.Path, x.Line, x.Form, x.Kind().String(), x.Default, x.Choices, x.Example, x.Words})
	}
	for _, k := range seeds.Kinds() {
		v.Sources = append(v.Sources, sourceView{k.Name, k.Where, k.Line, k.Asks})
	}
	writeJSON(w, http.StatusOK, v)
}

// maxDraft bounds what is sent of a draft, in bytes; files are in it.
const maxDraft = 128 << 20

// readBody reads JSON that was sent.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	out := http.NewResponseController(w)
	err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{}))
	var b []byte
	if err == nil {
		b, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxDraft))
	}
	if errors.As(err, new(*http.MaxBytesError)) {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Errorf("a draft has at most %d MiB, with its files", maxDraft>>20))
		return false
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("this is no draft of a crawl: %s", event.Line(err.Error())))
		return false
	}
	return true
}

func (s *Server) checkDraft(w http.ResponseWriter, r *http.Request) {
	var d start.Draft
	if readBody(w, r, &d) {
		got, err := s.start.Check(&d)
		answer(w, got, err)
	}
}

// slowly serves what takes time: it tells notes as they come, a line of JSON each, and
// then what came of it.
func (s *Server) slowly(do func(r *http.Request, d *wantedSeeds, note func(string)) (progress, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var d wantedSeeds
		if readBody(w, r, &d) {
			tellSlowly(w, func(note func(string)) (progress, error) { return do(r, &d, note) })
		}
	}
}

// tellSlowly answers with what do notes, and at the end with what it returns. Once it has
// returned, w is the server's again: later notes are told to nobody.
func tellSlowly(w http.ResponseWriter, do func(note func(string)) (progress, error)) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	var mu sync.Mutex
	done := false
	say := func(t progress, last bool) {
		mu.Lock()
		defer mu.Unlock()
		if b, err := json.Marshal(t); err == nil && !done {
			w.Write(append(b, '\n')) // a reader that leaves is no fault
			out.Flush()
		}
		done = done || last
	}
	got, err := do(func(note string) { say(progress{Note: note}, false) })
	var wrong start.Problems
	switch {
	case errors.As(err, &wrong):
		got = progress{Problems: wrong}
	case err != nil:
		got = progress{Problems: start.Problems{{Text: event.Line(err.Error())}}}
	}
	say(got, true)
}

func (s *Server) tryDraft(r *http.Request, d *wantedSeeds, note func(string)) (progress, error) {
	got, err := s.start.Try(r.Context(), &d.Draft, note)
	return progress{Tried: got}, err
}

func (s *Server) seedDraft(r *http.Request, d *wantedSeeds, note func(string)) (progress, error) {
	got, left, err := s.start.Seeds(r.Context(), &d.Draft, &d.Wanted, note)
	return progress{Seeds: &got, LeftOut: left}, err
}

func (s *Server) beginDraft(r *http.Request, d *wantedSeeds, note func(string)) (progress, error) {
	if why := s.noStart(); why != "" {
		return progress{}, errors.New(why)
	}
	shown := make(chan *crawl, 1)
	col, err := s.start.Begin(r.Context(), &d.Draft, note, func(err error) { (<-shown).Broke(err) })
	if err != nil {
		return progress{}, err
	}
	c := s.add(col)
	shown <- c
	return progress{Crawl: c.ID()}, nil
}

// goOn goes on with a crawl.
func (s *Server) goOn(c *crawl, w http.ResponseWriter, r *http.Request) {
	var nothing struct{}
	if !readBody(w, r, &nothing) {
		return
	}
	tellSlowly(w, func(note func(string)) (progress, error) {
		if why := c.Closed(); why != "" {
			return progress{}, errors.New(why)
		}
		c.Broke(nil)
		return progress{Crawl: c.ID()}, s.start.GoOn(r.Context(), c.Collection(), note, c.Broke)
	})
}
