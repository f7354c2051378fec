package teach

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/topic/paths"
)

// File keeps paths in a file, and what can be undone of them in another
// beside it, whose loss loses no path.
type File struct {
	name string
	// Paths are those kept when the file was opened.
	Paths []paths.Path
	// History is what can be undone and redone.
	History History
	// Note says why nothing that was done before can be undone, "" = it can.
	Note string
	// held is what the file held when it was last read or written; nil = there
	// was none.
	held []byte
	// backup is a file to keep aside before the first writing, as it holds
	// what would be lost: comments, an order of its own.
	backup bool
}

// OpenFile reads the paths kept so far. Paths that are not understood are an
// error, as writing the file anew would lose them.
func OpenFile(name string) (*File, error) {
	k := &File{name: name}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if dir := filepath.Dir(name); dir != "." {
			if _, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("-o %s: make its folder first: %w", name, err)
			}
		}
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	set, problems, err := paths.Read(bytes.NewReader(b), name)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%v\nPaths that are not understood (%d) would be lost from %s: mend it, or choose another -o FILE", problems[0], len(problems), name)
	}
	k.Paths, k.held = set, b
	if k.held == nil {
		k.held = []byte{}
	}
	anew, err := k.encode(set)
	k.backup = err == nil && !bytes.Equal(anew, b)
	f, err := os.Open(k.pastName())
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	if k.History, err = ReadHistory(f, set); err != nil {
		k.Note = fmt.Sprintf("What was done before cannot be undone: %s: %v.", f.Name(), err)
	}
	return k, nil
}

// pastName is the file of what can be undone.
func (k *File) pastName() string { return k.name + ".undo" }

// encode writes paths as the file has them. An empty file is not nil, which is none.
func (k *File) encode(set []paths.Path) ([]byte, error) {
	b := bytes.NewBuffer([]byte{})
	write := paths.WriteTSV
	if strings.HasSuffix(k.name, ".jsonl") || strings.HasSuffix(k.name, ".json") {
		write = paths.WriteJSON
	}
	err := write(b, set)
	return b.Bytes(), err
}

// Save writes all paths, whole or not at all, unless somebody else wrote to
// the file meanwhile.
//
// Who is killed between the two files finds both on the same side of the
// action, or the past one action ahead, which ReadHistory knows: an action writes
// the past first, taking one back writes it last.
func (k *File) Save(set []paths.Path, h History) error {
	now, err := os.ReadFile(k.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case k.held == nil || !bytes.Equal(now, k.held):
		return fmt.Errorf("%s was changed by another program: end waggle teach and start it again to go on from there", k.name)
	}
	b, err := k.encode(set)
	if err != nil {
		return err
	}
	if k.backup {
		if err := folder.Write(k.name+"~", k.held); err != nil {
			return err
		}
		k.backup = false
	}
	back := len(h.Past) < len(k.History.Past)
	if !back {
		if err := k.savePast(set, h); err != nil {
			return err
		}
	}
	if err := folder.Write(k.name, b); err != nil {
		return err
	}
	k.held, k.History = b, h
	if back {
		k.savePast(set, h) // the paths are kept; at worst less can be undone after a restart
	}
	return nil
}

func (k *File) savePast(set []paths.Path, h History) error {
	if len(h.Past)+len(h.Future) == 0 {
		if err := os.Remove(k.pastName()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var b bytes.Buffer
	if err := WriteHistory(&b, set, h); err != nil {
		return err
	}
	return folder.Write(k.pastName(), b.Bytes())
}

// Missing are those of set that k does not hold: neither as they are nor, where they
// bear no label, as ways that were labelled since.
func (k *File) Missing(set []paths.Path) []paths.Path {
	way := func(p *paths.Path, labels bool) string {
		var b strings.Builder
		b.WriteString(p.Task)
		for _, s := range p.Steps {
			b.WriteString("\n" + s.URL.String())
			if labels {
				b.WriteString("\t" + s.Label)
			}
		}
		return b.String()
	}
	held := make(map[string]bool, 2*len(k.Paths))
	for i := range k.Paths {
		held[way(&k.Paths[i], false)], held[way(&k.Paths[i], true)] = true, true
	}
	return slices.DeleteFunc(slices.Clone(set), func(p paths.Path) bool { return held[way(&p, p.Ending() != "")] })
}
