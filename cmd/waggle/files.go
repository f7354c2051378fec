package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// vacant tells, before any work is done, whether a command may write its result
// there: over a file that is there only by force, and never over one that it
// reads.
func vacant(name string, force bool, read ...string) error {
	bad := func(format string) error { return exit{exitUsage, fmt.Errorf(format, name)} }
	dir := filepath.Dir(name)
	there, err := os.Stat(name)
	if err != nil {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return exit{exitUsage, fmt.Errorf("%s cannot be written: there is no folder %s; make it first", name, dir)}
		}
		return writable(name)
	}
	for _, r := range read {
		if info, err := os.Stat(r); err == nil && os.SameFile(there, info) {
			return bad("%s is read and cannot be written as well: choose another file")
		}
	}
	switch {
	case there.IsDir():
		return bad("%s is a folder: name a file in it")
	case !force:
		return bad("%s is there already: choose another file, or replace it with --force")
	}
	return writable(name)
}

// writable tells whether a file can be written beside that of a name.
func writable(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return exit{exitUsage, fmt.Errorf("%s cannot be written: %w", name, err)}
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// isPlot refuses names of files that a chart is not drawn into; "" is none.
func isPlot(name string) error {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg", ".png":
		return nil
	}
	if name == "" {
		return nil
	}
	return exit{exitUsage, fmt.Errorf("--plot %s: a chart is drawn as .svg or .png", name)}
}

// writeStream writes a file of any length so that it appears when it is whole,
// zipped if its name says so.
func writeStream(name string, write func(io.Writer) error) error {
	return folder.WriteFrom(name, func(out io.Writer) error {
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

// pathBetween leads from the folder of a file to another folder, with slashes;
// "" if they are the same.
func pathBetween(file, folder string) (string, error) {
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

// takeResults takes a folder of results for this run: two that wrote to it would
// lose results of each other.
func takeResults(dir string) (io.Closer, error) {
	lock, err := folder.Lock(dir)
	switch {
	case errors.Is(err, folder.ErrLocked):
		return nil, fmt.Errorf("%s is in use by another waggle: wait for it to end, or choose another folder", dir)
	case err != nil:
		return nil, exit{exitUsage, fmt.Errorf("results cannot be written to %s: choose another folder with -o: %w", dir, err)}
	}
	return lock, nil
}

// takePool takes the folder of a pool for adding labels to it.
func takePool(dir string) (io.Closer, error) {
	lock, err := folder.Lock(dir)
	switch {
	case errors.Is(err, folder.ErrLocked):
		return nil, fmt.Errorf("%s is in use by another waggle: wait for it to end", dir)
	case err != nil:
		return nil, exit{exitUsage, fmt.Errorf("labels cannot be kept in %s: make it writable, or work on a copy of the folder: %w", dir, err)}
	}
	return lock, nil
}

// openLabels opens the labels of a pool for adding to them, and tells what was cut
// off their end.
func openLabels(std streams, dir string, p *pool.Pool) (*pool.LabelFile, []pool.Label, error) {
	f, labels, err := pool.OpenLabels(dir, p)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	if f.Cut != "" {
		fmt.Fprintf(std.err, "waggle: note: the last line of %s was not written whole and was cut off: %q\n", filepath.Join(dir, pool.LabelsName), event.Line(f.Cut))
	}
	return f, labels, nil
}

// savePlot draws into a file, by the ending of its name.
func savePlot(name string, d *plot.Drawing) error {
	if err := isPlot(name); err != nil {
		return err
	}
	return folder.WriteFrom(name, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(name), ".png") {
			return d.PNG(w, 2, false)
		}
		return d.SVG(w)
	})
}

// removeUnusable takes away a folder that a command made where it cannot be used as
// it was given.
func removeUnusable(place folder.New, err error) {
	if exitCodeOf(err) == exitUsage {
		place.Remove()
	}
}
