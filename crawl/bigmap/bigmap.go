// Package bigmap keeps a number for each of very many hashes in little memory: at most those
// that were put last in a map, all others in files, with eleven bits in memory for each.
//
// A crawl keeps so what it knows of the pages that it fetched. Nothing here outlives the process:
// a crawl that goes on puts in again what its log tells.
package bigmap

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/waggle-crawler/waggle/internal/bloom"
	"github.com/waggle-crawler/waggle/internal/offheap"
)

// File is what a run is written to, once, from its beginning to its end, and then read from. It
// is gone when it is closed.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Map has a number for each hash that was put. Not for concurrent use.
//
//	recent   hashes that were put last
//	  │ full: sorted and written
//	  ▼
//	runs     the oldest first; where a run is no larger than those after it they become one
//
// A hash is looked for in recent, then from the newest run to the oldest. After n calls of Put
// there are at most log₂(n/most)+1 runs, and each pair was written as often. That is done by the
// Put that fills recent: it takes .2 s where four million pairs become one run, and the mean of
// all Puts is half a microsecond.
type Map struct {
	create func() (File, error)
	most   int // hashes in recent
	full   int // hashes in recent at which a run is made of them: most, or more after an error
	recent map[uint64]uint64
	runs   []*run
	err    error
}

// New returns an empty map. It keeps at most so many hashes in memory and the others in files
// that create makes. Where create is nil, or fails, or a file cannot be written, more stay in
// memory.
func New(most int, create func() (File, error)) *Map {
	return &Map{create: create, most: most, full: most, recent: make(map[uint64]uint64)}
}

// Get returns the number of a hash. Where a file cannot be read it says that there is none, and
// Err has the error.
func (m *Map) Get(hash uint64) (value uint64, ok bool) {
	if value, ok = m.recent[hash]; ok {
		return value, true
	}
	for _, r := range slices.Backward(m.runs) {
		value, ok, err := r.find(hash)
		if err != nil {
			if m.err == nil {
				m.err = &readError{err}
			}
			return 0, false // an older run may have an older number
		}
		if ok {
			return value, true
		}
	}
	return 0, false
}

// Err is the first error of reading a file, nil if there was none.
func (m *Map) Err() error { return m.err }

// readError is an error of reading a run.
type readError struct{ err error }

func (e *readError) Error() string { return "reading a file of hashes: " + e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// Put sets the number of a hash. The bits of hashes must be spread evenly. Where no file can be
// written it is tried again once there are twice as many in memory.
func (m *Map) Put(hash, value uint64) {
	m.recent[hash] = value
	if m.create == nil || len(m.recent) < m.full {
		return
	}
	if m.spill() != nil {
		m.full = 2 * len(m.recent)
		return
	}
	if m.full > m.most { // a map that is cleared keeps its size
		m.recent = make(map[uint64]uint64)
	}
	clear(m.recent)
	m.full = m.most
}

// spill makes a run of recent, and of the last runs that are no larger than what would be added
// to them.
func (m *Map) spill() error {
	newestFirst := []source{&mapReader{keys: slices.Sorted(maps.Keys(m.recent)), of: m.recent}}
	n := len(m.recent)
	kept := len(m.runs)
	for kept > 0 && m.runs[kept-1].n <= n {
		kept--
		n += m.runs[kept].n
		newestFirst = append(newestFirst, &reader{run: m.runs[kept]})
	}
	f, err := m.create()
	if err != nil {
		return err
	}
	r, err := write(f, n, newestFirst)
	if err != nil {
		offheap.Free(r.filter)
		if unread := (*readError)(nil); errors.As(err, &unread) && m.err == nil {
			m.err = unread // what that run has may be lost
		}
		return errors.Join(err, f.Close())
	}
	for _, old := range m.runs[kept:] {
		_ = old.close() // nobody needs it any more
	}
	m.runs = slices.Replace(m.runs, kept, len(m.runs), r)
	return nil
}

// Close gives back the files and the memory. The map is empty then.
func (m *Map) Close() error {
	var errs []error
	for _, r := range m.runs {
		errs = append(errs, r.close())
	}
	m.runs, m.recent = nil, nil
	return errors.Join(errs...)
}

// run is a file of pairs, sorted by hash; no two have one hash.
type run struct {
	file   File
	n      int
	firsts []uint64 // of each block its first hash
	filter bloom.Filter
	block  []byte
}

func (r *run) close() error {
	offheap.Free(r.filter)
	r.filter = nil
	return r.file.Close()
}

const (
	pairSize  = 16  // hash and number, big-endian
	blockSize = 128 // pairs that are read at once
	pieceSize = 1 << 18
)

// find looks a hash up. It reads a block of the file if the run has the hash, and in one of a
// hundred cases if it has not.
func (r *run) find(hash uint64) (value uint64, ok bool, err error) {
	if !r.filter.Has(hash) {
		return 0, false, nil
	}
	i, exact := slices.BinarySearch(r.firsts, hash)
	if !exact {
		i--
	}
	if i < 0 {
		return 0, false, nil
	}
	b := r.block[:min(blockSize, r.n-i*blockSize)*pairSize]
	if err := r.read(b, int64(i)*blockSize*pairSize); err != nil {
		return 0, false, err
	}
	for ; len(b) > 0; b = b[pairSize:] {
		if binary.BigEndian.Uint64(b) == hash {
			return binary.BigEndian.Uint64(b[8:]), true, nil
		}
	}
	return 0, false, nil
}

// read fills b with what was written at a place.
func (r *run) read(b []byte, at int64) error {
	n, err := r.file.ReadAt(b, at)
	if n == len(b) {
		return nil // io.EOF behind the last byte is none
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// source gives pairs in the order of their hashes.
type source interface {
	// next is the next pair; ok is false after the last one.
	next() (hash, value uint64, ok bool, err error)
}

// mapReader reads a map in the order of its hashes.
type mapReader struct {
	keys []uint64
	of   map[uint64]uint64
}

func (s *mapReader) next() (hash, value uint64, ok bool, err error) {
	if len(s.keys) == 0 {
		return 0, 0, false, nil
	}
	hash, s.keys = s.keys[0], s.keys[1:]
	return hash, s.of[hash], true, nil
}

// reader reads a run from its beginning.
type reader struct {
	run  *run
	at   int64
	buf  []byte
	left []byte // of buf
}

func (s *reader) next() (hash, value uint64, ok bool, err error) {
	if len(s.left) == 0 {
		rest := int64(s.run.n)*pairSize - s.at
		if rest == 0 {
			return 0, 0, false, nil
		}
		if s.buf == nil {
			s.buf = make([]byte, pieceSize)
		}
		s.left = s.buf[:min(rest, pieceSize)]
		if err := s.run.read(s.left, s.at); err != nil {
			return 0, 0, false, err
		}
		s.at += int64(len(s.left))
	}
	hash, value = binary.BigEndian.Uint64(s.left), binary.BigEndian.Uint64(s.left[8:])
	s.left = s.left[pairSize:]
	return hash, value, true, nil
}

// write merges sources, which have n pairs at most, into a run. Where two have one hash the
// earlier source is right. After an error the caller frees what the run has all the same.
func write(f File, n int, from []source) (*run, error) {
	type head struct {
		hash, value uint64
		ok          bool
	}
	heads := make([]head, len(from))
	advance := func(i int) (err error) {
		h := &heads[i]
		if h.hash, h.value, h.ok, err = from[i].next(); err != nil {
			return &readError{err}
		}
		return nil
	}
	r := &run{file: f, filter: offheap.Make[uint64](bloom.Words(int64(n))), block: make([]byte, blockSize*pairSize)}
	for i := range from {
		if err := advance(i); err != nil {
			return r, err
		}
	}
	piece := make([]byte, 0, pieceSize)
	for {
		least := -1
		for i, h := range heads {
			if h.ok && (least < 0 || h.hash < heads[least].hash) {
				least = i
			}
		}
		if least < 0 {
			_, err := f.Write(piece)
			return r, err
		}
		hash := heads[least].hash
		if r.n%blockSize == 0 {
			r.firsts = append(r.firsts, hash)
		}
		r.n++
		r.filter.Add(hash)
		piece = binary.BigEndian.AppendUint64(piece, hash)
		piece = binary.BigEndian.AppendUint64(piece, heads[least].value)
		if len(piece) == cap(piece) {
			if _, err := f.Write(piece); err != nil {
				return r, err
			}
			piece = piece[:0]
		}
		for i := range heads {
			if heads[i].ok && heads[i].hash == hash {
				if err := advance(i); err != nil {
					return r, err
				}
			}
		}
	}
}
