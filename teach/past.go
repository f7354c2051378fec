package teach

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/waggle-crawler/waggle/topic/paths"
)

// Moment is what an action changed, so that it can be taken back: where there
// are now `added` paths from `at` on, there were those of old.
type Moment struct {
	at, added  int
	old        []paths.Path
	path, step int    // where the person stood; path -1 = nowhere
	what       string // was done, for people
}

// History is what can be undone, and redone after that; the next of each is the
// last.
type History struct{ Past, Future []Moment }

// maxPast bounds how many actions can be undone.
const maxPast = 500

// between is the moment that led from one set to another.
func between(from, to []paths.Path, path, step int, what string) Moment {
	equal := func(a, b *paths.Path) bool {
		// Steps are replaced, never written to, so most are the very same.
		same := len(a.Steps) == len(b.Steps) && (len(a.Steps) == 0 || &a.Steps[0] == &b.Steps[0])
		return same && a.Site == b.Site && a.Task == b.Task && a.Source == b.Source || reflect.DeepEqual(a, b)
	}
	head, tail := 0, 0
	for head < len(from) && head < len(to) && equal(&from[head], &to[head]) {
		head++
	}
	for tail < len(from)-head && tail < len(to)-head && equal(&from[len(from)-1-tail], &to[len(to)-1-tail]) {
		tail++
	}
	return Moment{at: head, added: len(to) - head - tail, old: slices.Clone(from[head : len(from)-tail]), path: path, step: step, what: what}
}

// before is the set as it was, in a slice of its own.
func (m *Moment) before(set []paths.Path) []paths.Path {
	return slices.Concat(set[:m.at], m.old, set[m.at+m.added:])
}

// What can be undone is kept beside the paths, so that who goes on tomorrow can
// still undo. It is a file of lines of JSON, the last action last; behind the past
// stands what can be redone, the next last, where there is any, and the first
// line says so:
//
//	{"waggle":"undo and redo","now":"5c1e…","before":"90ab…"}
//	{"what":"a new path","path":-1,"step":0,"at":0,"added":1,"old":[]}
//	{"what":"the label Goal","path":0,"step":2,"at":0,"added":1,"old":[{"steps":[…]}]}
//	{"what":"the label Fail","path":0,"step":2,"at":0,"added":1,"old":[…],"redo":true}
//
// now is the digest of the paths as the last action left them, before of those
// it found: the two files cannot be replaced at one instant, and whoever is
// killed between them finds paths that are one action behind, or ahead. Nothing
// can be redone then. Paths of any other digest were edited by hand, and the past
// is not theirs.

// What the first line says of the lines behind it.
const (
	undoOnly    = "undo"
	undoAndRedo = "undo and redo"
)

type pastHead struct {
	Waggle string `json:"waggle"`
	Now    string `json:"now"`
	Before string `json:"before,omitempty"`
}

type pastLine struct {
	What  string            `json:"what"`
	Path  int               `json:"path"`
	Step  int               `json:"step"`
	At    int               `json:"at"`
	Added int               `json:"added"`
	Old   []json.RawMessage `json:"old"`
	Redo  bool              `json:"redo,omitempty"`
}

// Bounds of a file of the past.
const (
	maxPastBytes = 8 << 20 // older actions are left out
	maxPastLine  = 4 << 20
)

// WriteHistory writes what can be undone of set, and redone.
func WriteHistory(w io.Writer, set []paths.Path, h History) error {
	head := pastHead{Waggle: undoOnly, Now: digest(set)}
	if len(h.Past) > 0 {
		head.Before = digest(h.Past[len(h.Past)-1].before(set))
	}
	size := 0
	past, err := writeMoments(h.Past, false, &size)
	if err != nil {
		return err
	}
	future, err := writeMoments(h.Future, true, &size)
	if err != nil {
		return err
	}
	if len(future) > 0 {
		head.Waggle = undoAndRedo
	}
	b := bufio.NewWriter(w)
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	for _, line := range slices.Concat([][]byte{first}, past, future) {
		b.Write(append(line, '\n')) // errors show at the end
	}
	return b.Flush()
}

// writeMoments makes the lines of moments. Those that come last are left out
// where size, of all lines, becomes too large.
func writeMoments(list []Moment, redo bool, size *int) (lines [][]byte, err error) {
	for _, m := range slices.Backward(list) {
		line := pastLine{What: m.what, Path: m.path, Step: m.step, At: m.at, Added: m.added, Old: []json.RawMessage{}, Redo: redo}
		var b bytes.Buffer
		if err := paths.WriteJSON(&b, m.old); err != nil {
			return nil, err
		}
		for one := range bytes.Lines(b.Bytes()) {
			line.Old = append(line.Old, json.RawMessage(bytes.TrimSpace(one)))
		}
		text, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		if *size += len(text) + 1; *size > maxPastBytes || len(text) > maxPastLine {
			break
		}
		lines = append(lines, text)
	}
	slices.Reverse(lines)
	return lines, nil
}

// ErrOtherPast is a past of other paths than those there are.
var ErrOtherPast = errors.New("the paths were changed since by another program")

// ReadHistory reads what can be undone of set, and redone. It is ErrOtherPast if
// set is not what the past led to, and an error that names the line if one is
// damaged.
func ReadHistory(r io.Reader, set []paths.Path) (History, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), 2*maxPastLine)
	var head pastHead
	var h History
	n := 0
	for lines.Scan() {
		if n++; n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Waggle != undoOnly && head.Waggle != undoAndRedo {
				return History{}, errors.New("line 1: this is no file of what can be undone")
			}
			continue
		}
		m, redo, err := readMoment(lines.Bytes())
		switch {
		case err != nil:
			return History{}, fmt.Errorf("line %d: %w", n, err)
		case redo:
			h.Future = append(h.Future, m)
		case len(h.Future) > 0:
			return History{}, fmt.Errorf("line %d: what can be undone stands behind what can be redone", n)
		default:
			h.Past = append(h.Past, m)
		}
	}
	if err := lines.Err(); err != nil {
		return History{}, fmt.Errorf("line %d: %w", n+1, err)
	}
	end := len(h.Past)
	switch now := digest(set); {
	case now == head.Now:
	case now == head.Before && len(h.Past) > 0:
		h.Past, h.Future = h.Past[:len(h.Past)-1], nil
	default:
		return History{}, ErrOtherPast
	}
	if i := misfit(h.Past, len(set)); i >= 0 {
		return History{}, fmt.Errorf("line %d: it changes paths that there are not", i+2)
	}
	if i := misfit(h.Future, len(set)); i >= 0 {
		return History{}, fmt.Errorf("line %d: it changes paths that there are not", end+i+2)
	}
	h.Past = h.Past[max(0, len(h.Past)-maxPast):]
	return h, nil
}

// misfit is the index of a moment that changes paths which there are not, -1 if
// there is none: each says how many paths there were before it, so all can be
// checked from the last on.
func misfit(list []Moment, length int) int {
	for i, m := range slices.Backward(list) {
		if m.at+m.added > length {
			return i
		}
		length += len(m.old) - m.added
	}
	return -1
}

func readMoment(line []byte) (m Moment, redo bool, err error) {
	var k pastLine
	if err := json.Unmarshal(line, &k); err != nil {
		return m, false, err
	}
	if k.At < 0 || k.Added < 0 || k.Path < -1 || k.Step < 0 || k.What == "" {
		return m, false, errors.New("no action")
	}
	m = Moment{at: k.At, added: k.Added, path: k.Path, step: k.Step, what: k.What}
	var old bytes.Buffer
	for _, one := range k.Old {
		old.Write(one)
		old.WriteByte('\n')
	}
	set, problems, err := paths.Read(&old, "undo")
	if err != nil {
		return m, false, err
	}
	if len(problems) > 0 {
		return m, false, errors.New(problems[0].Text)
	}
	for _, p := range set {
		p.File, p.Line = "", 0
		m.old = append(m.old, p)
	}
	return m, k.Redo, nil
}

// digest is equal for sets that are written alike.
func digest(set []paths.Path) string {
	h := sha256.New()
	if err := paths.WriteJSON(h, set); err != nil {
		panic("teach: " + err.Error()) // a hash takes all, and addresses and labels are always JSON
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
