package judge

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// memory holds the first pages that were observed, as far as their words can
// matter: what the background is made of, and what is judged anew when the view
// changes. It belongs to one goroutine. A nil memory is empty and stays so.
type memory struct {
	vocabulary []string          // sorted
	id         map[string]uint16 // index in vocabulary
	sum        uint64            // a hash of vocabulary
	pages      []pageWords       // at most blendPages
	held       []float64         // [vocabulary] weight of the pages that hold a stem
	weight     float64           // of all pages
	hosts      map[web.Host]int  // pages
	others     map[web.URL]bool  // pages of other workers and of another crawl
	stored     int               // of pages, those that State gave out
	labelled   bool              // the view was made anew for a label, and is not stored yet
	looked     int               // pages when Notes looked at them last
	spoken     map[string]int    // pages since the program began, by language, without those of which it is not known
	notes      []string          // that were given out last
	shares     bool              // own pages are kept for other workers, in lessons
	lessons    []int             // of pages, those that no other worker was told of
}

// blendPages is the number of pages after which the view is settled.
const blendPages = 256

// pageWords is a page by its words of the vocabulary.
type pageWords struct {
	url    web.URL
	length int         // terms
	words  []wordCount // by id
	pieces []piece     // that hold such words and may turn out to be of the template
	said   float32     // its relevance, as it was told last; NaN for a page of another worker or crawl, which tells it
}

type wordCount struct {
	id         uint16
	body, head uint16 // 65535 = as many or more
}

type piece struct {
	hash uint32
	kind pieceKind
	ids  []uint16
}

func newMemory(vocabulary []string) *memory {
	m := &memory{
		vocabulary: vocabulary, id: make(map[string]uint16, len(vocabulary)),
		held: make([]float64, len(vocabulary)), hosts: map[web.Host]int{}, others: map[web.URL]bool{}, spoken: map[string]int{},
	}
	for i, s := range vocabulary {
		m.id[s] = uint16(i)
	}
	m.sum = xxh3.HashString(strings.Join(vocabulary, "\n"))
	return m
}

// remember adds a page with the verdict that was told of it.
func (m *memory) remember(p *web.Page, v web.Verdict, a text.Splitter) {
	out := pageWords{url: p.URL, said: float32(v.Relevance)}
	if p.Language != "" {
		m.spoken[p.Language]++
	}
	length := 0.
	for _, t := range p.Terms {
		length += float64(t.Body)
		if id, ok := m.id[t.Text]; ok {
			out.words = append(out.words, wordCount{id, clamp16(t.Body), clamp16(t.Head)})
		}
	}
	out.length = int(min(length, math.MaxInt32))
	slices.SortFunc(out.words, func(a, b wordCount) int { return int(a.id) - int(b.id) })
	var words []string
	add := func(hash uint32, s string, k pieceKind) {
		words = a.AppendWords(words[:0], s)
		var ids []uint16
		for _, w := range words {
			if id, ok := m.id[w]; ok {
				ids = append(ids, id)
			}
		}
		if ids != nil && len(out.pieces) < maxPieces {
			out.pieces = append(out.pieces, piece{hash, k, ids})
		}
	}
	if len(out.words) > 0 {
		for part := range titleParts(p.Title) {
			add(titleHash(part), part, titlePiece)
		}
		for _, h := range p.Headings {
			add(pieceHash(h), h, headingPiece)
		}
		for _, l := range p.Leaves {
			// A template has few long pieces, and none of them costs less than
			// it brings.
			if l.Text != "" && len(l.Text) <= maxPiece && !slices.Contains(p.Alts, l.Text) {
				add(pieceHash(l.Text), l.Text, leafPiece)
			}
		}
	}
	m.add(out)
}

// Bounds of what is remembered of a page.
const (
	maxPieces = 500
	maxPiece  = 200 // bytes of a leaf
)

// clamp16 is n, at most the largest uint16.
func clamp16(n int32) uint16 { return uint16(min(n, math.MaxUint16)) }

// add takes a page into the memory. The kth page of a host weighs 1/k: a site that
// fills a crawl is not the web.
func (m *memory) add(p pageWords) {
	h := p.url.Host()
	m.hosts[h]++
	if math.IsNaN(float64(p.said)) {
		m.others[p.url] = true
	}
	weight := 1 / float64(m.hosts[h])
	m.weight += weight
	for _, w := range p.words {
		m.held[w.id] += weight
	}
	m.pages = append(m.pages, p)
}

// share is the weight of the remembered pages that hold a stem, and of all of
// them. What belongs to a template counts too: it is common.
func (m *memory) share(stem string) (held, all float64) {
	if m == nil {
		return 0, 0
	}
	if id, ok := m.id[stem]; ok {
		held = m.held[id]
	}
	return held, m.weight
}

// holders is the number of remembered pages among those asked about that hold a stem.
func (m *memory) holders(stem string, asked func(i int) bool) (n int) {
	id, known := m.id[stem]
	for i := range m.pages {
		if known && asked(i) && m.pages[i].holds(id) {
			n++
		}
	}
	return n
}

func (p *pageWords) holds(id uint16) bool {
	_, ok := slices.BinarySearchFunc(p.words, id, func(w wordCount, id uint16) int { return int(w.id) - int(id) })
	return ok
}

// scores are those of the remembered pages under a view.
func (m *memory) scores(v *view, t *templates) []float64 {
	if m == nil {
		return nil
	}
	at := make([]int, len(m.vocabulary)) // index in the query, -1 = not in it
	for i, s := range m.vocabulary {
		at[i] = -1
		if k, ok := v.query.at[s]; ok {
			at[i] = k
		}
	}
	tf := make([]float64, len(v.query.terms))
	out := make([]float64, len(m.pages))
	for i := range m.pages {
		p := &m.pages[i]
		clear(tf)
		for _, w := range p.words {
			if k := at[w.id]; k >= 0 {
				tf[k] = float64(w.body) + v.query.bm25.head*float64(w.head)
			}
		}
		known := t.of(p.url.Host())
		for _, x := range p.pieces {
			if !known.holds(x.hash) {
				continue
			}
			weight := x.kind.weight(v.query.bm25.head)
			for _, id := range x.ids {
				if k := at[id]; k >= 0 {
					tf[k] = max(0, tf[k]-weight)
				}
			}
		}
		out[i] = v.query.score(tf, float64(p.length))
	}
	return out
}

// AppendBinary appends the page, without what was said of it, as
//
//	address, its length first · length uvarint ·
//	words uvarint, for each: id uvarint, body uvarint, head uvarint ·
//	pieces uvarint, for each: hash 4 bytes, kind uvarint, ids uvarint, each uvarint
//
// Hashes are big-endian.
func (p *pageWords) AppendBinary(b []byte) ([]byte, error) {
	u := p.url.String()
	b = append(binary.AppendUvarint(b, uint64(len(u))), u...)
	b = binary.AppendUvarint(b, uint64(p.length))
	b = binary.AppendUvarint(b, uint64(len(p.words)))
	for _, w := range p.words {
		b = binary.AppendUvarint(b, uint64(w.id))
		b = binary.AppendUvarint(b, uint64(w.body))
		b = binary.AppendUvarint(b, uint64(w.head))
	}
	b = binary.AppendUvarint(b, uint64(len(p.pieces)))
	for _, x := range p.pieces {
		b = binary.BigEndian.AppendUint32(b, x.hash)
		b = binary.AppendUvarint(b, uint64(x.kind))
		b = binary.AppendUvarint(b, uint64(len(x.ids)))
		for _, id := range x.ids {
			b = binary.AppendUvarint(b, uint64(id))
		}
	}
	return b, nil
}

// unmarshal reads what AppendBinary wrote, for a vocabulary of that size.
func (p *pageWords) unmarshal(b []byte, vocabulary int) error {
	r := stateReader{b: b}
	id := func() uint16 { return uint16(r.int(vocabulary - 1)) }
	var out pageWords
	u, err := web.Parse(r.text())
	if err != nil {
		r.bad = true
	}
	out.url, out.length = u, r.int(math.MaxInt32)
	for range r.int(len(r.b)) {
		out.words = append(out.words, wordCount{id(), uint16(r.int(math.MaxUint16)), uint16(r.int(math.MaxUint16))})
	}
	for range r.int(len(r.b)) {
		x := piece{hash: r.hash(), kind: pieceKind(r.int(int(titlePiece)))}
		for range r.int(len(r.b)) {
			x.ids = append(x.ids, id())
		}
		out.pieces = append(out.pieces, x)
	}
	if err := r.end(); err != nil {
		return err
	}
	*p = out
	return nil
}
