package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/waggle-crawler/waggle/event"
)

// Column is a field of which the parser of an Input gives the values (web.Page.Values).
type Column struct {
	Name string
	Many bool // all values of a page, and not one
}

// Tally tells what a table holds.
type Tally struct {
	Pages  int
	Filled []int // [columns] pages with a value
}

// Between joins several values in one cell.
const Between = " | "

// TableForms are the forms of Table.
func TableForms() []string { return []string{"tsv", "jsonl", "parquet"} }

// valueRow is a page with the values of its fields. Texts are untrusted.
type valueRow struct {
	URL    string `parquet:"url"`
	Values [][]string
}

// Table writes a row for each page: its address and the values of the columns. Forms are
// tsv, where each cell is an event.Cell and several values of one are joined by Between,
// jsonl and parquet, where a column of one value is null without one, and that of many a
// list. An error that wraps ErrPartial says that all that can be read was written.
func Table(ctx context.Context, in *Input, form string, out io.Writer) (Tally, error) {
	t := Tally{Filled: make([]int, len(in.Columns))}
	rows := func(g *gaps) iter.Seq2[valueRow, error] {
		return func(yield func(valueRow, error) bool) {
			for p, err := range in.pageRows(ctx, g) {
				if err == nil {
					t.Pages++
					for i, v := range p.Values {
						if len(v) > 0 {
							t.Filled[i]++
						}
					}
				}
				if !yield(valueRow{p.URL, p.Values}, err) {
					return
				}
			}
		}
	}
	write, end, err := in.tableWriter(form, out)
	if err != nil {
		return t, err
	}
	return t, writeRows(rows, write, end)
}

func (in *Input) tableWriter(form string, out io.Writer) (write func(valueRow) error, end func() error, err error) {
	w := bufio.NewWriter(out)
	var b []byte
	switch form {
	case "tsv":
		b = append(b, "url"...)
		for _, c := range in.Columns {
			b = append(append(b, '\t'), c.Name...)
		}
		_, err := w.Write(append(b, '\n'))
		return func(r valueRow) error {
			b = append(b[:0], event.Cell(r.URL)...)
			for i := range in.Columns {
				b = append(append(b, '\t'), event.Cell(strings.Join(r.of(i), Between))...)
			}
			_, err := w.Write(append(b, '\n'))
			return err
		}, w.Flush, err
	case "jsonl":
		return func(r valueRow) error {
			o := jsonObject{b: b[:0]}
			o.text("url", r.URL)
			o.columns(in.Columns, r.Values)
			b = append(o.b, "}\n"...)
			_, err := w.Write(b)
			return err
		}, w.Flush, nil
	case "parquet":
		p := newColumnFile[valueRow](out, in)
		return func(r valueRow) error { return p.add(r, r.Values, len(r.URL)) }, p.close, nil
	}
	return nil, nil, fmt.Errorf("there is no form %q of a table; there are: %s", form, strings.Join(TableForms(), ", "))
}

// of are the values of a column; none where the archive does not have the page.
func (r valueRow) of(i int) []string { return valuesOf(r.Values, i) }

func valuesOf(values [][]string, i int) []string {
	if i >= len(values) {
		return nil
	}
	return values[i]
}

// CheckColumns tells whether a form (see Forms) has room for columns of fields: tables of
// pages have, beside columns of their own.
func CheckColumns(form string, columns []Column) error {
	if !strings.HasPrefix(form, "pages-") {
		return fmt.Errorf("%s has no place for fields: pages-jsonl, pages-csv and pages-parquet have", form)
	}
	for i := range reflect.TypeFor[pageRow]().NumField() {
		own, _, _ := strings.Cut(reflect.TypeFor[pageRow]().Field(i).Tag.Get("parquet"), ",")
		for _, c := range columns {
			if strings.EqualFold(c.Name, own) {
				return fmt.Errorf("%s has a column %s of its own: name the field otherwise", form, own)
			}
		}
	}
	return nil
}

// columns appends the values of columns.
func (o *jsonObject) columns(columns []Column, values [][]string) {
	for i, c := range columns {
		switch v := valuesOf(values, i); {
		case c.Many:
			o.texts(c.Name, v)
		case len(v) > 0:
			o.text(c.Name, v[0])
		default:
			o.key(c.Name)
			o.b = append(o.b, "null"...)
		}
	}
}

// columnFile writes rows of R with columns beside its own to a Parquet file, in groups of
// bounded size. Fields of R without a tag are not written.
type columnFile[R any] struct {
	w       *parquet.GenericWriter[any]
	row     reflect.Type
	own     []int // fields of R that are written
	columns []Column
	most    int // bytes of a group
	rows    int
	bytes   int
}

func newColumnFile[R any](out io.Writer, in *Input) *columnFile[R] {
	p := &columnFile[R]{columns: in.Columns, most: cmp.Or(in.memory, groupBytes)}
	var fields []reflect.StructField
	for i := range reflect.TypeFor[R]().NumField() {
		if f := reflect.TypeFor[R]().Field(i); f.Tag.Get("parquet") != "" && f.Tag.Get("parquet") != "-" {
			fields, p.own = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag}), append(p.own, i)
		}
	}
	for i, c := range in.Columns {
		f := reflect.StructField{Name: fmt.Sprintf("Column%d", i), Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional"`, c.Name))}
		if c.Many {
			f.Type, f.Tag = reflect.TypeFor[[]string](), reflect.StructTag(fmt.Sprintf(`parquet:"%s,list"`, c.Name))
		}
		fields = append(fields, f)
	}
	p.row = reflect.StructOf(fields)
	p.w = parquet.NewGenericWriter[any](out, parquet.SchemaOf(reflect.New(p.row).Interface()), parquet.Compression(&parquet.Zstd), parquet.CreatedBy("waggle", "", ""))
	return p
}

// add writes a row with texts of size bytes beside its values.
func (p *columnFile[R]) add(row R, values [][]string, size int) error {
	v, from := reflect.New(p.row).Elem(), reflect.ValueOf(row)
	for k, i := range p.own {
		v.Field(k).Set(from.Field(i))
	}
	for i, c := range p.columns {
		texts := valuesOf(values, i)
		for _, t := range texts {
			size += len(t)
		}
		switch f := v.Field(len(p.own) + i); {
		case c.Many:
			f.Set(reflect.ValueOf(texts))
		case len(texts) > 0:
			f.SetString(texts[0])
		}
	}
	if _, err := p.w.Write([]any{v.Interface()}); err != nil {
		return err
	}
	p.rows++
	if p.bytes += size; p.bytes < p.most && p.rows < groupRows {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

func (p *columnFile[R]) close() error { return p.w.Close() }
