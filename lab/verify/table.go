// Package verify remakes one small crawl of each published result and compares its
// figure with the one that was kept: a result whose settings, defaults or code have
// changed since shows.
//
//	cells.tsv ─► Table ─► Cell ─► recorded web ─► figure of today ─► Finding
package verify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// TableName is the name of the table in a folder of results.
const TableName = "cells.tsv"

// Table is what a file says of the cells of the results beside it. Its lines have
// tab-separated columns, in the order of Cell; those that begin with # are comments.
type Table struct {
	Name  string // of the file
	Cells []Cell
}

// Cell is one small crawl of a result with the figure that came of it.
type Cell struct {
	Document string // the result: "lm10.md"
	// Maker is what makes the cell: a lab file beside the table, or one of Commands. "-"
	// is of a document without a cell; then Why says why it has none.
	Maker    string
	Web      string // name of a recorded web
	Topic    string
	Strategy string // as results call it
	Judge    string // "-" where there is no choice
	Pages    int    // the budget
	Measure  string // or OfSettings
	Value    string // as Format writes it, or lab.File.Settings
	Why      string
	// Was is the figure that the document is of, where Accept put a later one into Value and
	// the document was not made again; ? where that was not kept, "" where the document is
	// of Value.
	Was string

	line int // of the file, from 0
}

// The commands that make a cell where no lab file does.
const (
	LabJudge = "lab judge" // Strategy is what the judge is told, Pages how many it has seen
	LabPaths = "lab paths" // Strategy is rewards and join: "vstd max"
	LabSites = "lab paths --labels manuals-goals.tsv"
)

// OfSettings stands for the measure where a lab's settings are compared and no crawl is
// made: the other columns from web to judge are "-", and pages is 0.
const OfSettings = "settings"

const (
	columns = 9
	unknown = "?" // a figure that is not known yet
)

// Format is a figure as the table holds it: four significant digits, as many as no
// machine disagrees on.
func Format(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// Open reads the table of a folder of results, or that beside a file of them: of a
// document or lab file it takes the cells of that file alone.
func Open(path string) (*Table, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no document or folder %s: give one of the results, such as docs/results", path)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return read(filepath.Join(path, TableName))
	}
	t, err := read(filepath.Join(filepath.Dir(path), TableName))
	if err != nil {
		return nil, err
	}
	if base := filepath.Base(path); base != TableName {
		all := t.Cells
		t.Cells = nil
		for _, c := range all {
			if c.Document == base || c.Maker == base {
				t.Cells = append(t.Cells, c)
			}
		}
		if len(t.Cells) == 0 {
			return nil, fmt.Errorf("%s names no cell of %s: add a line for it", t.Name, base)
		}
	}
	return t, nil
}

func read(name string) (*Table, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no results that name their cells: there is no %s", filepath.Dir(name), TableName)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was read only
	return Read(f, name)
}

// Read reads a table; its errors name the line.
func Read(r io.Reader, name string) (*Table, error) {
	t := &Table{Name: name}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "document\t") {
			continue
		}
		c, err := parseCell(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		c.line = n - 1
		t.Cells = append(t.Cells, c)
	}
	return t, lines.Err()
}

func parseCell(text string) (c Cell, err error) {
	all := strings.Split(text, "\t")
	if len(all) == 3 && all[1] == "-" {
		return Cell{Document: all[0], Maker: "-", Why: all[2]}, nil
	}
	if len(all) != columns && len(all) != columns+1 {
		return c, fmt.Errorf("%d columns, where %d are wanted: document, maker, web, topic, strategy, judge, pages, measure, value, and one more of a document that is of an older value: was and that value; or three: document, - and why it has no cell", len(all), columns)
	}
	c = Cell{Document: all[0], Maker: all[1], Web: all[2], Topic: all[3], Strategy: all[4], Judge: all[5], Measure: all[7], Value: all[8]}
	if len(all) > columns {
		var ok bool
		if c.Was, ok = strings.CutPrefix(all[columns], "was "); !ok || c.Was == "" {
			return c, fmt.Errorf("%q is not the value that the document is of, such as: was 0.5", all[columns])
		}
	}
	if c.Pages, err = strconv.Atoi(all[6]); err != nil || c.Pages < 0 {
		return c, fmt.Errorf("%q is no number of pages", all[6])
	}
	if c.Measure == OfSettings {
		if _, err := strconv.ParseUint(c.Value, 16, 32); err != nil && c.Value != unknown {
			return c, fmt.Errorf("%q is no hash of settings: write ?, and --accept fills it in", c.Value)
		}
		return c, nil
	}
	if _, err := strconv.ParseFloat(c.Value, 64); err != nil && c.Value != unknown {
		return c, fmt.Errorf("%q is no figure: write ? where none is known yet, and --accept fills it in", c.Value)
	}
	return c, nil
}

// String names the cell.
func (c Cell) String() string {
	if c.Maker == "-" {
		return c.Document
	}
	if c.Measure == OfSettings {
		return c.Document + ", " + c.Maker + ": settings"
	}
	s := fmt.Sprintf("%s, %s: %s/%s %s", c.Document, c.Maker, c.Web, c.Topic, c.Strategy)
	if c.Judge != "-" {
		s += ", judge " + c.Judge
	}
	return s + fmt.Sprintf(", %d pages, %s", c.Pages, c.Measure)
}

// Accept puts figures of today into the table's file. A document whose figure differed is
// of another one until it is made again, and the table keeps that as Was; remade are the
// documents that were made again since, which lose it. The file is read anew, as another
// table may have put figures into it since this one was read.
func (t *Table) Accept(found []Finding, remade []string) error {
	b, err := os.ReadFile(t.Name)
	if err != nil {
		return err
	}
	now, err := Read(bytes.NewReader(b), t.Name)
	if err != nil {
		return err
	}
	cells := map[int]Cell{}
	for _, c := range now.Cells {
		cells[c.line] = c
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, f := range found {
		if f.Today == "" {
			continue
		}
		if cells[f.Cell.line].String() != f.Cell.String() {
			return fmt.Errorf("%s:%d: the line is another than before the figure was made: give the command again", t.Name, f.Cell.line+1)
		}
		all := strings.Split(lines[f.Cell.line], "\t")[:columns]
		was := f.Was()
		all[columns-1] = f.Today
		if was != "" && !slices.Contains(remade, f.Cell.Document) {
			all = append(all, "was "+was)
		}
		lines[f.Cell.line] = strings.Join(all, "\t")
	}
	return folder.Write(t.Name, []byte(strings.Join(lines, "\n")+"\n"))
}
