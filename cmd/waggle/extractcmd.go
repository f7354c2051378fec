package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/extract"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// extractCmds are the commands of `waggle extract`.
type extractCmds struct {
	Table extractTableCmd `cmd:"" help:"Write a row for each relevant page, with the values of its fields."`
	Learn extractLearnCmd `cmd:"" help:"Learn where the values stand from two or three pages filled in by hand."`
	Check extractCheckCmd `cmd:"" help:"Compare fields with pages filled in by hand: precision and recall."`
}

// extractTableCmd is `waggle extract table`.
type extractTableCmd struct {
	Dir     string   `arg:"" help:"Folder of the crawl, which may still run."`
	Fields  string   `arg:"" help:"The file of fields (YAML), written by hand or learnt."`
	With    []string `sep:"none" placeholder:"DIR" help:"Another crawl for the same table; may be repeated."`
	All     bool     `help:"All pages, and not the relevant ones alone."`
	Without bool     `name:"without-opt-outs" help:"Leave out pages that say noindex, noarchive or noai, or reserve text and data mining."`
	Form    string   `placeholder:"FORM" help:"tsv, jsonl or parquet (default: by the ending of the file, otherwise tsv)."`
	Out     string   `short:"o" placeholder:"FILE" help:"The file (default, and -: standard output)."`
	Force   bool     `help:"Replace the file if it is there."`
}

// Help shows a file of fields.
func (extractTableCmd) Help() string {
	return `For example:

  waggle extract table bees fields.yaml -o keepers.tsv
  waggle extract table bees fields.yaml -o keepers.parquet
  waggle extract table bees fields.yaml --form jsonl

with, in fields.yaml,

  fields:
    - {name: keeper, css: h1.keeper}                    all text in the first one
    - {name: mail, css: 'a[href^="mailto:"]', take: "@href", pattern: "mailto:([^?]+)"}
    - {name: phone, xpath: //address, take: own, after: phone, until: ","}
    - {name: price, json-ld: Product, property: offers.price}
    - {name: author, microdata: Article, property: author.name}
    - {name: topics, many: true, css: ul.topics > li}   all of the page
    - name: title                                       the first that has a value
      from: [{css: h1}, {css: title}]

take is text (all in the element), own (each piece of text directly in it, apart) or an
attribute. after names the words before the value, until the text behind it, pattern a
regular expression (its group, where it has one), at the place among the values of the
page (1, -1), on the host and path whose pages are meant.

Values are untrusted: one line without control and invisible characters, at most 4 KiB.
In TSV one that a spreadsheet would take for a formula, or that begins with a quotation
mark, has an apostrophe before it, and several stand in one cell, parted by " | ".`
}

// Run writes the table.
func (c *extractTableCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	fields, err := extract.ReadFile(c.Fields)
	if err != nil {
		return unusable(err)
	}
	form := c.Form
	if form == "" {
		form = "tsv"
		switch ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(c.Out)), "."); {
		case slices.Contains(export.TableForms(), ending):
			form = ending
		case ending == "csv", ending == "json", ending == "xlsx", ending == "ods", ending == "xml":
			return exit{exitUsage, fmt.Errorf("-o %s: such a table is not written; end the name in .%s, or give --form", c.Out, strings.Join(export.TableForms(), ", ."))}
		}
	}
	if !slices.Contains(export.TableForms(), form) {
		return exit{exitUsage, fmt.Errorf("--form %s%s: there are: %s", form, spelling.Hint(form, export.TableForms()), strings.Join(export.TableForms(), ", "))}
	}
	in := &export.Input{WithoutOptOuts: c.Without, OnlyRelevant: !c.All}
	short := withFields(in, fields, docs)
	for _, dir := range append([]string{c.Dir}, c.With...) {
		col, err := collection.Open(dir)
		if err != nil {
			return exit{exitUsage, err}
		}
		in.Collections = append(in.Collections, col)
	}
	var tally export.Tally
	var partial error
	write := func(out io.Writer) error {
		var err error
		if tally, err = export.Table(ctx, in, form, out); errors.Is(err, export.ErrPartial) {
			partial, err = err, nil
		}
		return err
	}
	if c.Out == "" || c.Out == "-" {
		if form == "parquet" && term.IsTerminal(int(std.out.Fd())) {
			return exit{exitUsage, errors.New("parquet is nothing for a terminal: name a file, as with -o table.parquet")}
		}
		if err = write(std.out); errors.Is(err, syscall.EPIPE) {
			return nil // the reader has enough
		}
	} else if err = vacant(c.Out, c.Force, c.Fields); err == nil {
		err = folder.WriteBeside(c.Out, write)
	}
	if err != nil {
		return stoppedOr(ctx, errors.Join(err, partial), "stopped before its end")
	}
	told := make([]string, len(fields.Fields))
	for i, n := range fields.Names() {
		told[i] = fmt.Sprintf("%s %d", n, tally.Filled[i])
	}
	fmt.Fprintf(std.err, "%s; with a value: %s\n", counted(tally.Pages, "page", "pages"), strings.Join(told, ", "))
	tellShort(std.err, short)
	return partial
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// withFields adds the values of fields to the pages of an export. It returns the count of
// the pages on which a selector ends for want of steps.
func withFields(in *export.Input, fields *extract.Fields, docs parse.Documents) *atomic.Int64 {
	short := new(atomic.Int64)
	for _, f := range fields.Fields {
		in.Columns = append(in.Columns, export.Column{Name: f.Name, Many: f.Many})
	}
	in.Parser = func(col collection.Collection) (crawl.Parser, error) {
		return extract.Parser{Reader: job.LinkParser(col, docs), Fields: fields, Short: short}, nil
	}
	return short
}

// tellShort tells of pages on which a selector ended for want of steps.
func tellShort(w io.Writer, short *atomic.Int64) {
	if n := short.Load(); n > 0 {
		fmt.Fprintf(w, "On %s a field took more than five million steps and ended there: values may be missing. A plainer selector may do.\n", counted(int(n), "page", "pages"))
	}
}

// extractLearnCmd is `waggle extract learn`.
type extractLearnCmd struct {
	Dir    string `arg:"" help:"Folder of the crawl."`
	Values string `arg:"" help:"Table (TSV) of pages filled in by hand: url, and a column for each field."`
	All    bool   `help:"Look at all pages of the crawl, and not at the relevant ones alone."`
	Out    string `short:"o" placeholder:"FILE" help:"The file of fields (default, and -: standard output)."`
	Force  bool   `help:"Replace the file if it is there."`
}

// Help tells how one learns.
func (extractLearnCmd) Help() string {
	return `Fill in a table with two or three pages, the values as the pages have them:

  url                              name        mail
  https://cs.example.edu/~ada      Ada Byron   ada@cs.example.edu
  https://cs.example.edu/~kay      Kay Moss

parted by tabs: an empty cell says that the page has none, ? that you did not look, and
[] behind the name of a column (topics[]) that a page has many, parted by " | ".

  waggle extract learn people filled.tsv -o fields.yaml
  waggle extract table people fields.yaml -o people.tsv

It says on how many of the other pages what was learnt agrees, and which page, filled in
as well, would teach most. fields.yaml may be edited. waggle extract check people
filled.tsv --learn 2 measures how well one learns from two of the pages that you filled in.`
}

// maxOthers bounds the pages that learning looks at beside those that are filled in.
const maxOthers = 300

// Run learns.
func (c *extractLearnCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	filled, err := extract.ReadFilledFile(c.Values)
	if err != nil {
		return unusable(err)
	}
	if c.Out != "" && c.Out != "-" {
		if err := vacant(c.Out, c.Force, c.Values); err != nil {
			return err
		}
	}
	pages, err := openFilled(ctx, c.Dir, docs, filled, c.All)
	if err != nil {
		return err
	}
	fields, report, err := extract.Learn(ctx, filled.Columns, pages.examples, pages.others)
	if err != nil {
		return stoppedOr(ctx, unusable(err), "stopped: nothing was learnt")
	}
	write := func(w io.Writer) error { _, err := fields.WriteTo(w); return err }
	if c.Out == "" || c.Out == "-" {
		err = write(std.out)
	} else {
		err = folder.WriteBeside(c.Out, write)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.err, "learnt from %s; on %s:\n", counted(len(pages.examples), "page", "pages"), counted(len(pages.others), "other", "others"))
	out := tabwriter.NewWriter(std.err, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "field\tsure\tin doubt\tno value")
	for _, f := range report.Fields {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\n", f.Name, f.Agree, f.Differ, f.None)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i, d := range report.Doubts[:min(3, len(report.Doubts))] {
		if i == 0 {
			fmt.Fprintln(std.err, "Filled in as well, these would teach most:")
		}
		fmt.Fprintf(std.err, "  %s\n", event.Line(d.URL.String()))
		for _, f := range d.Fields {
			says := "no value"
			if len(f.Values) > 0 {
				says = strings.Join(quoted(f.Values), " or ")
			}
			fmt.Fprintf(std.err, "    %s: %s\n", f.Name, says)
		}
		if d.Alike > 1 {
			fmt.Fprintf(std.err, "    and %s like it\n", counted(d.Alike-1, "page", "pages"))
		}
	}
	return nil
}

func quoted(values []string) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprintf("%q", clipped(event.Line(v))))
	}
	return out
}

func clipped(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// readPages are the pages that one learns from.
type readPages struct {
	examples []extract.Example
	others   []*extract.Page
}

// openFilled reads the pages that are filled in, and others of the crawl.
func openFilled(ctx context.Context, dir string, docs parse.Documents, filled *extract.Filled, all bool) (*readPages, error) {
	col, err := collection.Open(dir)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	if len(filled.Pages) == 0 {
		return nil, exit{exitUsage, errors.New("no page is filled in: write a line for two or three of them")}
	}
	wanted := map[web.URL]bool{}
	for _, p := range filled.Pages {
		wanted[p.URL] = true
	}
	var rest []web.URL
	known := map[web.URL]bool{}
	for f, err := range col.Fetched() {
		var damaged *event.LineError
		switch {
		case errors.As(err, &damaged):
			continue // waggle verify tells of it
		case err != nil:
			return nil, err
		}
		if !known[f.URL] && !wanted[f.URL] && (all || f.Relevant) {
			rest = append(rest, f.URL)
		}
		known[f.URL] = true
	}
	parser, finder := job.LinkParser(col, docs), col.Finder()
	open := func(u web.URL) (*extract.Page, error) {
		r, err := finder.Response(ctx, u)
		if err != nil || r == nil {
			return nil, err
		}
		return extract.Open(parser, r)
	}
	out := &readPages{}
	for _, p := range filled.Pages {
		if !known[p.URL] {
			return nil, exit{exitUsage, fmt.Errorf("%s is no page of %s: fill in pages that the crawl has (harvest.tsv lists them)", event.Line(p.URL.String()), dir)}
		}
		page, err := open(p.URL)
		if err == nil && page == nil {
			err = errors.New("the archive does not have it")
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", event.Line(p.URL.String()), err)
		}
		out.examples = append(out.examples, extract.Example{Page: page, Values: p.Values})
	}
	for i := range min(maxOthers, len(rest)) {
		if ctx.Err() != nil {
			return nil, exit{exitStopped, errors.New("stopped: nothing was learnt")}
		}
		page, err := open(rest[i*len(rest)/min(maxOthers, len(rest))])
		if err == nil && page != nil {
			out.others = append(out.others, page)
		}
	}
	return out, nil
}

// extractCheckCmd is `waggle extract check`.
type extractCheckCmd struct {
	Dir     string `arg:"" help:"Folder of the crawl."`
	Values  string `arg:"" help:"Table (TSV) of pages filled in by hand."`
	Fields  string `placeholder:"FILE" help:"The fields to compare with it."`
	Learn   int    `placeholder:"N" help:"Instead: learn from N of its pages of one site, drawn at random, and compare on the others."`
	Repeats int    `default:"20" help:"How often pages are drawn, of each site."`
	Seed    uint64 `default:"1" help:"Seed of the draws."`
	All     bool   `help:"Look at all pages of the crawl, and not at the relevant ones alone."`
	Wrong   bool   `help:"List the values that are wrong or missing."`
}

// Help shows both uses.
func (extractCheckCmd) Help() string {
	return `For example:

  waggle extract check people filled.tsv --fields fields.yaml --wrong
  waggle extract check people filled.tsv --learn 2

With --learn, N pages of each site are drawn and learnt from, together with the pages of
the crawl that nobody filled in; what was learnt is compared on the other pages of the
same site and on those of the other sites. Values are right if they are the same but for
case and white space.`
}

// Run compares.
func (c *extractCheckCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	if (c.Fields == "") == (c.Learn == 0) {
		return exit{exitUsage, errors.New("give either --fields FILE or --learn N")}
	}
	if c.Learn < 0 || c.Repeats < 1 {
		return exit{exitUsage, errors.New("--learn and --repeats: at least 1 is wanted")}
	}
	filled, err := extract.ReadFilledFile(c.Values)
	if err != nil {
		return unusable(err)
	}
	var fields *extract.Fields
	if c.Fields != "" {
		if fields, err = extract.ReadFile(c.Fields); err != nil {
			return unusable(err)
		}
		for _, x := range filled.Columns {
			if !slices.Contains(fields.Names(), x.Name) {
				return exit{exitUsage, fmt.Errorf("%s names no field %q; it names %s", c.Fields, x.Name, strings.Join(fields.Names(), ", "))}
			}
		}
	}
	pages, err := openFilled(ctx, c.Dir, docs, filled, c.All)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	if fields != nil {
		t := newTable(filled.Columns)
		for _, e := range pages.examples {
			c.compare(std, fields, e, filled.Columns, t)
		}
		fmt.Fprintln(out, "field\tpages\twanted\tfound\tright\tprecision\trecall")
		t.print(out, "")
		return out.Flush()
	}
	bySite := map[string][]extract.Example{}
	var sites []string
	for i, e := range pages.examples {
		s := filled.Pages[i].URL.Host().Domain()
		if bySite[s] == nil {
			sites = append(sites, s)
		}
		bySite[s] = append(bySite[s], e)
	}
	slices.Sort(sites)
	if !slices.ContainsFunc(sites, func(s string) bool { return len(bySite[s]) > c.Learn }) {
		return exit{exitUsage, fmt.Errorf("--learn %d: no site has more pages filled in than that, so none is left to compare: fill in at least %d of one site", c.Learn, c.Learn+1)}
	}
	fmt.Fprintln(out, "learnt on\tcompared on\tfield\tpages\twanted\tfound\tright\tprecision\trecall")
	same, other := newTable(filled.Columns), newTable(filled.Columns)
	unlike := 0
	for _, site := range sites {
		own, others := newTable(filled.Columns), newTable(filled.Columns)
		draw := rand.New(rand.NewPCG(c.Seed, 0))
		for range c.Repeats {
			shown, rest := drawn(draw, bySite[site], c.Learn)
			if len(shown) < c.Learn || len(rest) == 0 {
				continue
			}
			fields, missed, err := learntFields(ctx, filled.Columns, shown, pages.others)
			if err != nil {
				return stoppedOr(ctx, unusable(err), "stopped before its end")
			}
			unlike += missed
			for _, e := range rest {
				c.compare(std, fields, e, filled.Columns, own, same)
			}
			for _, s := range sites {
				for _, e := range bySite[s] {
					if s != site {
						c.compare(std, fields, e, filled.Columns, others, other)
					}
				}
			}
		}
		own.print(out, site+"\tthe same\t")
		others.print(out, site+"\tother sites\t")
	}
	if len(sites) > 1 {
		same.print(out, "each\tthe same\t")
		other.print(out, "each\tother sites\t")
	}
	if unlike > 0 {
		fmt.Fprintf(std.err, "from %s of a field nothing could be learnt: they count as values not found\n", counted(unlike, "draw", "draws"))
	}
	return out.Flush()
}

// learntFields are the fields that can be learnt from pages, each by itself, and how many
// cannot as the pages contradict each other.
func learntFields(ctx context.Context, columns []extract.Column, shown []extract.Example, others []*extract.Page) (out *extract.Fields, unlike int, err error) {
	out = &extract.Fields{}
	for i, c := range columns {
		var own []extract.Example
		for _, e := range shown {
			own = append(own, extract.Example{Page: e.Page, Values: e.Values[i : i+1]})
		}
		f, _, err := extract.Learn(ctx, []extract.Column{c}, own, others)
		switch {
		case errors.Is(err, extract.ErrUnlike):
			unlike++
		case err != nil:
			return nil, 0, err
		default:
			out.Fields = append(out.Fields, f.Fields...)
		}
	}
	return out, unlike, nil
}

// drawn are n pages at random, of which each field has a value on one at least, and the
// others; fewer than n where there are none such.
func drawn(draw *rand.Rand, pages []extract.Example, n int) (shown, rest []extract.Example) {
	for range 100 {
		order := draw.Perm(len(pages))
		shown, rest = nil, nil
		for k, i := range order {
			if k < n {
				shown = append(shown, pages[i])
			} else {
				rest = append(rest, pages[i])
			}
		}
		whole := len(shown) == n
		for f := range pages[0].Values {
			whole = whole && slices.ContainsFunc(shown, func(e extract.Example) bool { return len(e.Values[f].Texts) > 0 })
		}
		if whole {
			return shown, rest
		}
	}
	return nil, nil
}

// table are scores of fields.
type table []extract.Score

func newTable(columns []extract.Column) table {
	t := make(table, len(columns))
	for i, c := range columns {
		t[i].Name = c.Name
	}
	return t
}

func (t table) print(out io.Writer, before string) {
	for _, s := range t {
		fmt.Fprintf(out, "%s%s\t%d\t%d\t%d\t%d\t%s\t%s\n", before, s.Name, s.Pages, s.Wanted, s.Given, s.Right, share(s.Precision(), s.Given), share(s.Recall(), s.Wanted))
	}
}

// share is a part of so many values in figures, – of none.
func share(part float64, of int) string {
	if of == 0 {
		return "–"
	}
	return strconv.FormatFloat(part, 'f', 2, 64)
}

// compare adds a page to tables, and lists what is wrong with its values where that is
// asked for.
func (c *extractCheckCmd) compare(std streams, fields *extract.Fields, e extract.Example, columns []extract.Column, to ...table) {
	got := fields.Values(e.Page)
	names := fields.Names()
	for i, col := range columns {
		var found []string
		if k := slices.Index(names, col.Name); k >= 0 {
			found = got[k]
		}
		one := extract.Score{}
		one.Add(found, e.Values[i])
		for _, t := range to {
			t[i].Add(found, e.Values[i])
		}
		if c.Wrong && (one.Right < one.Wanted || one.Right < one.Given) {
			fmt.Fprintf(std.err, "%s: %s: found %s, filled in %s\n", event.Line(e.Page.URL().String()), col.Name, list(found), list(e.Values[i].Texts))
		}
	}
}

func list(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(quoted(values), ", ")
}
