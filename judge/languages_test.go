package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// written is a page of some sentences in one language, as it is parsed.
func written(t *testing.T, a *parse.Analyzer, language, title string, sentences ...string) *web.Page {
	t.Helper()
	body := fmt.Sprintf("<html lang=%s><title>%s</title><h1>%s</h1><p>%s", language, title, title, strings.Join(sentences, " "))
	u, err := web.Parse(fmt.Sprintf("http://%s.test/%d", language, len(body)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse.New(parse.Options{Analyzer: a}).Parse(&web.Response{
		URL: u, Status: 200,
		Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A topic in one language finds pages that write its words otherwise, and tells them
// from others, of the same language and of another.
func TestTopicInOneLanguage(t *testing.T) {
	for _, c := range []struct {
		language, keyword, wanted, other string
	}{
		{"de", "Datenbank", "Die Datenbanken speichern Tabellen. Mehrere Datenbanken sind verbunden, und die Datenbanken antworten.", "Die Wörter der Rechtschreibung werden geprüft."},
		{"fr", "imprimante réseau", "Les imprimantes sont installées. Une liste des imprimantes et des imprimantes réseau.", "La correction des mots."},
		{"es", "impresora", "Las impresoras están instaladas. Una lista de impresoras y de impresoras en red.", "La corrección de las palabras."},
		{"ru", "принтер", "Список принтеров. Настройка принтера и печать на принтере.", "Проверка орфографии слов."},
		{"ja", "印刷の設定", "印刷を設定します。印刷のプリンタを設定する。", "単語の校正を行います。"},
		{"zh", "打印设置", "打印机的打印设置。打印之前更改打印设置。", "检查单词的拼写。"},
		{"th", "การพิมพ์เอกสาร", "ตั้งค่าเครื่องพิมพ์ก่อนการพิมพ์เอกสาร แล้วเลือกหน้าที่ต้องการพิมพ์", "ตรวจตัวสะกดของคำในประโยค"},
	} {
		top := &topic.Topic{Name: "t", Keywords: []string{c.keyword}}
		languages := top.Languages()
		if languages[0] != c.language {
			t.Errorf("%s is taken for a word of %v", c.keyword, languages)
		}
		a := parse.NewAnalyzer(languages...)
		j, err := judge.New("topic", top, judge.Options{Analyzer: a})
		if err != nil {
			t.Fatal(err)
		}
		wanted, _ := j.Judge(t.Context(), written(t, a, c.language, "?", c.wanted))
		other, _ := j.Judge(t.Context(), written(t, a, c.language, "?", c.other))
		if !wanted.Relevant || other.Relevant {
			t.Errorf("%s: relevance %.2f of a page on it, %.2f of another", c.keyword, wanted.Relevance, other.Relevance)
		}
	}
}

// Examples in two languages give a topic with words of each.
func TestExamplesInTwoLanguages(t *testing.T) {
	german := []string{
		"Die Honigbienen tanzen im Bienenstock.", "Eine Honigbiene zeigt durch den Tanz die Richtung des Futters.",
		"Der Imker beobachtet, wie Bienen im Stock tanzen und einander die Futterquellen zeigen.",
	}
	english := []string{
		"The honey bees dance in the hive.", "A honey bee shows the direction of food by its dance.",
		"The beekeeper watches how bees dance in the hive and show each other the sources of food.",
	}
	a := parse.NewAnalyzer("de", "en")
	top := &topic.Topic{Name: "t"}
	for i := range 3 {
		top.Examples = append(top.Examples,
			written(t, a, "de", "Bienentanz", german[i:]...), written(t, a, "en", "The dance of bees", english[i:]...))
	}
	if got := fmt.Sprint(top.Languages()); got != "[de en]" {
		t.Errorf("the examples are taken to be in %s", got)
	}
	j, err := judge.New("topic", top, judge.Options{Analyzer: a})
	if err != nil {
		t.Fatal(err)
	}
	relevance := func(language string, sentences ...string) float64 {
		v, err := j.Judge(t.Context(), written(t, a, language, "?", sentences...))
		if err != nil {
			t.Fatal(err)
		}
		return v.Relevance
	}
	for _, c := range []struct{ language, wanted, other string }{
		{"de", "Tanzende Honigbienen im Bienenstock zeigen dem Imker die Futterquelle. " + german[2], "Der Drucker druckt die Seiten des Dokuments, und das Papier wird in den Schacht gelegt."},
		{"en", "Dancing honey bees in a hive show the beekeeper the source of food. " + english[2], "The printer prints the pages of the document, and the paper is put into the tray."},
	} {
		if wanted, other := relevance(c.language, c.wanted), relevance(c.language, c.other); wanted < 4*other {
			t.Errorf("%s: relevance %.3f of a page on it, %.3f of another", c.language, wanted, other)
		}
	}
}
