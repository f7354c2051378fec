package collection

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/waggle-crawler/waggle/store"
)

// keptExchange is an exchange with its bytes.
type keptExchange struct {
	exchange
	records []byte
	ended   time.Time
}

// exchanges are those of an archive that are kept.
func (m *merge) exchanges(i int) iter.Seq2[keptExchange, error] {
	s := m.sources[i]
	return func(yield func(keptExchange, error) bool) {
		files, err := s.w.archiveFiles()
		if err != nil {
			yield(keptExchange{}, err)
			return
		}
		stop := errors.New("stop")
		tailed := false
		for _, f := range files {
			w := &walker{
				piece: func(p store.Piece) error {
					if p.Damage != nil && !s.unacknowledged(f.number, p.Offset) {
						return s.damaged(cause(p.Damage))
					}
					return m.ctx.Err()
				},
				exchange: func(x exchange, group []store.Piece) error {
					page := x.meta.Page
					switch h := hashOf(x.url); {
					case s.unacknowledged(f.number, x.at) && (tailed || !page || x.url != s.tail.String()):
						return nil
					case page && s.twice[h] != "":
						return nil
					case s.unacknowledged(f.number, x.at):
						tailed = true
					}
					b, err := readPieces(f.path, group)
					if err == nil && !yield(keptExchange{x, b, x.date.Add(x.meta.Took)}, nil) {
						err = stop
					}
					return err
				},
				orphan: func(url string, group []store.Piece) error {
					if s.unacknowledged(f.number, group[0].Offset) {
						return nil
					}
					if told, err := s.tells(url); !told || err != nil {
						return err // a robots.txt led there
					}
					return s.damaged(fmt.Errorf("%s: the metadata of %s cannot be read", f.path, url))
				},
				headless: func(store.Piece) error { return nil },
			}
			if err := w.walk(f.path, -1); errors.Is(err, stop) {
				return
			} else if err != nil {
				yield(keptExchange{}, err)
				return
			}
		}
	}
}

// unacknowledged tells places of the archive behind the mark.
func (s *source) unacknowledged(number int, at int64) bool {
	return number > s.archiveFile || number == s.archiveFile && at >= s.archiveEnd
}

// readPieces reads pieces of a file.
func readPieces(path string, pieces []store.Piece) (b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, p := range pieces {
		at := len(b)
		b = append(b, make([]byte, p.End-p.Offset)...)
		if _, err := f.ReadAt(b[at:], p.Offset); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// mergeArchives writes the new archive.
func (m *merge) mergeArchives() (err error) {
	o := m.o.Archive
	o.Mark, o.Room = store.StartMark(), newRoom(m.w.ArchiveDir()).take
	a, err := store.Open(m.w.ArchiveDir(), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	m.archiveMark = a.Mark()
	var lists []iter.Seq2[keptExchange, error]
	for i := range m.sources {
		lists = append(lists, m.exchanges(i))
	}
	n := int64(0)
	for _, x := range inOrder(lists, func(x keptExchange) time.Time { return x.ended }) {
		if x.err != nil {
			return x.err
		}
		if m.archiveMark, err = a.Append(x.value.records); err != nil {
			return err
		}
		n++
		m.o.Progress("archives", n, int64(len(m.seen)))
	}
	return a.Sync()
}

// listHead is the next value of a list, or an error.
type listHead[T any] struct {
	value T
	err   error
}

// inOrder goes through several lists at a time, each in its order, always with that whose next
// value is the earliest; at the same moment, with the first. An error ends it.
func inOrder[T any](lists []iter.Seq2[T, error], at func(T) time.Time) iter.Seq2[int, listHead[T]] {
	return func(yield func(int, listHead[T]) bool) {
		next := make([]func() (T, error, bool), len(lists))
		heads := make([]*T, len(lists))
		advance := func(i int) error {
			v, err, ok := next[i]()
			if heads[i] = nil; ok && err == nil {
				heads[i] = &v
			}
			return err
		}
		for i, list := range lists {
			var stop func()
			next[i], stop = iter.Pull2(list)
			defer stop()
		}
		for i := range lists {
			if err := advance(i); err != nil {
				yield(i, listHead[T]{err: err})
				return
			}
		}
		for {
			first := -1
			for i, h := range heads {
				if h != nil && (first < 0 || at(*h).Before(at(*heads[first]))) {
					first = i
				}
			}
			if first < 0 || !yield(first, listHead[T]{value: *heads[first]}) {
				return
			}
			if err := advance(first); err != nil {
				yield(first, listHead[T]{err: err})
				return
			}
		}
	}
}
