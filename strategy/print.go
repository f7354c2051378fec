package strategy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/waggle-crawler/waggle/setting"
)

// Print says that a strategy is a preset: another strategy with each constant and
// variant as a publication prints it. A preset is a Description like any other, with
// other defaults, so that one word in a job or lab file stands for all of them.
//
//	Description crf ─► Preset(lm10-crf, Print) ─► Description lm10-crf, a name like others
//
// A value given beside the preset takes the place of the printed one; Departures tells
// of it.
type Print struct {
	Paper  string // authors and year: "Liu & Milios 2010"
	Of     string // the strategy that has the defaults of waggle
	Mended string // the strategy with defaults of waggle to compare with; often Of
	Values []Printed
	// Fixed are sentences on constants that no preset sets, as they have the printed value
	// for every strategy unless a user gives another.
	Fixed []string
	// Open are sentences on what the print leaves open or does otherwise than can be
	// done here, and on what a user has to give beside the preset.
	Open []string
}

// Part is what a printed value belongs to.
type Part string

// The parts. Those of the training say nothing where a model is given that was
// trained before; those of the lab say nothing elsewhere.
const (
	OfStrategy Part = "set"   // a setting of the strategy
	OfTraining Part = "train" // a constant of the training of its model
	OfCrawl    Part = "crawl" // Queue or Similarity
	OfLab      Part = "lab"   // After
)

// Names of values of the parts OfCrawl and OfLab.
const (
	Queue      = "queue"      // links that wait at most
	Similarity = "similarity" // what likeness to the topic is, a word
	After      = "after"      // the strategy whose crawl teaches this one, a word
)

// Printed is a value that a publication gives.
type Printed struct {
	Part    Part
	Name    string
	Value   float64
	Word    string // instead of Value
	Section string // of the publication: "3.3.1, figure 9"
}

// Text is the value in words.
func (p Printed) Text() string {
	if p.Word != "" {
		return p.Word
	}
	return strconv.FormatFloat(p.Value, 'g', -1, 64)
}

// Preset is d as a publication prints it: a description of that name whose settings
// have the printed values as their defaults.
func (d Description[S, O]) Preset(name, line string, p Print) Description[S, O] {
	p.Of = d.Name
	d.Name, d.Line, d.Print = name, line, &p
	d.Settings = slices.Clone(d.Settings)
	for i, s := range d.Settings {
		if x, ok := p.Value(OfStrategy, s.Name); ok {
			d.Settings[i].Default = x.Value
		}
	}
	return d
}

// Base is the name of the strategy that d is a preset of, or else its own.
func (d Description[S, O]) Base() string {
	if d.Print != nil {
		return d.Print.Of
	}
	return d.Name
}

// Value is the printed value of that name; ok is false where the print has none, as
// for a nil Print.
func (p *Print) Value(part Part, name string) (v Printed, ok bool) {
	if p == nil {
		return v, false
	}
	i := slices.IndexFunc(p.Values, func(x Printed) bool { return x.Part == part && x.Name == name })
	if i < 0 {
		return v, false
	}
	return p.Values[i], true
}

// Departures are sentences on those values, looked up by part and name, that are not
// as printed. ok is false where nothing is known of a value.
func (p *Print) Departures(look func(Printed) (text string, ok bool)) (out []string) {
	if p == nil {
		return nil
	}
	for _, v := range p.Values {
		if text, ok := look(v); ok && text != v.Text() {
			out = append(out, fmt.Sprintf("%s is %s, where the print has %s (%s)", v.Name, text, v.Text(), v.Section))
		}
	}
	return out
}

// check finds what is wrong with a print beside these settings.
func (p *Print) check(settings []setting.Setting) error {
	if p == nil {
		return nil
	}
	for _, v := range p.Values {
		if v.Part != OfStrategy {
			continue
		}
		i := slices.IndexFunc(settings, func(s setting.Setting) bool { return s.Name == v.Name })
		if i < 0 || settings[i].Default != v.Value {
			return fmt.Errorf("its print has %s = %s and no setting has that default", v.Name, v.Text())
		}
	}
	return nil
}
