package viewer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// Find returns the collections at dir: itself, or those in the folders below it; several
// tells that it is the latter, and that others may begin there.
func Find(dir string) (found []collection.Collection, several bool, err error) {
	c, err := collection.Open(dir)
	if err == nil {
		return []collection.Collection{c}, false, nil
	}
	if !errors.Is(err, collection.ErrNone) {
		return nil, false, err
	}
	found, errRead := below(dir, nil)
	switch {
	case errRead != nil:
		return nil, false, err
	case len(found) == 0:
		return nil, false, fmt.Errorf("%w, and neither do the folders in it", err)
	}
	return found, true, nil
}

// below are the collections in the folders of dir, by name, without those whose whole path
// is known.
func below(dir string, known map[string]bool) (found []collection.Collection, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	whole := absolute(dir)
	for _, e := range entries {
		if e.Type().IsRegular() || known[filepath.Join(whole, e.Name())] {
			continue
		}
		if c, err := collection.Open(filepath.Join(dir, e.Name())); err == nil {
			found = append(found, c)
		}
	}
	return found, nil
}

// restAfterLook is the rest after a look for crawls, in times that the look took: so the looks
// take at most a two-hundredth of a processor, also in folders with thousands of others.
const restAfterLook = 200

// findMore shows crawls that begin in the folders, until ctx ends. A look reads the names in
// them, and asks for one file in each that holds no crawl so far.
func (s *Server) findMore(ctx context.Context) {
	if len(s.folders) == 0 {
		<-ctx.Done()
		return
	}
	for wait := s.every; pause(ctx, wait); {
		began := time.Now()
		s.lookForMore()
		wait = max(s.every, restAfterLook*time.Since(began))
	}
}

func (s *Server) lookForMore() {
	known := map[string]bool{}
	for _, c := range s.all() {
		known[c.at] = true
	}
	for _, dir := range s.folders {
		found, err := below(dir, known)
		if err != nil {
			continue // it may come back
		}
		for _, c := range found {
			s.add(c)
		}
	}
}

// absolute is a path from the root on; as it is, where that is not known.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return filepath.Clean(dir)
}
