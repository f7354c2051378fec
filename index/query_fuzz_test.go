package index

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/parse"
)

// Whatever somebody asks for, it is refused with words, or it is within the bounds of a query. A quotation
// mark that is left out at the end makes no other query.
func FuzzQuery(f *testing.F) {
	f.Add(`waggle "dance of bees" -wasps`, 0, 10)
	f.Add(`-"two words" a"b"c --x -`, 9990, 10)
	f.Add(`"left open `, math.MaxInt, 1000)
	f.Add("蜜蜂のダンス the", -1, 0)
	f.Add(strings.Repeat("bee ", 65), 0, 0)
	a, languages := parse.NewAnalyzer(parse.Languages()...), parse.Languages()
	f.Fuzz(func(t *testing.T, text string, from, size int) {
		q := Query{Text: text, From: from, Size: size}
		var p *phrases
		var err error
		used := allocated.By(func() { p, err = q.check(a, languages) })
		if used > 16<<20 {
			t.Errorf("%d bytes allocated for a query of %d", used, len(text))
		}
		if err != nil {
			if slip := (*QueryError)(nil); !errors.As(err, &slip) || slip.What == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if from < 0 || from > maxAsked || size < 0 || size > maxSize || from+size > maxAsked {
			t.Errorf("%d hits from %d on are given", size, from)
		}
		n := 0
		for _, list := range [][]spellings{p.want, p.without} {
			for _, all := range list {
				longest := 0
				for _, s := range all {
					if len(s.terms) == 0 || len(s.languages) == 0 {
						t.Errorf("an empty spelling in %+v", all)
					}
					longest = max(longest, len(s.terms))
				}
				if longest == 0 {
					t.Error("a phrase without a word")
				}
				n += longest
			}
		}
		blank := strings.TrimSpace(text) == ""
		if n > maxTerms || (n == 0) != blank {
			t.Errorf("%d words of %q", n, text)
		}
		if blank {
			return
		}
		if closed, err := parseText(text+` "`, a, languages); err != nil || !reflect.DeepEqual(closed, p) {
			t.Errorf("%q is %+v, and with a quotation mark behind it %+v, %v", text, p, closed, err)
		}
	})
}
