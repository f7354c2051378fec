package taxonomy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Dump is a file of the Open Directory, open for reading.
type Dump struct {
	Name string // for errors
	io.Reader
}

// ImportRDF writes the taxonomy of an Open Directory dump. It reads both files
// as a stream, the structure first; without it (a nil Reader) the topics are
// those of the content.
//
// A dump is XML of two kinds of record, of which this is read:
//
//	structure.rdf.u8
//	<Topic r:id="Top/Arts/Music">
//	  <d:Description>…</d:Description>             of the topic itself
//	  <narrow r:resource="Top/Arts/Music/Folk"/>   also narrow1, narrow2: display groups
//	  <symbolic r:resource="Songs:Top/Arts/…"/>    also related, altlang, letterbar …:
//	</Topic>                                       cross-links, no part of the tree
//
//	content.rdf.u8
//	<Topic r:id="Top/Arts/Music"> <link r:resource="…"/> … </Topic>
//	<ExternalPage about="http://example.org/">
//	  <d:Title>…</d:Title> <d:Description>…</d:Description>
//	  <topic>Top/Arts/Music</topic>                absent in the oldest dumps: then it
//	</ExternalPage>                                is that of the Topic before
//
// "Top" is the root. The tree is that of the names; what narrow says must
// agree with it in so far as no topic may be narrower than itself.
//
// Real dumps hold broken UTF-8, control characters that XML forbids, a bare <
// and the markup of editors' notes (<b>, <a href=…>): these are replaced or
// taken out, and counted. A record that cannot be taken is left out and told of. What is
// broken as a tree of elements is an error that names file and line, as is a file that ends
// too early, unless Options.Partial takes it as far as it goes.
func ImportRDF(w io.Writer, structure, content Dump, o Options) (ImportReport, error) {
	m, err := newImporter(w, o, "imported from an Open Directory dump")
	if err != nil {
		return ImportReport{}, err
	}
	var odd []edge
	if structure.Reader != nil {
		err := readDump(structure, m, handlers{
			topic: func(path string) error {
				if path != "" && m.wanted(path) {
					m.topic(path)
				}
				return nil
			},
			about: func(path, text string) error {
				if !m.wanted(path) {
					return nil
				}
				return m.out.Write(Example{Topic: path, Description: text})
			},
			narrow: func(from, to string) error {
				switch {
				case o.NamesOnly || Parent(to) == from:
					return nil
				case to == from:
					m.LeftOut.add("%s lists itself as narrower", from)
					return nil
				}
				if odd = append(odd, edge{from, to}); len(odd) > maxOdd {
					return fmt.Errorf("more than %d narrower topics do not lie below the topic that lists them, such as %s in %s: is this a tree? Import it by names alone (--names-only)", maxOdd, to, from)
				}
				return nil
			},
		})
		if err != nil {
			return m.ImportReport, err
		}
		if cycle := findCycle(odd); cycle != nil {
			return m.ImportReport, fmt.Errorf("%s: the topics are no tree, as each of these lists the next as narrower or holds it: %s. Remove one of these narrow lines, or import by names alone (--names-only)", structure.Name, strings.Join(cycle, " → "))
		}
	}
	last, pages := "", 0
	named := false // a page before has named its topic
	err = readDump(content, m, handlers{
		topic: func(path string) error {
			last = path
			if structure.Reader == nil && path != "" && m.wanted(path) {
				m.topic(path)
			}
			return nil
		},
		page: func(topic string, e Example) error {
			pages++
			switch {
			case topic != "":
				named = true
				path, err := dumpPath(topic)
				if err != nil {
					m.LeftOut.add("the page %s: %v", clip(e.Source), err)
					return nil
				}
				e.Topic = path
			case last == "":
				m.LeftOut.add("the page %s has no topic", clip(e.Source))
				return nil
			default:
				e.Topic = last
				if named {
					m.Given.add("%s under %s", clip(e.Source), last)
				}
			}
			if m.wanted(e.Topic) {
				if _, known := m.topic(e.Topic); !known && structure.Reader != nil {
					m.Unknown.add("%s", e.Topic)
				}
			}
			return m.example(e)
		},
	})
	if err != nil {
		return m.ImportReport, err
	}
	out, err := m.end()
	if err != nil && m.LeftOut.N > 0 {
		err = fmt.Errorf("%w; the first that was left out: %s", err, m.LeftOut.First[0])
	}
	if err != nil && pages == 0 {
		err = fmt.Errorf("%s: %w; the file holds no ExternalPage: those are in content.rdf.u8", content.Name, err)
	}
	return out, err
}

// dumpPath is the path of a topic as a dump names it.
func dumpPath(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "Top" {
		return "/", nil
	}
	return Clean(strings.TrimPrefix(name, "Top/"))
}

// handlers are told the records of a dump. An error ends the reading and is
// given the place.
type handlers struct {
	topic  func(path string) error
	about  func(path, text string) error // may be nil, as narrow and page
	narrow func(from, to string) error
	page   func(topic string, e Example) error
}

// maxNesting is far above what any dump has.
const maxNesting = 32

// readDump tells h of the records of a dump.
func readDump(d Dump, m *importer, h handlers) error {
	s := &markup{in: bufio.NewReaderSize(d.Reader, 1<<16), line: 1}
	defer func() { m.Mended += s.mended }()
	r := records{markup: s, handlers: h, leaveOut: func(why error) { m.LeftOut.add("%s:%d: %v", d.Name, s.line, why) }}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %w", d.Name, s.line, fmt.Errorf(format, args...))
	}
	for {
		// Only in these elements does text mean anything.
		s.keep = len(r.open) == 3 && (r.open[1].name == "ExternalPage" || r.open[2].name == "Description")
		written := len(r.open) == 3 && (r.open[2].name == "Title" || r.open[2].name == "Description")
		t, err := s.next()
		switch {
		case err == io.EOF && len(r.open) == 0 && s.ended:
			return nil
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			in := "before its first record"
			if n := len(r.open); n > 0 {
				in = fmt.Sprintf("within <%s> of line %d", r.open[n-1].name, r.open[n-1].line)
			}
			if m.o.Partial && len(r.open) > 0 {
				m.Cut = append(m.Cut, fmt.Sprintf("%s:%d: it ends %s", d.Name, s.line, in))
				return nil
			}
			return fail("the file is truncated: it ends %s. Get it again and compare its length, or import it as far as it goes (--partial)", in)
		case err != nil:
			return fail("%w", err)
		}
		if written && isMarkup(t.name) {
			s.mended++
			if len(r.note) < maxText {
				r.note += t.text
			}
			continue
		}
		if s.ended {
			return fail("<%s> follows the end of the dump", t.name)
		}
		if !t.end {
			if err := r.begin(t); err != nil {
				return fail("%w", err)
			}
		}
		if t.end || t.empty {
			if err := r.end(t); err != nil {
				return fail("%w", err)
			}
		}
	}
}

// records puts the tags of a dump together to records.
type records struct {
	*markup
	handlers
	open  []element // from RDF inwards
	topic string    // of the Topic that is open
	// page is the ExternalPage that is open, and of its topic.
	page Example
	of   string
	long bool   // its tag was too long
	note string // of a title or a description, what stands before markup

	leaveOut func(why error)
}

// begin takes a tag that opens an element.
func (r *records) begin(t tag) (err error) {
	if len(r.open) == 0 && t.name != "RDF" {
		return fmt.Errorf("no dump of the Open Directory: it begins with <%s> and not with <RDF>", t.name)
	}
	if len(r.open) == maxNesting {
		return fmt.Errorf("elements are nested deeper than %d", maxNesting)
	}
	r.open = append(r.open, element{t.name, r.line})
	switch {
	case len(r.open) == 2 && t.name == "Topic":
		r.topic = ""
		if t.long {
			r.leaveOut(errLongTag)
		} else if name := strings.TrimSpace(t.ref); name != "" { // the first has none
			var bad error
			if r.topic, bad = dumpPath(name); bad != nil {
				r.leaveOut(bad)
			}
		}
		err = r.handlers.topic(r.topic)
	case len(r.open) == 2 && t.name == "ExternalPage":
		r.page, r.of, r.long = Example{Source: t.ref}, "", t.long
		if t.long {
			r.leaveOut(errLongTag)
		}
	case len(r.open) == 3 && r.open[1].name == "Topic" && strings.HasPrefix(t.name, "narrow") && r.narrow != nil && r.topic != "":
		to, bad := dumpPath(t.ref)
		if bad != nil {
			r.leaveOut(bad)
			break
		}
		err = r.narrow(r.topic, to)
	}
	return err
}

// end takes a tag that closes an element.
func (r *records) end(t tag) (err error) {
	if len(r.open) == 0 {
		return fmt.Errorf("</%s> ends what never began", t.name)
	}
	last := r.open[len(r.open)-1]
	if last.name != t.name {
		return fmt.Errorf("</%s> stands where <%s> of line %d should end", t.name, last.name, last.line)
	}
	switch {
	case len(r.open) == 1:
		r.ended = true
	case len(r.open) == 2 && t.name == "ExternalPage" && r.handlers.page != nil && !r.long:
		err = r.handlers.page(r.of, r.page)
	case len(r.open) == 3 && r.open[1].name == "ExternalPage" && !t.empty:
		switch t.name {
		case "Title":
			r.page.Title = plain(r.note+t.text, maxText)
		case "Description":
			r.page.Description = plain(r.note+t.text, maxText)
		case "topic":
			r.of = t.text
		}
	case len(r.open) == 3 && r.open[1].name == "Topic" && t.name == "Description" && r.handlers.about != nil && r.topic != "":
		if text := plain(htmlTag.ReplaceAllString(r.note+t.text, " "), maxText); text != "" {
			err = r.handlers.about(r.topic, text)
		}
	}
	r.open = r.open[:len(r.open)-1]
	r.note = ""
	return err
}

// isMarkup tells elements of HTML that stand in what editors wrote. None of
// them is one of a dump.
func isMarkup(name string) bool {
	switch strings.ToLower(name) {
	case "a", "b", "big", "blockquote", "br", "center", "em", "font", "hr", "i", "img", "li", "ol", "p", "small", "span", "strong", "sub", "sup", "tt", "u", "ul":
		return true
	}
	return false
}

type element struct {
	name string
	line int
}

// markup reads the tags of an XML file as a stream. It takes what parsers of
// XML refuse in dumps (broken UTF-8, control characters, a bare &) and nothing
// larger than its bounds into memory.
type markup struct {
	in     *bufio.Reader
	line   int  // of what was read last
	keep   bool // the text before the next tag
	ended  bool // the root has ended
	mended int  // characters replaced
	buf    []byte
}

// tag is a start tag, an end tag, or both in one (<a/>).
type tag struct {
	name  string // without its namespace: "Title"
	end   bool
	empty bool
	ref   string // the value of id, about or resource, "" if there is none
	text  string // since the tag before, as far as it is kept
	long  bool   // it had more than maxTag bytes, of which the name is known alone
}

var errLongTag = fmt.Errorf("a tag of more than %d bytes", maxTag)

// Bounds of a file's parts, in bytes: what is longer is no dump.
const (
	maxTag  = 64 << 10
	longTag = 1 << 20  // of a tag that is passed over
	maxKeep = 64 << 10 // text beyond it is dropped
)

// htmlTag is the escaped markup of what editors wrote of a topic.
var htmlTag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

var encodingForm = regexp.MustCompile(`encoding\s*=\s*["']([^"']*)["']`)

// next returns the next tag, or io.EOF.
func (s *markup) next() (tag, error) {
	var text []byte
	for {
		if err := s.skipTo('<', func(b []byte) {
			if s.keep && len(text) < maxKeep {
				text = append(text, b...)
			}
		}); err != nil {
			return tag{}, err
		}
		head, err := s.in.Peek(8)
		if err != nil && err != io.EOF {
			return tag{}, err
		}
		var inner []byte
		switch {
		case bytes.HasPrefix(head, []byte("!--")):
			_, err = s.skipPast("-->")
		case bytes.HasPrefix(head, []byte("![CDATA[")):
			s.in.Discard(len("![CDATA["))
			inner, err = s.skipPast("]]>")
			if s.keep && len(text) < maxKeep {
				text = append(text, html.EscapeString(string(inner))...)
			}
		case bytes.HasPrefix(head, []byte("?")):
			inner, err = s.skipPast("?>")
			if m := encodingForm.FindSubmatch(inner); m != nil && !strings.EqualFold(string(m[1]), "utf-8") && !strings.EqualFold(string(m[1]), "us-ascii") {
				return tag{}, fmt.Errorf("the file says that its encoding is %q: convert it to UTF-8 first", clip(s.clean(m[1])))
			}
		case bytes.HasPrefix(head, []byte("!")):
			_, err = s.skipPast(">")
		case len(head) > 0 && head[0] != '/' && head[0] < 0x80 && !isLetter(head[0]):
			s.mended++ // no tag begins so
			if s.keep && len(text) < maxKeep {
				text = append(text, "&lt;"...)
			}
		default:
			t, err := s.tag()
			t.text = html.UnescapeString(s.clean(text))
			return t, err
		}
		if err != nil {
			return tag{}, err
		}
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// truncated is the error for a file that ends within something.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipTo reads past the next delimiter and tells got what stood before it.
func (s *markup) skipTo(delim byte, got func([]byte)) error {
	for {
		b, err := s.in.ReadSlice(delim)
		s.line += bytes.Count(b, []byte{'\n'})
		if err == nil {
			got(b[:len(b)-1])
			return nil
		}
		got(b)
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// skipPast reads past the next occurrence of a mark and returns the first
// maxKeep bytes of what stood before it.
func (s *markup) skipPast(mark string) (before []byte, err error) {
	var last []byte // the bytes that may turn out to be the mark
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return nil, truncated(err)
		}
		if c == '\n' {
			s.line++
		}
		if last = append(last, c); len(last) < len(mark) {
			continue
		}
		if string(last) == mark {
			return before, nil
		}
		if len(before) < maxKeep {
			before = append(before, last[0])
		}
		last = append(last[:0], last[1:]...)
	}
}

// tag reads a tag behind its "<".
func (s *markup) tag() (t tag, err error) {
	b := s.buf[:0]
	quote := byte(0)
	open := func() error {
		return fmt.Errorf("a tag of more than %d bytes that begins <%.40s: is a quote or a > missing?", maxTag, s.clean(b[:40]))
	}
	for n := 1; ; n++ {
		c, err := s.in.ReadByte()
		if err != nil && n > maxTag {
			return t, open()
		}
		if err != nil {
			return t, truncated(err)
		}
		if c == '\n' {
			s.line++
		}
		if c == '>' && quote == 0 {
			break
		}
		switch {
		case quote == c:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
		switch {
		case n > longTag:
			return t, open()
		case n <= maxTag:
			b = append(b, c)
		default:
			b = append(b[:maxTag], c) // its last byte tells whether it is empty
			t.long = true
		}
	}
	s.buf = b
	if b, t.end = bytes.CutPrefix(b, []byte("/")); !t.end {
		b, t.empty = bytes.CutSuffix(b, []byte("/"))
	}
	n := bytes.IndexAny(b, " \t\r\n")
	if n < 0 {
		n = len(b)
	}
	t.name = local(s.clean(b[:n]))
	if t.name == "" {
		return t, errors.New("a < without the name of a tag: a bare < is written &lt;")
	}
	if t.long || isMarkup(t.name) {
		return t, nil // its attributes are nobody's business
	}
	for rest := bytes.TrimSpace(b[n:]); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		eq := bytes.IndexByte(rest, '=')
		if eq < 0 {
			return t, fmt.Errorf("the tag <%s> holds %q, which is no attribute", t.name, clip(s.clean(rest)))
		}
		name := local(s.clean(bytes.TrimSpace(rest[:eq])))
		rest = bytes.TrimSpace(rest[eq+1:])
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return t, fmt.Errorf("the value of the attribute %s of <%s> is not in quotes", clip(name), t.name)
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return t, fmt.Errorf("the value of the attribute %s of <%s> has no closing quote", clip(name), t.name)
		}
		switch name {
		case "id", "about", "resource":
			t.ref = html.UnescapeString(s.clean(rest[1 : 1+end]))
		}
		rest = rest[end+2:]
	}
	return t, nil
}

// clean replaces what XML forbids and counts it.
func (s *markup) clean(b []byte) string {
	good := true
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f {
			good = false
			break
		}
	}
	if good {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			s.mended++
			r = utf8.RuneError
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			s.mended++
			r = ' '
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// local is a name without its namespace.
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// clip shortens what a file holds for an error.
func clip(s string) string { return plain(s, 60) }
