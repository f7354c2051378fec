// Package store keeps what a crawl fetched as WARC/1.1 files (ISO 28500:2017),
// and reads such files, its own and those of other tools.
//
// An archive is a folder of files
//
//	PREFIX-00000.warc.gz
//	PREFIX-00001.warc.gz
//	…
//
// and a file is a series of gzip members, each of them one record:
//
//	warcinfo                    who wrote the file, once, at its start
//	┌ response, request         robots.txt, where it was fetched on the way
//	│ response                  status line, headers, body
//	│ request                   what was asked
//	└ metadata                  relevance and provenance (see Meta)
//	┌ response …                the next exchange
//	warcinfo                    "closed": the file ends here, and another follows
//
// A record is, once unzipped:
//
//	WARC/1.1                                 CR LF
//	WARC-Type: response                      CR LF
//	…                                        CR LF
//	Content-Length: N                        CR LF
//	                                         CR LF
//	N bytes of block                         CR LF CR LF
//
// The block of a response is its head as received, an empty line, and the body
// after transfer decoding and before content decoding. A Transfer-Encoding
// header would no longer be true of that body, so it is kept under the name
// X-Crawler-Transfer-Encoding. A body in which something is concealed is stored decoded:
// its Content-Encoding is kept as X-Crawler-Content-Encoding, Content-Length and the digests
// are those of what is stored, and the header of the record has "Waggle-Concealed: N", with
// the number of places.
//
// The life of a record: rendered (Encode) → appended, and then part of the
// mark that Append returns → synced. An archive opened with a mark holds
// exactly what had been appended when that mark was returned.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// DefaultMaxFile is the size at which a file is followed by the next, in bytes.
const DefaultMaxFile = 1 << 30

// suffix ends the name of every file of an archive.
const suffix = ".warc.gz"

// Options says how an archive is written. The zero value is usable.
type Options struct {
	// Prefix begins the names of the files; "" = "waggle". It may not hold a
	// path separator.
	Prefix string
	// MaxFile is the size in bytes which no file exceeds, unless a single
	// Append is larger; 0 = DefaultMaxFile.
	MaxFile int64
	// Level is the gzip level, 1 (fast) … 9 (small); 0 = DefaultLevel.
	Level int
	// Software, Operator, Job and Robots are said in the warcinfo record of
	// each file, where they are not empty: the program and its version, who
	// answers for the crawl and how to reach them, the crawl's name, and the
	// robots.txt policy.
	Software, Operator, Job, Robots string
	// Mark opens an existing archive as it was when Append returned this
	// mark; what lies behind it is cut off. nil keeps every whole record.
	Mark []byte
	// Room, unless nil, is asked before n bytes are written whether the disk
	// has room for them; its error is Append's.
	Room func(n int) error
	// Unsynced, unless nil, is told of the Sync that failed first.
	Unsynced func(error)
	// Now is the clock that dates warcinfo records; nil = time.Now.
	Now func() time.Time
	// Files is where the archive is kept; nil = the file system.
	Files Files
}

// MissingError reports that an archive holds less than its mark promises.
type MissingError struct {
	Dir   string
	Files []Missing
}

// Missing is a file that is absent (Have < 0) or shorter than it should be.
type Missing struct {
	Name       string
	Have, Want int64 // bytes; Want is 0 where only the file's absence is known
}

func (e *MissingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "archive %s holds less than was acknowledged:", e.Dir)
	for i, m := range e.Files {
		if i > 0 {
			b.WriteByte(';')
		}
		switch {
		case m.Have < 0:
			fmt.Fprintf(&b, " %s is missing", m.Name)
		default:
			fmt.Fprintf(&b, " %s has %d of %d bytes", m.Name, m.Have, m.Want)
		}
	}
	return b.String()
}

// Archive writes WARC files. Encode may be called by many goroutines; the
// other methods by one at a time.
type Archive struct {
	dir   string
	opt   Options
	files Files
	encoder

	number int   // of the file being written, 0…
	size   int64 // bytes of it that count; 0 = it is not made yet
	synced int64 // bytes of it that survive a power failure
	file   File  // nil when size is 0
	dirty  bool  // written since the last Sync
	broken error // set when a failed write could not be cut back
	buf    []byte

	unsynced error // of the first Sync that failed
}

// Create starts an archive in dir, which is made if need be. It is an error
// (fs.ErrExist) if dir holds files of that prefix already.
func Create(dir string, o Options) (*Archive, error) {
	a, files, err := prepare(dir, o)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("archive %s: %w: %s; open it, or choose another folder", dir, os.ErrExist, files[0].name)
	}
	return a, nil
}

// Open goes on with the archive in dir, or starts one.
//
// With Options.Mark it cuts off what was appended after the mark. It returns a
// *MissingError when the files hold less than the mark, and a *Damage when what
// had not been synced then, or the first record of a file, cannot be read;
// nothing is changed by either. All records are read by Verify alone. Without a
// mark Open keeps every whole record and cuts off the torn tail of the last file.
func Open(dir string, o Options) (*Archive, error) {
	a, files, err := prepare(dir, o)
	if err != nil {
		return nil, err
	}
	if o.Mark != nil {
		m, err := parseMark(o.Mark)
		if err != nil {
			return nil, fmt.Errorf("archive %s: %w", dir, err)
		}
		if err := a.cut(upTo(m.number, files), m); err != nil {
			return nil, err
		}
	} else if err := a.repair(upTo(len(files), files)); err != nil {
		return nil, err
	}
	return a, nil
}

// archiveFile is a file of an archive in its folder.
type archiveFile struct {
	name   string
	number int
	size   int64
}

// upTo leaves out files whose numbers are too high to be of an archive that ended in file number: somebody put
// them there.
func upTo(number int, files []archiveFile) []archiveFile {
	most := number + len(files)
	return slices.DeleteFunc(files, func(f archiveFile) bool { return f.number > most })
}

func prepare(dir string, o Options) (*Archive, []archiveFile, error) {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	if strings.ContainsAny(o.Prefix, `/\`) {
		return nil, nil, fmt.Errorf("archive %s: prefix %q holds a path separator", dir, o.Prefix)
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Files == nil {
		o.Files = OS{}
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	if o.Level < 1 || o.Level > 9 {
		return nil, nil, fmt.Errorf("archive %s: gzip level %d is not in 1…9", dir, o.Level)
	}
	if err := o.Files.MkdirAll(dir); err != nil {
		return nil, nil, fmt.Errorf("archive: %w", err)
	}
	a := &Archive{dir: dir, opt: o, files: o.Files}
	a.level = o.Level
	list, err := o.Files.List(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("archive: %w", err)
	}
	var fs []archiveFile
	for _, f := range list {
		rest, ok := strings.CutPrefix(f.Name, o.Prefix+"-")
		if !ok {
			continue
		}
		digits, ok := strings.CutSuffix(rest, suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || a.name(n) != f.Name {
			continue
		}
		fs = append(fs, archiveFile{f.Name, n, f.Size})
	}
	slices.SortFunc(fs, func(x, y archiveFile) int { return x.number - y.number })
	return a, fs, nil
}

func (a *Archive) name(n int) string { return fmt.Sprintf("%s-%05d%s", a.opt.Prefix, n, suffix) }
func (a *Archive) path(n int) string { return filepath.Join(a.dir, a.name(n)) }

// cut makes the archive end at a mark.
func (a *Archive) cut(fs []archiveFile, m mark) error {
	number, size := m.number, m.end
	have := map[int]int64{}
	for _, f := range fs {
		have[f.number] = f.size
	}
	missing := &MissingError{Dir: a.dir}
	for n := range number {
		if _, ok := have[n]; !ok {
			missing.Files = append(missing.Files, Missing{Name: a.name(n), Have: -1})
		}
	}
	if got, ok := have[number]; !ok && size > 0 {
		missing.Files = append(missing.Files, Missing{Name: a.name(number), Have: -1, Want: size})
	} else if got < size {
		missing.Files = append(missing.Files, Missing{Name: a.name(number), Have: got, Want: size})
	}
	if len(missing.Files) > 0 {
		return missing
	}
	if err := a.checkEarlier(m, have); err != nil {
		return err
	}
	if err := a.checkTail(m); err != nil {
		return err
	}
	for _, f := range slices.Backward(fs) {
		if f.number > number || f.number == number && size == 0 {
			if err := a.files.Remove(a.path(f.number)); err != nil {
				return fmt.Errorf("archive: cutting back to the mark: %w", err)
			}
		}
	}
	return a.resume(m)
}

// repair makes the archive end after its last whole record.
func (a *Archive) repair(fs []archiveFile) error {
	for len(fs) > 0 {
		last := fs[len(fs)-1]
		f, err := a.files.Open(a.path(last.number))
		if err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		size, err := wholeRecords(NewReader(last.name, f, last.size))
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if size > 0 {
			return a.resume(mark{number: last.number, end: size})
		}
		if err := a.files.Remove(a.path(last.number)); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		fs = fs[:len(fs)-1]
	}
	return nil
}

// wholeRecords is where the last readable record of a file ends. What the disk does not give
// is an error: it may be whole.
func wholeRecords(r *Reader) (end int64, err error) {
	for _, err := range r.All() {
		switch {
		case isOfDisk(err):
			return 0, err
		case err == nil && r.finish() == nil:
			end = r.pos()
		}
	}
	return end, nil
}

// resume opens the marked file for writing at the mark, and drops what lies
// behind. The disk has that before anything is written in its place: where the power fails, a disk that
// took later writes first would leave records of before among those that replaced them.
func (a *Archive) resume(m mark) error {
	number, size := m.number, m.end
	a.number, a.size, a.synced = number, size, m.synced
	if size == 0 {
		return nil
	}
	f, err := a.files.Open(a.path(number))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("archive: cutting %s to %d bytes: %w", a.path(number), size, err), f.Close())
	}
	a.file, a.dirty = f, true
	return nil
}

// Mark is what the last Append returned, or the mark the archive was opened
// at.
func (a *Archive) Mark() []byte {
	return mark{number: a.number, synced: min(a.synced, a.size), end: a.size}.text()
}

// Append writes records, as Encode renders them, with one write to one file,
// and returns the mark of the archive's new end. When it fails, what it wrote
// is cut off again and the archive is as before, so that a later Append may be
// tried; errors.Is(err, syscall.ENOSPC) tells a full disk.
func (a *Archive) Append(records ...[]byte) (mark []byte, err error) {
	if a.broken != nil {
		return nil, a.broken
	}
	var total int64
	for _, r := range records {
		total += int64(len(r))
	}
	if total == 0 {
		return a.Mark(), nil
	}
	if a.opt.Room != nil {
		if err := a.opt.Room(int(total)); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
	}
	if a.size > 0 && a.size+total+closingPeek > a.opt.MaxFile {
		if err := a.rotate(); err != nil {
			return nil, err
		}
	}
	a.buf = a.buf[:0]
	if a.file == nil {
		f, err := a.files.Create(a.path(a.number))
		if err != nil {
			return nil, a.failed(err)
		}
		a.file, a.dirty = f, true
	}
	if a.size == 0 {
		a.buf = append(a.buf, a.info(a.name(a.number), [2]string{closingField, closingValue})...)
	}
	for _, r := range records {
		a.buf = append(a.buf, r...)
	}
	a.dirty = true
	if err := a.writeAt(a.buf, a.size); err != nil {
		return nil, err
	}
	a.size += int64(len(a.buf))
	if cap(a.buf) > 8<<20 {
		a.buf = nil
	}
	return a.Mark(), nil
}

// writeAt writes to the end of the present file. What it wrote before an error is
// cut off again.
func (a *Archive) writeAt(b []byte, end int64) error {
	if _, err := a.file.WriteAt(b, end); err != nil {
		if cut := a.file.Truncate(end); cut != nil {
			a.broken = fmt.Errorf("archive %s: a failed write could not be cut back (%v): open the archive again to go on: %w", a.path(a.number), cut, err)
			return a.broken
		}
		return a.failed(err)
	}
	return nil
}

// rotate ends the present file, with a record that says so: it is synced, so that
// only the last file of an archive can ever be torn.
func (a *Archive) rotate() error {
	last := a.info(a.name(a.number), [2]string{closedField, a.name(a.number)})
	a.dirty = true
	if err := a.writeAt(last, a.size); err != nil {
		return err
	}
	if err := a.Sync(); err != nil {
		if cut := a.file.Truncate(a.size); cut != nil {
			a.broken = err
		}
		return err
	}
	err := a.file.Close()
	a.file = nil
	if err != nil {
		a.broken = a.failed(err)
		return a.broken
	}
	a.number++
	a.size, a.synced = 0, 0
	return nil
}

func (a *Archive) failed(err error) error {
	if folder.Full(err) {
		return fmt.Errorf("archive %s: the disk is full: make room and go on: %w", a.path(a.number), err)
	}
	return fmt.Errorf("archive: %w", err)
}

// Sync makes sure that what was appended survives a power failure. After one that failed, all fail: the system may
// have dropped what was to be written.
func (a *Archive) Sync() error {
	if !a.dirty {
		return a.broken
	}
	if a.unsynced != nil {
		return a.unsynced
	}
	var err error
	if a.file != nil {
		err = a.file.Sync()
	}
	if err == nil {
		err = a.files.SyncDir(a.dir)
	}
	if err != nil {
		a.unsynced = a.failed(err)
		if a.opt.Unsynced != nil {
			a.opt.Unsynced(a.unsynced)
		}
		return a.unsynced
	}
	a.dirty, a.synced = false, a.size
	return a.broken
}

// SyncLast makes what an archive holds survive a power failure: its last file, and the names
// of all, since the others were synced when they were full. It may be called while an Archive
// is open there, on any goroutine.
func SyncLast(dir string, o Options) error {
	if o.Files == nil {
		o.Files = OS{}
	}
	if _, err := o.Files.List(dir); errors.Is(err, os.ErrNotExist) {
		return nil // it is not made anew where its folder was moved away
	}
	a, files, err := prepare(dir, o)
	if err != nil {
		return err
	}
	if files = upTo(len(files), files); len(files) == 0 {
		return nil
	}
	f, err := a.files.Open(a.path(files[len(files)-1].number))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), a.files.SyncDir(dir)); err != nil {
		return a.failed(err)
	}
	return nil
}

// Close syncs and closes the archive.
func (a *Archive) Close() error {
	err := a.Sync()
	if a.file != nil {
		err = errors.Join(err, a.file.Close())
		a.file = nil
	}
	if a.broken == nil {
		a.broken = fmt.Errorf("archive %s: %w", a.dir, os.ErrClosed)
	}
	return err
}

// Paths lists the WARC files in a folder, whoever wrote them, by name: *.warc
// and *.warc.gz.
func Paths(dir string) ([]string, error) {
	list, err := OS{}.List(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range list {
		if strings.HasSuffix(f.Name, suffix) || strings.HasSuffix(f.Name, ".warc") {
			paths = append(paths, filepath.Join(dir, f.Name))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// defaultPrefix is that of the archive of a crawl without a name.
const defaultPrefix = "waggle"

// NumberedFile is a file of an archive.
type NumberedFile struct {
	Path    string
	Number  int
	Size    int64
	Changed time.Time
}

var numbered = regexp.MustCompile(`^(.*)-([0-9]{5,})\.warc\.gz$`)

// NumberOf reads the name of a file of an archive.
func NumberOf(name string) (prefix string, n int, ok bool) {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(m[2])
	return m[1], n, err == nil
}

// PrefixOf makes of a crawl's name what the files of its archive begin with, see Options.Prefix.
func PrefixOf(name string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if s = strings.Trim(s, "-"); len(s) > 60 {
		return s[:59] + "…"
	}
	return cmp.Or(s, defaultPrefix)
}

// Numbered lists the files in a folder that are named as those of archives are, whatever their prefixes, by name.
func Numbered(dir string) (files []NumberedFile, err error) {
	paths, err := Paths(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		_, n, ok := NumberOf(filepath.Base(path))
		if !ok {
			continue // not of an archive
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		files = append(files, NumberedFile{path, n, info.Size(), info.ModTime()})
	}
	return files, nil
}
