package parse

import (
	"bytes"
	"slices"

	"golang.org/x/net/html/atom"
)

// activeElement is an entry in the list of active formatting elements: what is
// bold goes on being bold in the next paragraph. id 0 marks where a cell or the
// like begins.
//
// Source: HTML Standard, 13.2.4.3.
type activeElement struct {
	id     int
	atom   atom.Atom
	source span // of its tag, from the name on
}

// insertFormatting inserts the formatting element of a tag and notes it. Of more
// than three alike only the last three are noted.
func (b *builder) insertFormatting(t *tag) {
	source := span{t.at, t.end}
	b.insert(t)
	alike := 0
	for i := b.lastActive(t.atom, len(b.active)); i >= 0; i = b.lastActive(t.atom, i) {
		if b.alike(b.active[i].source, source) {
			if alike++; alike >= 3 {
				b.active = slices.Delete(b.active, i, i+1)
			}
		}
	}
	b.active = append(b.active, activeElement{b.ids, t.atom, source})
}

// lastActive is the index of the last noted element of that name before number
// end and since the last mark, −1 if there is none.
func (b *builder) lastActive(a atom.Atom, end int) int {
	for i := end - 1; i >= 0 && b.active[i].id != 0; i-- {
		if b.active[i].atom == a {
			return i
		}
	}
	return -1
}

// activeIndex is the index of the noted element with that id, −1 if there is none.
func (b *builder) activeIndex(id int) int {
	for i := len(b.active) - 1; i >= 0; i-- {
		if b.active[i].id == id {
			return i
		}
	}
	return -1
}

// alike tells whether two tags of one name have the same attributes.
func (b *builder) alike(x, y span) bool {
	if bytes.Equal(b.src[x.start:x.end], b.src[y.start:y.end]) {
		return true
	}
	var s, t tag
	s.read(b.src, x.start)
	t.read(b.src, y.start)
	return b.covers(&s, &t) && b.covers(&t, &s)
}

// covers tells whether t has all attributes of s.
func (b *builder) covers(s, t *tag) bool {
	for i := range s.attrs {
		if s.isRepeated(i) {
			continue
		}
		a := s.attrs[i]
		b.piece = appendLower(b.piece[:0], s.src[a.key.start:a.key.end])
		raw, ok := t.attr(string(b.piece))
		if !ok {
			return false
		}
		value := bytes.Clone(b.values.text(raw))
		if !bytes.Equal(value, b.values.text(s.src[a.value.start:a.value.end])) {
			return false
		}
	}
	return true
}

// reconstruct begins the noted elements anew that have ended before their end
// tags.
func (b *builder) reconstruct() {
	n := len(b.active)
	i := n
	for i > 0 && b.active[i-1].id != 0 && b.open.index(b.active[i-1].id) < 0 {
		i--
	}
	for ; i < n; i++ {
		b.again.read(b.src, b.active[i].source.start)
		b.insert(&b.again)
		b.active[i].id = b.ids
	}
}

// mark begins a part of the list; clearToMark ends it.
func (b *builder) mark() { b.active = append(b.active, activeElement{}) }

func (b *builder) clearToMark() {
	for n := len(b.active); n > 0; n = len(b.active) {
		last := b.active[n-1]
		b.active = b.active[:n-1]
		if last.id == 0 {
			return
		}
	}
}

// endFormatting meets the end tag of a formatting element, or what implies it.
//
// Source: HTML Standard, 13.2.6.4.7, the adoption agency algorithm, as far as it
// moves nothing.
func (b *builder) endFormatting(a atom.Atom) {
	if top := b.open.top(); top.atom == a && b.activeIndex(top.id) < 0 {
		b.pop()
		return
	}
	at := b.lastActive(a, len(b.active))
	if at < 0 {
		b.endOther(a, nil)
		return
	}
	i := b.open.index(b.active[at].id)
	if i >= 0 {
		if b.open.inScope(anyScope, a) < 0 {
			return
		}
		for _, e := range b.open[i:] {
			if e.rules&barrier != 0 {
				b.needTree("misnested formatting")
				return
			}
		}
		b.popTo(i)
	}
	b.active = slices.Delete(b.active, at, at+1)
}

// endOther meets the end tag of an element without rules of its own.
func (b *builder) endOther(a atom.Atom, name []byte) {
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i].named(a, name) {
			b.popTo(i)
			return
		}
		if b.open[i].rules&barrier != 0 {
			return
		}
	}
}
