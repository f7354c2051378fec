package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// Act is what a person told a crawl while it ran, or while it was stopped: it is in the
// log once the crawl has taken it in, in the turn in which it had its effect.
type Act struct {
	At
	Number int  `json:"number"` // among all acts of the crawl, from 1 on
	Do     Verb `json:"do"`
	// URL is the page of a label.
	URL web.URL `json:"url,omitzero"`
	// Place is of mute and boost: a host, with the hosts below it, or a host and the
	// beginning of a path, such as "example.org/bees/".
	Place string `json:"place,omitempty"`
	// Pages is the new budget, of all runs; 0 = no limit.
	Pages int `json:"pages,omitempty"`
	Was   int `json:"was,omitempty"` // the budget before, where it was set
	// Delay is the new pause between two requests to a host, as time.ParseDuration has it;
	// Before is the one before, where it was set.
	Delay  string `json:"delay,omitempty"`
	Before string `json:"before,omitempty"`
	// Keywords are the new ones of the topic; KeywordsBefore are those before, where they
	// were set.
	Keywords       []string `json:"keywords,omitempty"`
	KeywordsBefore []string `json:"keywords_before,omitempty"`
	// Act is the number of the act that is undone.
	Act int `json:"act,omitempty"`
	// Refused says why nothing came of it; "" if something did.
	Refused string `json:"refused,omitempty"`
	// Own is the number of an act among those that the folder of one of several workers was
	// told, for all of them; 0 for one that another was told.
	Own int `json:"own,omitempty"`
	// Told is when the folder of one of several workers was told it, by the clock there, and Known how many
	// acts that folder knew of then; zero where one worker does the crawl.
	Told  time.Time `json:"told,omitzero"`
	Known int       `json:"known,omitempty"`
	// Absent says of a label that one of several workers has no page of this address. Another
	// may have it.
	Absent bool `json:"absent,omitempty"`
}

// Verb is a kind of act.
type Verb string

// What a crawl can be told.
const (
	Relevant   Verb = "relevant"   // the page is wanted
	Irrelevant Verb = "irrelevant" // it is not
	More       Verb = "more"       // it is wanted, and its links go before all others
	Mute       Verb = "mute"       // no link of the place is fetched
	Boost      Verb = "boost"      // links of the place go before all others
	Budget     Verb = "budget"     // so many pages
	Delay      Verb = "delay"      // so long from one request to a host to the next
	Keywords   Verb = "keywords"   // the topic has these keywords
	Pause      Verb = "pause"      // nothing is fetched
	Continue   Verb = "continue"   // after a pause
	Undo       Verb = "undo"       // an earlier act
)

// verbs are all of them, with what each needs: "url", "place", "pages", "delay",
// "keywords", "act" or "".
func verbs() []struct {
	verb  Verb
	needs string
} {
	return []struct {
		verb  Verb
		needs string
	}{
		{Relevant, "url"}, {Irrelevant, "url"}, {More, "url"}, {Mute, "place"}, {Boost, "place"},
		{Budget, "pages"}, {Delay, "delay"}, {Keywords, "keywords"}, {Pause, ""}, {Continue, ""}, {Undo, "act"},
	}
}

// Kind is "act".
func (Act) Kind() string { return "act" }

// Words are the act as a person would give it, such as "mute example.org".
func (a *Act) Words() string {
	switch a.Needs() {
	case "url":
		return string(a.Do) + " " + a.URL.String()
	case "place":
		return string(a.Do) + " " + a.Place
	case "pages":
		return string(a.Do) + " " + strconv.Itoa(a.Pages)
	case "delay":
		return string(a.Do) + " " + a.Delay
	case "keywords":
		return string(a.Do) + " " + strings.Join(a.Keywords, ", ")
	case "act":
		return string(a.Do) + " " + strconv.Itoa(a.Act)
	}
	return string(a.Do)
}

// Needs is what the act needs beside its verb: "url", "place", "pages", "delay", "keywords",
// "act" or "".
func (a *Act) Needs() string {
	for _, v := range verbs() {
		if v.verb == a.Do {
			return v.needs
		}
	}
	return ""
}

// Label tells whether the act is a word on a page.
func (a *Act) Label() bool { return a.Do == Relevant || a.Do == Irrelevant || a.Do == More }

// Bounds on keywords.
const (
	maxKeywords = 200
	maxKeyword  = 200 // bytes
)

// maxPlace bounds a place, in bytes.
const maxPlace = 2048

// maxDelay bounds a delay: a crawl that asks a host once an hour stands still.
const maxDelay = time.Hour

// Check says what is wrong with an act as a person gave it.
func (a *Act) Check() error {
	needs, known := a.Needs(), false
	var names []string
	for _, v := range verbs() {
		known = known || v.verb == a.Do
		names = append(names, string(v.verb))
	}
	switch {
	case !known:
		return fmt.Errorf("%q is no act: give one of %s", a.Do, strings.Join(names, ", "))
	case needs == "url" && a.URL.IsZero():
		return fmt.Errorf("%s needs the address of a page", a.Do)
	case needs == "place":
		return a.checkPlace()
	case needs == "pages" && a.Pages < 0:
		return fmt.Errorf("a budget of %d pages: give a number of pages, or 0 for no limit", a.Pages)
	case needs == "delay":
		if d, err := time.ParseDuration(a.Delay); err != nil || d < 0 || d > maxDelay {
			return fmt.Errorf("%q is no delay: give a time from 0s to %v, such as 2s or 500ms", a.Delay, maxDelay)
		}
	case needs == "keywords":
		return a.checkKeywords()
	case needs == "act" && a.Act < 1:
		return fmt.Errorf("undo needs the number of an act, from 1 on")
	}
	return nil
}

func (a *Act) checkKeywords() error {
	if n := len(a.Keywords); n == 0 || n > maxKeywords {
		return fmt.Errorf("%d keywords: give 1 to %d, with commas between them", n, maxKeywords)
	}
	given := map[string]bool{}
	for _, k := range a.Keywords {
		if strings.TrimSpace(k) == "" || len(k) > maxKeyword || !utf8.ValidString(k) {
			return fmt.Errorf("%.40q is no keyword: give words of at most %d bytes in UTF-8", k, maxKeyword)
		}
		if err := CheckKeyword(k); err != nil {
			return err
		}
		word := strings.ToLower(strings.Join(strings.Fields(k), " "))
		if given[word] {
			return fmt.Errorf("the keyword %.40q is given twice", k)
		}
		given[word] = true
	}
	return nil
}

// CheckKeyword refuses what a keyword may not hold: what moves a cursor or turns text round, and
// matches no word of a page.
func CheckKeyword(k string) error {
	if strings.ContainsFunc(k, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		return fmt.Errorf("%.40q is no keyword: it has control characters, or ones that turn the direction of text: leave them out", k)
	}
	return nil
}

func (a *Act) checkPlace() error {
	if len(a.Place) > maxPlace {
		return fmt.Errorf("the place has %d bytes, and may have %d", len(a.Place), maxPlace)
	}
	host, path, _ := strings.Cut(a.Place, "/")
	if u, err := web.Parse("http://" + a.Place); err != nil || host == "" || string(u.Host()) != host || u.RequestPath() != "/"+path {
		return fmt.Errorf("%q is no place: give a host in small letters, such as example.org, or one and the beginning of a path as addresses have it, such as example.org/bees/", a.Place)
	}
	return nil
}

// PlaceOf is the place that a person means, who may give an address: without its scheme, its host
// in small letters. What is none stays as it is, and Check says so.
func PlaceOf(given string) string {
	s := strings.TrimSpace(given)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := web.Parse(s)
	if err != nil || u.Host() == "" {
		return given
	}
	if path := u.RequestPath(); path != "/" {
		return string(u.Host()) + path
	}
	return string(u.Host())
}

// Has tells whether an address is within the place of the act.
func (a *Act) Has(u web.URL) bool {
	host, path, _ := strings.Cut(a.Place, "/")
	h := string(u.Host())
	return (h == host || strings.HasSuffix(h, "."+host)) && strings.HasPrefix(strings.TrimPrefix(u.RequestPath(), "/"), path)
}

// ReadAct reads an act from a line of JSON and checks it.
func ReadAct(line []byte) (Act, error) {
	var a Act
	if err := json.Unmarshal(line, &a); err != nil {
		return Act{}, fmt.Errorf("this is no act: %w", err)
	}
	return a, a.Check()
}

// Paused tells whether a crawl is to stand still by its acts, without the first n, which
// are of earlier runs.
func Paused(acts []Act, n int) (on bool) {
	for _, a := range Effective(acts) {
		if a.Number > n && (a.Do == Pause || a.Do == Continue) {
			on = a.Do == Pause
		}
	}
	return on
}

// UndoneBy is the number of the act that undid act n; 0 where none did. acts are in their order.
func UndoneBy(acts []Act, n int) int {
	for _, a := range acts {
		if a.Do == Undo && a.Act == n && a.Refused == "" {
			return a.Number
		}
	}
	return 0
}

// CheckUndo says why act n cannot be undone, nil where it can be. acts are all so far, in their order.
func CheckUndo(acts []Act, n int) error {
	if n < 1 || n > len(acts) {
		return fmt.Errorf("there is no act %d", n)
	}
	a, by := &acts[n-1], UndoneBy(acts, n)
	switch {
	case a.Refused != "":
		return fmt.Errorf("act %d was not done: there is nothing to undo", n)
	case a.Do == Undo:
		return fmt.Errorf("act %d undid act %d, and is not undone itself: give what act %[2]d said again", n, a.Act)
	case by > 0:
		return fmt.Errorf("act %d was undone by act %d", n, by)
	}
	return nil
}

// NoPage is why a crawl that does not run is not told a label of a page that it did not fetch: it takes
// acts in before it fetches anything.
func (a *Act) NoPage() error {
	return fmt.Errorf("the crawl has fetched no page of the address %s: only pages that were fetched can be labelled", a.URL)
}

// Effective are the acts that hold: without those that were undone or refused, and
// without the undoing. acts are in their order.
func Effective(acts []Act) (out []Act) {
	undone := map[int]bool{}
	for _, a := range acts {
		if a.Do == Undo && a.Refused == "" {
			undone[a.Act] = true
		}
	}
	for _, a := range acts {
		if a.Do != Undo && a.Refused == "" && !undone[a.Number] {
			out = append(out, a)
		}
	}
	return out
}
