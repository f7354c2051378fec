package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/web"
)

// maxAsked bounds the bytes of a request.
const maxAsked = 16 << 10

// serveAction answers the controls, all by POST:
//
//	state  {reader}                          names of readers, topics, what is read
//	topic  {reader, topic}                   its narrative and the reader's grades
//	page   {reader, topic, n, round}         what stands on a page; in round 2 also
//	                                         what others said of it
//	label  {reader, topic, n, grade, round}  grade a page; the answer is that of topic
//	undo   {reader}                          take the reader's last label back; the
//	                                         answer is that of topic, and which page
//
// What cannot be done is 409 with the reason as {"error"}.
func (s *Server) serveAction(w http.ResponseWriter, r *http.Request, origin, name string) {
	if !s.Trusts(w, r, origin) {
		return
	}
	if r.Method != http.MethodPost {
		harmless.Refuse(w)
		return
	}
	var a request
	dec := json.NewDecoder(io.LimitReader(r.Body, maxAsked))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "not understood: " + err.Error()})
		return
	}
	got, err := s.do(r.Context(), name, a)
	switch {
	case errors.Is(err, errAction):
		writeJSON(w, http.StatusNotFound, map[string]string{"error": err.Error()})
	case err != nil:
		writeJSON(w, http.StatusConflict, map[string]string{"error": event.Line(err.Error())})
	default:
		writeJSON(w, http.StatusOK, got)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) // a reader that leaves is no fault
}

// request is what a reader asks for.
type request struct {
	Reader string `json:"reader"`
	Topic  int    `json:"topic"`
	N      int    `json:"n"` // from 0
	Grade  string `json:"grade"`
	Round  int    `json:"round"`
}

var errAction = errors.New("no such action")

// state is what a reader sees before choosing a topic.
type state struct {
	Reader  string       `json:"reader"` // offered
	Readers []string     `json:"readers"`
	Topics  []topicState `json:"topics"`
}

type topicState struct {
	Web   string `json:"web"`
	Name  string `json:"name"`
	Pages int    `json:"pages"`
	Read  int    `json:"read"`  // by this reader
	Again int    `json:"again"` // pages to look at again
}

// topicView is a topic as one reader sees it.
type topicView struct {
	topicState
	Narrative pool.Narrative `json:"narrative"`
	// Grades are the reader's, "" for none. Second are those of second looks, and
	// Differ the pages on which somebody said otherwise. Shape: [page].
	Grades []string `json:"grades"`
	Second []string `json:"second"`
	Differ []bool   `json:"differ"`
	Undo   bool     `json:"undo"` // something can be undone
	// Page and Round are what was undone; −1 and 0 after anything else.
	Page  int `json:"page"`
	Round int `json:"round"`
}

// pageView is what stands on a page.
type pageView struct {
	N       int     `json:"n"`
	Address web.URL `json:"address"`
	Title   string  `json:"title"`
	Parts   []Part  `json:"parts"`
	Src     string  `json:"src"` // of the frame
	// Others are the grades of other readers, in a second look.
	Others []string `json:"others,omitempty"`
}

// do does what was asked.
func (s *Server) do(ctx context.Context, name string, a request) (any, error) {
	if name == "state" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.state(a.Reader), nil
	}
	if err := pool.CheckReader(a.Reader); err != nil {
		return nil, err
	}
	if name == "undo" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.undo(a.Reader)
	}
	if !s.has(a.Topic, a.N) {
		return nil, fmt.Errorf("there is no page %d of topic %d", a.N, a.Topic)
	}
	switch name {
	case "topic":
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.topic(a.Reader, a.Topic), nil
	case "page":
		return s.page(ctx, a), nil
	case "label":
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.label(a)
	}
	return nil, fmt.Errorf("%w: %q", errAction, name)
}

// state is that of a reader, "" = not known yet. s.mu is held.
func (s *Server) state(reader string) state {
	st := state{Reader: s.Reader, Readers: slices.AppendSeq([]string{}, maps.Keys(s.readers))}
	slices.Sort(st.Readers)
	for _, t := range s.topics {
		v := topicState{Web: event.Line(t.Web), Name: event.Line(t.Name), Pages: len(t.Pages)}
		for n := range t.Pages {
			first, second, differs := pool.Compare(reader, t.labels[n])
			v.count(first, second, differs)
		}
		st.Topics = append(st.Topics, v)
	}
	return st
}

// count counts a page.
func (v *topicState) count(first, second *pool.Label, differs bool) {
	if first != nil {
		v.Read++
	}
	if differs && second == nil {
		v.Again++
	}
}

// topic is one as a reader sees it. s.mu is held.
func (s *Server) topic(reader string, i int) topicView {
	t := s.topics[i]
	v := topicView{
		topicState: topicState{Web: event.Line(t.Web), Name: event.Line(t.Name), Pages: len(t.Pages)},
		Narrative:  s.Narratives[t.Key()], Undo: s.undoable(reader) >= 0, Page: -1,
		Grades: make([]string, len(t.Pages)), Second: make([]string, len(t.Pages)), Differ: make([]bool, len(t.Pages)),
	}
	for n := range t.Pages {
		first, second, differs := pool.Compare(reader, t.labels[n])
		if first != nil {
			v.Grades[n] = first.Grade.String()
		}
		if second != nil {
			v.Second[n] = second.Grade.String()
		}
		v.Differ[n] = differs
		v.count(first, second, differs)
	}
	return v
}

// page is what stands on a page.
func (s *Server) page(ctx context.Context, a request) pageView {
	t := s.topics[a.Topic]
	v := pageView{N: a.N, Address: t.Pages[a.N].URL, Src: fmt.Sprintf("/page/%s/%d/%d/", s.Cap, a.Topic, a.N)}
	if x := s.look(ctx, a.Topic, a.N); x.page != nil {
		v.Title, v.Parts = event.Line(x.page.Title), Parts(x.page)
	}
	if a.Round != 2 {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, _, differs := pool.Compare(a.Reader, t.labels[a.N]); differs {
		s.shown[readerPage{a.Reader, a.Topic, a.N}] = true
		for _, l := range t.labels[a.N] {
			if l.Reader != a.Reader && l.Round == 1 {
				v.Others = append(v.Others, l.Grade.String())
			}
		}
		slices.Sort(v.Others)
	}
	return v
}

// label grades a page. s.mu is held.
func (s *Server) label(a request) (any, error) {
	g, err := pool.ParseGrade(a.Grade)
	if err != nil {
		return nil, err
	}
	t := s.topics[a.Topic]
	d := change{topic: a.Topic, n: a.N, label: pool.Label{Key: t.Key(), URL: t.Pages[a.N].URL, Grade: g, Reader: a.Reader, Round: a.Round}}
	first, second, differs := pool.Compare(a.Reader, t.labels[a.N])
	own := first
	switch {
	case a.Round == 2 && !differs:
		return nil, errors.New("there is nothing to look at again on this page: nobody said otherwise")
	case a.Round == 2:
		own = second
		s.shown[readerPage{a.Reader, a.Topic, a.N}] = true
	case a.Round != 1:
		return nil, fmt.Errorf("round %d: 1 or 2 is wanted", a.Round)
	}
	if own != nil {
		if own.Grade == g {
			return s.topic(a.Reader, a.Topic), nil // as it was
		}
		before := *own
		d.before = &before
		if s.stays(d) {
			return nil, errors.New("you could see what another reader said of this page: your first grade stays as it was given, and a second look (S) can give another")
		}
	}
	if err := s.Save(d.label); err != nil {
		return nil, fmt.Errorf("not graded, because it could not be kept: %w", err)
	}
	s.put(t, a.N, d.label)
	s.changes[a.Reader] = append(s.changes[a.Reader], d)
	return s.topic(a.Reader, a.Topic), nil
}

// stays tells whether a change can be neither changed nor undone: a first grade
// whose reader was shown another one. s.mu is held.
func (s *Server) stays(d change) bool {
	if d.label.Round != 1 || !s.shown[readerPage{d.label.Reader, d.topic, d.n}] {
		return false
	}
	_, _, differs := pool.Compare(d.label.Reader, s.topics[d.topic].labels[d.n])
	return differs
}

// undoable is the last change of a reader that can be undone, -1 for none. s.mu
// is held.
func (s *Server) undoable(reader string) int {
	changes := s.changes[reader]
	for i := len(changes) - 1; i >= 0; i-- {
		if !s.stays(changes[i]) {
			return i
		}
	}
	return -1
}

// undo takes the last label of a reader back. s.mu is held.
func (s *Server) undo(reader string) (any, error) {
	i := s.undoable(reader)
	if i < 0 {
		return nil, errors.New("there is nothing to be undone")
	}
	d := s.changes[reader][i]
	l := d.label.Withdrawal()
	if d.before != nil {
		l = *d.before
	}
	if err := s.Save(l); err != nil {
		return nil, fmt.Errorf("not undone, because it could not be kept: %w", err)
	}
	s.put(s.topics[d.topic], d.n, l)
	s.changes[reader] = slices.Delete(s.changes[reader], i, i+1)
	v := s.topic(reader, d.topic)
	v.Round, v.Page = d.label.Round, d.n
	return struct {
		topicView
		Topic int `json:"topic"`
	}{v, d.topic}, nil
}
