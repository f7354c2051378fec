package text_test

import (
	"testing"

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
		{"Die Sprache der Bienen: wie Honigbienen einander sagen, wo es Nahrung gibt", "de"},
	} {
		if got := text.GuessWords(c.words); got != c.want {
			t.Errorf("GuessWords(%q) = %q, want %q", c.words, got, c.want)
		}
	}
}
