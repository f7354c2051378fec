package ship

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
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

// Fetch brings the files of a folder that was shipped to this place into dir, and compares the
// SHA-256 of each. Files that are there as they were shipped stay; others of their names are
// an error. progress is told how many bytes of how many are there.
func (s *Store) Fetch(ctx context.Context, dir string, progress func(done, total int64)) error {
	var list []minio.ObjectInfo
	var done, total int64
	for o, err := range s.objects(ctx, "") {
		if err != nil {
			return err
		}
		if !fetchable(o.Key) {
			continue
		}
		list = append(list, o)
		total += o.Size
	}
	if !slices.ContainsFunc(list, func(o minio.ObjectInfo) bool { return o.Key == "job.yaml" }) {
		return fmt.Errorf("there is no archive at %s; waggle ship list names those that are below a place", s.Place(""))
	}
	for _, o := range list {
		progress(done, total)
		if err := s.fetch(ctx, o.Key, filepath.Join(dir, filepath.FromSlash(o.Key))); err != nil {
			return err
		}
		done += o.Size
	}
	progress(done, total)
	return nil
}

// fetchable tells whether a file is one that Shipper ships: other names could lead anywhere.
func fetchable(name string) bool {
	rest, inArchive := strings.CutPrefix(name, archiveFolder)
	if rest == "" || strings.HasPrefix(rest, ".") || strings.ContainsFunc(rest, func(r rune) bool {
		return r == '/' || r == '\\' || r == ':' || r < ' ' || r == 0x7f
	}) {
		return false
	}
	return inArchive == strings.HasSuffix(rest, ".warc.gz")
}

// fetch brings one file.
func (s *Store) fetch(ctx context.Context, name, to string) (err error) {
	size, sum, err := s.look(ctx, name)
	if err != nil {
		return err
	}
	if info, err := os.Stat(to); err == nil {
		has, err := sumFile(to)
		if err == nil && (has != sum || info.Size() != size) {
			err = fmt.Errorf("%s is there and is not what was shipped: fetch into another folder", to)
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	r, _, _, err := s.core.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return s.wrong(err)
	}
	defer r.Close()
	part, err := os.Create(to + ".new")
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(part, h), io.LimitReader(r, size+1))
	if err == nil && (n != size || hex.EncodeToString(h.Sum(nil)) != sum) {
		err = fmt.Errorf("%s at the store is not what was shipped: %d bytes of %d, or others", path.Join(s.Place(""), name), n, size)
	}
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return errors.Join(err, os.Remove(to+".new"))
	}
	return os.Rename(to+".new", to)
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
