package event

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Lines that are decoded ahead are those that are decoded one by one, whatever they hold,
// from wherever they are read, and however soon nobody wants more.
func TestEntriesAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var whole []byte
	for i := range 3 {
		b, err := AppendJSON(nil, Fetched{At: after(float64(i)), Visit: Visit{URL: addr(fmt.Sprintf("https://a.example/%d", i))}, Title: "A page"})
		if err != nil {
			t.Fatal(err)
		}
		whole = append(append(whole, b...), '\n')
	}
	kinds := append(strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")[:2],
		`{"kind":"fetched","at":"2026-03-01T12:00:00Z","crc":"00000000"}`+"\n", "junk\n", "\n", `{"kind":"sown","at":"2026-03-01T12:00:00Z"}`+"\n",
		`{"kind":"tick","at":"2026-03-01T12:00:00Z","frontier":{}}`+"\n", strings.Repeat("x", 70<<10)+"\n", `{"kind":"tick","torn`)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 700).Draw(t, "lines")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		var want []string
		tell := func(e Entry, err error) string {
			return fmt.Sprintf("%d %d %q %+v %v %v %v", e.Number, e.Offset, e.Line, e.Event, e.Summed, e.Err, err)
		}
		from := int64(0)
		if n := rapid.IntRange(0, len(lines)).Draw(t, "from"); n > 0 {
			from = int64(len(strings.Join(lines[:n], "")))
		}
		for e, err := range EntriesFrom(path, from) {
			want = append(want, tell(e, err))
		}
		most := rapid.IntRange(1, 800).Draw(t, "most")
		var got []string
		for e, err := range EntriesAhead(path, from) {
			if got = append(got, tell(e, err)); len(got) == most {
				break
			}
		}
		want = want[:min(len(want), most)]
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("ahead\n%.2000q\none by one\n%.2000q", got, want)
		}
	})
	for _, err := range EntriesAhead(filepath.Join(t.TempDir(), "none"), 0) {
		if err == nil {
			t.Error("a log that is not there has entries")
		}
	}
}
