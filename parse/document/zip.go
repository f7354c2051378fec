package document

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/parse"
)

// unpacked is a zip file of which no more is unpacked than a bound allows, over all of
// its entries.
type unpacked struct {
	files map[string]*zip.File
	left  int64
}

func unzip(src []byte, l Limits) (*unpacked, error) {
	if isCompound(src) {
		return nil, ErrLocked
	}
	z, err := zip.NewReader(bytes.NewReader(src), int64(len(src)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(z.File) > l.Entries {
		return nil, fmt.Errorf("%w: a zip file of %d entries", ErrBounds, len(z.File))
	}
	u := &unpacked{files: make(map[string]*zip.File, len(z.File)), left: int64(l.Unpacked)}
	for _, f := range z.File {
		if f.Flags&1 != 0 {
			return nil, ErrLocked
		}
		if _, twice := u.files[f.Name]; !twice {
			u.files[f.Name] = f
		}
	}
	return u, nil
}

// open reads an entry; nil without an error for one that is not there.
func (u *unpacked) open(name string) (io.ReadCloser, error) {
	f := u.files[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return &bounded{r, u}, nil
}

// bounded counts what is read against what may be unpacked of the file.
type bounded struct {
	io.ReadCloser
	of *unpacked
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.of.left -= int64(n); b.of.left < 0 {
		return 0, fmt.Errorf("%w: it unpacks to more than its reader allows", ErrBounds)
	}
	return n, err
}

// walk walks over an entry of XML; one that is not there is nothing.
func (u *unpacked) walk(name string, l Limits, e element, stop func() bool) (there bool, err error) {
	r, err := u.open(name)
	if r == nil {
		return false, err
	}
	defer r.Close()
	if err := walk(r, l, e, stop); err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// content gathers the text of each element.
type content struct {
	text strings.Builder
	max  int
}

func (c *content) add(s string) {
	if c.text.Len() < c.max {
		c.text.WriteString(s)
	}
}

func (c *content) take() string {
	s := strings.TrimSpace(c.text.String())
	c.text.Reset()
	return s
}

// said walks over the metadata of a document in Dublin Core, as Word, OpenDocument and
// EPUB have it.
func (u *unpacked) said(name string, l Limits, w *Writer, more func(name string, attr func(string) string)) error {
	c := content{max: maxSaid}
	_, err := u.walk(name, l, element{
		start: func(name string, attr func(string) string) {
			c.take()
			if more != nil {
				more(name, attr)
			}
		},
		text: c.add,
		end: func(name string) {
			switch s := c.take(); name {
			case "title":
				w.Title(s)
			case "description":
				w.Description(plainText(s))
			case "subject", "keyword", "keywords":
				w.Keywords(s)
			case "language":
				w.Language(s)
			}
		},
	}, func() bool { return false })
	return err
}

// readEPUB writes the chapters of a book in the order of its spine.
//
// Source: EPUB 3.3, sections 4.2.6.3.1 (container.xml) and 5 (package document).
func readEPUB(src []byte, l Limits, w *Writer) error {
	z, err := unzip(src, l)
	if err != nil {
		return err
	}
	root := ""
	_, err = z.walk("META-INF/container.xml", l, element{
		start: func(name string, attr func(string) string) {
			if name == "rootfile" {
				set(&root, attr("full-path"))
			}
		},
		text: func(string) {}, end: func(string) {},
	}, func() bool { return root != "" })
	if err != nil {
		return err
	}
	if root == "" || z.files[root] == nil {
		return fmt.Errorf("%w: an EPUB without a package document", ErrDamaged)
	}
	chapters := map[string]string{} // names of files by the identifiers of the manifest
	var spine []string
	err = z.said(root, l, w, func(name string, attr func(string) string) {
		switch name {
		case "item":
			if len(chapters) < l.Entries {
				chapters[attr("id")] = path.Join(path.Dir(root), unescapedPath(attr("href")))
			}
		case "itemref":
			if len(spine) < l.Entries {
				spine = append(spine, attr("idref"))
			}
		}
	})
	if err != nil {
		return err
	}
	for _, id := range spine {
		r, err := z.open(chapters[id])
		if err != nil || r == nil {
			w.Cut()
			continue
		}
		b, err := io.ReadAll(r)
		r.Close()
		if errors.Is(err, ErrBounds) {
			return fmt.Errorf("%s: %w", chapters[id], err)
		}
		if err != nil {
			w.Cut() // a chapter that is damaged, as far as it could be read
		}
		b, _ = parse.Decode(b, cmp.Or(declaredIn(b), "utf-8"))
		w.Open("section")
		if err := writeMarkup(bodyOf(b), w, true); err != nil {
			w.Cut() // a chapter that cannot be read
		}
		w.Close("section")
		if w.Full() {
			break
		}
	}
	return nil
}

// bodyOf is a chapter from its body on.
func bodyOf(b []byte) []byte {
	if i := bytes.Index(b, []byte("<body")); i >= 0 {
		return b[i:]
	}
	return b
}

// unescapedPath is a reference within a zip file as the name of an entry.
func unescapedPath(ref string) string {
	ref, _, _ = strings.Cut(html.UnescapeString(ref), "#")
	var b strings.Builder
	for i := 0; i < len(ref); i++ {
		if ref[i] == '%' && i+2 < len(ref) {
			if hi, lo := unhex(ref[i+1]), unhex(ref[i+2]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(ref[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
