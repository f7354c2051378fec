package train

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/web"
)

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var b bytes.Buffer
	var w io.WriteCloser
	switch filepath.Ext(name) {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".zst":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if w != nil {
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		b.WriteString(content)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func addresses(t testing.TB, list ...string) (out []web.URL) {
	t.Helper()
	for _, s := range list {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// answers writes what a provider named, sorted: "a b | c".
func answers(named []InlinkList) string {
	var out []string
	for _, of := range named {
		var names []string
		for _, u := range of.Pages {
			names = append(names, u.String())
		}
		slices.Sort(names)
		out = append(out, strings.Join(names, " "))
	}
	return strings.Join(out, " | ")
}

const someEdges = `# a comment
http://a.example/1	http://goal.example/
HTTP://B.example:80/./x   http://GOAL.example/#top  0.7

http://goal.example/ http://goal.example/
http://a.example/1	http://goal.example/
mailto:x http://goal.example/
http://c.example/ http://other.example/
http://d.example/ http://user@goal.example
https://e.example/ http://goal.example./page
`

// A list is read whatever it is packed with, and however addresses are spelled;
// a link counts once, and a page's links to itself do not.
func TestEdgeList(t *testing.T) {
	layer := addresses(t, "http://goal.example/", "http://goal.example/page", "http://nobody.example/")
	want := "http://a.example/1 http://b.example/x http://d.example/ | https://e.example/ | "
	for _, name := range []string{"edges.txt", "edges.gz", "edges.zst"} {
		e := EdgeList{Paths: []string{write(t, name, someEdges)}}
		named, err := e.Inlinks(t.Context(), layer, 10)
		if err != nil {
			t.Fatal(err)
		}
		if got := answers(named); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// What exceeds the limit is left out by a draw that depends on the seed and not
// on the order of the lines.
func TestEdgeListDraws(t *testing.T) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("http://p%d.example/ http://goal.example/\n", i))
	}
	ask := func(seed uint64) string {
		named, err := EdgeList{Paths: []string{write(t, "e", strings.Join(list, ""))}, Seed: seed}.Inlinks(t.Context(), addresses(t, "http://goal.example/"), 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(named[0].Pages) != 7 {
			t.Fatalf("%d in-links named, the limit is 7", len(named[0].Pages))
		}
		return fmt.Sprint(named)
	}
	first := ask(1)
	slices.Reverse(list)
	if ask(1) != first {
		t.Error("in another order of lines others are named")
	}
	if ask(2) == first {
		t.Error("the seed changes nothing")
	}
}

func TestEdgeListErrors(t *testing.T) {
	whole, err := os.ReadFile(write(t, "cut.gz", strings.Repeat(someEdges, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	for says, path := range map[string]string{
		"no such file":                       filepath.Join(t.TempDir(), "absent"),
		"e:2: not two addresses":             write(t, "e", "http://a.example/ http://b.example/\nhttp://alone.example/\n"),
		"line is longer than 64 KiB":         write(t, "e", strings.Repeat("x", 100_000)),
		"is cut short: fetch it again":       write(t, "cut", string(whole[:len(whole)/2])),
		"head: the packed file is cut short": write(t, "head", string(whole[:6])),
		"not two addresses with white spa":   write(t, "binary", "\x00\x01\x02\n"),
	} {
		_, err := EdgeList{Paths: []string{path}}.Inlinks(t.Context(), addresses(t, "http://b.example/"), 5)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (EdgeList{Paths: []string{write(t, "e", strings.Repeat("http://a.example/ http://b.example/\n", 1<<17))}}).Inlinks(ctx, addresses(t, "http://b.example/"), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled reading: error %v", err)
	}
}

// Vertices and edges as Common Crawl publishes them: hosts in reversed order,
// here with the number of hosts of a domain behind; the home pages of linking
// hosts are named.
func TestHostGraph(t *testing.T) {
	vertices := write(t, "vertices.txt.gz", "0\tcom.alpha\t3\n1\torg.beta.www\t1\n2\torg.goal\t2\n3\torg.goal.shop\t1\n4\tuk.co.gamma\t9\n")
	edges := write(t, "edges.txt.gz", "0\t2\n0\t3\n1\t2\n2\t2\n4\t1\n4\t2\n")
	h := HostGraph{Vertices: []string{vertices}, Edges: []string{edges}}
	named, err := h.Inlinks(t.Context(), addresses(t, "http://goal.org/some/page", "https://shop.goal.org/", "https://absent.org/"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := answers(named), "https://alpha.com/ https://gamma.co.uk/ https://www.beta.org/ | https://alpha.com/ | "; got != want {
		t.Errorf("named %s\nwant  %s", got, want)
	}
	named, err = h.Inlinks(t.Context(), addresses(t, "http://goal.org/"), 2)
	if err != nil || len(named[0].Pages) != 2 {
		t.Errorf("with a limit of 2: %v, %v", named, err)
	}
}

// A graph of pages in the same shape names pages.
func TestHostGraphOfPages(t *testing.T) {
	h := HostGraph{
		Vertices: []string{write(t, "v", "10\thttp://a.example/x\n11\tHTTP://goal.example/./page\n"), write(t, "w", "12\thttp://b.example/\n")},
		Edges:    []string{write(t, "e", "10 11\n12 11\n11 10\n")},
	}
	named, err := h.Inlinks(t.Context(), addresses(t, "http://goal.example/page"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := answers(named), "http://a.example/x http://b.example/"; got != want {
		t.Errorf("named %s, want %s", got, want)
	}
}

func TestHostGraphErrors(t *testing.T) {
	good := write(t, "v", "0\tcom.alpha\n")
	for says, h := range map[string]HostGraph{
		"v:1: not a number and the name": {Vertices: []string{write(t, "v", "com.alpha\t0\n")}},
		"e:1: not two vertex numbers":    {Vertices: []string{good}, Edges: []string{write(t, "e", "http://a/ http://b/\n")}},
		"no such file":                   {Vertices: []string{filepath.Join(t.TempDir(), "absent")}},
	} {
		if _, err := h.Inlinks(t.Context(), addresses(t, "http://alpha.com/"), 5); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}

// BenchmarkEdgeList reads a list of two million links for a layer of 600 pages,
// packed and plain.
func BenchmarkEdgeList(b *testing.B) {
	const n = 1 << 21
	var layer []web.URL
	for i := range 600 {
		layer = append(layer, addresses(b, fmt.Sprintf("http://www.host%d.example/page/%d.html", i*7, i))...)
	}
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "http://www.host%d.example/page/%d.html\thttp://www.host%d.example/page/%d.html\n", i%5000, i, (i*31)%5000, i%1000)
	}
	for _, name := range []string{"edges.txt", "edges.zst", "edges.gz"} {
		path := write(b, name, text.String())
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := (EdgeList{Paths: []string{path}}).Inlinks(b.Context(), layer, 20); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}
