package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// act is what a person tells the crawl; which of the other fields it needs, its word
// tells: see event.Act.
type act struct {
	Do    event.Verb `json:"do"`
	URL   web.URL    `json:"url,omitzero"`
	Place string     `json:"place,omitempty"`
	Pages int        `json:"pages,omitempty"`
	Delay string     `json:"delay,omitempty"`
	Words []string   `json:"keywords,omitempty"`
	Act   int        `json:"act,omitempty"`
}

// acted is the answer: the number of the act.
type acted struct {
	Number   int `json:"number"`
	Replaced int `json:"replaced,omitempty"` // as of shownAct
	standing
}

// standing is what an act meets at present.
type standing struct {
	// Unmatched is of an act about a place: no address of it is known yet.
	Unmatched bool `json:"unmatched,omitempty"`
	// Unfetched is of a label: no page of the address was fetched yet.
	Unfetched bool `json:"unfetched,omitempty"`
}

// standing is that of an act which has effects yet to come: a place may be met later, a label waits.
func (c *crawl) standing(a *event.Act) (s standing) {
	if a.Needs() == "place" {
		s.Unmatched = a.Refused == "" && c.Unmatched(a)
		return s
	}
	c.With(func(f *figures.Crawl) {
		switch {
		case a.Refused != "":
		case a.Label() && a.At.At.IsZero() && !c.Collection().OfSeveral(): // another worker may have it
			_, _, fetched := f.Page(a.URL)
			s.Unfetched = !fetched
		}
	})
	return s
}

// shownAct is an act in a list.
type shownAct struct {
	Number int `json:"number"`
	act
	At      *time.Time `json:"at,omitempty"` // left out while it waits
	Words   string     `json:"words"`
	Refused string     `json:"refused,omitempty"`
	Undone  bool       `json:"undone,omitempty"`
	// Replaced is of an undo that changes nothing: the number of the act that had replaced the
	// one that is undone.
	Replaced int  `json:"replaced,omitempty"`
	Unfound  bool `json:"unfound,omitempty"` // a label of a page that no worker is known to have
	standing
}

type actList struct {
	Acts     []shownAct `json:"acts"`
	Paused   bool       `json:"paused"`
	Keywords []string   `json:"keywords"` // of the job, as it is now
	Delay    string     `json:"delay"`    // of the job, as it is now; "" where it cannot be read
}

// told are the acts so far, those that wait for the crawl with them where they have a number;
// waiting are the others. Pauses among the first earlier ones hold no more.
func (c *crawl) told() (told, waiting []event.Act, earlier int, err error) {
	c.With(func(f *figures.Crawl) {
		told = append(told, f.Acts()...)
		earlier = f.EarlierActs()
	})
	waiting, err = c.Collection().Waiting(told)
	if c.Collection().OfSeveral() {
		return told, waiting, 0, err // its pauses last
	}
	return append(told, waiting...), nil, earlier, err
}

func (c *crawl) serveActs(*http.Request, *query) (any, error) {
	told, waiting, earlier, err := c.told()
	if err != nil {
		return nil, err
	}
	workers := c.Workers()
	holds := map[int]bool{}
	list := actList{Acts: make([]shownAct, 0, len(told)), Paused: event.Paused(told, earlier), Keywords: []string{}}
	if j, err := job.Read(c.Collection().JobFile()); err == nil {
		list.Keywords = append(list.Keywords, j.Topic.Keywords...)
		if j.Politeness.Delay != nil {
			list.Delay = time.Duration(*j.Politeness.Delay).String()
		}
	}
	for _, a := range event.Effective(told) {
		holds[a.Number] = true
	}
	replaced := event.Replaced(told)
	for _, a := range append(told, waiting...) {
		s := shownAct{Number: a.Number, act: act{a.Do, a.URL, a.Place, a.Pages, a.Delay, a.Keywords, a.Act}, Words: event.Line(a.Words()), Refused: event.Line(a.Refused)}
		if at := a.At.At; !at.IsZero() {
			s.At = &at
		}
		s.Undone = a.Number > 0 && !holds[a.Number] && a.Refused == "" && a.Do != event.Undo
		s.Replaced = replaced[a.Number]
		s.Unfound = workers.Unfound(a)
		if a.Number == 0 || holds[a.Number] {
			s.standing = c.standing(&a)
		}
		list.Acts = append(list.Acts, s)
	}
	return list, nil
}

// maxAct bounds what is sent, in bytes.
const maxAct = 16 << 10

// readAct reads an act that was sent. It has what it needs and nothing else: a member that is
// misspelt would be passed over, and a budget without a number be none.
func readAct(b []byte) (event.Act, error) {
	var got act
	given := map[string]json.RawMessage{}
	err := json.Unmarshal(b, &given)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return event.Act{}, fmt.Errorf("this is no act: %s cannot be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return event.Act{}, fmt.Errorf("this is no act: it is an object, such as {\"do\":\"pause\"}, and no %s", kind.Value)
	case err != nil:
		return event.Act{}, fmt.Errorf("this is no act: %w", err)
	}
	if name := twice(b); name != "" {
		return event.Act{}, fmt.Errorf("this is no act: it has the member %q twice", name)
	}
	a := event.Act{Do: got.Do, URL: got.URL, Place: got.Place, Pages: got.Pages, Delay: got.Delay, Keywords: got.Words, Act: got.Act}
	needs := a.Needs()
	if needs == "place" {
		a.Place = event.PlaceOf(a.Place)
	}
	if err := a.Check(); err != nil && needs == "" {
		return a, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != "do" && name != needs {
			return a, fmt.Errorf("%s has no member %q", a.Do, name)
		}
	}
	if v := given[needs]; needs == "pages" && (v == nil || string(v) == "null") {
		return a, fmt.Errorf("%s needs the member %q: a number of pages, or 0 for no limit", a.Do, needs)
	}
	return a, a.Check()
}

// twice is a member of an object that is given twice; "" = none. Of two the last would count.
func twice(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	d.Token()
	met := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ""
		}
		s, _ := name.(string)
		if met[s] {
			return s
		}
		met[s] = true
	}
	return ""
}

// checkUndo says why an act that is to be undone cannot be.
func (c *crawl) checkUndo(a event.Act) error {
	if a.Do != event.Undo {
		return nil
	}
	told, _, _, err := c.told()
	if err != nil {
		return err
	}
	if err := event.CheckUndo(told, a.Act); err != nil {
		return watch.Wrong{Err: err}
	}
	return nil
}

// checkLabel refuses a label of a page that a crawl which does not run has not fetched: it takes acts
// in before it fetches anything. One that runs may fetch it before it takes the label in.
func (c *crawl) checkLabel(a event.Act) error {
	st, _ := c.State(time.Now())
	if st.Running || st.Reading < 1 || st.Error != "" || st.Cut != "" || !c.standing(&a).Unfetched {
		return nil
	}
	return watch.Wrong{Err: a.NoPage()}
}

// checkAct says why the crawl would not do an act.
func (c *crawl) checkAct(a event.Act) error {
	err := job.CheckAct(c.Collection(), a, func() (pages int, err error) {
		c.With(func(f *figures.Crawl) { pages = f.Pages() })
		return pages, nil
	})
	if err != nil {
		return watch.Wrong{Err: err}
	}
	return nil
}

// whyNoAct is Why of an act. That the folder is gone is no fault of what was sent, nor of where it was sent.
func (c *crawl) whyNoAct(err error) error {
	err = c.Why(err)
	if gone := (watch.Absent{}); errors.As(err, &gone) {
		return watch.Conflict(gone)
	}
	return err
}

// takeAct keeps an act for the crawl.
func (c *crawl) takeAct(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAct))
	if errors.As(err, new(*http.MaxBytesError)) {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Errorf("an act has at most %d bytes", maxAct))
		return
	}
	var a event.Act
	if err == nil {
		a, err = readAct(b)
	}
	if err != nil {
		answer(w, nil, watch.Wrong{Err: err})
		return
	}
	why := c.Closed()
	if why == "" && !c.Collection().Begun() {
		why = c.Collection().JobFile() + " is missing, so that nothing can be told to the crawl: put it back"
	}
	if why != "" {
		answer(w, nil, c.whyNoAct(watch.Conflict{Err: errors.New(why)}))
		return
	}
	if err := errors.Join(c.checkUndo(a), c.checkLabel(a), c.checkAct(a)); err != nil {
		answer(w, nil, c.whyNoAct(err))
		return
	}
	done := acted{standing: c.standing(&a)}
	done.Number, err = c.Collection().Act(a)
	if a.Do == event.Undo && err == nil && done.Number > 0 {
		told, _, _, err := c.told()
		if a.Number = done.Number; err == nil {
			done.Replaced = event.Replaced(append(told[:min(len(told), a.Number-1)], a))[a.Number]
		}
	}
	answer(w, done, c.whyNoAct(err))
}
