package event

import (
	"bytes"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// ExplainFile is Explain for the log in a file, whose pages have the verdicts that were told of
// them last. Of the lines of pages and failures it decodes those alone that name the address or
// are on the path to it: of the others it reads where a Log writes their own address and that
// of the page before. So it takes a fraction of the time.
func ExplainFile(path string, u web.URL) (Explanation, error) {
	x := newExplainer(u)
	names := lineNames{x: x, u: end(AppendText(nil, u.String()))}
	names.host = append([]byte(`"host":`), AppendText(nil, string(u.Host()))...)
	var history History
	rejudged := false
	first := func(yield func(Event, error) bool) {
		for e, err := range readWanted(path, names.wanted) {
			if err == nil {
				history.Add(e)
				if _, ok := e.(Rejudged); ok {
					rejudged = true
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return x.explain(first, func(on map[uint64]int) iter.Seq2[Event, error] {
		names.path, names.digest = on, []byte(x.digest)
		events := readWanted(path, names.onPath)
		if rejudged {
			events = Renewed(toldOf(path, func(u web.URL) bool { _, on := on[x.hash(u)]; return on }), events)
		}
		if threshold, ok := history.Threshold(); ok {
			events = Under(threshold, events)
		}
		return events
	})
}

// toldOf are the Rejudged events of the log at path, with the verdicts of those pages alone that
// are wanted: all of them may be more than the memory holds.
func toldOf(path string, wanted func(web.URL) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range ReadKinds(path, Rejudged{}.Kind()) {
			if r, ok := e.(Rejudged); ok {
				r.Pages = slices.DeleteFunc(r.Pages, func(v Verdict) bool { return !wanted(v.URL) })
				e = r
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// readWanted is ReadFile of the events whose lines are wanted; others may be among them.
func readWanted(path string, want func(line []byte) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range events(func(yield func(Entry, error) bool) { readFile(path, 0, want, yield) }) {
			if e == nil && err == nil {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// end is the end of what is looked for in lines: as much as is found fast.
func end(b []byte) []byte { return b[max(0, len(b)-31):] }

// lineNames finds what lines name, without decoding them.
type lineNames struct {
	x       *explainer
	u, host []byte // the end of the address, as a log has it, and its host
	path    map[uint64]int
	digest  []byte
}

func isKind(line []byte, kind string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`))
	return ok && len(rest) > len(kind) && string(rest[:len(kind)]) == kind && rest[len(kind)] == '"'
}

// wanted tells whether a line may say something of the address. Of others it notes which page
// led to which.
func (n *lineNames) wanted(line []byte) bool {
	fetched := isKind(line, "fetched")
	switch {
	case fetched, isKind(line, "failed"):
		if bytes.Contains(line, n.u) {
			return true
		}
		if n.x.sealed() || !fetched && !bytes.Contains(line, []byte(`"to":"`)) {
			return false
		}
		u, from, ok := visited(line)
		if ok {
			n.x.parents[n.hash(u)] = n.hash(from)
		}
		return !ok
	case isKind(line, "received"):
		return bytes.Contains(line, n.u)
	case isKind(line, "dropped"):
		return bytes.Contains(line, n.u) || bytes.Contains(line, n.host)
	}
	return true
}

// onPath tells whether a line may be of an address on the path, of the seeds, or of the page of
// which the address is a duplicate.
func (n *lineNames) onPath(line []byte) bool {
	if isKind(line, "fetched") || isKind(line, "failed") {
		u, _, ok := visited(line)
		if _, on := n.path[n.hash(u)]; on || !ok {
			return true
		}
		return len(n.digest) > 0 && bytes.Contains(line, n.digest)
	}
	return isKind(line, "seeded") || !bytes.HasPrefix(line, []byte(`{"kind":"`)) // not as a Log writes it
}

// hash is explainer.hash of an address as it stands in a line.
func (n *lineNames) hash(u []byte) uint64 {
	if len(u) == 0 {
		return 0
	}
	return max(1, maphash.Bytes(n.x.seed, u))
}

// visited reads the address of a page or failure, and that on which it was found, where a Log
// writes them: right behind the moment. ok is false where they are not there, or escaped.
func visited(line []byte) (u, from []byte, ok bool) {
	rest := line
	for _, key := range []string{`,"at":"`, `,"url":"`} {
		i := bytes.Index(rest[:min(len(rest), 100)], []byte(key))
		if i < 0 {
			return nil, nil, false
		}
		rest = rest[i+len(key):]
	}
	text := func() (s []byte, ok bool) {
		i := bytes.IndexByte(rest, '"')
		if i < 0 || slices.Contains(rest[:i], '\\') {
			return nil, false
		}
		s, rest = rest[:i], rest[i+1:]
		return s, true
	}
	if u, ok = text(); !ok {
		return nil, nil, false
	}
	more, found := bytes.CutPrefix(rest, []byte(`,"from":"`))
	if !found {
		return u, nil, true
	}
	rest = more
	from, ok = text()
	return u, from, ok
}
