package corpus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// The file of parsed pages. n is an unsigned varint, z a signed one (zigzag);
// a list is its length plus one and its items, or 0 for nil; a word and an
// address are indices in the tables at the end, text is a piece of the page's
// own block of text.
//
//	magic      "waggle pages 8\n"
//	stamp      16 bytes: xxh3-128 of the stamp in index.txt and of what the parser reads
//	record …   of each recorded address, in the order of the WARC files
//	words      n strings: n length, bytes
//	addresses  n strings
//	places     n recorded addresses: n address, n offset of its record
//	tail       offsets of words, addresses and places: 3 × uint64 LE
//	sum        xxh3-64 of all before, uint64 LE
//
//	record     n status · n what (0 nothing, 1 page, 2 no text, 3 damaged) ·
//	           n bytes of Raw · n bytes of Body · n Content-Type word+1 (0 none) ·
//	           n Location address+1 (0 none) · word Truncated · word Retry-After ·
//	           n kept: length and bytes of Body, or of its beginning, 0 = not kept ·
//	           then the page, or n length and bytes of the error's text, before which
//	           stands the word of its reason where the document is damaged
//	page       16 bytes digest · n length of the block, block ·
//	           n Base address · n dated (0 = never) · z Fetched ns since 1970 ·
//	           words MIME, Charset, Language, TermLanguage · n truncated (0, 1) · n password (0, 1, 2 = alone) · n account (0, 1) ·
//	           n directives, one bit each · word TDMPolicy ·
//	           texts Title, Description, Keywords, Main ·
//	           lists of texts Headings, Alts, Leaves ·
//	           n nested (0, 1), and if so of each leaf n Depth · n Shared ·
//	           list of Terms: word · n 2·Body + (1 if Head > 0) · n Head if so ·
//	           list of Links
//	link       n address · word Kind · word TagPath ·
//	           n bits: 1 NoFollow, 2 Published, 4 dated · word Changed if dated ·
//	           z Position − index · z First − First of the link before ·
//	           z Last − First · texts Before, Anchor, After, Heading
//	text       n length; if that is not 0, z offset in the block − end of the
//	           text before
//
// A block holds each byte of text once. The parser's strings share memory, and
// the block keeps that: strings that overlap there overlap in it.
const (
	pagesMagic = "waggle pages 8\n"
	tailSize   = 3*8 + 8
)

// What a record holds.
const (
	isNothing = iota // no status of 2xx, or no body
	isPage
	isOther   // parsing it failed: no text
	isDamaged // a document that cannot be read
)

// encoder writes the file.
type encoder struct {
	w      *bufio.Writer
	sum    *xxh3.Hasher
	at     int // bytes written
	words  table[string]
	urls   table[web.URL]
	places []byte // of the table of places, without its length
	count  int
	b      []byte // the record in work
	end    int    // of the text before, in the block
}

// table numbers what it is given, in order.
type table[T comparable] struct {
	ids  map[T]int
	list []T
}

func (t *table[T]) id(v T) uint64 {
	i, ok := t.ids[v]
	if !ok {
		if t.ids == nil {
			t.ids = map[T]int{}
		}
		i = len(t.list)
		t.ids[v] = i
		t.list = append(t.list, v)
	}
	return uint64(i)
}

func newEncoder(w io.Writer, stamp [16]byte) *encoder {
	e := &encoder{sum: xxh3.New()}
	e.w = bufio.NewWriterSize(io.MultiWriter(w, e.sum), 1<<20)
	e.b = append(append(e.b, pagesMagic...), stamp[:]...)
	e.write()
	return e
}

// write writes what is in work. The writer keeps its error for finish.
func (e *encoder) write() {
	e.w.Write(e.b)
	e.at += len(e.b)
	e.b = e.b[:0]
}

func (e *encoder) num(n uint64)  { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) int(n int)     { e.num(uint64(n)) }
func (e *encoder) diff(n int)    { e.b = binary.AppendVarint(e.b, int64(n)) }
func (e *encoder) word(s string) { e.num(e.words.id(s)) }
func (e *encoder) url(u web.URL) { e.num(e.urls.id(u)) }
func (e *encoder) str(s string)  { e.int(len(s)); e.b = append(e.b, s...) }
func (e *encoder) bit(v bool) {
	if v {
		e.num(1)
	} else {
		e.num(0)
	}
}

// begins tells whether the type of a document shows in how it begins, given its Content-Type.
func begins(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch strings.TrimSpace(kind) {
	case "text/plain", "application/msword", "application/vnd.ms-word": // as fetch.Types.Look
		return true
	}
	return false
}

// beginning is how much of a document is kept where it tells the type.
const beginning = 512

// add writes a record. why is the error of parsing what is no page.
func (e *encoder) add(r *web.Response, p *web.Page, why error) error {
	var damage *web.Failure
	e.places = binary.AppendUvarint(e.places, e.urls.id(r.URL))
	e.places = binary.AppendUvarint(e.places, uint64(e.at))
	e.count++
	e.int(r.Status)
	switch {
	case p != nil:
		e.num(isPage)
	case errors.As(why, &damage):
		e.num(isDamaged)
	case why != nil:
		e.num(isOther)
	default:
		e.num(isNothing)
	}
	e.int(len(r.Raw))
	e.int(len(r.Body))
	kind, typed := r.Header["Content-Type"]
	if typed && len(kind) > 0 {
		e.num(e.words.id(kind[0]) + 1)
	} else {
		e.num(0)
	}
	if r.Location.IsZero() {
		e.num(0)
	} else {
		e.num(e.urls.id(r.Location) + 1)
	}
	e.word(r.Truncated)
	retry := ""
	if h := r.Header["Retry-After"]; len(h) > 0 {
		retry = h[0]
	}
	e.word(retry)
	switch {
	case isRobots(r.URL) || r.Status < 300 && !typed:
		e.str(string(r.Body))
	case r.Status < 300 && begins(kind[0]):
		e.str(string(r.Body[:min(len(r.Body), beginning)]))
	default:
		e.num(0)
	}
	switch {
	case p != nil:
		e.page(p)
	case damage != nil:
		e.word(string(damage.Reason))
		e.str(damage.Detail)
	case why != nil:
		if !errors.Is(why, parse.ErrType) {
			return fmt.Errorf("parsing %s: %w", r.URL, why)
		}
		e.str(strings.TrimSuffix(why.Error(), parse.ErrType.Error()))
	}
	e.write()
	return nil
}

func (e *encoder) page(p *web.Page) {
	e.b = append(e.b, p.Digest[:]...)
	text, place := newBlock(texts(p))
	e.str(text)
	e.end = 0
	put := func(s string) {
		e.int(len(s))
		if len(s) > 0 {
			at := place(s)
			e.diff(at - e.end)
			e.end = at + len(s)
		}
	}
	list := func(l []string) {
		e.length(len(l), l == nil)
		for _, s := range l {
			put(s)
		}
	}
	e.url(p.Base)
	e.bit(!p.Fetched.IsZero())
	if !p.Fetched.IsZero() {
		e.b = binary.AppendVarint(e.b, p.Fetched.UnixNano())
	}
	e.word(p.MIME)
	e.word(p.Charset)
	e.word(p.Language)
	e.word(p.TermLanguage)
	e.bit(p.Truncated)
	if p.PasswordAlone {
		e.num(2)
	} else {
		e.bit(p.Password)
	}
	account := uint64(p.Telling) << 1
	if p.Account {
		account |= 1
	}
	e.num(account)
	flags := 0
	for i, v := range directiveBits(&p.Directives) {
		if *v {
			flags |= 1 << i
		}
	}
	e.int(flags)
	e.word(p.Directives.TDMPolicy)
	put(p.Title)
	put(p.Description)
	put(p.Keywords)
	put(p.Main)
	list(p.Headings)
	list(p.Alts)
	e.length(len(p.Leaves), p.Leaves == nil)
	for i := range p.Leaves {
		put(p.Leaves[i].Text)
	}
	e.bit(p.Nesting != nil)
	for _, n := range p.Nesting {
		e.num(uint64(n.Depth))
		e.num(uint64(n.Shared))
	}
	e.length(len(p.Terms), p.Terms == nil)
	for _, t := range p.Terms {
		e.word(t.Text)
		if t.Head == 0 {
			e.num(uint64(t.Body) << 1)
		} else {
			e.num(uint64(t.Body)<<1 | 1)
			e.num(uint64(t.Head))
		}
	}
	e.length(len(p.Links), p.Links == nil)
	before := 0
	for i := range p.Links {
		l := &p.Links[i]
		e.url(l.URL)
		e.word(string(l.Kind))
		e.word(l.TagPath)
		bits := uint64(0)
		for k, is := range [...]bool{l.NoFollow, l.Published, l.Changed != ""} {
			if is {
				bits |= 1 << k
			}
		}
		if e.num(bits); l.Changed != "" {
			e.word(string(l.Changed))
		}
		e.diff(l.Position - i)
		e.diff(l.First - before)
		e.diff(l.Last - l.First)
		before = l.First
		put(l.Before)
		put(l.Anchor)
		put(l.After)
		put(l.Heading)
	}
}

// length begins a list.
func (e *encoder) length(n int, isNil bool) {
	if isNil {
		e.num(0)
	} else {
		e.int(n + 1)
	}
}

// directiveBits are the wishes in the order of their bits.
func directiveBits(d *web.Directives) [6]*bool {
	return [...]*bool{&d.NoIndex, &d.NoFollow, &d.NoArchive, &d.NoAI, &d.NoImageAI, &d.TDMReserved}
}

// finish writes what follows the records.
func (e *encoder) finish() error {
	var tail []byte
	mark := func() { tail = binary.LittleEndian.AppendUint64(tail, uint64(e.at)) }
	mark()
	e.int(len(e.words.list))
	for _, s := range e.words.list {
		e.str(s)
	}
	e.write()
	mark()
	e.int(len(e.urls.list))
	for _, u := range e.urls.list {
		e.str(u.String())
	}
	e.write()
	mark()
	e.int(e.count)
	e.b = append(append(e.b, e.places...), tail...)
	e.write()
	if err := e.w.Flush(); err != nil {
		return err
	}
	e.b = binary.LittleEndian.AppendUint64(e.b, e.sum.Sum64())
	e.write()
	return e.w.Flush()
}

// texts lists the strings of a page that go into its block.
func texts(p *web.Page) []string {
	list := make([]string, 0, 8+len(p.Leaves)+4*len(p.Links))
	for i := range p.Leaves {
		list = append(list, p.Leaves[i].Text)
	}
	list = append(list, p.Title, p.Description, p.Keywords, p.Main)
	list = append(append(list, p.Headings...), p.Alts...)
	for i := range p.Links {
		l := &p.Links[i]
		list = append(list, l.Before, l.Anchor, l.After, l.Heading)
	}
	return list
}

// newBlock makes the block of text that holds all of list, and a function that
// tells where in it one of these very strings lies. Where strings overlap in
// memory, so do they there. The block depends on which strings overlap, and
// how, but not on where in memory they are.
func newBlock(list []string) (string, func(string) int) {
	// A run is a stretch of memory without gaps between strings.
	type run struct {
		start, end uintptr
		first      int      // index of its first string in list
		parts      []string // without overlap
		offset     int
	}
	order := make([]int, 0, len(list))
	for i, s := range list {
		if s != "" {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		switch a, b := address(list[i]), address(list[j]); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return len(list[j]) - len(list[i])
	})
	var runs []*run
	for _, i := range order {
		s := list[i]
		start, end := address(s), address(s)+uintptr(len(s))
		var last *run
		if n := len(runs); n > 0 {
			last = runs[n-1]
		}
		switch {
		case last == nil || start >= last.end:
			runs = append(runs, &run{start: start, end: end, first: i, parts: []string{s}})
			continue
		case end > last.end:
			last.parts = append(last.parts, s[last.end-start:])
			last.end = end
		}
		last.first = min(last.first, i)
	}
	byPlace := slices.Clone(runs)
	slices.SortFunc(byPlace, func(a, b *run) int { return a.first - b.first })
	var text strings.Builder
	same := map[string]int{} // offsets of runs of one string
	for _, r := range byPlace {
		if len(r.parts) == 1 {
			if at, ok := same[r.parts[0]]; ok {
				r.offset = at
				continue
			}
			same[r.parts[0]] = text.Len()
		}
		r.offset = text.Len()
		for _, s := range r.parts {
			text.WriteString(s)
		}
	}
	return text.String(), func(s string) int {
		a := address(s)
		i, found := slices.BinarySearchFunc(runs, a, func(r *run, a uintptr) int {
			switch {
			case r.start < a:
				return -1
			case r.start > a:
				return 1
			}
			return 0
		})
		if !found {
			i--
		}
		return runs[i].offset + int(a-runs[i].start)
	}
}

// address is where the bytes of s are, for comparison with others.
func address(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
