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

// Fields are those that a person wants of the pages: of fields.yaml in the folder of the
// crawl. nil where there is no such file.
func (c *Crawl) Fields() (*extract.Fields, error) {
	f, err := extract.ReadFile(c.col.FieldsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
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
