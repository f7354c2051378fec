package profile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/topic/paths"
)

// Trails reads the paths through some sites from whatever a file or folder holds: the
// profile of a browser, its database, a file of paths, or recorded searches, both also
// compressed by zstd. With deadEnds the ways that searches went back from are kept too.
// note is told what was read and left out.
func Trails(ctx context.Context, from string, given []string, deadEnds bool, note func(string, ...any)) ([]paths.Path, []paths.Problem, error) {
	head, err := beginning(from)
	if err != nil {
		return nil, nil, err
	}
	if head == nil || bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		f, err := Read(ctx, from, Options{Sites: given})
		if err != nil {
			return nil, nil, err
		}
		note("%s, schema version %d: read a copy of %s", f.Browser, f.Version, strings.Join(f.Copied, " and "))
		if f.Behind && head != nil { // a file of its own, no profile
			note("no %s-wal was beside it: if this is a copy made while the browser was running, copy that too, as the latest visits are there", filepath.Base(from))
		}
		note("%s visits to %s", terminal.Number(f.Visits), strings.Join(given, ", "))
		return f.Paths, nil, nil
	}
	sites, err := Sites(given)
	if err != nil {
		return nil, nil, err
	}
	in, closeIn, err := openText(from, head)
	if err != nil {
		return nil, nil, err
	}
	defer closeIn()
	b := bufio.NewReaderSize(in, 64<<10)
	first, err := b.Peek(4 << 10)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, fmt.Errorf("%s: %w", from, err)
	}
	var set []paths.Path
	var problems []paths.Problem
	if isGames(first) {
		problems, err = paths.ReadGames(b, from, func(g paths.Game) bool {
			var ways []paths.Path
			if ways, err = g.Paths(deadEnds); err != nil {
				return false
			}
			for i := range ways {
				ways[i].File = from
			}
			set = append(set, ways...)
			return ctx.Err() == nil
		})
	} else {
		set, problems, err = paths.Read(b, from)
	}
	if err != nil {
		return nil, nil, err
	}
	before := len(set)
	set = slices.DeleteFunc(set, func(p paths.Path) bool {
		for _, s := range p.Steps {
			if sites.Of(s.URL) == "" {
				return true
			}
		}
		return false
	})
	if left := before - len(set); left > 0 {
		note("paths that go to other sites are left out: %s", terminal.Number(left))
	}
	return set, problems, nil
}

// beginning is the first bytes of a file, nil for a folder.
func beginning(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		// A pipe would be without its beginning when it is read for good.
		return nil, fmt.Errorf("%s is no regular file: write what it gives to one, and name that", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 16)
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return b[:n:n], nil
}

// openText opens a file of text, compressed by zstd or not.
func openText(name string, head []byte) (io.Reader, func(), error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return f, func() { f.Close() }, nil // it was read only
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return z, func() { z.Close(); f.Close() }, nil
}

// isGames tells recorded searches from paths by the first line that is no
// comment.
func isGames(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			return bytes.HasPrefix(line, []byte("finished\t")) || bytes.HasPrefix(line, []byte("unfinished\t"))
		}
	}
	return false
}
