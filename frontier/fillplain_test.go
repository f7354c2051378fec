//go:build linux

package frontier_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/web"
)

// plainHosts is when hosts are due again, in memory: what the plain queues pass over.
type plainHosts struct {
	due map[web.Host]time.Time
	now time.Time
	n   int
}

func newPlainHosts() plainHosts { return plainHosts{due: make(map[web.Host]time.Time)} }

func (p *plainHosts) tick(n int)       { p.now = p.now.Add(time.Duration(n) * 10 * time.Millisecond) }
func (p *plainHosts) leased() int      { return p.n }
func (p *plainHosts) describe() string { return fmt.Sprintf("%d given out", p.n) }

// take tells whether a host is due, and has it wait if it is.
func (p *plainHosts) take(h web.Host) bool {
	if p.due[h].After(p.now) {
		return false
	}
	p.due[h] = p.now.Add(10 * time.Second)
	p.n++
	return true
}

// plainPebble keeps a key for each address with its priority and state, and a key for each that
// waits, best first, with the default options but for the cache and buffer of the frontier that is
// measured. A lease goes over the queue from its beginning.
type plainPebble struct {
	plainHosts
	db  *pebble.DB
	seq uint64
}

func openPlainPebble(dir string) (queue, error) {
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{Logger: silentLogger{}, CacheSize: 160 << 20, MemTableSize: 32 << 20})
	return &plainPebble{plainHosts: newPlainHosts(), db: db}, err
}

func (q *plainPebble) key(priority float64, seq uint64) []byte {
	k := binary.BigEndian.AppendUint64([]byte{'q'}, ^math.Float64bits(priority)) // of positive ones
	return binary.BigEndian.AppendUint64(k, seq)
}

func (q *plainPebble) turn(add []web.Candidate, n int) error {
	q.tick(n)
	batch := q.db.NewIndexedBatch() // a page may hold an address twice
	for i := range add {
		c := &add[i]
		address := append([]byte{'a'}, c.URL.String()...)
		is, closer, err := batch.Get(address)
		if err == nil {
			known := len(is) == 1 || math.Float64frombits(binary.BigEndian.Uint64(is)) >= c.Priority
			if !known {
				err = batch.Delete(q.key(math.Float64frombits(binary.BigEndian.Uint64(is)), binary.BigEndian.Uint64(is[8:])), nil)
			}
			if err := errors.Join(err, closer.Close()); err != nil {
				return err
			}
			if known {
				continue
			}
		} else if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
		q.seq++
		mark := binary.BigEndian.AppendUint64(nil, math.Float64bits(c.Priority))
		mark = binary.BigEndian.AppendUint64(mark, q.seq)
		value := fmt.Appendf(nil, "%s\n%s\n%s\n%s", c.URL, c.From, c.Kind, c.Features)
		if err := errors.Join(batch.Set(address, mark, nil), batch.Set(q.key(c.Priority, q.seq), value, nil)); err != nil {
			return err
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	it, err := q.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'q'}, UpperBound: []byte{'q' + 1}})
	if err != nil {
		return err
	}
	out := q.db.NewBatch()
	for it.First(); it.Valid() && n > 0; it.Next() {
		value := it.Value()
		end := 0
		for value[end] != '\n' {
			end++
		}
		u, err := web.Parse(string(value[:end]))
		if err != nil {
			return err
		}
		if q.take(u.Host()) {
			n--
			if err := errors.Join(out.Delete(it.Key(), nil), out.Set(append([]byte{'a'}, value[:end]...), []byte{1}, nil)); err != nil {
				return err
			}
		}
	}
	return errors.Join(it.Close(), out.Commit(pebble.NoSync))
}

func (q *plainPebble) close() error { return q.db.Close() }

// plainSQLite keeps a table of links with an index by priority of those that wait, with a log written
// ahead and a cache of 96 MB. A turn is one transaction.
type plainSQLite struct {
	plainHosts
	db *sqlite.Conn
}

func openPlainSQLite(dir string) (queue, error) {
	db, err := sqlite.OpenConn(filepath.Join(dir, "links.db"), sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	for _, set := range []string{
		`PRAGMA journal_mode = WAL`, `PRAGMA synchronous = OFF`, `PRAGMA cache_size = -98304`,
		`CREATE TABLE IF NOT EXISTS links (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, priority REAL NOT NULL, waits INTEGER NOT NULL, source TEXT, kind TEXT, features BLOB)`,
		`CREATE INDEX IF NOT EXISTS best ON links (priority DESC, id) WHERE waits = 1`,
	} {
		err = errors.Join(err, sqlitex.ExecuteTransient(db, set, nil))
	}
	return &plainSQLite{plainHosts: newPlainHosts(), db: db}, err
}

func (q *plainSQLite) turn(add []web.Candidate, n int) (err error) {
	q.tick(n)
	defer sqlitex.Transaction(q.db)(&err)
	insert := q.db.Prep(`INSERT INTO links (url, priority, waits, source, kind, features) VALUES (?, ?, 1, ?, ?, ?)
		ON CONFLICT (url) DO UPDATE SET priority = excluded.priority, source = excluded.source WHERE waits = 1 AND excluded.priority > priority`)
	for i := range add {
		c := &add[i]
		insert.BindText(1, c.URL.String())
		insert.BindFloat(2, c.Priority)
		insert.BindText(3, c.From.String())
		insert.BindText(4, string(c.Kind))
		insert.BindBytes(5, c.Features)
		if _, err := insert.Step(); err != nil {
			return err
		}
		if err := insert.Reset(); err != nil {
			return err
		}
	}
	var out []int64
	best := q.db.Prep(`SELECT id, url FROM links WHERE waits = 1 ORDER BY priority DESC, id`)
	for n > 0 {
		row, err := best.Step()
		if err != nil {
			return err
		}
		if !row {
			break
		}
		u, err := web.Parse(best.ColumnText(1))
		if err != nil {
			return err
		}
		if q.take(u.Host()) {
			n--
			out = append(out, best.ColumnInt64(0))
		}
	}
	if err := best.Reset(); err != nil {
		return err
	}
	done := q.db.Prep(`UPDATE links SET waits = 0 WHERE id = ?`)
	for _, id := range out {
		done.BindInt64(1, id)
		if _, err := done.Step(); err != nil {
			return err
		}
		if err := done.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func (q *plainSQLite) close() error { return q.db.Close() }
