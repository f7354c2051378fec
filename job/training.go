package job

import (
	"maps"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
)

// TrainingPreset is what a paper prints of how the model of a scorer is trained.
type TrainingPreset struct {
	Scorer string
	Kind   model.Kind
	Values map[string]float64 // constants by their names; the milestones are in the paths
	print  *strategy.Print
}

// TrainingOf is the preset of that name; ok is false for other names, and for presets
// whose scorer needs no model.
func TrainingOf(name string) (p TrainingPreset, ok bool) {
	d, ok := score.Describe(name)
	kind := score.ModelOf(d)
	if !ok || d.Print == nil || kind == "" {
		return TrainingPreset{}, false
	}
	p = TrainingPreset{Scorer: d.Name, Kind: kind, Values: printed(d, strategy.OfTraining), print: d.Print}
	delete(p.Values, "milestones")
	return p, true
}

// Under are the constants of a training for which the caller gives some: those, and the
// printed ones. told are sentences on where that departs from the paper.
func (p TrainingPreset) Under(given map[string]float64) (values map[string]float64, told []string) {
	values = maps.Clone(p.Values)
	maps.Copy(values, given)
	return values, p.Departures(values)
}

// Departures tells in sentences where a training by values departs from the paper.
func (p TrainingPreset) Departures(values map[string]float64) []string {
	return p.print.Departures(func(v strategy.Printed) (string, bool) {
		x, ok := values[v.Name]
		return strategy.Printed{Value: x}.Text(), ok && v.Part == strategy.OfTraining
	})
}

// ApprenticeScorers are the scorers whose models are learnt from crawls that have ended.
func ApprenticeScorers() (names []string) {
	for _, d := range score.Descriptions() {
		if n, ok := d.Uses(score.InputModel, nil); ok && n.Kind == string(model.Apprentice) {
			names = append(names, d.Name)
		}
	}
	return names
}

// PrintedSettings is the scorer that a preset is of, with those of its settings that
// the paper prints. A scorer that is no preset is its own, and has none.
func PrintedSettings(scorer string) (base string, set map[string]float64) {
	d, _ := score.Describe(scorer)
	return d.Base(), printed(d, strategy.OfStrategy)
}

func printed(d score.Description, of strategy.Part) map[string]float64 {
	set := map[string]float64{}
	if d.Print != nil {
		for _, v := range d.Print.Values {
			if v.Part == of {
				set[v.Name] = v.Value
			}
		}
	}
	return set
}
