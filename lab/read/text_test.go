package read

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func parsed(t testing.TB, body string) *web.Page {
	t.Helper()
	u, err := web.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse.New(parse.Options{}).Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bees is a page with two pieces of main text, and others around them.
var bees = `<title>Bees</title><nav><a href=/>Home</a> <a href=/staff>Staff</a></nav>
<p>` + strings.Repeat("A forager that has found rich flowers runs straight ahead and waggles, and turns back to where it began. ", 3) + `</p>
<ul>` + strings.Repeat("<li><a href=/1>One thing elsewhere</a>", 12) + `</ul>
<p>` + strings.Repeat("The longer it waggles, the further away the flowers are, and others in the dark hive feel and learn it. ", 3) + `</p>
<footer><a href=/imprint>Imprint</a></footer>`

func TestParts(t *testing.T) {
	var got []string
	for _, x := range Parts(parsed(t, bees)) {
		mark := "  "
		if x.Main {
			mark = "* "
		}
		got = append(got, mark+fmt.Sprintf("%.24s", x.Text))
	}
	want := []string{"  Home Staff", "* A forager that has found", "  One thing elsewhere One ", "* The longer it waggles, t", "  Imprint"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := Text(parsed(t, bees), 5); got != "A forager that has found …" {
		t.Errorf("%q", got)
	}
	// Where there is hardly a main part, all the text tells more.
	if got := Text(parsed(t, "<p><a href=/>Home</a> bees\x1b[31m \u202edance</p>"), 0); got != "Home bees [31m dance" {
		t.Errorf("%q", got)
	}
	if got := Parts(parsed(t, "<img src=x>")); len(got) != 0 {
		t.Errorf("a page without text has %v", got)
	}
	// Long pieces beside the main part are cut in their middle, long pages at
	// their end.
	long := Parts(parsed(t, strings.Repeat("<a href=/>link</a> ", 500)+"<p>"+strings.Repeat("bees dance and sing, ", 2000)))
	if n := len(strings.Fields(long[0].Text)); n != maxAside+1 {
		t.Errorf("%d words beside the main part", n)
	}
	if n := len(strings.Fields(long[len(long)-1].Text)); len(long) != 2 || n != maxWords-maxAside {
		t.Errorf("%d pieces, the last of %d words", len(long), n)
	}
}

// A paragraph with links, and with a picture within it, is one piece of the text,
// and words that markup parts are whole.
func TestParagraphsAreWhole(t *testing.T) {
	page := `<title>Bees</title><nav><a href=/>Home</a> <a href=/u>University</a>, <a href=/x>University of Flowers</a></nav>
<p>At the <a href=/u>University</a>, <a href=/i>bee</a>s and <b>wasp</b>s are kept by (<i>many</i>) people who count what they carry home in summer. <img src=x alt="A dance of bees"> In winter ` +
		`<a href=/u>University</a>; staff of the University, and others, feed them with sugar, as all do who keep them.</p>
<p>The second paragraph of this page follows the first, and has words enough to be content as <em>well</em>, without doubt.</p>
<footer><a href=/imprint>Imprint</a> <a href=/u>University</a>, Hive Street</footer>`
	want := []Part{
		{"Home University, University of Flowers", false},
		{"At the University, bees and wasps are kept by (many) people who count what they carry home in summer. A dance of bees In winter University; staff of the University, and others, feed them with sugar, as all do who keep them. " +
			"The second paragraph of this page follows the first, and has words enough to be content as well, without doubt.", true},
		{"Imprint University, Hive Street", false},
	}
	if got := Parts(parsed(t, page)); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// The main part is found again in all the leaves, whatever stands between its
// pieces, and wherever markup parts its words.
func TestMainPartIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}`), 0, 12)
		var all []web.Leaf
		var main []string
		var want []bool
		add := func(text string, is bool) {
			if text != "" {
				all, want = append(all, web.Leaf{Text: text}), append(want, is)
			}
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "pieces") {
			for range rapid.IntRange(0, 2).Draw(t, "asides") {
				add(strings.Join(append(words.Draw(t, "aside"), make([]string, maxWithin+2)...), " c"), false)
			}
			// Pieces begin with words that stand nowhere else, as sentences do.
			piece := strings.Join(append(strings.Fields(fmt.Sprintf("x%[1]d y%[1]d z%[1]d", i)), words.Draw(t, "main")...), " ")
			main = append(main, piece)
			for piece != "" {
				n := rapid.IntRange(1, len(piece)).Draw(t, "leaf")
				add(strings.TrimSpace(piece[:n]), true)
				piece = strings.TrimSpace(piece[n:])
			}
		}
		if got, _ := mainLeaves(all, strings.Join(main, " ")); !slices.Equal(got, want) {
			t.Fatalf("of %q in %q found %v, want %v", main, all, got, want)
		}
	})
}
