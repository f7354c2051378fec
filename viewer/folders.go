package viewer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// Found are the collections at a folder.
type Found struct {
	Collections []collection.Collection
	Several     bool     // they are in the folders below it, and others may begin there
	Others      []string // the names of the folders below it that hold none
}

// Find returns the collections at dir: itself, or those in the folders below it.
func Find(dir string) (Found, error) {
	c, err := collection.Open(dir)
	if err == nil {
		return Found{Collections: []collection.Collection{c}}, nil
	}
	if !errors.Is(err, collection.ErrNone) {
		return Found{}, err
	}
	found, others, errRead := below(dir, nil)
	switch {
	case errRead != nil:
		return Found{}, err
	case len(found) == 0:
		return Found{}, fmt.Errorf("%w, and neither do the folders in it", err)
	}
	f := Found{Collections: found, Several: true}
	for _, e := range others {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			f.Others = append(f.Others, e.Name())
		}
	}
	return f, nil
}

// below are the collections in the folders of dir, by name, without those whose whole path
// is known, and without those that a merge is making. others hold none, as far as they are folders.
func below(dir string, known map[string]bool) (found []collection.Collection, others []os.DirEntry, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	whole := absolute(dir)
	for _, e := range entries {
		if e.Type().IsRegular() || known[filepath.Join(whole, e.Name())] || strings.HasSuffix(e.Name(), collection.Merging) {
			continue
		}
		if c, err := collection.Open(filepath.Join(dir, e.Name())); err == nil {
			found = append(found, c)
		} else {
			others = append(others, e)
		}
	}
	return found, others, nil
}

// restAfterLook is the rest after a look for crawls, in times that the look took: so the looks
// take at most a two-hundredth of a processor, also in folders with thousands of others.
const restAfterLook = 200

// findMore shows crawls that begin in the folders, and none that are gone, until ctx ends. A look
// reads the names in them, and asks for one file in each.
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
		if known[absolute(dir)] {
			continue
		}
		if c, err := collection.Open(dir); err == nil { // it was empty, and somebody began one in it
			s.add(c)
			continue
		}
		found, _, err := below(dir, known)
		if err != nil {
			continue // it may come back
		}
		for _, c := range found {
			s.add(c)
		}
	}
	s.lookForGone()
}

// lookForGone takes crawls whose folders are gone from those to choose from, and brings back
// those that are there again. A crawl that was named by itself stays, and says what is wrong.
func (s *Server) lookForGone() {
	in := map[string]bool{}
	for _, dir := range s.folders {
		in[absolute(dir)] = true
	}
	gone := map[*crawl]bool{}
	for _, c := range s.all() {
		gone[c] = in[filepath.Dir(c.at)] && c.Gone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	others := false
	for c, is := range gone {
		others = others || c.gone != is
		c.gone = is
	}
	if others {
		s.tellOthers()
	}
}

// absolute is a path from the root on; as it is, where that is not known.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return filepath.Clean(dir)
}
