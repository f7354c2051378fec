package train

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// A collected graph is a folder:
//
//	graph.json        topic, nodes with their layers, redirects; its presence
//	                  means that the graph is whole
//	pages/            the pages of the nodes, as WARC
//	inlinks.jsonl     what a provider on the network answered
//	sequences.jsonl   sequences drawn from the graph
//
// Edges and states are made anew from the pages when the graph is read.
const (
	graphFile     = "graph.json"
	pagesFolder   = "pages"
	inlinksFile   = "inlinks.jsonl"
	sequencesFile = "sequences.jsonl"
)

// GraphPath, PagesPath, InlinksPath and SequencesPath are where the parts of a
// collected graph lie within its folder.
func GraphPath(dir string) string     { return filepath.Join(dir, graphFile) }
func PagesPath(dir string) string     { return filepath.Join(dir, pagesFolder) }
func InlinksPath(dir string) string   { return filepath.Join(dir, inlinksFile) }
func SequencesPath(dir string) string { return filepath.Join(dir, sequencesFile) }

// graphVersion counts the changes of graph.json and sequences.jsonl.
const graphVersion = 1

// storedGraph is graph.json.
type storedGraph struct {
	Version     int                 `json:"waggle_training_graph"`
	Name        string              `json:"topic"`
	Description string              `json:"description,omitempty"`
	Keywords    []string            `json:"keywords,omitempty"`
	Layers      int                 `json:"layers"`
	Addresses   storedCanon         `json:"addresses"`
	Found       Found               `json:"found"`
	Digest      string              `json:"digest"` // Graph.Digest without sequences
	Nodes       []storedNode        `json:"nodes"`
	Moved       map[web.URL]web.URL `json:"moved,omitempty"`
}

// storedCanon is web.Canon, by which links are read.
type storedCanon struct {
	StripSessions bool `json:"strip_sessions"`
	StripTracking bool `json:"strip_tracking"`
}

type storedNode struct {
	URL    web.URL `json:"url"`
	Layer  int     `json:"layer"`
	Target bool    `json:"target,omitempty"`
	Body   string  `json:"body"` // digest, hex
}

// Save writes a graph into its folder: first the pages, as response brings them,
// then graph.json. A nil response says that the pages are there already, as a
// Live source keeps them. Sequences of an earlier graph are removed.
func Save(dir string, g *Graph, o store.Options, response func(web.URL) (*web.Response, error)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, old := range []string{GraphPath(dir), SequencesPath(dir)} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if response != nil {
		if err := savePages(dir, g, o, response); err != nil {
			return err
		}
	}
	digest := g.Digest(nil)
	s := storedGraph{
		Version: graphVersion, Name: g.Topic.Name, Description: g.Topic.Description, Keywords: g.Topic.Keywords,
		Layers: g.Layers, Addresses: storedCanon(g.Canon), Found: g.Found, Digest: hex.EncodeToString(digest[:]), Moved: g.moved,
	}
	for _, n := range g.Nodes {
		s.Nodes = append(s.Nodes, storedNode{n.URL, n.Layer, n.Target, hex.EncodeToString(n.Page.Digest[:])})
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return folder.Write(GraphPath(dir), append(b, '\n'))
}

func savePages(dir string, g *Graph, o store.Options, response func(web.URL) (*web.Response, error)) (err error) {
	if err := os.RemoveAll(PagesPath(dir)); err != nil {
		return err
	}
	archive, err := store.Create(PagesPath(dir), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, n := range g.Nodes {
		r, err := response(n.URL)
		if err != nil {
			return err
		}
		b, err := archive.EncodeResponse(r)
		if err != nil {
			return err
		}
		if _, err := archive.Append(b); err != nil {
			return err
		}
	}
	return nil
}

// ErrNoGraph is wrapped by the error of Load for a folder without a graph.
var ErrNoGraph = errors.New("no collected graph")

// mostStoredLayers is what CollectOptions.Layers allows; beyond it a file is
// damaged.
const mostStoredLayers = 100

// collectAgain is what to do about a damaged graph.
const collectAgain = "collect again with waggle train collect --force"

// Load reads a graph from its folder. parser makes the parser of its pages, by
// the rules for addresses under which it was collected: under others the same
// links would lead elsewhere. The error wraps ErrNoGraph, or says what is
// damaged and that collecting anew helps.
func Load(ctx context.Context, dir string, parser func(web.Canon) Parser) (*Graph, error) {
	s, err := readStored(dir)
	if err != nil {
		return nil, err
	}
	g := &Graph{
		Topic:  &topic.Topic{Name: s.Name, Description: s.Description, Keywords: s.Keywords},
		Layers: s.Layers, Canon: web.Canon(s.Addresses), Found: s.Found,
	}
	number := map[web.URL]int{}
	for i, n := range s.Nodes {
		if first, twice := number[n.URL]; twice {
			return nil, fmt.Errorf("%s is damaged (nodes %d and %d have one address, %s): %s", GraphPath(dir), first, i, n.URL, collectAgain)
		}
		if n.Layer < 0 || n.Layer >= s.Layers || n.URL.IsZero() {
			return nil, fmt.Errorf("%s is damaged (node %d): %s", GraphPath(dir), i, collectAgain)
		}
		number[n.URL] = i
		g.Nodes = append(g.Nodes, Node{URL: n.URL, Layer: n.Layer, Target: n.Target})
	}
	if err := g.loadPages(ctx, dir, s, number, parser(g.Canon)); err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if n.Layer == 0 {
			g.Topic.Examples = append(g.Topic.Examples, n.Page)
		}
	}
	g.complete(func(u web.URL) web.URL {
		if to, ok := s.Moved[u]; ok {
			return to
		}
		return u
	})
	if digest := g.Digest(nil); hex.EncodeToString(digest[:]) != s.Digest {
		return nil, fmt.Errorf("the links of the pages in %s are read otherwise than when they were collected: %s", dir, collectAgain)
	}
	return g, nil
}

// readStored reads the file of nodes.
func readStored(dir string) (*storedGraph, error) {
	b, err := os.ReadFile(GraphPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(PagesPath(dir)); err == nil {
			return nil, fmt.Errorf("%s: %w yet: its collection was stopped, and the same waggle train collect goes on with it", dir, ErrNoGraph)
		}
		return nil, fmt.Errorf("%s: %w there: waggle train collect -o %s makes one", dir, ErrNoGraph, dir)
	}
	if err != nil {
		return nil, err
	}
	var s storedGraph
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): %s", GraphPath(dir), err, collectAgain)
	}
	switch {
	case s.Version != graphVersion:
		return nil, fmt.Errorf("%s is of version %d and this waggle reads %d: %s", GraphPath(dir), s.Version, graphVersion, collectAgain)
	case s.Layers < 1 || s.Layers > mostStoredLayers:
		return nil, fmt.Errorf("%s is damaged (%d layers, where 1 to %d can be): %s", GraphPath(dir), s.Layers, mostStoredLayers, collectAgain)
	case len(s.Nodes) == 0:
		return nil, fmt.Errorf("%s is damaged (no nodes): %s", GraphPath(dir), collectAgain)
	}
	return &s, nil
}

// loadPages reads and parses the pages of the nodes, which number has by address
// and loses.
func (g *Graph) loadPages(ctx context.Context, dir string, s *storedGraph, number map[web.URL]int, p Parser) error {
	eg, egCtx := errgroup.WithContext(ctx)
	eg.SetLimit(runtime.GOMAXPROCS(0))
	for r, err := range responses(PagesPath(dir)) {
		if err != nil {
			return errors.Join(err, eg.Wait())
		}
		i, ok := number[r.URL]
		if !ok || egCtx.Err() != nil {
			continue
		}
		delete(number, r.URL)
		eg.Go(func() error {
			page, err := p.Parse(r)
			if err != nil {
				return fmt.Errorf("page %s of %s: %w: %s", r.URL, dir, err, collectAgain)
			}
			if hex.EncodeToString(page.Digest[:]) != s.Nodes[i].Body {
				return fmt.Errorf("page %s of %s is not the one that was collected: %s", r.URL, dir, collectAgain)
			}
			g.Nodes[i].Page = page
			return nil
		})
	}
	if err := errors.Join(eg.Wait(), ctx.Err()); err != nil {
		return err
	}
	if len(number) > 0 {
		return fmt.Errorf("%d of %d pages are missing from %s: %s", len(number), len(g.Nodes), PagesPath(dir), collectAgain)
	}
	return nil
}

// storedSequences is the first line of sequences.jsonl; each other line is the
// numbers of a sequence's nodes: [9,7,3,4,2,0].
type storedSequences struct {
	Version   int    `json:"waggle_sequences"`
	Graph     string `json:"graph"` // digest of the graph they were drawn from
	Sequences int    `json:"sequences"`
	Seed      uint64 `json:"seed"`
}

// SaveSequences writes sequences of a graph into a file, whole or not at all.
func SaveSequences(name string, g *Graph, sequences []Sequence, seed uint64) error {
	var b bytes.Buffer
	digest := g.Digest(nil)
	enc := json.NewEncoder(&b)
	if err := enc.Encode(storedSequences{graphVersion, hex.EncodeToString(digest[:]), len(sequences), seed}); err != nil {
		return err
	}
	for _, s := range sequences {
		if err := enc.Encode(s.Nodes); err != nil {
			return err
		}
	}
	return folder.Write(name, b.Bytes())
}

// LoadSequences reads sequences of a graph. The error says what to do about a
// file that is absent, damaged, or of another graph.
func LoadSequences(name string, g *Graph) ([]Sequence, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no sequences are drawn yet (%s): waggle train sequences draws them", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const remedy = "draw them anew with waggle train sequences"
	dec := json.NewDecoder(bufio.NewReader(f))
	var head storedSequences
	if err := dec.Decode(&head); err != nil || head.Version != graphVersion {
		return nil, fmt.Errorf("%s is damaged or of another version: %s", name, remedy)
	}
	if digest := g.Digest(nil); head.Graph != hex.EncodeToString(digest[:]) {
		return nil, fmt.Errorf("%s was drawn from another graph: %s", name, remedy)
	}
	var out []Sequence
	for {
		var s Sequence
		err := dec.Decode(&s.Nodes)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = g.check(&s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is damaged (sequence %d: %w): %s", name, len(out)+1, err, remedy)
		}
		out = append(out, s)
	}
	if len(out) != head.Sequences {
		return nil, fmt.Errorf("%s holds %d sequences of %d: %s", name, len(out), head.Sequences, remedy)
	}
	return out, nil
}

// check finds the edges of a sequence.
func (g *Graph) check(s *Sequence) error {
	if len(s.Nodes) < 2 {
		return errors.New("shorter than two pages")
	}
	for i, n := range s.Nodes {
		if n < 0 || int(n) >= len(g.Nodes) || slices.Contains(s.Nodes[:i], n) {
			return fmt.Errorf("page %d", n)
		}
		if i == 0 {
			continue
		}
		e, ok := g.edge(s.Nodes[i-1], n)
		if !ok {
			return fmt.Errorf("no link from page %d to page %d", s.Nodes[i-1], n)
		}
		s.Edges = append(s.Edges, e)
	}
	return nil
}

// KeptAnswers is a provider whose answers are kept in a file, so that a
// collection that was stopped asks nothing twice:
//
//	{"page":"https://…","limit":46,"inlinks":["https://…", …],"cut":true}   a line a page; cut only where it is
type KeptAnswers struct {
	From Inlinks
	Path string
	// Batch is the number of pages asked for at a time, after which the answers
	// are written; 0 = a whole layer.
	Batch int
}

type answer struct {
	Page    web.URL   `json:"page"`
	Limit   int       `json:"limit"`
	Inlinks []web.URL `json:"inlinks"`
	Cut     bool      `json:"cut,omitempty"`
}

var _ Inlinks = KeptAnswers{}

// recall reads what was answered.
func (r KeptAnswers) recall() (map[answerKey]InlinkList, error) {
	known := map[answerKey]InlinkList{}
	b, err := os.ReadFile(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	// A line that was cut off by a crash is cut off here as well.
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	if len(whole) < len(b) {
		if err := os.Truncate(r.Path, int64(len(whole))); err != nil {
			return nil, err
		}
	}
	for line := range bytes.Lines(whole) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w): remove it, and what it held is asked again", r.Path, err)
		}
		known[answerKey{a.Page, a.Limit}] = InlinkList{a.Inlinks, a.Cut}
	}
	return known, nil
}

type answerKey struct {
	page  web.URL
	limit int
}

// Inlinks answers from the file what was asked before, and asks for the rest.
func (r KeptAnswers) Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	known, err := r.recall()
	if err != nil {
		return nil, err
	}
	var unknown []web.URL
	for _, u := range layer {
		if _, ok := known[answerKey{u, limit}]; !ok {
			unknown = append(unknown, u)
		}
	}
	f, err := os.OpenFile(r.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for len(unknown) > 0 {
		batch := unknown
		if r.Batch > 0 {
			batch = unknown[:min(r.Batch, len(unknown))]
		}
		unknown = unknown[len(batch):]
		named, err := r.From.Inlinks(ctx, batch, limit)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		for i, u := range batch {
			known[answerKey{u, limit}] = named[i]
			if err := enc.Encode(answer{u, limit, named[i].Pages, named[i].Cut}); err != nil {
				return nil, err
			}
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			return nil, err
		}
	}
	out := make([]InlinkList, len(layer))
	for i, u := range layer {
		out[i] = known[answerKey{u, limit}]
		out[i].Pages = slices.Clone(out[i].Pages)
	}
	return out, f.Sync()
}
