package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// The records of the logs. Texts and lists have their length before them, as uvarint.
//
//	links/N   'L' after session from till   links to hosts of shard N; to be taken in after that
//	              links                     position of the log all. With from they are in
//	                                        records of told from there to till
//	done/N    'T' worker                    shard N is this worker's from here on
//	          'D' worker archive events     what a turn of it did: the marks of its stores, up
//	              sent done hosts links     to where links to other shards were copied, addresses,
//	              away                      states of hosts, links to N, links to other shards
//	all       'A' worker lessons moved      for every worker
//	told      'G' session after before      links to hosts of shards of anybody, a section for each
//	              live links                shard; before is the record that the session told before,
//	                                        live are shards of which its worker takes in what is told
//	                                        from here on
//
// Those of links and of all are read by everybody. So what they hold is checked as what
// a page holds is.
const (
	kindLinks  = 'L'
	kindTaken  = 'T'
	kindDone   = 'D'
	kindForAll = 'A'
	kindTold   = 'G'
	kindAct    = 'P'
)

// Bounds of what is read and written.
const (
	mostLinks   = 4096           // in a record
	mostBytes   = 400_000        // of a record, after which a new one begins
	mostAddress = 1 << 13        // bytes
	mostScorer  = 1 << 16        // bytes of features or memory
	mostWait    = 24 * time.Hour // of a host
	mostPages   = 1_000_000_000  // of a host
	mostLosses  = 1 << 20
	mostShards  = 1 << 16
)

// doneRecord is a record of a shard's holder.
type doneRecord struct {
	worker          string
	taken           bool
	archive, events []byte // marks, of a turn
	// sent is a position in the same log: what records up to there have away is in links/M, too.
	sent  engine.Position
	done  []web.URL
	hosts []hostRecord
	links []web.Candidate // to hosts of the same shard
	away  []web.Candidate // to others

	at engine.Position // of the record; it is not in it
}

// hostRecord is how a turn leaves a host.
type hostRecord struct {
	host    web.Host
	fetched int
	wait    time.Duration // from the turn on
}

func (r *doneRecord) encode() []byte {
	if r.taken {
		return wire.AppendString([]byte{kindTaken}, r.worker)
	}
	b := wire.AppendString([]byte{kindDone}, r.worker)
	b = wire.AppendString(b, string(r.archive))
	b = wire.AppendString(b, string(r.events))
	b = binary.AppendUvarint(b, uint64(r.sent))
	b = binary.AppendUvarint(b, uint64(len(r.done)))
	for _, u := range r.done {
		b = wire.AppendString(b, u.String())
	}
	b = binary.AppendUvarint(b, uint64(len(r.hosts)))
	for _, h := range r.hosts {
		b = wire.AppendString(b, string(h.host))
		b = binary.AppendUvarint(b, uint64(h.fetched))
		b = binary.AppendUvarint(b, uint64(h.wait.Milliseconds()))
	}
	return appendLinks(appendLinks(b, r.links), r.away)
}

// readDoneRecord reads a record of a shard's holder; without its links where they are not wanted.
func readDoneRecord(b []byte, links bool) (r doneRecord, err error) {
	in := wire.NewReader(b)
	kind := in.Byte()
	r.worker = in.String()
	switch kind {
	case kindTaken:
		r.taken = true
		return r, in.End()
	case kindDone:
	default:
		return r, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	r.archive, r.events = []byte(in.String()), []byte(in.String())
	r.sent = engine.Position(in.Number(math.MaxInt64))
	for range in.Count(1) {
		r.done = append(r.done, readURL(in))
	}
	for range in.Count(3) {
		h := hostRecord{host: web.Host(in.String()), fetched: in.Number(mostPages)}
		h.wait = time.Duration(in.Number(uint64(mostWait.Milliseconds()))) * time.Millisecond
		r.hosts = append(r.hosts, h)
	}
	if !links {
		return r, in.Err()
	}
	r.links, r.away = readLinks(in), readLinks(in)
	return r, in.End()
}

// linkRecord is what comes before the links in a record of links to one shard.
type linkRecord struct {
	after   engine.Position
	session string // that wrote it
	// from and till are positions of the log told: each of the links is in a record between them, by the same
	// session, and such a record is at till. From is 0 where that is not so.
	from, till engine.Position
}

// linkRecords are the records of links to one shard.
func linkRecords(r linkRecord, links []web.Candidate) (records [][]byte) {
	head := binary.AppendUvarint([]byte{kindLinks}, uint64(r.after))
	head = wire.AppendString(head, r.session)
	head = binary.AppendUvarint(head, uint64(r.from))
	head = binary.AppendUvarint(head, uint64(r.till))
	for len(links) > 0 {
		n := fitting(links)
		records = append(records, appendLinks(slices.Clip(head), links[:n]))
		links = links[n:]
	}
	return records
}

// fitting is how many of the first links a record has room for.
func fitting(links []web.Candidate) (n int) {
	for size := 0; n < len(links) && n < mostLinks && size < mostBytes; n++ {
		size += sizeOf(&links[n])
	}
	return n
}

// readLinkRecord reads links that others found.
func readLinkRecord(b []byte) (r linkRecord, links []web.Candidate, err error) {
	in := wire.NewReader(b)
	if kind := in.Byte(); in.Err() == nil && kind != kindLinks {
		return r, nil, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	r.after = engine.Position(in.Number(math.MaxInt64))
	r.session = in.String()
	r.from, r.till = engine.Position(in.Number(math.MaxInt64)), engine.Position(in.Number(math.MaxInt64))
	links = readLinks(in)
	return r, links, in.End()
}

// appendLinks writes links:
//
//	number
//	flags depth redirects priority(8) [from] [memory] kind address features    for each
//
// From and memory are left out, and the flags say so, where they are those of the link before. Features and memory
// that nobody would read for their size are left out: then the link waits as one does of which nothing was seen.
func appendLinks(b []byte, links []web.Candidate) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	var before web.Candidate
	for _, c := range links {
		if len(c.Features) > mostScorer {
			c.Features = nil
		}
		if len(c.Memory) > mostScorer {
			c.Memory = nil
		}
		var flags byte
		if c.From == before.From {
			flags |= sameFrom
		}
		if string(c.Memory) == string(before.Memory) {
			flags |= sameMemory
		}
		b = append(b, flags)
		b = binary.AppendUvarint(b, uint64(c.Depth))
		b = binary.AppendUvarint(b, uint64(c.Redirects))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Priority))
		if flags&sameFrom == 0 {
			b = wire.AppendString(b, c.From.String())
		}
		if flags&sameMemory == 0 {
			b = wire.AppendString(b, string(c.Memory))
		}
		b = wire.AppendString(b, string(c.Kind))
		b = wire.AppendString(b, c.URL.String())
		b = wire.AppendString(b, string(c.Features))
		before = c
	}
	return b
}

const (
	sameFrom = 1 << iota
	sameMemory
)

func readLinks(in *wire.Reader) (links []web.Candidate) {
	var before web.Candidate
	for range in.Count(14) {
		flags := in.Byte()
		c := web.Candidate{From: before.From, Memory: before.Memory}
		c.Depth, c.Redirects = in.Number(1<<20), in.Number(1<<20)
		c.Priority = in.Float64()
		if flags&sameFrom == 0 {
			c.From = web.URL{}
			if from := in.String(); from != "" {
				c.From = parseURL(in, from)
			}
		}
		if flags&sameMemory == 0 {
			c.Memory = bytesOf(in)
		}
		c.Kind = web.LinkKind(in.String())
		if len(c.Kind) > 32 {
			in.Fail("a kind of link of %d bytes", len(c.Kind))
		}
		c.URL = readURL(in)
		c.Features = bytesOf(in)
		if in.Err() != nil {
			return nil
		}
		links = append(links, c)
		before = c
	}
	return links
}

// bytesOf reads what only a scorer can read.
func bytesOf(in *wire.Reader) []byte {
	b := in.String()
	if len(b) > mostScorer {
		in.Fail("%d bytes of a scorer", len(b))
	}
	if b == "" {
		return nil
	}
	return []byte(b)
}

func readURL(in *wire.Reader) web.URL { return parseURL(in, in.String()) }

func parseURL(in *wire.Reader, s string) web.URL {
	if in.Err() != nil {
		return web.URL{}
	}
	if len(s) > mostAddress {
		in.Fail("an address of %d bytes", len(s))
		return web.URL{}
	}
	u, err := web.Parse(s)
	if err != nil {
		in.Fail("%w", err)
	}
	return u
}

// forAll is a record for every worker.
type forAll struct {
	worker  string
	lessons []crawl.Lesson
	moved   []web.URL
}

func (r *forAll) encode() []byte {
	b := wire.AppendString([]byte{kindForAll}, r.worker)
	b = binary.AppendUvarint(b, uint64(len(r.lessons)))
	for _, l := range r.lessons {
		judge := byte(0)
		if l.Judge {
			judge = 1
		}
		b = wire.AppendString(append(b, judge), string(l.Data))
	}
	b = binary.AppendUvarint(b, uint64(len(r.moved)))
	for _, u := range r.moved {
		b = wire.AppendString(b, u.String())
	}
	return b
}

func readForAll(b []byte) (r forAll, err error) {
	in := wire.NewReader(b)
	if kind := in.Byte(); in.Err() == nil && kind != kindForAll {
		return r, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	r.worker = in.String()
	for range in.Count(2) {
		r.lessons = append(r.lessons, crawl.Lesson{Judge: in.Byte() == 1, Data: []byte(in.String())})
	}
	for range in.Count(1) {
		r.moved = append(r.moved, readURL(in))
	}
	return r, in.End()
}

// view is how far a worker's frontier has come in the logs of a shard. It is stored with
// each turn that moves it, as seven uvarint.
type view struct {
	Links engine.Position // in links/N
	// The links that holders before this one logged in done/N were taken in up to Done;
	// Till is the position of the last of them. What this holder logs it has.
	Done, Till engine.Position
	Last       engine.Position // the record of done/N that is the condition of the next
	Losses     int             // how many losses were known when the shard was taken
	Sum        uint32          // of the record at Links, see sum; 0 = it is not known
	Sent       engine.Position // see doneRecord
}

func (v view) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(v.Links))
	b = binary.AppendUvarint(b, uint64(v.Done))
	b = binary.AppendUvarint(b, uint64(v.Till))
	b = binary.AppendUvarint(b, uint64(v.Last))
	b = binary.AppendUvarint(b, uint64(v.Losses))
	b = binary.AppendUvarint(b, uint64(v.Sum))
	return binary.AppendUvarint(b, uint64(v.Sent))
}

var errView = errors.New("it is damaged")

func readView(b []byte) (v view, err error) {
	var x [7]uint64
	for i := range x {
		n := 0
		if x[i], n = binary.Uvarint(b); n <= 0 {
			return v, errView
		}
		b = b[n:]
	}
	if x[4] > mostLosses || x[5] > math.MaxUint32 {
		return v, errView
	}
	at := func(i int) engine.Position { return engine.Position(x[i]) }
	return view{Links: at(0), Done: at(1), Till: at(2), Last: at(3), Losses: int(x[4]), Sum: uint32(x[5]), Sent: at(6)}, nil
}
