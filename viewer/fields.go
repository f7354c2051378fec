package viewer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	crawler "github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// fieldFile is the file of fields whose values are told of the pages of a crawl.
type fieldFile struct {
	Name   string   `json:"name,omitempty"` // left out where there is none
	Text   string   `json:"text,omitempty"`
	Fields []string `json:"fields"`          // their names
	Wrong  string   `json:"wrong,omitempty"` // why there are none
	Given  bool     `json:"given,omitempty"` // and not of the folder of the crawl
}

// wantedFields is another one.
type wantedFields struct {
	Text string `json:"text"`
}

// pastedName is the name of a file of fields that was pasted on the page.
const pastedName = "these fields"

// maxFields bounds what is sent of it, in bytes: as JSON, a megabyte of text may be larger.
const maxFields = 4 << 20

func (c *crawl) serveFields(*http.Request, *query) (any, error) {
	f, err := c.FieldFile()
	return c.fieldView(f, err), nil
}

func (c *crawl) fieldView(f *watch.FieldFile, err error) fieldFile {
	v := fieldFile{Fields: []string{}}
	if f != nil {
		v.Name, v.Text, v.Given = event.Line(f.Name), f.Text, f.Given
		if f.Fields != nil {
			v.Fields = slices.Concat(v.Fields, f.Fields.Names())
		}
	}
	if err != nil {
		v.Wrong = event.Line(err.Error())
	}
	return v
}

// takeFields takes another file of fields, which is kept nowhere.
func (c *crawl) takeFields(w http.ResponseWriter, r *http.Request) {
	var got wantedFields
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFields))
	if errors.As(err, new(*http.MaxBytesError)) {
		writeError(w, http.StatusRequestEntityTooLarge, errors.New("a file of fields has at most 1 MiB"))
		return
	}
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("this is no file of fields: %s", event.Line(err.Error())))
		return
	}
	var f *watch.FieldFile
	if got.Text != "" {
		if f, err = watch.ReadFieldFile(pastedName, []byte(got.Text)); err != nil {
			answer(w, nil, watch.Wrong{Err: err})
			return
		}
	}
	c.UseFields(f)
	answer(w, c.fieldView(c.FieldFile()), nil)
}

// withFields has a form that has room for fields, a table of pages, hold their values. The error
// is a watch.Conflict where the fields cannot be read, or would be in the way of its own columns.
func withFields(in *export.Input, c *crawl, form string) error {
	if export.CheckColumns(form, nil) != nil {
		return nil
	}
	fields, err := c.Fields()
	if err != nil {
		return watch.Conflict{Err: err}
	}
	if fields == nil {
		return nil
	}
	for _, f := range fields.Fields {
		in.Columns = append(in.Columns, export.Column{Name: f.Name, Many: f.Many})
	}
	if err := export.CheckColumns(form, in.Columns); err != nil {
		return watch.Conflict{Err: err}
	}
	in.Parser = func(collection.Collection) (crawler.Parser, error) { return c.Reader(fields), nil }
	return nil
}
