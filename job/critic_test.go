package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl that a critic judges reads pages as the critic was trained, whatever the language of
// its topic.
func TestCriticReadsAsTrained(t *testing.T) {
	parsed := func(p crawl.Parser, text string) *web.Page {
		page, err := ParseExample(p, collection.Example{URL: "https://bees.test/", MIME: "text/html; charset=utf-8", Body: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	bees := "<p>Пчёлы собирают нектар цветущих растений, медоносные пчёлы живут большими семьями в ульях."
	cars := "<p>Грузовые автомобили перевозят тяжёлые товары по дорогам, водители меняют изношенные колёса."
	p := parse.New(parse.Options{})
	name := critic(t, func(i int) judge.Sample {
		text, class := bees, "/Пчёлы"
		if i%2 == 1 {
			text, class = cars, "/Автомобили"
		}
		return judge.Sample{Class: class, Terms: parsed(p, text).Terms}
	})
	for _, languages := range [][]string{nil, {"ru"}} {
		j := &Job{Seeds: []string{"https://bees.test/"}, Topic: Topic{Keywords: []string{"Пчёлы"}, Language: languages}, Judge: Judge{Name: "critic", Critic: name, Focus: []string{"/Пчёлы"}, Anyway: true}}
		var notes []string
		m := &Maker{Job: j, Note: func(s string) { notes = append(notes, s) }}
		if err := m.MakeJudge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for text, least := range map[string]float64{bees: 0.9, cars: 0} {
			v, err := m.Judge.Judge(t.Context(), parsed(m.Parser, text))
			if err != nil {
				t.Fatal(err)
			}
			if v.Relevance < least || v.Relevance > least+0.1 {
				t.Errorf("languages %v: %q is judged %.2f, want %v to %v", languages, text, v.Relevance, least, least+0.1)
			}
		}
		told := slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "the language of the topic changes nothing") })
		if told != (languages != nil) || slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "--language") }) {
			t.Errorf("languages %v: told %q", languages, notes)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// critic is the file of a critic that was trained by forty samples.
func critic(t *testing.T, sample func(i int) judge.Sample) (name string) {
	t.Helper()
	trained, err := judge.TrainCritic(func(yield func(judge.Sample, error) bool) {
		for i := range 40 {
			s := sample(i)
			if s.Key = fmt.Sprint(i); !yield(s, nil) {
				return
			}
		}
	}, judge.Training{MinPages: 2})
	if err != nil {
		t.Fatal(err)
	}
	b, err := trained.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "my.critic")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
