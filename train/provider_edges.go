package train

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// EdgeList is a provider of in-links from files of links between pages, one a
// line: the address of the page, white space, the address it links to. What
// follows is ignored, as are empty lines and lines that begin with #. Files that
// begin as gzip or zstandard do are unpacked.
//
// The files may be of any size: each layer reads them once from end to end and
// keeps, of the links to its pages, the limit that a draw by Seed puts first. So
// memory is that of a layer's answer, and time four readings of the files for
// the usual five layers (see BenchmarkEdgeList).
type EdgeList struct {
	Paths []string
	Seed  uint64
	// Progress is told how many lines were read; it may be nil.
	Progress func(lines int)
}

var _ Inlinks = EdgeList{}

// Inlinks reads the files once. Errors name file and line.
func (e EdgeList) Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	wanted := make(map[web.URL]*draw, len(layer))
	hosts := map[string]bool{}
	for _, u := range layer {
		wanted[u] = &draw{limit: limit}
		hosts[u.Host().Name()] = true
	}
	read := 0
	for _, path := range e.Paths {
		for line, err := range lines(ctx, path) {
			if err != nil {
				return nil, err
			}
			if read++; e.Progress != nil && read%(1<<20) == 0 {
				e.Progress(read)
			}
			from, to, ok := twoFields(line.text)
			if !ok {
				return nil, fmt.Errorf("%s:%d: not two addresses with white space between: %q", path, line.number, clip(line.text))
			}
			// Making addresses canonical costs the most by far; most links lead
			// to other hosts, and that shows at a glance.
			if !mayBeOf(hosts, to) {
				continue
			}
			u, err := web.Parse(string(to))
			if err != nil {
				continue
			}
			d, ok := wanted[u]
			if !ok {
				continue
			}
			if v, err := web.Parse(string(from)); err == nil && v != u {
				d.add(edgeKey(e.Seed, v.String(), u.String()), v.String())
			}
		}
	}
	out := make([]InlinkList, len(layer))
	for i, u := range layer {
		for _, x := range wanted[u].sorted() {
			v, err := web.Parse(x.name)
			if err != nil {
				return nil, err
			}
			out[i].Pages = append(out[i].Pages, v)
		}
	}
	return out, nil
}

// mayBeOf tells, quickly, whether an address can be of one of the hosts; false
// is sure.
func mayBeOf(hosts map[string]bool, address []byte) bool {
	_, rest, ok := bytes.Cut(address, []byte("://"))
	if !ok {
		return true
	}
	for i, c := range rest {
		if c == '/' || c == '?' || c == '#' || c == ':' {
			rest = rest[:i]
			break
		}
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-') {
			return true // upper case, an @, an escape: for the parser
		}
	}
	return hosts[string(bytes.TrimSuffix(rest, []byte(".")))]
}

// HostGraph is a provider of in-links from a graph as Common Crawl publishes its
// web graphs: text files, mostly packed,
//
//	vertices   id, tab, host with its labels reversed (org.example.www) [, tab, …]
//	edges      id of the host, tab, id of the host it links to
//
// A vertex that is written as an address (with ://) is that page, so graphs of
// pages can be given in the same shape. A vertex that is a host stands for its
// home page: a page of a layer is looked up by its host, and the home pages of
// the hosts that link there are named. Collect then takes those that link to the
// page itself, so a graph of hosts helps for targets that are home pages.
//
// Each layer reads the vertices twice and the edges once; memory is that of a
// layer's answer.
type HostGraph struct {
	Vertices, Edges []string
	Seed            uint64
	// Scheme of home pages; "" = "https".
	Scheme string
	// Progress is told how many lines were read; it may be nil.
	Progress func(lines int)
}

var _ Inlinks = HostGraph{}

// Inlinks reads the files. Errors name file and line.
func (h HostGraph) Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	read := 0
	count := func() {
		if read++; h.Progress != nil && read%(1<<20) == 0 {
			h.Progress(read)
		}
	}
	byName := map[string][]int{} // name of a vertex → pages of the layer
	hosts := map[string]bool{}
	for i, u := range layer {
		hosts[u.Host().Name()] = true
		byName[reversed(u.Host().Name())] = append(byName[reversed(u.Host().Name())], i)
		byName[u.String()] = append(byName[u.String()], i)
	}
	byID := map[uint64][]int{}
	err := h.vertices(ctx, count, func(id uint64, name []byte) {
		if list, ok := byName[string(name)]; ok {
			byID[id] = append(byID[id], list...)
			return
		}
		if bytes.Contains(name, []byte("://")) && mayBeOf(hosts, name) {
			// A page, perhaps in another spelling than the canonical one.
			if u, err := web.Parse(string(name)); err == nil {
				if list, ok := byName[u.String()]; ok {
					byID[id] = append(byID[id], list...)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	draws, err := h.draw(ctx, count, layer, byID, limit)
	if err != nil {
		return nil, err
	}
	names, err := h.addresses(ctx, count, draws)
	if err != nil {
		return nil, err
	}
	out := make([]InlinkList, len(layer))
	for i := range draws {
		for _, x := range draws[i].sorted() {
			if u := names[x.name]; !u.IsZero() && u != layer[i] && !slices.Contains(out[i].Pages, u) {
				out[i].Pages = append(out[i].Pages, u)
			}
		}
	}
	return out, nil
}

// draw draws, for each page of a layer, at most limit of the vertices that link to
// its own, which byID has by their numbers.
func (h HostGraph) draw(ctx context.Context, count func(), layer []web.URL, byID map[uint64][]int, limit int) ([]draw, error) {
	draws := make([]draw, len(layer))
	for i := range draws {
		draws[i].limit = limit
	}
	if len(byID) == 0 {
		return draws, nil
	}
	for _, path := range h.Edges {
		for line, err := range lines(ctx, path) {
			if err != nil {
				return nil, err
			}
			count()
			a, b, ok := twoFields(line.text)
			from, errA := number(a)
			to, errB := number(b)
			if !ok || errA != nil || errB != nil {
				return nil, fmt.Errorf("%s:%d: not two vertex numbers: %q", path, line.number, clip(line.text))
			}
			if from == to {
				continue
			}
			for _, i := range byID[to] {
				id := strconv.FormatUint(from, 10)
				draws[i].add(edgeKey(h.Seed, id, layer[i].String()), id)
			}
		}
	}
	return draws, nil
}

// addresses finds the addresses of the vertices that were entry.
func (h HostGraph) addresses(ctx context.Context, count func(), draws []draw) (map[string]web.URL, error) {
	names := map[string]web.URL{}
	for i := range draws {
		for _, x := range draws[i].kept {
			names[x.name] = web.URL{}
		}
	}
	if len(names) == 0 {
		return names, nil
	}
	scheme := cmp.Or(h.Scheme, "https")
	err := h.vertices(ctx, count, func(id uint64, name []byte) {
		key := strconv.FormatUint(id, 10)
		if _, ok := names[key]; !ok {
			return
		}
		address := string(name)
		if !strings.Contains(address, "://") {
			address = scheme + "://" + reversed(address) + "/"
		}
		if u, err := web.Parse(address); err == nil {
			names[key] = u
		}
	})
	return names, err
}

// vertices reads the files of vertices once.
func (h HostGraph) vertices(ctx context.Context, count func(), each func(id uint64, name []byte)) error {
	for _, path := range h.Vertices {
		for line, err := range lines(ctx, path) {
			if err != nil {
				return err
			}
			count()
			a, name, ok := twoFields(line.text)
			id, errID := number(a)
			if !ok || errID != nil {
				return fmt.Errorf("%s:%d: not a number and the name of a host: %q", path, line.number, clip(line.text))
			}
			each(id, name)
		}
	}
	return nil
}

// reversed turns the labels of a host's name round: www.example.org ↔
// org.example.www.
func reversed(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// draw keeps, of all names added, the limit with the smallest keys: a uniform
// draw, whatever the order and however many.
type draw struct {
	limit int
	kept  []entry // a heap, the largest key in front
}

type entry struct {
	key  uint64
	name string
}

func (d entry) compare(e entry) int {
	return cmp.Or(cmp.Compare(d.key, e.key), cmp.Compare(d.name, e.name))
}

func (d *draw) add(key uint64, name string) {
	x := entry{key, name}
	if len(d.kept) == d.limit && (d.limit == 0 || x.compare(d.kept[0]) >= 0) {
		return
	}
	if slices.Contains(d.kept, x) {
		return // the same link once more
	}
	if len(d.kept) < d.limit {
		d.kept = append(d.kept, x)
		for i := len(d.kept) - 1; i > 0 && d.kept[i].compare(d.kept[(i-1)/2]) > 0; i = (i - 1) / 2 {
			d.kept[i], d.kept[(i-1)/2] = d.kept[(i-1)/2], d.kept[i]
		}
		return
	}
	d.kept[0] = x
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(d.kept) {
			return
		}
		if child+1 < len(d.kept) && d.kept[child+1].compare(d.kept[child]) > 0 {
			child++
		}
		if d.kept[i].compare(d.kept[child]) >= 0 {
			return
		}
		d.kept[i], d.kept[child] = d.kept[child], d.kept[i]
		i = child
	}
}

func (d *draw) sorted() []entry {
	slices.SortFunc(d.kept, entry.compare)
	return d.kept
}

// edgeKey puts the in-links of a page in an order of chance, the same each time.
func edgeKey(seed uint64, from, to string) uint64 {
	var h xxh3.Hasher // which takes everything
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	h.WriteString(to)
	h.WriteString(" ")
	h.WriteString(from)
	return h.Sum64()
}

// twoFields are the first two fields of a line.
func twoFields(line []byte) (a, b []byte, ok bool) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	i := 0
	for i < len(line) && !blank(line[i]) {
		i++
	}
	j := i
	for j < len(line) && blank(line[j]) {
		j++
	}
	k := j
	for k < len(line) && !blank(line[k]) {
		k++
	}
	return line[:i], line[j:k], i > 0 && k > j
}

func number(digits []byte) (n uint64, err error) {
	if len(digits) == 0 || len(digits) > 19 {
		return 0, strconv.ErrSyntax
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, strconv.ErrSyntax
		}
		n = 10*n + uint64(c-'0')
	}
	return n, nil
}

func clip(line []byte) string {
	if len(line) > 80 {
		return string(line[:80]) + "…"
	}
	return string(line)
}

type textLine struct {
	number int
	text   []byte // until the next line is asked for
}

// maxEdgeLine bounds a line of a file of links, in bytes: two addresses.
const maxEdgeLine = 64 << 10

// lines reads a file line by line, unpacking it, without comments and empty
// lines. After an error, which names the file, nothing follows.
func lines(ctx context.Context, path string) iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(textLine{}, fmt.Errorf("file of links: %w", err))
			return
		}
		defer f.Close()
		in, done, err := unpacked(f)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errCut
			}
			yield(textLine{}, fmt.Errorf("%s: %w", path, err))
			return
		}
		defer done()
		s := bufio.NewScanner(in)
		s.Buffer(make([]byte, 0, maxEdgeLine), maxEdgeLine)
		n := 0
		for s.Scan() && s.Err() == nil { // what is read before an error may be half a line
			if n++; n%(1<<16) == 0 && ctx.Err() != nil {
				yield(textLine{}, ctx.Err())
				return
			}
			b := bytes.TrimRight(s.Bytes(), "\r")
			if len(b) == 0 || b[0] == '#' {
				continue
			}
			if !yield(textLine{n, b}, nil) {
				return
			}
		}
		err = s.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d KiB: is this a list of links?", maxEdgeLine>>10)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errCut
		}
		if err != nil {
			yield(textLine{}, fmt.Errorf("%s:%d: %w", path, n+1, err))
		}
	}
}

var errCut = errors.New("the packed file is cut short: fetch it again")

// unpacked reads what a file holds once unpacked.
func unpacked(f io.Reader) (in io.Reader, done func(), err error) {
	b := bufio.NewReaderSize(f, 1<<20)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		return z, func() {}, err
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return b, func() {}, nil
}
