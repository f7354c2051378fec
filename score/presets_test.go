package score_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/train"
)

// Each value of a preset is one that there is: a setting of its scorer, a constant of
// the training of its model, a value of a crawl. Each has the section that prints it.
func TestPresets(t *testing.T) {
	presets := 0
	for _, d := range score.Descriptions() {
		if d.Print == nil {
			continue
		}
		presets++
		name := d.Name
		if err := strategy.CheckOwn([]score.Description{d}, nil); err != nil {
			t.Error(err)
		}
		if _, ok := score.Describe(d.Print.Of); !ok {
			t.Errorf("%s is of no scorer: %s", name, d.Print.Of)
		}
		if m, ok := score.Describe(d.Print.Mended); !ok || m.Print != nil {
			t.Errorf("%s: the scorer to compare with is none with the defaults of waggle: %s", name, d.Print.Mended)
		}
		constants := []string{"states", "iterations", "variance", "sequences", "milestones"}
		for _, f := range train.Fitters() {
			if f.Kind == score.ModelOf(d) {
				for _, s := range f.Settings {
					constants = append(constants, s.Name)
				}
			}
		}
		seen := map[string]bool{}
		for _, v := range d.Print.Values {
			key := string(v.Part) + " " + v.Name
			if seen[key] || v.Section == "" {
				t.Errorf("%s: %s is there twice, or no section prints it", name, key)
			}
			seen[key] = true
			switch v.Part {
			case strategy.OfStrategy:
			case strategy.OfTraining:
				if !slices.Contains(constants, v.Name) {
					t.Errorf("%s: training has no constant %s", name, v.Name)
				}
			case strategy.OfCrawl, strategy.OfLab:
				if !slices.Contains([]string{strategy.Queue, strategy.Similarity, strategy.After}, v.Name) {
					t.Errorf("%s: no value %s", name, v.Name)
				}
			default:
				t.Errorf("%s: no part %s", name, v.Part)
			}
		}
	}
	if presets < 19 {
		t.Errorf("%d presets", presets)
	}
}

// A preset is the scorer that it is made of with the values of its paper: the same
// priorities, link by link.
func TestPresetIsItsScorer(t *testing.T) {
	p := parsed(t, `<p>sweet honey<p><a href=a>honey bees</a> steel <a href=b>more steel</a> and <a href=c>honey</a>`)
	for _, d := range score.Descriptions() {
		if d.Print == nil {
			continue
		}
		set := map[string]float64{}
		for _, v := range d.Print.Values {
			if v.Part == strategy.OfStrategy {
				set[v.Name] = v.Value
			}
		}
		own := map[string]float64{}
		if _, learns := d.Setting("online"); learns {
			set["online"], own["online"] = 1, 1 // or a model of an earlier crawl is needed
		}
		scores := func(name string, set map[string]float64) (out []float64) {
			s := newScorer(t, name, score.Options{Set: maps.Clone(set)})
			for _, c := range followed(s, p, 0.5) {
				out = append(out, s.Score(&c))
			}
			return out
		}
		if got, want := scores(d.Name, own), scores(d.Print.Of, set); !slices.Equal(got, want) || len(got) != 3 {
			t.Errorf("%s: %v, and %s with the same values %v", d.Name, got, d.Print.Of, want)
		}
	}
}

// What is given beside a preset is told with what the paper prints, and where.
func TestDepartures(t *testing.T) {
	d, _ := score.Describe("lm10-crf")
	given := map[string]string{"literal": "1", "epsilon": "0.01", "queue": "1000000"}
	got := d.Print.Departures(func(v strategy.Printed) (string, bool) {
		text, ok := given[v.Name]
		return text, ok
	})
	want := "epsilon is 0.01, where the print has 0.001 (3.3.2); queue is 1000000, where the print has 500 (7)"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	var none *strategy.Print
	if none.Departures(func(strategy.Printed) (string, bool) { return "0", true }) != nil {
		t.Error("what is no preset departs from a print")
	}
}

// Whoever runs a preset without its model is told the command that makes one with the constants
// of the print.
func TestPresetNamesItsTraining(t *testing.T) {
	for name, command := range map[string]string{
		"lm10-crf": "`waggle train model --kind lm10-crf`", "htt14-hmm2": "`waggle train model --kind htt14-hmm2`",
		"vs05-pathlearner": "`waggle train model --kind vs05-pathlearner`", "crf": "`waggle train model --kind crf`",
	} {
		_, err := score.New(name, score.Options{Set: map[string]float64{}})
		if err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("%s without a model: %v\nwant %s", name, err, command)
		}
	}
	d, _ := score.Describe("cps02-apprentice")
	at := slices.IndexFunc(d.Needs, func(n strategy.Need[score.Options]) bool { return n.Kind == "apprentice" })
	if at < 0 || !strings.Contains(d.Needs[at].Give, "`waggle train apprentice --scorer cps02-apprentice`") {
		t.Errorf("cps02-apprentice: %+v", d.Needs)
	}
}
