package extract

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Pages filled in by hand are a table, of which a line is a page and its values. The
// tables that are made have the same form, so that one can be mended and given back:
//
//	url	name	mail	topics[]
//	https://cs.example.edu/~ada	Ada Byron	ada@cs.example.edu	engines | numbers
//	https://cs.example.edu/~kay	Kay Moss		?
//	│                          	│       	│	└ not looked at
//	│                          	│       	└ the page has none
//	│                          	└ as the page has it
//	└ page
//
// A column of many values has [] behind its name. Lines that begin with # are comments.

// Filled are pages with the values that a person found on them.
type Filled struct {
	Columns []Column
	Pages   []FilledPage
}

// FilledPage is a line of the table.
type FilledPage struct {
	URL    web.URL
	Values []Value // [columns]
}

const maxFilled = 10_000 // lines

// ReadFilledFile reads a table of pages filled in by hand. Errors name the line.
func ReadFilledFile(name string) (*Filled, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 8*maxFile+1))
	if err != nil {
		return nil, err
	}
	return ReadFilled(name, b)
}

// ReadFilled reads the table b of that name.
func ReadFilled(name string, b []byte) (*Filled, error) {
	if len(b) > 8*maxFile {
		return nil, fmt.Errorf("%s: it is larger than 8 MiB: is this the table?", name)
	}
	var out Filled
	seen := map[web.URL]int{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(b), "\ufeff")) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, args...))
		}
		if out.Columns == nil {
			if strings.TrimSpace(cells[0]) != "url" || len(cells) < 2 {
				return nil, wrong("the first line names the columns, parted by tabs: url, and those of the fields")
			}
			for _, c := range cells[1:] {
				c = strings.TrimSpace(c)
				col := Column{Name: strings.TrimSuffix(c, "[]"), Many: strings.HasSuffix(c, "[]")}
				if err := checkName(col.Name); err != nil {
					return nil, wrong("%v", err)
				}
				if slices.ContainsFunc(out.Columns, func(x Column) bool { return x.Name == col.Name }) {
					return nil, wrong("there is a column %q already", col.Name)
				}
				out.Columns = append(out.Columns, col)
			}
			if len(out.Columns) > maxFields {
				return nil, wrong("it has %d columns; at most %d are read", len(out.Columns), maxFields)
			}
			continue
		}
		u, err := web.Parse(strings.TrimSpace(cells[0]))
		if err != nil {
			return nil, wrong("%q is no address of a page: %v", cells[0], err)
		}
		if len(cells) > len(out.Columns)+1 {
			return nil, wrong("it has %d cells, and the first line names %d columns", len(cells), len(out.Columns)+1)
		}
		if at, twice := seen[u]; twice {
			return nil, wrong("%s stands in line %d already", u, at)
		}
		seen[u] = n
		p := FilledPage{URL: u, Values: make([]Value, len(out.Columns))}
		for i, c := range out.Columns {
			p.Values[i].Known = true
			if i+1 >= len(cells) {
				continue
			}
			switch cell := strings.TrimSpace(cells[i+1]); {
			case cell == "?":
				p.Values[i].Known = false
			case c.Many:
				p.Values[i].Texts = normal(strings.Split(plainCell(cell), strings.TrimSpace(between)))
			default:
				p.Values[i].Texts = normal([]string{plainCell(cell)})
			}
		}
		if out.Pages = append(out.Pages, p); len(out.Pages) > maxFilled {
			return nil, wrong("more than %d pages are not read", maxFilled)
		}
	}
	if out.Columns == nil {
		return nil, fmt.Errorf("%s: it is empty: write a line of columns, such as url and name parted by a tab, and a line for each page", name)
	}
	return &out, nil
}

// between parts several values of a cell.
const between = " | "

// plainCell is a cell without the apostrophe that keeps spreadsheets from taking it for a
// formula, or the quotation mark at its beginning for their own.
func plainCell(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.ContainsRune("\"=+-@＝＋－＠", firstRune(s[1:])) {
		return s[1:]
	}
	return s
}

// Score is how far the values of a field agree with those filled in.
type Score struct {
	Name   string
	Pages  int // that were looked at
	Wanted int // values filled in
	Given  int // values found
	Right  int // of these, such as are filled in
}

// Precision is the share of the values found that are right; 0 of none.
func (s Score) Precision() float64 { return share(s.Right, s.Given) }

// Recall is the share of the values filled in that are found; 0 of none.
func (s Score) Recall() float64 { return share(s.Right, s.Wanted) }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Add compares the values of a page with those filled in: they are right if they are the
// same but for case and white space.
func (s *Score) Add(given []string, wanted Value) {
	if !wanted.Known {
		return
	}
	s.Pages++
	left := map[string]int{}
	for _, v := range normal(wanted.Texts) {
		left[compared(v)]++
		s.Wanted++
	}
	for _, v := range given {
		s.Given++
		if v = compared(v); left[v] > 0 {
			left[v]--
			s.Right++
		}
	}
}

func compared(v string) string {
	return strings.ToLower(strings.Join(strings.Fields(value(v)), ""))
}
