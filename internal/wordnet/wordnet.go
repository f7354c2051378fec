// Package wordnet tells which words are related, from the database files of
// WordNet 3.x or from a plain table.
package wordnet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Thesaurus holds words in sets of the same meaning, and which sets are wider
// than others. It is not changed once made, and safe for concurrent use. Words
// are in lower case, those of a phrase with a space between them.
type Thesaurus struct {
	senses map[string][]int32 // sets of a word
	sets   []set
	// base holds the irregular forms of each part of speech: "mice" → mouse.
	base [parts]map[string][]string
}

// set is a synonym set.
type set struct {
	part  part
	words []string
	near  []int32 // sets that are one step wider or narrower
}

// part is a part of speech.
type part uint8

const (
	noun part = iota
	verb
	adjective
	adverb
	parts
)

func (p part) String() string { return [...]string{"noun", "verb", "adj", "adv"}[p] }

// suffixes are the endings that make of a form of a word the word itself: an
// ending and what stands in its place (WordNet's morphy(7)).
func (p part) suffixes() [][2]string {
	switch p {
	case noun:
		return [][2]string{{"s", ""}, {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"}, {"ies", "y"}}
	case verb:
		return [][2]string{{"s", ""}, {"ies", "y"}, {"es", "e"}, {"es", ""}, {"ed", "e"}, {"ed", ""}, {"ing", "e"}, {"ing", ""}}
	case adjective:
		return [][2]string{{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}}
	}
	return nil
}

// Related returns the words that share a set with a word, or with a word that
// it is a form of, and those of the sets one step wider or narrower (hypernyms
// and hyponyms) that are no synonyms. Both are sorted, without the word. A
// word that is not known has none.
func (t *Thesaurus) Related(word string) (synonyms, wider []string) {
	word = normal(word)
	type found struct {
		set  int32
		base string
	}
	var all []found
	for p := range parts {
		for _, base := range t.forms(word, p) {
			for _, s := range t.senses[base] {
				if t.sets[s].part == p {
					all = append(all, found{s, base})
				}
			}
		}
	}
	same := map[string]bool{word: true}
	for _, f := range all {
		same[f.base] = true
		for _, w := range t.sets[f.set].words {
			if !same[w] {
				same[w] = true
				synonyms = append(synonyms, w)
			}
		}
		if f.base != word && !slices.Contains(synonyms, f.base) {
			synonyms = append(synonyms, f.base)
		}
	}
	for _, f := range all {
		for _, n := range t.sets[f.set].near {
			for _, w := range t.sets[n].words {
				if !same[w] {
					same[w] = true
					wider = append(wider, w)
				}
			}
		}
	}
	slices.Sort(synonyms)
	slices.Sort(wider)
	return synonyms, wider
}

// Len is the number of sets.
func (t *Thesaurus) Len() int { return len(t.sets) }

// forms are the words that word may be a form of, itself the first.
func (t *Thesaurus) forms(word string, p part) []string {
	out := []string{word}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if base, irregular := t.base[p][word]; irregular {
		for _, b := range base {
			add(b)
		}
		return out
	}
	for _, s := range p.suffixes() {
		if stem, ok := strings.CutSuffix(word, s[0]); ok && stem != "" {
			add(stem + s[1])
		}
	}
	return out
}

func normal(word string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(word, "_", " "))), " ")
}

func newThesaurus() *Thesaurus { return &Thesaurus{senses: make(map[string][]int32)} }

func (t *Thesaurus) add(s set) int32 {
	n := int32(len(t.sets))
	t.sets = append(t.sets, s)
	for _, w := range s.words {
		if !slices.Contains(t.senses[w], n) {
			t.senses[w] = append(t.senses[w], n)
		}
	}
	return n
}

// Open reads the database files of WordNet in a folder, such as Debian's
// /usr/share/wordnet: data.noun, data.verb, data.adj and data.adv, and the
// irregular forms noun.exc, verb.exc, adj.exc and adv.exc where they are
// there. It returns an error that names file and line of what it cannot read.
func Open(folder fs.FS) (*Thesaurus, error) {
	t := newThesaurus()
	place := map[address]int32{}
	var pointers []pointer
	for p := range parts {
		err := eachLine(folder, "data."+p.String(), func(line string) error {
			return t.readSet(p, line, place, &pointers)
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("wordnet: there is no %s: give the folder that holds WordNet's database files, such as /usr/share/wordnet: %w", "data."+p.String(), err)
		}
		if err != nil {
			return nil, err
		}
		t.base[p] = make(map[string][]string)
		err = eachLine(folder, p.String()+".exc", func(line string) error {
			f := strings.Fields(line)
			if len(f) < 2 {
				return errors.New("an irregular form and its words are wanted")
			}
			for _, base := range f[1:] {
				t.base[p][normal(f[0])] = append(t.base[p][normal(f[0])], normal(base))
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, x := range pointers {
		to, ok := place[x.to]
		if !ok {
			return nil, fmt.Errorf("wordnet: data.%s: set %08d points to data.%s %08d, which is not there; the files belong to different versions, or one is cut off", t.sets[x.from].part, x.at, x.to.part, x.to.offset)
		}
		if near := &t.sets[x.from].near; !slices.Contains(*near, to) {
			*near = append(*near, to)
		}
	}
	return t, nil
}

// address is where a set stands: the file, and the byte in it.
type address struct {
	part   part
	offset uint32
}

type pointer struct {
	from int32
	at   uint32 // offset of from
	to   address
}

// readSet reads a line of a data file (WordNet's wndb(5)); those that begin
// with a space are its licence:
//
//	offset lexfile type count { word lexid }… count { symbol offset pos source/target }… …
//
// Numbers are decimal, but for the first count, which is hexadecimal.
func (t *Thesaurus) readSet(p part, line string, place map[address]int32, pointers *[]pointer) error {
	if line == "" || line[0] == ' ' {
		return nil
	}
	line, _, _ = strings.Cut(line, " | ")
	f := strings.Fields(line)
	if len(f) < 4 {
		return errors.New("a synonym set is wanted")
	}
	offset, err := number(f[0], 10)
	if err != nil {
		return err
	}
	count, err := number(f[3], 16)
	if err != nil {
		return err
	}
	f = f[4:]
	if len(f) < 2*int(count)+1 {
		return fmt.Errorf("%d words are announced, and fewer are there", count)
	}
	s := set{part: p}
	for i := range int(count) {
		// An adjective may end in its place in a sentence: galore(ip).
		w, _, _ := strings.Cut(f[2*i], "(")
		if w = normal(w); !slices.Contains(s.words, w) {
			s.words = append(s.words, w)
		}
	}
	f = f[2*count:]
	links, err := number(f[0], 10)
	if err != nil {
		return err
	}
	if f = f[1:]; len(f) < 4*int(links) {
		return fmt.Errorf("%d pointers are announced, and fewer are there", links)
	}
	from := t.add(s)
	place[address{p, offset}] = from
	for ; links > 0; links, f = links-1, f[4:] {
		switch f[0] {
		case "@", "@i", "~", "~i": // hypernym, hyponym, and the same of an instance
		default:
			continue
		}
		to, err := number(f[1], 10)
		if err != nil {
			return err
		}
		q, ok := map[string]part{"n": noun, "v": verb, "a": adjective, "s": adjective, "r": adverb}[f[2]]
		if !ok {
			return fmt.Errorf("part of speech %q; n, v, a, s and r are known", f[2])
		}
		*pointers = append(*pointers, pointer{from, offset, address{q, to}})
	}
	return nil
}

func number(s string, base int) (uint32, error) {
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return uint32(n), nil
}

// ReadTable reads a plain table: a synonym set a line, its words separated by
// commas, then perhaps a < and words that are wider. A word may be a phrase,
// and stand in several lines; what follows a # is left out:
//
//	bee, honeybee < insect
//	waggle dance, bee dance
//
// name is that of the table in errors, which tell the line.
func ReadTable(r io.Reader, name string) (*Thesaurus, error) {
	t := newThesaurus()
	err := lines(r, name, func(line string) error {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			return nil
		}
		left, right, wider := strings.Cut(line, "<")
		words, err := split(left)
		if err != nil {
			return err
		}
		s := t.add(set{words: words})
		if !wider {
			return nil
		}
		if words, err = split(right); err != nil {
			return err
		}
		// Each wider word is a meaning of its own.
		for _, w := range words {
			n := t.add(set{words: []string{w}, near: []int32{s}})
			t.sets[s].near = append(t.sets[s].near, n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func split(list string) (words []string, err error) {
	for w := range strings.SplitSeq(list, ",") {
		if w = normal(w); w == "" {
			return nil, errors.New("a word is missing: give words separated by commas, then perhaps a < and wider words")
		}
		words = append(words, w)
	}
	return words, nil
}

func eachLine(folder fs.FS, name string, yield func(string) error) error {
	f, err := folder.Open(name)
	if err != nil {
		return fmt.Errorf("wordnet: %w", err)
	}
	defer f.Close()
	return lines(f, name, yield)
}

// lines yields each line; an error is given file and line.
func lines(r io.Reader, name string, yield func(string) error) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20) // some sets have hundreds of hyponyms
	n := 1
	for ; scan.Scan(); n++ {
		if line := scan.Text(); !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return fmt.Errorf("wordnet: %s:%d: this is no text: give a table of words, or the folder with WordNet's database files", name, n)
		}
		if err := yield(scan.Text()); err != nil {
			return fmt.Errorf("wordnet: %s:%d: %w", name, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("wordnet: %s:%d: %w", name, n, err)
	}
	return nil
}

// Load reads the database files of WordNet in the folder dir, or else a table
// of related words; it is nil if neither is named.
func Load(dir, table string) (*Thesaurus, error) {
	switch {
	case dir != "":
		t, err := Open(os.DirFS(dir))
		if err != nil {
			return nil, fmt.Errorf("WordNet in %s: %w", dir, err)
		}
		return t, nil
	case table != "":
		f, err := os.Open(table)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ReadTable(f, table)
	}
	return nil, nil
}
