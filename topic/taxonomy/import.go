package taxonomy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// Twice says what becomes of an address listed under a second topic.
type Twice string

// What can become of an address listed under a second topic.
const (
	TwiceFirst Twice = "first" // it stays with the first topic alone (default)
	TwiceAll   Twice = "all"   // it is an example of each
	TwiceError Twice = "error" // the import ends
)

// Options direct an import.
type Options struct {
	// Under takes the part of the tree at and below this topic; "" = all.
	Under string
	// Twice is "first" unless given.
	Twice Twice
	// NamesOnly builds the tree of a dump from the names of topics alone, and
	// does not check what its structure says of narrower topics.
	NamesOnly bool
	// Partial takes a dump that ends too early as far as it goes.
	Partial bool
	// Prefix leads from the folder of the taxonomy to the folder that
	// ImportFolder reads, with slashes; "" = they are the same.
	Prefix string
	// Progress is told how many examples were written; it may be nil.
	Progress func(examples int)
}

// ImportReport says what an import found.
type ImportReport struct {
	Topics   int      // written, with all above them
	Examples int      // written
	Empty    []string // topics without an example, sorted
	Twice    Tally    // addresses under a second topic
	Repeated int      // addresses once more under the same topic
	Unusable Tally    // examples that are no http or https address, or have a password in it
	LeftOut  Tally    // records of a dump that cannot be taken
	Given    Tally    // examples that name no topic, where others do
	Unknown  Tally    // topics of examples which the structure does not have
	Mended   int      // broken or forbidden characters, and markup, replaced
	Cut      []string // files that end too early, and where
	Ignored  int      // files of another kind, links to folders
}

// Tally counts things and keeps the first few, for people.
type Tally struct {
	N     int
	First []string
}

func (s *Tally) add(format string, args ...any) {
	if s.N++; len(s.First) < 5 {
		s.First = append(s.First, plain(fmt.Sprintf(format, args...), 300))
	}
}

// importer takes examples in as any source gives them, and writes the good.
type importer struct {
	ImportReport
	o     Options
	out   *Writer
	under string            // clean, "" = all
	ids   map[string]uint32 // of topics, in the order they came
	names []string          // [ids]
	used  []bool            // [ids] whether it has an example
	seen  map[uint64]uint32 // hash of an address → its topic

	passed string   // the topic that was passed over last
	near   []string // of those passed over, some whose names are like under
}

func newImporter(w io.Writer, o Options, comment string) (*importer, error) {
	m := &importer{o: o, ids: map[string]uint32{}, seen: map[uint64]uint32{}}
	switch o.Twice {
	case "":
		m.o.Twice = TwiceFirst
	case TwiceFirst, TwiceAll, TwiceError:
	default:
		return nil, fmt.Errorf("what becomes of addresses listed twice is %q; choose first, all or error", o.Twice)
	}
	if o.Under != "" {
		var err error
		if m.under, err = Clean(o.Under); err != nil {
			return nil, err
		}
	}
	m.out = NewWriter(w, comment)
	return m, nil
}

// topic makes a topic known; path must be clean.
func (m *importer) topic(path string) (id uint32, known bool) {
	id, known = m.ids[path]
	if !known {
		id = uint32(len(m.names))
		path = strings.Clone(path)
		m.ids[path] = id
		m.names = append(m.names, path)
		m.used = append(m.used, false)
	}
	return id, known
}

// wanted tells whether a topic is in the part that is imported.
func (m *importer) wanted(path string) bool {
	if m.under == "" || Covers(m.under, path) {
		return true
	}
	// As long as nothing was found, it may be a slip of the pen.
	if m.Examples == 0 && path != m.passed {
		m.passed = strings.Clone(path)
		if m.near = append(m.near, m.passed); len(m.near) > 1000 {
			m.near = Near(m.under, slices.Values(m.near), mostNear)
		}
	}
	return false
}

// mostNear is how many names are offered for one that is not there.
const mostNear = 3

// example takes in an address under a clean topic.
func (m *importer) example(e Example) error {
	if !m.wanted(e.Topic) {
		return nil
	}
	u, err := web.Parse(e.Source)
	if web.HasCredentials(e.Source) {
		err = errors.New("its address has a name or a password in it")
		e.Source = string(u.Host())
	}
	if err != nil {
		m.Unusable.add("%s under %s: %v", clip(e.Source), e.Topic, err)
		return nil
	}
	e.Source = u.String()
	id, _ := m.topic(e.Topic)
	hash := xxh3.HashString(e.Source)
	if first, twice := m.seen[hash]; twice {
		if first == id {
			m.Repeated++
			return nil
		}
		m.Twice.add("%s under %s and %s", e.Source, m.names[first], e.Topic)
		switch m.o.Twice {
		case TwiceError:
			return fmt.Errorf("%s is an example of two topics, %s and %s: take it out of one", e.Source, m.names[first], e.Topic)
		case TwiceFirst:
			return nil
		}
	} else {
		m.seen[hash] = id
	}
	return m.write(id, e)
}

func (m *importer) write(id uint32, e Example) error {
	m.used[id] = true
	m.Examples++
	if m.o.Progress != nil {
		m.o.Progress(m.Examples)
	}
	return m.out.Write(e)
}

// end writes the topics without examples, and counts.
func (m *importer) end() (ImportReport, error) {
	has := map[string]bool{} // topic → whether it or one below it has an example
	for id, name := range m.names {
		for p := name; p != ""; p = Parent(p) {
			if was, known := has[p]; known && (was || !m.used[id]) {
				break // and so have all above it
			}
			has[p] = m.used[id]
		}
	}
	m.Topics = len(has)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if !has[name] {
			m.Empty = append(m.Empty, name)
			if err := m.out.Write(Example{Topic: name}); err != nil {
				return m.ImportReport, err
			}
		}
	}
	if err := m.out.Close(); err != nil {
		return m.ImportReport, err
	}
	if m.Examples == 0 {
		of := ""
		if m.under != "" {
			of = " of " + m.under
			if near := Near(m.under, slices.Values(slices.Compact(slices.Sorted(slices.Values(append(m.names, m.near...))))), mostNear); len(near) > 0 {
				of += " (near names: " + strings.Join(near, ", ") + ")"
			}
		}
		why := ""
		if m.Unusable.N > 0 {
			why = "; no address was usable, the first: " + m.Unusable.First[0]
		}
		return m.ImportReport, fmt.Errorf("there is not one example%s%s", of, why)
	}
	return m.ImportReport, nil
}
