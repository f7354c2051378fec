package score

import (
	"encoding/binary"
	"math"
	"path"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// The inputs of the models of waggle. Those that mean the same on every web are
// dense: each has its own weight. Four of these begin at a value that was set by hand,
// see waggleSettings, the others at 0; weights that were learnt on other webs found
// less (docs/results/flagship-tried.md). Those that mean something on this web only (a
// word, a host, a block of a page) are hashed, and begin at 0. A model given to the
// scorer takes the place of both.

// The dense inputs, each in [0,1].
const (
	inBias = iota
	// Of the page that holds the link.
	inRelevance  // as Options.Page has it
	inSimilarity // the judge's similarity
	inTitle      // similarity of the title
	inLinks      // the number of links, as ln(1+n)/7
	// Of the link on its page.
	inAnchor  // similarity of the anchor
	inAddress // similarity of the words of the address
	inJoint   // of both together
	inProduct // inSimilarity·inJoint
	inHeading // similarity of the heading above
	inPlace   // place among the links: 0 first, 1 last
	inBare    // 1 without an anchor text
	inWords   // words of the anchor, of 8
	inNumber  // 1 for an anchor of digits and signs only
	inHub     // 1 where anchor or address speak of an index or a list
	inFrame   // 1 for a link that is none of the element a
	// Of the address.
	inSameHost
	inSameFolder
	inBelow    // in a folder below that of the page
	inSegments // of the path, of 10
	inSlash    // ends in /
	inQuery
	inDigits // in the last segment
	// Of the path and of what was fetched so far.
	inDepth   // links from a seed, of 10
	inPath    // similarity of the pages on the path, halved with each link
	inNewHost // 1 where no address of the host was tried; a collision of hashes may make it 0
	denseInputs

	linkDense = inDepth // number of dense inputs that a link brings along
)

// denseNames tell people what a dense input is.
var denseNames = [denseInputs]string{
	"any link", "relevance of the page", "similarity of the page to the topic", "similarity of the title of the page", "the number of links on the page",
	"similarity of the anchor", "similarity of the words of the address", "anchor and address together", "page and link together",
	"similarity of the heading above", "its place among the links of the page", "no anchor text", "the length of the anchor", "an anchor without letters",
	"anchor or address speak of an index or a list", "a link other than by the element a",
	"it stays on the host of the page", "it stays in the folder of the page", "it leads to a folder below that of the page",
	"the number of folders in the address", "its address ends in /",
	"its address has a query", "the last part of its address has digits",
	"the number of links from a seed", "similarity of the pages on the path", "its host was not asked so far",
}

// inputKind is a kind of hashed inputs.
type inputKind uint8

// The kinds of hashed inputs.
const (
	kindWord    inputKind = iota // of the anchor
	kindPair                     // two words in a row of the anchor
	kindAnchor                   // the whole anchor
	kindHeading                  // word of the heading above
	kindAddress                  // word of the address
	kindHost                     // host of the address
	kindFolder                   // folder of the address
	kindAbove                    // one of the first folders of the address
	kindShape                    // address with what varies in it left out
	kindFrom                     // host of the page
	kindPage                     // the page: what its other links led to
	kindPlace                    // tag path of the link on the host
	kindBlock                    // tag path of the link on the page
	inputKinds
)

// inputKindNames holds of each kind its setting, and what an input of it is.
var inputKindNames = [inputKinds]struct{ setting, what string }{
	kindWord:    {"words", "word of the anchor"},
	kindPair:    {"pairs", "two words of the anchor"},
	kindAnchor:  {"anchors", "the whole anchor"},
	kindHeading: {"headings", "word of the heading"},
	kindAddress: {"addresses", "word of the address"},
	kindHost:    {"hosts", "its host"},
	kindFolder:  {"folders", "its folder"},
	kindAbove:   {"above", "a folder above it"},
	kindShape:   {"shapes", "the shape of its address"},
	kindFrom:    {"sources", "the host of the page"},
	kindPage:    {"pages", "the other links of the page"},
	kindPlace:   {"places", "its tag path on this host"},
	kindBlock:   {"blocks", "its tag path on this page"},
}

// divided tells whether the weight of an input of a kind is divided by the root
// of their number in the link: many words are not more evidence than few.
func (k inputKind) divided() bool { return k <= kindPair || k == kindHeading || k == kindAddress }

// Bounds on words per link.
const (
	mostAnchorWords  = 10
	mostAddressWords = 10
	mostHeadingWords = 6
	mostFolders      = 4
)

// kindBits is what of a hashed input tells its kind.
const (
	kindBits = 4
	hashBits = 32 - kindBits
)

// hashOf is a hashed input: kind in the upper 4 bits, hash in the others.
func hashOf(k inputKind, a, b uint64) uint32 {
	h := (a ^ (b*0x9E3779B97F4A7C15 + uint64(k))) * 0xD6E8FEB86659FD93
	return uint32(k)<<hashBits | uint32(h>>(64-hashBits))
}

// The features of a link are
//
//	dense inputs that it brings along, in 1/255, one byte each, without the bias
//	hash of the host of the address uint32 LE
//	{ hashed input uint32 LE }…, those of a kind next to one another
const (
	hostAt      = linkDense - 1
	hashedAt    = hostAt + 4
	pageFromEnd = 4 * 4 // bytes of the inputs of kindFrom, kindPage, kindPlace and kindBlock, the last ones
	mostHashed  = mostAnchorWords + mostAnchorWords - 1 + 1 + mostHeadingWords + mostAddressWords + 3 + mostFolders + 4
)

// quantize is a number of [0,1] in steps of 1/255.
func quantize(x float64) byte { return byte(unit(x)*255 + 0.5) }

// indicator is 1 for true and 0 for false.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pageInputs are what the links of a page have in common; the numbers are in [0,1].
type pageInputs struct {
	relevance, similarity, title, links float64
	folder                              string
	host                                web.Host
	from, page                          uint64 // hashes of host and address
	headings                            map[string]headingInputs
}

type headingInputs struct {
	similarity float64
	words      []string
}

// linkInputs is what is read of a link once.
type linkInputs struct {
	bare, query   string // the address before and after the question mark
	hasQuery      bool
	folder, last  string // bare, cut behind its last slash
	host          web.Host
	words         []string // of the anchor
	address       string   // the words of path and query
	heading       headingInputs
	anchor, joint float64 // similarities of the anchor, and of anchor and address together
	inAddress     float64 // similarity of the words of the address
}

// Extract reads of each link what is drawn above.
func (w *waggle) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	if len(p.Links) == 0 {
		return out
	}
	x := w.readPage(p, v)
	buf := make([]byte, 0, len(p.Links)*(hashedAt+4*24))
	for i := range p.Links {
		from := len(buf)
		l := w.readLink(&p.Links[i], &x)
		buf = appendDense(buf, p, &x, &l, i)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(xxh3.HashString(string(l.host))))
		w.hashed(&p.Links[i], &x, &l, func(h uint32, _ inputKind, _, _ string) {
			buf = binary.LittleEndian.AppendUint32(buf, h)
		})
		out[i] = buf[from:len(buf):len(buf)]
	}
	return out
}

func (w *waggle) readPage(p *web.Page, v web.Verdict) pageInputs {
	return pageInputs{
		relevance: unit(w.page(p, v)), similarity: unit(v.Similarity), title: w.similarity(p.Title),
		links:  math.Log1p(float64(len(p.Links))) / 7,
		folder: folderOf(p.URL.String()), host: p.URL.Host(),
		from: xxh3.HashString(string(p.URL.Host())), page: xxh3.HashString(p.URL.String()),
		headings: make(map[string]headingInputs),
	}
}

func (w *waggle) readLink(link *web.Link, x *pageInputs) linkInputs {
	l := linkInputs{host: link.URL.Host(), address: addressWords(link.URL)}
	l.bare, l.query, l.hasQuery = strings.Cut(link.URL.String(), "?")
	l.folder = folderOf(l.bare)
	l.last = l.bare[len(l.folder):]
	l.words = w.wordsOf(link.Anchor, mostAnchorWords)
	l.anchor, l.inAddress = w.similarity(link.Anchor), w.similarity(l.address)
	l.joint = min(1, l.anchor+l.inAddress)
	h, ok := x.headings[link.Heading]
	if !ok {
		h = headingInputs{w.similarity(link.Heading), w.wordsOf(link.Heading, mostHeadingWords)}
		x.headings[link.Heading] = h
	}
	l.heading = h
	return l
}

// similarity is that of a text to the topic, 0 without one.
func (w *waggle) similarity(s string) float64 {
	if strings.TrimSpace(s) == "" {
		return 0
	}
	return unit(w.anchor(s))
}

// wordsOf are at most most words of a text.
func (w *waggle) wordsOf(s string, most int) []string {
	words := w.analyzer.Words(s)
	return words[:min(len(words), most)]
}

// appendDense appends the dense inputs of link i of a page.
func appendDense(b []byte, p *web.Page, x *pageInputs, l *linkInputs, i int) []byte {
	link := &p.Links[i]
	var v [linkDense]float64
	v[inRelevance], v[inSimilarity], v[inTitle], v[inLinks] = x.relevance, x.similarity, x.title, x.links
	v[inAnchor], v[inAddress], v[inJoint] = l.anchor, l.inAddress, l.joint
	v[inProduct] = x.similarity * l.joint
	v[inHeading] = l.heading.similarity
	v[inPlace] = float64(i) / float64(len(p.Links))
	v[inBare] = indicator(strings.TrimSpace(link.Anchor) == "")
	v[inWords] = float64(len(strings.Fields(link.Anchor))) / 8
	v[inNumber] = indicator(isNumber(link.Anchor))
	v[inHub] = indicator(isHub(link.Anchor) || isHub(l.last))
	v[inFrame] = indicator(link.Kind != web.LinkA)
	v[inSameHost] = indicator(l.host == x.host)
	v[inSameFolder] = indicator(l.folder == x.folder)
	v[inBelow] = indicator(len(l.folder) > len(x.folder) && strings.HasPrefix(l.folder, x.folder))
	v[inSegments] = float64(strings.Count(l.folder, "/")-3) / 10
	v[inSlash] = indicator(strings.HasSuffix(l.bare, "/"))
	v[inQuery] = indicator(l.hasQuery)
	v[inDigits] = indicator(strings.ContainsAny(l.last, "0123456789"))
	for _, v := range v[1:] {
		b = append(b, quantize(v))
	}
	return b
}

// hashed yields the hashed inputs of a link, those of a kind next to one another,
// with up to two words, or the host or folder, that say what each is.
func (w *waggle) hashed(link *web.Link, x *pageInputs, l *linkInputs, yield func(h uint32, k inputKind, first, second string)) {
	word := func(k inputKind, s string) { yield(hashOf(k, xxh3.HashString(s), 0), k, s, "") }
	for _, s := range l.words {
		word(kindWord, s)
	}
	for i := 1; i < len(l.words); i++ {
		first, second := l.words[i-1], l.words[i]
		yield(hashOf(kindPair, xxh3.HashString(first), xxh3.HashString(second)), kindPair, first, second)
	}
	if len(l.words) > 0 {
		yield(hashOf(kindAnchor, xxh3.HashString(link.Anchor), 0), kindAnchor, "", "")
	}
	for _, s := range l.heading.words {
		word(kindHeading, s)
	}
	for _, s := range w.wordsOf(l.address, mostAddressWords) {
		word(kindAddress, s)
	}
	plain := func(k inputKind, a, b uint64, name string) { yield(hashOf(k, a, b), k, name, "") }
	plain(kindHost, xxh3.HashString(string(l.host)), 0, string(l.host))
	plain(kindFolder, xxh3.HashString(l.folder), 0, l.folder)
	_, rest, _ := strings.Cut(l.folder, "://")
	root := len(l.folder) - len(rest) + strings.IndexByte(rest, '/') + 1
	for at, n := root, 0; at < len(l.folder) && n < mostFolders; at++ {
		if l.folder[at] == '/' {
			plain(kindAbove, xxh3.HashString(l.folder[:at+1]), 0, l.folder[:at+1])
			n++
		}
	}
	plain(kindShape, shape(l.host, l.folder[root:], l.last, l.query), 0, "")
	tag := xxh3.HashString(link.TagPath)
	plain(kindFrom, x.from, 0, string(x.host))
	plain(kindPage, x.page, 0, "")
	plain(kindPlace, x.from, tag, string(x.host))
	plain(kindBlock, x.page, tag, "")
}

// folderOf is an address up to its last slash.
func folderOf(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address[:strings.LastIndexByte(address, '/')+1]
}

// addressWords is the path and query of an address as text.
func addressWords(u web.URL) string {
	s := u.RequestPath()
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch letter := 'a' <= c|0x20 && c|0x20 <= 'z'; {
		case c == '%' && i+2 < len(s):
			b = append(b, ' ')
			i += 2
		case letter && 'A' <= c && c <= 'Z' && i > 0 && 'a' <= s[i-1] && s[i-1] <= 'z':
			b = append(b, ' ', c)
		case letter || '0' <= c && c <= '9':
			b = append(b, c)
		default:
			b = append(b, ' ')
		}
	}
	return string(b)
}

// isNumber tells whether an anchor is digits, spaces, brackets, arrows and .,–- only,
// as page numbers are.
func isNumber(anchor string) bool {
	return strings.TrimSpace(anchor) != "" && strings.Trim(anchor, "0123456789 .,<>[]()«»‹›-–→←") == ""
}

// isHub tells whether a text speaks of an index or a list.
func isHub(s string) bool {
	if len(s) > 80 {
		s = s[:80]
	}
	s = strings.ToLower(s)
	for _, w := range [...]string{"index", "content", "toc", "archive", "list", "sitemap", "categor", "overview", "browse", "all "} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// shape is a hash of an address without what varies in it. It keeps the host, the
// depth, the first two folders if they hold no digit, what other segments are made of,
// the ending and the names in the query.
func shape(host web.Host, folders, last, query string) uint64 {
	b := append(make([]byte, 0, 128), host...)
	n := 0
	for segment := range strings.SplitSeq(strings.TrimSuffix(folders, "/"), "/") {
		b = append(b, '/')
		if n < 2 && !strings.ContainsAny(segment, "0123456789") {
			b = append(b, segment...)
		} else {
			b = append(b, segmentClass(segment))
		}
		n++
	}
	ending := path.Ext(last)
	if len(ending) > 6 {
		ending = ""
	}
	b = append(b, '/')
	b = append(b, segmentClass(strings.TrimSuffix(last, ending)))
	b = append(b, ending...)
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if strings.ContainsAny(name, "0123456789") {
			name = "#"
		}
		b = append(append(b, '&'), name...)
	}
	return xxh3.Hash(b)
}

// segmentClass tells what a segment is made of.
func segmentClass(s string) byte {
	switch {
	case s == "":
		return '0'
	case strings.Trim(s, "0123456789") == "":
		return '9'
	case strings.ContainsAny(s, "0123456789"):
		return 'm'
	case strings.ContainsAny(s, "-_"):
		return '-'
	}
	return 'a'
}

// read fills x from the features of a link and the path to it; false for a seed,
// which has no features, and for what is damaged.
func (w *waggle) read(x *example, f []byte, trail, depth byte) bool {
	if len(f) < hashedAt || (len(f)-hashedAt)%4 != 0 || len(f) > hashedAt+4*mostHashed {
		return false
	}
	if x.dense == nil {
		x.dense = make([]float32, denseInputs)
	}
	x.dense[inBias] = 1
	var renewed [hostAt]byte
	for i, b := range w.denseOf(f, &renewed) {
		x.dense[i+1] = float32(b) / 255
	}
	x.dense[inDepth], x.dense[inPath] = float32(depth)/10, float32(trail)/255
	x.dense[inNewHost] = 1
	if w.hosts.has(binary.LittleEndian.Uint32(f[hostAt:])) {
		x.dense[inNewHost] = 0
	}
	x.hashed = x.hashed[:0]
	for f = f[hashedAt:]; len(f) > 0; {
		kind, n := kindOf(f), 4
		for n < len(f) && kindOf(f[n:]) == kind {
			n += 4
		}
		if kind < inputKinds && w.variance[kind] > 0 {
			value := float32(1)
			if kind.divided() {
				value = rootShare[n/4]
			}
			for at := 0; at < n; at += 4 {
				x.hashed = append(x.hashed, hashedInput{placeOf(binary.LittleEndian.Uint32(f[at:])), value, w.variance[kind]})
			}
		}
		f = f[n:]
	}
	return true
}

// logit is that of what read reads, summed in the same order, 0 where read returns false.
// In a turn by the first weights it is of these.
// It fills no example, unlike read: most of what a crawl does for this scorer is scoring anew.
func (w *waggle) logit(f []byte, trail, depth byte) float64 {
	if len(f) < hashedAt || (len(f)-hashedAt)%4 != 0 || len(f) > hashedAt+4*mostHashed {
		return 0
	}
	dense, table := w.weights.dense, w.weights.means
	if w.alternation.byFirst {
		dense = w.alternation.dense
	}
	// All are read before the first is summed: the processor waits for the memory of all at a time.
	var means [mostHashed]float32
	for i := range (len(f) - hashedAt) / 4 {
		means[i] = table[placeOf(binary.LittleEndian.Uint32(f[hashedAt+4*i:]))]
	}
	sum := float32(0) + dense[inBias].mean
	var renewed [hostAt]byte
	for i, b := range w.denseOf(f, &renewed) {
		sum += dense[i+1].mean * share255[b]
	}
	sum += dense[inDepth].mean * (float32(depth) / 10)
	sum += dense[inPath].mean * (float32(trail) / 255)
	if !w.hosts.has(binary.LittleEndian.Uint32(f[hostAt:])) {
		sum += dense[inNewHost].mean
	}
	if w.alternation.byFirst {
		return float64(sum)
	}
	of := means[:]
	for f = f[hashedAt:]; len(f) > 0; {
		kind, n := kindOf(f), 4
		for n < len(f) && kindOf(f[n:]) == kind {
			n += 4
		}
		if kind < inputKinds && w.variance[kind] > 0 {
			value := float32(1)
			if kind.divided() {
				value = rootShare[n/4]
			}
			for _, mean := range of[:n/4] {
				sum += mean * value
			}
		}
		f, of = f[n:], of[n/4:]
	}
	return float64(sum)
}

// denseOf are the dense inputs in the features of a link, in 1/255. Where the page that holds
// the link has a new verdict, it fills renewed with the inputs by that verdict, and returns them.
func (w *waggle) denseOf(f []byte, renewed *[hostAt]byte) []byte {
	if len(w.renewed) == 0 || len(f) < hashedAt+pageFromEnd {
		return f[:hostAt]
	}
	v, ok := w.renewed[pageKey(binary.LittleEndian.Uint64(f[len(f)-pageFromEnd:]))]
	if !ok {
		return f[:hostAt]
	}
	copy(renewed[:], f)
	renewed[inRelevance-1], renewed[inSimilarity-1] = v.relevance, v.similarity
	renewed[inProduct-1] = quantize(float64(v.similarity) / 255 * float64(f[inJoint-1]) / 255)
	return renewed[:]
}

// share255 is b/255 by b.
var share255 = func() (s [256]float32) {
	for b := range s {
		s[b] = float32(b) / 255
	}
	return s
}()

// rootShare is 1/√n by n; see inputKind.divided.
var rootShare = func() (r [mostHashed + 1]float32) {
	for n := 1; n < len(r); n++ {
		r[n] = float32(1 / math.Sqrt(float64(n)))
	}
	return r
}()

// kindOf is the kind of the hashed input that f begins with.
func kindOf(f []byte) inputKind { return inputKind(f[3] >> (8 - kindBits)) }

// placeOf is the place of a hashed input in the table of weights.
func placeOf(h uint32) uint32 { return h * 0x9E3779B1 >> (32 - tableBits) }
