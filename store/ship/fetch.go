package ship

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/waggle-crawler/waggle/store"
)

// Shipment is what was shipped of a folder.
type Shipment struct {
	Name  string
	Files int // of the archive
	Bytes int64
}

// List are the folders that were shipped to the place, by name.
func (s *Store) List(ctx context.Context) ([]Shipment, error) {
	found := make(map[string]*Shipment)
	for o, err := range s.objects(ctx, "") {
		if err != nil {
			return nil, err
		}
		name, file, ok := strings.Cut(o.Key, "/")
		if !ok {
			continue
		}
		if found[name] == nil {
			found[name] = &Shipment{Name: name}
		}
		if strings.HasPrefix(file, archiveFolder) {
			found[name].Files++
			found[name].Bytes += o.Size
		}
	}
	var out []Shipment
	for _, x := range found {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Shipment) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// objects are the files below a name, whose keys are given without the prefix.
func (s *Store) objects(ctx context.Context, below string) func(yield func(minio.ObjectInfo, error) bool) {
	return func(yield func(minio.ObjectInfo, error) bool) {
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + below, Recursive: true}) {
			err := s.wrong(o.Err)
			o.Key = strings.TrimPrefix(o.Key, s.prefix)
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// MostSize is the size of the largest file that a store takes in one request: 5 GiB, as that of
// AWS (Amazon S3 User Guide, "Uploading objects").
const MostSize = 5 << 30

// mostFiles is how many files a folder at the store may have: at 1 GiB each, 1 PB.
const mostFiles = 1_000_000

// fetched is a file that is brought back.
type fetched struct {
	name, to string // at the store, and here
	size     int64
	sum      string
	here     bool
}

// Fetch brings the files of a folder that was shipped to this place back: those of the archive
// into the folder archive, and the others to the paths of setup, by their names. Of these the
// first has to be there. The SHA-256 of each is compared. Files that are here as they were shipped
// stay; where one is another, or what is missing is more than the disk has free, that is an error and
// nothing is written. free tells how many bytes the disk has; one that cannot tell is written to.
// progress is told how many bytes of how many are here.
func (s *Store) Fetch(ctx context.Context, archive string, setup []string, free func() (uint64, error), progress func(done, total int64)) error {
	list, err := s.fetchable(ctx, archive, setup)
	if err != nil {
		return err
	}
	var done, total int64
	for i := range list {
		f := &list[i]
		if err := s.compare(ctx, f); err != nil {
			return err
		}
		total += f.size
		if f.here {
			done += f.size
		}
	}
	if has, err := free(); err == nil && uint64(total-done) > has {
		return fmt.Errorf("the disk of %s has %d bytes free, and %d are to be fetched: make room, or fetch to another disk", filepath.Dir(setup[0]), has, total-done)
	}
	for _, f := range list {
		progress(done, total)
		if f.here {
			continue
		}
		if err := s.fetch(ctx, f); err != nil {
			return err
		}
		done += f.size
	}
	progress(done, total)
	return nil
}

// fetchable lists the files at this place that have names as Shipper gives: setup in its order, then
// the archive. Other names could lead anywhere, and be files that a crawl believes.
func (s *Store) fetchable(ctx context.Context, archive string, setup []string) (list []fetched, err error) {
	there := make(map[string]bool)
	n := 0
	for o, err := range s.objects(ctx, "") {
		if err != nil {
			return nil, err
		}
		if n++; n > mostFiles {
			return nil, fmt.Errorf("there are more than %d files at %s: that is no archive of waggle", mostFiles, s.Place(""))
		}
		if name, ok := strings.CutPrefix(o.Key, archiveFolder); ok && archived(name) {
			list = append(list, fetched{name: o.Key, to: filepath.Join(archive, name)})
		} else if !strings.Contains(o.Key, "/") {
			there[o.Key] = true
		}
	}
	var first []fetched
	for i, path := range setup {
		name := filepath.Base(path)
		if there[name] {
			first = append(first, fetched{name: name, to: path})
		} else if i == 0 {
			return nil, fmt.Errorf("there is no archive at %s; waggle ship list names those that are below a place", s.Place(""))
		}
	}
	if len(first) > 1 { // the job follows what stands behind it: alone it is no crawl that a fetch can go on with
		first[0], first[1] = first[1], first[0]
	}
	return append(first, list...), nil
}

// archived tells whether a name is that of a file of an archive, and of no other folder.
func archived(name string) bool {
	prefix, _, ok := store.NumberOf(name)
	return ok && !strings.HasPrefix(prefix, ".") && !strings.ContainsFunc(prefix, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r)
	})
}

// compare asks for a file, and looks whether it is here.
func (s *Store) compare(ctx context.Context, f *fetched) (err error) {
	if f.size, f.sum, err = s.look(ctx, f.name); err != nil {
		return err
	}
	if f.size < 0 || f.size > MostSize {
		return fmt.Errorf("%s has %d bytes: that is no file of waggle", s.Place(f.name), f.size)
	}
	info, err := os.Stat(f.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.here = err == nil
	sum := ""
	if err == nil && info.Size() == f.size {
		sum, err = sumFile(f.to)
	}
	if err == nil && (info.Size() != f.size || sum != f.sum) {
		err = fmt.Errorf("%s is there and is not what was shipped: fetch into another folder", f.to)
	}
	return err
}

// fetch brings one file.
func (s *Store) fetch(ctx context.Context, f fetched) (err error) {
	if err := os.MkdirAll(filepath.Dir(f.to), 0o755); err != nil {
		return err
	}
	r, _, _, err := s.core.GetObject(ctx, s.bucket, s.key(f.name), minio.GetObjectOptions{})
	if err != nil {
		return s.wrong(err)
	}
	defer r.Close()
	part, err := os.Create(f.to + ".new")
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(part, h), io.LimitReader(r, f.size+1))
	if err == nil && (n != f.size || hex.EncodeToString(h.Sum(nil)) != f.sum) {
		err = fmt.Errorf("%s at the store is not what was shipped: %d bytes of %d, or others", s.Place(f.name), n, f.size)
	}
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return errors.Join(err, os.Remove(f.to+".new"))
	}
	return os.Rename(f.to+".new", f.to)
}

func sumFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
