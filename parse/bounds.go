package parse

import (
	"bytes"
	"fmt"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// An HTML tree can be much larger, and much dearer to build, than its source:
//
//   - the standard repeats open formatting elements in every paragraph, so
//     that 400 different <font> and then a million <p> make 400 million nodes,
//     and with each of them all attributes of its tag;
//   - every further <body> or <html> is compared with all attributes so far;
//   - the parser of x/net/html gives up at 512 open elements.
//
// Pages that come near such a bound are made harmless before they are parsed.
const (
	maxNodes = 1 << 20 // nodes the source may grow to, by its worst case
	maxSteps = 1 << 28 // comparisons of attributes, by their worst case
	maxAgain = 1 << 29 // bytes of attributes that are repeated, by their worst case
	maxRoots = 64      // <html> and <body> tags
	maxOpen  = 512     // open elements in x/net/html
	maxDepth = 96      // start tags kept open in a page that is too deep
)

// cut ends the source before its tag number maxTags. It tells whether there
// was something to cut.
func cut(src []byte, maxTags int) ([]byte, bool) {
	if bytes.Count(src, []byte{'<'}) <= maxTags {
		return src, false
	}
	for i := range src {
		if src[i] == '<' {
			if maxTags == 0 {
				return src[:i], true
			}
			maxTags--
		}
	}
	return src, false
}

// excessive tells whether the tree of src could be out of proportion. It never
// misses one, but may suspect a page whose scripts and comments are full of
// markup.
func excessive(src []byte) bool {
	tags, roots, compare, again := 0, 0, 0, 0
	spellings := map[string]bool{} // of the tags of formatting elements
	for i := 0; ; {
		j := bytes.IndexByte(src[i:], '<')
		if j < 0 {
			break
		}
		i += j + 1
		tags++
		if i == len(src) || !mayMatter[src[i]] {
			continue
		}
		end := i
		for end < len(src) && end-i < 8 && isNameByte(src[end]) {
			end++
		}
		switch classify(src[i:end]) {
		case isRoot:
			roots++
		case isAnchor: // of which only one is ever open
			_, held := tagSize(src[i:])
			again = max(again, held)
		case isRepeatable:
			n, held := tagSize(src[i:])
			if n > end-i {
				compare += n * n / 8
			}
			again = max(again, 3*held)
			if tag := src[i : i+n]; len(spellings) < maxOpen && !spellings[string(tag)] {
				spellings[string(tag)] = true
			}
		}
	}
	// One tag can bring back three formatting elements of each spelling, and
	// never more than the parser's stack can hold.
	repeated := min(3*len(spellings), maxOpen)
	return roots > maxRoots || tags*(1+repeated) > maxNodes && repeated > 0 || compare*repeated > maxSteps || again*tags > maxAgain
}

// mayMatter holds the first letters of the names that classify knows.
var mayMatter = [256]bool{
	'a': true, 'b': true, 'c': true, 'e': true, 'f': true, 'h': true, 'i': true, 'n': true, 's': true, 't': true, 'u': true,
	'A': true, 'B': true, 'C': true, 'E': true, 'F': true, 'H': true, 'I': true, 'N': true, 'S': true, 'T': true, 'U': true,
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// class is what a tag can do to the size of a tree.
type class uint8

const (
	isHarmless   class = iota
	isRepeatable       // a formatting element but <a>
	isAnchor
	isRoot
)

// classify knows the names of formatting elements and of the root elements.
func classify(name []byte) class {
	var low [8]byte
	for i, c := range name {
		low[i] = c | 0x20
	}
	switch string(low[:len(name)]) {
	case "a":
		return isAnchor
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return isRepeatable
	case "html", "body":
		return isRoot
	}
	return isHarmless
}

// maxTag bounds how far the end of a tag is looked for, in bytes.
const maxTag = 1 << 16

// tagSize is the length of the tag at the start of src, at most maxTag, and how many bytes
// its attributes take in a tree: three bytes outside quotes can be an attribute, which takes
// 48. Of a tag that is longer they are beyond every bound.
func tagSize(src []byte) (length, held int) {
	src = src[:min(len(src), maxTag)]
	var quote byte
	bare := 0
	for i, c := range src {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '\'':
			if i > 0 && (src[i-1] == '=' || src[i-1] <= ' ') {
				quote = c
			}
		case c == '>':
			return i, max(i, 16*bare)
		}
		bare++
	}
	if len(src) == maxTag {
		return maxTag, maxAgain
	}
	return len(src), max(len(src), 16*bare)
}

// rewriting says what rewrite leaves of a page.
type rewriting struct {
	xml    bool // <x/> closes x at once, as in XHTML
	prune  bool // drop formatting elements, bound the depth
	flatly bool // drop every element that can nest
}

// rewrite copies src without the tags that r drops. Text, links and images
// stay in any case; lost tells whether more went than formatting.
func rewrite(src []byte, r rewriting) (out []byte, lost bool) {
	out = make([]byte, 0, len(src)+len(src)/16)
	z := html.NewTokenizer(bytes.NewReader(src))
	var open []atom.Atom         // kept start tags without their end tag
	dropped := map[string]int{}  // dropped start tags that wait for their end tag
	roots := map[atom.Atom]int{} // <html>, <head>, <body> so far
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out, lost
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			if kind != html.CommentToken {
				out = append(out, z.Raw()...)
			}
			continue
		}
		raw := z.Raw()
		nameBytes, _ := z.TagName()
		name := atom.Lookup(nameBytes)
		if kind == html.EndTagToken {
			switch {
			case r.flatly && !staysFlat(name), r.prune && isFormatting(name):
				continue
			case dropped[string(nameBytes)] > 0:
				dropped[string(nameBytes)]--
				continue
			}
			for i := len(open) - 1; i >= 0; i-- {
				if open[i] == name {
					open = open[:i]
					break
				}
			}
			out = append(out, raw...)
			continue
		}
		closed := r.xml && kind == html.SelfClosingTagToken && !isVoid(name)
		if closed {
			z.NextIsNotRawText()
		}
		switch {
		case r.prune && isFormatting(name):
			continue
		case r.flatly && !staysFlat(name):
			lost = true
			continue
		case r.prune && (name == atom.Html || name == atom.Head || name == atom.Body):
			roots[name]++
			if roots[name] > 1 {
				continue
			}
		case r.prune && !closed && !isVoid(name) && !isRaw(name) && name != atom.A:
			if len(open) >= maxDepth {
				lost = true
				if len(dropped) < maxOpen {
					dropped[string(nameBytes)]++
				}
				continue
			}
			if n := len(open); n == 0 || open[n-1] != name || !endsItself(name) {
				open = append(open, name)
			}
		}
		if r.prune && name == atom.A {
			raw = shortAnchor(z, raw)
		}
		out = append(out, raw...)
		if closed {
			out = append(out, "</"...)
			out = append(out, nameBytes...)
			out = append(out, '>')
		}
	}
}

// Bounds on the tag of a link in a page that is pruned, in bytes: of its attributes, as
// tagSize counts them, and of the address that is left of one with more.
const (
	maxAnchorTag = 4 << 10
	maxHref      = 8 << 10
)

// shortAnchor is the tag raw of an <a>, which z is behind the name of: where it is long,
// only with the attributes that say where it leads and whether to follow it.
func shortAnchor(z *html.Tokenizer, raw []byte) []byte {
	if _, held := tagSize(raw[1:]); held <= maxAnchorTag {
		return raw
	}
	out := []byte("<a")
	seen := map[string]bool{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if k := string(key); (k == "href" || k == "rel") && !seen[k] && len(value) <= maxHref {
			seen[k] = true
			out = fmt.Appendf(out, ` %s="%s"`, k, html.EscapeString(string(value)))
		}
	}
	return append(out, '>')
}

func isFormatting(a atom.Atom) bool {
	switch a {
	case atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small,
		atom.Strike, atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// isRaw knows the elements that hold text only.
func isRaw(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Textarea, atom.Iframe, atom.Noembed, atom.Noframes,
		atom.Noscript, atom.Plaintext, atom.Xmp:
		return true
	}
	return false
}

// staysFlat knows the elements kept when all nesting is given up.
func staysFlat(a atom.Atom) bool { return a == atom.A || isVoid(a) && a != atom.Frame || isRaw(a) }

// endsItself knows the elements that end where the next of their kind begins.
func endsItself(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Li, atom.Dt, atom.Dd, atom.Option, atom.Tr, atom.Td, atom.Th:
		return true
	}
	return false
}
