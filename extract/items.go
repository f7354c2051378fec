package extract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/waggle-crawler/waggle/event"
)

// Bounds on what a page says of things by JSON-LD and microdata.
const (
	maxLinked = 4 << 20 // bytes of JSON of a page
	maxDepth  = 64      // of things in things
	maxItems  = 20_000  // things and values of a page
	maxProps  = 100_000 // values of properties of a page
	maxNames  = 1_000   // properties of a thing
)

// items are the things that a page describes, by type and property.
type items struct {
	page   *Page
	props  int     // properties so far
	linked []*item // by JSON-LD: of scripts in their order, members of a thing by name
	micro  []*item // by microdata: in document order
	byID   map[string]*item
	steps  int // that are left to the selector that looks
}

// item is a thing: types and properties.
type item struct {
	types  []string
	id     string
	names  []string // of the properties, in their order
	values [][]prop // of each
	of     int      // of microdata: the number of its element, from 1
}

// prop is a value of a property: a text, the text of an element, or a thing.
type prop struct {
	text string
	of   int // number of the element, from 1
	item *item
}

func (s *items) textOf(v prop) string {
	if v.of > 0 {
		return s.page.text(v.of - 1)
	}
	return v.text
}

func (s *items) add(it *item, name string, v prop) {
	if s.props++; s.props > maxProps {
		return
	}
	i := slices.Index(it.names, name)
	if i < 0 {
		if len(it.names) == maxNames {
			return
		}
		i = len(it.names)
		it.names, it.values = append(it.names, name), append(it.values, nil)
	}
	it.values[i] = append(it.values[i], v)
}

// readItems reads what a page describes, once.
func (p *Page) readItems() *items {
	if p.items == nil {
		p.items = &items{page: p, byID: map[string]*item{}}
		p.readLinked()
		p.readMicro()
	}
	return p.items
}

// values gives the values of a property, which a path such as "address.postalCode" leads
// to, of all things of a type. A page on which that takes more than maxSteps has no more
// values.
func (s *items) values(of []*item, kind, path string, f func(candidate) bool) {
	s.steps = maxSteps
	steps := strings.Split(path, ".")
	for _, it := range of {
		if !slices.ContainsFunc(it.types, func(t string) bool { return sameName(t, kind) }) {
			continue
		}
		if !s.follow(it, steps, f) {
			return
		}
	}
}

// step takes a step, and those for a text of n bytes; false if too few are left.
func (s *items) step(n int) bool {
	s.steps -= 1 + n/bytesPerStep
	s.page.short = s.page.short || s.steps < 0
	return s.steps >= 0
}

// follow gives the values of a property of a thing; false ends it. Things that refer to
// others by their identifiers fan out at each name of a path, and may lead back.
func (s *items) follow(it *item, path []string, f func(candidate) bool) bool {
	it = s.referred(it)
	for i, name := range it.names {
		if !s.step(len(name)) {
			return false
		}
		if !sameName(name, path[0]) {
			continue
		}
		for _, v := range it.values[i] {
			if !s.step(0) {
				return false
			}
			text := ""
			switch {
			case v.item != nil && len(path) > 1:
				if !s.follow(v.item, path[1:], f) {
					return false
				}
				continue
			case v.item != nil:
				text = s.nameOf(v.item)
			case len(path) == 1:
				text = s.textOf(v)
			default:
				continue
			}
			if !s.step(len(text)) || !f(candidate{text, 0}) {
				return false
			}
		}
	}
	return true
}

// referred is the thing that it stands for, if it is an identifier alone.
func (s *items) referred(it *item) *item {
	if it.id != "" && len(it.names) == 0 && s.byID[it.id] != nil {
		return s.byID[it.id]
	}
	return it
}

// nameOf is what a thing is called where a text is wanted: its value, its name, its text,
// its identifier.
func (s *items) nameOf(it *item) string {
	it = s.referred(it)
	s.steps -= len(it.names)
	for _, want := range []string{"@value", "name"} {
		for i, name := range it.names {
			if sameName(name, want) && it.values[i][0].item == nil {
				return s.textOf(it.values[i][0])
			}
		}
	}
	if it.of > 0 {
		return s.page.text(it.of - 1)
	}
	return it.id
}

// sameName compares names of types and properties: whole, or what follows the
// vocabulary ("https://schema.org/Person", "schema:Person").
func sameName(name, want string) bool {
	return name == want || name[strings.LastIndexAny(name, "/#:")+1:] == want
}

// readLinked reads the JSON-LD of a page. A script that is no JSON is none.
func (p *Page) readLinked() {
	left, count := maxLinked, maxItems
	for i := range p.elements {
		n := p.elements[i].node
		if n.DataAtom != atom.Script || n.FirstChild == nil {
			continue
		}
		kind, _ := attribute(n, "type")
		kind, _, _ = strings.Cut(kind, ";")
		if !strings.EqualFold(strings.TrimSpace(kind), "application/ld+json") {
			continue
		}
		src := n.FirstChild.Data
		if left -= len(src); left < 0 {
			return
		}
		var v any
		d := json.NewDecoder(strings.NewReader(src))
		d.UseNumber()
		if d.Decode(&v) == nil {
			p.linked(v, 0, &count)
		}
	}
}

// linked takes a value of JSON and tells what of it is the value of a property.
func (p *Page) linked(v any, depth int, count *int) []prop {
	if *count--; depth > maxDepth || *count < 0 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return []prop{{text: event.Line(v)}}
	case json.Number:
		return []prop{{text: event.Line(v.String())}}
	case bool:
		return []prop{{text: strconv.FormatBool(v)}}
	case []any:
		var all []prop
		for _, one := range v {
			all = append(all, p.linked(one, depth+1, count)...)
		}
		return all
	case map[string]any:
		it := &item{}
		p.items.linked = append(p.items.linked, it)
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			switch values := p.linked(v[k], depth+1, count); k {
			case "@type":
				for _, t := range values {
					it.types = append(it.types, t.text)
				}
			case "@id":
				if len(values) > 0 {
					it.id = values[0].text
				}
			default:
				for _, x := range values {
					p.items.add(it, k, x)
				}
			}
		}
		if it.id != "" && len(it.names) > 0 && p.items.byID[it.id] == nil {
			p.items.byID[it.id] = it
		}
		return []prop{{item: it}}
	}
	return nil
}

// readMicro reads the microdata of a page.
//
// Source: HTML Standard, 5.2.
func (p *Page) readMicro() {
	about := make([]*item, len(p.elements))  // the thing that an element is, nil = none
	within := make([]*item, len(p.elements)) // the innermost thing around an element
	byID := map[string]int{}
	for i := range p.elements {
		if id, ok := attribute(p.elements[i].node, "id"); ok {
			if _, twice := byID[id]; !twice {
				byID[id] = i
			}
		}
	}
	also := map[int][]*item{} // things that refer to an element by itemref
	for i := range p.elements {
		n := p.elements[i].node
		if _, ok := attribute(n, "itemscope"); !ok || len(p.items.micro) >= maxItems {
			continue
		}
		kinds, _ := attribute(n, "itemtype")
		id, _ := attribute(n, "itemid")
		about[i] = &item{types: strings.Fields(kinds), id: event.Line(id), of: i + 1}
		p.items.micro = append(p.items.micro, about[i])
		refs, _ := attribute(n, "itemref")
		for k, ref := range strings.Fields(refs) {
			if at, ok := byID[ref]; ok && k < maxDepth {
				also[at] = append(also[at], about[i])
			}
		}
	}
	others := make([][]*item, len(p.elements)) // what refers to an element, or to one around it
	for i := range p.elements {
		e := &p.elements[i]
		if e.parent >= 0 {
			within[i], others[i] = within[e.parent], others[e.parent]
			if a := about[e.parent]; a != nil {
				within[i], others[i] = a, nil
			}
		}
		if more := also[i]; more != nil {
			others[i] = slices.Concat(others[i], more)
			others[i] = others[i][:min(len(others[i]), maxDepth)]
		}
		names, ok := attribute(e.node, "itemprop")
		if !ok || within[i] == nil && others[i] == nil {
			continue
		}
		v := prop{item: about[i]}
		if v.item == nil {
			v = p.microValue(i)
		}
		for k, name := range strings.Fields(names) {
			if k == maxDepth {
				break
			}
			if within[i] != nil {
				p.items.add(within[i], name, v)
			}
			for _, it := range others[i] {
				if it != v.item && it != within[i] {
					p.items.add(it, name, v)
				}
			}
		}
	}
}

// microValue is the value of an element with itemprop.
func (p *Page) microValue(i int) prop {
	n := p.elements[i].node
	key := ""
	switch n.DataAtom {
	case atom.Meta:
		key = "content"
	case atom.Audio, atom.Embed, atom.Iframe, atom.Img, atom.Source, atom.Track, atom.Video:
		key = "src"
	case atom.A, atom.Area, atom.Link:
		key = "href"
	case atom.Object:
		key = "data"
	case atom.Data, atom.Meter:
		key = "value"
	case atom.Time:
		key = "datetime"
	default:
		if v, ok := attribute(n, "content"); ok { // not of the standard, and common
			return prop{text: event.Line(v)}
		}
		return prop{of: i + 1}
	}
	v, ok := attribute(n, key)
	if !ok && n.DataAtom == atom.Time {
		return prop{of: i + 1}
	}
	return prop{text: p.resolved(key, v)}
}
