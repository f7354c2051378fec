package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempAge is how old a folder of temporary files is at least that nobody holds and that is swept away.
const tempAge = 10 * time.Second

// Temp makes a folder for temporary files in another one, "" = the system's for such, whose name
// begins with prefix, and holds it for this process until remove takes it away. Before that it
// removes those of programs that were killed before they could: what they hold may be private.
func Temp(in, prefix string) (dir string, remove func() error, err error) {
	if in == "" {
		in = os.TempDir()
	}
	sweep(in, prefix)
	if dir, err = os.MkdirTemp(in, prefix); err != nil {
		return "", nil, err
	}
	lock, err := Lock(dir)
	if err != nil { // as on a file system without locks: without the file of the lock nobody sweeps it
		if err := os.Remove(filepath.Join(dir, "lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	// Some systems remove no file that is open.
	return dir, func() error { return errors.Join(lock.Close(), os.RemoveAll(dir)) }, nil
}

// sweep removes the folders of such a name whose program was killed. One that is ten seconds old and
// whose lock nobody holds is such: a folder is locked as soon as it is made.
func sweep(in, prefix string) {
	entries, _ := os.ReadDir(in) // nothing is removed where it cannot be read
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(in, e.Name())
		info, err := e.Info()
		if err != nil || !isOurs(info) || time.Since(info.ModTime()) < tempAge || !Exists(filepath.Join(dir, "lock")) || Held(dir) {
			continue
		}
		os.RemoveAll(dir) // what cannot be removed stays
	}
}
