package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/web"
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

// TrainingPresets names the presets whose models are fitted to a graph or to paths.
func TrainingPresets() (names []string) {
	for _, d := range score.Descriptions() {
		if p, ok := TrainingOf(d.Name); ok && p.Kind != model.Apprentice && p.Kind != model.Waggle {
			names = append(names, d.Name)
		}
	}
	return names
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

// tellTaught notes where a crawl starts on hosts whose pages taught its model: what it finds there
// it was shown.
func (m *Maker) tellTaught() {
	if m.Model == nil {
		return
	}
	var hosts []string
	seeds := slices.Clone(m.Seeds)
	for _, s := range m.Job.Seeds {
		if u, err := m.Job.Canon().Parse(web.WithScheme(s)); err == nil { // makeSeeds tells what is none
			seeds = append(seeds, u)
		}
	}
	for _, u := range seeds {
		if h := string(u.Host()); slices.Contains(m.Model.Provenance.Sites, u.Host()) && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return
	}
	named := strings.Join(hosts[:min(3, len(hosts))], ", ")
	if more := len(hosts) - 3; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	m.Note(fmt.Sprintf("the crawl starts on %s, whose pages taught its model: how well it does there does not tell how it does elsewhere (waggle train inspect names all hosts that taught it)", named))
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
