package taxonomy

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// ImportTable writes the taxonomy of a table: topic and address, and at will
// title and description, a line an example. Columns are parted by tabs if the
// first line holds one, else by commas as in RFC 4180 (but for line breaks
// within a field). A first line whose second column is no address names the
// columns; lines that are empty or begin with # are left out.
func ImportTable(w io.Writer, r io.Reader, name string, o Options) (ImportReport, error) {
	m, err := newImporter(w, o, "imported from a table")
	if err != nil {
		return ImportReport{}, err
	}
	n := 0
	fail := func(err error) (ImportReport, error) { return m.ImportReport, fmt.Errorf("%s:%d: %w", name, n, err) }
	tabs := false
	first := true
	for line, err := range lines(r) {
		n++
		if err != nil {
			return fail(err)
		}
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !utf8.ValidString(line) {
			m.Mended++
			line = strings.ToValidUTF8(line, "\uFFFD")
		}
		if first {
			tabs = strings.Contains(line, "\t")
		}
		var cols []string
		if tabs {
			cols = strings.Split(line, "\t")
		} else {
			c := csv.NewReader(strings.NewReader(line))
			c.TrimLeadingSpace = true
			var problem *csv.ParseError
			if cols, err = c.Read(); errors.As(err, &problem) {
				return fail(problem.Err)
			} else if err != nil {
				return fail(err)
			}
		}
		if len(cols) < 2 {
			return fail(fmt.Errorf("%q is one column: topic and address are needed, parted by a comma or a tab", clip(line)))
		}
		source := strings.TrimSpace(cols[1])
		if _, err := web.Parse(strings.TrimSpace(cols[0])); err == nil && !strings.Contains(source, "://") {
			return fail(fmt.Errorf("the address %s stands in the first column: topic and address are needed, in this order", clip(cols[0])))
		}
		if first {
			first = false
			if _, err := web.Parse(source); err != nil && !strings.Contains(source, ":") {
				continue // the names of the columns
			}
		}
		if strings.TrimSpace(cols[0]) == "" {
			return fail(fmt.Errorf("the address %s has no topic", clip(source)))
		}
		topic, err := Clean(cols[0])
		if err != nil {
			return fail(err)
		}
		cols = append(cols, "", "")
		if err := m.example(Example{topic, source, cols[2], cols[3]}); err != nil {
			return fail(err)
		}
	}
	out, err := m.end()
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// lines yields the lines of a file, each at most maxLine bytes.
func lines(r io.Reader) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 4096), maxLine)
		for s.Scan() {
			if !yield(strings.TrimSuffix(s.Text(), "\r"), nil) {
				return
			}
		}
		if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield("", fmt.Errorf("the line is longer than %d bytes", maxLine))
		} else if err != nil {
			yield("", err)
		}
	}
}

// ImportFolder writes the taxonomy of a folder tree: a folder is a topic, and
// its examples are the HTML files in it (.html, .htm, .xhtml) and the addresses
// in its lists (.txt, .urls: one a line, # begins a comment). Hidden files and
// links to folders are left out.
func ImportFolder(ctx context.Context, w io.Writer, tree fs.FS, o Options) (ImportReport, error) {
	m, err := newImporter(w, o, "imported from a folder")
	if err != nil {
		return ImportReport{}, err
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		base := path.Base(name)
		if strings.HasPrefix(base, ".") && name != "." {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		folder := name
		if !d.IsDir() {
			folder = path.Dir(name)
		}
		topic, err := Clean("/" + strings.TrimPrefix(folder, "."))
		if err != nil {
			return err
		}
		if !m.wanted(topic) {
			return nil
		}
		id, _ := m.topic(topic)
		if d.IsDir() {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if info, err := fs.Stat(tree, name); err != nil || info.IsDir() {
				m.Ignored++ // it may lead in a circle
				return nil
			}
		}
		switch strings.ToLower(path.Ext(base)) {
		case ".html", ".htm", ".xhtml":
			if file := path.Join(o.Prefix, name); plain(file, maxPath) != file {
				return fmt.Errorf("the name of the file %q has control characters or is too long: rename it", name)
			}
			return m.write(id, Example{Topic: topic, Source: fileScheme + path.Join(o.Prefix, name)})
		case ".txt", ".urls":
			return m.list(tree, name, topic)
		default:
			m.Ignored++
			return nil
		}
	})
	if err != nil {
		return m.ImportReport, err
	}
	out, err := m.end()
	if err != nil && out.Examples == 0 {
		err = fmt.Errorf("%w; a folder is a topic, and the HTML files and lists of addresses (.txt, .urls) in it are its examples", err)
	}
	return out, err
}

// list takes in the addresses of a list.
func (m *importer) list(tree fs.FS, name, topic string) error {
	f, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	n := 0
	for line, err := range lines(f) {
		n++
		if err == nil {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			err = m.example(Example{Topic: topic, Source: line})
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return nil
}
