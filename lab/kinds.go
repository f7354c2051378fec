package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/web"
)

// Fetch is what a lab file says of documents, in the words of a job file.
type Fetch struct {
	// Types of documents that are taken; empty = pages in HTML, and documents of every kind
	// where these alone are wanted.
	Types []string `yaml:"types,omitempty"`
}

// Links is what a lab file says of where links come from, in the words of a job file.
type Links struct {
	Sources []string `yaml:"sources,omitempty"` // empty = alternates
}

// Wanted is what a lab file says of what counts, in the words of a job file.
type Wanted struct {
	Want string `yaml:"want,omitempty"` // both (default), pages, documents
}

// kinds is a job of which only what it says of kinds of documents and sources of links is of
// use.
func (f *File) kinds() *job.Job {
	j := &job.Job{}
	f.setKinds(j)
	return j
}

// setKinds gives a job the kinds of documents and sources of links of the lab.
func (f *File) setKinds(j *job.Job) {
	j.Fetch.Types, j.Links.Sources, j.Topic.Want = f.Fetch.Types, f.Links.Sources, f.Topic.Want
}

// ofKinds tells whether the lab has other kinds of documents or sources of links than labs
// without these keys: inputs of its cells, and something for its parser to read.
func (f *File) ofKinds() bool {
	return len(f.Fetch.Types) > 0 || len(f.Links.Sources) > 0 || f.Topic.Want != ""
}

// kindsNote tells them to the reader of a report.
func (f *File) kindsNote() string {
	var out []string
	for _, x := range []struct {
		key  string
		said []string
	}{{"fetch.types", f.Fetch.Types}, {"links.sources", f.Links.Sources}, {"topic.want", []string{f.Topic.Want}}} {
		if said := strings.Join(x.said, ", "); said != "" {
			out = append(out, x.key+": "+said)
		}
	}
	return "Documents and links are as the lab file says: " + strings.Join(out, "; ") + "."
}

// checkKinds finds what is wrong with them. The checks are those of a job.
func (f *File) checkKinds(bad func(at, format string, args ...any)) {
	for _, e := range f.kinds().CheckKinds() {
		path, _, _ := strings.Cut(e.Path, ".")
		key, rest, _ := strings.Cut(e.Path[len(path)+1:], ".")
		at := []string{path, key}
		if rest != "" {
			at = append(at, rest)
		}
		bad(f.at(at...), "%v", e.Err)
	}
	if !f.ofKinds() {
		return
	}
	if f.Truth != ofWeb || f.Examples != ofWeb {
		bad(f.at("truth"), "readers are shown pages in HTML: a lab with documents, or with other sources of links, has the truth and the examples of the web")
	}
}

// dropLinksOnly takes pages out of the truth that are fetched for their links alone, as
// pages in HTML are where documents are wanted.
func (w *labWeb) dropLinksOnly(pages *corpus.Pages) error {
	if !w.kinds {
		return nil
	}
	for _, t := range w.topics {
		truth, way := w.truth[t.Name], 0
		for u := range truth {
			if p, ok := pages.Page(u); ok && slices.Contains(w.linksOnly, p.MIME) {
				delete(truth, u)
				way++
			}
		}
		switch {
		case len(truth) == 0:
			return fmt.Errorf("topic %s of %s: its %d relevant addresses are of pages that are fetched for their links alone: nothing that counts is left", t.Name, w.Name, way)
		case way > 0:
			do := "do"
			if way == 1 {
				do = "does"
			}
			w.linksOnlyNotes = append(w.linksOnlyNotes, fmt.Sprintf("%s/%s: %d of its relevant addresses %s not count, as what lies there is fetched for its links alone.", w.Name, t.Name, way, do))
		}
	}
	return nil
}

// walks says what of a web the crawls of the lab can walk: what they would take, and the
// links that they would find.
func (f *File) walks(ctx context.Context, w *labWeb, record sim.Record, o *eval.GraphOptions) {
	if !f.ofKinds() {
		return
	}
	types, sitemaps := f.kinds().Types(), sim.Sitemaps(record)
	o.Takes = func(u web.URL) (bool, error) {
		r, err := record.Fetch(ctx, u)
		return err == nil && types.Refuse(r, r.Body, int64(len(r.Raw))) == nil, err
	}
	if !f.kinds().NamesSitemaps() {
		return
	}
	o.Links = func(p *web.Page) ([]web.Link, error) {
		named, err := sitemaps(ctx, p.URL)
		return crawl.WithSitemaps(p, named).Links, err
	}
}

// Close ends the use of a web, and of what read its documents.
func (w *labWeb) Close() error {
	err := w.Web.Close()
	if w.closeDocuments != nil {
		err = errors.Join(err, w.closeDocuments())
	}
	return err
}
