// Package latticetest makes labelled sequences for tests and benchmarks of
// models over lattices: walks over a synthetic web that is a function of a seed.
package latticetest

import (
	"math"
	"math/rand/v2"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Options of Walks. The zero value of each field is its default.
type Options struct {
	Sequences int  // 0 = 12000
	Length    int  // mean; lengths are uniform from 2 to 2·Length−2; 0 = 5
	States    int  // 0 = 5
	Pages     int  // of the web; 0 = 3000; negative = each position is a page of its own
	Words     int  // of pages, of anchors of in-links and of anchors of out-links together; 0 = 2078
	PerPage   int  // words of a page, at most; 0 = 36
	Links     int  // out of a page; 0 = 12
	All       bool // every arc is allowed, not only those of lattice.Hops
	Binary    bool // only observations whose value is 1
}

// Walks returns a training set of the form of Liu & Milios 2010: sequences of
// pages with their hop distances to a target, and observations of a page (bias,
// two similarities, words), of the link that led to it and of the link that
// leads on (one flag each, words of anchors). Word frequencies follow Zipf's
// law; one word in ten of a page or link depends on its state.
//
// cuts are the observations at which those of in-links and of out-links begin.
func Walks(seed uint64, o Options) (sequences []lattice.Sequence, shape lattice.Shape, cuts []uint32) {
	set := func(x *int, standard int) {
		if *x == 0 {
			*x = standard
		}
	}
	set(&o.Sequences, 12000)
	set(&o.Length, 5)
	set(&o.States, 5)
	set(&o.Pages, 3000)
	set(&o.Words, 2078)
	set(&o.PerPage, 36)
	set(&o.Links, 12)

	w := web{Options: o, random: rand.New(rand.NewPCG(seed, 0x77616c6b73))}
	anchors := o.Words / 4
	w.page = block{3, o.Words - 2*anchors}
	w.in = block{w.page.end() + 1, anchors}
	w.out = block{w.in.end() + 1, anchors}
	shape = lattice.Hops(o.States, w.out.end())
	if o.All {
		for i := range shape.Allowed {
			shape.Allowed[i] = true
		}
	}
	w.shape = shape
	w.build()
	for range o.Sequences {
		sequences = append(sequences, w.walk())
	}
	return sequences, shape, []uint32{uint32(w.in.first - 1), uint32(w.out.first - 1)}
}

// block is an interval of observations that are words.
type block struct{ first, n int }

func (b block) end() int { return b.first + b.n }

type web struct {
	Options
	random        *rand.Rand
	shape         lattice.Shape
	page, in, out block
	pages         []page
}

type page struct {
	state   int
	content []sparse.Entry
	links   []link
}

type link struct {
	to      int
	in, out []sparse.Entry
}

func (w *web) build() {
	for range w.Pages { // none if negative
		s := w.random.IntN(w.States)
		w.pages = append(w.pages, page{state: s, content: w.content(s)})
	}
	for i := range w.pages {
		for range w.Links {
			w.pages[i].links = append(w.pages[i].links, w.link(i))
		}
	}
}

// link returns a link from a page to one whose state may follow.
func (w *web) link(from int) link {
	for {
		to := w.random.IntN(len(w.pages))
		if s := w.pages[to].state; w.shape.Allowed[w.pages[from].state*w.States+s] {
			return link{to, w.words(nil, w.in, 4, s), w.words(nil, w.out, 4, s)}
		}
	}
}

func (w *web) content(state int) []sparse.Entry {
	entries := []sparse.Entry{{ID: 0, Value: 1}}
	if !w.Binary {
		near := math.Exp(-float64(state) / 2)
		for id := range uint32(2) {
			entries = append(entries, sparse.Entry{ID: 1 + id, Value: (near + w.random.Float64()) / 2})
		}
	}
	return w.words(entries, w.page, w.PerPage, state)
}

// words adds some words of a block. One in ten is a word typical of pages in
// this state or in one next to it; the others are any. One in three links has
// its flag, the observation before the block.
func (w *web) words(entries []sparse.Entry, b block, most, state int) []sparse.Entry {
	if b != w.page && w.random.IntN(3) == 0 {
		entries = append(entries, sparse.Entry{ID: uint32(b.first - 1), Value: 1})
	}
	present := map[int]bool{}
	for range most/2 + w.random.IntN(most/2+1) {
		word := int(float64(b.n) * math.Pow(w.random.Float64(), 3))
		if w.random.IntN(10) == 0 {
			word = word/w.States*w.States + min(max(state+w.random.IntN(3)-1, 0), w.States-1)
		}
		if word < b.n && !present[word] {
			present[word] = true
			entries = append(entries, sparse.Entry{ID: uint32(b.first + word), Value: 1})
		}
	}
	return entries
}

func (w *web) walk() lattice.Sequence {
	n := 2 + w.random.IntN(2*w.Length-3)
	var q lattice.Sequence
	var in []sparse.Entry
	at, state := 0, w.random.IntN(w.States)
	if len(w.pages) > 0 {
		at = w.random.IntN(len(w.pages))
	}
	for t := range n {
		var content, out []sparse.Entry
		var next link
		if len(w.pages) > 0 {
			p := &w.pages[at]
			state, content = p.state, p.content
			next = p.links[w.random.IntN(len(p.links))]
			out = next.out
			at = next.to
		} else {
			content = w.content(state)
		}
		q.Labels = append(q.Labels, state)
		if len(w.pages) == 0 {
			state = w.follow(state)
			next = link{in: w.words(nil, w.in, 4, state), out: w.words(nil, w.out, 4, state)}
			out = next.out
		}
		if t == n-1 {
			out = nil
		}
		entries := append([]sparse.Entry(nil), content...)
		entries = append(append(entries, in...), out...)
		q.Obs = append(q.Obs, sparse.New(entries))
		in = next.in
	}
	return q
}

func (w *web) follow(state int) int {
	for {
		if s := w.random.IntN(w.States); w.shape.Allowed[state*w.States+s] {
			return s
		}
	}
}
