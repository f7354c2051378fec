package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
)

// goOn makes a run of the crawl in dir by a job file, and tells what it said and
// which pages came.
func goOn(t *testing.T, dir, text string, begun bool) (said, got []string, err error) {
	t.Helper()
	return goOnWith(t, dir, text, begun, func(*Maker) {}, func(*crawl.Crawl) {})
}

// goOnOf is goOn for a person who may have the page before them.
func goOnOf(t *testing.T, dir, text string, onPage bool) (said, got []string, err error) {
	t.Helper()
	return goOnWith(t, dir, text, true, func(m *Maker) { m.OnPage = onPage }, func(*crawl.Crawl) {})
}

// goOnWith is goOn with a look at the maker, and at the crawl before it runs.
func goOnWith(t *testing.T, dir, text string, begun bool, set func(*Maker), look func(*crawl.Crawl)) (said, got []string, err error) {
	t.Helper()
	j, err := Parse("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, errLock := collection.At(dir).Lock()
		if errLock != nil {
			t.Fatal(errLock)
		}
		m := &Maker{Job: j, Writer: w, Fetcher: bees(), Note: func(s string) { said = append(said, s) }}
		if begun {
			m.Begun = &w.Collection
		}
		set(m)
		c, errMade := m.Crawl(t.Context())
		if err = errMade; err == nil {
			look(c)
			c.Listen = func(e event.Event) {
				if p, ok := e.(event.Fetched); ok {
					got = append(got, p.URL.RequestPath())
				}
			}
			_, err = c.Run(t.Context())
			err = errors.Join(err, w.SaveHarvest())
		}
		err = errors.Join(err, m.Close(), w.Close())
	})
	return said, got, err
}

const hives = `name: hives
contact: you@example.org
seeds: [https://bees.test/]
topic: {keywords: [honey bee]}
judge: {name: keyword, threshold: 0.1}
scorer: {name: breadth-first}
budget: {pages: 3}
fetch: {workers: 1}
`

// edit puts lines of a job file in the place of others.
func edit(t *testing.T, pairs ...string) string {
	t.Helper()
	text := hives
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no line %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// What a crawl that goes on cannot be told is refused by its name, with what it
// was and what to do, and its job file stays as its owner left it; what it can be
// told is said, done and logged.
func TestGoingOnWithAnotherJob(t *testing.T) {
	begin := func(t *testing.T) string {
		dir := t.TempDir()
		if _, got, err := goOn(t, dir, hives, false); err != nil || !slices.Equal(got, []string{"/", "/dance", "/cars"}) {
			t.Fatalf("the first run: %q, %v", got, err)
		}
		return dir
	}
	rest := []string{"/hive", "/forage", "/wheels"}
	more := []string{"{pages: 3}", "{pages: 9}"}
	for _, c := range []struct {
		name    string
		edit    []string
		refused string   // the beginning of the error
		said    string   // the end of the first note
		got     []string // pages of the second run
	}{
		{name: "nothing", said: "The budget of 3 pages is spent: --pages grants more, as the total over all runs."},
		{name: "pages", edit: more, said: "Changed: budget.pages from 3 to 9; it holds from then on", got: rest},
		{name: "too few pages", edit: []string{"{pages: 3}", "{pages: 2}"},
			refused: "budget.pages: the crawl has fetched 3 pages already, and its budget over all runs is 2: give more than it has fetched"},
		{name: "too little time", edit: []string{"{pages: 3}", "{pages: 9, time: 1s}"},
			refused: "budget.time: the crawl has run for 5s already, and 1s is its budget over all runs: give more"},
		{name: "name", edit: []string{"name: hives", "name: skeps"},
			refused: "name: name was hives and is skeps now, which cannot be when a crawl goes on: the files of the archive are named by it; begin a new crawl; or set it back"},
		{name: "keywords", edit: []string{"[honey bee]", "[honey bee, hive]"},
			refused: `topic.keywords: topic.keywords was ["honey bee"] and is ["honey bee","hive"] now, which cannot be when a crawl goes on: the pages were judged by it; waggle judge DIR judges them anew`},
		{name: "scorer", edit: []string{"breadth-first", "random"},
			refused: "scorer.name: scorer.name was breadth-first and is random now"},
		{name: "a scorer that needs a model", edit: []string{"breadth-first", "crf"},
			refused: "scorer.name: scorer.name was breadth-first and is crf now"},
		{name: "addresses", edit: []string{"name: hives", "name: hives\naddresses: {keep-tracking: true}"},
			refused: "addresses.keep-tracking: addresses.keep-tracking was nothing and is true now"},
		{name: "exclude", edit: append(slices.Clone(more), "name: hives", "name: hives\nscope: {exclude: [hive]}"),
			said: `Changed: scope.exclude from nothing to ["hive"]; waiting links outside leave; what the scope left out before enters where it is found again`,
			got:  []string{"/forage", "/wheels"}},
		{name: "depth", edit: append(slices.Clone(more), "name: hives", "name: hives\nscope: {max-depth: 1}"),
			said: "Changed: budget.pages from 3 to 9; it holds from then on", got: []string{"/hive"}},
		{name: "seeds", edit: append(slices.Clone(more), "[https://bees.test/]", "[https://bees.test/, https://bees.test/none, https://bees.test/wheels]"),
			got: []string{"/wheels", "/hive", "/forage"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := begin(t)
			text := edit(t, c.edit...)
			name := collection.At(dir).JobFile()
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			said, got, err := goOn(t, dir, text, true)
			if c.refused != "" {
				var wrong *Error
				if want := strings.ReplaceAll(c.refused, "DIR", dir); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v\n  want %s", err, want)
				}
				if kept, _ := os.ReadFile(name); string(kept) != text {
					t.Errorf("refused, and the job was written over:\n%s", kept)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.got) {
				t.Errorf("fetched %q, want %q", got, c.got)
			}
			if c.said != "" && !slices.Contains(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
			// It is not news a second time.
			said, got, err = goOn(t, dir, text, true)
			if err != nil || len(got) > 0 || slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "Changed: ") }) {
				t.Errorf("the third run: %q, %q, %v", said, got, err)
			}
		})
	}
}

// Another threshold makes the harvest of all runs anew.
func TestGoingOnWithAnotherThreshold(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := goOn(t, dir, hives, false); err != nil {
		t.Fatal(err)
	}
	col := collection.At(dir)
	relevance := map[string]float64{}
	for p, err := range col.Fetched() {
		if err != nil {
			t.Fatal(err)
		}
		relevance[p.URL.RequestPath()] = p.Relevance
	}
	between := (relevance["/"] + relevance["/dance"]) / 2
	better := "/"
	if relevance["/dance"] > between {
		better = "/dance"
	}
	if relevance["/"] == relevance["/dance"] || min(relevance["/"], relevance["/dance"]) < 0.1 {
		t.Fatalf("no threshold tells the pages apart: %v", relevance)
	}
	harvest := func() (out []string) {
		h, err := col.Harvest()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range h {
			out = append(out, p.URL.RequestPath())
		}
		slices.Sort(out)
		return out
	}
	if got := harvest(); !slices.Equal(got, []string{"/", "/dance"}) {
		t.Fatalf("harvest %q", got)
	}
	for _, c := range []struct {
		threshold float64
		want      []string
	}{{between, []string{better}}, {0.1, []string{"/", "/dance"}}} {
		if _, _, err := goOn(t, dir, edit(t, "0.1", fmt.Sprint(c.threshold)), true); err != nil {
			t.Fatal(err)
		}
		if got := harvest(); !slices.Equal(got, c.want) {
			t.Errorf("from %v on the harvest is %q, want %q", c.threshold, got, c.want)
		}
		b, err := os.ReadFile(col.HarvestFile())
		if err != nil || strings.Count(string(b), "\n") != 1+len(c.want) {
			t.Errorf("harvest.tsv: %v\n%s", err, b)
		}
		sum, err := col.Summary()
		if err != nil || sum.Relevant != len(c.want) || sum.Threshold != c.threshold {
			t.Errorf("%d relevant from %v, %v", sum.Relevant, sum.Threshold, err)
		}
	}
	if n := len(event.ReadHistory(col.EventLog()).Changes); n != 2 {
		t.Errorf("%d changes in the log", n)
	}
}

// The log of a crawl that an earlier waggle began knows no settings: what the job
// says when it goes on holds, and is known from then on.
func TestGoingOnWithoutSettings(t *testing.T) {
	dir := t.TempDir()
	forget := func(c *crawl.Crawl) { c.Settings = nil }
	if _, _, err := goOnWith(t, dir, hives, false, func(*Maker) {}, forget); err != nil {
		t.Fatal(err)
	}
	text := edit(t, "[honey bee]", "[honey bee, hive]", "{pages: 3}", "{pages: 4}")
	if said, got, err := goOn(t, dir, text, true); err != nil || len(said) > 0 || len(got) != 1 {
		t.Fatalf("%q, %q, %v", said, got, err)
	}
	if was := event.ReadHistory(collection.At(dir).EventLog()).Settings["topic.keywords"]; was != `["honey bee","hive"]` {
		t.Errorf("the log says %s", was)
	}
	if _, _, err := goOn(t, dir, hives, true); err == nil || !strings.Contains(err.Error(), `topic.keywords was ["honey bee","hive"]`) {
		t.Error(err)
	}
}

// The job file that a crawl began with is known as its own, though the log that tells of its settings was lost.
func TestOtherwiseWithoutLog(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := goOn(t, dir, hives, false); err != nil {
		t.Fatal(err)
	}
	col := collection.At(dir)
	for _, lost := range []bool{false, true} {
		if lost {
			if err := os.Truncate(col.EventLog(), 0); err != nil {
				t.Fatal(err)
			}
		}
		for text, want := range map[string]string{
			hives: "[] []",
			edit(t, "[honey bee]", "[wasp]", "{pages: 3}", "{pages: 4}"): "[topic.keywords] [budget.pages]",
		} {
			j, err := Parse("job.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			lasting, others := j.Otherwise(col)
			if got := fmt.Sprint(lasting, " ", others); got != want {
				t.Errorf("log lost: %v, other than the crawl has: %s, want %s", lost, got, want)
			}
		}
	}
}

// A run that is killed before its first turn leaves the changes to the next one.
func TestChangesOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := goOn(t, dir, hives, false); err != nil {
		t.Fatal(err)
	}
	text := edit(t, "{pages: 3}", "{pages: 9}", "name: hives", "name: hives\nscope: {exclude: [hive]}")
	dead := func(c *crawl.Crawl) { c.Log = deadLog{} }
	if _, _, err := goOnWith(t, dir, text, true, func(*Maker) {}, dead); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	b, err := collection.At(dir).Job() // as it is kept now
	if err != nil {
		t.Fatal(err)
	}
	said, got, err := goOn(t, dir, string(b), true)
	if err != nil || !slices.Equal(got, []string{"/forage", "/wheels"}) || len(said) != 2 {
		t.Errorf("%q, %q, %v", said, got, err)
	}
}

// deadLog fails.
type deadLog struct{}

var errDead = errors.New("no space left")

func (deadLog) Append(...event.Event) ([]byte, error) { return nil, errDead }
func (deadLog) Sync() error                           { return nil }

// The log holds what a job says, at most a KiB of each value.
func TestText(t *testing.T) {
	j := &Job{Seeds: make([]string, 1000), Scorer: Scorer{Set: map[string]float64{"b": 0.5, "a": 1e-9}}, Judge: Judge{Rules: []Rule{{Field: "url", Pattern: "<&>"}}}}
	j.setDefaults()
	for path, want := range map[string]string{
		"name": "crawl", "contact": "", "scope.max-depth": "50", "politeness.delay": "1s", "fetch.max-body": "10MiB",
		"fetch.types": `["text/html","application/xhtml+xml"]`, "scorer.set": `{"a":1e-9,"b":0.5}`, "fetch.allow-private": "",
		"judge.rules": `[{"field":"url","pattern":"<&>"}]`,
	} {
		s, _ := Lookup(path)
		if got := s.Text(j); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	s, _ := Lookup("seeds")
	long := s.Text(j)
	j.Seeds[999] = "x"
	if other := s.Text(j); len(long) > maxValue || len(other) > maxValue || other == long {
		t.Errorf("long values of %d and %d bytes, equal %v", len(long), len(other), other == long)
	}
}

// The guide's table of what may change is that of the settings.
func TestResumeTable(t *testing.T) {
	name := filepath.Join("..", "docs", "guide", "going-on.md")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := ResumeTable(); !strings.Contains(string(b), want) {
		t.Errorf("%s does not hold the table\n%s", name, want)
	}
}

// A job file names the files of its examples from its own folder, the log from where the crawl began.
func TestSameFiles(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`["ex.html","https://a.example/x"]`, `["../sub/ex.html","https://a.example/x"]`, true},
		{`["ex.html"]`, `["ex.html","more.html"]`, false},
		{`["ex.html"]`, `["other.html"]`, false},
		{"models/crf.model", "crf.model", true},
		{"models/crf.model", "models/memm.model", false},
	} {
		if got := sameFiles(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
