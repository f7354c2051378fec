// Package engine is all that a crawl of many machines asks of what keeps its messages:
// logs to which records are appended, and keys that are set by compare-and-set. An engine
// is a server, or several that replicate; each worker has an Engine that speaks to it.
//
//	Append   add records to logs; returns once they are safe
//	Read     the records of logs behind given positions, those that come too
//	End      the position of the last record of a log
//	First    the first record of a log from a position on
//	Get      the value of a key
//	Put      a new value, if the key is as it was seen
//	List     the keys that begin alike
//
// A log whose name begins with Brief is a brief one: what is in it is for who reads on, and the engine forgets
// it after a while.
//
// Memory is an engine for simulations and tests, package jetstream one for crawls.
// Package enginetest holds what every engine must do.
//
// # While an engine is down
//
// A call waits until the engine is back or its context ends. A call that ends so has an
// unknown outcome: what was appended or put may be there, now or a little later. What
// is appended on a condition, and what is put, cannot be there once another append or put
// was made on the same condition. A call that goes on once the engine is back knows what it
// appended before, also where others have appended since then.
package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Position is the place of a record in its log: greater than those of all records before
// it, and at least 1. 0 is the beginning. Positions in several logs that are not brief are in the order
// in which their records were appended, too.
type Position uint64

// Record is a record of a log.
type Record struct {
	Log      string
	Position Position
	Data     []byte
}

// Draft is a record that is to be appended.
type Draft struct {
	Log  string
	Data []byte // at most MaxRecord bytes; the engine only reads it
	// With IfLast it is appended only where Last is the position of the last record of
	// the log, 0 where there is none.
	IfLast bool
	Last   Position
}

// Revision is the state of a key: another one with each put. 0 is that of a key without
// a value that never had one, or that was removed.
type Revision uint64

// Entry is a key with its value.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Bounds of what an engine keeps.
const (
	MaxRecord = 1_000_000 // bytes of a record, and of a value
	MaxName   = 200       // bytes of the name of a log or a key
)

// Brief begins the names of brief logs. An engine forgets their records once they are older than BriefFor, unless it
// is told to do so sooner or later, by its own clock, and not long after that. Positions go on rising. A reader is
// not told of what was forgotten before it came there, so records that must not be missed name those before them.
const (
	Brief    = "brief."
	BriefFor = 5 * time.Minute
)

// IsBrief tells whether a log is a brief one.
func IsBrief(log string) bool { return strings.HasPrefix(log, Brief) }

// Errors of engines.
var (
	// ErrChanged is wrapped by the error of an Append whose condition does not hold, and
	// of a Put whose key is no longer as it was seen. Nothing was appended or put.
	ErrChanged = errors.New("somebody else was first")
	// ErrName is wrapped by the errors of calls with a name that CheckName refuses.
	ErrName = errors.New("not a name of a log or a key")
	// ErrSize is wrapped by the errors of calls with a record or a value that is too large.
	ErrSize = errors.New("too large a record")
)

// Engine keeps logs and keys. It is safe for concurrent use. An error that is neither
// of the above nor that of the context is one that waiting will not mend.
type Engine interface {
	// Append adds records, in no order among those of one call, and returns their
	// positions. Where some are refused, the error is that of one of them, and the
	// others may be there: their positions are 0 then.
	Append(ctx context.Context, drafts ...Draft) ([]Position, error)
	// Read calls do with each record behind a position of these logs: those of a log in
	// order, each once, first those that are there, and then those that come. It returns
	// when do returns an error, with that error, or when ctx ends. The logs are all brief, or none is.
	Read(ctx context.Context, from map[string]Position, do func(Record) error) error
	// End is the position of the last record of a log, 0 for none, and its data: of all
	// that was appended before the call.
	End(ctx context.Context, log string) (Record, error)
	// First is the first record of a log at a position or behind it; Position is 0 where there is
	// none.
	First(ctx context.Context, log string, from Position) (Record, error)
	// Get returns a key with its value; Revision is 0 where there is none. It may be
	// a little behind.
	Get(ctx context.Context, key string) (Entry, error)
	// Put sets the value of a key whose revision is was; nil removes it. It returns the
	// new revision, 0 for a key that was removed.
	Put(ctx context.Context, key string, value []byte, was Revision) (Revision, error)
	// List returns the keys that begin with prefix, in their order. prefix is "" or ends
	// with a dot. It may be a little behind.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Close ends the connection of this Engine; what is kept stays.
	Close() error
}

// CheckName tells whether a text may be the name of a log or a key: letters, digits,
// hyphens and underscores, in parts between single dots.
func CheckName(name string) error {
	if len(name) == 0 || len(name) > MaxName {
		return nameError(name)
	}
	dot := true // a part must begin
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.':
			if dot {
				return nameError(name)
			}
			dot = true
			continue
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return nameError(name)
		}
		dot = false
	}
	if dot {
		return nameError(name)
	}
	return nil
}

// CheckPrefix tells whether List takes a prefix.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if prefix[len(prefix)-1] != '.' {
		return nameError(prefix)
	}
	return CheckName(prefix[:len(prefix)-1])
}

// CheckRead tells whether Read takes these logs, and whether they are brief ones.
func CheckRead(from map[string]Position) (brief bool, err error) {
	n := 0
	for log := range from {
		if err := CheckName(log); err != nil {
			return false, err
		}
		if IsBrief(log) {
			n++
		}
	}
	if n > 0 && n < len(from) {
		return false, fmt.Errorf("%d of %d logs that are to be read together are brief: %w", n, len(from), ErrName)
	}
	return n > 0, nil
}

// CheckDraft tells whether a record may be appended.
func CheckDraft(d *Draft) error {
	if len(d.Data) > MaxRecord {
		return sizeError(d.Log, len(d.Data))
	}
	return CheckName(d.Log)
}

// CheckValue tells whether a key may have a value.
func CheckValue(key string, value []byte) error {
	if len(value) > MaxRecord {
		return sizeError(key, len(value))
	}
	return CheckName(key)
}
