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
//	renewed page fetched again ─► Visit: a renewal with the verdict of this time, and an example
//	more than mostKept examples ─► they are dropped, and no page is renewed for the first time
//
// A renewal is an entry of the journal as an example is, so that a scorer that applies the
// entries again, or learns them from another worker, comes to the same weights.
//
// Without the setting renewals all this is as if it were not there: no example is kept, no
// verdict is renewed, and what a state made with it holds of either is passed over. A job
// refuses a change of the setting when a crawl goes on, unless its log is lost. The weights
// of a snapshot stay as they are then.

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
	if w.keepsNone {
		return
	}
	if len(w.kept) == mostKept {
		w.dropKept()
		return
	}
	x.newHost = w.scratch.dense[inNewHost] == 1
	x.features = bytes.Clone(x.features)
	w.kept = append(w.kept, x)
}

// dropKept drops the examples that were kept, and the first weights: from then on the weights
// are not made anew.
func (w *waggle) dropKept() { w.kept, w.first, w.keepsNone = nil, firstWeights{}, true }

// renewedVerdict is the latest verdict of a page, in 1/255.
type renewedVerdict struct{ relevance, similarity byte }

// pageKey is by what the links of a page are known: two of their hashed inputs, that of
// kindFrom in the lower half and that of kindPage in the upper one.
//
// Each is 28 bits of a hash without a secret. So whoever chooses the name of a host and an
// address on it can find some with the key of another page. The links of both then go by
// what was said last of either: his own by the verdict of his page as soon as it is fetched,
// and those that wait of the other page by that as well.
type pageKey uint64

// pageHashes are those of the host and of the address of a page.
type pageHashes struct {
	from uint32 // the hashed input of kindFrom
	page uint64
}

func hashesOf(u web.URL) pageHashes {
	return pageHashes{hashOf(kindFrom, xxh3.HashString(string(u.Host())), 0), xxh3.HashString(u.String())}
}

func (h pageHashes) key() pageKey {
	return pageKey(h.from) | pageKey(hashOf(kindPage, h.page, 0))<<32
}

// verdictOf is a verdict as the links of the page have it.
func verdictOf(v web.Verdict) renewedVerdict {
	return renewedVerdict{quantize(v.Relevance), quantize(v.Similarity)}
}

// Renew takes in new verdicts. The entry is
//
//	0 · flagRenewal · { hash of a page's address uint64 LE · input of kindFrom uint32 LE
//	relevance, similarity in 1/255 byte each }…
//
// It has as many pages that were not renewed before as there is room for.
func (w *waggle) Renew(pages []web.Renewal) {
	b := []byte{0, flagRenewal}
	now := maps.Clone(w.renewed)
	for i := range pages {
		h, v := hashesOf(pages[i].URL), verdictOf(pages[i].Verdict)
		was, known := now[h.key()]
		if known && was == v || !known && !w.mayRenew(len(now)) {
			continue
		}
		now[h.key()] = v
		b = appendRenewal(b, h, v)
	}
	if len(b) > 2 && w.add(b) {
		w.apply(&entry{b: b})
		w.requestRescore()
	}
}

// renewIfChanged writes a renewal of a page that is fetched again, if it was renewed and has
// another verdict now: its links were just read with that. What waits is scored anew when
// that is due.
func (w *waggle) renewIfChanged(u web.URL, v renewedVerdict) {
	if len(w.renewed) == 0 {
		return
	}
	h := hashesOf(u)
	if was, known := w.renewed[h.key()]; !known || was == v {
		return
	}
	if b := appendRenewal([]byte{0, flagRenewal}, h, v); w.add(b) {
		w.apply(&entry{b: b})
	}
}

func appendRenewal(b []byte, h pageHashes, v renewedVerdict) []byte {
	b = binary.LittleEndian.AppendUint64(b, h.page)
	b = binary.LittleEndian.AppendUint32(b, h.from)
	return append(b, v.relevance, v.similarity)
}

// isRenewal tells whether an entry of the journal is one of Renew.
func isRenewal(entry []byte) bool { return len(entry) > 1 && entry[1] == flagRenewal }

// renewalBytes is the number of bytes of a page in a renewal.
const renewalBytes = 14

// applyRenewal learns from a renewal.
func (w *waggle) applyRenewal(e *entry) {
	if list := e.b[2:]; e.b[0] != 0 || len(list) == 0 || len(list)%renewalBytes != 0 {
		e.err = errors.New("score: a renewal that is none")
		return
	}
	for list := e.rest()[2:]; len(list) > 0; list = list[renewalBytes:] {
		h := pageHashes{page: binary.LittleEndian.Uint64(list), from: binary.LittleEndian.Uint32(list[8:])}
		v := renewedVerdict{list[12], list[13]}
		if _, known := w.renewed[h.key()]; known || w.mayRenew(len(w.renewed)) {
			w.renewed[h.key()] = v
		}
		for i := range w.kept {
			if x := &w.kept[i]; x.page == h.page && h.page != 0 {
				x.relevance = v.relevance
			}
		}
	}
	if !w.keepsNone {
		w.refit()
	}
}

// mayRenew tells whether a page may be renewed for the first time where so many are.
func (w *waggle) mayRenew(renewed int) bool { return !w.keepsNone && renewed < mostKept }

// refit makes the weights anew of the examples so far, as if each had had its present
// label and inputs from the start:
//
//	weights = the first ones; for each example x of relevance y that counts s: learn(x, y, s)
func (w *waggle) refit() {
	w.weights.begin(&w.first)
	for i := range w.kept {
		x := &w.kept[i]
		if w.read(&w.scratch, x.features, x.trail, x.depth) {
			w.scratch.dense[inNewHost] = float32(indicator(x.newHost))
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
func (b *posterior) begin(f *firstWeights) {
	copy(b.dense, f.dense)
	clear(b.means)
	clear(b.variances)
	for _, x := range f.hashed {
		b.setHashed(x.Place, weight{x.Mean, x.Variance})
	}
}

// appendRenewed appends the renewed verdicts in the order of their keys:
//
//	number uvarint · { key uint64 LE · relevance, similarity byte each }…
//
// It appends nothing where there are none and nothing follows.
func (w *waggle) appendRenewed(b []byte) []byte {
	if w.keepsNone && len(w.renewed) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(w.renewed)))
	for _, page := range slices.Sorted(maps.Keys(w.renewed)) {
		b = binary.LittleEndian.AppendUint64(b, uint64(page))
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
	n := r.Count(renewedBytes)
	if n > mostKept {
		r.Fail("more than %d renewed verdicts", mostKept)
		return
	}
	for range n {
		page, v := pageKey(r.Uint64()), renewedVerdict{r.Byte(), r.Byte()}
		if w.renews {
			w.renewed[page] = v
		}
	}
}

// renewedBytes is the number of bytes of a page in what appendRenewed writes.
const renewedBytes = 10

// appendKept appends the examples that are kept, nothing where none will be:
//
//	number uvarint · { page uint64 LE · relevance, flags, trail, depth, newHost byte each
//	number of features uvarint · features }…
func (w *waggle) appendKept(b []byte) []byte {
	if w.keepsNone {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(w.kept)))
	for i := range w.kept {
		x := &w.kept[i]
		b = binary.LittleEndian.AppendUint64(b, x.page)
		b = append(b, x.relevance, x.flags, x.trail, x.depth, byte(indicator(x.newHost)))
		b = binary.AppendUvarint(b, uint64(len(x.features)))
		b = append(b, x.features...)
	}
	return b
}

// readKept reads what appendKept wrote.
func (w *waggle) readKept(r *wire.Reader) {
	if r.Len() == 0 {
		w.dropKept()
		return
	}
	w.kept = nil
	n := r.Count(14)
	if n > mostKept {
		r.Fail("more than %d examples", mostKept)
		return
	}
	for range n {
		x := keptExample{page: r.Uint64(), relevance: r.Byte(), flags: r.Byte(), trail: r.Byte(), depth: r.Byte(), newHost: r.Byte() == 1}
		x.features = bytes.Clone(r.Take(r.Count(1)))
		if x.flags > flagRedirected || !w.read(&w.scratch, x.features, x.trail, x.depth) {
			r.Fail("an example that is none")
			return
		}
		if !w.keepsNone {
			w.kept = append(w.kept, x)
		}
	}
}
