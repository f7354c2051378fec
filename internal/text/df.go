package text

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The table is made from the definitions of WordNet 3.0 (see NOTICE):
//
//go:generate go run ./mkdf -wordnet /usr/share/wordnet -o df.gz
//go:embed df.gz
var backgroundTable []byte

// The tables df-LANGUAGE.gz are made of Debian's translated texts (see NOTICE):
//
//go:generate sh -c "go run ./mkdf -debian \"$(mktemp -d)\" -o ."
//go:embed df-*.gz
var otherTables embed.FS

// DF tells in what share of documents a stem occurs. It is immutable and safe
// for concurrent use.
//
// A background table stands for BackgroundWeight documents; Blend adds those
// of a crawl:
//
//	share(t) = (N₀·background(t) + count(t)) / (N₀ + n)
type DF struct {
	background map[string]float32 // share of documents, (0,1]
	counts     map[string]int32   // documents of the crawl that hold the stem
	n          int                // documents of the crawl
}

const (
	// BackgroundWeight is N₀: the number of documents that the background
	// table counts as beside those of a crawl.
	BackgroundWeight = 64
	// rareShare is the share of documents of a stem the table does not hold.
	rareShare = 1.0 / (1 << 15)
	// tableSteps is the number of steps of the table per halving.
	tableSteps = 8
)

// Background is the table of English that is built into the program.
func Background() *DF { return background() }

// background reads the table the first time: that takes longer than most of what is
// done with it. Nobody changes what a DF holds.
var background = sync.OnceValue(func() *DF {
	d, err := ReadDF(bytes.NewReader(backgroundTable))
	if err != nil {
		panic(fmt.Sprintf("text: the built-in table of document frequencies: %v", err))
	}
	return d
})

// BackgroundOf is the built-in table of some languages, or of English if none is named.
// Of several languages a stem has the share of that in which it is commonest. A
// language of which there is no table has an empty one: every stem is as rare there as
// any other, until a crawl tells more.
func BackgroundOf(languages ...string) *DF {
	if len(languages) == 0 || len(languages) == 1 && Canonical(languages[0]) == English {
		return Background()
	}
	d := &DF{background: map[string]float32{}}
	for _, l := range languages {
		for stem, share := range table(Canonical(l)) {
			d.background[stem] = max(d.background[stem], share)
		}
	}
	return d
}

// table is the built-in table of a language, nil if there is none.
func table(language string) map[string]float32 {
	if language == English {
		return Background().background
	}
	b, err := otherTables.ReadFile("df-" + language + ".gz")
	if err != nil {
		return nil
	}
	d, err := ReadDF(bytes.NewReader(b))
	if err != nil {
		panic(fmt.Sprintf("text: the built-in table of document frequencies of %s: %v", language, err))
	}
	return d.background
}

// Tables are the languages of which a table of document frequencies is built in, sorted.
func Tables() []string {
	out := []string{English}
	files, _ := otherTables.ReadDir(".")
	for _, f := range files {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(f.Name(), "df-"), ".gz"))
	}
	slices.Sort(out)
	return out
}

// ReadDF reads a table of document frequencies, which is gzipped text, a stem
// a line, sorted by stem:
//
//	stem SP step LF        share of documents = 2^(-step/8), step 0…255
func ReadDF(r io.Reader) (*DF, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("table of document frequencies: %w", err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("table of document frequencies: %w", err)
	}
	whole := string(b) // the stems are parts of it
	d := &DF{background: make(map[string]float32, strings.Count(whole, "\n"))}
	var shares [256]float32 // of steps
	for step := range shares {
		shares[step] = float32(math.Exp2(-float64(step) / tableSteps))
	}
	line := 0
	for l := range strings.Lines(whole) {
		line++
		stem, num, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
		step, err := strconv.ParseUint(num, 10, 8)
		if err != nil || stem == "" {
			return nil, fmt.Errorf("table of document frequencies, line %d: %.40q is not \"stem step\"", line, l)
		}
		d.background[stem] = shares[step]
	}
	return d, nil
}

// WriteDF writes a table for ReadDF from the shares of documents (0,1] of
// stems. Shares are rounded to an eighth of a halving.
func WriteDF(w io.Writer, share map[string]float64) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, stem := range slices.Sorted(maps.Keys(share)) {
		step := min(255, max(0, math.Round(-tableSteps*math.Log2(share[stem]))))
		if _, err := fmt.Fprintf(z, "%s %d\n", stem, int(step)); err != nil {
			return err
		}
	}
	return z.Close()
}

// Share is the share of documents that hold a stem, in (0,1).
func (d *DF) Share(stem string) float64 {
	p, ok := d.background[stem]
	if !ok {
		p = rareShare
	}
	share := (BackgroundWeight*float64(p) + float64(d.counts[stem])) / (BackgroundWeight + float64(d.n))
	return min(share, 1-rareShare)
}

// IDF is the information a stem carries, ln(1/share), > 0.
func (d *DF) IDF(stem string) float64 { return -math.Log(d.Share(stem)) }

// Len is the number of stems in the background table.
func (d *DF) Len() int { return len(d.background) }

// Blend returns d with the counts of a crawl in the place of those it had.
func (d *DF) Blend(c *Counts) *DF {
	return &DF{background: d.background, counts: maps.Clone(c.docs), n: c.n}
}

// Counts counts in how many documents each of some stems occurs. It is for
// one goroutine.
type Counts struct {
	docs map[string]int32
	n    int
}

// NewCounts counts the given stems only.
func NewCounts(stems []string) *Counts {
	c := &Counts{docs: make(map[string]int32, len(stems))}
	for _, s := range stems {
		c.docs[s] = 0
	}
	return c
}

// N is the number of documents counted.
func (c *Counts) N() int { return c.n }

// Add counts a document that holds the stems for which holds is true.
func (c *Counts) Add(holds func(stem string) bool) {
	c.n++
	for s := range c.docs {
		if holds(s) {
			c.docs[s]++
		}
	}
}

// AppendBinary appends the counts as
//
//	n uvarint · one count uvarint for each stem, by stem
func (c *Counts) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(c.n))
	for _, s := range slices.Sorted(maps.Keys(c.docs)) {
		b = binary.AppendUvarint(b, uint64(c.docs[s]))
	}
	return b, nil
}

// UnmarshalBinary reads what AppendBinary wrote for the same stems.
func (c *Counts) UnmarshalBinary(b []byte) error {
	errShape := errors.New("counts of document frequencies: not those of this topic")
	n, k := binary.Uvarint(b)
	if k <= 0 || n > math.MaxInt32 {
		return errShape
	}
	b = b[k:]
	docs := make(map[string]int32, len(c.docs))
	for _, s := range slices.Sorted(maps.Keys(c.docs)) {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > n {
			return errShape
		}
		docs[s], b = int32(v), b[k:]
	}
	if len(b) > 0 {
		return errShape
	}
	c.docs, c.n = docs, int(n)
	return nil
}
