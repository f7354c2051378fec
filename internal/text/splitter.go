package text

// Splitter makes terms of texts by an Analyzer or by another one of the same method. The
// callers of an Analyzer lend it memory, which a call through an interface would put on
// the heap.
type Splitter struct {
	own   *Analyzer
	other interface{ Words(s string) []string } // where own is nil
}

// SplitterOf splits as a does; nil, also a nil *Analyzer, is a new Analyzer.
func SplitterOf(a interface{ Words(s string) []string }) Splitter {
	switch a := a.(type) {
	case nil:
		return Splitter{own: NewAnalyzer()}
	case Splitter:
		return a
	case *Analyzer:
		if a == nil {
			a = NewAnalyzer()
		}
		return Splitter{own: a}
	}
	return Splitter{other: a}
}

// Words returns the terms of s, in order.
func (p Splitter) Words(s string) []string { return p.AppendWords(nil, s) }

// AppendWords appends the terms of s to dst.
func (p Splitter) AppendWords(dst []string, s string) []string {
	if p.own != nil {
		return p.own.AppendWords(dst, s)
	}
	return append(dst, p.other.Words(s)...)
}

// In splits by the rules of a language that the analyzer has, and as p for any other.
func (p Splitter) In(language string) Splitter {
	if p.own != nil {
		p.own = p.own.In(language)
	}
	return p
}

// Languages are those of the analyzer, at least one.
func (p Splitter) Languages() []string {
	if p.own != nil {
		return p.own.Languages()
	}
	return []string{English}
}
