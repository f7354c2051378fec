package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// batchPages and batchBytes bound what is committed at once.
const (
	batchPages = 1024
	batchBytes = 16 << 20
)

// Builder writes an index. It is for one goroutine.
type Builder struct {
	col      collection.Collection
	dir      string
	parser   crawl.Parser
	analyzer *parse.Analyzer
	lock     io.Closer
	bleve    bleve.Index
	state    state

	batch   *bleve.Batch
	pending []page // of batch
	size    int    // bytes of texts in batch
}

// state is how far a Builder has come. It is committed with the pages.
type state struct {
	Version int `json:"version"`
	// Checkpoints are the last commits, oldest first. A crawl that was killed may
	// have cut the log back behind the newest.
	Checkpoints []checkpoint `json:"checkpoints,omitempty"`
	// Ahead is up to where the log tells of verdicts that pages may have already, while no checkpoint
	// is there; nil = nowhere.
	Ahead *ahead `json:"ahead,omitempty"`
}

// ahead is a place of the log.
type ahead struct {
	Log   int64  `json:"log"`   // bytes before it
	Bytes int    `json:"bytes"` // the last of these, of which Tail is a hash
	Tail  uint64 `json:"tail"`
}

// stateVersion changes when an index of before cannot be gone on with.
const stateVersion = 5

// checkpoint is the state of a commit.
type checkpoint struct {
	Log      int64            `json:"log"`  // bytes of the log that are in the index
	Tail     uint64           `json:"tail"` // a hash of the last of these bytes
	Archive  collection.Place `json:"archive"`
	Pages    int              `json:"pages"`    // indexed so far
	Rejudged int              `json:"rejudged"` // Rejudged events so far
	// Thresholds is how many thresholds the crawl was told so far in place of its own: by the
	// last of them, Threshold, all pages went that had been judged before.
	Thresholds int     `json:"thresholds,omitempty"`
	Threshold  float64 `json:"threshold,omitempty"`
}

// hear takes in what an event tells of verdicts.
func (at *checkpoint) hear(e event.Event) {
	if _, ok := e.(event.Rejudged); ok {
		at.Rejudged++
	}
	var history event.History
	history.Add(e)
	if threshold, ok := history.Threshold(); ok {
		at.Thresholds, at.Threshold = at.Thresholds+1, threshold
	}
}

// checkpointsKept bounds their number: with a commit every few seconds, the newest of
// them that a crawl synced to its disk is among them.
const checkpointsKept = 32

// stateKey is where the state lies in the index.
const stateKey = "waggle"

// Progress is how far a Builder has come.
type Progress struct {
	Pages   int // to index, as far as the log tells
	Indexed int
}

// NewBuilder opens the index in the folder dir, which it makes if there is none. The
// parser is that of the crawl. The error wraps ErrBusy if another Builder has it.
func NewBuilder(c collection.Collection, dir string, p crawl.Parser) (*Builder, error) {
	lock, err := folder.Lock(dir)
	if errors.Is(err, folder.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	b := &Builder{col: c, dir: dir, parser: p, analyzer: parse.NewAnalyzer(parse.Languages()...), lock: lock}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

// open opens the index, or makes it. One that is damaged, or whose making had hardly begun
// when it ended, is made anew: all that it holds is in log and archive.
func (b *Builder) open() (err error) {
	if !folder.Exists(bleveDir(b.dir)) {
		return b.create()
	}
	if b.bleve, err = openNewest(bleveDir(b.dir), map[string]any{"bolt_timeout": "10s"}); err == nil {
		if err = b.readState(); err != nil {
			err = errors.Join(err, b.bleve.Close())
		}
	}
	switch {
	case damaged(err):
		if err := os.RemoveAll(bleveDir(b.dir)); err != nil {
			return fmt.Errorf("the index: %w", err)
		}
		return b.create()
	case err != nil:
		return fmt.Errorf("the index in %s cannot be opened: %w", b.dir, err)
	}
	b.batch = b.bleve.NewBatch()
	if b.state.Version != stateVersion {
		return b.anew()
	}
	return nil
}

// readState reads how far the index is; one that was made a moment ago has no state.
func (b *Builder) readState() error {
	text, err := b.bleve.GetInternal([]byte(stateKey))
	if err != nil || text == nil {
		return err
	}
	return json.Unmarshal(text, &b.state)
}

func (b *Builder) create() error {
	m, err := newMapping()
	if err != nil {
		return err
	}
	if b.bleve, err = bleve.NewUsing(bleveDir(b.dir), m, scorch.Name, scorch.Name, nil); err != nil {
		return fmt.Errorf("the index: %w", err)
	}
	b.state, b.batch = state{Version: stateVersion}, b.bleve.NewBatch()
	return nil
}

// anew forgets the index and makes an empty one.
func (b *Builder) anew() error {
	if err := errors.Join(b.bleve.Close(), os.RemoveAll(bleveDir(b.dir))); err != nil {
		return err
	}
	b.pending, b.size = nil, 0
	return b.create()
}

// Close closes the index. What was not committed is indexed by the next Builder.
func (b *Builder) Close() error { return errors.Join(b.bleve.Close(), b.lock.Close()) }

// last is the newest checkpoint.
func (b *Builder) last() checkpoint { return b.state.last() }

func (s *state) last() checkpoint {
	if n := len(s.Checkpoints); n > 0 {
		return s.Checkpoints[n-1]
	}
	return checkpoint{}
}

// news is what the log tells beyond a checkpoint.
type news struct {
	end      int64  // where its last whole line ends
	tail     []byte // the last of the bytes before that, as they were read
	pages    int
	numbers  map[uint64]int     // number of the last page of an address
	verdicts map[uint64]verdict // told anew
	rejudged bool               // there are such
	left     int                // pages that ask not to be indexed
}

// Update indexes what the log tells by now, and commits it. Pages that ask not to be
// indexed (noindex) are left out. progress, unless nil, is
// called after each commit. A log that is not the one of before, because a crawl that
// was killed cut it back or it was repaired, takes the index back as far as needed, also where it
// becomes another while it is read.
func (b *Builder) Update(ctx context.Context, progress func(Progress)) error {
	for {
		if another, err := b.update(ctx, progress); !another || err != nil {
			return err
		}
	}
}

// update indexes what the log tells by now, unless it becomes another meanwhile.
func (b *Builder) update(ctx context.Context, progress func(Progress)) (another bool, err error) {
	b.batch, b.pending, b.size = b.bleve.NewBatch(), nil, 0 // of an Update that came to no end
	if err := b.rewind(ctx); err != nil {
		return false, err
	}
	from := b.last()
	n, err := b.readNews(ctx, from)
	if err != nil || n.end == from.Log {
		return false, err
	}
	if n.rejudged {
		b.state.Ahead = &ahead{n.end, len(n.tail), xxh3.Hash(n.tail)}
	}
	if err := b.renew(ctx, n); err != nil {
		return false, err
	}
	docs := b.col.Documents(ctx, b.parser, from.Archive, func(u web.URL) (int, bool) { i, ok := n.numbers[hashOf(u.String())]; return i, ok })
	defer docs.Close()
	at, number := from, -1
	for e, err := range event.EntriesFrom(b.col.EventLog(), from.Log) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, err
		}
		if e.Offset >= n.end {
			break
		}
		at.Log = e.Offset + int64(len(e.Line))
		at.hear(e.Event)
		if f, ok := e.Event.(event.Fetched); ok {
			number++
			if n.numbers[hashOf(f.URL.String())] != number {
				continue
			}
			if f.Reason == web.ReasonNoIndex || f.Directives.NoIndex {
				continue // it asks for that
			}
			doc, err := docs.Take(number, f)
			if err != nil {
				return false, err
			}
			if err := b.add(ctx, f, doc, n.verdicts, at.Thresholds); err != nil {
				return false, err
			}
			at.Pages++
		}
		at.Archive = docs.At()
		if len(b.pending) >= batchPages || b.size >= batchBytes {
			if another, err := b.commit(at, n); another || err != nil {
				return another, err
			}
			if progress != nil {
				progress(Progress{Pages: from.Pages + n.pages, Indexed: at.Pages})
			}
		}
	}
	at.Log = n.end
	if another, err := b.commit(at, n); another || err != nil {
		return another, err
	}
	if progress != nil {
		progress(Progress{Pages: at.Pages, Indexed: at.Pages})
	}
	return false, nil
}

func hashOf(address string) uint64 { return xxh3.HashString(address) }

// readNews reads the log behind a checkpoint once, to know what it comes to. Damaged
// lines are passed over; waggle verify tells them.
func (b *Builder) readNews(ctx context.Context, from checkpoint) (*news, error) {
	n := &news{end: from.Log, numbers: map[uint64]int{}, verdicts: map[uint64]verdict{}}
	at, number := from, -1
	for e, err := range event.EntriesFrom(b.col.EventLog(), from.Log) {
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(e.Err, event.ErrTorn) {
			break
		}
		if e.Offset != n.end { // of a line that is too long not all is at hand
			n.tail = nil
		}
		n.end = e.Offset + int64(len(e.Line))
		n.tail = append(n.tail, e.Line[max(0, len(e.Line)-tailBytes):]...)
		n.tail = n.tail[max(0, len(n.tail)-tailBytes):]
		at.hear(e.Event)
		switch e := e.Event.(type) {
		case event.Fetched:
			number++
			n.numbers[hashOf(e.URL.String())] = number
			if e.Reason == web.ReasonNoIndex || e.Directives.NoIndex {
				n.left++
			}
		case event.Rejudged:
			n.rejudged = true
			for _, v := range e.Pages {
				hash := hashOf(v.URL.String())
				n.verdicts[hash] = verdict{v.After(n.verdicts[hash].Verdict), at.Thresholds}
			}
		}
	}
	n.pages = len(n.numbers) - n.left
	return n, nil
}

// add puts a page into the batch, and commits none. thresholds is how many the crawl had been
// told.
func (b *Builder) add(ctx context.Context, f event.Fetched, doc *web.Page, verdicts map[uint64]verdict, thresholds int) error {
	p := page{
		URL: f.URL.String(), From: f.From.String(), Title: event.Line(f.Title), Language: event.Line(f.Language), MIME: event.Line(f.MIME),
		Status: f.Status, Depth: f.Depth, At: f.At.At.UnixMicro(), Relevance: f.Relevance, Relevant: f.Relevant, Thresholds: thresholds,
		Reason: string(f.Reason), Number: b.last().Pages + len(b.pending),
	}
	if v, ok := verdicts[hashOf(p.URL)]; ok {
		p.take(v)
	}
	if doc != nil {
		p.Text = head(event.Line(head(doc.Main, maxText)), maxText)
	}
	p.Terms = parse.LanguageOf(p.Text, p.Language)
	terms := b.analyzer.In(p.Terms).Words(p.Text)
	p.Hash = simHash(terms)
	var err error
	if p.Group, err = b.groupOf(ctx, &p); err != nil {
		return err
	}
	return b.put(p, terms)
}

// put puts a page into the batch.
func (b *Builder) put(p page, terms []string) error {
	card, err := json.Marshal(p)
	if err != nil {
		return err
	}
	u, err := web.Parse(p.URL)
	if err != nil {
		return err
	}
	err = b.batch.Index(p.URL, map[string]any{
		fieldTitle: strings.Join(b.analyzer.In(p.Terms).Words(p.Title), " "), fieldBody: strings.Join(terms, " "),
		fieldSite: sites(u.Host()), fieldHost: string(u.Host()), fieldLanguage: p.Language, fieldTerms: cmp.Or(p.Terms, unknown), fieldType: p.MIME,
		fieldTime: float64(p.At) / 1e6, fieldRelevance: p.Relevance, fieldVerdict: p.verdict(), fieldNumber: float64(p.Number),
		fieldGroup: p.Group, fieldBand: bands(p.Hash), fieldHash: strconv.FormatUint(p.Hash, 16), fieldCard: string(card),
	})
	b.pending = append(b.pending, p)
	b.size += len(card)
	return err
}

// head is the first n bytes of a text, or some fewer, so that no character is cut.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// commit writes the batch with a checkpoint, unless the log has become another than the one
// of which n tells, and by which pages were chosen for the batch.
func (b *Builder) commit(at checkpoint, n *news) (another bool, err error) {
	var tail []byte
	if at.Tail, err = tailOf(b.col.EventLog(), at.Log); err == nil {
		tail, err = bytesBefore(b.col.EventLog(), n.end, len(n.tail))
	}
	switch another = err == nil && !bytes.Equal(tail, n.tail) || errors.Is(err, io.EOF); {
	case another && n.rejudged: // the index has verdicts that are told no more
		return true, b.anew()
	case another:
		return true, nil
	case err != nil:
		return false, err
	}
	if at.Log == n.end {
		b.state.Ahead = nil
	}
	b.state.Checkpoints = append(b.state.Checkpoints, at)
	if extra := len(b.state.Checkpoints) - checkpointsKept; extra > 0 {
		b.state.Checkpoints = b.state.Checkpoints[extra:]
	}
	return false, b.write()
}

// write writes the batch and the state.
func (b *Builder) write() error {
	text, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	b.batch.SetInternal([]byte(stateKey), text)
	if err := b.bleve.Batch(b.batch); err != nil {
		return fmt.Errorf("the index in %s: %w", b.dir, err)
	}
	b.batch, b.pending, b.size = b.bleve.NewBatch(), nil, 0
	return nil
}

// tailBytes is how many bytes before a place of the log tell whether it is the same log.
const tailBytes = 512

// tailOf is a hash of the bytes before an offset of the log.
func tailOf(log string, offset int64) (uint64, error) {
	b, err := bytesBefore(log, offset, int(min(tailBytes, offset)))
	return xxh3.Hash(b), err
}

// bytesBefore are the n bytes before an offset of the log. The error wraps io.EOF where it ends before.
func bytesBefore(log string, offset int64, n int) ([]byte, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err = f.ReadAt(b, offset-int64(n))
	return b, errors.Join(err, f.Close())
}

// Pages is how many pages the index holds.
func (b *Builder) Pages() int {
	n, err := b.bleve.DocCount()
	if err != nil {
		return 0 // it is closed
	}
	return int(n)
}

// Remove removes the index in the folder dir, unless a Builder has it. What else is
// there stays.
func Remove(dir string) error {
	lock, err := folder.Lock(dir)
	if errors.Is(err, folder.ErrLocked) {
		return fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(bleveDir(dir)), lock.Close())
}
