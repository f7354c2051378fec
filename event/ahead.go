package event

import (
	"bytes"
	"iter"
	"runtime"
	"sync"
)

// Bounds of the lines that are decoded at a time.
const (
	aheadLines = 256
	aheadBytes = 1 << 20
	aheadFew   = 32 // so many are decoded by one core
)

// EntriesAhead are EntriesFrom, decoded by all cores, some hundred lines ahead: a long log
// is read in less time.
func EntriesAhead(path string, offset int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		now, next := &ahead{}, &ahead{}
		goesOn := true
		turn := func() { // gives the lines that were decoded, while those behind them are
			next.decode(path)
			goesOn = now.yield(yield)
			next.wait.Wait()
			now, next = next, now
			next.reset()
		}
		bare := func([]byte) bool { return false }
		readFile(path, offset, bare, func(e Entry, err error) bool {
			if err != nil {
				for goesOn && len(now.entries)+len(next.entries) > 0 {
					turn()
				}
				if goesOn {
					goesOn = yield(Entry{}, err)
				}
				return false
			}
			if e.Line = bytes.Clone(e.Line); next.add(e) {
				turn()
			}
			return goesOn
		})
		for goesOn && len(now.entries)+len(next.entries) > 0 {
			turn()
		}
	}
}

// ahead are lines that are decoded together.
type ahead struct {
	entries []Entry
	size    int // bytes
	wait    sync.WaitGroup
}

// add takes in a line, and tells whether there is no room for more.
func (a *ahead) add(e Entry) (full bool) {
	a.entries = append(a.entries, e)
	a.size += len(e.Line)
	return len(a.entries) >= aheadLines || a.size >= aheadBytes
}

func (a *ahead) reset() {
	clear(a.entries)
	a.entries, a.size = a.entries[:0], 0
}

// decode begins to decode the lines; wait tells when that is done.
func (a *ahead) decode(path string) {
	some := func(list []Entry) {
		for i := range list {
			e := &list[i]
			if e.Err != nil || e.Event != nil {
				continue
			}
			event, _, err := decodeLine(e.Line[:len(e.Line)-1], true)
			if e.Event = event; err != nil {
				e.Err = &LineError{path, e.Number, err}
			}
		}
	}
	n := len(a.entries)
	if n < aheadFew {
		some(a.entries)
		return
	}
	cores := runtime.GOMAXPROCS(0)
	for k := range cores {
		a.wait.Go(func() { some(a.entries[k*n/cores : (k+1)*n/cores]) })
	}
}

// yield gives the lines on, and tells whether more are wanted.
func (a *ahead) yield(yield func(Entry, error) bool) bool {
	for _, e := range a.entries {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}
