package lab

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/train"
)

// applyPreset puts the values of the paper into a scorer that is a preset, where the
// lab file gives none: those that are not defaults of its settings.
func (s *Scorer) applyPreset() {
	d := s.kind()
	if d.Print == nil {
		return
	}
	if v, ok := d.Print.Value(strategy.OfCrawl, strategy.Queue); ok && !s.limited {
		s.Queue = int(v.Value)
	}
	if v, ok := d.Print.Value(strategy.OfCrawl, strategy.Similarity); ok && s.Similarity == "" {
		s.Similarity = v.Word
	}
	if v, ok := d.Print.Value(strategy.OfLab, strategy.After); ok && s.After == "" {
		s.After = v.Word
	}
	if score.ModelOf(d) == "" {
		return
	}
	l := ModelTraining{}
	if s.Train != nil {
		l = *s.Train
	}
	l.Set = maps.Clone(l.Set)
	for _, v := range d.Print.Values {
		if _, given := l.value(v.Name); v.Part == strategy.OfTraining && !given {
			l.put(v.Name, v.Value)
		}
	}
	s.Train = &l
}

// checkZeros refuses a constant of training beside a preset that is written as it would
// be left out: it cannot take the place of the printed value.
func (s Scorer) checkZeros(at string, bad func(at, format string, args ...any)) {
	d := s.kind()
	if d.Print == nil {
		return
	}
	for _, key := range s.Train.zeros {
		if v, ok := d.Print.Value(strategy.OfTraining, key); ok && v.Value != 0 {
			bad(at, "%s: %s of 0 or false is no value, and the print has %s: give another one, or name the scorer %s, which %s is by its defaults", s.Name, key, v.Text(), d.Print.Of, s.Name)
		}
	}
}

// value is that of a constant of training, by the name that a lab file has for it; ok
// is false where the lesson leaves it to its default.
func (l *ModelTraining) value(name string) (v float64, ok bool) {
	switch name {
	case "states":
		return float64(l.States), l.States != 0
	case "sequences":
		return float64(l.Sequences), l.Sequences != 0
	case "variance":
		return l.Variance, l.Variance != 0
	case "iterations":
		return float64(l.Iterations), l.Iterations != 0
	case "wrong-turns":
		return float64(l.Wrong), l.Wrong != 0
	case "milestones":
		return 1, l.Milestones
	}
	v, ok = l.Set[name]
	return v, ok
}

// put sets a constant of training.
func (l *ModelTraining) put(name string, v float64) {
	switch name {
	case "states":
		l.States = int(v)
	case "sequences":
		l.Sequences = int(v)
	case "variance":
		l.Variance = v
	case "iterations":
		l.Iterations = int(v)
	case "wrong-turns":
		l.Wrong = int(v)
	case "milestones":
		l.Milestones = v >= 0.5
	default:
		if l.Set == nil {
			l.Set = map[string]float64{}
		}
		l.Set[name] = v
	}
}

// departures tell what of a preset the lab file gives otherwise than the paper.
func (s Scorer) departures() []string {
	number := func(v float64, ok bool) (string, bool) { return strategy.Printed{Value: v}.Text(), ok }
	return s.kind().Print.Departures(func(v strategy.Printed) (string, bool) {
		switch v.Part {
		case strategy.OfStrategy:
			x, ok := s.Set[v.Name]
			return number(x, ok)
		case strategy.OfTraining:
			if s.Train == nil {
				return "", false
			}
			return number(s.Train.value(v.Name))
		}
		switch v.Name {
		case strategy.Queue:
			return strconv.Itoa(s.Queue), true
		case strategy.Similarity:
			return s.Similarity, true
		case strategy.After:
			return s.After, true
		}
		return "", false
	})
}

// presetNote says of a preset which scorer it is, with which values, and what of it
// is not as printed; "" for other scorers.
func (s Scorer) presetNote() string {
	d := s.kind()
	if d.Print == nil {
		return ""
	}
	var values []string
	for _, v := range d.Print.Values {
		values = append(values, fmt.Sprintf("%s %s", v.Name, v.Text()))
	}
	is := s.label()
	if s.label() != s.Name {
		is += " is " + s.Name + ", which"
	}
	note := fmt.Sprintf("%s is %s as %s print it: %s.", is, d.Print.Of, d.Print.Paper, strings.Join(values, ", "))
	if out := s.departures(); len(out) > 0 {
		note += " But here " + strings.Join(out, "; ") + "."
	}
	return note
}

// renamed are names that scorers had in results, with those that they have now.
func renamed() map[string]string {
	return map[string]string{
		"crf-printed": "crf-bias-self now: it predicts the page that a link leads to (literal: 0), which the paper does not; what the paper prints is the preset lm10-crf",
	}
}

// listPresets writes presets with every value of their papers, for people.
func listPresets(w io.Writer, all []score.Description) {
	for _, d := range all {
		p := d.Print
		if p == nil {
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\n", d.Name, d.Line)
		fmt.Fprintf(w, "    paper:\t%s; with the defaults of waggle: %s\n", p.Paper, p.Mended)
		for _, v := range p.Values {
			fmt.Fprintf(w, "    %s: %s %s\tsection %s%s\n", v.Part, v.Name, v.Text(), v.Section, meaning(d, v))
		}
		for _, s := range p.Fixed {
			fmt.Fprintf(w, "    fixed:\t%s\n", s)
		}
		for _, s := range p.Open {
			fmt.Fprintf(w, "    open:\t%s\n", s)
		}
	}
}

// meaning is what a printed value of a constant means, and what it is by the defaults of
// the scorer to compare with.
func meaning(d score.Description, v strategy.Printed) string {
	of, ok := score.Describe(d.Print.Mended)
	if !ok {
		return ""
	}
	var line string
	var mended any
	switch v.Part {
	case strategy.OfStrategy:
		if _, ok := of.Setting(v.Name); !ok { // the scorer to compare with does without it
			of, _ = score.Describe(d.Base())
		}
		s, _ := compared(d, v.Name)
		line, mended = s.Line, s.Default
	case strategy.OfTraining:
		line, mended = lessonMeaning(score.ModelOf(d), v.Name)
	case strategy.OfCrawl:
		line, mended = "links that wait at most, of which the worst leave; 0 = no limit", 0.
		if v.Name == strategy.Similarity {
			line, mended = "what likeness to the topic is; judge = what the judge of the crawl says", "judge"
		}
	case strategy.OfLab:
		return "; the strategy whose crawl teaches this one"
	}
	if mended == any(v.Value) && v.Word == "" {
		return "; as in " + of.Name
	}
	return fmt.Sprintf("; %s has %v: %s", of.Name, mended, line)
}

// lessonMeaning is what a constant of training means, by the name that a lab file has for it,
// and its default.
func lessonMeaning(kind model.Kind, name string) (line string, value any) {
	switch name {
	case "states":
		return "states of hop distance", float64(train.Layers)
	case "sequences":
		return "sequences that teach", 10_000.
	case "variance":
		return "σ² of the prior", 10.
	case "iterations":
		return "iterations of training at most", "its own bound"
	case "wrong-turns":
		return "wrong turns that are shown besides the ways to the targets", 4.
	case "milestones":
		return "1 names pages on the way by the labels of the record", 0.
	}
	for _, f := range train.Fitters() {
		if f.Kind != kind {
			continue
		}
		for _, s := range f.Settings {
			if s.Name == name {
				return s.Line, s.Default
			}
		}
	}
	return "", nil
}
