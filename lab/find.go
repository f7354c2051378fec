package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/job"
)

// Webs are recorded webs by their names, in a folder that holds them or what they are built from.
type Webs struct {
	From     string                             // the folder
	Made     string                             // folder of those that are built; it is made when the first is
	Progress func(done, total int, note string) // of a build
}

// source is where a recorded web is, or what it is built from. An error is a job.Mistake.
func (w Webs) source(name string) (from string, src corpus.Source, err error) {
	from = filepath.Join(w.From, name)
	src, err = corpus.Detect(from)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it needs the recorded web %s, and %s, which --webs or WAGGLE_WEBS names, %s: name the folder that holds it", name, w.From, held(w.From))
	}
	if err != nil {
		return "", nil, job.Mistake{Err: err}
	}
	return from, src, nil
}

// held says what is in a folder of webs that has not the one that is needed.
func held(dir string) string {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not there"
	case err != nil:
		return "is no folder that can be read"
	}
	var names []string
	for _, e := range entries {
		if _, err := corpus.Detect(filepath.Join(dir, e.Name())); err == nil {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "holds no recorded web"
	}
	return "holds " + strings.Join(names[:min(len(names), 10)], ", ")
}

// Find returns the folder of a recorded web, which is built where From has no more than
// what it is built from. What it built before it finds again. An error is a job.Mistake
// if the web is not there or its files are none.
func (w Webs) Find(ctx context.Context, name string) (string, error) {
	from, src, err := w.source(name)
	if err != nil {
		return "", err
	}
	if _, is := src.(corpus.Recorded); is {
		return from, nil
	}
	dir := filepath.Join(w.Made, name)
	if made, err := corpus.Open(dir); err == nil {
		return dir, made.Close()
	}
	if err := os.MkdirAll(w.Made, 0o755); err != nil {
		return "", err
	}
	_, err = corpus.Build(ctx, dir, src, corpus.Options{Progress: func(done, total int, note string) { w.Progress(done, total, name+": "+note) }})
	return dir, err
}

// FindWebs finds in webs, by their names, those webs of the lab file whose paths lead nowhere:
// those that were built before, and then those of From. It builds none unless all of them are
// there. An empty From finds those that were built before alone.
func (f *File) FindWebs(ctx context.Context, webs Webs) error {
	var nowhere []*Web
	for i := range f.Webs {
		spec := &f.Webs[i]
		if _, err := os.Stat(spec.Path); !errors.Is(err, fs.ErrNotExist) {
			continue // opening it tells what is wrong with it
		}
		name := filepath.Base(spec.Path)
		if made, err := corpus.Open(filepath.Join(webs.Made, name)); err == nil {
			spec.Path = made.Dir()
			if err := made.Close(); err != nil {
				return err
			}
			continue
		}
		if webs.From == "" {
			continue // opening it tells that it is not there
		}
		if _, _, err := webs.source(name); err != nil {
			return job.Mistake{Err: fmt.Errorf("%s: %w", f.at("webs", fmt.Sprint(i)), err)}
		}
		nowhere = append(nowhere, spec)
	}
	for _, spec := range nowhere {
		dir, err := webs.Find(ctx, filepath.Base(spec.Path))
		if err != nil {
			return err
		}
		spec.Path = dir
	}
	return nil
}
