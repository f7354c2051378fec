package watch

import (
	"context"
	"errors"
	"io/fs"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/extract"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// Values are those of a field on a page.
type Values struct {
	Field  string   `json:"field"`
	Values []string `json:"values"` // none where the page has no value
}

// Bounds of what is shown of a field, in values and in characters of one.
const (
	mostValues = 100
	mostValue  = 2000
)

// FieldFile is a file of fields: its name, what it holds, and that read.
type FieldFile struct {
	Name   string
	Text   string
	Fields *extract.Fields
	Given  bool // by a person, and not in the folder of the crawl
}

// ReadFieldFile reads what a file of fields holds that a person gives. Errors name the line.
func ReadFieldFile(name string, text []byte) (*FieldFile, error) {
	f, err := extract.Read(name, text)
	if err != nil {
		return nil, err
	}
	return &FieldFile{name, string(text), f, true}, nil
}

// UseFields has Fields be others than those in the folder of the crawl, which stays as it is;
// nil = those in the folder.
func (c *Crawl) UseFields(f *FieldFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fields = f
}

// FieldFile is the file of the fields of the pages: the one of UseFields, else fields.yaml in
// the folder of the crawl. nil where there is none.
func (c *Crawl) FieldFile() (*FieldFile, error) {
	c.mu.RLock()
	given := c.fields
	c.mu.RUnlock()
	if given != nil {
		return given, nil
	}
	b, err := extract.ReadText(c.col.FieldsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := extract.Read(c.col.FieldsFile(), b)
	return &FieldFile{c.col.FieldsFile(), string(b), f, false}, err
}

// Fields are those that a person wants of the pages; nil where they want none.
func (c *Crawl) Fields() (*extract.Fields, error) {
	f, err := c.FieldFile()
	if f == nil || err != nil {
		return nil, err
	}
	return f.Fields, nil
}

// Reader makes pages with the values of fields.
func (c *Crawl) Reader(f *extract.Fields) extract.Parser {
	return extract.Parser{Reader: job.LinkParser(c.col, c.docs), Fields: f}
}

// Values are those of the fields on an archived page, in their order; nil where there are
// no fields. Texts are one line each, and of bounded length.
func (c *Crawl) Values(ctx context.Context, u web.URL) ([]Values, error) {
	f, err := c.Fields()
	if f == nil {
		return nil, err
	}
	r, err := c.arch.Response(ctx, u)
	if err != nil {
		return nil, err
	}
	p, err := c.Reader(f).Parse(r)
	if err != nil {
		return nil, err
	}
	out := make([]Values, len(f.Fields))
	for i, name := range f.Names() {
		out[i] = Values{Field: event.Line(name), Values: []string{}}
		for _, v := range p.Values[i][:min(len(p.Values[i]), mostValues)] {
			v = event.Line(v)
			if r := []rune(v); len(r) > mostValue {
				v = string(r[:mostValue]) + "…"
			}
			out[i].Values = append(out[i].Values, v)
		}
	}
	return out, nil
}
