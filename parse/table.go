package parse

import "golang.org/x/net/html/atom"

// clearTo ends the innermost elements up to one with one of the rules.
func (b *builder) clearTo(r rules) {
	for b.open.top().rules&(r|outermost) == 0 {
		b.pop()
	}
}

// foster gives up: what stands in a table and belongs in no cell is moved in
// front of it.
//
// Source: HTML Standard, 13.2.6.1, foster parent.
func (b *builder) foster() bool {
	b.needTree("content of a table outside of its cells")
	return true
}

// resetMode sets the mode that the open elements ask for.
//
// Source: HTML Standard, 13.2.4.1, reset the insertion mode appropriately.
func (b *builder) resetMode() {
	for i := len(b.open) - 1; i >= 0; i-- {
		switch e := &b.open[i]; {
		case e.rules&cell != 0:
			b.mode = inCell
		case e.rules&row != 0:
			b.mode = inRow
		case e.rules&rowGroup != 0:
			b.mode = inTableBody
		case e.is(atom.Caption):
			b.mode = inCaption
		case e.is(atom.Colgroup):
			b.mode = inColumnGroup
		case e.is(atom.Table):
			b.mode = inTable
		case e.is(atom.Body):
			b.mode = inBody
		default:
			continue
		}
		return
	}
}

// closeTable ends the innermost table. It tells whether there was one.
func (b *builder) closeTable() bool {
	if !b.popFrom(b.open.inScope(tableScope, atom.Table)) {
		return false
	}
	b.resetMode()
	return true
}

// Source: HTML Standard, 13.2.6.4.9.
func (b *builder) startInTable(t *tag) (done bool) {
	switch t.atom {
	case atom.Caption:
		b.clearTo(tableEnd)
		b.mark()
		b.insert(t)
		b.mode = inCaption
	case atom.Colgroup:
		b.clearTo(tableEnd)
		b.insert(t)
		b.mode = inColumnGroup
	case atom.Col:
		b.clearTo(tableEnd)
		b.insertImplied(atom.Colgroup)
		b.mode = inColumnGroup
		return false
	case atom.Tbody, atom.Tfoot, atom.Thead:
		b.clearTo(tableEnd)
		b.insert(t)
		b.mode = inTableBody
	case atom.Td, atom.Th, atom.Tr:
		b.clearTo(tableEnd)
		b.insertImplied(atom.Tbody)
		b.mode = inTableBody
		return false
	case atom.Table:
		return !b.closeTable()
	case atom.Style, atom.Script, atom.Template:
		b.headStart(t)
	case atom.Input:
		if kind, _ := t.attr("type"); !equalFold(b.values.text(kind), []byte("hidden")) {
			return b.foster()
		}
		b.insertEmpty(t)
	case atom.Form:
		if b.form == 0 {
			b.insertEmpty(t)
			b.form = b.ids
		}
	case atom.Html, atom.Body:
		b.merge(t)
	case atom.Head, atom.Frame:
	default:
		return b.foster()
	}
	return true
}

func (b *builder) endInTable(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Table:
		b.closeTable()
		return true
	case atom.Body, atom.Caption, atom.Col, atom.Colgroup, atom.Html, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr:
		return true
	case atom.P, atom.Br:
		return b.foster()
	}
	return b.endInBody(a, name)
}

// Source: HTML Standard, 13.2.6.4.13.
func (b *builder) startInTableBody(t *tag) (done bool) {
	switch t.atom {
	case atom.Tr:
		b.clearTo(rowGroup)
		b.insert(t)
		b.mode = inRow
		return true
	case atom.Td, atom.Th:
		b.clearTo(rowGroup)
		b.insertImplied(atom.Tr)
		b.mode = inRow
		return false
	case atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Tfoot, atom.Thead:
		return !b.closeRowGroup()
	}
	return b.startInTable(t)
}

func (b *builder) endInTableBody(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Tbody, atom.Tfoot, atom.Thead:
		if b.open.inScope(tableScope, a) >= 0 {
			b.clearTo(rowGroup)
			b.pop()
			b.mode = inTable
		}
		return true
	case atom.Table:
		return !b.closeRowGroup()
	case atom.Body, atom.Caption, atom.Col, atom.Colgroup, atom.Html, atom.Td, atom.Th, atom.Tr:
		return true
	}
	return b.endInTable(a, name)
}

// closeRowGroup ends the innermost tbody, thead or tfoot. It tells whether there
// was one.
func (b *builder) closeRowGroup() bool {
	if !b.popFrom(b.open.rulesInScope(tableScope, rowGroup)) {
		return false
	}
	b.mode = inTable
	return true
}

// Source: HTML Standard, 13.2.6.4.14.
func (b *builder) startInRow(t *tag) (done bool) {
	switch t.atom {
	case atom.Td, atom.Th:
		b.clearTo(row)
		b.insert(t)
		b.mark()
		b.mode = inCell
		return true
	case atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr:
		return !b.closeRow()
	}
	return b.startInTable(t)
}

func (b *builder) endInRow(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Tr:
		b.closeRow()
		return true
	case atom.Table:
		return !b.closeRow()
	case atom.Tbody, atom.Tfoot, atom.Thead:
		return b.open.inScope(tableScope, a) < 0 || !b.closeRow()
	case atom.Body, atom.Caption, atom.Col, atom.Colgroup, atom.Html, atom.Td, atom.Th:
		return true
	}
	return b.endInTable(a, name)
}

// closeRow ends the innermost row. It tells whether there was one.
func (b *builder) closeRow() bool {
	if b.open.inScope(tableScope, atom.Tr) < 0 {
		return false
	}
	b.clearTo(row)
	b.pop()
	b.mode = inTableBody
	return true
}

// Source: HTML Standard, 13.2.6.4.15.
func (b *builder) startInCell(t *tag) (done bool) {
	switch t.atom {
	case atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr:
		return !b.closeCell(b.open.rulesInScope(tableScope, cell))
	}
	b.startInBody(t)
	return true
}

func (b *builder) endInCell(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Td, atom.Th:
		b.closeCell(b.open.inScope(tableScope, a))
		return true
	case atom.Body, atom.Caption, atom.Col, atom.Colgroup, atom.Html:
		return true
	case atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr:
		if b.open.inScope(tableScope, a) < 0 {
			return true
		}
		if !b.closeCell(b.open.rulesInScope(tableScope, cell)) {
			b.mode = inRow
		}
		return false
	}
	return b.endInBody(a, name)
}

// closeCell ends the cell with that index. It tells whether there is one.
func (b *builder) closeCell(i int) bool {
	if !b.popFrom(i) {
		return false
	}
	b.clearToMark()
	b.mode = inRow
	return true
}

// Source: HTML Standard, 13.2.6.4.11.
func (b *builder) startInCaption(t *tag) (done bool) {
	switch t.atom {
	case atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Thead, atom.Tr:
		return !b.closeCaption()
	}
	b.startInBody(t) // th too, which x/net/html leaves out
	return true
}

func (b *builder) endInCaption(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Caption:
		b.closeCaption()
		return true
	case atom.Table:
		return !b.closeCaption()
	case atom.Body, atom.Col, atom.Colgroup, atom.Html, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr:
		return true
	}
	return b.endInBody(a, name)
}

// closeCaption ends the caption. It tells whether there was one.
func (b *builder) closeCaption() bool {
	if !b.popFrom(b.open.inScope(tableScope, atom.Caption)) {
		return false
	}
	b.clearToMark()
	b.mode = inTable
	return true
}

// Source: HTML Standard, 13.2.6.4.12.
func (b *builder) startInColumnGroup(t *tag) (done bool) {
	switch t.atom {
	case atom.Html:
		b.merge(t)
		return true
	case atom.Col:
		b.insertEmpty(t)
		return true
	case atom.Template:
		b.headStart(t)
		return true
	}
	return !b.closeColumnGroup()
}

func (b *builder) endInColumnGroup(a atom.Atom) (done bool) {
	switch a {
	case atom.Colgroup:
		b.closeColumnGroup()
		return true
	case atom.Col, atom.Template:
		return true
	}
	return !b.closeColumnGroup()
}

// closeColumnGroup ends the group of columns, if it is the innermost element. It
// tells whether it is.
func (b *builder) closeColumnGroup() bool {
	if !b.open.top().is(atom.Colgroup) {
		return false
	}
	b.pop()
	b.mode = inTable
	return true
}
