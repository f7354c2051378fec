package viewer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job/explain"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/web"
)

// routes are what can be asked for. What cannot be answered is {"error": why}.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /api/crawls", s.listCrawls)
	for _, route := range []struct {
		name   string
		answer func(c *crawl, r *http.Request, q *query) (any, error)
	}{
		{"state", (*crawl).serveState},
		{"curve", (*crawl).serveCurve},
		{"hosts", (*crawl).serveHosts},
		{"failures", (*crawl).serveFailures},
		{"frontier", (*crawl).serveFrontier},
		{"choices", (*crawl).serveChoices},
		{"pages", (*crawl).servePages},
		{"page", (*crawl).servePage},
		{"graph", (*crawl).serveGraph},
		{"job", (*crawl).serveJob},
		{"explain", (*crawl).serveExplain},
	} {
		m.HandleFunc("GET /api/crawls/{id}/"+route.name, s.of(func(c *crawl, w http.ResponseWriter, r *http.Request) {
			q := &query{values: r.URL.Query()}
			got, err := route.answer(c, r, q)
			if q.err != nil {
				err = wrong{q.err}
			}
			answer(w, got, err)
		}))
	}
	m.HandleFunc("GET /api/crawls/{id}/body", s.of(s.serveBody))
	m.HandleFunc("GET /api/crawls/{id}/changes", s.of(serveChanges))
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no %s %s", r.Method, event.Line(r.URL.Path)))
	})
	return m
}

// of finds the crawl of a request.
func (s *Server) of(serve func(*crawl, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, c := range s.crawls {
			if c.id == r.PathValue("id") {
				serve(c, w, r)
				return
			}
		}
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no crawl %q here", event.Line(r.PathValue("id"))))
	}
}

// wrong is the fault of who asks.
type wrong struct{ error }

// absent is something that is not there.
type absent struct{ error }

func answer(w http.ResponseWriter, got any, err error) {
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, got)
	case errors.As(err, new(wrong)):
		writeError(w, http.StatusBadRequest, err)
	case errors.As(err, new(absent)):
		writeError(w, http.StatusNotFound, err)
	default:
		writeError(w, http.StatusInternalServerError, err)
	}
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"error": event.Line(err.Error())})
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
	list := []state{}
	for _, c := range s.crawls {
		st, _ := c.state(time.Now())
		list = append(list, st)
	}
	writeJSON(w, http.StatusOK, list)
}

func (c *crawl) serveState(*http.Request, *query) (any, error) {
	st, _ := c.state(time.Now())
	return st, nil
}

func (c *crawl) serveCurve(_ *http.Request, q *query) (got any, err error) {
	n := q.number("points", 400, 5000)
	c.with(func(f *figures.Crawl) { got = f.Curve(n) })
	return got, nil
}

// hostOrders are the orders of hosts.
func hostOrders() []string {
	return []string{"relevant", "pages", "rate", "waiting", "failed", "bytes", "took", "host"}
}

func (c *crawl) serveHosts(_ *http.Request, q *query) (any, error) {
	order, from, n := q.one("order", hostOrders()...), q.number("from", 0, maxQuery), q.number("n", 50, 5000)
	var got struct {
		Hosts []figures.Host `json:"hosts"`
		All   int            `json:"all"`
	}
	c.with(func(f *figures.Crawl) { got.Hosts, got.All = f.Hosts(order, q.text("holds"), from, n) })
	return got, nil
}

func (c *crawl) serveFailures(*http.Request, *query) (any, error) {
	var got struct {
		Failed  []figures.Cause `json:"failed"`
		Skipped []figures.Cause `json:"skipped"`
	}
	c.with(func(f *figures.Crawl) { got.Failed, got.Skipped = f.Failures(), f.Skips() })
	return got, nil
}

func (c *crawl) serveFrontier(_ *http.Request, q *query) (any, error) {
	n := q.number("bins", 30, 200)
	var got struct {
		Bins  []figures.Bin  `json:"bins"`
		Seeds int            `json:"seeds"`
		Hosts []figures.Host `json:"hosts"`
	}
	c.with(func(f *figures.Crawl) {
		got.Bins, got.Seeds = f.Waiting(n)
		got.Hosts, _ = f.Hosts("waiting", "", 0, 10)
	})
	return got, nil
}

func (c *crawl) serveChoices(*http.Request, *query) (got any, err error) {
	c.with(func(f *figures.Crawl) { got = f.Choices() })
	return got, nil
}

// pageOrders are the orders of pages.
func pageOrders() []string {
	return []string{"fetched", "relevance", "similarity", "bytes", "took", "depth", "host", "address"}
}

func (c *crawl) servePages(_ *http.Request, q *query) (any, error) {
	f := figures.Filter{
		Text: q.text("text"), Host: web.Host(q.text("host")), Language: q.text("language"), MIME: q.text("type"),
		Verdict: q.one("verdict", "relevant", "other", "left-out"), Least: q.share("least"), Most: q.share("most"),
		Since: q.moment("since"), Until: q.moment("until"), Order: q.one("order", pageOrders()...),
		Down: q.one("down", "0", "1") == "1", From: q.number("from", 0, maxQuery), N: q.number("n", 50, 1000),
	}
	if q.err != nil {
		return nil, nil
	}
	var got struct {
		Pages []figures.Page `json:"pages"`
		All   int            `json:"all"`
	}
	c.with(func(x *figures.Crawl) { got.Pages, got.All = x.List(f) })
	return got, nil
}

func (c *crawl) serveGraph(_ *http.Request, q *query) (got any, err error) {
	n := q.number("n", 300, 3000)
	c.with(func(f *figures.Crawl) { got = f.Graph(n) })
	return got, nil
}

// serveJob answers with the job file and what was told otherwise since.
func (c *crawl) serveJob(*http.Request, *query) (any, error) {
	b, err := c.col.Job()
	if err != nil {
		return nil, absent{err}
	}
	var got struct {
		Job     string          `json:"job"`
		Changes []event.Changed `json:"changes"`
	}
	got.Job = string(b)
	c.with(func(f *figures.Crawl) { got.Changes = append([]event.Changed{}, f.Changes()...) })
	return got, nil
}

// serveExplain answers as the command explain does.
func (c *crawl) serveExplain(r *http.Request, q *query) (any, error) {
	u := q.address("url")
	if q.err != nil {
		return nil, nil
	}
	var got struct {
		Fate   event.Fate `json:"fate"`
		Text   string     `json:"text"`
		Doubts []string   `json:"doubts"`
	}
	got.Doubts = []string{}
	var text limited
	fate, err := explain.Explain(r.Context(), &text, c.col, u, func(what string, why error) {
		got.Doubts = append(got.Doubts, event.Line(fmt.Sprintf("%s cannot be told: %v", what, why)))
	})
	got.Fate, got.Text = fate, string(text)
	return got, err
}

// limited is text up to a megabyte.
type limited []byte

func (l *limited) Write(b []byte) (int, error) {
	*l = append(*l, b[:min(len(b), max(0, 1<<20-len(*l)))]...)
	return len(b), nil
}

// Intervals of serveChanges.
const (
	changesApart = 400 * time.Millisecond // at least, between two messages
	stillThere   = 10 * time.Second       // between looks at whether the crawl runs
)

// serveChanges tells the state whenever it changes, as server-sent events, until the
// asker leaves.
func serveChanges(c *crawl, w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		st, changed := c.state(time.Now())
		b, err := json.Marshal(st)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", st.Revision, b); err != nil || out.Flush() != nil {
			return
		}
		if !pause(r.Context(), changesApart, nil) || !pause(r.Context(), stillThere, changed) {
			return
		}
	}
}

// pause waits for a time, or less if done is closed before; it is false when ctx ends.
func pause(ctx context.Context, d time.Duration, done <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-done:
	}
	return true
}
