package text_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/text"
)

func TestGuessWords(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"honey bee, waggle dance", "en"},
		{"", ""},
		{"1234", ""},
		{"Paketverwaltung", "de"},
		{"Datenbank, Tabellen verknüpfen", "de"},
		{"Seriendruck, Briefe und Umschläge", "de"},
		{"base de données, requête", "fr"},
		{"gestion des paquets", "fr"},
		{"base de datos, consulta", "es"},
		{"gestión de paquetes", "es"},
		{"gestão de pacotes", "pt"},
		{"база данных, запрос", "ru"},
		{"データベース", "ja"},
		{"数据库, 查询", "zh"},
		{"資料庫の表", "ja"},
		{"データベースと表の結合", "ja"},
		{"데이터베이스", "ko"},
		{"ฐานข้อมูล", "th"},
		{"PostgreSQL", ""},
		{"Debian, systemd", ""},
		{"PostgreSQL, transactions and locking", "en"},
		{"Emacs Lisp", ""},
		// No table knows these words, so their letters tell.
		{"Honigbienen, Schwänzeltanz", "de"},
		{"pszczoły, miód", "pl"},
		{"bijenkorf, honingbij", "nl"},
		{"abelhas, mel, colmeia", "pt"},
		{"Kubernetes", ""},
		{"Nginx, Kafka", ""},
		{"Drosophila melanogaster", ""},
		{"Blockchain, Ethereum", ""},
		{"Zookeeper", ""},
		// The Italian table alone has names of these; their letters are not Italian.
		{"terraform, ansible", ""},
		{"origami, kirigami", ""},
		{"Fortran, Cobol", ""},
		// A letter that one language alone has, unless the rest is English.
		{"ıhlamur çayı", "tr"},
		{"arıcılık, bal", "tr"},
		{"méhészet, gyűjtés", "hu"},
		{"Erdoğan, elections", ""},
		// One function word is not enough against what English knows.
		{"Los Angeles, county government", "en"},
		{"Die Hard movies", "en"},
		{"Rio de Janeiro, carnival and music", "en"},
		{"histoire de la machine à vapeur", "fr"},
		{"Die Sprache der Bienen: wie Honigbienen einander sagen, wo es Nahrung gibt", "de"},
	} {
		if got := text.GuessWords(c.words); got != c.want {
			t.Errorf("GuessWords(%q) = %q, want %q", c.words, got, c.want)
		}
	}
}

// How often the language of a topic of a few words is told, rightly, wrongly and not at all: the
// table of docs/results/languages.md.
func TestGuessTopics(t *testing.T) {
	long.Test(t, "guesses the languages of all topics of a table")
	b, err := os.ReadFile("testdata/topics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	type told struct{ all, right, silent, wrong int }
	of := map[string]*told{}
	var sum told
	var languages []string
	for line := range strings.Lines(string(b)) {
		language, topic, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		if of[language] == nil {
			of[language] = &told{}
			languages = append(languages, language)
		}
		got := text.GuessWords(topic)
		if got != language {
			t.Logf("%s: %q is taken for %q", language, topic, cmp.Or(got, "none"))
		}
		for _, n := range []*told{of[language], &sum} {
			n.all++
			switch got {
			case language:
				n.right++
			case "":
				n.silent++
			default:
				n.wrong++
			}
		}
	}
	slices.Sort(languages)
	for _, l := range languages {
		t.Logf("%s: %d topics, %d right, %d not told, %d wrong", l, of[l].all, of[l].right, of[l].silent, of[l].wrong)
	}
	t.Logf("all: %d topics, %d right, %d not told, %d wrong", sum.all, sum.right, sum.silent, sum.wrong)
	if len(languages) != 11 || sum.all != 176 || sum.right < leastRight || sum.wrong > mostWrong {
		t.Errorf("%d languages, %+v: want at least %d right and at most %d wrong", len(languages), sum, leastRight, mostWrong)
	}
}

// leastRight and mostWrong are the figures of docs/results/languages.md.
const leastRight, mostWrong = 143, 8
