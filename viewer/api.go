package viewer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	crawler "github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// routes are what can be asked for. What cannot be answered is {"error": why}.
func (s *Server) routes() []route {
	url := param{name: "url", kind: "string", line: "The address of the page.", needed: true}
	from := param{name: "from", kind: "integer", line: "How many to pass over."}
	n := param{name: "n", kind: "integer", line: "How many are wanted."}
	down := param{name: "down", kind: "string", line: "1: the order turned round.", of: []string{"0", "1"}}
	text := func(name, line string) param { return param{name: name, kind: "string", line: line} }
	number := func(name, kind, line string) param { return param{name: name, kind: kind, line: line} }
	one := func(name, line string, of ...string) param {
		return param{name: name, kind: "string", line: line, of: of}
	}
	of := func(answerOf func(c *crawl, r *http.Request, q *query) (any, error)) http.HandlerFunc {
		return s.of(func(c *crawl, w http.ResponseWriter, r *http.Request) {
			q := &query{values: r.URL.Query()}
			got, err := answerOf(c, r, q)
			if q.err != nil {
				err = watch.Wrong{Err: q.err}
			}
			answer(w, got, c.Why(err))
		})
	}
	const crawl1 = "/api/crawls/{id}/"
	return append(s.starts(), []route{
		{path: "/api/crawls", line: "All crawls that are shown, with their figures.", answer: []watch.State{}, serve: s.listCrawls},
		{path: crawl1 + "state", line: "The figures of a crawl.", answer: watch.State{}, serve: of((*crawl).serveState)},
		{path: crawl1 + "changes", line: "The figures, now and whenever they change, as server-sent events: each message holds what state answers, and as crawls how many there are to choose from.", kind: "text/event-stream", serve: s.of(s.serveChanges)},
		{path: crawl1 + "workers", line: "The workers of a crawl that several do, as the one of this folder heard of them last; none of another crawl.", answer: workerList{}, serve: of((*crawl).serveWorkers)},
		{path: crawl1 + "curve", line: "The harvest over the pages fetched.", answer: figures.Curve{}, serve: of((*crawl).serveCurve), params: []param{number("points", "integer", "How many points at most; 400.")}},
		{path: crawl1 + "lab", line: "What breadth-first found in a lab (waggle open --lab) on the topic that the crawl is named by; without points, and with the reason, where that is not known.", answer: LabCurve{}, serve: s.of(s.serveLab)},
		{path: crawl1 + "hosts", line: "Hosts.", answer: hostList{}, serve: of((*crawl).serveHosts), params: []param{one("order", "The largest first.", hostOrders()...), text("holds", "What the name holds."), from, n}},
		{path: crawl1 + "frontier", line: "Links that wait, by priority and by host; those that a person put before others, and seeds, apart.", answer: frontierView{}, serve: of((*crawl).serveFrontier), params: []param{number("bins", "integer", "How many ranges of priorities; 30.")}},
		{path: crawl1 + "failures", line: "What did not come, by reason, with examples.", answer: causeLists{}, serve: of((*crawl).serveFailures)},
		{path: crawl1 + "choices", line: "Languages and media types of the pages.", answer: figures.Choices{}, serve: of((*crawl).serveChoices)},
		{path: crawl1 + "pages", line: "Pages that a filter wants.", answer: watch.PageList{}, serve: of((*crawl).servePages), params: []param{
			text("text", "With an index: words, all of which a page has, a \"phrase\", -without. Else words that title or address hold."),
			one("fold", "1: of near-copies, and of pages with the same body, only the first.", "0", "1"), text("copies", "Near-copies of the page of this address, itself among them."),
			text("host", "The host."), text("language", "The language, such as en."), text("type", "The media type."),
			one("verdict", "What was said of the page; left-out: no harvest for a reason.", "relevant", "other", "left-out"),
			number("least", "number", "Relevance from."), number("most", "number", "Relevance up to."), text("since", "Fetched since, as 2026-03-01T12:00:00Z."), text("until", "Fetched until."),
			one("order", "What pages are sorted by.", pageOrders()...), down, from, n,
		}},
		{path: crawl1 + "page", line: "What the log tells of a page, with the way to it.", answer: watch.Page{}, serve: of((*crawl).servePage), params: []param{url}},
		{path: crawl1 + "body", line: "What the archive holds of a page, and what became of its links.", answer: bodyView{}, serve: s.of(s.serveBody), params: []param{url, number("text", "integer", "How many characters of the text at most; all.")}},
		{path: crawl1 + "explain", line: "Why a page was fetched or not, in words.", answer: watch.Explanation{}, serve: of((*crawl).serveExplain), params: []param{url}},
		{path: crawl1 + "graph", line: "Which hosts led to which.", answer: figures.Graph{}, serve: of((*crawl).serveGraph), params: []param{n}},
		{path: crawl1 + "job", line: "The job file, and what was told otherwise later.", answer: jobView{}, serve: of((*crawl).serveJob)},
		{path: crawl1 + "acts", line: "What people told the crawl, oldest first; those without a time wait for it.", answer: actList{}, serve: of((*crawl).serveActs), postLine: "Tell the crawl something: it takes it in within a second, or when it goes on.", takes: act{}, post: s.of((*crawl).takeAct), told: acted{}},
		{path: crawl1 + "fields", line: "The file of fields whose values are told of each page, and in exported tables of pages.", answer: fieldFile{}, serve: of((*crawl).serveFields), postLine: "Take another one, until waggle open ends; without a text, that of the folder of the crawl.", takes: wantedFields{}, told: fieldFile{}, post: s.of((*crawl).takeFields)},
		{path: crawl1 + "index", postLine: "Make the index for searching, as long as the crawl runs.", takes: struct{}{}, told: struct{}{}, post: s.of(makeIndex)},
		{path: "/api/exports", line: "The forms in which a crawl can be taken away.", answer: []form{}, serve: listForms},
		{path: crawl1 + "exports/{form}", line: "A crawl in one of these forms.", kind: "application/octet-stream", serve: s.of(s.serveExport), params: []param{one("without-opt-outs", "1: without pages that say noindex, noarchive or noai, or reserve text and data mining.", "0", "1"),
			one("partial", "1: where files of the crawl are damaged, what can be read; the trailer Waggle-Partial then says what cannot.", "0", "1"),
		}},
		{path: "/metrics", line: "Figures of all crawls for Prometheus.", kind: "text/plain", serve: s.serveMetrics},
		{path: "/api/openapi.json", line: "This document.", answer: map[string]any{}, serve: s.serveDocument},
	}...)
}

// newMux serves the routes.
func (s *Server) newMux() *http.ServeMux {
	m := http.NewServeMux()
	for _, r := range s.routes() {
		if r.serve != nil {
			m.HandleFunc("GET "+r.path, checked(r.params, r.serve))
		}
		if r.post != nil {
			m.HandleFunc("POST "+r.path, checked(nil, r.post))
		}
	}
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no %s %s", r.Method, event.Line(r.URL.Path)))
	})
	return m
}

// of finds the crawl of a request.
func (s *Server) of(serve func(*crawl, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c := s.find(r.PathValue("id")); c != nil {
			serve(c, w, r)
			return
		}
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no crawl %q here", event.Line(r.PathValue("id"))))
	}
}

// checked serves what asks for nothing but these parameters, each once: one that is misspelt, given
// twice or cannot be read would be passed over, and the answer taken for what was asked.
func checked(params []param, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := checkQuery(params, r.URL.RawQuery); err != nil {
			writeError(w, http.StatusBadRequest, err)
			return
		}
		serve(w, r)
	}
}

func checkQuery(params []param, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the parameters cannot be read: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.ContainsFunc(params, func(p param) bool { return p.name == name }):
			return fmt.Errorf("there is no parameter %q here; /api/openapi.json lists those there are", event.Line(name))
		case len(values[name]) > 1:
			return fmt.Errorf("the parameter %q is given %d times: give it once", event.Line(name), len(values[name]))
		}
	}
	return nil
}

func answer(w http.ResponseWriter, got any, err error) {
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, got)
	case errors.As(err, new(watch.Wrong)):
		writeError(w, http.StatusBadRequest, err)
	case errors.As(err, new(watch.Absent)):
		writeError(w, http.StatusNotFound, err)
	case errors.As(err, new(watch.Conflict)):
		writeError(w, http.StatusConflict, err)
	default:
		writeError(w, http.StatusInternalServerError, err)
	}
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, failure{event.Line(err.Error())})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) // a reader that leaves is no fault
}

// query reads the parameters of a request; err is the first that is wrong.
type query struct {
	values map[string][]string
	err    error
}

func (q *query) text(name string) string {
	if v := q.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// maxQuery bounds numbers in a request.
const maxQuery = 1 << 30

func (q *query) number(name string, otherwise, most int) int {
	text := q.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		q.fail(fmt.Errorf("%s: %q is no number from 0 to %d", name, event.Line(text), most))
		return otherwise
	}
	return n
}

func (q *query) share(name string) float64 {
	text := q.text(name)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		q.fail(fmt.Errorf("%s: %q is no number from 0 to 1", name, event.Line(text)))
	}
	return v
}

func (q *query) moment(name string) time.Time {
	text := q.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		q.fail(fmt.Errorf("%s: %q is no moment such as 2026-03-01T12:00:00Z", name, event.Line(text)))
	}
	return t
}

// one is a word out of a list, or "".
func (q *query) one(name string, of ...string) string {
	text := q.text(name)
	if text == "" {
		return ""
	}
	for _, w := range of {
		if text == w {
			return w
		}
	}
	q.fail(fmt.Errorf("%s: %q is none of %q", name, event.Line(text), of))
	return ""
}

func (q *query) address(name string) web.URL {
	u, err := web.Parse(q.text(name))
	if err != nil {
		q.fail(fmt.Errorf("%s: %w", name, err))
	}
	return u
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

func (s *Server) listCrawls(w http.ResponseWriter, _ *http.Request) {
	list := []watch.State{}
	crawls, _ := s.present()
	for _, c := range crawls {
		st, _ := c.State(time.Now())
		list = append(list, st)
	}
	writeJSON(w, http.StatusOK, list)
}

func (c *crawl) serveState(*http.Request, *query) (any, error) {
	st, _ := c.State(time.Now())
	return st, nil
}

func (c *crawl) serveCurve(_ *http.Request, q *query) (got any, err error) {
	n := q.number("points", 400, 5000)
	c.With(func(f *figures.Crawl) { got = f.Curve(n) })
	return got, nil
}

// LabCurve is what breadth-first found in a lab: the mean over its crawls of a topic.
type LabCurve struct {
	Web      string    `json:"web,omitempty"`
	Pages    []int     `json:"pages"`
	Relevant []float64 `json:"relevant"`      // among these, by the truth of the lab
	Crawls   int       `json:"crawls"`        // that the mean is of
	Why      string    `json:"why,omitempty"` // there is none
}

func (s *Server) serveLab(c *crawl, w http.ResponseWriter, _ *http.Request) {
	got := LabCurve{}
	if s.lab != nil {
		var name string
		c.With(func(f *figures.Crawl) { name = f.Figures().Name })
		got = s.lab(name)
	}
	if got.Pages == nil {
		got.Pages, got.Relevant = []int{}, []float64{}
	}
	writeJSON(w, http.StatusOK, got)
}

// hostOrders are the orders of hosts.
func hostOrders() []string {
	return []string{"relevant", "pages", "rate", "waiting", "failed", "bytes", "took", "host"}
}

func (c *crawl) serveHosts(_ *http.Request, q *query) (any, error) {
	order, from, n := q.one("order", hostOrders()...), q.number("from", 0, maxQuery), q.number("n", 50, 5000)
	var got hostList
	c.With(func(f *figures.Crawl) { got.Hosts, got.All = f.Hosts(order, q.text("holds"), from, n) })
	return got, nil
}

func (c *crawl) serveFailures(*http.Request, *query) (any, error) {
	var got causeLists
	c.With(func(f *figures.Crawl) { got.Failed, got.Skipped = f.Failures(), f.Skips() })
	return got, nil
}

func (c *crawl) serveFrontier(_ *http.Request, q *query) (any, error) {
	n := q.number("bins", 30, 200)
	var got frontierView
	c.With(func(f *figures.Crawl) {
		got.Bins, got.Boosted, got.Seeds = f.Waiting(n)
		got.Hosts, _ = f.Hosts("waiting", "", 0, 10)
	})
	return got, nil
}

func (c *crawl) serveChoices(*http.Request, *query) (got any, err error) {
	c.With(func(f *figures.Crawl) { got = f.Choices() })
	return got, nil
}

// pageOrders are the orders of pages.
func pageOrders() []string {
	return []string{"fetched", "relevance", "similarity", "bytes", "took", "depth", "host", "address", "match"}
}

func (c *crawl) servePages(r *http.Request, q *query) (any, error) {
	f := figures.Filter{
		Text: q.text("text"), Host: web.Host(q.text("host")), Language: q.text("language"), MIME: q.text("type"),
		Verdict: q.one("verdict", "relevant", "other", "left-out"), Least: q.share("least"),
		Since: q.moment("since"), Until: q.moment("until"), Order: q.one("order", pageOrders()...),
		Down: q.one("down", "0", "1") == "1", From: q.number("from", 0, maxQuery), N: q.number("n", 50, 1000),
	}
	if q.text("most") != "" {
		f.Most = new(q.share("most"))
	}
	x := watch.Search{Fold: q.one("fold", "0", "1") == "1"}
	if q.text("copies") != "" {
		x.CopiesOf = q.address("copies")
	}
	if q.err != nil {
		return nil, nil
	}
	if f.Order == "match" {
		f.Order = "" // of a search the best first, else as they were fetched
	}
	return c.Find(r.Context(), f, x)
}

// servePage answers with what the log tells of a page.
func (c *crawl) servePage(_ *http.Request, q *query) (any, error) {
	u := q.address("url")
	if q.err != nil {
		return nil, nil
	}
	return c.Page(u)
}

func (c *crawl) serveGraph(_ *http.Request, q *query) (got any, err error) {
	n := q.number("n", 300, 3000)
	c.With(func(f *figures.Crawl) { got = f.Graph(n) })
	return got, nil
}

// serveJob answers with the job file and what was told otherwise since.
func (c *crawl) serveJob(*http.Request, *query) (any, error) {
	b, err := c.Collection().Job()
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(watch.NoJob(c.Collection()))
	}
	if err != nil {
		return nil, watch.Absent{Err: err}
	}
	var got jobView
	got.Job = string(b)
	c.With(func(f *figures.Crawl) { got.Changes = append([]event.Changed{}, f.Changes()...) })
	return got, nil
}

// serveExplain answers as the command explain does.
func (c *crawl) serveExplain(r *http.Request, q *query) (any, error) {
	u := q.address("url")
	if q.err != nil {
		return nil, nil
	}
	return c.Explain(r.Context(), u)
}

// makeIndex has the index made; the state of the crawl tells how far it is.
func makeIndex(c *crawl, w http.ResponseWriter, _ *http.Request) {
	if err := c.MakeIndex(); err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// listForms names the forms of exports.
func listForms(w http.ResponseWriter, _ *http.Request) {
	list := []form{}
	for _, f := range export.Forms() {
		list = append(list, form{f.Name, f.Line, f.File})
	}
	writeJSON(w, http.StatusOK, list)
}

// partialTrailer says what is not in an export that was asked for as far as it can be read.
const partialTrailer = "Waggle-Partial"

// serveExport writes a crawl in a form, as a file. One that cannot be written to its end, or
// of which not all can be read, breaks the connection, so that it is not taken for whole.
func (s *Server) serveExport(c *crawl, w http.ResponseWriter, r *http.Request) {
	q := &query{values: r.URL.Query()}
	without, partial := q.one("without-opt-outs", "0", "1") == "1", q.one("partial", "0", "1") == "1"
	forms := export.Forms()
	i := slices.IndexFunc(forms, func(f export.Form) bool { return f.Name == r.PathValue("form") })
	switch {
	case q.err != nil:
		writeError(w, http.StatusBadRequest, q.err)
		return
	case i < 0:
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no form %q, see /api/exports", event.Line(r.PathValue("form"))))
		return
	}
	in := &export.Input{Collections: []collection.Collection{c.Collection()}, WithoutOptOuts: without, Parser: func(col collection.Collection) (crawler.Parser, error) { return job.LinkParser(col, s.docs), nil }}
	if err := withFields(in, c, forms[i].Name); err != nil {
		err = c.Why(err) // a browser that saves a file shows no answer: the page does
		c.Exported(&watch.Export{Form: forms[i].Name, At: time.Now().UTC(), Why: event.Line(err.Error()), Refused: true})
		answer(w, nil, err)
		return
	}
	out := http.NewResponseController(w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename=\""+forms[i].File+"\"")
	if partial {
		w.Header().Set("Trailer", partialTrailer)
	}
	file := &begun{Writer: w}
	held := bufio.NewWriterSize(file, heldBack)
	err := forms[i].Write(r.Context(), in, struct{ io.Writer }{held}) // a form that has buffers flushes its own
	missing := errors.Is(err, export.ErrPartial)
	told := &watch.Export{Form: forms[i].Name, At: time.Now().UTC()}
	if err != nil {
		told.Why = withPartial(c.Why(err), "")
		told.Refused = !missing && !file.is
	}
	if err == nil || missing && partial {
		if missing {
			w.Header().Set(partialTrailer, withPartial(err, "; "+export.ErrPartial.Error()))
			told.Partial = true
		}
		err, missing = held.Flush(), false
	}
	switch {
	case file.left || r.Context().Err() != nil: // nobody is there who wants it
	case told.Why == "":
		c.Exported(nil)
	default:
		c.Exported(told)
	}
	switch {
	case err == nil:
	case file.is:
		panic(http.ErrAbortHandler)
	default:
		w.Header().Del("Content-Disposition")
		w.Header().Del("Trailer")
		if missing {
			err = fmt.Errorf("not all can be read, and partial=1 gives the rest: %s", withPartial(err, ""))
		}
		answer(w, nil, c.Why(err))
	}
}

// withPartial is an error in a line, with other words where it says on a line of its own that what can be
// read was written.
func withPartial(err error, words string) string {
	return event.Line(strings.Replace(err.Error(), "\n"+export.ErrPartial.Error(), words, 1))
}

// heldBack is how much of an export waits, in bytes: what is wrong with a smaller one can
// be told.
const heldBack = 64 << 10

// begun tells whether anything was written.
type begun struct {
	io.Writer
	is   bool
	left bool // who reads has left
}

func (b *begun) Write(p []byte) (int, error) {
	b.is = true
	n, err := b.Writer.Write(p)
	b.left = b.left || err != nil
	return n, err
}

// Intervals of serveChanges.
const (
	changesApart = 500 * time.Millisecond // at least, between two messages
	stillThere   = 10 * time.Second       // between looks at whether the crawl runs
)

// changes is a message of serveChanges.
type changes struct {
	watch.State
	Crawls int `json:"crawls"` // to choose from: when it changes, /api/crawls tells which
}

// serveChanges tells the state whenever it changes, and when there are other crawls, as
// server-sent events, until the asker leaves.
func (s *Server) serveChanges(c *crawl, w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes each message on at once
	for {
		st, changed := c.State(time.Now())
		crawls, more := s.present()
		b, err := json.Marshal(changes{st, len(crawls)})
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", st.Revision, b); err != nil || out.Flush() != nil {
			return
		}
		if !pause(r.Context(), changesApart) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-more:
		case <-time.After(stillThere):
		}
	}
}

// pause waits for a time; it is false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
