package taxonomy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// Import writes the taxonomy that a file or folder holds: a folder with one for each
// topic, content.rdf.u8 of an Open Directory dump, or a table of topic and address. What
// it is shows in its beginning. structure names structure.rdf.u8 of the same dump, "" if
// there is none.
func Import(ctx context.Context, w io.Writer, from, structure string, o Options) (r ImportReport, err error) {
	info, err := os.Stat(from)
	if err != nil {
		return r, err
	}
	if info.IsDir() {
		if structure != "" {
			return r, fmt.Errorf("%s is a folder, but a structure is given", from)
		}
		if r, err = ImportFolder(ctx, w, os.DirFS(from), o); err != nil {
			err = fmt.Errorf("%s: %w", from, err)
		}
		return r, err
	}
	in, err := Open(from)
	if err != nil {
		return r, err
	}
	defer in.Close()
	head := bufio.NewReaderSize(terminal.Until(ctx, in), 4096)
	rdf, err := isRDF(head, from)
	if err != nil {
		return r, err
	}
	if !rdf {
		if structure != "" {
			return r, fmt.Errorf("%s is no RDF file, but a structure is given", from)
		}
		return ImportTable(w, head, from, o)
	}
	content := Dump{Name: from, Reader: head}
	if structure == "" {
		return ImportRDF(w, Dump{}, content, o)
	}
	s, err := Open(structure)
	if err != nil {
		return r, err
	}
	defer s.Close()
	return ImportRDF(w, Dump{Name: structure, Reader: terminal.Until(ctx, s)}, content, o)
}

// isRDF tells a dump from a table by its beginning, and both from what is neither.
func isRDF(head *bufio.Reader, name string) (bool, error) {
	start, err := head.Peek(512)
	switch {
	case err == io.EOF && len(start) == 0:
		return false, fmt.Errorf("%s is empty", name)
	case err != nil && err != io.EOF:
		return false, fmt.Errorf("%s: %w", name, err)
	case bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\uFEFF"))), []byte("<")):
		return true, nil
	case bytes.IndexByte(start, 0) >= 0:
		return false, fmt.Errorf("%s is neither RDF nor a table of topic and address: it holds bytes that are no text", name)
	}
	return false, nil
}
