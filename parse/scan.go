package parse

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// token says what a scanner has met.
type token uint8

const (
	endOfFile    token = iota
	textToken          // scanner.text, its character references unread
	startToken         // scanner.tag
	endToken           // scanner.tag
	commentToken       // or what counts as one: <?…>, <!…>, </…>
	doctypeToken       // scanner.text
)

// scanner takes a source apart into tags and what is between them. It makes the
// tokens that the tokenizer of x/net/html makes, from a source that is all in
// memory, and copies nothing of it.
//
// Source: HTML Standard, 13.2.5, tokenization.
type scanner struct {
	src  []byte
	pos  int  // in src: what is before it has been read
	at   int  // where the present token starts
	text span // of the present token, in src
	tag  tag  // the present token
}

// next reads a token. A tag that the source ends in is none.
func (s *scanner) next() token {
	src, i := s.src, s.pos
	s.at = i
	for {
		n := bytes.IndexByte(src[i:], '<')
		if n < 0 || i+n+1 == len(src) || i+n+2 == len(src) && src[i+n+1] == '/' {
			i = len(src)
			break
		}
		i += n
		if c := src[i+1]; isLetter(c) || c == '/' || c == '!' || c == '?' {
			break
		}
		i++
	}
	if i > s.pos {
		s.text = span{s.pos, i}
		s.pos = i
		return textToken
	}
	if i == len(src) {
		return endOfFile
	}
	switch c := src[i+1]; {
	case c == '/' && isLetter(src[i+2]):
		return s.readTag(i+2, endToken)
	case c == '/':
		s.pos = behind(src, i+2, '>')
	case c == '!':
		return s.declaration(i + 2)
	case c == '?':
		s.pos = behind(src, i+1, '>')
	default:
		return s.readTag(i+1, startToken)
	}
	return commentToken
}

func (s *scanner) readTag(name int, kind token) token {
	end := s.tag.read(s.src, name)
	if end < 0 {
		s.pos = len(s.src)
		return endOfFile
	}
	s.pos = end
	return kind
}

// declaration reads what begins with "<!", which ends at i.
func (s *scanner) declaration(i int) token {
	const name = "doctype"
	src := s.src
	switch {
	case bytes.HasPrefix(src[i:], []byte("--")):
		s.pos = commentEnd(src, i+2)
	case len(src) >= i+len(name) && bytes.EqualFold(src[i:i+len(name)], []byte(name)):
		s.pos = behind(src, i, '>')
		s.text = span{i + len(name), s.pos}
		if s.pos > s.text.start && src[s.pos-1] == '>' {
			s.text.end--
		}
		return doctypeToken
	default:
		s.pos = behind(src, i, '>')
	}
	return commentToken
}

// commentEnd is the index behind a comment whose text starts at i: behind "-->"
// or "--!>", or behind the ">" of "<!-->" and "<!--->".
//
// Source: HTML Standard, 13.2.5.43 to 13.2.5.52.
func commentEnd(src []byte, i int) int {
	for start := i; ; {
		n := bytes.IndexByte(src[i:], '>')
		if n < 0 {
			return len(src)
		}
		i += n + 1
		switch before := src[start : i-1]; {
		case bytes.HasSuffix(before, []byte("--")), len(before) == 0, len(before) == 1 && before[0] == '-':
			return i
		case bytes.HasSuffix(before, []byte("--!")):
			return i
		}
	}
}

// rawText reads the text of an element that holds text only, and its end tag.
// The source is behind the start tag.
//
// Source: HTML Standard, 13.2.5.2 to 13.2.5.14, as x/net/html reads them.
func (s *scanner) rawText(name atom.Atom) span {
	start, end := s.pos, len(s.src)
	switch name {
	case atom.Plaintext:
	case atom.Script:
		end = scriptEnd(s.src, start)
	default:
		end = rawEnd(s.src, start, name.String())
	}
	if s.pos = end; end < len(s.src) {
		s.readTag(end+len("</"), endToken)
	}
	return span{start, end}
}

// rawEnd is the index of the next end tag of that name, in any case, from i on;
// the length of src when there is none.
func rawEnd(src []byte, i int, name string) int {
	for {
		n := bytes.IndexByte(src[i:], '<')
		if n < 0 {
			return len(src)
		}
		if i += n; isEndTag(src[i:], name) {
			return i
		}
		i++
	}
}

// isEndTag tells whether src starts with the end tag of that name, of which the
// attributes need not be there.
func isEndTag(src []byte, name string) bool {
	n := len("</") + len(name)
	return len(src) > n && src[1] == '/' && equalLower(src[2:n], name) && endsName(src[n])
}

// scriptEnd is like rawEnd, for scripts: a comment in them can hold a pair of
// tags <script></script>.
//
// Source: HTML Standard, 13.2.5.15 to 13.2.5.31.
func scriptEnd(src []byte, i int) int {
	const (
		plain   = iota
		escaped // in <!-- -->
		doubly  // in <script></script> there
	)
	state, dashes := plain, 0
	for i < len(src) {
		if state == plain {
			n := bytes.IndexByte(src[i:], '<')
			if n < 0 {
				break
			}
			i += n
		}
		switch c := src[i]; {
		case c == '-':
			dashes++
			i++
			continue
		case c == '>' && dashes >= 2:
			state = plain
		case c != '<':
		case state == plain && bytes.HasPrefix(src[i:], []byte("<!--")):
			state, dashes = escaped, 2
			i += len("<!--")
			continue
		case isEndTag(src[i:], "script"):
			if state != doubly {
				return i
			}
			state = escaped
			i += len("</script") // and what ends the name, below
		case state == escaped && i+1 < len(src) && isLetter(src[i+1]):
			const name = "<script"
			if len(src) > i+len(name) && equalLower(src[i+1:i+len(name)], "script") && endsName(src[i+len(name)]) {
				state = doubly
				i += len(name)
			}
		case state == escaped && i+1 < len(src) && src[i+1] != '/':
			state = plain // here x/net/html differs from the standard
		}
		dashes = 0
		i++
	}
	return len(src)
}

// tag is a start or end tag in a source.
type tag struct {
	src   []byte
	at    int       // where its name starts
	end   int       // behind its '>'
	name  []byte    // in lower case
	atom  atom.Atom // of the name, 0 = one that x/net/html does not know
	attrs []attribute
	low   []byte // memory for a name that was not in lower case

	capitals bool // the name was not in lower case
}

// attribute is where an attribute stands.
type attribute struct{ key, value span }

// read reads the tag whose name starts at src[i] and returns the index behind
// it, −1 if the source ends before.
//
// Source: HTML Standard, 13.2.5.8 and 13.2.5.32 to 13.2.5.40.
func (t *tag) read(src []byte, i int) int {
	t.src, t.at, t.attrs = src, i, t.attrs[:0]
	t.capitals = false
	for ; i < len(src) && !endsName(src[i]); i++ {
		t.capitals = t.capitals || isCapital(src[i])
	}
	t.name = src[t.at:i]
	if t.capitals {
		t.low = appendLower(t.low[:0], t.name)
		t.name = t.low
	}
	t.atom = atom.Lookup(t.name)
	for {
		if i = skipSpace(src, i); i == len(src) {
			return -1
		}
		switch src[i] {
		case '>':
			t.end = i + 1
			return t.end
		case '/':
			i++
			continue
		}
		var a attribute
		if a, i = readAttribute(src, i); i < 0 {
			return -1
		}
		t.attrs = append(t.attrs, a)
	}
}

// readAttribute reads the attribute that starts at src[i]. It returns the index
// behind it, −1 if the source ends within it.
func readAttribute(src []byte, i int) (a attribute, end int) {
	a.key.start = i
	i++ // whatever it is: an equals sign can start a name
	for i < len(src) && !endsName(src[i]) && src[i] != '=' {
		i++
	}
	a.key.end = i
	a.value = span{i, i}
	if i = skipSpace(src, i); i == len(src) {
		return a, -1
	}
	if src[i] != '=' {
		return a, i
	}
	if i = skipSpace(src, i+1); i == len(src) {
		return a, -1
	}
	switch quote := src[i]; quote {
	case '>':
	case '"', '\'':
		n := bytes.IndexByte(src[i+1:], quote)
		if n < 0 {
			return a, -1
		}
		a.value = span{i + 1, i + 1 + n}
		i = a.value.end + 1
	default:
		a.value.start = i
		for i < len(src) && !isSpace(src[i]) && src[i] != '>' {
			i++
		}
		a.value.end = i
	}
	return a, i
}

// attr is the raw value of an attribute, whose name is given in lower case; of
// several of one name, the first. ok is false where there is none.
func (t *tag) attr(key string) (raw []byte, ok bool) {
	for i := range t.attrs {
		a := &t.attrs[i]
		if a.key.end-a.key.start == len(key) && equalLower(t.src[a.key.start:a.key.end], key) {
			return t.src[a.value.start:a.value.end], true
		}
	}
	return nil, false
}

// closesItself tells whether the tag ends in "/>" and the slash is no value.
func (t *tag) closesItself() bool {
	slash := t.end - len("/>")
	if t.src[slash] != '/' {
		return false
	}
	n := len(t.attrs)
	for n > 0 && t.isRepeated(n-1) {
		n--
	}
	return n == 0 || t.attrs[n-1].value.end-1 != slash
}

// isRepeated tells whether an attribute before number i has its name.
func (t *tag) isRepeated(i int) bool {
	key := t.attrs[i].key
	for _, a := range t.attrs[:i] {
		if equalFold(t.src[a.key.start:a.key.end], t.src[key.start:key.end]) {
			return true
		}
	}
	return false
}

// isSpace knows the white space of HTML: Infra Standard, 4.7.
func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f')
}

// endsName knows what ends the name of a tag.
func endsName(c byte) bool { return c == '>' || c == '/' || isSpace(c) }

func isLetter(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

// skipSpace is the index of what is not white space, from i on.
func skipSpace(src []byte, i int) int {
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	return i
}

// behind is the index behind the next c from i on, the length of src when there
// is none.
func behind(src []byte, i int, c byte) int {
	if n := bytes.IndexByte(src[i:], c); n >= 0 {
		return i + n + 1
	}
	return len(src)
}

func appendLower(dst, src []byte) []byte {
	for _, c := range src {
		if isCapital(c) {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// equalFold tells whether a and b are equal but for the case of ASCII letters.
func equalFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if c, d := a[i], b[i]; c != d && (c|0x20 != d|0x20 || !isLetter(c)) {
			return false
		}
	}
	return true
}

// equalLower tells whether b, its ASCII letters in lower case, is s, which has
// the length of b.
func equalLower(b []byte, s string) bool {
	for i, c := range b {
		if isCapital(c) {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}
