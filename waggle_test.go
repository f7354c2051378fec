package waggle_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/waggle-crawler/waggle"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/judge/judgetest"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// The scorer made of a function holds to what every scorer does, whatever the
// function says.
func TestScorerFunc(t *testing.T) {
	for name, f := range map[string]func(*web.Page, web.Verdict, *web.Link) float64{
		"relevance": func(_ *web.Page, v web.Verdict, _ *web.Link) float64 { return v.Relevance },
		"no number": func(*web.Page, web.Verdict, *web.Link) float64 { return math.NaN() },
		"infinite":  func(*web.Page, web.Verdict, *web.Link) float64 { return math.Inf(-1) },
	} {
		d := waggle.ScorerFunc("mine", "", f)
		t.Run(name, func(t *testing.T) {
			scoretest.Run(t, func() scoretest.Scorer {
				s, err := d.New(score.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return s
			})
		})
	}
}

// A link is no seed, whatever a scorer says: where it moves to is none of the crawl's sites.
func TestScorerFuncOpensNoSite(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>Bees</title><p><a href="/go">the hive</a>`)
		case "/go":
			http.Redirect(w, r, other.URL+"/", http.StatusMovedPermanently)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	far := waggle.ScorerFunc("far", "", func(*web.Page, web.Verdict, *web.Link) float64 { return math.Inf(1) })
	var reasons []web.Reason
	c := &waggle.Crawler{Scorers: []score.Description{far}, Listen: func(e event.Event) {
		if f, ok := e.(event.Failed); ok {
			reasons = append(reasons, f.Reason)
		}
	}}
	j := &job.Job{Seeds: []string{site.URL + "/"}, Scorer: job.Scorer{Name: "far"}, Topic: job.Topic{Keywords: []string{"bees"}}}
	j.Scope.Reach, j.Fetch.AllowPrivate, j.Politeness.Delay = "host", true, new(job.Duration)
	if how, err := c.Begin(t.Context(), filepath.Join(t.TempDir(), "crawl"), j); err != nil || how != event.FrontierEmpty {
		t.Fatal(how, err)
	}
	if n := asked.Load(); n > 0 || len(reasons) != 1 {
		t.Errorf("the other site was asked %d times; what brought no page: %v", n, reasons)
	}
}

// The judge made of a function keeps to [0,1] and to its threshold, and sees the
// words of an anchor as those of a page.
func TestJudgeFunc(t *testing.T) {
	d := waggle.JudgeFunc("bees", "", 0.5, func(p *web.Page) float64 {
		sum := 0.
		for _, term := range p.Terms {
			if term.Text == "bee" {
				sum += float64(term.Body)
			}
		}
		return sum / 2
	})
	for _, c := range []struct {
		threshold, want float64
		text            string
	}{
		{0, 0.5, "a bee"}, {0.75, 1, "bees and bees, and a bee"}, {0, 0, "cars"},
	} {
		j, err := d.New(judge.Options{Threshold: c.threshold})
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Text(c.text); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
		v, err := j.Judge(t.Context(), &web.Page{Terms: []web.Term{{Text: "bee", Body: 1}}})
		if want := c.threshold == 0; err != nil || v.Relevance != 0.5 || v.Relevant != want {
			t.Errorf("%+v, %v; want relevant %v", v, err, want)
		}
	}
	for name, f := range map[string]func(*web.Page) float64{
		"terms":     func(p *web.Page) float64 { return float64(len(p.Terms)) / 10 },
		"no number": func(*web.Page) float64 { return math.NaN() },
		"below":     func(*web.Page) float64 { return math.Inf(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			judgetest.Run(t, func() judgetest.Judge {
				j, err := waggle.JudgeFunc("mine", "", 0.5, f).New(judge.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return j
			})
		})
	}
	none := waggle.JudgeFunc("none", "", 0, func(*web.Page) float64 { return 1 })
	if _, err := none.New(judge.Options{}); err == nil {
		t.Error("a threshold of 0 is accepted")
	}
}

// turns is a scorer from outside with a setting, a state and explanations: links
// of every other page, or of every so many, go first.
type turns struct {
	every, visits uint64
	changed       bool
}

var _ score.Explainer = (*turns)(nil)

func (s *turns) Extract(p *web.Page, _ web.Verdict) [][]byte { return make([][]byte, len(p.Links)) }

func (s *turns) Visit(_ *web.Candidate, _ *web.Page, _ web.Verdict) []byte {
	s.visits, s.changed = s.visits+1, true
	return []byte{byte(min(1, s.visits%s.every))}
}

func (s *turns) Score(c *web.Candidate) float64 {
	if len(c.Memory) == 1 && c.Memory[0] == 0 {
		return 1
	}
	return 0
}

func (s *turns) Stale() bool    { return false }
func (s *turns) Rescores() bool { return false }

func (s *turns) State() (state []byte, snapshot bool) {
	if !s.changed {
		return nil, false
	}
	s.changed = false
	return binary.BigEndian.AppendUint64([]byte("turns"), s.visits), true
}

func (s *turns) Restore(state []byte) error {
	switch {
	case len(state) == 0:
	case len(state) == 13 && string(state[:5]) == "turns":
		s.visits = binary.BigEndian.Uint64(state[5:])
	default:
		return errors.New("no state of turns")
	}
	return nil
}

func (s *turns) Recall(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }

func (s *turns) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []score.Reason {
	return []score.Reason{{Kind: score.ReasonPrior, Times: 1, Weight: s.Score(c)}}
}

// byTurns describes it.
func byTurns() score.Description {
	return score.Description{
		Name: "turns", Line: "links of every other page first",
		Settings: []score.Setting{{Name: "every", Default: 2, Min: 1, Max: 9, Line: "pages from one to the next"}},
		Make: func(o score.Options) (score.Scorer, error) {
			return &turns{every: uint64(o.Set["every"])}, nil
		},
	}
}

func TestOutsideScorer(t *testing.T) {
	scoretest.Run(t, func() scoretest.Scorer {
		s, err := byTurns().New(score.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// A scorer from outside has a name and settings in job files of its program, and
// its state survives: a crawl that is stopped after every page fetches what one
// that is never stopped does, in the same order.
func TestOutsideScorerInAJob(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(bees))
	defer site.Close()
	name := filepath.Join(t.TempDir(), "job.yaml")
	write := func(scorer string) {
		text := "seeds: [" + site.URL + "/]\ntopic: {keywords: [waggle dance]}\nscorer: " + scorer +
			"\nfetch: {workers: 1, allow-private: true}\npoliteness: {delay: 0s}\n"
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	c := &waggle.Crawler{Scorers: []score.Description{byTurns()}, Listen: func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			got = append(got, p.URL.RequestPath())
		}
	}}
	for scorer, want := range map[string]string{
		"{name: turns, set: {every: 10}}": `turns: every = 10 is outside `,
		"{name: turns, set: {evry: 1}}":   `turns has no setting "evry"`,
		"{name: others}":                  "no scorer is called \"others\"",
	} {
		write(scorer)
		if _, err := c.ReadJob(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "job.yaml:3: ") {
			t.Errorf("%s: %v, want the line and %s", scorer, err, want)
		}
	}
	write("{name: turns, set: {every: 3}}")
	if _, err := job.Read(name); err == nil || !strings.Contains(err.Error(), `no scorer is called "turns"`) {
		t.Errorf("a program without the scorer: %v", err)
	}
	j, err := c.ReadJob(name)
	if err != nil {
		t.Fatal(err)
	}
	if how, err := c.Begin(t.Context(), filepath.Join(t.TempDir(), "whole"), j); err != nil || how != event.FrontierEmpty {
		t.Fatal(how, err)
	}
	whole := got
	got = nil
	dir := filepath.Join(t.TempDir(), "parts")
	j.Budget.Pages = 1
	if how, err := c.Begin(t.Context(), dir, j); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	for pages := 2; pages <= len(whole); pages++ {
		if _, err := c.Resume(t.Context(), dir, func(j *job.Job) { j.Budget.Pages = pages }); err != nil {
			t.Fatal(err)
		}
	}
	if len(whole) != 4 || !slices.Equal(got, whole) {
		t.Errorf("in parts %q, whole %q", got, whole)
	}
	if _, err := (&waggle.Crawler{}).Resume(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), `no scorer is called "turns"`) {
		t.Errorf("resumed without the scorer: %v", err)
	}
}

// A crawl begins with what the command would begin with: the example pages where it has no
// seeds, and the words of its critic.
func TestBeginFillsIn(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(bees))
	defer site.Close()
	trained, err := judge.TrainCritic(func(yield func(judge.Sample, error) bool) {
		for i := range 40 {
			class := []string{"/Top/Bees", "/Top/Cars"}[i%2]
			if !yield(judge.Sample{Class: class, Key: fmt.Sprint(i), Terms: []web.Term{{Text: "page", Body: 1}, {Text: "word" + class, Body: 3}}}, nil) {
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
	critic := filepath.Join(t.TempDir(), "my.critic")
	if err := os.WriteFile(critic, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		job  job.Job
		want string // in the job of the crawl
	}{
		"examples": {job.Job{Topic: job.Topic{Examples: []string{site.URL + "/"}}}, site.URL + "/"},
		"critic":   {job.Job{Seeds: []string{site.URL + "/"}, Judge: job.Judge{Name: "critic", Critic: critic, Focus: []string{"/Top/Bees"}, Anyway: true}}, "Bees"},
	} {
		t.Run(name, func(t *testing.T) {
			given := c.job
			given.Fetch.AllowPrivate, given.Politeness.Delay, given.Budget.Pages = true, new(job.Duration), 1
			seeds, words := len(given.Seeds), len(given.Topic.Keywords)
			dir := filepath.Join(t.TempDir(), "crawl")
			if how, err := (&waggle.Crawler{}).Begin(t.Context(), dir, &given); err != nil || how != event.BudgetSpent {
				t.Fatal(how, err)
			}
			j, err := job.Read(filepath.Join(dir, "job.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if held := fmt.Sprint(j.Seeds, j.Topic.Keywords); !strings.Contains(held, c.want) {
				t.Errorf("it began with %s, want %s", held, c.want)
			}
			if len(given.Seeds) != seeds || len(given.Topic.Keywords) != words {
				t.Errorf("the job of the program is now %+v", given)
			}
		})
	}
}

// What cannot begin leaves nothing behind, and what has begun is not begun again.
func TestBeginErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	c := &waggle.Crawler{}
	var wrong *job.Error
	if _, err := c.Begin(t.Context(), dir, &job.Job{Seeds: []string{"https://bees.example/"}}); !errors.As(err, &wrong) {
		t.Errorf("without a contact: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 1 || len(left) == 1 && left[0].Name() != "lock" {
		t.Errorf("left behind: %v", left)
	}
	if _, err := c.Resume(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "holds no crawl to go on with") {
		t.Errorf("resumed from nothing: %v", err)
	}
	for _, name := range []string{"SHA256SUMS", "job.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Begin(t.Context(), dir, &job.Job{}); err == nil || !strings.Contains(err.Error(), "holds a crawl already") {
		t.Errorf("begun twice: %v", err)
	}
	twice := &waggle.Crawler{Scorers: []score.Description{byTurns(), byTurns()}}
	if _, err := twice.ParseLab("lab.yaml", nil); err == nil || !strings.Contains(err.Error(), "the name is taken") {
		t.Errorf("two scorers of a name: %v", err)
	}
}

// longPages describes a judge with a setting and a need.
func longPages() judge.Description {
	return judge.Description{
		Name: "long", Line: "long pages",
		Settings: []judge.Setting{{Name: "terms", Default: 100, Min: 1, Max: 1e6, Line: "terms of a page that is wanted in full"}},
		Needs:    []judge.Need{judge.NeedKeywords()},
		Make: func(o judge.Options) (judge.Judge, error) {
			return waggle.JudgeFunc("long", "", 0.5, func(p *web.Page) float64 { return float64(len(p.Terms)) / o.Set["terms"] }).Make(o)
		},
	}
}

// A judge from outside judges in a lab with settings of its own, beside itself with
// others, and is measured there as those of waggle are.
func TestOutsideJudgeInALab(t *testing.T) {
	dir := t.TempDir()
	record(filepath.Join(dir, "web"))
	c := &waggle.Crawler{Judges: []judge.Description{longPages()}}
	lines := func(judges string) []byte {
		return []byte("webs: [{path: web, budgets: [20]}]\nscorers: [breadth-first, best-first-both]\njudges: " + judges + "\n")
	}
	for judges, want := range map[string]string{
		"[{name: long, set: {terms: 0}}]":    "lab.yaml:3: long: terms = 0 is outside 1…1000000",
		"[{name: long, set: {words: 1}}]":    `lab.yaml:3: long has no setting "words"`,
		"[{name: long, set: {}, at: 1}]":     `a judge has no key "at"`,
		"[long, {name: long}]":               "the judge long is named twice",
		"[{name: long, as: topic}]":          "as: topic is the name of another judge",
		"[longer]":                           `there is no judge "longer" for a lab`,
		"[{name: truth, as: oracle}]":        "the judge truth has no other name in a lab",
		"[{name: topic, set: {terms: 100}}]": `topic has no setting "terms"`,
	} {
		if _, err := c.ParseLab(filepath.Join(dir, "lab.yaml"), lines(judges)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", judges, err, want)
		}
	}
	f, err := c.ParseLab(filepath.Join(dir, "lab.yaml"), lines("[topic, long, {name: long, as: longer, set: {terms: 100000}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := f.Run(t.Context(), filepath.Join(dir, "out"), lab.Options{}); err != nil || out.Failed > 0 || out.Cells != 6 {
		t.Fatal(out, err)
	}
	results, err := f.Report(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	accepted := map[string]int{}
	for _, j := range results.Judges {
		accepted[j.Judge] += j.Accepted
	}
	if accepted["topic"] == 0 || accepted["long"] == 0 || accepted["longer"] > 0 {
		t.Errorf("accepted %v", accepted)
	}
	// The kept lab file is the same lab.
	kept, err := os.ReadFile(filepath.Join(dir, "out", "lab.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if f, err = c.ParseLab(filepath.Join(dir, "out", "lab.yaml"), kept); err != nil {
		t.Fatal(err)
	}
	if out, err := f.Run(t.Context(), filepath.Join(dir, "out"), lab.Options{}); err != nil || out.Made > 0 {
		t.Error(out, err)
	}
}

// A judge from outside has settings and needs in job files of its program.
func TestOutsideJudgeInAJob(t *testing.T) {
	name := filepath.Join(t.TempDir(), "job.yaml")
	c := &waggle.Crawler{Judges: []judge.Description{longPages()}}
	for text, want := range map[string]string{
		"topic: {keywords: [bees]}\njudge: {name: long, set: {terms: 0}}": `job.yaml:3: long: terms = 0 is outside 1…1000000`,
		"topic: {keywords: [bees]}\njudge: {name: long, set: {words: 1}}": `job.yaml:3: long has no setting "words"`,
		"topic: {description: Bees}\njudge: {name: long}":                 "judge long: the topic has no keywords",
	} {
		if err := os.WriteFile(name, []byte("seeds: [http://127.0.0.1:1/]\n"+text+"\nfetch: {allow-private: true}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := c.ReadJob(name)
		if err == nil {
			_, err = c.Begin(t.Context(), filepath.Join(t.TempDir(), "crawl"), j)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A scorer from outside with an input that no other has: it needs a description, which
// is told before anything is fetched, and asks the judge of the program by an interface
// of its own.
func TestOutsideNeed(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(bees))
	defer site.Close()
	var told []string
	described := score.Description{
		Name: "described", Line: "links of pages that the description speaks of",
		Needs: []score.Need{{
			Input: "description", Path: "topic.description", Give: "it looks for the words of the description: give one",
			Given: func(o score.Options) bool { return o.Topic != nil && o.Topic.Description != "" },
		}},
		Make: func(o score.Options) (score.Scorer, error) {
			j, ok := o.Judge.(interface{ Threshold() float64 })
			if !ok {
				return nil, errors.New("no judge with a threshold")
			}
			told = append(told, fmt.Sprint(o.Topic.Description, " ", o.Stems("bees"), " ", j.Threshold()))
			return score.New("breadth-first", score.Options{})
		},
	}
	c := &waggle.Crawler{Scorers: []score.Description{described}}
	none := job.Duration(0)
	for description, want := range map[string]string{"": "topic.description: scorer described: it looks for the words of the description: give one", "Honey": "<nil>"} {
		_, err := c.Begin(t.Context(), filepath.Join(t.TempDir(), "crawl"), &job.Job{
			Seeds: []string{site.URL + "/"}, Topic: job.Topic{Keywords: []string{"bees"}, Description: description}, Scorer: job.Scorer{Name: "described"},
			Budget: job.Budget{Pages: 1}, Fetch: job.Fetch{Workers: 1, AllowPrivate: true}, Politeness: job.Politeness{Delay: &none},
		})
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%q: %s, want %s", description, got, want)
		}
	}
	if len(told) != 1 || told[0] != "Honey [bee] 0.3" {
		t.Errorf("told %q", told)
	}
}

// Options name no type that a program outside cannot name.
func TestOptionsAreNameable(t *testing.T) {
	var look func(in reflect.Type, at string)
	look = func(in reflect.Type, at string) {
		if strings.Contains(in.PkgPath(), "/internal/") && in != reflect.TypeFor[parse.Analyzer]() { // which has a name in parse
			t.Errorf("%s is a %s", at, in)
		}
		switch in.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(in.Elem(), at)
		case reflect.Func:
			for i := range in.NumIn() {
				look(in.In(i), at)
			}
			for i := range in.NumOut() {
				look(in.Out(i), at)
			}
		}
	}
	for _, options := range []reflect.Type{
		reflect.TypeFor[score.Options](), reflect.TypeFor[judge.Options](), reflect.TypeFor[parse.Options](), reflect.TypeFor[job.Maker](),
		reflect.TypeFor[crawl.Crawl](), reflect.TypeFor[fetch.Options](), reflect.TypeFor[fetch.GateOptions](), reflect.TypeFor[fetch.RobotsOptions](),
		reflect.TypeFor[waggle.Crawler](), reflect.TypeFor[lab.Options](),
	} {
		for _, f := range reflect.VisibleFields(options) {
			if f.IsExported() {
				look(f.Type, options.String()+"."+f.Name)
			}
		}
	}
}
