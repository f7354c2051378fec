package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sort"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/internal/bloom"
	"github.com/waggle-crawler/waggle/internal/offheap"
)

// A run is a file of the seen-set: marks sorted by hash, one for an address, written once.
//
//	header  "waggle run    " version(2 digits)                16 bytes
//	block*  count(4)  checksum(8)  record × count             12 + 28·128
//
// Blocks and records are those of a ledger. Every block but the last has 128 records, so that
// where one begins is known. In memory are the first hash of each block (half a
// bit for an address) and a filter of ten bits for an address: so an address that the run does not
// have is told without a look at the file but for one in a hundred, and for one that it has a
// single block is read and its checksum compared.
type run struct {
	runRef
	file   vfs.File
	name   string
	firsts []uint64 // of each block its first hash
	filter bloom.Filter
	buf    []byte
}

// runRef is a run as the store speaks of it: it has what the ledgers from first to last said,
// those that were never files among them. Its file is named by them, so that it
// can be told which files belong together where the store does not say.
type runRef struct {
	first, last uint64
	records     int64
}

const (
	runVersion = 1
	runRecords = 128
	runBlock   = blockHeader + runRecords*recordSize
	// runPiece is about how many bytes are written at a time.
	runPiece = 1 << 20
)

func runMagic() string { return fmt.Sprintf("waggle run    %02d", runVersion) }

// size is that of a run's file in bytes.
func (r runRef) size() int64 {
	size := ledgerHeader + r.records/runRecords*runBlock
	if rest := r.records % runRecords; rest > 0 {
		size += blockHeader + rest*recordSize
	}
	return size
}

// find returns what the run has of an address.
func (r *run) find(hash uint64) (rec record, ok bool, err error) {
	if !r.filter.Has(hash) {
		return record{}, false, nil
	}
	i := r.blockOf(hash)
	if i < 0 {
		return record{}, false, nil
	}
	at := ledgerHeader + int64(i)*runBlock
	count := min(runRecords, r.records-int64(i)*runRecords)
	b := r.buf[:blockHeader+count*recordSize]
	if _, err := r.file.ReadAt(b, at); err != nil && err != io.EOF {
		return record{}, false, fmt.Errorf("reading %s: %w", r.name, err)
	}
	body := b[blockHeader:]
	if int64(binary.LittleEndian.Uint32(b)) != count || binary.LittleEndian.Uint64(b[4:]) != blockSum(at, body) {
		return record{}, false, &DamageError{Path: r.name, Err: fmt.Errorf("at byte %d: %w", at, errDamaged)}
	}
	j := sort.Search(int(count), func(j int) bool { return binary.LittleEndian.Uint64(body[j*recordSize:]) >= hash })
	if j == int(count) {
		return record{}, false, nil
	}
	rec = parseRecord(body[j*recordSize:])
	return rec, rec.hash == hash, nil
}

// blockOf is the block in which a hash would stand, -1 for none. Hashes are spread evenly, so
// it is sought near the place that its size tells.
func (r *run) blockOf(hash uint64) int {
	const near = 64
	place, _ := bits.Mul64(hash, uint64(len(r.firsts)))
	lo, hi := max(int(place)-near, 0), min(int(place)+near, len(r.firsts))
	if lo > 0 && r.firsts[lo] > hash {
		lo = 0
	}
	if hi < len(r.firsts) && r.firsts[hi] <= hash {
		hi = len(r.firsts)
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return r.firsts[lo+i] > hash }) - 1
}

// close lets go of a run's file and memory.
func (r *run) close() error {
	offheap.Free(r.filter)
	return r.file.Close()
}

// runWriter writes a run.
type runWriter struct {
	fs    vfs.FS
	file  vfs.File
	at    int64 // of the block that is being filled
	begun int   // where that begins in piece
	piece []byte
	run   *run
}

// createRun makes the file of a run that will have at most so many records; ref has none yet.
func createRun(fs vfs.FS, name string, ref runRef, most int64) (*runWriter, error) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: runPiece})
	w := &runWriter{fs: fs, file: f, at: ledgerHeader, begun: ledgerHeader, piece: []byte(runMagic())}
	w.run = &run{runRef: ref, name: name, filter: newFilter(most), buf: make([]byte, runBlock)}
	return w, nil
}

// add writes a record, whose hash is higher than that of the one before.
func (w *runWriter) add(r record) error {
	if w.run.records%runRecords == 0 {
		w.run.firsts = append(w.run.firsts, r.hash)
		w.piece = append(w.piece, make([]byte, blockHeader)...)
	}
	w.piece = r.append(w.piece)
	w.run.filter.Add(r.hash)
	if w.run.records++; w.run.records%runRecords == 0 {
		return w.endBlock()
	}
	return nil
}

func (w *runWriter) endBlock() error {
	b := w.piece[w.begun:]
	if len(b) > 0 {
		records := b[blockHeader:]
		binary.LittleEndian.PutUint32(b, uint32(len(records)/recordSize))
		binary.LittleEndian.PutUint64(b[4:], blockSum(w.at, records))
		w.at += int64(len(b))
		w.begun = len(w.piece)
	}
	if len(w.piece) < runPiece {
		return nil
	}
	return w.flush()
}

func (w *runWriter) flush() error {
	_, err := w.file.Write(w.piece)
	w.piece, w.begun = w.piece[:0], 0
	return err
}

// finish makes the run survive a power failure, but for the name of its file, and opens it.
func (w *runWriter) finish() (*run, error) {
	err := w.endBlock()
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err == nil {
		w.run.file, err = w.fs.Open(w.run.name, vfs.RandomReadsOption)
	}
	if err != nil {
		offheap.Free(w.run.filter)
		return nil, fmt.Errorf("writing %s: %w", w.run.name, errors.Join(err, w.fs.Remove(w.run.name)))
	}
	return w.run, nil
}

// abandon gives up a run that is being written.
func (w *runWriter) abandon() error {
	offheap.Free(w.run.filter)
	return errors.Join(w.file.Close(), w.fs.Remove(w.run.name))
}

// openRun opens the file of a run, without what it keeps in memory: reading all of it with
// runReader.index makes that.
func openRun(fs vfs.FS, name string, ref runRef) (*run, error) {
	f, err := fs.Open(name, vfs.RandomReadsOption)
	if err != nil {
		return nil, err
	}
	return &run{runRef: ref, file: f, name: name, buf: make([]byte, runBlock)}, nil
}

// runReader reads the records of a run in their order.
type runReader struct {
	run   *run
	index bool // make the run's firsts and filter
	r     bufferedAt
	at    int64
	left  int64
	body  []byte
}

func (r *run) reader(index bool) (*runReader, error) {
	if err := checkMagic(r.file, r.name, runMagic()); err != nil {
		return nil, err
	}
	if index {
		offheap.Free(r.filter)
		r.filter, r.firsts = newFilter(r.records), nil
	}
	return &runReader{
		run: r, index: index, at: ledgerHeader, left: r.records,
		r: bufferedAt{f: r.file, pos: ledgerHeader, end: r.size()},
	}, nil
}

// next returns the next record; false behind the last.
func (r *runReader) next() (rec record, ok bool, err error) {
	if r.left == 0 {
		return record{}, false, nil
	}
	if len(r.body) == 0 {
		if r.body, err = r.r.block(r.at); err != nil {
			return record{}, false, fmt.Errorf("reading %s: %w", r.run.name, err)
		}
		if int64(len(r.body)) != min(runRecords, r.left)*recordSize {
			return record{}, false, &DamageError{Path: r.run.name, Err: fmt.Errorf("it can be read up to byte %d of %d", r.at, r.run.size())}
		}
		r.at += int64(blockHeader + len(r.body))
		if r.index {
			r.run.firsts = append(r.run.firsts, binary.LittleEndian.Uint64(r.body))
		}
	}
	rec = parseRecord(r.body)
	r.body = r.body[recordSize:]
	r.left--
	if r.index {
		r.run.filter.Add(rec.hash)
	}
	return rec, true, nil
}

// source gives records in the order of their hashes.
type source interface {
	next() (rec record, ok bool, err error)
}

// mergeRecords calls do with the records of several sources in the order of hashes; where several
// have an address, with that of the last of them.
func mergeRecords(from []source, do func(r record) error) error {
	heads := make([]record, 0, len(from))
	open := make([]source, 0, len(from))
	for _, s := range from {
		r, ok, err := s.next()
		if err != nil {
			return err
		}
		if ok {
			heads, open = append(heads, r), append(open, s)
		}
	}
	for len(open) > 0 {
		least := 0
		for i := 1; i < len(heads); i++ {
			if heads[i].hash <= heads[least].hash {
				least = i // a later one of the same hash counts
			}
		}
		r := heads[least]
		if err := do(r); err != nil {
			return err
		}
		for i := 0; i < len(open); {
			if heads[i].hash != r.hash {
				i++
				continue
			}
			next, ok, err := open[i].next()
			if err != nil {
				return err
			}
			if ok {
				heads[i] = next
				i++
				continue
			}
			heads, open = append(heads[:i], heads[i+1:]...), append(open[:i], open[i+1:]...)
		}
	}
	return nil
}

// newFilter makes an empty filter for so many addresses, outside the heap.
func newFilter(n int64) bloom.Filter { return offheap.Make[uint64](bloom.Words(n)) }
