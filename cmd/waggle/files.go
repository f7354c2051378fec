package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// vacant tells, before any work is done, whether a command may write its result
// there, see folder.Vacant.
func vacant(name string, force bool, read ...string) error {
	if err := folder.Vacant(name, force, read...); err != nil {
		return exit{exitUsage, err}
	}
	return nil
}

// outFolder is the folder that -o names; "" of a command that takes none there.
func outFolder(k *kong.Context) string {
	for _, f := range k.Flags() {
		if f.Short == 'o' && (f.PlaceHolder == "DIR" || f.PlaceHolder == "WEB") {
			return f.Target.String()
		}
	}
	return ""
}

// unmade tells of an error of making the folder that -o names, or one around or beside it, that another is to be
// named. Other errors stay as they are.
func unmade(out string, err error) error {
	var p *fs.PathError
	if out == "" || !errors.As(err, &p) || p.Op != "mkdir" {
		return err
	}
	out, made := filepath.Clean(out), filepath.Clean(p.Path)
	if made != out && !strings.HasPrefix(out, made+string(filepath.Separator)) && filepath.Dir(made) != filepath.Dir(out) {
		return err
	}
	return exit{exitUsage, fmt.Errorf("-o %s: this folder cannot be made: %w; name another", out, p.Err)}
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

// takeResults takes a folder of results for this run: two that wrote to it would
// lose results of each other.
func takeResults(dir string) (io.Closer, error) {
	if err := forResults(dir); err != nil {
		return nil, err
	}
	lock, err := folder.Lock(dir)
	switch {
	case errors.Is(err, folder.ErrLocked):
		return nil, fmt.Errorf("%s is in use by another waggle: wait for it to end, or choose another folder", dir)
	case err != nil:
		return nil, exit{exitUsage, fmt.Errorf("results cannot be written to %s: choose another folder with -o: %w", dir, err)}
	}
	return lock, nil
}

// forResults refuses the folder of a crawl and a recorded web as a place of results: the files of both would be
// mixed, and some have one name.
func forResults(dir string) error {
	what := ""
	switch {
	case collection.At(dir).Begun():
		what = "a crawl"
	case folder.Exists(filepath.Join(dir, "web.yaml")):
		what = "a recorded web"
	default:
		return nil
	}
	return exit{exitUsage, fmt.Errorf("%s holds %s: choose another folder", dir, what)}
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
	return folder.WriteBeside(name, func(w io.Writer) error {
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
