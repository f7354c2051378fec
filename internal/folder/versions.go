package folder

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Unused is how long nobody opened a version before it is removed.
const Unused = 30 * 24 * time.Hour

// OpenVersion makes the folder dir/name, if it is not there, and notes now as the time at which it was
// last opened, as the folder's time of change. Other folders in dir whose names begin with one of the
// prefixes are those of other versions, which an upgrade leaves behind: each that nobody opened
// for the time Unused is removed with what is in it. Files, links and all other names stay,
// and what cannot be removed stays until the next time.
func OpenVersion(dir, name string, prefixes []string, now time.Time) (string, error) {
	own := filepath.Join(dir, name)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return "", err
	}
	if err := os.Chtimes(own, now, now); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return own, nil // it cannot be listed, and can be used
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == name || !hasPrefix(e.Name(), prefixes) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().Type() == fs.ModeDir && now.Sub(info.ModTime()) > Unused {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return own, nil
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
