package report

import "github.com/waggle-crawler/waggle/eval"

// term is what a word at the head of a column means.
type term struct{ ID, Name, Line string }

// define puts the meaning of every measure beneath the table that names it
// first, in the order in which a page is read: what is open of a section, then
// what is folded. Other tables lead there.
func (p page) define() {
	known := map[string]bool{}
	measures := map[string]eval.Measure{}
	for _, m := range eval.Measures() {
		measures[m.Name] = m
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		for _, list := range [][]table{s.Tables, s.Folded} {
			for k := range list {
				t := &list[k]
				for _, name := range t.Measures {
					if m, ok := measures[name]; ok && !known[name] {
						known[name] = true
						t.Terms = append(t.Terms, term{termID(name), heading(name), m.Line + "."})
					}
				}
			}
		}
	}
}

// termID is the anchor of a measure's meaning.
func termID(measure string) string { return "term-" + slug(measure) }
