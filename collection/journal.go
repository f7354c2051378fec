package collection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// journal is how several files change places as one: it is written whole, and
// from then on the changes are carried out, by this process or by the next that
// locks the folder.
//
//	new files complete ─► repair.json ─► changes, one by one ─► repair.json removed
//	a process that dies:
//	the old files hold  │ the new files hold, once the folder is locked again
//
// Each change can be told from one that was not made yet, so they can be begun
// anew from the first.
type journal []change

// change is one step of a journal. Paths are relative to the folder.
type change struct {
	// Aside moves From to To, unless To is there or From is not.
	// Move moves From to To in its place, unless From is not there.
	// Cut shortens From to Size bytes, unless it is not longer.
	Kind string `json:"kind"` // "aside", "move" or "cut"
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	Size int64  `json:"size,omitempty"`
}

func (c Collection) journalFile() string { return filepath.Join(c.dir, "repair.json") }

// carryOut writes the journal and makes its changes.
func (c Collection) carryOut(j journal) error {
	b, err := j.text()
	if err != nil {
		return err
	}
	if err := folder.Write(c.journalFile(), b); err != nil {
		return err
	}
	return c.goOn()
}

func (j journal) text() ([]byte, error) {
	b, err := json.MarshalIndent(j, "", "  ")
	return append(b, '\n'), err
}

// goOn makes the changes of a journal that is there.
func (c Collection) goOn() error {
	b, err := os.ReadFile(c.journalFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var j journal
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("%s, by which files were replaced when a process died, is damaged (%w): remove it, then waggle repair", c.journalFile(), err)
	}
	folders := map[string]bool{c.dir: true}
	for _, x := range j {
		if err := c.make(x); err != nil {
			return fmt.Errorf("going on with a replacement of files that was interrupted: %w", err)
		}
		folders[filepath.Dir(filepath.Join(c.dir, x.From))] = true
		folders[filepath.Dir(filepath.Join(c.dir, x.To))] = true
	}
	for dir := range folders {
		if err := syncFolder(dir); err != nil {
			return err
		}
	}
	return os.Remove(c.journalFile())
}

func (c Collection) make(x change) error {
	from, to := filepath.Join(c.dir, x.From), filepath.Join(c.dir, x.To)
	if !filepath.IsLocal(x.From) || x.Kind != "cut" && !filepath.IsLocal(x.To) {
		return fmt.Errorf("%s names a file outside the folder: %q, %q", c.journalFile(), x.From, x.To)
	}
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // done
	}
	if err != nil {
		return err
	}
	switch x.Kind {
	case "aside":
		if folder.Exists(to) {
			return nil // done: what is at From is new
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.Rename(from, to)
	case "move":
		return os.Rename(from, to)
	case "cut":
		if info.Size() <= x.Size {
			return nil
		}
		return cutFile(from, x.Size)
	}
	return fmt.Errorf("%s holds a change %q, which this version does not know", c.journalFile(), x.Kind)
}

// cutFile makes a file end at a size, also on the disk.
func cutFile(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(dir string) error {
	err := folder.Sync(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
