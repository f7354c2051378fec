package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mark is a place in an archive: its end at some moment.
//
//	warc 2 FILE SYNCED END
//
// FILE is the number of the file that was written then, END its length in bytes,
// and SYNCED how much of it had been made to survive a power failure: what lies
// between the two is read when the archive is opened at the mark. All files
// before FILE were synced, and end as checkClosed says. Version 1 has no SYNCED.
type mark struct {
	number      int
	synced, end int64
	old         bool // of version 1
}

func (m mark) text() []byte { return fmt.Appendf(nil, "warc 2 %d %d %d", m.number, m.synced, m.end) }

func parseMark(b []byte) (m mark, err error) {
	f := strings.Fields(string(b))
	bad := fmt.Errorf("mark %.80q is none of an archive", b)
	if len(f) < 4 || f[0] != "warc" {
		return m, bad
	}
	switch {
	case f[1] == "1" && len(f) == 4:
		m.old = true
		f = []string{"", "", f[2], f[3], f[3]}
	case f[1] != "2" || len(f) != 5:
		return m, bad
	}
	var e1, e2, e3 error
	m.number, e1 = strconv.Atoi(f[2])
	m.synced, e2 = strconv.ParseInt(f[3], 10, 64)
	m.end, e3 = strconv.ParseInt(f[4], 10, 64)
	if errors.Join(e1, e2, e3) != nil || m.number < 0 || m.synced < 0 || m.end < m.synced {
		return m, bad
	}
	return m, nil
}

// StartMark is the mark of an archive in which nothing was appended.
func StartMark() []byte { return mark{}.text() }

// MarkAt is the mark of an archive that ends in a file, by its number, at so many
// bytes. None of them counts as synced, so all of that file is read when the archive
// is opened at the mark.
func MarkAt(number int, end int64) []byte { return mark{number: number, end: end}.text() }

// MarkedFile is the number of the file in which a mark lies, and how many bytes
// of it are before the mark.
func MarkedFile(b []byte) (number int, end int64, err error) {
	m, err := parseMark(b)
	return m.number, m.end, err
}

// tailPeek is how far before a mark of version 1 the beginning of a record is
// sought, to read the last ones.
const tailPeek = 1 << 20

// checkTail reads what was written to the marked file since it was synced last:
// every record must be whole, and the last end at the mark.
func (a *Archive) checkTail(m mark) (err error) {
	if m.end == 0 {
		return nil
	}
	f, err := a.files.Open(a.path(m.number))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := NewReader(a.path(m.number), f, m.end)
	from := m.synced
	if m.old {
		var found bool
		if from, found = r.search(max(0, m.end-tailPeek), window); !found {
			return nil // one record is longer than that
		}
	}
	r.seek(from)
	var rep Report
	rep.Types = map[string]int{}
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		rep.check(rec)
		if len(rep.Damaged) > 0 {
			return rep.Damaged[0]
		}
	}
	return nil
}

// A file that another follows ends with a warcinfo record that says so, and its
// first record tells that it will: so a file that was cut is noticed without
// reading all of it.
const (
	closingField = "closing" // of the first record
	closingValue = "warcinfo"
	closedField  = "closed" // of the last record; its value is the file's name
)

// checkEarlier looks whether the files before the marked one have their ends.
func (a *Archive) checkEarlier(m mark, sizes map[int]int64) error {
	for n := range m.number {
		if err := a.checkClosed(n, sizes[n]); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) checkClosed(n int, size int64) (err error) {
	f, err := a.files.Open(a.path(n))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return NewReader(a.path(n), f, size).closed(a.name(n))
}

// CheckEnd looks whether a file of an archive that another follows has its end. The
// error is a *Damage where it is empty, where its first record cannot be read, or where
// that promises a last one which is not there: then lacks is true.
func CheckEnd(path string) (lacks bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	err = NewReader(path, f, info.Size()).closed(filepath.Base(path))
	return errors.Is(err, errUnclosed), err
}

var (
	errUnclosed = errors.New("the file does not end as it was ended: it was cut")
	errEmpty    = errors.New("the file is empty: it was cut")
)

// closed looks whether a file of this name, which another follows, has its end.
func (r *Reader) closed(name string) error {
	if r.size == 0 {
		return &Damage{File: r.name, Err: errEmpty}
	}
	value, err := r.infoField(closingField)
	if err != nil || value != closingValue {
		return err
	}
	from := max(0, r.size-closingPeek)
	for found := true; ; from++ {
		if from, found = r.search(from, window); !found {
			break
		}
		r.seek(from)
		if closed, err := r.infoField(closedField); err == nil && closed == name {
			return nil
		}
	}
	return &Damage{File: r.name, Offset: r.size, Err: errUnclosed}
}

// closingPeek bounds the length of the record that ends a file, in bytes.
const closingPeek = 2 << 10

// infoField is the value of a line of the next record, which is a warcinfo
// record; "" if it has no such line.
func (r *Reader) infoField(name string) (string, error) {
	rec, err := r.Next()
	if err != nil {
		return "", err
	}
	if rec.Type() != "warcinfo" {
		return "", nil
	}
	block, err := io.ReadAll(io.LimitReader(rec.Block, maxHeader))
	if err = errors.Join(err, r.finish()); err != nil {
		return "", r.damage(rec.Offset, err)
	}
	for line := range strings.Lines(string(block)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

// Behind counts the exchanges that lie whole behind Options.Mark in the archive
// in dir, two at most: one can have been written by a process that died before
// it was acknowledged. Nothing is changed.
func Behind(dir string, o Options) (exchanges int, err error) {
	m, err := parseMark(o.Mark)
	if err != nil {
		return 0, fmt.Errorf("archive %s: %w", dir, err)
	}
	a, files, err := prepare(dir, o)
	if err != nil {
		return 0, err
	}
	for _, f := range upTo(m.number, files) {
		from := m.end
		switch {
		case f.number < m.number:
			continue
		case f.number > m.number:
			from = 0
		}
		if from >= f.size {
			continue
		}
		n, err := a.exchangesFrom(f, from, 2-exchanges)
		if exchanges += n; err != nil || exchanges == 2 {
			return exchanges, err
		}
	}
	return exchanges, nil
}

// exchangesFrom counts the exchanges of a file from a place on, by their metadata
// records, up to max.
func (a *Archive) exchangesFrom(f archiveFile, from int64, max int) (n int, err error) {
	file, err := a.files.Open(a.path(f.number))
	if err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := NewReader(a.path(f.number), file, f.size)
	r.seek(from)
	for rec, err := range r.All() {
		if err == nil && rec.Type() == "metadata" && r.finish() == nil {
			if n++; n == max {
				break
			}
		}
	}
	return n, nil
}
