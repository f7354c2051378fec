package pool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Grade is what a reader says of a page.
type Grade int8

// The grades.
const (
	CannotTell Grade = iota - 1 // the page is empty, broken, or in a language not read
	No
	Partly
	Mainly
)

// withdrawn takes a label back.
const withdrawn Grade = -2

func (g Grade) String() string {
	switch g {
	case withdrawn:
		return "-"
	case CannotTell:
		return "?"
	}
	return strconv.Itoa(int(g))
}

// ParseGrade reads 0, 1, 2 or ?.
func ParseGrade(s string) (Grade, error) {
	switch s {
	case "0", "1", "2":
		return Grade(s[0] - '0'), nil
	case "?":
		return CannotTell, nil
	}
	return 0, fmt.Errorf("grade %q: 2 (mainly), 1 (in part), 0 (no) or ? (cannot tell) is wanted", s)
}

// Label is one decision of one reader.
type Label struct {
	Key
	URL    web.URL
	Grade  Grade
	Reader string
	// Round is 1 for a label given without knowing those of others, and 2 for a
	// second look: after readers did not agree, or at more of the page than they saw.
	Round int
}

// Withdrawal is the label that takes l back.
func (l Label) Withdrawal() Label {
	l.Grade = withdrawn
	return l
}

// Withdrawn tells whether l takes another label back.
func (l Label) Withdrawn() bool { return l.Grade == withdrawn }

// CheckReader tells whether a name can be a reader's.
func CheckReader(name string) error {
	switch line := event.Line(name); {
	case name == "" || len(name) > 60 || name != line:
		return fmt.Errorf("reader %q: a name of 1 to 60 characters is wanted, without control characters", line)
	case name != event.NoFormula(name):
		return fmt.Errorf("reader %q: a spreadsheet takes names that begin with = + - or @ for formulas: choose another one", line)
	}
	return nil
}

func parseRound(s string) (int, error) {
	if s == "1" || s == "2" {
		return int(s[0] - '0'), nil
	}
	return 0, fmt.Errorf("round %q: 1 (independent) or 2 (second look) is wanted", s)
}

// index finds pages of a pool.
type index struct {
	p       *Pool
	at      map[Key]map[string]int // the place of each address in the topic's reading order, from 0
	topics  map[Key]*Topic
	readers map[string]error // what is wrong with names
}

func (p *Pool) index() *index {
	ix := &index{p, map[Key]map[string]int{}, map[Key]*Topic{}, map[string]error{}}
	for i := range p.Topics {
		t := &p.Topics[i]
		at := make(map[string]int, len(t.Pages))
		for n, x := range t.Pages {
			at[x.URL.String()] = n
		}
		ix.at[t.Key()], ix.topics[t.Key()] = at, t
	}
	return ix
}

// find finds a page by its address, in any form, and its place.
func (ix *index) find(k Key, address string) (web.URL, int, error) {
	t, ok := ix.topics[k]
	if !ok {
		return web.URL{}, 0, fmt.Errorf("the pool has no topic %s", k)
	}
	if n, ok := ix.at[k][address]; ok {
		return t.Pages[n].URL, n, nil
	}
	u, err := web.Parse(address)
	if err != nil {
		return u, 0, err
	}
	n, ok := ix.at[k][u.String()]
	if !ok {
		return u, 0, fmt.Errorf("%s is no page to read for %s", u, k)
	}
	return u, n, nil
}

// checkReader is CheckReader, once for each name.
func (ix *index) checkReader(name string) error {
	err, ok := ix.readers[name]
	if !ok {
		err = CheckReader(name)
		ix.readers[name] = err
	}
	return err
}

// labelKey names a decision: of one reader, on one page, in one round.
type labelKey struct {
	Key
	url    web.URL
	reader string
	round  int
}

// InForce are the labels that count: of several by one reader, of one page and
// round, the last, and none that was withdrawn. They keep the order in which
// they were first given.
func InForce(labels []Label) (out []Label) {
	at := map[labelKey]int{}
	for _, l := range labels {
		g := labelKey{l.Key, l.URL, l.Reader, l.Round}
		if i, ok := at[g]; ok {
			out[i].Grade = l.Grade
			continue
		}
		at[g] = len(out)
		out = append(out, l)
	}
	return slices.DeleteFunc(out, func(l Label) bool { return l.Grade == withdrawn })
}

// ByTopic parts labels by topic. They keep their order.
func ByTopic(labels []Label) map[Key][]Label {
	out := map[Key][]Label{}
	for _, l := range labels {
		out[l.Key] = append(out[l.Key], l)
	}
	return out
}

// Grades are the grades of a topic's pages by all readers together. Where there are
// second looks at a page, by whomever, they alone count: they were given knowing the
// first labels, or seeing more of the page. A second look that cannot tell leaves the
// first labels of the others. Of several grades the median counts, and of two in the
// middle the lower. A page of which nobody can tell has none. Whoever
// asks for several topics parts the labels by topic before.
func Grades(labels []Label, k Key) map[web.URL]Grade {
	own := make([]Label, 0, len(labels))
	for _, l := range labels {
		if l.Key == k {
			own = append(own, l)
		}
	}
	return gradesOf(InForce(own))
}

// gradesOf are the grades of pages by labels in force of one topic.
func gradesOf(labels []Label) map[web.URL]Grade {
	type grades struct{ first, second []Grade }
	pages := map[web.URL]grades{}
	type who struct {
		url    web.URL
		reader string
	}
	second := map[who]bool{} // a second look takes the place of its reader's first
	for _, l := range labels {
		if l.Round == 2 {
			second[who{l.URL, l.Reader}] = true
		}
	}
	for _, l := range labels {
		x := pages[l.URL]
		switch {
		case l.Grade == CannotTell:
		case l.Round == 2:
			x.second = append(x.second, l.Grade)
		case !second[who{l.URL, l.Reader}]:
			x.first = append(x.first, l.Grade)
		}
		pages[l.URL] = x
	}
	out := make(map[web.URL]Grade, len(pages))
	for u, x := range pages {
		list := x.first
		if len(x.second) > 0 {
			list = x.second
		}
		if len(list) > 0 {
			slices.Sort(list)
			out[u] = list[(len(list)-1)/2]
		}
	}
	return out
}

// readersOf are the names of the readers of labels in force.
func readersOf(labels []Label) []string {
	names := map[string]bool{}
	for _, l := range labels {
		names[l.Reader] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Compare finds a reader's own among the labels in force of a page: those of the
// two rounds, nil for none. differs tells whether another reader's first grade of
// the page is not the reader's own; it is false where one of them cannot tell.
//
// That is the rule for changes: a first grade can be changed until its reader
// could see that of another reader who differs. From then on it stays, as agreement
// is measured on first grades, and a second look corrects it.
func Compare(reader string, labels []Label) (first, second *Label, differs bool) {
	for i, l := range labels {
		if l.Reader == reader && l.Round == 1 {
			first = &labels[i]
		} else if l.Reader == reader {
			second = &labels[i]
		}
	}
	if first == nil || first.Grade == CannotTell {
		return first, second, false
	}
	for _, l := range labels {
		differs = differs || l.Reader != reader && l.Round == 1 && l.Grade != first.Grade && l.Grade != CannotTell
	}
	return first, second, differs
}

// NewLabels are those of labels that old does not hold, and how many of them
// change a grade. The error names first grades that cannot be changed any more (see
// Compare; where old labels differ, their readers could see it), and second looks at
// pages that nobody has given a first grade.
func NewLabels(old, labels []Label) (added []Label, changed int, err error) {
	type page struct {
		Key
		url web.URL
	}
	pages := map[page][]Label{}
	for _, l := range InForce(old) {
		at := page{l.Key, l.URL}
		pages[at] = append(pages[at], l)
	}
	firsts := map[page]bool{}
	for _, l := range slices.Concat(InForce(old), labels) {
		if l.Round == 1 {
			firsts[page{l.Key, l.URL}] = true
		}
	}
	taken := map[labelKey]bool{}
	var wrong []error
	for _, l := range labels {
		first, own, differs := Compare(l.Reader, pages[page{l.Key, l.URL}])
		if l.Round == 1 {
			own = first
		}
		switch {
		case own != nil && own.Grade == l.Grade || taken[labelKey{l.Key, l.URL, l.Reader, l.Round}]:
			continue
		case l.Round == 1 && differs:
			wrong = append(wrong, fmt.Errorf("%s, %s: the first grade %s of %s stays, as another reader has given another one: a second look can change it (--round 2)", l.Key, l.URL, first.Grade, l.Reader))
		case l.Round == 2 && !firsts[page{l.Key, l.URL}]:
			wrong = append(wrong, fmt.Errorf("%s, %s: a second look of %s at a page that nobody has given a first grade (--round 1)", l.Key, l.URL, l.Reader))
		}
		if len(wrong) == maxWrong {
			break
		}
		if own != nil {
			changed++
		}
		added = append(added, l)
		taken[labelKey{l.Key, l.URL, l.Reader, l.Round}] = true
	}
	if len(wrong) > 0 {
		return nil, 0, errors.Join(wrong...)
	}
	return added, changed, nil
}
