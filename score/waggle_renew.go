package score

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// How new verdicts are taken in. The judge gets to know the web by its first 256 pages, and
// tells meanwhile which of them it judges otherwise:
//
//	page judged ─► Visit: an example, kept with the hash of the page's address
//	judged otherwise ─► Renew ─┬─► the new label of its example
//	                           ├─► the new inputs of its links: those that wait, and those of examples
//	                           └─► the weights are made anew of all examples; what waits is scored anew
//	more than mostKept examples ─► they are dropped, and no page is renewed for the first time
//
// A renewal is an entry of the journal as an example is, so that a scorer that applies the
// entries again, or learns them from another worker, comes to the same weights.

// mostKept bounds the examples that are kept, some 200 bytes each. It is twice the pages
// that the judge judges anew, as not every example is of a page that the judge learns from.
const mostKept = 512

// keptExample is an example whose label may change.
type keptExample struct {
	page                           uint64 // hash of its address; 0 = its label stays
	relevance, flags, trail, depth byte   // as in the journal, without flagNamed
	newHost                        bool   // inNewHost was 1
	features                       []byte
}

// keep keeps the example that was read into scratch.
func (w *waggle) keep(x keptExample) {
	if w.settled {
		return
	}
	if len(w.kept) == mostKept {
		w.settle()
		return
	}
	x.newHost = w.scratch.dense[inNewHost] == 1
	x.features = bytes.Clone(x.features)
	w.kept = append(w.kept, x)
}

// settle drops what was kept, and what the weights would have been made anew of.
func (w *waggle) settle() { w.kept, w.first, w.settled = nil, firstWeights{}, true }

// renewedVerdict is what the judge says now of a page, in 1/255.
type renewedVerdict struct{ relevance, similarity byte }

// pageInput is the hashed input that the links of a page share.
func pageInput(page uint64) uint32 { return hashOf(kindPage, page, 0) }

// Renew takes in new verdicts. The entry is
//
//	0 · flagRenewal · { hash of a page's address uint64 LE · relevance, similarity in 1/255 byte each }…
func (w *waggle) Renew(pages []web.Renewal) {
	b := []byte{0, flagRenewal}
	for i := range pages {
		page := xxh3.HashString(pages[i].URL.String())
		v := renewedVerdict{level(pages[i].Verdict.Relevance), level(pages[i].Verdict.Similarity)}
		if was, known := w.renewed[pageInput(page)]; known && was != v || !known && w.mayRenew() {
			b = append(binary.LittleEndian.AppendUint64(b, page), v.relevance, v.similarity)
		}
	}
	if len(b) > 2 && w.add(b) {
		w.apply(&entry{b: b})
		w.ask()
	}
}

// isRenewal tells whether an entry of the journal is one of Renew.
func isRenewal(entry []byte) bool { return len(entry) > 1 && entry[1] == flagRenewal }

// renewalBytes is the number of bytes of a page in a renewal.
const renewalBytes = 10

// applyRenewal learns from a renewal.
func (w *waggle) applyRenewal(e *entry) {
	if list := e.b[2:]; e.b[0] != 0 || len(list) == 0 || len(list)%renewalBytes != 0 {
		e.err = errors.New("score: a renewal that is none")
		return
	}
	for list := e.rest()[2:]; len(list) > 0; list = list[renewalBytes:] {
		page, v := binary.LittleEndian.Uint64(list), renewedVerdict{list[8], list[9]}
		if _, known := w.renewed[pageInput(page)]; known || w.mayRenew() {
			w.renewed[pageInput(page)] = v
		}
		for i := range w.kept {
			if x := &w.kept[i]; x.page == page && page != 0 {
				x.relevance = v.relevance
			}
		}
	}
	if !w.settled {
		w.refit()
	}
}

// mayRenew tells whether a page may be renewed for the first time.
func (w *waggle) mayRenew() bool { return !w.settled && len(w.renewed) < mostKept }

// refit makes the weights anew of the examples so far, as if each had had its present
// label and inputs from the start:
//
//	weights = the first ones; for each example x of relevance y that counts s: learn(x, y, s)
func (w *waggle) refit() {
	w.weights.begin(&w.first)
	for i := range w.kept {
		x := &w.kept[i]
		if w.read(&w.scratch, x.features, x.trail, x.depth) {
			w.scratch.dense[inNewHost] = float32(yes(x.newHost))
			w.weights.learn(&w.scratch, float64(x.relevance)/255, w.share(x.flags))
		}
	}
}

// firstWeights are those before the crawl: set by hand, or of a model.
type firstWeights struct {
	dense  []weight       // [denseInputs]
	hashed []model.Hashed // that were met before
}

// begin sets the weights to the first ones.
func (b *beliefs) begin(f *firstWeights) {
	copy(b.dense, f.dense)
	clear(b.hashed)
	for _, x := range f.hashed {
		b.hashed[x.Place] = weight{x.Mean, x.Variance}
	}
}

// appendRenewed appends the renewed verdicts in the order of their inputs:
//
//	number uvarint · { input uint32 LE · relevance, similarity byte each }…
func (w *waggle) appendRenewed(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(w.renewed)))
	for _, page := range slices.Sorted(maps.Keys(w.renewed)) {
		b = binary.LittleEndian.AppendUint32(b, page)
		b = append(b, w.renewed[page].relevance, w.renewed[page].similarity)
	}
	return b
}

// readRenewed reads what appendRenewed wrote.
func (w *waggle) readRenewed(r *wire.Reader) {
	clear(w.renewed)
	if r.Len() == 0 {
		return
	}
	for range r.Count(6) {
		page := r.Uint32()
		if w.renewed[page] = (renewedVerdict{r.Byte(), r.Byte()}); len(w.renewed) > mostKept {
			r.Fail("more than %d renewed verdicts", mostKept)
			return
		}
	}
}

// appendKept appends the examples that are kept, nothing where none will be:
//
//	number uvarint · { page uint64 LE · relevance, flags, trail, depth, newHost byte each
//	number of features uvarint · features }…
func (w *waggle) appendKept(b []byte) []byte {
	if w.settled {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(w.kept)))
	for i := range w.kept {
		x := &w.kept[i]
		b = binary.LittleEndian.AppendUint64(b, x.page)
		b = append(b, x.relevance, x.flags, x.trail, x.depth, byte(yes(x.newHost)))
		b = binary.AppendUvarint(b, uint64(len(x.features)))
		b = append(b, x.features...)
	}
	return b
}

// readKept reads what appendKept wrote.
func (w *waggle) readKept(r *wire.Reader) {
	w.kept, w.settled = nil, r.Len() == 0
	if w.settled {
		return
	}
	for range r.Count(14) {
		x := keptExample{page: r.Uint64(), relevance: r.Byte(), flags: r.Byte(), trail: r.Byte(), depth: r.Byte(), newHost: r.Byte() == 1}
		x.features = bytes.Clone(r.Take(r.Count(1)))
		if len(w.kept) == mostKept || x.flags > flagRedirected || !w.read(&w.scratch, x.features, x.trail, x.depth) {
			r.Fail("an example that is none")
			return
		}
		w.kept = append(w.kept, x)
	}
}
