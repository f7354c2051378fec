package lab

import (
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/train"
)

// constants lists every constant that was in force, with its default: of a preset that of
// the scorer which `waggle lab list` compares it with. The constants of training are those that
// the kind of model has.
func (f *File) constants() (out []report.Constant) {
	for _, s := range f.Scorers {
		add := func(name string, value, of any, line string) {
			out = append(out, report.Constant{Scorer: s.label(), Name: name, Value: fmt.Sprint(value), Default: fmt.Sprint(of), Line: line})
		}
		for _, x := range s.kind().Settings {
			v, ok := s.Set[x.Name]
			if !ok {
				v = x.Default
			}
			of, ok := compared(s.kind(), x.Name, s.own...)
			if !ok { // a program's own preset of a scorer that is not known
				of = x
			}
			add(x.Name, v, of.Default, x.Line)
		}
		if p := s.kind().Print; s.Queue > 0 || has(p, strategy.Queue) {
			add(strategy.Queue, s.Queue, 0, "links that wait at most, of which the worst leave; 0 = no limit")
		}
		if p := s.kind().Print; s.Similarity != "" && s.Similarity != "judge" || has(p, strategy.Similarity) {
			add(strategy.Similarity, s.Similarity, "judge", "what likeness to the topic is; judge = what the judge of the crawl says")
		}
		kind := score.ModelOf(s.kind())
		l := ModelTraining{}
		if s.Train != nil {
			l = *s.Train
		}
		for _, name := range taughtBy(kind) {
			line, of := lessonMeaning(kind, name)
			value := of
			if v, ok := l.value(name); ok {
				value = v
			}
			if name == "features" {
				value, of, line = orElse(l.Features, feature.All), feature.All, "what is observed of pages and links: all, words, similarity"
			}
			add("train: "+name, value, of, line)
		}
	}
	return out
}

// has tells whether a print has a value of the crawl.
func has(p *strategy.Print, name string) bool {
	_, ok := p.Value(strategy.OfCrawl, name)
	return ok
}

func orElse[T comparable](v, other T) T {
	var none T
	if v == none {
		return other
	}
	return v
}

// compared is the setting of the scorer that a preset is compared with: that of its Mended, or
// of the scorer that it is, where Mended does without; of any other scorer its own.
func compared(d score.Description, name string, own ...score.Description) (score.Setting, bool) {
	if d.Print != nil {
		if of, ok := score.Describe(d.Print.Mended, own...); ok {
			if x, ok := of.Setting(name); ok {
				return x, true
			}
		}
	}
	of, ok := score.Describe(d.Base(), own...)
	if !ok {
		return score.Setting{}, false
	}
	return of.Setting(name)
}

// taughtBy names the constants of the training of a kind of model, as a lab file does.
func taughtBy(kind model.Kind) (names []string) {
	i := slices.IndexFunc(train.Fitters(), func(f train.Fitter) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	f := train.Fitters()[i]
	chain := kind == model.CRF || kind == model.MEMM
	for _, x := range []struct {
		name string
		has  bool
	}{
		{"states", !f.Stateless && !f.Paths},
		{"features", chain},
		{"sequences", !f.Pages && !f.Paths},
		{"variance", chain || f.Paths},
		{"iterations", chain || f.Paths || kind == model.HMM2},
		{"wrong-turns", f.Paths},
		{"milestones", f.Paths},
	} {
		if x.has {
			names = append(names, x.name)
		}
	}
	for _, s := range f.Settings {
		names = append(names, s.Name)
	}
	return names
}
