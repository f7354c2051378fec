package pool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// labels.tsv holds the labels of a pool in the order in which they were given.
// Of several by one reader, of one page and round, the last counts; the grade -
// takes those before it back. An end without a newline is of a label that was
// not written whole, and is cut off.
//
//	# waggle labels of pool 3fa9c20be1d04a57
//	web	topic	address	grade	reader	round
//	campus	databases	http://a.example/	2	ada	1
const (
	LabelsName = "labels.tsv"
	labelsMark = "# waggle labels of pool "
	labelsHead = "web\ttopic\taddress\tgrade\treader\tround\n"
)

// CheckReader tells whether a name can be a reader's.
func CheckReader(name string) error {
	if name == "" || len(name) > 60 || name != event.Line(name) {
		return fmt.Errorf("reader %q: a name of 1 to 60 characters is wanted", event.Line(name))
	}
	return nil
}

// ReadLabels reads the labels in the folder of a pool and checks each; none,
// where the file is not there. The error tells file and line.
func ReadLabels(dir string, p *Pool) ([]Label, error) {
	name := filepath.Join(dir, LabelsName)
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readLabels(name, whole(b, p), p)
}

// whole cuts off a line that was not written to its end, and a head that was not.
func whole(b []byte, p *Pool) []byte {
	if strings.HasPrefix(labelsMark+p.Revision+"\n"+labelsHead, string(b)) {
		return nil
	}
	return b[:bytes.LastIndexByte(b, '\n')+1]
}

func readLabels(name string, b []byte, p *Pool) ([]Label, error) {
	if len(b) == 0 {
		return nil, nil
	}
	head, body, _ := strings.Cut(string(b), "\n")
	revision, ok := strings.CutPrefix(head, labelsMark)
	if !ok {
		return nil, fmt.Errorf("%s:1: the first line is not %q and a revision", name, labelsMark)
	}
	if revision != p.Revision {
		return nil, fmt.Errorf("%s:1: the labels are of pool %s, and this is pool %s: labels fit the pool they were given for", name, revision, p.Revision)
	}
	if body, ok = strings.CutPrefix(body, labelsHead); !ok {
		return nil, fmt.Errorf("%s:2: the line is not %q", name, strings.TrimSuffix(labelsHead, "\n"))
	}
	ix := p.index()
	var out []Label
	n := 2
	for line := range strings.Lines(body) {
		n++
		l, err := parseLabel(strings.TrimSuffix(line, "\n"), ix)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		out = append(out, l)
	}
	return out, nil
}

func parseLabel(line string, ix index) (Label, error) {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return Label{}, errors.New("six fields parted by tabs are wanted: web, topic, address, grade, reader, round")
	}
	l := Label{Key: Key{f[0], f[1]}, Reader: f[4]}
	var err error
	if l.URL, err = web.Parse(f[2]); err != nil {
		return l, err
	}
	if f[3] == withdrawn.String() {
		l.Grade = withdrawn
	} else if l.Grade, err = ParseGrade(f[3]); err != nil {
		return l, err
	}
	if l.Round, err = parseRound(f[5]); err != nil {
		return l, err
	}
	if err := CheckReader(l.Reader); err != nil {
		return l, err
	}
	_, err = ix.place(l.Key, l.URL)
	return l, err
}

func parseRound(s string) (int, error) {
	if s == "1" || s == "2" {
		return int(s[0] - '0'), nil
	}
	return 0, fmt.Errorf("round %q: 1 (independent) or 2 (second look) is wanted", s)
}

// index finds pages of a pool: the place of each in the reading order, from 0.
type index map[Key]map[web.URL]int

func (p *Pool) index() index {
	ix := index{}
	for i := range p.Topics {
		t := &p.Topics[i]
		at := make(map[web.URL]int, len(t.Pages))
		for n, x := range t.Pages {
			at[x.URL] = n
		}
		ix[t.Key()] = at
	}
	return ix
}

// place is that of a page in its topic's reading order.
func (ix index) place(k Key, u web.URL) (int, error) {
	at, ok := ix[k]
	if !ok {
		return 0, fmt.Errorf("the pool has no topic %s", k)
	}
	n, ok := at[u]
	if !ok {
		return 0, fmt.Errorf("%s is no page to read for %s", u, k)
	}
	return n, nil
}

// LabelFile is an open file of labels, to which labels are added. It is not
// safe for concurrent use.
type LabelFile struct{ f *os.File }

// OpenLabels opens the labels in the folder of a pool, for adding to them, and
// returns those that are there.
func OpenLabels(dir string, p *Pool) (*LabelFile, []Label, error) {
	name := filepath.Join(dir, LabelsName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	fail := func(err error) (*LabelFile, []Label, error) { return nil, nil, errors.Join(err, f.Close()) }
	b, err := io.ReadAll(f)
	if err != nil {
		return fail(err)
	}
	b = whole(b, p)
	list, err := readLabels(name, b, p)
	if err != nil {
		return fail(err)
	}
	if err := f.Truncate(int64(len(b))); err != nil {
		return fail(err)
	}
	if _, err := f.Seek(int64(len(b)), io.SeekStart); err != nil {
		return fail(err)
	}
	if len(b) == 0 {
		if _, err := f.WriteString(labelsMark + p.Revision + "\n" + labelsHead); err != nil {
			return fail(err)
		}
	}
	return &LabelFile{f}, list, nil
}

// Add adds labels, and returns when they are on the disk. After an error some
// of them may be there.
func (lf *LabelFile) Add(labels ...Label) error {
	var b bytes.Buffer
	for _, l := range labels {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%d\n", l.Web, l.Topic, l.URL, l.Grade, l.Reader, l.Round)
	}
	if _, err := lf.f.Write(b.Bytes()); err != nil {
		return err
	}
	return lf.f.Sync()
}

// Close closes the file.
func (lf *LabelFile) Close() error { return lf.f.Close() }

// given names a decision: of one reader, on one page, in one round.
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

// Grades are the grades of a topic's pages by all readers together. Where there are
// second looks at a page, by whomever, they alone count: they were given knowing the
// first labels, or seeing more of the page. A second look that cannot tell leaves the
// first labels of the others. Of several grades the median counts, and of two in the
// middle the lower. A page of which nobody can tell has none.
func Grades(labels []Label, k Key) map[web.URL]Grade {
	type who struct {
		url    web.URL
		reader string
	}
	last := map[who]Label{}
	for _, l := range InForce(labels) {
		if w := (who{l.URL, l.Reader}); l.Key == k && l.Round >= last[w].Round {
			last[w] = l
		}
	}
	first, second := map[web.URL][]Grade{}, map[web.URL][]Grade{}
	for w, l := range last {
		switch {
		case l.Grade == CannotTell:
		case l.Round == 2:
			second[w.url] = append(second[w.url], l.Grade)
		default:
			first[w.url] = append(first[w.url], l.Grade)
		}
	}
	all := first
	maps.Copy(all, second)
	out := make(map[web.URL]Grade, len(all))
	for u, grades := range all {
		slices.Sort(grades)
		out[u] = grades[(len(grades)-1)/2]
	}
	return out
}

// Readers are the names of all readers, sorted.
func Readers(labels []Label) (names []string) {
	for _, l := range InForce(labels) {
		if !slices.Contains(names, l.Reader) {
			names = append(names, l.Reader)
		}
	}
	slices.Sort(names)
	return names
}

// NewLabels are those of labels that old does not hold, and how many of them
// change a grade.
func NewLabels(old, labels []Label) (added []Label, changed int) {
	grades := map[Label]Grade{}
	same := func(l Label) Label {
		l.Grade = 0
		return l
	}
	for _, l := range InForce(old) {
		grades[same(l)] = l.Grade
	}
	for _, l := range labels {
		g, ok := grades[same(l)]
		if ok && g == l.Grade {
			continue
		}
		if ok {
			changed++
		}
		grades[same(l)] = l.Grade
		added = append(added, l)
	}
	return added, changed
}
