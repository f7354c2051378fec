package parse

import (
	"bytes"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// builder reads the source of a page and tells the walker of the elements and
// texts of its document, in document order, without making a tree of them.
//
// It follows tree construction as x/net/html has it: what is told is what a walk
// through that tree tells. Constructs that change what stands before them it
// does not follow (content of a table that is moved in front of it, misnested
// formatting that the adoption agency rearranges, framesets), nor templates. It
// gives up then, and the page is read again by way of a tree: 1.1 % of the
// recorded pages of campus, departments and manuals, 10 % of those of 1997.
//
// Source: HTML Standard, 13.2.6, tree construction.
type builder struct {
	scanner
	walker *walker
	refs   references

	mode   mode
	open   stack
	active []activeElement // the list of active formatting elements
	ids    int             // the id of the newest element
	form   int             // the id of the form element, 0 = none
	quirks bool            // a table does not end a paragraph
	fresh  bool            // the innermost element has nothing in it yet

	run    []byte // text since the last tag or comment
	piece  []byte // text without references
	hidden int    // the number of open elements, a hidden one last; 0 = none is hidden
	start  start  // the element that begins
	values values // its attributes
	again  tag    // a tag that is read a second time

	asked       string // the last document type whose quirks were asked for
	askedQuirks bool

	beyond string // why the page needs a tree, "" = it does not
}

// mode is an insertion mode.
//
// Source: HTML Standard, 13.2.4.1.
type mode uint8

const (
	initial mode = iota
	beforeHTML
	beforeHead
	inHead
	afterHead // head stays open until the body begins: it can still get elements
	inBody
	inTable
	inCaption
	inColumnGroup
	inTableBody
	inRow
	inCell
	afterBody
	afterAfterBody
)

const (
	maxStack      = maxOpen - 2 // open elements: with more, x/net/html refuses
	maxAttributes = 256         // of one tag
)

func newBuilder(w *walker) *builder {
	b := &builder{walker: w, refs: newReferences()}
	b.values.refs = &b.refs
	b.start.attrs = &b.values
	return b
}

// reset makes the builder ready for a source.
func (b *builder) reset(src []byte) {
	b.src, b.pos = src, 0
	b.mode, b.open, b.active, b.ids, b.form = initial, b.open[:0], b.active[:0], 0, 0
	b.quirks, b.fresh, b.run, b.hidden, b.beyond = false, false, b.run[:0], 0, ""
}

// release lets go of the source, and of buffers that are larger than most pages need.
func (b *builder) release() {
	const large = 1 << 18
	clear(b.open[:cap(b.open)])
	b.src, b.start.name = nil, nil
	for _, t := range []*tag{&b.tag, &b.again} {
		t.src, t.name = nil, nil
		if cap(t.attrs) > maxAttributes || cap(t.low) > large {
			t.attrs, t.low = nil, nil
		}
	}
	if cap(b.run)+cap(b.piece)+cap(b.values.buf)+len(b.asked) > large {
		b.run, b.piece, b.values.buf, b.asked, b.askedQuirks = nil, nil, nil, "", false
	}
}

// build reads a page. It returns "", or why the page needs a tree; the walker is
// then somewhere on the page.
func (b *builder) build(src []byte) (beyond string) {
	b.reset(src)
	defer b.release()
	b.walker.begin()
	for b.beyond == "" {
		switch b.next() {
		case textToken:
			b.takeText(b.src[b.text.start:b.text.end], true)
		case startToken:
			if len(b.tag.attrs) > maxAttributes {
				return "a tag of many attributes"
			}
			b.startTag(&b.tag)
		case endToken:
			b.endTag(b.tag.atom, b.tag.name)
		case commentToken:
			b.comment()
		case doctypeToken:
			b.doctype(b.src[b.text.start:b.text.end])
		case endOfFile:
			b.beginBody()
			for len(b.open) > 0 && b.beyond == "" {
				b.pop()
			}
			b.walker.end()
			return b.beyond
		}
	}
	return b.beyond
}

// needTree gives up.
func (b *builder) needTree(why string) {
	if b.beyond == "" {
		b.beyond = why
	}
}

// insert begins the HTML element of a tag.
func (b *builder) insert(t *tag) {
	b.values.set(t, false)
	name := t.name
	if t.atom == 0 && t.capitals {
		name = bytes.Clone(name)
	}
	b.push(openElement{atom: t.atom, rules: rulesOf(t.atom), name: name}, name)
}

// insertImplied begins an HTML element that no tag names.
func (b *builder) insertImplied(a atom.Atom) {
	b.values.set(nil, false)
	b.push(openElement{atom: a, rules: rulesOf(a)}, []byte(a.String()))
}

// insertEmpty begins the element of a tag and ends it.
func (b *builder) insertEmpty(t *tag) {
	b.insert(t)
	b.pop()
}

// push begins an element whose attributes are in b.values.
func (b *builder) push(e openElement, name []byte) {
	b.flush()
	if len(b.open) >= maxStack {
		b.needTree("deep")
		return
	}
	b.ids++
	e.id = b.ids
	b.open = append(b.open, e)
	b.fresh = true
	if b.hidden > 0 {
		return
	}
	b.start.atom, b.start.name, b.start.foreign = e.atom, name, e.space != htmlSpace
	if b.walker.enter(&b.start) {
		b.hidden = len(b.open)
	}
}

// pop ends the innermost element, and those that were taken out of the stack
// around it.
func (b *builder) pop() {
	b.flush()
	b.fresh = false
	for {
		if b.hidden == len(b.open) {
			b.hidden = 0
		}
		if b.hidden == 0 {
			b.walker.leave()
		}
		b.open = b.open[:len(b.open)-1]
		if len(b.open) == 0 || b.open.top().id != 0 {
			return
		}
	}
}

// popTo ends all elements from number i on.
func (b *builder) popTo(i int) {
	for len(b.open) > i {
		b.pop()
	}
}

// popFrom is popTo for the index of a search. It tells whether there was one.
func (b *builder) popFrom(i int) bool {
	if i < 0 {
		return false
	}
	b.popTo(i)
	return true
}

// remove takes an element out of the stack. What is in it stays in it.
func (b *builder) remove(id int) {
	switch i := b.open.index(id); {
	case i < 0:
	case i == len(b.open)-1:
		b.pop()
	case b.open.hasForeign():
		b.needTree("an element out of order around foreign content")
	default:
		b.open[i] = openElement{}
	}
}

// flush hands on the text so far.
func (b *builder) flush() {
	if len(b.run) > 0 {
		if b.hidden == 0 {
			b.walker.addText(b.run)
		}
		b.run = b.run[:0]
	}
}

// comment meets a comment, which parts the texts around it, but where it comes to
// stand behind the body.
func (b *builder) comment() {
	foreign := b.foreign(commentToken, 0)
	if foreign && bytes.HasPrefix(b.src[b.at:], []byte("<![CDATA[")) {
		b.needTree("CDATA")
	}
	if foreign || b.mode != afterBody && b.mode != afterAfterBody {
		b.flush()
		b.fresh = false
	}
}

// doctype meets a document type.
//
// Source: HTML Standard, 13.2.6.4.1. Which types mean quirks, x/net/html says.
func (b *builder) doctype(raw []byte) {
	if b.foreign(doctypeToken, 0) {
		return
	}
	switch b.mode {
	case initial:
		b.mode = beforeHTML
		if equalFold(bytes.Trim(raw, " \t\r\n\f"), []byte("html")) {
			return
		}
		if b.asked != string(raw) {
			b.asked, b.askedQuirks = string(raw), hasQuirks(raw)
		}
		b.quirks = b.askedQuirks
	case afterBody:
		b.mode = inBody
	}
}

// hasQuirks tells whether a table can stand in a paragraph, by building the tree
// of one that does.
func hasQuirks(doctype []byte) bool {
	doc, err := html.Parse(bytes.NewReader(slices.Concat([]byte("<!DOCTYPE"), doctype, []byte("><p><table>"))))
	if err != nil {
		return false
	}
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Table {
			return n.Parent.DataAtom == atom.P
		}
	}
	return false
}

// takeText meets text.
func (b *builder) takeText(raw []byte, references bool) {
	piece := raw
	if references && bytes.IndexByte(raw, '&') >= 0 {
		b.piece = b.refs.appendText(b.piece[:0], raw)
		piece = b.piece
	}
	if b.foreign(textToken, 0) {
		b.appendText(piece)
		return
	}
	switch b.mode {
	case initial, beforeHTML, beforeHead, inHead, afterHead:
		if piece = piece[skipSpace(piece, 0):]; len(piece) == 0 {
			return
		}
		b.beginBody()
	case inTable, inTableBody, inRow:
		if skipSpace(piece, 0) < len(piece) {
			b.needTree("text in a table")
			return
		}
		b.appendText(piece)
		return
	case inColumnGroup:
		rest := piece[skipSpace(piece, 0):]
		if len(rest) == 0 {
			b.appendText(piece)
			return
		}
		b.needTree("text in a table")
		return
	case afterBody, afterAfterBody:
		if skipSpace(piece, 0) < len(piece) {
			b.mode = inBody
		}
	}
	if b.fresh && (b.open.top().is(atom.Pre) || b.open.top().is(atom.Listing)) {
		piece = bytes.TrimPrefix(bytes.TrimPrefix(piece, []byte("\r")), []byte("\n"))
	}
	if len(piece) > 0 {
		b.reconstruct()
		b.appendText(piece)
	}
}

func (b *builder) appendText(piece []byte) {
	b.run = append(b.run, piece...)
	b.fresh = false
}

// rawElement inserts an element that holds text only, with all of it.
//
// Source: HTML Standard, 13.2.6.2.
func (b *builder) rawElement(t *tag) {
	name, shown := t.atom, b.hidden == 0
	b.insert(t)
	s := b.rawText(name)
	if raw := b.src[s.start:s.end]; len(raw) > 0 {
		switch name {
		case atom.Title:
			if shown {
				b.piece = b.refs.appendText(b.piece[:0], raw)
				b.walker.title(string(b.piece))
			}
		case atom.Textarea:
			b.run = b.refs.appendText(b.run, raw)
		default:
			b.run = append(b.run, raw...)
		}
	}
	b.pop()
}

// beginBody begins html, head and body where they have not begun.
//
// Source: HTML Standard, 13.2.6.4.1 to 13.2.6.4.6.
func (b *builder) beginBody() {
	if b.mode >= inBody {
		return
	}
	b.beginHead()
	b.popTo(1)
	b.insertImplied(atom.Body)
	b.mode = inBody
}

// beginHead begins html and head where they have not begun.
func (b *builder) beginHead() {
	b.beginHTML()
	if b.mode == beforeHead {
		b.insertImplied(atom.Head)
		b.mode = inHead
	}
}

// beginHTML begins html where it has not begun.
func (b *builder) beginHTML() {
	if b.mode == initial {
		b.quirks = true
	}
	if b.mode <= beforeHTML {
		b.insertImplied(atom.Html)
		b.mode = beforeHead
	}
}

// values gives the walker the attributes of a tag.
type values struct {
	tag     *tag // nil = no attributes
	foreign bool
	refs    *references
	buf     []byte
}

func (v *values) set(t *tag, foreign bool) { v.tag, v.foreign = t, foreign }

func (v *values) attr(key string) string {
	if v.tag == nil {
		return ""
	}
	raw, ok := v.tag.attr(key)
	if v.foreign && key == "href" {
		raw, ok = v.tag.foreignHref()
	}
	if !ok {
		return ""
	}
	return string(v.text(raw))
}

func (v *values) marks() (m marks) {
	if v.tag == nil {
		return 0
	}
	for i := range v.tag.attrs {
		key := v.tag.attrs[i].key
		if name, mark := markOf(key.end - key.start); mark != 0 && equalLower(v.tag.src[key.start:key.end], name) {
			m |= mark
		}
	}
	return m
}

// maxClass is how much of an attribute class is looked at, in bytes: far more than is kept
// of the first one.
const maxClass = 4 << 10

func (v *values) class() []byte {
	if v.tag == nil {
		return nil
	}
	raw, _ := v.tag.attr("class")
	return firstWord(v.text(raw[:min(len(raw), maxClass)]))
}

// text is a value without references; valid until the next call.
func (v *values) text(raw []byte) []byte {
	if bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	v.buf = v.refs.appendValue(v.buf[:0], raw)
	return v.buf
}
