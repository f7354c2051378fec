package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bolt "go.etcd.io/bbolt/errors"
)

// A Builder holds a lock on the file root.bolt of the index, and bleve would wait for
// it. So a Reader opens a snapshot: a folder of its own with a copy of root.bolt, some
// hundred kilobytes, and links to the segments, which never change once written.
//
// The copy is that of a moment although the file may be written meanwhile: a commit of
// bbolt writes pages that the commit before it does not use, and then the header. If
// the header is the same after the copy was made, all pages that it leads to are whole.

// headBytes hold both headers of a bbolt file, whatever its page size.
const headBytes = 32 << 10

// snapshot is an opened copy.
type snapshot struct {
	bleve.Index
	dir  string
	head []byte // of root.bolt
}

// snapshotTries bounds how often a copy is made anew because the index was written
// meanwhile.
const snapshotTries = 50

func openSnapshot(dir string) (s *snapshot, err error) {
	if _, err := os.Stat(filepath.Join(bleveDir(dir), "index_meta.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	for range snapshotTries {
		if s, err = trySnapshot(dir); err == nil || !errors.Is(err, errMoved) {
			break
		}
	}
	if errors.Is(err, ErrNone) {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the index in %s cannot be read: %w: where it is damaged, waggle index makes it anew", dir, err)
	}
	return s, nil
}

// errMoved says that the index was written while it was copied.
var errMoved = errors.New("the index is being written")

func trySnapshot(dir string) (_ *snapshot, err error) {
	from := bleveDir(dir)
	to, err := os.MkdirTemp("", "waggle-index-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	meta, err := os.ReadFile(filepath.Join(from, "index_meta.json"))
	if err != nil {
		return nil, err
	}
	bolt := filepath.Join(from, "store", "root.bolt")
	root, err := os.ReadFile(bolt)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(to, "store"), 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(to, "index_meta.json"), meta, 0o600), os.WriteFile(filepath.Join(to, "store", "root.bolt"), root, 0o600)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(from, "store"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".zap") {
			continue
		}
		segment, err := filepath.Abs(filepath.Join(from, "store", e.Name()))
		if err != nil {
			return nil, err
		}
		if err := link(segment, filepath.Join(to, "store", e.Name())); err != nil {
			return nil, err
		}
	}
	head, errHead := readHead(bolt)
	if errHead != nil {
		return nil, errHead
	}
	if !bytes.Equal(head, root[:min(len(root), headBytes)]) {
		return nil, errMoved
	}
	x, err := openNewest(to, map[string]any{"read_only": true})
	if err != nil {
		if now, errHead := readHead(bolt); errHead == nil && !bytes.Equal(now, head) {
			return nil, errMoved // a segment may have gone before it was opened
		}
		return nil, err
	}
	return &snapshot{x, to, head}, nil
}

// openNewest opens the index of bleve in a folder as its newest commit has it. Where a segment of
// that cannot be read, bleve would quietly open the commit before it, and write that over the newest
// where it may write: so it is opened to be read first, twice where the system had nothing against
// it. The error is ErrNone where there is no commit, and holds that of the system where that does not
// let a segment be read.
func openNewest(dir string, config map[string]any) (bleve.Index, error) {
	reads := maps.Clone(config)
	reads["read_only"] = true
	x, err := openCommitted(dir, reads)
	if damaged(err) {
		if system := readSegments(filepath.Join(dir, "store")); system != nil {
			return nil, errors.Join(err, system)
		}
		x, err = openCommitted(dir, reads)
	}
	if err != nil || config["read_only"] == true {
		return x, err
	}
	if err := x.Close(); err != nil {
		return nil, err
	}
	if x, err = openCommitted(dir, config); damaged(err) && !errors.Is(err, errPage) { // it was read whole a moment ago
		err = errors.Join(errPassing, err)
	}
	return x, err
}

// errPassing says that an index is not damaged: the system did not let it be opened to be written.
var errPassing = errors.New("it can be read, and not be opened to be written: try again")

// readSegments reads the end of each segment in a folder, and returns an error of the system, which
// bleve does not pass on.
func readSegments(store string) error {
	entries, err := os.ReadDir(store)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".zap") {
			continue
		}
		if err := readEnd(filepath.Join(store, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// readEnd reads the last byte of a file, where it has one.
func readEnd(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode().IsRegular() && info.Size() == 0 {
		return err
	}
	_, err = f.ReadAt(make([]byte, 1), max(0, info.Size()-1))
	return err
}

// openCommitted opens an index of bleve, with an error where that is not as its newest commit.
func openCommitted(dir string, config map[string]any) (bleve.Index, error) {
	commits, err := commits(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	if len(commits) == 0 {
		return nil, ErrNone // it was made a moment ago
	}
	x, err := openBleve(dir, config)
	if err != nil {
		return nil, err
	}
	state, err := x.GetInternal([]byte(stateKey))
	if err == nil && !bytes.Equal(state, commits[0].GetInternal([]byte(stateKey))) {
		err = errors.New("a segment of the newest commit cannot be read")
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// commits are those of the bbolt file in a folder, the newest first. An empty file, which bbolt would
// write to, has none.
func commits(dir string) (out []*scorch.RollbackPoint, err error) {
	defer recovered(&err)
	if _, err := readHead(filepath.Join(dir, "root.bolt")); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil { // RollbackPoints tells it without the error of the system
		return nil, err
	}
	return scorch.RollbackPoints(dir)
}

// openBleve is bleve.OpenUsing, with an error where a damaged file makes that panic.
func openBleve(dir string, config map[string]any) (x bleve.Index, err error) {
	defer recovered(&err)
	return bleve.OpenUsing(dir, config)
}

// recovered makes a panic an error: bbolt panics at a page that is not what it should be. Some it reads only
// when it is opened to be written.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPage, r)
	}
}

var errPage = errors.New("a page of the index is damaged")

// damaged tells whether an index could not be opened because of what is in its files, and not
// because the system would not read or write them.
func damaged(err error) bool {
	var system syscall.Errno
	return err != nil && !errors.Is(err, bolt.ErrTimeout) && !errors.Is(err, errPassing) && (!errors.As(err, &system) || errors.Is(err, fs.ErrNotExist))
}

// link makes a file known by another name, where the system lets it.
func link(file, name string) error {
	err := os.Symlink(file, name)
	if err != nil {
		err = os.Link(file, name)
	}
	return err
}

func readHead(bolt string) ([]byte, error) {
	f, err := os.Open(bolt)
	if err != nil {
		return nil, err
	}
	b := make([]byte, headBytes)
	n, err := f.ReadAt(b, 0)
	if n > 0 {
		err = nil // a short file has a short head
	}
	return b[:n], errors.Join(err, f.Close())
}

// stale tells whether the index was written since.
func (s *snapshot) stale(dir string) bool {
	head, err := readHead(filepath.Join(bleveDir(dir), "store", "root.bolt"))
	return err == nil && !bytes.Equal(head, s.head)
}

func (s *snapshot) close() error { return errors.Join(s.Index.Close(), os.RemoveAll(s.dir)) }

// refreshEvery bounds how often a Reader looks whether the index was written.
const refreshEvery = time.Second
