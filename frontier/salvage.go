package frontier

import (
	"bytes"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	logs "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/wal"
)

// storedWrite is a key that was set in the store, as one of its files holds it. A
// later write of the same key has a higher number; one that was compacted may
// have number 0.
type storedWrite struct {
	key, value []byte
	number     uint64
}

// eachWrite calls do with every write that can be read of every table and log,
// whether the store would still use that file or not, and passes over damaged
// pieces. What was deleted since is among them.
func (r *Remains) eachWrite(do func(storedWrite) error) error {
	names, err := r.view.List(r.queue())
	if err != nil {
		return err
	}
	for _, name := range names {
		path := r.view.PathJoin(r.queue(), name)
		switch {
		case strings.HasSuffix(name, ".sst"):
			var failed error
			err := r.withTable(path, func(t *sstable.Reader) error {
				failed = eachOfTable(t, do)
				return nil
			})
			if failed != nil {
				return failed
			}
			if err != nil && !r.note(openDamage(path, err)) {
				return err
			}
		case strings.HasSuffix(name, ".log"):
			if err := r.eachOfLog(path, name, do); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOfTable calls do with the writes of a table: from its beginning up to where
// it is damaged, and then from its end back to there. What lies between two
// damaged blocks is not found.
func eachOfTable(t *sstable.Reader, do func(storedWrite) error) error {
	it, err := t.NewIter(sstable.IterTransforms{}, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil // its index is damaged
	}
	defer it.Close() // its error is that of Error
	var last []byte
	kv := it.First()
	forth := true
	for {
		if kv == nil {
			if it.Error() == nil || !forth {
				return nil
			}
			forth, kv = false, it.Last()
			continue
		}
		key := kv.K.UserKey
		if !forth && bytes.Compare(key, last) <= 0 {
			return nil
		}
		if kind := kv.K.Kind(); kind == pebble.InternalKeyKindSet || kind == pebble.InternalKeyKindSetWithDelete {
			value, _, err := kv.V.Value(nil)
			if err == nil {
				err = do(storedWrite{key, value, uint64(kv.K.SeqNum())})
			}
			if err != nil {
				return err
			}
		}
		if forth {
			last = append(last[:0], key...)
			kv = it.Next()
		} else {
			kv = it.Prev()
		}
	}
}

// logBlock is the size of the blocks of pebble's logs: a record can begin at the
// start of one, whatever was before.
const logBlock = 32 << 10

// eachOfLog calls do with the writes in a log. Behind a damaged piece it goes on
// at the next block.
func (r *Remains) eachOfLog(path, name string, do func(storedWrite) error) error {
	number, _, ok := wal.ParseLogFilename(name)
	if !ok {
		return nil
	}
	f, err := r.view.Open(path)
	if err != nil {
		return err
	}
	size := r.view.files[path].size
	for at := int64(0); at < size; {
		records := numberedReader(logs.NewReader, io.NewSectionReader(f, at, size-at), uint64(number))
		for {
			batch, err := nextBatch(records)
			if err != nil {
				break
			}
			if err := eachOfBatch(batch, do); err != nil {
				return err
			}
		}
		at += max(1, (records.Offset()+logBlock-1)/logBlock) * logBlock
	}
	return nil
}

// numberedReader makes a reader of a log with its number, whose type has no name
// outside pebble.
func numberedReader[N ~uint64](open func(io.Reader, N) *logs.Reader, r io.Reader, n uint64) *logs.Reader {
	return open(r, N(n))
}

func nextBatch(records *logs.Reader) ([]byte, error) {
	rec, err := records.Next()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(rec)
	if err == nil && len(b) < batchrepr.HeaderLen {
		err = errDamaged
	}
	return b, err
}

func eachOfBatch(batch []byte, do func(storedWrite) error) error {
	number := uint64(batchrepr.ReadSeqNum(batch))
	for b := batchrepr.Read(batch); ; number++ {
		kind, key, value, ok, err := b.Next()
		if err != nil || !ok {
			return nil
		}
		if kind == pebble.InternalKeyKindSet {
			if err := do(storedWrite{key, value, number}); err != nil {
				return err
			}
		}
	}
}
