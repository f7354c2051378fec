package pool

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Labels come from elsewhere, and go there, in two forms.
//
// TSV has a head that names its columns, in any order:
//
//	topic	n	address	grade	reader	round
//	campus/databases	1	http://a.example/	2	ada	1
//
// grade is needed, and n or address, or both, which have to agree: n is the
// place of the page in the topic's reading order, from 1. topic, reader and
// round may be given apart from the file. Other columns are left alone.
//
// Qrels are those of TREC: topic, iteration, document, grade, parted by spaces.
// The document is the address; the iteration is not looked at; a negative grade
// is "cannot tell".
//
//	campus/databases 0 http://a.example/ 2

// ImportOptions say what a file of labels does not.
type ImportOptions struct {
	Topic  Key    // of lines without one; zero = none
	Reader string // of lines without one; "" = none
	Round  int    // of lines without one; 0 = 1
}

// maxWrong bounds the errors told of one file.
const maxWrong = 20

// Importer reads labels from files. It is made for one import: what one file says
// of a page is held against the others.
type Importer struct {
	pool    *Pool
	ix      *index
	o       ImportOptions
	columns []string // of TSV; empty and not nil for qrels
	name    string   // of the file
	seen    map[labelKey]source
}

// source is where a label was read.
type source struct {
	file  string
	line  int
	grade Grade
}

// NewImporter returns one for the labels of a pool.
func NewImporter(p *Pool, o ImportOptions) *Importer {
	if o.Round == 0 {
		o.Round = 1
	}
	return &Importer{pool: p, ix: p.index(), o: o, seen: map[labelKey]source{}}
}

// maxLine bounds a line of a file of labels, in bytes.
const maxLine = 1 << 20

// ReadFiles reads the labels of files, as Read does.
func (im *Importer) ReadFiles(names ...string) (out []Label, err error) {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		labels, err := im.Read(f, name)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out = append(out, labels...)
	}
	return out, nil
}

// Read reads labels in either form; qrels are told by a first line of four
// words. Every line is checked: that its page is one to read, its grade a grade,
// no page graded twice by one reader in one file, and not differently in two. The
// error tells all that is wrong, with lines, and then there are no labels.
func (im *Importer) Read(r io.Reader, name string) ([]Label, error) {
	im.name, im.columns = name, nil
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	var out []Label
	var wrong []error
	for lines.Scan() {
		n++
		line := strings.TrimSuffix(strings.TrimPrefix(lines.Text(), "\ufeff"), "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		l, ok, err := im.line(line, n)
		if err != nil {
			if wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err)); len(wrong) == maxWrong || im.columns == nil {
				break // without columns every line would be wrong
			}
		} else if ok {
			out = append(out, l)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		wrong = append(wrong, fmt.Errorf("%s:%d: the line has more than %d bytes: this is no file of labels", name, n+1, maxLine))
	} else if err != nil {
		wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no labels", name)
	}
	return out, nil
}

// line reads a line; ok is false for the head of TSV.
func (im *Importer) line(line string, n int) (l Label, ok bool, err error) {
	if im.columns == nil {
		if f := strings.Fields(line); len(f) == 4 && !strings.Contains(line, "\t") || len(f) == 4 && !slices.Contains(f, "grade") {
			im.columns = []string{}
		} else {
			im.columns, err = head(line)
			return l, false, err
		}
	}
	value := map[string]string{}
	if len(im.columns) == 0 {
		f := strings.Fields(line)
		if len(f) != 4 {
			return l, false, fmt.Errorf("%d words; qrels have four: topic, iteration, document, grade", len(f))
		}
		value["topic"], value["address"], value["grade"] = f[0], f[2], f[3]
		if strings.HasPrefix(f[3], "-") {
			value["grade"] = CannotTell.String()
		}
	} else {
		f := strings.Split(line, "\t")
		if len(f) != len(im.columns) {
			return l, false, fmt.Errorf("%d fields parted by tabs, but %d columns in the first line", len(f), len(im.columns))
		}
		for i, c := range im.columns {
			value[c] = strings.TrimSpace(f[i])
		}
	}
	l, err = im.label(value)
	if err != nil {
		return l, false, err
	}
	g := labelKey{l.Key, l.URL, l.Reader, l.Round}
	if at, ok := im.seen[g]; ok && at.file == im.name {
		return l, false, fmt.Errorf("%s has a grade in line %d already", l.URL, at.line)
	} else if ok && at.grade != l.Grade {
		return l, false, fmt.Errorf("%s has the grade %s by %s in %s:%d, and %s here: which of the two counts?", l.URL, at.grade, l.Reader, at.file, at.line, l.Grade)
	}
	im.seen[g] = source{im.name, n, l.Grade}
	return l, true, nil
}

// head reads the names of columns.
func head(line string) ([]string, error) {
	columns := strings.Split(line, "\t")
	for i, c := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(c))
		if slices.Contains(columns[:i], columns[i]) {
			return nil, fmt.Errorf("two columns are named %q", columns[i])
		}
	}
	if !slices.Contains(columns, "grade") || !slices.Contains(columns, "n") && !slices.Contains(columns, "address") {
		return nil, errors.New("the first line names the columns, parted by tabs: grade, and n or address, are needed")
	}
	return columns, nil
}

// label makes a label of the values of a line.
func (im *Importer) label(value map[string]string) (l Label, err error) {
	l = Label{Key: im.o.Topic, Reader: im.o.Reader, Round: im.o.Round}
	if s := value["topic"]; s != "" {
		w, t, whole := strings.Cut(s, "/")
		if !whole { // the web in a column of its own
			w, t = value["web"], s
		}
		l.Key = Key{w, t}
	}
	if s := value["reader"]; s != "" {
		l.Reader = s
	}
	if s := value["round"]; s != "" {
		if l.Round, err = parseRound(s); err != nil {
			return l, err
		}
	}
	switch {
	case l.Key == Key{}:
		return l, errors.New("no topic: give a column topic, or --topic WEB/TOPIC")
	case l.Reader == "":
		return l, errors.New("no reader: give a column reader, or --reader NAME")
	}
	if err := CheckReader(l.Reader); err != nil {
		return l, err
	}
	if l.Grade, err = ParseGrade(value["grade"]); err != nil {
		return l, err
	}
	t, err := im.pool.Topic(l.Key)
	if err != nil {
		return l, err
	}
	if s := value["address"]; s != "" {
		var at int
		if l.URL, at, err = im.ix.find(l.Key, s); err != nil {
			return l, err
		}
		if s := value["n"]; s != "" && s != strconv.Itoa(at+1) {
			return l, fmt.Errorf("n is %s, but %s is page %d of %s", s, l.URL, at+1, l.Key)
		}
		return l, nil
	}
	n, err := strconv.Atoi(value["n"])
	if err != nil || n < 1 || n > len(t.Pages) {
		return l, fmt.Errorf("n %q: a number in 1…%d is wanted", value["n"], len(t.Pages))
	}
	l.URL = t.Pages[n-1].URL
	return l, nil
}

// WriteQrels writes the grades of all pages that have one, by all readers
// together, as qrels of TREC, topics and pages in the order of the pool.
func WriteQrels(w io.Writer, p *Pool, labels []Label) error {
	out := bufio.NewWriter(w)
	own := ByTopic(labels)
	for i := range p.Topics {
		t := &p.Topics[i]
		grades := Grades(own[t.Key()], t.Key())
		for _, x := range t.Pages {
			if g, ok := grades[x.URL]; ok {
				fmt.Fprintf(out, "%s 0 %s %d\n", t.Key(), x.URL, g)
			}
		}
	}
	return out.Flush()
}

// WriteTSV writes the labels in force in the form that Import reads.
func WriteTSV(w io.Writer, p *Pool, labels []Label) error {
	out := bufio.NewWriter(w)
	ix := p.index()
	fmt.Fprintln(out, "topic\tn\taddress\tgrade\treader\tround")
	for _, l := range InForce(labels) {
		_, n, err := ix.find(l.Key, l.URL.String())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t%d\n", l.Key, n+1, l.URL, l.Grade, l.Reader, l.Round)
	}
	return out.Flush()
}
