package store

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"os"
	"time"
)

// Piece is a stretch of a WARC file: a record that was read through and is whole,
// or what cannot be read.
type Piece struct {
	File   string
	Offset int64 // where it begins
	End    int64 // where the next one begins
	// Damage says why it cannot be read, or which digest differs; nil = whole.
	Damage error

	// Of a record:
	Type, Target string
	ID           string // WARC-Record-ID
	Beside       string // WARC-Concurrent-To, or WARC-Refers-To: the ID of the response it belongs to
	Asked        bool   // see Record.Asked
	Date         time.Time
	Meta         Meta  // of a metadata record
	BadMeta      error // why Meta is unknown
	Digests      int   // compared and equal
}

// Pieces reads a file of an archive through, as far as end (or all of it, if end
// is negative), and tells its pieces in order; together they are the file. What the
// disk does not give is damage, as a repair has to pass over it too; a file that cannot be opened
// ends the sequence.
func Pieces(path string, end int64) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		defer f.Close()
		if end < 0 {
			info, err := f.Stat()
			if err != nil {
				yield(Piece{}, err)
				return
			}
			end = info.Size()
		}
		pieces(NewReader(path, f, end), func(p Piece) bool { return yield(p, nil) })
	}
}

// pieces yields each piece once it is known where the next one begins.
func pieces(r *Reader, yield func(Piece) bool) {
	var last *Piece
	flush := func(next int64) bool {
		if last == nil {
			return true
		}
		p := *last
		p.End, last = next, nil
		return yield(p)
	}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		var p Piece
		var damage *Damage
		switch {
		case errors.As(err, &damage):
			if last != nil && last.Offset == damage.Offset {
				last = nil // its own end is what is damaged
			}
			p = Piece{Offset: damage.Offset, Damage: damage}
		case err != nil:
			p = Piece{Offset: r.pos(), Damage: err}
		default:
			var whole bool
			if p, whole = pieceOf(r, rec); !whole {
				continue // the next step says why
			}
		}
		p.File = r.name
		if !flush(p.Offset) {
			return
		}
		last = &p
	}
	flush(r.size)
}

// pieceOf reads a record through; whole is false where it cannot be read.
func pieceOf(r *Reader, rec *Record) (p Piece, whole bool) {
	p = Piece{
		Offset: rec.Offset, Type: rec.Type(), Target: rec.Target(), Date: rec.Date(),
		ID: rec.Get("WARC-Record-ID"), Beside: cmp.Or(rec.Get("WARC-Concurrent-To"), rec.Get("WARC-Refers-To")), Asked: rec.Asked(),
	}
	if p.Type == "metadata" && rec.Length <= maxHeader {
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			return p, false
		}
		rec.Block = bytes.NewReader(block)
		p.Meta, p.BadMeta = ParseMeta(block)
	}
	rep := Report{Types: map[string]int{}}
	rep.check(rec)
	if r.finish() != nil {
		return p, false
	}
	p.Digests = rep.Digests
	if len(rep.Damaged) > 0 {
		p.Damage = rep.Damaged[0]
	}
	return p, true
}
