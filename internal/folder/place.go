package folder

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Vacant tells, before any work is done, whether a result may be written to a file of
// that name, whose folder must be there: over a file that is there only by force, and
// never over one of those that are read.
func Vacant(name string, force bool, read ...string) error {
	dir := filepath.Dir(name)
	there, err := os.Stat(name)
	if err != nil {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s cannot be written: there is no folder %s; make it first", name, dir)
		}
		return writable(name)
	}
	for _, r := range read {
		if info, err := os.Stat(r); err == nil && os.SameFile(there, info) {
			return fmt.Errorf("%s is read and cannot be written as well: choose another file", name)
		}
	}
	switch {
	case there.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", name)
	case !force:
		return fmt.Errorf("%s is there already: choose another file, or replace it with --force", name)
	}
	return writable(name)
}

// MayBe tells whether there is a folder of that name, or one may be made: nothing else has the
// name, nor that of a folder around it.
func MayBe(name string) error {
	for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return fmt.Errorf("%s is a file, and a folder is wanted there: name another, or move the file away", dir)
		case dir == filepath.Dir(dir):
			return nil
		}
	}
}

// writable tells whether a file can be written beside that of a name.
func writable(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, named(name, err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteZipped is WriteFrom, gzipped if its name says so.
func WriteZipped(name string, write func(io.Writer) error) error {
	return WriteFrom(name, func(out io.Writer) error {
		if !strings.HasSuffix(name, ".gz") {
			return write(out)
		}
		z := gzip.NewWriter(out)
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	})
}

// Same tells whether two names are those of one folder, which need not be there: written from
// elsewhere, or through a symbolic link.
func Same(a, b string) bool {
	return resolved(a) == resolved(b)
}

// resolved is an absolute name without symbolic links, as far as it is there.
func resolved(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Clean(name)
	}
	for there, rest := abs, ""; ; there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest) {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			return filepath.Join(real, rest)
		} else if filepath.Dir(there) == there {
			return abs
		}
	}
}

// Between leads from the folder of a file to another folder, with slashes;
// "" if they are the same.
func Between(file, folder string) (string, error) {
	from, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}
