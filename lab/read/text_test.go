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

// The main part is found again in all the text, whatever stands between its
// pieces.
func TestMainPartIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}`), 0, 12)
		var all, main []string
		var want []bool
		for i := range rapid.IntRange(0, 5).Draw(t, "pieces") {
			aside, piece := words.Draw(t, "aside"), words.Draw(t, "main")
			// Pieces begin with words that stand nowhere else, as sentences do.
			piece = append(strings.Fields(fmt.Sprintf("x%[1]d y%[1]d z%[1]d", i)), piece...)
			all = append(append(all, aside...), piece...)
			main = append(main, piece...)
			want = append(want, make([]bool, len(aside))...)
			for range piece {
				want = append(want, true)
			}
		}
		got := mainWords(all, main)
		var found []string
		for i, is := range got {
			if is {
				found = append(found, all[i])
			}
		}
		if !slices.Equal(found, main) {
			t.Fatalf("of %q in %q found %q", main, all, found)
		}
		wrong := 0
		for i := range want {
			if got[i] != want[i] {
				wrong++
			}
		}
		// A piece may seem to go on with words that follow it; never far.
		if wrong > len(want)/2+6 {
			t.Fatalf("%d of %d words are told wrong: %q in %q", wrong, len(want), main, all)
		}
	})
}
