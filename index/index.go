// Package index makes the pages of a crawl searchable: by words, with the words marked
// in a piece of the text, by what the log tells of a page, near-copies folded.
//
// A Builder reads log and archive and writes the index, also while the crawl runs; it
// goes on where it, or one that was killed, ended. Any number of Readers search
// meanwhile, in this process and in others: a Reader sees what was committed last.
//
// The index is a folder, usually "index" in that of the crawl. It may be removed at
// any time, and made anew.
//
//	lock     held by the Builder
//	bleve/   a bleve index: each page is a document, by its address; the state of the
//	         Builder is committed with the pages
//
// Words are the terms of parse.Analyzer, as everywhere in waggle, by the rules of the
// language of each page; those of a query are looked for as each language of the index
// writes them.
package index

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/mapping"
	bleveapi "github.com/blevesearch/bleve_index_api"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

var (
	// ErrNone says that there is no index.
	ErrNone = errors.New("there is no index yet")
	// ErrBusy says that another Builder writes the index.
	ErrBusy = errors.New("another waggle is making this index")
	// ErrAbsent says that a page is not in the index.
	ErrAbsent = errors.New("the page is not in the index")
)

// Dir is the usual folder of the index of a crawl.
func Dir(c collection.Collection) string { return filepath.Join(c.Dir(), "index") }

// roomByDefault is the free space in bytes from which an index is made without being
// asked for: that of a million pages takes some gigabytes.
const roomByDefault = 10 << 30

// Room tells whether the disk of a folder has room for an index that nobody asked for,
// and how many bytes are free. A disk that does not tell has room.
func Room(dir string) (ok bool, free int64) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil {
		return true, 0
	}
	return usage.AvailBytes >= roomByDefault, int64(usage.AvailBytes)
}

func bleveDir(dir string) string { return filepath.Join(dir, "bleve") }

// page is a page as the index keeps it, to show it and to index it anew. Texts are as
// event.Line gives them.
type page struct {
	URL       string  `json:"url"`
	From      string  `json:"from,omitempty"`
	Title     string  `json:"title,omitempty"`
	Text      string  `json:"text,omitempty"` // the first maxText bytes
	Language  string  `json:"language,omitempty"`
	Terms     string  `json:"terms,omitempty"` // the language by whose rules it is indexed
	MIME      string  `json:"mime,omitempty"`
	Status    int     `json:"status"`
	Depth     int     `json:"depth"`
	At        int64   `json:"at"` // Unix time in µs
	Relevance float64 `json:"relevance"`
	Relevant  bool    `json:"relevant,omitempty"`  // by the last verdict
	Reason    string  `json:"reason,omitempty"`    // why it is no harvest whatever its relevance
	Overruled bool    `json:"overruled,omitempty"` // by the last verdict: the reason counts no more
	Wanted    bool    `json:"wanted,omitempty"`    // see event.Verdict
	// Thresholds is how many the crawl had been told when that verdict was given; see checkpoint.
	Thresholds int    `json:"thresholds,omitempty"`
	Number     int    `json:"number"` // in the order in which pages were indexed
	Hash       uint64 `json:"hash"`   // SimHash of the text
	Group      string `json:"group"`  // of near-copies
}

// verdict is what was said of a page anew, when the crawl had been told so many thresholds.
type verdict struct {
	event.Verdict
	thresholds int
}

// take takes in what was said of the page last.
func (p *page) take(v verdict) {
	p.Relevance, p.Relevant, p.Thresholds = v.Relevance, v.Relevant, v.thresholds
	last := v.After(event.Verdict{Reason: web.Reason(p.Reason), Wanted: p.Wanted})
	p.Reason, p.Wanted = string(last.Reason), last.Wanted
	p.Overruled = last.Overrules(last.Reason)
}

// leftOut tells whether the page is no harvest whatever its relevance.
func (p *page) leftOut() bool { return p.Reason != "" && !p.Overruled }

// verdict is the last verdict as a number: -1 where the page is left out, else twice its
// Thresholds, and 1 more where it is relevant.
func (p *page) verdict() float64 {
	switch {
	case p.leftOut():
		return -1
	case p.Relevant:
		return float64(2*p.Thresholds + 1)
	}
	return float64(2 * p.Thresholds)
}

// relevant tells whether a page counts as relevant: as its verdict says, unless the crawl was
// told another threshold since.
func (at *checkpoint) relevant(verdict int32, relevance float64) bool {
	if verdict >= 0 && int(verdict/2) < at.Thresholds {
		return relevance >= at.Threshold
	}
	return verdict >= 0 && verdict%2 == 1
}

// maxText bounds the text of a page that is indexed, in bytes.
const maxText = 256 << 10

// The fields of a document.
const (
	fieldTitle     = "title"
	fieldBody      = "body"
	fieldSite      = "site" // the host, and the names above it
	fieldHost      = "host"
	fieldLanguage  = "language"
	fieldTerms     = "terms" // the language by whose rules words were made, or unknown
	fieldType      = "type"
	fieldTime      = "time" // Unix time in s
	fieldRelevance = "relevance"
	fieldVerdict   = "verdict" // see page.verdict
	fieldNumber    = "number"
	fieldGroup     = "group"
	fieldBand      = "band" // pieces of the SimHash by which near-copies are found
	fieldHash      = "hash"
	fieldCard      = "card" // the page as JSON
)

// unknown stands for a language that nothing tells; its words are made as those of English.
const unknown = "unknown"

// words is the name of the analyzer of texts: they are terms already.
const words = "words"

// newMapping says how documents are indexed.
func newMapping() (mapping.IndexMapping, error) {
	m := bleve.NewIndexMapping()
	if err := m.AddCustomAnalyzer(words, map[string]any{"type": custom.Name, "tokenizer": whitespace.Name}); err != nil {
		return nil, err
	}
	m.ScoringModel = bleveapi.BM25Scoring
	m.StoreDynamic, m.IndexDynamic, m.DocValuesDynamic = false, false, false
	doc := bleve.NewDocumentStaticMapping()
	add := func(name string, f *mapping.FieldMapping, stored, sorted bool) {
		f.Store, f.DocValues, f.IncludeInAll = stored, sorted, false
		doc.AddFieldMappingsAt(name, f)
	}
	for _, name := range []string{fieldTitle, fieldBody} {
		f := bleve.NewTextFieldMapping()
		f.Analyzer, f.IncludeTermVectors = words, true // positions, for phrases
		add(name, f, false, false)
	}
	for _, name := range []string{fieldSite, fieldHost, fieldLanguage, fieldTerms, fieldType, fieldGroup, fieldBand} {
		f := bleve.NewKeywordFieldMapping()
		f.IncludeTermVectors = false
		add(name, f, name == fieldGroup, name == fieldHost)
	}
	for _, name := range []string{fieldTime, fieldRelevance, fieldVerdict, fieldNumber} {
		add(name, bleve.NewNumericFieldMapping(), false, true)
	}
	for _, name := range []string{fieldHash, fieldCard} {
		f := bleve.NewKeywordFieldMapping()
		f.Index, f.IncludeTermVectors = false, false
		add(name, f, true, false)
	}
	m.DefaultMapping = doc
	return m, nil
}

// sites are the names under which a host is found: with its port, without, and those
// above it.
func sites(h web.Host) []string {
	name := h.Name()
	out := []string{name}
	if string(h) != name {
		out = append(out, string(h))
	}
	for {
		_, above, ok := strings.Cut(name, ".")
		if !ok {
			return out
		}
		name = above
		out = append(out, name)
	}
}
