package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
)

// A WACZ file is a zip file of
//
//	archive/*.warc.gz        the records, stored as they are
//	indexes/index.cdx        where each lies (CDXJ). ReplayWeb.page does not find
//	                         records by an index.cdx.gz without an .idx file
//	pages/pages.jsonl        the relevant pages, with their texts
//	pages/extraPages.jsonl   the other pages
//	datapackage.json         all these files with sizes and SHA-256
//	datapackage-digest.json  the SHA-256 of datapackage.json
//
// Source: Webrecorder, Web Archive Collection Zipped (WACZ) 1.1.1.
const waczVersion = "1.1.1"

func writeWACZ(ctx context.Context, in *Input, out io.Writer) (err error) {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var g gaps
	z := newZipFile(out, s.last)
	lines := sorter{memory: in.memory}
	defer func() { err = errors.Join(err, lines.close()) }()
	records := 0
	err = in.archive(ctx, s, &g,
		func(name string) (io.Writer, error) { return z.create("archive/"+name, true) },
		func(e store.Entry, name string) error {
			records++
			if !e.Replayable() {
				return nil
			}
			line, err := e.CDXJ(name)
			if err != nil {
				return err
			}
			return lines.add(line)
		})
	if err != nil {
		return err
	}
	if records == 0 {
		return errors.Join(fmt.Errorf("there is no record to put into a WACZ file: the archive is empty"), g.first)
	}
	if err := zipIndex(z, &lines); err != nil {
		return err
	}
	start, err := in.waczPages(ctx, s, &g, z)
	if err != nil {
		return err
	}
	manifest, err := waczManifest(z, in, s, start)
	if err != nil {
		return err
	}
	if err := z.add("datapackage.json", manifest); err != nil {
		return err
	}
	z.end()
	digest, err := json.MarshalIndent(map[string]string{"path": "datapackage.json", "hash": "sha256:" + z.files[len(z.files)-1].sha256}, "", "  ")
	if err != nil {
		return err
	}
	if err := z.add("datapackage-digest.json", append(digest, '\n')); err != nil {
		return err
	}
	if err := z.close(); err != nil {
		return err
	}
	return g.err()
}

// zipIndex writes the index.
func zipIndex(z *zipFile, lines *sorter) error {
	w, err := z.create("indexes/index.cdx", false)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	if err := lines.write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// startPage is the page that a reader opens first.
type startPage struct {
	url       string
	at        time.Time
	relevance float64
}

// waczPages writes the lists of pages, and finds the most relevant one. Pages that are
// not in the archive are not in them. The list of the others is kept in a temporary
// file meanwhile, some 200 bytes a page.
func (in *Input) waczPages(ctx context.Context, s *survey, g *gaps, z *zipFile) (start startPage, err error) {
	others, err := os.CreateTemp("", "waggle-pages-*")
	if err != nil {
		return start, err
	}
	defer func() { err = errors.Join(err, others.Close(), os.Remove(others.Name())) }()
	rest := bufio.NewWriter(others)
	fmt.Fprintln(rest, `{"format":"json-pages-1.0","id":"extra","title":"Other pages"}`)
	w, err := z.create("pages/pages.jsonl", false)
	if err != nil {
		return start, err
	}
	main := bufio.NewWriter(w)
	fmt.Fprintln(main, `{"format":"json-pages-1.0","id":"pages","title":"Relevant pages","hasText":true}`)
	for f, err := range in.pages(ctx, s, g) {
		if err != nil {
			return start, err
		}
		if f.Page == nil {
			continue
		}
		relevant := f.Relevant && f.Reason == ""
		o := jsonObject{}
		o.text("id", fmt.Sprintf("%016x", hashOf(f.URL)))
		o.text("url", f.URL.String())
		o.text("ts", f.Page.Fetched.UTC().Format(time.RFC3339))
		o.text("title", event.Line(f.Title))
		o.number("relevance", f.Relevance)
		to := rest
		if relevant {
			o.text("text", valid(f.Page.Main))
			to = main
		}
		if start.url == "" || relevant && f.Relevance > start.relevance {
			start = startPage{f.URL.String(), f.Page.Fetched.UTC(), f.Relevance}
			if !relevant {
				start.relevance = -1
			}
		}
		if _, err := to.Write(append(o.b, "}\n"...)); err != nil {
			return start, err
		}
	}
	if err := errors.Join(main.Flush(), rest.Flush()); err != nil {
		return start, err
	}
	if w, err = z.create("pages/extraPages.jsonl", false); err != nil {
		return start, err
	}
	if _, err := others.Seek(0, io.SeekStart); err != nil {
		return start, err
	}
	_, err = io.Copy(w, others)
	return start, err
}

// waczManifest is datapackage.json for the files so far.
func waczManifest(z *zipFile, in *Input, s *survey, start startPage) ([]byte, error) {
	z.end()
	type resource struct {
		Name  string `json:"name"`
		Path  string `json:"path"`
		Hash  string `json:"hash"`
		Bytes int64  `json:"bytes"`
	}
	m := struct {
		Profile     string     `json:"profile"`
		Version     string     `json:"wacz_version"`
		Title       string     `json:"title"`
		Description string     `json:"description"`
		Created     string     `json:"created"`
		Software    string     `json:"software"`
		MainURL     string     `json:"mainPageUrl,omitempty"`
		MainDate    string     `json:"mainPageDate,omitempty"`
		Resources   []resource `json:"resources"`
	}{
		Profile: "data-package", Version: waczVersion, Title: in.title(s), Created: z.at.Format(time.RFC3339), Software: "waggle, https://github.com/waggle-crawler/waggle",
		Description: "Pages that the focused crawler waggle fetched. pages.jsonl lists the relevant ones, extraPages.jsonl the others.", MainURL: start.url,
	}
	if in.WithoutOptOuts {
		m.Description += " Pages that opt out of indexing, archiving, machine learning or text and data mining were left out."
	}
	if !start.at.IsZero() {
		m.MainDate = start.at.Format(time.RFC3339)
	}
	for _, f := range z.files {
		m.Resources = append(m.Resources, resource{strings.ToLower(path.Base(f.path)), f.path, "sha256:" + f.sha256, f.bytes})
	}
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// title is what an export is called: the names of its crawls.
func (in *Input) title(s *survey) string {
	var names []string
	for i, c := range in.Collections {
		name := event.Line(s.crawl[i].name)
		if name == "" || name == "crawl" { // a job without a name
			name = event.Line(folderName(c))
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
