package lab

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// presets reads a lab file with these scorers beside best-first-page.
func presets(t *testing.T, scorers string) *File {
	t.Helper()
	f, err := decode("lab.yaml", []byte("webs: [{path: w, train: {folds: sites}}]\nbaseline: best-first-page\nscorers: [best-first-page, "+scorers+"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One word stands for settings, queue, similarity, training and the crawl to build on.
func TestPresetInLab(t *testing.T) {
	f := presets(t, "lm10-crf, lm10-bfs, cps02-apprentice, vs05-pathlearner")
	crf, bfs, links, paths := f.Scorers[1], f.Scorers[2], f.Scorers[3], f.Scorers[4]
	if crf.Set["literal"] != 1 || crf.Set["shortest"] != 1 || crf.Queue != 500 || crf.Train.States != 5 || crf.Train.Set["self"] != 1 || crf.Train.Set["any-address"] != 1 {
		t.Errorf("lm10-crf is %+v, taught by %+v", crf, crf.Train)
	}
	if bfs.Similarity != "tf-max" || bfs.Queue != 500 || bfs.Train != nil {
		t.Errorf("lm10-bfs is %+v", bfs)
	}
	if links.After != "best-first-page" || links.Set["online"] != 0 || links.Set["link-words"] != 0 {
		t.Errorf("cps02-apprentice is %+v", links)
	}
	if paths.Set["join"] != 1 || !paths.Train.Milestones || paths.Train.Set["page-tokens"] != 100 {
		t.Errorf("vs05-pathlearner is %+v, taught by %+v", paths, paths.Train)
	}
	for _, s := range f.Scorers {
		if d := s.departures(); len(d) > 0 {
			t.Errorf("%s departs from its print: %v", s.Name, d)
		}
	}
	if _, err := decode("lab.yaml", []byte("webs: [{path: w}]\nscorers: [breadth-first, cps02-apprentice]\n")); err == nil || !strings.Contains(err.Error(), `cps02-apprentice builds on the crawl of "best-first-page", which is not among the scorers: add it`) {
		t.Errorf("without the crawl that teaches: %v", err)
	}
}

// A name that was misleading is refused with the one of today, and with what it is not.
func TestRenamedScorer(t *testing.T) {
	for _, scorer := range []string{"crf-printed", "{name: crf, as: crf-printed, set: {bias: 1}}"} {
		_, err := decode("lab.yaml", []byte("webs: [{path: w, train: {folds: sites}}]\nscorers:\n  - breadth-first\n  - "+scorer+"\n"))
		if err == nil || !strings.Contains(err.Error(), "lab.yaml:4: crf-printed is called crf-bias-self now: ") || !strings.Contains(err.Error(), "the preset lm10-crf") {
			t.Errorf("%s: %v", scorer, err)
		}
	}
}

// What is given beside a preset takes the place of the printed value, and the report
// tells of it.
func TestPresetOverridden(t *testing.T) {
	f := presets(t, "lm10-bfs, {name: lm10-crf, as: mine, queue: 9000, set: {epsilon: 0.01}, train: {states: 4, set: {self: 0}}}")
	s := f.Scorers[2]
	if s.Queue != 9000 || s.Train.States != 4 || s.Train.Set["self"] != 0 || s.Train.Set["any-address"] != 1 {
		t.Errorf("it is %+v, taught by %+v", s, s.Train)
	}
	rules := f.rules()
	for _, want := range []string{
		"lm10-bfs is best-first-page as Liu & Milios 2010 print it: similarity tf-max, queue 500.",
		"mine is lm10-crf, which is crf as Liu & Milios 2010 print it: viterbi 0, literal 1, shortest 1, observe 0, epsilon 0.001, queue 500, states 5, iterations 100, self 1, any-address 1." +
			" But here epsilon is 0.01, where the print has 0.001 (3.3.2); queue is 9000, where the print has 500 (7); states is 4, where the print has 5 (3.1); self is 0, where the print has 1 (3.2).",
	} {
		if !slices.Contains(rules, want) {
			t.Errorf("no rule %q in\n%s", want, strings.Join(rules, "\n"))
		}
	}
	if s := presets(t, "{name: lm10-crf, queue: 0}").Scorers[1]; s.Queue != 0 || len(s.departures()) != 1 {
		t.Errorf("without a limit of the queue: %d, departures %q", s.Queue, s.departures())
	}
	for _, scorer := range []string{"{name: vs05-pathlearner, train: {milestones: false}}", "{name: lm10-crf, train: {states: 0}}"} {
		if _, err := decode("lab.yaml", []byte("webs: [{path: w, train: {folds: sites}}]\nbaseline: best-first-page\nscorers: [best-first-page, "+scorer+"]\n")); err == nil || !strings.Contains(err.Error(), "of 0 or false is no value, and the print has") {
			t.Errorf("%s: %v", scorer, err)
		}
	}
}

// The table of constants has those of the training and of the crawl too, and the defaults of the
// scorer that the list compares a preset with.
func TestConstantsOfPresets(t *testing.T) {
	f := presets(t, "{name: lm10-crf, as: mine, set: {epsilon: 0.01}, queue: 9000, train: {states: 4}}, cps02-apprentice, lm10-bfs, htt14-hmm2, vs05-pathlearner, memm")
	got := map[string]string{}
	for _, c := range f.constants() {
		if c.Line == "" {
			t.Errorf("%s of %s has no meaning", c.Name, c.Scorer)
		}
		got[c.Scorer+" "+c.Name] = c.Value + ", by default " + c.Default
	}
	for name, want := range map[string]string{
		"mine literal":                        "1, by default 0",
		"mine epsilon":                        "0.01, by default 0.001",
		"mine queue":                          "9000, by default 0",
		"mine train: states":                  "4, by default 5",
		"mine train: sequences":               "10000, by default 10000",
		"mine train: variance":                "10, by default 10",
		"mine train: features":                "all, by default all",
		"mine train: iterations":              "100, by default its own bound",
		"mine train: self":                    "1, by default 0",
		"mine train: any-address":             "1, by default 0",
		"cps02-apprentice words":              "0, by default 10",
		"cps02-apprentice inherit":            "0, by default 1",
		"lm10-bfs similarity":                 "tf-max, by default judge",
		"lm10-bfs queue":                      "500, by default 0",
		"htt14-hmm2 train: order":             "2, by default 2",
		"htt14-hmm2 train: start":             "1, by default 0",
		"vs05-pathlearner train: page-tokens": "100, by default 10",
		"vs05-pathlearner train: dual":        "1, by default 1",
		"vs05-pathlearner train: milestones":  "1, by default 0",
		"vs05-pathlearner train: wrong-turns": "4, by default 4",
		"memm train: self":                    "0, by default 0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"memm queue", "memm similarity", "cps02-apprentice train: states", "vs05-pathlearner train: states", "htt14-hmm2 train: variance"} {
		if v, there := got[name]; there {
			t.Errorf("%s is %s", name, v)
		}
	}
}

// The list shows each preset in full: value, section, the scorer to compare with.
func TestListPresets(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b); err != nil {
		t.Fatal(err)
	}
	list := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"Presets: scorers as papers print them",
		"lm10-crf a conditional random field over hop distances, marginal inference paper: Liu & Milios 2010; with the defaults of waggle: crf",
		"set: literal 1 section 3.3.1, figure 9; crf has 0: 1 ranks a link by the belief over its page",
		"train: self 1 section 3.2; crf has 0: 1 compares targets with themselves too",
		"train: states 5 section 3.1; as in crf",
		"crawl: queue 500 section 7; crf has 0: links that wait at most",
		"crawl: similarity tf-max section 6; best-first-page has judge: what likeness",
		"set: start 5200 section 3.7; apprentice-tempered has 50: pages before it is trained first",
		"set: join 1 section 3.3; pathlearner has 0: worth of a page",
		"train: tagged 0 section 4.2; pathlearner has 1: 1 tells words of anchors",
		"train: meta 1 section 4.2; pathlearner has 0: 1 reads the meta description",
		"train: baum-welch 100 section 2.2; hmm2 has 5: iterations of Baum–Welch",
		"fixed: Sequences of 2 to 10 pages (section 3.1)",
		"lab: after best-first-page section 3.5; the strategy whose crawl teaches this one",
		"open: The variance of the prior is not printed.",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not have %q", want)
		}
	}
	if n := strings.Count(list, " lm10-crf "); n != 1 {
		t.Errorf("lm10-crf is listed %d times", n)
	}
}

// A lab with presets runs: each is trained as its paper prints it, and the kept lab
// file says so when it is read again.
func TestPresetsRun(t *testing.T) {
	site := small(t)
	f, err := decode("lab.yaml", []byte("webs: [{path: "+site+", topics: [cars], budgets: [20]}]\nbaseline: best-first-page\njudges: [critic-printed]\ncritic: {examples: 4, background: 10}\nscorers: [best-first-page, cps02-apprentice, cps02-apprentice-online, lm10-bfs, bpm09-best-first-both]\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		if c.Error != "" {
			t.Errorf("%s: %s", c.Key.Scorer, c.Error)
		}
	}
	if len(r.Cells) != 5 || !slices.ContainsFunc(r.Rules, func(s string) bool {
		return strings.HasPrefix(s, "cps02-apprentice is apprentice as Chakrabarti, Punera & Subramanyam 2002 print it: ") && !strings.Contains(s, "But here")
	}) {
		t.Errorf("%d cells; rules %v", len(r.Cells), r.Rules)
	}
}
