package export

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"io"
	"os"
	"slices"
)

// sorter sorts lines of any number: beyond some megabytes they lie in temporary files,
// each sorted, which are merged at the end. The zero sorter is empty.
type sorter struct {
	memory int // bound on the lines in memory, in bytes; 0 = sorterMemory
	key    int // so many bytes of each line are there to sort it, and are not written
	lines  [][]byte
	size   int
	files  []*os.File
}

const sorterMemory = 32 << 20

// add takes a line without newline.
func (s *sorter) add(line []byte) error {
	s.lines = append(s.lines, line)
	if s.size += len(line) + 48; s.size < cmp.Or(s.memory, sorterMemory) {
		return nil
	}
	return s.spill()
}

// spill moves the lines in memory to a file.
func (s *sorter) spill() error {
	f, err := os.CreateTemp("", "waggle-sort-*")
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	w := bufio.NewWriter(f)
	if err := s.flush(w, 0); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// flush writes the lines in memory from a byte of each on, sorted, and forgets them.
func (s *sorter) flush(w io.Writer, from int) error {
	slices.SortFunc(s.lines, bytes.Compare)
	for _, l := range s.lines {
		if _, err := w.Write(append(l[from:], '\n')); err != nil {
			return err
		}
	}
	clear(s.lines)
	s.lines, s.size = s.lines[:0], 0
	return nil
}

// write writes all lines in their order, each with a newline.
func (s *sorter) write(w io.Writer) error {
	if len(s.files) == 0 {
		return s.flush(w, s.key)
	}
	if err := s.spill(); err != nil {
		return err
	}
	var runs runHeap
	for _, f := range s.files {
		one := &sortedRun{in: bufio.NewReader(f)}
		if more, err := one.advance(); err != nil {
			return err
		} else if more {
			runs = append(runs, one)
		}
	}
	heap.Init(&runs)
	for len(runs) > 0 {
		if _, err := w.Write(runs[0].line[s.key:]); err != nil {
			return err
		}
		more, err := runs[0].advance()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&runs, 0)
		} else {
			heap.Pop(&runs)
		}
	}
	return nil
}

// close removes the temporary files.
func (s *sorter) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	s.files = nil
	return errors.Join(errs...)
}

// sortedRun is a file of sorted lines, at one of them.
type sortedRun struct {
	in   *bufio.Reader
	line []byte // with its newline
}

func (r *sortedRun) advance() (more bool, err error) {
	r.line, err = r.in.ReadBytes('\n')
	if err == io.EOF {
		return false, nil
	}
	return err == nil, err
}

type runHeap []*sortedRun

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*sortedRun)) }
func (h *runHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
