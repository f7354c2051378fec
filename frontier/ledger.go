package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"
)

// A ledger is a file of the seen-set: every change of a mark, in order. What is in older ones was
// sorted into runs, see run.go.
//
//	header  "waggle ledger " version(2 digits)                16 bytes
//	block*  count(4)  checksum(8)  record × count             12 + 28·count
//	end     0(4)  0(8)                                        12
//	record  hash(8)  priority(8)  sequence(8)  host(4)        28 bytes
//
// Numbers are little-endian. A commit is one block, or several where it has more than mostBlock
// bytes of records. The checksum of a block is the XXH3 of its records, with its position in the
// file as the seed. Priority and
// sequence are a tag; host is the number of the address's host, noHost for an
// address that never had a queue.
//
// The length that counts is the one in the queue's store, written after the
// commit's blocks: what lies behind it belongs to no committed turn and is overwritten. Where a
// damaged store leaves the length unknown, blocks are read up to one with a count of
// 0, of which the header alone is written behind every commit: behind it may lie
// blocks of a process that died, which would fit where the sizes of the blocks do.
//
// A new version of the ledger needs a new version of the store, which is read first:
// where the store can be read, another version in the header is damage.
type ledger struct {
	file    vfs.File
	name    string
	size    int64 // committed
	records int64 // in it, and in the blocks of the next commit but the last of them
	block   []byte
	begun   int    // where the last block of the next commit begins in block
	most    int    // mostBlock, less in tests
	spare   []byte // for the next block
}

const (
	ledgerVersion = 1
	ledgerHeader  = 16
	blockHeader   = 12
	recordSize    = 28
	noHost        = math.MaxUint32
	// maxBlock bounds what a damaged count can make a reader allocate.
	maxBlock = 1 << 28
	// mostBlock is from how many bytes of records on a commit goes on in another block.
	mostBlock = 64 << 20
)

// record is the mark of an address and the number of its host.
type record struct {
	hash uint64
	tag
	host uint32
}

func (r record) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.hash)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.prio))
	b = binary.LittleEndian.AppendUint64(b, r.seq)
	return binary.LittleEndian.AppendUint32(b, r.host)
}

// parseRecord reads a record of recordSize bytes.
func parseRecord(b []byte) record {
	return record{
		hash: binary.LittleEndian.Uint64(b),
		tag: tag{
			prio: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
			seq:  binary.LittleEndian.Uint64(b[16:]),
		},
		host: binary.LittleEndian.Uint32(b[24:]),
	}
}

func ledgerMagic() string { return fmt.Sprintf("waggle ledger %02d", ledgerVersion) }

// createLedger makes an empty ledger.
func createLedger(fs vfs.FS, name string) (*ledger, error) {
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt([]byte(ledgerMagic()), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &ledger{file: f, name: name, size: ledgerHeader, most: mostBlock}, nil
}

// openLedger opens a ledger of which size bytes are committed, and calls do
// with each record. Where the file is damaged it returns with l.size at the end
// of what is whole.
func openLedger(fs vfs.FS, name string, size int64, do func(record)) (*ledger, error) {
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	l := &ledger{file: f, name: name, most: mostBlock}
	if l.size, l.records, err = readLedger(f, name, ledgerMagic(), size, do); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// readLedger calls do with each record of a ledger, or of a run, in its first size bytes, as
// far as its blocks are whole. It returns how far that is, in bytes and records.
func readLedger(f io.ReaderAt, name, magic string, size int64, do func(record)) (whole, records int64, err error) {
	if err := checkMagic(f, name, magic); err != nil {
		return 0, 0, err
	}
	whole = ledgerHeader
	r := &bufferedAt{f: f, pos: whole, end: size}
	for whole < size {
		body, err := r.block(whole)
		if body == nil || err != nil {
			return whole, records, err
		}
		whole += int64(blockHeader + len(body))
		records += int64(len(body) / recordSize)
		for ; len(body) > 0; body = body[recordSize:] {
			do(parseRecord(body))
		}
	}
	return whole, records, nil
}

// checkMagic reads the header of a ledger or a run.
func checkMagic(f io.ReaderAt, name, want string) error {
	head := make([]byte, ledgerHeader)
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	if string(head) == want {
		return nil
	}
	what := strings.Fields(want)[1]
	if string(head[:14]) == want[:14] {
		return &DamageError{Path: name, Err: fmt.Errorf("its header says version %q, and its store is of a time with version %s", head[14:], want[14:])}
	}
	return &DamageError{Path: name, Err: fmt.Errorf("it does not begin as a %s does", what)}
}

// block returns the records of the block that stands at a place of the file, which the reader
// has come to; nil where it is not whole.
func (r *bufferedAt) block(at int64) ([]byte, error) {
	head := r.next(blockHeader)
	if head == nil {
		return nil, r.err
	}
	n := int64(binary.LittleEndian.Uint32(head)) * recordSize
	sum := binary.LittleEndian.Uint64(head[4:])
	if n == 0 || n > maxBlock {
		return nil, nil
	}
	body := r.next(int(n))
	if body == nil || sum != blockSum(at, body) {
		return nil, r.err
	}
	return body, nil
}

func blockSum(at int64, records []byte) uint64 {
	return xxh3.HashSeed(records, uint64(at))
}

// bufferedAt reads a file from pos to end in large pieces.
type bufferedAt struct {
	f        io.ReaderAt
	pos, end int64
	buf      []byte
	rest     []byte
	err      error // other than the file's end
}

// next returns the next n bytes, valid until the next call; nil when there are
// not so many.
func (r *bufferedAt) next(n int) []byte {
	if len(r.rest) < n {
		want := int(min(max(int64(n), 1<<20), r.end-r.pos+int64(len(r.rest))))
		if want < n {
			return nil
		}
		if cap(r.buf) < want {
			grown := make([]byte, want)
			copy(grown, r.rest)
			r.buf = grown
		} else {
			copy(r.buf[:cap(r.buf)], r.rest)
		}
		r.buf = r.buf[:want]
		m, err := r.f.ReadAt(r.buf[len(r.rest):], r.pos)
		if err != nil && err != io.EOF {
			r.err = err
			return nil
		}
		r.pos += int64(m)
		r.rest = r.buf[:len(r.rest)+m]
		if len(r.rest) < n {
			return nil
		}
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

// add appends a record to the blocks that the next commit writes.
func (l *ledger) add(r record) {
	if len(l.block)-l.begun >= blockHeader+l.most {
		l.seal()
	}
	if len(l.block) == l.begun {
		l.block = append(l.block, make([]byte, blockHeader)...)
	}
	l.block = r.append(l.block)
}

// seal writes the header of the last block.
func (l *ledger) seal() {
	b := l.block[l.begun:]
	n := (len(b) - blockHeader) / recordSize
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.LittleEndian.PutUint64(b[4:], blockSum(l.size+int64(l.begun), b[blockHeader:]))
	l.records += int64(n)
	l.begun = len(l.block)
}

// cut ends the blocks of a commit: their bytes are to be written at that place, and they
// count once the store holds l.size. nil = nothing was added.
func (l *ledger) cut() (block []byte, at int64) {
	if len(l.block) == 0 {
		return nil, l.size
	}
	l.seal()
	block, at = append(l.block, make([]byte, blockHeader)...), l.size // with the end
	l.size += int64(len(l.block))
	l.block, l.begun, l.spare = l.spare, 0, nil
	return block, at
}
