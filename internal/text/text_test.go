package text_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	long := strings.Repeat("x", 41)
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"stems", "Running runners ran quickly", "run runner ran quick"},
		{"stop words", "The cat that is on the mat", "cat mat"},
		{"contractions", "I don't know; we’ll see O'Neil's", "know see neil"},
		{"one letter", "x y zz", "zz"},
		{"numbers", "1 12 1999 12345 3.14", "12 1999 14"},
		{"letters with digits are not stemmed", "http2 running8 x86", "http2 running8 x86"},
		{"hyphens and underscores split", "peer-to-peer snake_case", "peer peer snake case"},
		{"longest", strings.Repeat("x", 40), strings.Repeat("x", 40)},
		{"too long", long + " ok", "ok"},
		{"other letters", "Straße ΑΘΉΝΑ Москва", "straße αθήνα москва"},
		{"composed and not", "cafe\u0301 CAFÉ", "café café"},
		{"ASCII start, other end", "naïve", "naïve"},
		{"full width", "ＲＵＮＮＩＮＧ", "run"},
		{"folding brings no spaces", "αͺ", "α\u0345"},
		{"folding brings no capitals", "ᴬᴮ", "ab"},
		{"soft hyphen", "run\u00adning", "run"},
		{"Chinese", "我爱北京", "我爱 爱北 北京"},
		{"single character", "一 b", "一"},
		{"Japanese and Latin", "東京tower", "東京 tower"},
		{"Korean has spaces", "서울 도시", "서울 도시"},
		{"broken UTF-8", "caf\xe9 tea\xff\xfe", "caf tea"},
		{"NUL", "a\x00bee\x00", "bee"},
		{"lone mark", "\u0301 abc", "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := text.NewAnalyzer()
			for range 2 { // the second time from the table
				if got := strings.Join(a.Words(c.in), " "); got != c.want {
					t.Errorf("Words(%q) = %q, want %q", c.in, got, c.want)
				}
			}
		})
	}
}

func TestWordsOfLanguages(t *testing.T) {
	for _, c := range []struct{ language, in, want string }{
		{"de", "Die Häuser und das Haus", "haus haus"},
		{"de", "Datenbanken, der Datenbank", "datenbank datenbank"},
		{"fr", "l’ordinateur, les ordinateurs étaient", "ordin ordin"},
		{"es", "las bases de datos", "bas dat"},
		{"ru", "базы данных и база", "баз дан баз"},
		{"it", "dell'archivio, gli archivi", "archiv archiv"},
		{"nb", "husene og huset", "hus hus"},
		{"tr", "kitaplar kitap", "kitap kitap"},
		{"el", "και η βάση", "βαση"},
		{"pl", "bazy danych i baza", "bazy danych baza"},
		{"zh", "我们的数据库", "们的 的数 数据 据库"},
		{"ja", "データベースの設定をする", "データベース 設定"},
		{"ja", "Linuxカーネルの使い方", "linux カーネル 使 方"},
		{"ja", "東京タワーABC", "東京 タワー abc"},
		{"ja", "ひらがな", ""},
		{"ko", "데이터를", "데이 이터 터를"},
		{"xx", "The running", "the running"},
		{"de", "Ärger im Müßiggang 1999 x86", "arg mussiggang 1999 x86"},
	} {
		a := text.NewAnalyzer(c.language)
		for range 2 {
			if got := strings.Join(a.Words(c.in), " "); got != c.want {
				t.Errorf("Words(%q) of %s = %q, want %q", c.in, c.language, got, c.want)
			}
		}
	}
}

// Letters that a language writes in more than one way are one: a pair for each, as people write
// both.
func TestFolding(t *testing.T) {
	for _, c := range []struct{ language, name, a, b string }{
		{"ru", "ё and е", "отчёт", "отчет"},
		{"ru", "ё in capitals", "ОТЧЁТ", "отчет"},
		{"de", "ß", "Straße", "STRASSE"},
		{"tr", "capital I is ı", "KAPISI", "kapısı"},
		{"tr", "capital İ is i", "İSTANBUL", "istanbul"},
		{"tr", "names from abroad", "Internet", "internet"},
		{"el", "σ at the end", "ΛΟΓΟΣ", "λόγος"},
		{"el", "accents", "ΒΑΣΗ", "βάση"},
		{"ar", "the long stroke", "كتـــاب", "كتاب"},
		{"ar", "short vowels", "مُحَمَّد", "محمد"},
		{"ar", "hamza above alef", "أحمد", "احمد"},
		{"ar", "ya without dots", "مستشفى", "مستشفي"},
		{"fa", "kaf", "كتاب", "کتاب"},
		{"fa", "ya", "زندگي", "زندگی"},
		{"ro", "comma and cedilla", "știință", "ştiinţă"},
		{"ro", "comma before an ending", "informații", "informaţii"},
		{"fr", "œ", "œuvre", "oeuvre"},
		{"hi", "nasals", "हिन्दी", "हिंदी"},
		{"hi", "the dot", "क़लम", "कलम"},
		{"ja", "half width", "ﾃﾞｰﾀﾍﾞｰｽ", "データベース"},
		{"ja", "full width", "ＵＮＩＸ", "unix"},
		{"es", "ligatures", "oﬁcina", "oficina"},
		{"en", "full width", "ＲＵＮＮＩＮＧ", "running"},
		{"nl", "ij as one", "ĳsberg", "ijsberg"},
		{"sv", "composed and not", "cafe\u0301", "café"},
	} {
		a := text.NewAnalyzer(c.language)
		x, y := a.Words(c.a), a.Words(c.b)
		if len(x) != 1 || !slices.Equal(x, y) {
			t.Errorf("%s, %s: %q is %q, and %q is %q", c.language, c.name, c.a, x, c.b, y)
		}
	}
	// Stop words are folded as well, and letters of other languages stay apart.
	for _, c := range []struct{ language, in, want string }{
		{"ru", "ещё еще её ее", ""},
		{"ar", "إلى الى", ""},
		{"de", "œuvre", "œuvr"},
		{"uk", "ё", ""},
	} {
		if got := strings.Join(text.NewAnalyzer(c.language).Words(c.in), " "); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.language, c.in, got, c.want)
		}
	}
}

// The stems of the built-in tables are folded as words are: what a word weighs is found by its term.
func TestTablesAreFolded(t *testing.T) {
	for _, l := range text.Tables() {
		for _, stem := range text.StemsOfTable(l) {
			if text.Fold(l, stem) != stem {
				t.Errorf("%s: %q stands in the table, and words have %q", l, stem, text.Fold(l, stem))
			}
		}
	}
}

// An analyzer of several languages goes by the first, and knows the others.
func TestAnalyzerOfSeveral(t *testing.T) {
	a := text.NewAnalyzer("de", "en", "de")
	if got := a.Languages(); !slices.Equal(got, []string{"de", "en"}) {
		t.Fatalf("languages %v", got)
	}
	for language, want := range map[string]string{"de": "running", "en": "run", "fr": "running", "": "running"} {
		if got := strings.Join(a.In(language).Words("running"), " "); got != want {
			t.Errorf("in %q: %q, want %q", language, got, want)
		}
	}
}

func TestCounter(t *testing.T) {
	c := text.NewCounter(text.NewAnalyzer())
	c.Add("Bees dance", true)
	c.Add("The bee dances and a bee flies", false)
	want := []web.Term{{Text: "bee", Head: 1, Body: 3}, {Text: "danc", Head: 1, Body: 2}, {Text: "fli", Head: 0, Body: 1}}
	if got := c.Terms(); !slices.Equal(got, want) {
		t.Errorf("Terms = %v, want %v", got, want)
	}
	kept := c.Terms()
	c.Reset()
	c.Add("wasp", false)
	if got := c.Terms(); len(got) != 1 || got[0].Text != "wasp" {
		t.Errorf("after Reset: %v", got)
	}
	if !slices.Equal(kept, want) {
		t.Errorf("Reset changed terms given out: %v", kept)
	}
}

// A shared analyzer gives what a fresh one gives, whatever it saw before and
// whoever uses it meanwhile.
func TestAnalyzerDependsOnItsArgumentOnly(t *testing.T) {
	shared := text.NewAnalyzer()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z]{1,9} ){0,20}`)), 1, 8).Draw(t, "texts")
		var wg sync.WaitGroup
		got := make([][]string, len(texts))
		for i, s := range texts {
			wg.Go(func() { got[i] = shared.Words(s) })
		}
		wg.Wait()
		for i, s := range texts {
			if want := text.NewAnalyzer().Words(s); !slices.Equal(got[i], want) {
				t.Fatalf("Words(%q) = %q, fresh analyzer %q", s, got[i], want)
			}
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("Running cafe\u0301 東京tower \xff 12345")
	f.Add("Ελλάδα ДАННЫЕ データベースー 설정 ไทย İstanbul ﬁn")
	a := text.NewAnalyzer(text.Languages()...)
	languages := a.Languages()
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range a.In(languages[len(s)%len(languages)]).Words(s) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("Words(%q) holds %q", s, w)
			}
			for _, r := range w {
				if unicode.IsSpace(r) || unicode.IsControl(r) {
					t.Fatalf("Words(%q) holds %q", s, w)
				}
			}
		}
	})
}

const sample = `Waggle dance is a term used in beekeeping and ethology for a particular
figure-eight dance of the honey bee. By performing this dance, successful foragers can share
information about the direction and distance to patches of flowers yielding nectar and pollen,
to water sources, or to new nest-site locations with other members of the colony. `

func BenchmarkWords(b *testing.B) {
	s := strings.Repeat(sample, 20)
	b.Run("FieldsFunc", func(b *testing.B) {
		b.SetBytes(int64(len(s)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			for range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				n++
			}
		}
	})
	b.Run("Analyzer", func(b *testing.B) {
		a := text.NewAnalyzer()
		b.SetBytes(int64(len(s)))
		b.ReportAllocs()
		var dst []string
		for b.Loop() {
			dst = a.AppendWords(dst[:0], s)
		}
	})
	b.Run("Counter", func(b *testing.B) {
		c := text.NewCounter(text.NewAnalyzer())
		b.SetBytes(int64(len(s)))
		b.ReportAllocs()
		for b.Loop() {
			c.Reset()
			c.Add(s, false)
			c.Terms()
		}
	})
}
