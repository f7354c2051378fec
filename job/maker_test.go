package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// pages is a web by address.
type pages map[string]string

func (p pages) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: time.Now(), Header: web.Header{"Content-Type": {"text/html"}},
		RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\n\r\n"), Body: []byte(p[u.String()]),
	}
	if len(r.Body) == 0 {
		r.Status, r.Body = 404, []byte("none")
	}
	r.Raw = r.Body
	return r, nil
}

func bees() pages {
	return pages{
		"https://bees.test/":       `<title>Bees</title><p>The honey bee. <a href="/dance">the waggle dance</a> <a href="/cars">cars</a> <a href="/hive">hive of the honey bee</a>`,
		"https://bees.test/dance":  `<title>Dance</title><p>The waggle dance of the honey bee. <a href="/forage">foraging bees</a>`,
		"https://bees.test/cars":   `<title>Cars</title><p>Four wheels. <a href="/wheels">wheels</a>`,
		"https://bees.test/hive":   `<title>Hive</title><p>A honey bee lives in a hive.`,
		"https://bees.test/forage": `<title>Forage</title><p>The honey bee forages.`,
		"https://bees.test/wheels": `<title>Wheels</title><p>Round.`,
	}
}

// run runs the crawl of a Maker to its end, in virtual time, and tells which
// pages came.
func run(t *testing.T, m *Maker) (got []string, c *crawl.Crawl) {
	t.Helper()
	c, err := m.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Listen = func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			got = append(got, p.URL.RequestPath())
		}
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return got, c
}

// A job and what fetches are a crawl; nothing is kept, and the caller's job
// stays as it was.
func TestCrawlInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &Job{Seeds: []string{"https://bees.test/?utm_source=x"}, Topic: Topic{Keywords: []string{"honey bee"}}, Budget: Budget{Pages: 4}, Fetch: Fetch{Workers: 1}}
		m := &Maker{Job: j, Fetcher: bees()}
		got, c := run(t, m)
		if want := []string{"/", "/hive", "/dance", "/forage"}; !slices.Equal(got, want) {
			t.Errorf("fetched %q, want %q", got, want)
		}
		if c.Name != "crawl" || c.JudgeName != "topic" || c.ScorerName != DefaultScorer || c.Threshold <= 0 || c.History != nil || c.Policy.MaxDepth != 50 || c.Policy.Delay != time.Second {
			t.Errorf("made %+v", c)
		}
		if j.Name != "" || j.Judge.Threshold != nil || j.Politeness.Delay != nil || m.Job.Name != "crawl" || *m.Job.Judge.Threshold != c.Threshold {
			t.Errorf("the job is %+v, and the Maker's %+v", j, m.Job)
		}
	})
}

// ownStrategy is a judge and a scorer of a program's own.
type ownStrategy struct{ crawl.Scorer }

func (ownStrategy) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1, Relevant: strings.Contains(p.Title, "Wheels")}, nil
}
func (ownStrategy) Name() string       { return "mine" }
func (ownStrategy) Threshold() float64 { return 0.75 }

// Parts that are given are taken, by what they say of themselves, and the job
// needs nothing that they replace: neither topic nor address to start from.
func TestGivenParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last, err := score.New("breadth-first", score.Options{})
		if err != nil {
			t.Fatal(err)
		}
		start, err := web.Parse("https://bees.test/cars")
		if err != nil {
			t.Fatal(err)
		}
		got, c := run(t, &Maker{Job: &Job{}, Fetcher: bees(), Judge: ownStrategy{}, Scorer: ownStrategy{last}, Seeds: []web.URL{start}})
		if want := []string{"/cars", "/wheels"}; !slices.Equal(got, want) || c.JudgeName != "mine" || c.ScorerName != "mine" || c.Threshold != 0.75 {
			t.Errorf("fetched %q, want %q; made %+v", got, want, c)
		}
	})
}

// A crawl in a folder keeps its job with every value in force, and its example
// pages; it goes on with them, although what they were made of is gone.
func TestCrawlInAFolder(t *testing.T) {
	dir := t.TempDir()
	example := filepath.Join(t.TempDir(), "bees.html")
	if err := os.WriteFile(example, []byte("<title>Bees</title>The honey bee and its waggle dance"), 0o644); err != nil {
		t.Fatal(err)
	}
	j := &Job{
		Name: "Bees & more", Seeds: []string{"https://bees.test/"}, Topic: Topic{Keywords: []string{"honey bee"}, Examples: []string{example, "https://bees.test/hive", "https://bees.test/none"}},
		Budget: Budget{Pages: 2}, Fetch: Fetch{Workers: 1},
	}
	var notes []string
	once := func(j *Job, begun bool) (got []string, c *crawl.Crawl) {
		synctest.Test(t, func(t *testing.T) {
			w, err := collection.At(dir).Lock()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			m := &Maker{Job: j, Writer: w, Fetcher: bees(), Note: func(s string) { notes = append(notes, s) }}
			if begun {
				m.Begun = &w.Collection
			}
			got, c = run(t, m)
		})
		return got, c
	}
	first, made := once(j, false)
	if want := []string{"/", "/hive"}; !slices.Equal(first, want) {
		t.Errorf("fetched %q first, want %q", first, want)
	}
	if want := []string{"example https://bees.test/hive", "example https://bees.test/none", "example https://bees.test/none is left out: status 404"}; !slices.Equal(notes, want) {
		t.Errorf("noted %q, want %q", notes, want)
	}
	kept, err := collection.At(dir).Job()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`# The job of this crawl with every value in force. Keep the last line: without it, the file counts as cut off.
name: Bees & more
seeds:
    - https://bees.test/
topic:
    keywords:
        - honey bee
    examples:
        - %s
        - https://bees.test/hive
        - https://bees.test/none
judge:
    name: topic
    threshold: %v
scorer:
    name: waggle
    similarity: judge
budget:
    pages: 2
    wait-for-better: 5s
scope:
    reach: any
    max-depth: 50
    max-host-queue: 10000
    max-queue: 1000000
politeness:
    delay: 1s
    max-crawl-delay: 1m0s
    address-lanes: 1
    give-up: 72h0m0s
fetch:
    workers: 1
    timeout: 10s
    max-body: 10MiB
    memory: 256MiB
    types:
        - text/html
        - application/xhtml+xml
    cookies: "off"
    render: auto
    browsers: 1
    browser-time: 20s
    browser-memory: 1024MiB
# End of the job.
`, example, made.Threshold)
	if string(kept) != want {
		t.Errorf("kept the job\n%s\nand not\n%s", kept, want)
	}
	if files, err := collection.At(dir).ArchiveFiles(); err != nil || len(files) != 1 || filepath.Base(files[0]) != "Bees---more-00000.warc.gz" {
		t.Errorf("archived in %q, %v", files, err)
	}
	if err := os.Remove(example); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("job.yaml", kept)
	if err != nil {
		t.Fatal(err)
	}
	again.Budget.Pages = 0
	notes = nil
	rest, resumed := once(again, true)
	if want := []string{"/dance", "/forage", "/cars", "/wheels"}; !slices.Equal(rest, want) || resumed.History == nil || !slices.Equal(notes, []string{"Changed: budget.pages from 2 to nothing; it holds from then on"}) {
		t.Errorf("fetched %q later, want %q; notes %q", rest, want, notes)
	}

	// What the crawl judged and ranked by can be made again for reading.
	m := &Maker{Job: again, Begun: &collection.Collection{}}
	c, err := collection.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Begun = &c
	if err := m.MakeScorer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.Topic.Examples) != 2 || m.Judge.(judge.Judge).Threshold() != made.Threshold || m.Fetcher != nil {
		t.Errorf("made again: %+v", m)
	}
	if err := errors.Join(m.Close(), os.Remove(c.ExampleFile())); err != nil {
		t.Fatal(err)
	}
	m = &Maker{Job: again, Begun: &c}
	if err := m.MakeJudge(t.Context()); err == nil || !strings.Contains(err.Error(), "examples.jsonl is damaged: it is missing; put the file back; or") {
		t.Errorf("without its examples: %v", err)
	}
}

// What is wrong with a job is told by the path of the setting before anything is
// written; what goes wrong otherwise is no *Error.
func TestNotMade(t *testing.T) {
	some := []string{"https://bees.test/"}
	words := Topic{Keywords: []string{"honey bee"}}
	for _, c := range []struct {
		m          Maker
		path, want string
	}{
		{Maker{Job: &Job{Seeds: some, Budget: Budget{Pages: -1}}}, "budget.pages", "pages -1 is outside"},
		{Maker{Job: &Job{Seeds: some}, Fetcher: bees()}, "judge", "give keywords, a description or example pages"},
		{Maker{Job: &Job{Topic: words}, Fetcher: bees()}, "seeds", "nowhere to start from"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Scorer: Scorer{Name: "crf"}}, Fetcher: bees()}, "scorer.model", "a model of kind crf is needed"},
		{Maker{Job: &Job{Seeds: some, Topic: Topic{Examples: []string{"https://bees.test/hive"}}, Scorer: Scorer{Name: "crf", Model: "none.model"}}, Fetcher: panicFetcher{}}, "scorer.model", "none.model"},
		{Maker{Job: &Job{Seeds: some, Topic: Topic{Examples: []string{"https://bees.test/hive"}}, Judge: Judge{Name: "critic", Critic: "none.critic", Focus: []string{"/a"}}}, Fetcher: panicFetcher{}}, "judge.critic", "none.critic"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Judge: Judge{Name: "command", Command: []string{"./none"}}}, Fetcher: panicFetcher{}}, "judge.command", "./none"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Scorer: Scorer{Name: "semantic-synonym", Thesaurus: "none.tsv"}}, Fetcher: panicFetcher{}}, "scorer.thesaurus", "none"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Scorer: Scorer{Name: "semantic-synonym", WordNet: "none"}}, Fetcher: panicFetcher{}}, "scorer.wordnet", "WordNet in none"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Scorer: Scorer{Name: "semantic-hypernym"}}, Fetcher: panicFetcher{}}, "scorer.thesaurus", "it needs a thesaurus: give the folder"},
		{Maker{Job: &Job{Seeds: some, Topic: Topic{Description: "Bees"}, Scorer: Scorer{Name: "infospiders-like"}}, Fetcher: panicFetcher{}}, "topic.keywords", "give keywords"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Scorer: Scorer{Name: "mine"}}, Fetcher: panicFetcher{}}, "scorer.name", "no scorer is called \"mine\""},
		{Maker{Job: &Job{Seeds: some, Topic: words}}, "contact", "the live web needs a contact"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Contact: "a@b.example", Fetch: Fetch{ThroughCA: "none.pem", Through: "http://127.0.0.1:1"}}}, "fetch.through-ca", "none.pem"},
		{Maker{Job: &Job{Seeds: some, Topic: words, Contact: "a@b.example", Fetch: Fetch{ThroughCA: "none.pem"}}}, "fetch.through-ca", "no proxy"},
		{Maker{Job: &Job{Seeds: some, Topic: Topic{Examples: []string{"https://bees.test/none"}}}, Fetcher: bees()}, "", "no example page could be had"},
		{Maker{Job: &Job{Seeds: some, Topic: Topic{Keywords: []string{"bee"}, Examples: []string{"https://bees.test/hive", "none.html"}}}, Fetcher: panicFetcher{}}, "topic.examples.1", "example none.html: open none.html"},
		{Maker{Job: &Job{Seeds: some, Topic: words}, Fetcher: bees(), Archive: lostArchive{}}, "", "give it, or them"},
	} {
		dir := t.TempDir()
		w, err := collection.At(dir).Lock()
		if err != nil {
			t.Fatal(err)
		}
		c.m.Writer = w
		_, err = c.m.Crawl(t.Context())
		var wrong *Error
		path := ""
		if errors.As(err, &wrong) {
			path = wrong.Path
		}
		if err == nil || path != c.path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %v; want %q, %s", path, err, c.path, c.want)
		}
		if w.Begun() {
			t.Errorf("%s: a job was kept", c.want)
		}
		if err := errors.Join(c.m.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	}
}

type lostArchive struct{ crawl.Archive }

// panicFetcher is a web that nothing may be requested from.
type panicFetcher struct{}

func (panicFetcher) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	panic("asked for " + u.String())
}

// A critic and a model are copied into the folder, and a crawl goes on by the
// copies.
func TestCopies(t *testing.T) {
	name := critic(t, func(i int) judge.Sample {
		word, class := "bee", "/bees"
		if i%2 == 1 {
			word, class = "wheel", "/cars"
		}
		return judge.Sample{Class: class, Terms: []web.Term{{Text: word, Body: int32(2 + i%5)}}}
	})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Seeds: []string{"https://bees.test/"}, Judge: Judge{Name: "critic", Critic: name, Focus: []string{"/bees"}, Anyway: true}}
	dir := t.TempDir()
	w, err := collection.At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := &Maker{Job: j, Writer: w, Fetcher: bees()}
	if _, err := m.Crawl(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), os.Remove(name)); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(w.CriticFile()); err != nil || !bytes.Equal(kept, b) {
		t.Errorf("the copy of the critic has %d bytes of %d, %v", len(kept), len(b), err)
	}
	m = &Maker{Job: j, Begun: &w.Collection}
	if err := m.MakeJudge(t.Context()); err != nil {
		t.Errorf("by the copy: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = &Maker{Job: j}
	if err := m.MakeJudge(t.Context()); err == nil {
		t.Error("made of a critic that is gone")
	}
}

// A crawl by a semantic scorer that was begun without a thesaurus, as earlier
// versions let it, goes on, and says what that means; none begins so.
func TestSemanticGoesOn(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	once := func(pages int, m *Maker) (got []string) {
		synctest.Test(t, func(t *testing.T) {
			w, err := collection.At(dir).Lock()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			m.Writer, m.Fetcher, m.Note = w, bees(), func(s string) { notes = append(notes, s) }
			m.Job = &Job{
				Seeds: []string{"https://bees.test/"}, Topic: Topic{Keywords: []string{"honey bee"}}, Scorer: Scorer{Name: "semantic-synonym"},
				Budget: Budget{Pages: pages}, Fetch: Fetch{Workers: 1},
			}
			if w.Begun() {
				m.Begun = &w.Collection
			}
			got, _ = run(t, m)
		})
		return got
	}
	first := once(2, &Maker{Thesaurus: noThesaurus{}})
	rest := once(0, &Maker{})
	if len(first) != 2 || len(rest) != 4 || !slices.ContainsFunc(notes, func(s string) bool {
		return strings.Contains(s, "goes on without a thesaurus, as the crawl began: only equal words are alike")
	}) {
		t.Errorf("fetched %q, then %q; notes %q", first, rest, notes)
	}
}

// Names of strategies in a job are those of waggle and those of the program, and
// of a strategy the settings are what its description says.
func TestOwnStrategies(t *testing.T) {
	own := Strategies{
		Scorers: []score.Description{{
			Name: "mine", Settings: []score.Setting{{Name: "size", Default: 1, Max: 2}},
			Make: func(score.Options) (score.Scorer, error) { return score.New("breadth-first", score.Options{}) },
		}},
		Judges: []judge.Description{{Name: "ours", Make: func(judge.Options) (judge.Judge, error) {
			return judge.New("keyword", &topic.Topic{Keywords: []string{"bees"}}, judge.Options{})
		}}},
	}
	for text, want := range map[string]string{
		"scorer: {name: mine, set: {size: 2}}\njudge: {name: ours}": "",
		"scorer: {name: mine, set: {size: 3}}":                      `job.yaml:1: mine: size = 3 is outside 0…2`,
		"scorer: {name: others}":                                    `no scorer is called "others"; there are: breadth-first, `,
		"judge: {name: theirs}":                                     `, ours`,
		"scorer: {name: mine, model: x.model}":                      "the scorer mine goes by no trained model",
	} {
		j, err := own.Parse("job.yaml", []byte(text+"\n"))
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", text, err)
		default:
			m := &Maker{Job: j, Own: own, Fetcher: bees()}
			if err := m.MakeScorer(t.Context()); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := (&Maker{Job: &Job{Scorer: Scorer{Name: "mine"}}}).MakeScorer(t.Context()); err == nil || !strings.Contains(err.Error(), `no scorer is called "mine"`) {
		t.Errorf("without the description: %v", err)
	}
	twice := Strategies{Judges: []judge.Description{own.Judges[0], own.Judges[0]}}
	if err := (&Maker{Job: &Job{}, Own: twice}).MakeScorer(t.Context()); err == nil || !strings.Contains(err.Error(), "the name is taken") {
		t.Errorf("two judges of a name: %v", err)
	}
}
