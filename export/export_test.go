package export

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/parquet-go/parquet-go"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
	"github.com/waggle-crawler/waggle/store"
)

// meadow is a web with every kind of page that an export meets. Titles and texts are
// hostile.
func meadow() madecrawl.Site {
	return madecrawl.Site{
		"https://bees.test/":          {Body: `<title>=HYPERLINK("http://evil.test") <b>bees</b></title><p>Bee one. <a href="dance">the <b>dance</b> of bees</a> now. <a href="https://wasps.test/">wasps</a> <a href="old">old</a> <a href="gone">gone</a> <a href="print.pdf">print</a> <a href="quiet">quiet</a> <a href="shy">shy</a> <a href="/copy">copy</a>`},
		"https://bees.test/dance":     {Body: "<title>The dance\x1b[31m \u202egnp</title><p>Bee bee bee bee, \x00 \u200bend. <a href='/'>home</a> <a href='https://wasps.test/nest'>nest</a>"},
		"https://bees.test/copy":      {Body: "<title>The dance\x1b[31m \u202egnp</title><p>Bee bee bee bee, \x00 \u200bend. <a href='/'>home</a> <a href='https://wasps.test/nest'>nest</a>"},
		"https://bees.test/old":       {Status: 301, Body: "https://bees.test/new"},
		"https://bees.test/new":       {Body: "<title>New, \"quoted\"\nlines</title><p>nothing of interest"},
		"https://bees.test/quiet":     {Body: "<title>Quiet</title><p>bee", Header: map[string][]string{"X-Robots-Tag": {"noindex"}}},
		"https://bees.test/shy":       {Body: "<title>Shy</title><p>bee bee <a href='https://hidden.test/'>hidden</a>", Header: map[string][]string{"X-Robots-Tag": {"noai"}, "Tdm-Reservation": {"1"}}},
		"https://wasps.test/":         {Body: "<title>Wasps</title><p>" + strings.Repeat("x", 1<<20)},
		"https://wasps.test/nest":     {Body: "<title>Nest</title><p>bee <a href='https://bees.test/dance'>dance</a>"},
		"https://hidden.test/":        {Body: "plain bee", Type: "text/plain"},
		"https://wasps.test/only-two": {Body: "<title>Only in two</title><p>bee bee"},
	}
}

func made(t *testing.T) collection.Collection {
	return madecrawl.Crawl(t, filepath.Join(t.TempDir(), "one"), "one", meadow(), "https://bees.test/")
}

func form(t *testing.T, name string) Form {
	t.Helper()
	i := slices.IndexFunc(Forms(), func(f Form) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no form %s", name)
	}
	return Forms()[i]
}

func write(t *testing.T, name string, in *Input) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := form(t, name).Write(t.Context(), in, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestForms holds every form of text to its transcript, and looks for what a terminal
// or a spreadsheet would obey.
func TestForms(t *testing.T) {
	c := made(t)
	place := regexp.MustCompile(`("(?:length|offset)":")[0-9]+`) // by the library that zips
	long := regexp.MustCompile(`x{100,}`)
	seen := map[string]bool{}
	datadriven.RunTest(t, filepath.Join("testdata", "forms.txt"), func(t *testing.T, d *datadriven.TestData) string {
		seen[d.Cmd] = true
		out := write(t, d.Cmd, &Input{Collections: []collection.Collection{c}, WithoutOptOuts: d.HasArg("without-opt-outs")})
		for _, r := range string(out) {
			if r < ' ' && r != '\n' && r != '\t' || r == '\u202e' || r == '\u200b' {
				t.Errorf("%s holds the character %q", d.Cmd, r)
			}
		}
		return long.ReplaceAllString(place.ReplaceAllString(string(out), "${1}N"), "x…")
	})
	for _, f := range Forms() {
		if !seen[f.Name] && !f.Binary {
			t.Errorf("%s is not in testdata/forms.txt: add the lines %q there, and run go test ./export -rewrite", f.Name, f.Name+"\n----")
		}
	}
}

// Tables of a spreadsheet and lines of JSON hold the same pages.
func TestTablesAgree(t *testing.T) {
	in := &Input{Collections: []collection.Collection{made(t)}}
	rows, err := csv.NewReader(bytes.NewReader(write(t, "pages-csv", in))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := parquet.Read[pageRow](bytes.NewReader(write(t, "pages-parquet", in)), int64(len(write(t, "pages-parquet", in))))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(write(t, "pages-jsonl", in))))
	if len(rows)-1 != len(lines) || len(lines) != len(pages) || len(pages) < 8 {
		t.Fatalf("%d rows, %d lines, %d rows of Parquet", len(rows)-1, len(lines), len(pages))
	}
	for i, line := range lines {
		var p struct {
			URL, Title, Text string
			Relevance        float64
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if p.URL != rows[i+1][0] || p.URL != pages[i].URL || p.Text != pages[i].Text || p.Title != pages[i].Title || p.Relevance != pages[i].Relevance {
			t.Errorf("row %d: %+v, %q, %+v", i, p, rows[i+1], pages[i])
		}
	}
	if got := pages[0].Title; !strings.HasPrefix(got, "=HYPERLINK") {
		t.Errorf("Parquet has the title %q", got)
	}
	if got := rows[1][5]; !strings.HasPrefix(got, "'=HYPERLINK") {
		t.Errorf("CSV has the title %q", got)
	}
	links, err := parquet.Read[linkRow](bytes.NewReader(write(t, "links-parquet", in)), int64(len(write(t, "links-parquet", in))))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(write(t, "links-jsonl", in), []byte("\n")); n != len(links) {
		t.Errorf("%d links as JSON, %d as Parquet", n, len(links))
	}
}

// unzip reads a zip file.
func unzip(t *testing.T, b []byte) (names []string, files map[string][]byte, methods map[string]uint16) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	files, methods = map[string][]byte{}, map[string]uint16{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		files[f.Name], methods[f.Name] = content, f.Method
	}
	return names, files, methods
}

// TestWACZ holds the file to what the specification of WACZ 1.1.1 says must be.
func TestWACZ(t *testing.T) {
	one := made(t)
	two := madecrawl.Crawl(t, filepath.Join(t.TempDir(), "two"), "two", meadow(), "https://wasps.test/only-two")
	for name, in := range map[string]*Input{
		"one":              {Collections: []collection.Collection{one}},
		"two":              {Collections: []collection.Collection{one, two}},
		"without opt-outs": {Collections: []collection.Collection{one}, WithoutOptOuts: true},
	} {
		t.Run(name, func(t *testing.T) {
			names, files, methods := unzip(t, write(t, "wacz", in))
			var manifest struct {
				Profile, Title, Created, MainPageURL string
				Version                              string `json:"wacz_version"`
				Resources                            []struct {
					Name, Path, Hash string
					Bytes            int
				}
			}
			if err := json.Unmarshal(files["datapackage.json"], &manifest); err != nil {
				t.Fatal(err)
			}
			if manifest.Profile != "data-package" || manifest.Version != "1.1.1" || manifest.Created == "" || manifest.Title == "" {
				t.Errorf("%+v", manifest)
			}
			if manifest.MainPageURL != "https://bees.test/dance" {
				t.Errorf("the main page is %q", manifest.MainPageURL)
			}
			listed := map[string]bool{"datapackage.json": true, "datapackage-digest.json": true}
			for _, r := range manifest.Resources {
				sum := sha256.Sum256(files[r.Path])
				if r.Hash != "sha256:"+hex.EncodeToString(sum[:]) || r.Bytes != len(files[r.Path]) || listed[r.Path] {
					t.Errorf("%+v", r)
				}
				listed[r.Path] = true
			}
			for _, n := range names {
				if !listed[n] {
					t.Errorf("%s is not in the manifest", n)
				}
				if strings.HasSuffix(n, ".gz") != (methods[n] == zip.Store) {
					t.Errorf("%s has the method %d", n, methods[n])
				}
			}
			var digest struct{ Path, Hash string }
			if err := json.Unmarshal(files["datapackage-digest.json"], &digest); err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(files["datapackage.json"]); digest.Path != "datapackage.json" || digest.Hash != "sha256:"+hex.EncodeToString(sum[:]) {
				t.Errorf("%+v", digest)
			}
			indexed := checkIndex(t, files)
			checkPageLists(t, files, indexed)
			if hidden := strings.Contains(fmt.Sprint(indexed), "https://bees.test/shy"); hidden == in.WithoutOptOuts {
				t.Errorf("shy is there: %v", hidden)
			}
		})
	}
}

// checkIndex reads each record that the index names, and returns their addresses.
func checkIndex(t *testing.T, files map[string][]byte) map[string]bool {
	t.Helper()
	indexed, before := map[string]bool{}, ""
	lines := bufio.NewScanner(bytes.NewReader(files["indexes/index.cdx"]))
	for lines.Scan() {
		line := lines.Text()
		if line <= before {
			t.Errorf("%q follows %q", line, before)
		}
		before = line
		var e struct {
			URL, Filename string
			Offset        int64 `json:",string"`
			Length        int64 `json:",string"`
		}
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &e); err != nil {
			t.Fatal(err)
		}
		b := files["archive/"+e.Filename]
		if e.Offset+e.Length > int64(len(b)) {
			t.Fatalf("%s lies beyond the end of %s", e.URL, e.Filename)
		}
		part := b[e.Offset : e.Offset+e.Length]
		rec, err := store.NewReader(e.Filename, bytes.NewReader(part), int64(len(part))).At(0, 0)
		if err != nil || rec.Target() != e.URL || rec.Type() != "response" {
			t.Errorf("%+v: %v", e, err)
			continue
		}
		indexed[e.URL] = true
	}
	if err := lines.Err(); err != nil || len(indexed) < 8 {
		t.Fatalf("%d addresses, %v", len(indexed), err)
	}
	return indexed
}

func checkPageLists(t *testing.T, files map[string][]byte, indexed map[string]bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range []string{"pages/pages.jsonl", "pages/extraPages.jsonl"} {
		for i, line := range slices.Collect(strings.Lines(string(files[name]))) {
			var p struct{ Format, ID, URL, TS, Title string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			switch {
			case i == 0 && p.Format == "json-pages-1.0":
			case i == 0, p.TS == "", !indexed[p.URL], seen[p.URL]:
				t.Errorf("%s: %s", name, line)
			}
			seen[p.URL] = true
		}
	}
	if !seen["https://bees.test/dance"] {
		t.Error("the dance is in no list of pages")
	}
}

// TestBag holds the bag to RFC 8493.
func TestBag(t *testing.T) {
	in := &Input{Collections: []collection.Collection{made(t)}}
	names, files, _ := unzip(t, write(t, "bagit", in))
	if got := string(files["bag/bagit.txt"]); got != "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n" {
		t.Errorf("bagit.txt: %q", got)
	}
	listed := map[string]bool{"bag/tagmanifest-sha256.txt": true}
	bytesOfData, filesOfData := 0, 0
	for _, m := range []string{"bag/manifest-sha256.txt", "bag/tagmanifest-sha256.txt"} {
		for line := range strings.Lines(string(files[m])) {
			sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			content, there := files["bag/"+name]
			if want := sha256.Sum256(content); !ok || !there || sum != hex.EncodeToString(want[:]) {
				t.Errorf("%s: %q", m, line)
			}
			if data := strings.HasPrefix(name, "data/"); data != (m == "bag/manifest-sha256.txt") {
				t.Errorf("%s is in %s", name, m)
			} else if data {
				bytesOfData, filesOfData = bytesOfData+len(content), filesOfData+1
			}
			listed["bag/"+name] = true
		}
	}
	for _, n := range names {
		if !listed[n] {
			t.Errorf("%s has no checksum", n)
		}
	}
	if want := fmt.Sprintf("Payload-Oxum: %d.%d\n", bytesOfData, filesOfData); !strings.Contains(string(files["bag/bag-info.txt"]), want) {
		t.Errorf("bag-info.txt is %q, not %q", files["bag/bag-info.txt"], want)
	}
	log, err := os.ReadFile(in.Collections[0].EventLog())
	if err != nil || !bytes.Equal(log, files["bag/data/events.jsonl"]) {
		t.Errorf("the log is another: %v", err)
	}
	in.WithoutOptOuts = true
	_, files, _ = unzip(t, write(t, "bagit", in))
	for name, content := range files {
		if strings.HasSuffix(name, ".gz") {
			gz, err := gzip.NewReader(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			if content, err = io.ReadAll(gz); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.Contains(content, []byte("WARC-Target-URI: https://bees.test/shy")) || bytes.Contains(content, []byte("\tShy\t")) {
			t.Errorf("%s tells of a page that opts out", name)
		}
	}
}

// A graph is well-formed XML, and its edges are between its nodes.
func TestGraphML(t *testing.T) {
	var g struct {
		Graph struct {
			Node []struct {
				ID string `xml:"id,attr"`
			} `xml:"node"`
			Edge []struct {
				Source string `xml:"source,attr"`
				Target string `xml:"target,attr"`
			} `xml:"edge"`
		} `xml:"graph"`
	}
	if err := xml.Unmarshal(write(t, "graphml", &Input{Collections: []collection.Collection{made(t)}}), &g); err != nil {
		t.Fatal(err)
	}
	nodes := map[string]bool{}
	for _, n := range g.Graph.Node {
		nodes[n.ID] = true
	}
	for _, e := range g.Graph.Edge {
		if !nodes[e.Source] || !nodes[e.Target] {
			t.Errorf("%+v", e)
		}
	}
	if len(nodes) != 3 || len(g.Graph.Edge) != 3 {
		t.Errorf("%d hosts, %d edges", len(nodes), len(g.Graph.Edge))
	}
}

// A link that is redirected leads to the host whose page was got.
func TestGraphMLFollowsRedirects(t *testing.T) {
	c := madecrawl.Crawl(t, filepath.Join(t.TempDir(), "moved"), "moved", madecrawl.Site{
		"https://bees.test/":         {Body: `<a href="https://short.test/1">one</a> <a href="https://short.test/2">two</a> <a href="http://bees.test/own">own</a> <a href="https://wasps.test/">wasps</a>`},
		"https://short.test/1":       {Status: 301, Body: "https://www.short.test/1"},
		"https://www.short.test/1":   {Status: 302, Body: "https://wasps.test/"},
		"https://short.test/2":       {Status: 301, Body: "https://wasps.test/2"},
		"https://wasps.test/":        {Body: "bee"},
		"https://wasps.test/2":       {Body: `<a href="https://loop.test/1">loop</a>`},
		"http://bees.test/own":       {Status: 301, Body: "https://bees.test/own"},
		"https://bees.test/own":      {Body: "own"},
		"https://loop.test/1":        {Status: 301, Body: "https://loop.test/2"},
		"https://loop.test/2":        {Status: 301, Body: "https://loop.test/1"},
		"https://www.short.test/any": {Body: "not linked"},
	}, "https://bees.test/")
	var g struct {
		Nodes []struct {
			ID   string   `xml:"id,attr"`
			Data []string `xml:"data"` // the label first
		} `xml:"graph>node"`
		Edges []struct {
			Source string   `xml:"source,attr"`
			Target string   `xml:"target,attr"`
			Data   []string `xml:"data"`
		} `xml:"graph>edge"`
	}
	if err := xml.Unmarshal(write(t, "graphml", &Input{Collections: []collection.Collection{c}}), &g); err != nil {
		t.Fatal(err)
	}
	name := map[string]string{}
	for _, n := range g.Nodes {
		name[n.ID] = n.Data[0]
	}
	var got []string
	for _, e := range g.Edges {
		got = append(got, fmt.Sprint(name[e.Source], " ", name[e.Target], " ", e.Data))
	}
	want := []string{"bees.test wasps.test [2 1]", "wasps.test loop.test [1 0]"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A page that two folders hold counts once, as it was fetched last, and a page that
// opts out in one of them opts out.
func TestSeveralFolders(t *testing.T) {
	one := made(t)
	later := madecrawl.Site{
		"https://wasps.test/only-two": {Body: "<title>Only in two</title><p>bee bee <a href='https://bees.test/dance'>dance</a><a href='https://bees.test/new'>new</a><a href='https://bees.test/a'>a</a><a href='https://bees.test/b'>b</a>"},
		"https://bees.test/dance":     {Body: "<title>A newer dance</title><p>bee"},
		"https://bees.test/new":       {Body: "<title>Newer</title><p>bee", Header: map[string][]string{"X-Robots-Tag": {"noai"}}},
	}
	for _, path := range []string{"c", "d", "e", "f", "g", "h", "i", "j", "k"} { // time passes
		later["https://wasps.test/only-two"] = madecrawl.Doc{Body: later["https://wasps.test/only-two"].Body + "<a href='https://aaa.test/" + path + "'>x</a>"}
	}
	two := madecrawl.Crawl(t, filepath.Join(t.TempDir(), "two"), "two", later, "https://wasps.test/only-two")
	pages := func(in *Input) map[string]string {
		out := map[string]string{}
		for line := range strings.Lines(string(write(t, "pages-jsonl", in))) {
			var p struct{ URL, Title, Crawl, Text string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			if out[p.URL] != "" {
				t.Errorf("%s is there twice", p.URL)
			}
			if p.Text == "" && p.Title != "Quiet" {
				t.Errorf("%s has no text", p.URL)
			}
			out[p.URL] = p.Crawl + " " + p.Title
		}
		return out
	}
	both := []collection.Collection{one, two}
	got := pages(&Input{Collections: both})
	// The dance was fetched at second 2 by both crawls: the first of them counts. The
	// new page was fetched at second 9 by one and at second 3 by two.
	if len(got) != 10 || !strings.HasPrefix(got["https://bees.test/dance"], "one The dance") || got["https://wasps.test/only-two"] != "two Only in two" || !strings.HasPrefix(got["https://bees.test/new"], "one New") {
		t.Errorf("%d: %q", len(got), got)
	}
	slices.Reverse(both)
	if got := pages(&Input{Collections: both}); got["https://bees.test/dance"] != "two A newer dance" || !strings.HasPrefix(got["https://bees.test/new"], "one New,") {
		t.Errorf("%q", got)
	}
	if got := pages(&Input{Collections: both, WithoutOptOuts: true}); got["https://bees.test/new"] != "" {
		t.Errorf("a page that opts out in one folder is there: %q", got)
	}
}

// Damage of archive and log is told, and the rest is written; what a running crawl is
// writing is no damage.
func TestDamagedFolders(t *testing.T) {
	c := made(t)
	in := &Input{Collections: []collection.Collection{c}}
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := func() (partial int, failed []error) {
		for _, f := range Forms() {
			switch err := f.Write(t.Context(), in, io.Discard); {
			case errors.Is(err, ErrPartial):
				partial++
			case err != nil:
				failed = append(failed, fmt.Errorf("%s: %w", f.Name, err))
			}
		}
		return partial, failed
	}

	// While a crawl runs, the last line and the last record have no end.
	running, err := c.Lock()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	put(c.EventLog(), bytes.Join(lines[:len(lines)-2], nil)[:len(log)-len(lines[len(lines)-2])-20])
	put(files[0], archive[:len(archive)-10])
	if partial, failed := all(); partial != 0 || failed != nil {
		t.Errorf("of a running crawl %d are partial, %v", partial, failed)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}

	// A log whose end is lost, at the end of a line and within one. A line more, and one without
	// an end, are what a killed crawl leaves.
	put(files[0], archive)
	for _, cut := range [][]byte{bytes.Join(lines[:len(lines)/2], nil), log[:len(log)/2]} {
		put(c.EventLog(), cut)
		if partial, failed := all(); partial < 6 || failed != nil {
			t.Errorf("of a log of %d bytes in place of %d, %d are partial, %v", len(cut), len(log), partial, failed)
		}
	}
	for _, more := range [][]byte{append(slices.Clone(log), lines[0]...), append(slices.Clone(log), "{"...)} {
		put(c.EventLog(), more)
		if partial, failed := all(); partial != 0 || failed != nil {
			t.Errorf("of a log that goes on, %d are partial, %v", partial, failed)
		}
	}

	// Zeros in the middle of the archive, and in the middle of the log.
	torn := slices.Clone(archive)
	clear(torn[len(torn)/2 : len(torn)/2+100])
	put(files[0], torn)
	put(c.EventLog(), log)
	if partial, failed := all(); partial != len(Forms())-1 || failed != nil { // all but harvest
		t.Errorf("of a damaged archive %d are partial, %v", partial, failed)
	}
	spoilt := slices.Clone(log)
	clear(spoilt[len(log)/2 : len(log)/2+10])
	put(files[0], archive)
	put(c.EventLog(), spoilt)
	if partial, failed := all(); partial < 6 || failed != nil {
		t.Errorf("of a damaged log %d are partial, %v", partial, failed)
	}
	put(files[0], nil)
	if _, failed := all(); len(failed) != 1 || !strings.Contains(failed[0].Error(), "the archive is empty") {
		t.Errorf("of an empty archive: %v", failed)
	}
}

// Lines beyond what is kept in memory are sorted as well.
func TestSorter(t *testing.T) {
	s := sorter{memory: 100_000}
	var want []string
	for i := range 3_000 {
		line := fmt.Sprintf("%07d%s", i*7919%3_000, strings.Repeat("x", 200))
		want = append(want, line+"\n")
		if err := s.add([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.files) < 2 {
		t.Fatalf("%d temporary files", len(s.files))
	}
	slices.Sort(want)
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != strings.Join(want, "") {
		t.Error("the lines are not as they should be")
	}
	names := []string{s.files[0].Name(), s.files[1].Name()}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if _, err := os.Stat(n); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", n, err)
		}
	}
}

// A harvest that is sorted on the disk is that of the crawl itself, line by line.
func TestHarvestIsThatOfTheCrawl(t *testing.T) {
	c := made(t)
	want, err := os.ReadFile(c.HarvestFile())
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, "harvest", &Input{Collections: []collection.Collection{c}, memory: 1})
	if !bytes.Equal(got, want) || bytes.Count(got, []byte("\n")) < 4 {
		t.Errorf("the export has\n%s\nand the crawl wrote\n%s", got, want)
	}
}

func TestAscending(t *testing.T) {
	sorted := []float64{math.NaN(), math.Inf(-1), -1, -1e-9, 0, 1e-9, 0.25, 1, math.Inf(1)}
	for i, v := range sorted[1:] {
		if a, b := ascending(sorted[i]), ascending(v); a >= b {
			t.Errorf("%v has %x, which is not below %x of %v", sorted[i], a, b, v)
		}
	}
	if ascending(math.Copysign(0, -1)) != ascending(0) {
		t.Error("-0 is not 0")
	}
}
