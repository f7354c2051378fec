package lab

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Judge is a judge of a lab: a judge's name, or a mapping with settings.
type Judge struct {
	Name string             `yaml:"name"`
	As   string             `yaml:"as,omitempty"`  // what results call it; default Name
	Set  map[string]float64 `yaml:"set,omitempty"` // constants by name; those left out have their defaults
}

// UnmarshalYAML reads a judge given by its name alone, or in full.
func (j *Judge) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		j.Name = n.Value
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains([]string{"name", "as", "set"}, k.Value) {
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a judge has no key %q%s", k.Line, k.Value, setHint(k.Value, n.Content[i+1].Value))}}
		}
	}
	type plain Judge
	return n.Decode((*plain)(j))
}

// MarshalYAML writes a judge as it is read: by its name alone where that says all.
func (j Judge) MarshalYAML() (any, error) {
	if j.As == "" && len(j.Set) == 0 {
		return j.Name, nil
	}
	type plain Judge
	return plain(j), nil
}

// label is what results call the judge.
func (j Judge) label() string { return cmp.Or(j.As, j.Name) }

// judgeLabels are what results call the judges of the lab.
func (f *File) judgeLabels() (labels []string) {
	for _, j := range f.Judges {
		labels = append(labels, j.label())
	}
	return labels
}

// configured is what the figures of all judges on a topic depend on, besides what a cell
// does: the number of repeats, and the judges that are not measured in every lab as they are here.
func (f *File) configured() []any {
	out := []any{f.Repeats}
	for _, j := range f.Judges {
		if len(j.Set) > 0 || j.label() != j.Name || isCritic(j.Name) {
			out = append(out, j)
		}
	}
	return out
}

// judgeOf is the judge that results call so: one of the lab, or else the judge of that
// name.
func (f *File) judgeOf(label string) Judge {
	if i := slices.Index(f.judgeLabels(), label); i >= 0 {
		return f.Judges[i]
	}
	return Judge{Name: label}
}

// checkJudges finds what is wrong with the judges of the lab.
func (f *File) checkJudges(bad func(at, format string, args ...any)) {
	known := func(name string) bool {
		return slices.ContainsFunc(f.judgeLines(), func(l judge.Line) bool { return l.Name == name })
	}
	for i, j := range f.Judges {
		at := f.at("judges", strconv.Itoa(i))
		switch {
		case !known(j.Name):
			bad(at, "there is no judge %q for a lab%s; waggle lab list names them", j.Name, spelling.Hint(j.Name, f.own.JudgeNames()))
			continue
		case slices.Contains(f.judgeLabels()[:i], j.label()):
			bad(at, "the judge %s is named twice", j.label())
		case j.label() != j.Name && known(j.label()):
			bad(at, "as: %s is the name of another judge: choose another", j.As)
		case (isCritic(j.Name) || j.Name == report.TruthJudge) && j.label() != j.Name:
			bad(at, "the judge %s has no other name in a lab: leave out as:", j.Name)
		}
		d, _ := f.own.Judge(j.Name)
		for _, key := range slices.Sorted(maps.Keys(j.Set)) {
			at, v := f.at("judges", strconv.Itoa(i), "set", key), j.Set[key]
			if x, ok := d.Setting(key); !ok {
				bad(at, "%s has no setting %q%s; waggle lab list names them", j.Name, key, setting.Near(d.Settings, key))
			} else if wrong := x.Wrong(v); wrong != "" {
				bad(at, "%s: %s = %v %s", j.Name, key, v, wrong)
			}
		}
	}
}

// judge makes the judge that results call so, and tells how long its training took. That named truth
// never errs: it shows what a scorer could do then, and is no result.
func (g *group) judge(t *topic.Topic, name string) (judge.Judge, time.Duration, error) {
	if isCritic(name) {
		return g.newCritic(name)
	}
	if name != report.TruthJudge {
		spec := g.judgeOf(name)
		d, _ := g.own.Judge(spec.Name) // check made sure that there is one
		j, err := d.New(judge.Options{Topic: t, Set: spec.Set, Analyzer: g.w.words})
		return j, 0, err
	}
	words, err := judge.New("topic", t, judge.Options{Analyzer: g.w.words})
	if err != nil {
		return nil, 0, err
	}
	return &oracleJudge{words, g.truth().Relevant}, 0, nil
}

// oracleJudge knows the truth, and a copy of a relevant page as well.
type oracleJudge struct {
	words    judge.Judge // for anchors
	relevant eval.Set
}

func (j *oracleJudge) Text(s string) float64 { return j.words.Text(s) }
func (j *oracleJudge) Close() error          { return j.words.Close() }

func (j *oracleJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	if j.relevant.Has(p.URL, hex.EncodeToString(p.Digest[:])) {
		return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
	}
	return web.Verdict{}, nil
}

func (j *oracleJudge) Name() string       { return report.TruthJudge }
func (j *oracleJudge) Threshold() float64 { return 1 }
