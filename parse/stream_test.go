package parse_test

import (
	_ "embed"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

//go:embed testdata/documents.txt
var documentsFile string

// documents are those of testdata/documents.txt.
func documents() (docs []string) {
	unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\x01`, "\x01", `\x0b`, "\x0b", `\x7f`, "\x7f")
	for line := range strings.Lines(documentsFile) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			docs = append(docs, unescape.Replace(line))
		}
	}
	return docs
}

// compare asserts that a page is the same by way of a tree. It tells why the page
// needed one, "" if it did not.
func compare(t interface {
	Helper()
	Errorf(string, ...any)
}, p *parse.Parser, r *web.Response) (beyond string) {
	t.Helper()
	got, beyond, err := p.ParseStream(r)
	want, treeErr := p.ParseTree(r)
	if (err == nil) != (treeErr == nil) {
		t.Errorf("%.300q: error %v, by way of a tree %v", r.Body, err, treeErr)
	} else if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s %.300q:\n%s", r.URL, r.Body, difference(got, want))
	}
	return beyond
}

// difference names the first difference in each field of two pages.
func difference(got, want *web.Page) string {
	var out strings.Builder
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		x, y := g.Field(i), w.Field(i)
		if reflect.DeepEqual(x.Interface(), y.Interface()) {
			continue
		}
		at := g.Type().Field(i).Name
		if x.Kind() == reflect.Slice {
			k := 0
			for k < min(x.Len(), y.Len()) && reflect.DeepEqual(x.Index(k).Interface(), y.Index(k).Interface()) {
				k++
			}
			at = fmt.Sprintf("%s of %d and %d, from number %d on", at, x.Len(), y.Len(), k)
			x, y = x.Slice(k, min(k+3, x.Len())), y.Slice(k, min(k+3, y.Len()))
		}
		fmt.Fprintf(&out, "%s: %.500v, by way of a tree %.500v\n", at, x, y)
	}
	return out.String()
}

// What is read from the source alone is what a walk through its tree gives.
func TestStream(t *testing.T) {
	p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
	trees := 0
	for _, body := range append(documents(), article) {
		for _, mediaType := range []string{"text/html", "application/xhtml+xml"} {
			if compare(t, p, response(t, mediaType+"; charset=utf-8", body)) != "" {
				trees++
			}
		}
	}
	if trees == 0 {
		t.Error("no document needed a tree")
	}
}

// A page much larger than most changes nothing of those behind it.
func TestStreamBehindLargePages(t *testing.T) {
	r := strings.Repeat
	p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
	for _, large := range []string{
		"<p>" + r("bees &amp; ", 1<<16), "<!doctype " + r("x", 1<<19) + "><p>a<table>", "<" + r("X", 1<<19) + ">a",
		"<a href='" + r("&amp;", 1<<17) + "'>b</a>", "<p " + r("a ", 1<<12) + ">b",
	} {
		compare(t, p, response(t, "text/html", large))
		compare(t, p, response(t, "text/html", article))
	}
}

// Any two documents, one after the other, and any part of one.
func TestStreamOfParts(t *testing.T) {
	p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
	pages, trees, plain := 0, map[string]int{}, 0
	pieces := rapid.OneOf(soup(), rapid.SampledFrom(documents()))
	rapid.Check(t, func(rt *rapid.T) {
		var body string
		for _, s := range rapid.SliceOfN(pieces, 1, 4).Draw(rt, "pieces") {
			start := rapid.IntRange(0, len(s)).Draw(rt, "start")
			body += s[start:rapid.IntRange(start, len(s)).Draw(rt, "end")]
		}
		pages++
		if why := compare(rt, p, response(t, "text/html; charset=utf-8", body)); why != "" {
			trees[why]++
			trees[""]++
		}
		if comparePlain(rt, p, response(t, "text/html; charset=utf-8", body)) {
			plain++
		}
	})
	t.Logf("%d pages, by way of a tree: %v; %d compared with their plain tree", pages, trees, plain)
	if pages >= 50 && (10*trees[""] > 9*pages || 2*plain < pages) {
		t.Error("too few pages were read from their source alone, or compared with their plain tree")
	}
}

// The texts of a page are those of the tree that x/net/html makes of its source as it is: nothing
// that comes before and behind that tree loses any.
func TestTextsOfPlainTree(t *testing.T) {
	p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
	pruned := strings.Repeat("<body class=a>", 70) + "<p>Some <b>bees</b> dance<p>and <i>others</i> <a href=x>look</a> on<!-- c -->ward"
	if !parse.Excessive([]byte(pruned)) {
		t.Error("the page is not pruned")
	}
	docs := append(documents(), article, pruned)
	for _, body := range docs {
		if !comparePlain(t, p, response(t, "text/html; charset=utf-8", body)) {
			t.Errorf("%.300q is not compared", body)
		}
	}
}

// comparePlain asserts that the texts of a page, or those of one that is pruned together, are those of the
// tree of its source. It tells whether it could, as it can unless the page is cut.
func comparePlain(t interface {
	Helper()
	Errorf(string, ...any)
}, p *parse.Parser, r *web.Response) bool {
	t.Helper()
	page, err := p.Parse(r)
	if err != nil || page.Truncated {
		return false
	}
	src, _ := parse.Decode(r.Body, "utf-8")
	doc, err := html.Parse(strings.NewReader(string(src)))
	if err != nil {
		return false
	}
	var got []string
	for i, l := range page.Leaves {
		if l.Text != "" && page.Tags[i] != "img" { // which has the text that stands for it
			got = append(got, l.Text)
		}
	}
	want := textsIn(doc, false, nil)
	if parse.Excessive(src) { // what is around its words is gone, and its texts are longer
		together := func(texts []string) []string { return []string{strings.ReplaceAll(strings.Join(texts, ""), " ", "")} }
		got, want = together(got), together(want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%.300q has the texts\n%q, in its tree\n%q", r.Body, got, want)
	}
	return true
}

// textsIn appends the texts in a node that a page shows, those within its body.
func textsIn(n *html.Node, body bool, texts []string) []string {
	switch n.Type {
	case html.TextNode:
		joined := strings.NewReplacer("\u00ad", "", "\u202d", "", "\u202e", "").Replace(n.Data)
		words := strings.FieldsFunc(joined, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u200b' })
		if body && len(words) > 0 {
			texts = append(texts, strings.Join(words, " "))
		}
	case html.ElementNode:
		switch n.DataAtom {
		case atom.Body, atom.Frameset:
			body = true
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Noframes, atom.Noembed, atom.Iframe:
			return texts
		case atom.Title:
			if n.Namespace == "" {
				return texts
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		texts = textsIn(c, body, texts)
	}
	return texts
}

// Recorded pages, all where WAGGLE_WEBS is set; few of them need a tree.
func TestStreamOfRecordedPages(t *testing.T) {
	for _, c := range []struct {
		web   string
		trees float64 // at most, of all pages
	}{
		{"departments", .12}, // of 1997
		{"campus", .012},
		{"manuals", .006},
	} {
		t.Run(c.web, func(t *testing.T) {
			nth := long.Of(100, 20)
			if os.Getenv("WAGGLE_WEBS") != "" && long.Asked() {
				nth = 1
			}
			p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
			pages, trees := 0, map[string]int{}
			eachRecorded(t, c.web, nth, func(r *web.Response) bool {
				pages++
				if why := compare(t, p, r); why != "" {
					trees[why]++
					trees[""]++
				}
				return !t.Failed()
			})
			t.Logf("%d pages, by way of a tree: %v", pages, trees)
			if float64(trees[""]) > c.trees*float64(pages)+5 {
				t.Errorf("%d of %d pages by way of a tree", trees[""], pages)
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range documents() {
		f.Add(s)
	}
	p := parse.New(parse.Options{Analyzer: analyzer, Tags: true})
	f.Fuzz(func(t *testing.T, body string) {
		compare(t, p, response(t, "text/html; charset=utf-8", body))
	})
}
