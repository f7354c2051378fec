package export

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
)

// writeCDXJ writes the index of the archives. Files of several collections are named
// with the path of their folder, as two of them may have one name.
func writeCDXJ(ctx context.Context, in *Input, out io.Writer) (err error) {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var g gaps
	lines := sorter{memory: in.memory}
	defer func() { err = errors.Join(err, lines.close()) }()
	for i, c := range in.Collections {
		name := filepath.Base
		if len(in.Collections) > 1 {
			name = filepath.ToSlash
		}
		for e, err := range in.entries(ctx, s, i, c, &g) {
			if err != nil {
				return err
			}
			if !e.Replayable() {
				continue
			}
			line, err := e.CDXJ(name(e.File))
			if err != nil {
				g.add(err)
				continue
			}
			if err := lines.add(line); err != nil {
				return err
			}
		}
	}
	w := bufio.NewWriter(out)
	if err := lines.write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return g.err()
}
