package text_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
)

// What everybody writes is common, and what few write is rare.
func TestBackgroundOrder(t *testing.T) {
	d := text.Background()
	a := text.NewAnalyzer()
	words := []string{"use", "computer", "database", "zzyzx"}
	for i := 1; i < len(words); i++ {
		common, rare := a.Words(words[i-1])[0], a.Words(words[i])[0]
		if d.Share(common) <= d.Share(rare) {
			t.Errorf("%s is in a share of %v documents, %s in %v: want more", common, d.Share(common), rare, d.Share(rare))
		}
	}
	for _, w := range words {
		stem := a.Words(w)[0]
		if idf := d.IDF(stem); !(idf > 0) || math.IsInf(idf, 0) {
			t.Errorf("idf of %s is %v", stem, idf)
		}
	}
}

// Every built-in table knows common words of its language, and ranks a rare one below.
func TestBackgroundOfLanguages(t *testing.T) {
	for language, words := range map[string][2]string{
		"de": {"Datei", "Honigbiene"}, "en": {"use", "waggle"}, "es": {"archivo", "abeja"}, "fr": {"fichier", "abeille"}, "it": {"pacchetto", "apiario"},
		"ja": {"ファイル", "蜜蜂"}, "nl": {"pakket", "honingbij"}, "pl": {"plik", "pszczelarz"}, "pt": {"arquivo", "abelha"}, "ru": {"файл", "пчеловод"}, "zh": {"使用", "蜜蜂"},
	} {
		a, d := text.NewAnalyzer(language), text.BackgroundOf(language)
		common, rare := a.Words(words[0])[0], a.Words(words[1])[0]
		if d.Share(common) < 4*d.Share(rare) {
			t.Errorf("%s: %s has a share of %v, %s of %v", language, words[0], d.Share(common), words[1], d.Share(rare))
		}
	}
	if n := len(text.Tables()); n != 11 {
		t.Errorf("%d tables, want those of 11 languages", n)
	}
	both, none := text.BackgroundOf("de", "en"), text.BackgroundOf("xx")
	if both.Share("datei") != text.BackgroundOf("de").Share("datei") || both.Share("use") != text.Background().Share("use") {
		t.Error("the table of two languages does not hold the words of both")
	}
	if none.Len() != 0 || none.IDF("one") != none.IDF("two") {
		t.Error("a language without a table has no even one")
	}
}

func TestBlend(t *testing.T) {
	d := text.Background()
	c := text.NewCounts([]string{"menu", "orchid"})
	for range 256 {
		c.Add(func(stem string) bool { return stem == "menu" })
	}
	b := d.Blend(c)
	if b.Share("menu") < 0.75 {
		t.Errorf("menu is on every page of the crawl and has a share of %v", b.Share("menu"))
	}
	if b.Share("orchid") >= d.Share("orchid") {
		t.Errorf("orchid is on no page of the crawl, yet its share went from %v to %v", d.Share("orchid"), b.Share("orchid"))
	}
	before := b.Share("menu")
	for range 100 {
		c.Add(func(string) bool { return false })
	}
	if b.Share("menu") != before {
		t.Error("a blended table changed with the counts it was made of")
	}
}

// A table is read as it was written, to an eighth of a halving.
func TestTableRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.MapOf(rapid.StringMatching(`[a-z0-9]{1,12}`), rapid.Float64Range(1e-9, 1)).Draw(t, "shares")
		var b bytes.Buffer
		if err := text.WriteDF(&b, shares); err != nil {
			t.Fatal(err)
		}
		d, err := text.ReadDF(&b)
		if err != nil {
			t.Fatal(err)
		}
		if d.Len() != len(shares) {
			t.Fatalf("%d stems written, %d read", len(shares), d.Len())
		}
		for s, want := range shares {
			want = min(want, 1-1./(1<<15))
			if got := d.Share(s); want > 1e-8 && math.Abs(math.Log2(got/want)) > 1./16+1e-3 {
				t.Fatalf("share of %q is %v, written as %v", s, got, want)
			}
		}
	})
}

func TestReadDFErrors(t *testing.T) {
	var gz bytes.Buffer
	if err := text.WriteDF(&gz, map[string]float64{"fine": 0.5}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"no gzip":   []byte("word 12\n"),
		"cut short": gz.Bytes()[:gz.Len()-9],
		"empty":     nil,
	} {
		if _, err := text.ReadDF(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Counts survive their binary form, and nothing but it is accepted.
func TestCountsRoundTrip(t *testing.T) {
	stems := []string{"ant", "bee", "wasp"}
	rapid.Check(t, func(t *rapid.T) {
		c := text.NewCounts(stems)
		for _, page := range rapid.SliceOfN(rapid.SliceOf(rapid.SampledFrom(stems)), 0, 20).Draw(t, "pages") {
			c.Add(func(s string) bool {
				for _, p := range page {
					if p == s {
						return true
					}
				}
				return false
			})
		}
		b, _ := c.AppendBinary(nil)
		again := text.NewCounts(stems)
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		if b2, _ := again.AppendBinary(nil); !bytes.Equal(b, b2) || again.N() != c.N() {
			t.Fatalf("% x became % x", b, b2)
		}
		if text.NewCounts(stems[:2]).UnmarshalBinary(b) == nil {
			t.Fatal("the counts of three stems were accepted for two")
		}
		if again.UnmarshalBinary(b[:len(b)-1]) == nil {
			t.Fatal("counts cut short were accepted")
		}
	})
}

func BenchmarkReadDF(b *testing.B) {
	shares := map[string]float64{}
	for i := range 45_000 { // as many as the table of English
		shares[fmt.Sprint("stem", i)] = 1 / float64(i+1)
	}
	var table bytes.Buffer
	if err := text.WriteDF(&table, shares); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := text.ReadDF(bytes.NewReader(table.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
