package paths

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/waggle-crawler/waggle/web"
)

// A file of paths is text in UTF-8, in one of two forms. Both hold the same;
// Read tells them apart by the first character.
//
// By hand: one page a line, fields parted by tabs, a blank line after each
// path. Only the address is needed. # begins a comment, but where it gives a
// path its site, task or source:
//
//	# waggle paths
//	# site: cornell
//	# task: courses
//	http://cs.cornell.edu/
//	http://cs.cornell.edu/Info/Courses/	Courses	Course Information
//	http://cs.cornell.edu/CS414.html	Goal	CS414	17	http://cs.cornell.edu/414
//	│                                	│   	│    	│ 	└ address of the link, where it redirected here
//	│                                	│   	│    	└ its place among the links of the page before, from 1
//	│                                	│   	└ text of the link that was followed
//	│                                	└ label
//	└ page
//
// By programs: one path a line, as JSON (the lines may also stand in an array):
//
//	{"site":"cornell","task":"courses","source":"teach","steps":[
//	  {"url":"http://cs.cornell.edu/"},
//	  {"url":"http://cs.cornell.edu/Info/Courses/","label":"Courses","anchor":"Course Information"},
//	  {"url":"http://cs.cornell.edu/CS414.html","label":"Goal","anchor":"CS414","ordinal":17,"via":"http://cs.cornell.edu/414"}]}
//
// (a line, broken here for reading).

const (
	maxLine  = 4 << 20  // bytes of a line
	maxArray = 64 << 20 // bytes of a JSON array
)

// ReadFile reads a file of paths; see Read.
func ReadFile(name string) ([]Path, []Problem, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// Read reads paths in either form. name stands in messages. What is wrong with
// one path leaves that path out and is told as a problem, and reading goes on;
// the error is that of r, or of a file that is neither form.
func Read(r io.Reader, name string) (set []Path, problems []Problem, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if bom, _ := b.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		b.Discard(3) // what was peeked at is there
	}
	head, err := b.Peek(4 << 10)
	if err != nil && err != io.EOF {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	rd := reader{name: name}
	switch first := strings.TrimSpace(string(head)); {
	case strings.HasPrefix(first, "{"):
		err = rd.lines(b)
	case strings.HasPrefix(first, "["):
		err = rd.array(b)
	default:
		err = rd.tabbed(b)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return rd.set, rd.problems, nil
}

type reader struct {
	name     string
	set      []Path
	problems []Problem
}

// wrong tells what is wrong with the path that begins at line begin.
func (rd *reader) wrong(begin, line int, format string, args ...any) {
	rd.problems = append(rd.problems, Problem{
		Kind: Malformed, Dropped: true, Place: fmt.Sprintf("%s:%d", rd.name, line),
		Text: fmt.Sprintf(format, args...) + fmt.Sprintf("; the path of line %d is left out", begin),
	})
}

func (rd *reader) tabbed(r io.Reader) error {
	var p Path // being read
	bad := false
	begin := 0
	end := func() {
		if len(p.Steps) > 0 && !bad {
			p.File, p.Line = rd.name, begin
			rd.set = append(rd.set, p)
		}
		p, bad, begin = Path{}, false, 0
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimRight(lines.Text(), " \t\r")
		if line == "" {
			end()
			continue
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			key, value, _ := strings.Cut(comment, ":")
			field, ok := map[string]*string{"site": &p.Site, "task": &p.Task, "source": &p.Source}[strings.TrimSpace(key)]
			if ok {
				if begin > 0 { // the head of the next path
					end()
				}
				*field = oneLine(value)
			}
			continue
		}
		if begin == 0 {
			begin = n
		}
		if bad {
			continue
		}
		s, err := readStep(strings.Split(line, "\t"))
		if err == nil && len(p.Steps) == MaxSteps {
			err = fmt.Errorf("more than %d pages", MaxSteps)
		}
		if err != nil {
			rd.wrong(begin, n, "%v", err)
			bad = true
			continue
		}
		p.Steps = append(p.Steps, s)
	}
	end()
	return scanned(lines, n)
}

// scanned is why lines ended after n of them.
func scanned(lines *bufio.Scanner, n int) error {
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d bytes: this is no file of paths", n+1, maxLine)
	}
	return lines.Err()
}

func readStep(fields []string) (s Step, err error) {
	if len(fields) > 5 {
		return s, fmt.Errorf("%d fields, at most 5: page, label, anchor, ordinal, via", len(fields))
	}
	var f [5]string
	for i := range fields {
		f[i] = strings.TrimSpace(fields[i])
	}
	if strings.Contains(f[0], "://") && strings.ContainsFunc(f[0], unicode.IsSpace) {
		return s, fmt.Errorf("the address %.200q holds a space: fields are parted by tabs", f[0])
	}
	k := stepJSON{URL: f[0], Label: f[1], Anchor: f[2], Via: f[4]}
	if f[3] != "" {
		if k.Ordinal, err = strconv.Atoi(f[3]); err != nil || k.Ordinal < 1 {
			return s, fmt.Errorf("%q is no place of a link, which are counted from 1", f[3])
		}
	}
	return k.step()
}

// pathJSON and stepJSON are a path as JSON.
type pathJSON struct {
	Site   string     `json:"site,omitempty"`
	Task   string     `json:"task,omitempty"`
	Source string     `json:"source,omitempty"`
	Steps  []stepJSON `json:"steps"`
}

type stepJSON struct {
	URL     string `json:"url"`
	Label   string `json:"label,omitempty"`
	Anchor  string `json:"anchor,omitempty"`
	Ordinal int    `json:"ordinal,omitempty"`
	Via     string `json:"via,omitempty"`
}

func (k *stepJSON) step() (s Step, err error) {
	if s.URL, err = web.Parse(k.URL); err != nil {
		return s, err
	}
	if s.Label, err = CleanLabel(k.Label); err != nil {
		return s, err
	}
	if k.Via != "" {
		if s.Link.Via, err = web.Parse(k.Via); err != nil {
			return s, err
		}
		if s.Link.Via == s.URL {
			s.Link.Via = web.URL{}
		}
	}
	if k.Ordinal < 0 {
		return s, fmt.Errorf("%d is no place of a link, which are counted from 1", k.Ordinal)
	}
	s.Link.Ordinal = k.Ordinal
	s.Link.Anchor = oneLine(k.Anchor)
	return s, nil
}

// lines reads one path a line.
func (rd *reader) lines(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(rd.set)+len(rd.problems) == 0 && string(line) == "{" {
			return fmt.Errorf("line %d: a path over several lines: write each on one line, as jq -c . does, or all of them as an array", n)
		}
		if len(line) > 0 {
			rd.path(line, n)
		}
	}
	return scanned(lines, n)
}

// array reads one array of paths.
func (rd *reader) array(r io.Reader) error {
	all, err := io.ReadAll(io.LimitReader(r, maxArray+1))
	if err != nil {
		return err
	}
	if len(all) > maxArray {
		return fmt.Errorf("an array of more than %d bytes: write one path a line instead", maxArray)
	}
	line := func(dec *json.Decoder) int { return 1 + bytes.Count(all[:dec.InputOffset()], []byte("\n")) }
	dec := json.NewDecoder(bytes.NewReader(all))
	if _, err := dec.Token(); err != nil { // the bracket
		return err
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("line %d: %w", line(dec), err)
		}
		rd.path(raw, line(dec)-bytes.Count(raw, []byte("\n")))
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("line %d: the array does not end: %w", line(dec), err)
	}
	return nil
}

// path reads one path.
func (rd *reader) path(raw json.RawMessage, line int) {
	var k pathJSON
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&k); err != nil {
		rd.wrong(line, line, "%s", strings.TrimPrefix(err.Error(), "json: "))
		return
	}
	p := Path{Site: oneLine(k.Site), Task: oneLine(k.Task), Source: oneLine(k.Source), File: rd.name, Line: line}
	if len(k.Steps) == 0 || len(k.Steps) > MaxSteps {
		rd.wrong(line, line, "%d steps, which may be 1 to %d", len(k.Steps), MaxSteps)
		return
	}
	for i := range k.Steps {
		s, err := k.Steps[i].step()
		if err != nil {
			rd.wrong(line, line, "step %d: %v", i+1, err)
			return
		}
		p.Steps = append(p.Steps, s)
	}
	rd.set = append(rd.set, p)
	if len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
		rd.problems = append(rd.problems, Problem{
			Kind: Malformed, Dropped: true, Place: fmt.Sprintf("%s:%d", rd.name, line),
			Text: "what follows the path on the line is left out: write each path on a line of its own",
		})
	}
}

// WriteTSV writes paths in the form for hands.
func WriteTSV(w io.Writer, set []Path) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "# waggle paths: page, label, anchor, place of the link, address of the link where it redirected")
	for i := range set {
		p := &set[i]
		fmt.Fprintln(b)
		for _, kv := range [][2]string{{"site", p.Site}, {"task", p.Task}, {"source", p.Source}} {
			if v := oneLine(kv[1]); v != "" {
				fmt.Fprintf(b, "# %s: %s\n", kv[0], v)
			}
		}
		for _, s := range p.Steps {
			ordinal := ""
			if s.Link.Ordinal > 0 {
				ordinal = strconv.Itoa(s.Link.Ordinal)
			}
			line := strings.Join([]string{s.URL.String(), s.Label, oneLine(s.Link.Anchor), ordinal, s.Link.Via.String()}, "\t")
			fmt.Fprintln(b, strings.TrimRight(line, "\t"))
		}
	}
	return b.Flush()
}

// WriteJSON writes paths in the form for programs, one a line.
func WriteJSON(w io.Writer, set []Path) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range set {
		p := &set[i]
		k := pathJSON{Site: oneLine(p.Site), Task: oneLine(p.Task), Source: oneLine(p.Source), Steps: make([]stepJSON, len(p.Steps))}
		for j, s := range p.Steps {
			k.Steps[j] = stepJSON{URL: s.URL.String(), Label: s.Label, Anchor: oneLine(s.Link.Anchor), Ordinal: s.Link.Ordinal, Via: s.Link.Via.String()}
		}
		if err := enc.Encode(k); err != nil {
			return err
		}
	}
	return b.Flush()
}

// oneLine folds white space, and drops what is no character.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
