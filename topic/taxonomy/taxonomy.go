// Package taxonomy holds trees of topics with example pages, as directories of
// the web are: read from where people have collected them (ImportRDF,
// ImportTable, ImportFolder), cut down to classes that a critic can learn
// (Prune), and kept in one file.
//
// # The file
//
// A taxonomy is text in UTF-8, a line an example, its columns parted by tabs:
//
//	# waggle taxonomy 1
//	/Arts/Music/Folk	https://example.org/a	The title	What an editor says of it
//	/Arts/Music/Folk	file:pages/b.html
//	/Arts/Poetry
//	/Arts/Music			What an editor says of the topic
//
// The first column is the path of a topic: "/" is the root, and every prefix
// of a path is a topic as well. The second is where the example is: an http or
// https address, or "file:" and the name of an HTML file, relative to the
// folder of the taxonomy, with slashes. Title and description may be left out.
// A topic without examples, neither its own nor below it, has a line with its
// path alone, and one of which editors wrote something a line without a source. Other lines that begin with # are comments.
//
// So grep, cut, sort and uniq -c answer most questions, and the file is too
// large for none of the functions here: what they keep in memory is the topics
// and, to find what is listed twice, some 20 bytes for each address.
package taxonomy

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/web"
)

// Bounds of a line of the file. Longer titles and descriptions are cut when
// they are imported; longer paths are an error.
const (
	maxPath  = 1000 // bytes
	maxDepth = 64   // names in a path
	maxText  = 4000 // bytes of a title or a description
	maxLine  = 64 << 10
)

// magic is the first line of the file.
const magic = "# waggle taxonomy 1"

// fileScheme begins an example that is a file.
const fileScheme = "file:"

// Example is a line of a taxonomy.
type Example struct {
	Topic       string // "/Arts/Music"
	Source      string // address, or "file:" and a name; "" where the line is of the topic itself
	Title       string
	Description string
}

// File is the name of the file that the example is, relative to the folder of
// the taxonomy; ok is false for an address.
func (e Example) File() (name string, ok bool) { return strings.CutPrefix(e.Source, fileScheme) }

// Read yields the lines of a taxonomy; name is that of the file, for errors. An
// error is the last that is yielded.
func Read(r io.Reader, name string) iter.Seq2[Example, error] {
	return func(yield func(Example, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 4096), maxLine)
		n := 0
		fail := func(format string, args ...any) {
			yield(Example{}, fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, args...)))
		}
		for lines.Scan() {
			n++
			line := lines.Text()
			if n == 1 && line != magic {
				fail("it is no taxonomy of waggle: the first line is not %q; make one with waggle topic import", magic)
				return
			}
			if strings.HasPrefix(line, "#") || line == "" {
				continue
			}
			e, err := parseLine(line)
			if err != nil {
				fail("%v", err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		n++
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			fail("the line is longer than %d bytes", maxLine)
		case err != nil:
			fail("%v", err)
		case n == 1:
			fail("the file is empty: make a taxonomy with waggle topic import")
		}
	}
}

func parseLine(line string) (e Example, err error) {
	if !utf8.ValidString(line) {
		return e, errors.New("broken UTF-8")
	}
	cols := strings.Split(line, "\t")
	if len(cols) > 4 {
		return e, fmt.Errorf("%d columns, not path, source, title and description", len(cols))
	}
	cols = append(cols, "", "", "")
	e = Example{Topic: cols[0], Source: cols[1], Title: cols[2], Description: cols[3]}
	if clean, err := Clean(e.Topic); err != nil {
		return e, err
	} else if clean != e.Topic {
		return e, fmt.Errorf("the topic %q should be written %q", e.Topic, clean)
	}
	if _, isFile := e.File(); e.Source != "" && !isFile {
		if web.HasCredentials(e.Source) {
			return e, fmt.Errorf("an example of %s: %w", e.Topic, web.ErrCredentials)
		}
		if _, err := web.Parse(e.Source); err != nil {
			return e, fmt.Errorf("the example %q: %w", e.Source, err)
		}
	}
	return e, nil
}

// Writer writes a taxonomy.
type Writer struct {
	out *bufio.Writer
	err error
}

// NewWriter begins a taxonomy; comments, a line each, say where it comes from.
// Close ends it.
func NewWriter(w io.Writer, comments ...string) *Writer {
	t := &Writer{out: bufio.NewWriterSize(w, 1<<16)}
	t.line(magic)
	for _, c := range comments {
		t.line("# " + plain(c, maxText))
	}
	return t
}

func (t *Writer) line(s string) {
	if t.err == nil {
		_, t.err = t.out.WriteString(s + "\n")
	}
}

// Write adds a line. Topic and Source must be clean (see Clean); title and
// description are made so.
func (t *Writer) Write(e Example) error {
	line := e.Topic + "\t" + e.Source + "\t" + plain(e.Title, maxText) + "\t" + plain(e.Description, maxText)
	t.line(strings.TrimRight(line, "\t"))
	return t.err
}

// Close writes what is left; the caller closes what it gave.
func (t *Writer) Close() error {
	if t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// Clean is the canonical form of a topic's path: it begins with a slash, ends
// with none, and its names are free of control characters and of white space
// at their ends.
func Clean(path string) (string, error) {
	if len(path) > 4*maxPath {
		return "", fmt.Errorf("a topic's path of %d bytes; %d is the most", len(path), maxPath)
	}
	trimmed := strings.Trim(plain(path, 4*maxPath), "/ ")
	if trimmed == "" {
		if strings.Contains(path, "/") {
			return "/", nil
		}
		return "", fmt.Errorf("the topic %q has no name", path)
	}
	names := strings.Split(trimmed, "/")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); names[i] == "" {
			return "", fmt.Errorf("the topic %q has an empty name between two slashes", path)
		}
		if names[i] == "." || names[i] == ".." {
			return "", fmt.Errorf("the topic %q has the name %q, which is none", path, names[i])
		}
	}
	clean := "/" + strings.Join(names, "/")
	if len(clean) > maxPath || len(names) > maxDepth {
		return "", fmt.Errorf("the topic %.60q… has %d names in %d bytes; %d and %d are the most", path, len(names), len(clean), maxDepth, maxPath)
	}
	return clean, nil
}

// Keywords are the names on a clean path, each once, with spaces for underscores.
func Keywords(path string) (out []string) {
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name = strings.ReplaceAll(name, "_", " "); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// plain is s in one line of valid UTF-8 without control characters, cut to max
// bytes between characters.
func plain(s string, max int) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f
	}
	if !clean {
		s = strings.ToValidUTF8(s, "\uFFFD")
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
				return ' '
			}
			return r
		}, s)
	}
	if s = strings.TrimSpace(s); len(s) > max {
		for max > 0 && !utf8.RuneStart(s[max]) {
			max--
		}
		s = strings.TrimSpace(s[:max])
	}
	return s
}

// Parent is the path above a topic; that of the root is "".
func Parent(path string) string {
	if path == "/" {
		return ""
	}
	return cmp.Or(path[:strings.LastIndexByte(path, '/')], "/")
}

// Prefixes are a topic's path and all above it, the root first:
//
//	/ /Computers /Computers/Software
//
// They are the topic features of Chakrabarti, Punera & Subramanyam 2002, section
// 3.8.
func Prefixes(path string) []string {
	var out []string
	for p := path; p != ""; p = Parent(p) {
		out = append(out, p)
	}
	slices.Reverse(out)
	return out
}

// Covers tells whether a topic is the other one or lies above it.
func Covers(topic, other string) bool {
	return topic == "/" || topic == other || strings.HasPrefix(other, topic+"/")
}

// Near are the names among all that somebody may have meant who wrote one that
// is not there, the nearest first, at most n: those of the same last name, the
// topics around it, and names that differ in a few letters.
func Near(path string, all iter.Seq[string], n int) []string {
	path = strings.ToLower("/" + strings.Trim(path, "/ "))
	last := path[strings.LastIndexByte(path, '/')+1:]
	type near struct {
		name string
		far  float64 // 0 = the same, 1 = nothing in common
	}
	var found []near
	for name := range all {
		low := strings.ToLower(name)
		lowLast := low[strings.LastIndexByte(low, '/')+1:]
		far := min(spelling.Distance(path, low), 0.1+spelling.Distance(last, lowLast))
		if low != "/" && (Covers(low, path) || Covers(path, low)) {
			common := float64(min(len(low), len(path))) / float64(max(len(low), len(path)))
			far = min(far, 0.3*(1-common))
		}
		if far < 0.45 {
			found = append(found, near{name, far})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// Open opens a file, unzipping it where its first bytes say that it is
// gzipped, whatever its name.
func Open(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	head, err := in.Peek(2)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if string(head) != "\x1f\x8b" {
		return stream{in, f}, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return stream{z, f}, nil
}

type stream struct {
	io.Reader
	io.Closer
}
