package export

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// No part of a cell begins a formula where a spreadsheet parts cells by semicolons.
func TestNoFormulaBehindSemicolons(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"bees; wasps;ants":         "bees; wasps;ants",
		"bees;=cmd|'/c calc'!A0":   "bees;'=cmd|'/c calc'!A0",
		"=1;+2;-3;@4;;=5":          "'=1;'+2;'-3;'@4;;'=5",
		`bees;"=1;" +2`:            `bees;'"=1;'" +2`,
		"bees; =1;＝2;\t=3":         "bees;' =1;'＝2;' =3",
		"https://bees.test/?a;b=1": "https://bees.test/?a;b=1",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	site := madecrawl.Site{
		"https://bees.test/": {Body: `<title>bees;=cmd|'/c calc'!A0;+1;-2;@3; =4;"=5</title><p>bee;=6 <a href="a;=7">a "word";@8</a>`},
	}
	in := &Input{Collections: []collection.Collection{madecrawl.Crawl(t, filepath.Join(t.TempDir(), "bees"), "bees", site, "https://bees.test/")}}
	formula := regexp.MustCompile(`;["\s]*[=+\-@]`)
	for _, form := range []string{"pages-csv", "links-csv"} {
		out := string(write(t, form, in))
		if at := formula.FindString(out); at != "" || !strings.Contains(out, ";'") {
			t.Errorf("%s holds %q:\n%s", form, at, out)
		}
	}
}
