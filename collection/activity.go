package collection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/web"
)

// ActivityFile is the path of activity.json: what the running crawl does at the moment. It
// is of no use once the crawl does not run.
func (c Collection) ActivityFile() string { return filepath.Join(c.dir, "activity.json") }

// SaveActivity keeps what the crawl does now, for other processes to read; the zero
// Activity removes it. It is not brought to the platter, since no later run reads it, and
// what goes wrong is no reason to end a crawl: the error may be passed over.
func (w *Writer) SaveActivity(a web.Activity) error {
	if a.At.IsZero() {
		return errors.Join(removed(w.ActivityFile()), removed(w.ActivityFile()+".new"))
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.ActivityFile()+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(w.ActivityFile()+".new", w.ActivityFile())
}

// removed removes a file that may not be there.
func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// maxActivity bounds activity.json, in bytes.
const maxActivity = 64 << 10

// Activity is what the crawl does, as it told last; nil where it does not run, or has told
// nothing yet.
func (c Collection) Activity() (*web.Activity, error) {
	info, err := os.Stat(c.ActivityFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxActivity:
		return nil, fmt.Errorf("%s is no file that a crawl wrote", c.ActivityFile())
	}
	b, err := os.ReadFile(c.ActivityFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the crawl has ended just now
	}
	if err != nil {
		return nil, err
	}
	if !c.Running() {
		return nil, nil // it was left by a crawl that was killed
	}
	var a web.Activity
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("%s: %w", c.ActivityFile(), err)
	}
	return &a, nil
}
