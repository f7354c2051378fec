package extract

import (
	"regexp"
	"testing"
)

// The forms of codes and names tell others of the kind, however these are written, whole.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		examples []string
		text     string
		want     string // by the last form
	}{
		{[]string{"CSE 143", "CSE 373"}, "Welcome to CSE467 here", "CSE467"},
		{[]string{"CSE 143", "CSE 373"}, "Welcome to CSE 403X here", "CSE 403X"},
		{[]string{"CS414", "CS222"}, "CS 401/501: software", "CS 401/501"},
		{[]string{"CS414", "CS222"}, "CS381/481.", "CS381/481"},
		{[]string{"CS 395T", "CS384G"}, "CS310 in 1997", "CS310"},
		{[]string{"A-17", "B-4"}, "parts B-22/23 and 9", "B-22/23"},
		{[]string{"v12", "v9"}, "since v15 of it", "v15"},
		{[]string{"Ada Byron", "Kay Moss"}, "by Bob O'Hara - lab", "Bob O'Hara"},
		{[]string{"Bob O'Hara", "Kay Moss"}, "Mia D’Angelo's Home Page", "Mia D’Angelo"},
		{[]string{"Bob O'Hara"}, "ADA BYRON'S HOME PAGE", "ADA BYRON"},
		{[]string{"Ada Byron", "Kay Moss"}, "李明", "李明"}, // a script without capitals
		{[]string{"Ada Byron", "Kay Moss"}, "พิมพ์ ใจดี", "พิมพ์ ใจดี"},
		{[]string{"Jeanne d'Arc"}, "of Guido dell'Acqua: a list", "Guido dell'Acqua"},
	} {
		forms := patterns(c.examples)
		if len(forms) == 0 {
			t.Errorf("%q have no form", c.examples)
			continue
		}
		if got := regexp.MustCompile(forms[len(forms)-1]).FindString(c.text); got != c.want {
			t.Errorf("of %q, %s finds %q in %q, want %q", c.examples, forms[len(forms)-1], got, c.text, c.want)
		}
		if l := likenessOf(c.examples); !l.has(c.want) {
			t.Errorf("%q is not like %q", c.want, c.examples)
		}
	}
}
