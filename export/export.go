// Package export writes what crawls hold in forms for other tools: tables of pages
// and links, web archives, bags for preservation, graphs.
//
// A form is a row of Forms and one file that writes it. All of them read one or more
// collections, which may still run, and hold of a page no more than some tens of
// bytes until they are done.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/parse"
)

// Form is a form in which collections are handed over.
type Form struct {
	Name string // in lower case, words joined by hyphens
	Line string // what it is, for people
	File string // the usual name of the file
	// Binary says that it is nothing to print on a terminal.
	Binary bool
	// Write writes what the collections hold. An error that wraps ErrPartial says
	// that all that can be read was written.
	Write func(ctx context.Context, in *Input, out io.Writer) error
}

// ErrPartial says that an export is complete but for what could not be read.
var ErrPartial = errors.New("what can be read was written")

// Forms are all forms there are.
func Forms() []Form {
	return []Form{
		{"harvest", "The relevant pages as a table (TSV): relevance, url, title, depth, from, at.", "harvest.tsv", false, writeHarvest},
		{"pages-jsonl", "All pages with their texts, one JSON object a line.", "pages.jsonl", false, writePagesJSONL},
		{"links-jsonl", "The links of the pages and what became of them, one JSON object a line.", "links.jsonl", false, writeLinksJSONL},
		{"pages-csv", "The pages for spreadsheets and statistics (CSV).", "pages.csv", false, writePagesCSV},
		{"links-csv", "The links for spreadsheets and statistics (CSV).", "links.csv", false, writeLinksCSV},
		{"pages-parquet", "The pages for DuckDB, pandas, Spark (Parquet).", "pages.parquet", true, writePagesParquet},
		{"links-parquet", "The links for the same tools (Parquet).", "links.parquet", true, writeLinksParquet},
		{"wacz", "The web archive in one file (WACZ 1.1.1), for ReplayWeb.page and others.", "crawl.wacz", true, writeWACZ},
		{"cdxj", "An index of the archive (CDXJ), by which replay tools find its records.", "index.cdxj", false, writeCDXJ},
		{"graphml", "The hosts and the links between them (GraphML), for Gephi, Cytoscape, networkx.", "hosts.graphml", false, writeGraphML},
		{"bagit", "A bag for preservation (BagIt 1.0, zipped): archive, log and job with checksums.", "crawl.bag.zip", true, writeBag},
	}
}

// Input is what an export is made of.
type Input struct {
	// Collections are read in their order. A page that several of them hold is
	// exported once, as it was fetched last; of equal times the first counts.
	Collections []collection.Collection
	// Parser makes the parser of a collection; nil = one with the defaults.
	Parser func(collection.Collection) (crawl.Parser, error)
	// WithoutOptOuts leaves out pages that ask not to be indexed, archived or used
	// for machine learning (noindex, noarchive, noai), or reserve text and data
	// mining.
	WithoutOptOuts bool
	// OnlyRelevant leaves out all pages but the relevant ones.
	OnlyRelevant bool
	// Columns are fields of pages whose values Parser adds; the tables of pages have them
	// behind their own columns.
	Columns []Column

	memory int // bound on what is sorted, or is a group of rows, in bytes; 0 = the usual
}

func (in *Input) parser(c collection.Collection) (crawl.Parser, error) {
	if in.Parser == nil {
		return parse.New(parse.Options{}), nil
	}
	return in.Parser(c)
}

// gaps counts what could not be read.
type gaps struct {
	first error
	more  int
}

func (g *gaps) add(err error) {
	if g.first == nil {
		g.first = err
	} else {
		g.more++
	}
}

// err is nil if all was read.
func (g *gaps) err() error {
	switch {
	case g.first == nil:
		return nil
	case g.more == 0:
		return fmt.Errorf("%w\n%w", g.first, ErrPartial)
	}
	return fmt.Errorf("%w\nand %s\n%w", g.first, counted(g.more, "more place", "more places"), ErrPartial)
}

// counted is a number with what there is so many of: "1 page", "2 pages".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
