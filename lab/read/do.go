package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
//	page   {reader, topic, n}                what stands on a page
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
		marshal(w, http.StatusBadRequest, map[string]string{"error": "not understood: " + err.Error()})
		return
	}
	got, err := s.do(r.Context(), name, a)
	switch {
	case errors.Is(err, errAction):
		marshal(w, http.StatusNotFound, map[string]string{"error": err.Error()})
	case err != nil:
		marshal(w, http.StatusConflict, map[string]string{"error": event.Line(err.Error())})
	default:
		marshal(w, http.StatusOK, got)
	}
}

func marshal(w http.ResponseWriter, status int, v any) {
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
	// Others are the grades of other readers, once the reader has graded the page
	// and somebody said otherwise.
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
	st := state{Reader: s.Reader, Readers: append([]string{}, pool.Readers(s.labels)...)}
	for i := range s.topics {
		st.Topics = append(st.Topics, s.topic(reader, i).topicState)
	}
	return st
}

// labelsOf are the labels in force of a page. s.mu is held.
func (s *Server) labelsOf(k pool.Key) map[web.URL][]pool.Label {
	out := map[web.URL][]pool.Label{}
	for _, l := range pool.InForce(s.labels) {
		if l.Key == k {
			out[l.URL] = append(out[l.URL], l)
		}
	}
	return out
}

// topic is one as a reader sees it. s.mu is held.
func (s *Server) topic(reader string, i int) topicView {
	t := s.topics[i]
	v := topicView{
		topicState: topicState{Web: event.Line(t.Web), Name: event.Line(t.Name), Pages: len(t.Pages)},
		Narrative:  s.Narratives[t.Key()], Undo: len(s.done[reader]) > 0, Page: -1,
		Grades: make([]string, len(t.Pages)), Second: make([]string, len(t.Pages)), Differ: make([]bool, len(t.Pages)),
	}
	all := s.labelsOf(t.Key())
	for n, x := range t.Pages {
		own, second, differ := seen(reader, all[x.URL])
		if own != nil {
			v.Grades[n] = own.Grade.String()
			v.Read++
		}
		if second != nil {
			v.Second[n] = second.Grade.String()
		}
		if v.Differ[n] = differ; differ && second == nil {
			v.Again++
		}
	}
	return v
}

// seen is what a reader may see of the labels of a page: the own ones of both
// rounds, nil for none, and whether another reader said otherwise in the first.
func seen(reader string, labels []pool.Label) (first, second *pool.Label, differ bool) {
	for _, l := range labels {
		if l.Reader == reader && l.Round == 1 {
			first = &l
		} else if l.Reader == reader {
			second = &l
		}
	}
	if first == nil || first.Grade == pool.CannotTell {
		return first, second, false
	}
	for _, l := range labels {
		differ = differ || l.Reader != reader && l.Round == 1 && l.Grade != first.Grade && l.Grade != pool.CannotTell
	}
	return first, second, differ
}

// page is what stands on a page.
func (s *Server) page(ctx context.Context, a request) pageView {
	t := s.topics[a.Topic]
	v := pageView{N: a.N, Address: t.Pages[a.N].URL, Src: fmt.Sprintf("/page/%s/%d/%d/", s.Cap, a.Topic, a.N)}
	if x := s.look(ctx, a.Topic, a.N); x.page != nil {
		v.Title, v.Parts = event.Line(x.page.Title), Parts(x.page)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := s.labelsOf(t.Key())[v.Address]
	if _, _, differ := seen(a.Reader, labels); differ {
		for _, l := range labels {
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
	l := pool.Label{Key: t.Key(), URL: t.Pages[a.N].URL, Grade: g, Reader: a.Reader, Round: a.Round}
	first, second, differ := seen(a.Reader, s.labelsOf(l.Key)[l.URL])
	d := decision{label: l, before: first}
	switch {
	case a.Round == 2 && !differ:
		return nil, errors.New("there is nothing to look at again on this page: nobody said otherwise")
	case a.Round == 2:
		d.before = second
	case a.Round != 1:
		return nil, fmt.Errorf("round %d: 1 or 2 is wanted", a.Round)
	case differ && g != first.Grade:
		return nil, errors.New("another reader has graded this page differently: its first grade stays as it was given, and a second look can give another")
	}
	if d.before != nil && d.before.Grade == g {
		return s.topic(a.Reader, a.Topic), nil // as it was
	}
	if err := s.Save(l); err != nil {
		return nil, fmt.Errorf("not graded, because it could not be kept: %w", err)
	}
	s.labels = append(s.labels, l)
	s.done[a.Reader] = append(s.done[a.Reader], d)
	return s.topic(a.Reader, a.Topic), nil
}

// undo takes the last label of a reader back. s.mu is held.
func (s *Server) undo(reader string) (any, error) {
	done := s.done[reader]
	for len(done) > 0 {
		d := done[len(done)-1]
		done = done[:len(done)-1]
		i := slices.IndexFunc(s.topics, func(t *pool.Topic) bool { return t.Key() == d.label.Key })
		if i < 0 {
			continue // a topic that is not offered
		}
		if _, _, differ := seen(reader, s.labelsOf(d.label.Key)[d.label.URL]); differ && d.label.Round == 1 {
			continue // it has been compared with others
		}
		l := d.label.Withdrawal()
		if d.before != nil {
			l = *d.before
		}
		if err := s.Save(l); err != nil {
			return nil, fmt.Errorf("not undone, because it could not be kept: %w", err)
		}
		s.labels = append(s.labels, l)
		s.done[reader] = done
		v := s.topic(reader, i)
		v.Round = d.label.Round
		v.Page = slices.IndexFunc(s.topics[i].Pages, func(x pool.Page) bool { return x.URL == l.URL })
		return struct {
			topicView
			Topic int `json:"topic"`
		}{v, i}, nil
	}
	return nil, errors.New("there is nothing to be undone")
}
