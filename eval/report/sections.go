package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// page is a report before it is written.
type page struct {
	Title    string
	Command  string
	Notes    []string
	Sections []section
}

// section is a part of a report: charts, then tables; more and Folded are
// those behind a heading that opens them.
type section struct {
	Title  string
	ID     string
	Badge  string // a label beside the title
	Notes  []string
	charts []Plot
	more   []Plot
	Tables []table
	Folded []table
}

// slug makes a name fit for a file and an anchor.
func slug(parts ...string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.Join(parts, "-")) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

func (b *builder) page() page {
	p := page{Title: b.Title, Command: b.Command, Notes: slices.Concat(b.warnings(), b.Notes, b.reach())}
	if p.Title == "" {
		p.Title = "Crawls compared"
	}
	p.Sections = append(p.Sections, b.webs())
	real := b.cells(func(c eval.Cell) bool { return !b.synthetic[c.Web] })
	count := map[string]bool{}
	for _, c := range real {
		count[c.Web] = true
	}
	if len(count) > 1 {
		p.Sections = append(p.Sections, b.group("All webs", allWebs, real, false)...)
	}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name })
		p.Sections = append(p.Sections, b.group(b.webName(w.Name), w.Name, cells, w.Synthetic)...)
	}
	for _, more := range []func() (section, bool){
		b.development, b.papers, b.judgeSection, b.costSection, b.diagnosis, b.failures, b.constants,
	} {
		if s, ok := more(); ok {
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, b.glossary())
	p.apart()
	return p
}

// apart gives every section an anchor and every chart a file of its own, in
// their order: other names may make the same slug, or none.
func (p page) apart() {
	own := func(taken map[string]bool, name string) string {
		name = cmp.Or(name, "web")
		free := name
		for n := 2; taken[free]; n++ {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		taken[free] = true
		return free
	}
	ids, files := map[string]bool{}, map[string]bool{}
	for i := range p.Sections {
		s := &p.Sections[i]
		s.ID = own(ids, s.ID)
		for _, list := range [][]Plot{s.charts, s.more} {
			for k := range list {
				list[k].Name = own(files, list[k].Name)
			}
		}
	}
}

// warnings are what a reader has to know before any figure.
func (b *builder) warnings() (out []string) {
	if b.Missing > 0 {
		out = append(out, fmt.Sprintf("Not finished: %d runs of %d are not there yet. What is shown can change, and means are over fewer topics.", b.Missing, b.Missing+len(b.Cells)))
	}
	names := func(of map[eval.TopicID]bool) string {
		var list []string
		for _, t := range b.Topics {
			if of[t.TopicID] {
				list = append(list, b.topicName(t.TopicID))
			}
		}
		return strings.Join(list, ", ")
	}
	if len(b.barren) > 0 {
		out = append(out, fmt.Sprintf("No relevant page that counts can be reached from the seeds of: %s. These topics are in no figure.", names(b.barren)))
	}
	if len(b.dev) > 0 {
		out = append(out, fmt.Sprintf("Topics for development, on which settings may have been chosen: %s. They have a section of their own and are in no other figure; all else is of the test topics.", names(b.dev)))
	}
	return out
}

// reach says what the figures leave open because the record ends somewhere.
func (b *builder) reach() []string {
	all := b.sound(func(eval.Cell) bool { return true })
	switch {
	case bounded(all):
		return []string{boundsNote}
	case len(all) > 0 && !charged(all):
		return []string{"How often a strategy would have gone on outside the record is not known, as such links were taken out before it could choose. The column “links outside” is their share of all links it found, which says more about the web than about the strategy, and marks no figure as weak. A lab with outside: fail or outside: bounds measures the share of its requests; above 5%, the recording has to be extended."}
	}
	return nil
}

func (b *builder) webs() section {
	s := section{Title: "Webs", ID: "webs"}
	t := table{Head: []string{"web", "pages", "hosts", "topics", "runs", "failed", "source"}}
	synthetic := false
	for _, w := range b.Webs {
		topics, runs, failed := map[eval.TopicID]bool{}, 0, 0
		for _, c := range b.Cells {
			if c.Web != w.Name {
				continue
			}
			topics[eval.TopicID{Web: c.Web, Topic: c.Topic, Seeds: c.Seeds}] = true
			runs++
			if c.Error != "" {
				failed++
			}
		}
		synthetic = synthetic || w.Synthetic
		t.Rows = append(t.Rows, []cell{{Text: b.webName(w.Name)}, {Text: plot.Number(float64(w.Pages), 0), Number: true},
			{Text: plot.Number(float64(w.Hosts), 0), Number: true}, {Text: fmt.Sprint(len(topics)), Number: true},
			{Text: fmt.Sprint(runs), Number: true}, {Text: fmt.Sprint(failed), Number: true}, {Text: w.Note}})
	}
	s.Tables = []table{t}
	if synthetic {
		s.Notes = append(s.Notes, "Synthetic webs are made up: they show that nothing broke, and support no claim about the web. They are left out of everything that spans several webs.")
	}
	return s
}

// group is what is said of a set of cells: a section for its figures, and one
// for its comparison with the baseline.
func (b *builder) group(title, group string, cells []eval.Cell, synthetic bool) []section {
	id := group
	if group == allWebs {
		id = "all"
	}
	if len(strategies(cells, false)) == 0 {
		return nil
	}
	badge := ""
	if synthetic {
		badge = "synthetic"
	}
	s := section{Title: title, ID: slug(id), Badge: badge}
	lead, none := b.leaders(cells, maxLines), func(strategy) bool { return false }
	curves := b.curves("Harvest: "+title, cells, lead, false, b.leaders(cells, maxBands))
	whole := complete(cells, false)
	curves.Note = fmt.Sprintf("Mean over topics. The bands, of the best and of %s, are 95%% bootstrap intervals over topics.", b.Baseline)
	if bounded(cells) {
		curves.Note += " Lower figures: nothing outside the record counts."
	}
	if slices.ContainsFunc(strategies(cells, false), func(s strategy) bool { return !whole(s) }) {
		curves.Note += " Strategies of which runs failed or are missing have no line."
	}
	if n := len(strategies(cells, false)); n > maxLines+1 {
		curves.Note = fmt.Sprintf("The best by AUC of %d strategies, and %s. %s", n, b.Baseline, curves.Note)
		all := b.curves("Harvest of all strategies: "+title, cells, whole, false, none)
		all.Note = "Mean over topics."
		all.Height = 520
		s.charts = append(s.charts, Plot{slug(id, "harvest"), curves.Draw()})
		s.more = append(s.more, Plot{slug(id, "harvest-all"), all.Draw()})
	} else {
		s.charts = append(s.charts, Plot{slug(id, "harvest"), curves.Draw()})
	}
	if bounded(cells) {
		s.charts = append(s.charts, Plot{slug(id, "bounds"), b.between("Between the bounds: "+title, cells, b.leaders(cells, maxBands)).Draw()})
	}
	budgets := slices.DeleteFunc(slices.Clone(b.Budgets), func(n int) bool { return group == allWebs && !several(cells, n) })
	for _, n := range budgets {
		if t := b.summary("At "+plot.Number(float64(n), 0)+" pages", cells, n, false, b.Headline); len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
		if group == allWebs {
			continue // each web has its topics
		}
		if t := b.perTopic(cells, n); len(t.Rows) > 0 {
			s.Folded = append(s.Folded, t)
		}
	}
	for _, n := range slices.Backward(budgets) { // the largest that was run
		t := b.summary("All other measures at "+plot.Number(float64(n), 0)+" pages", cells, n, false, b.others())
		if len(t.Rows) > 0 {
			s.Folded = append(s.Folded, t)
			break
		}
	}
	if multiples, ok := b.multiples("Topic by topic: "+title, cells, lead); ok && group != allWebs {
		s.charts = append(s.charts, Plot{slug(id, "topics"), multiples.Draw()})
	}
	out := []section{s}
	against := section{Title: title + ": against " + b.Baseline, ID: slug(id, "against"), Badge: badge, Notes: []string{comparisonNote}}
	for _, n := range slices.Backward(budgets) { // the largest first, and open
		for _, measure := range compared() {
			list := b.compare(group, cells, measure, n)
			if len(list) == 0 {
				continue
			}
			t := b.comparisonTable(cells, list, measure, n)
			if measure != "auc" {
				against.Folded = append(against.Folded, t)
				continue
			}
			charts, tables := &against.charts, &against.Tables
			if len(against.charts) > 0 {
				charts, tables = &against.more, &against.Folded
			}
			*tables = append(*tables, t)
			bars := plot.Bars{Title: fmt.Sprintf("AUC above that of %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: title + ": mean of the differences over topics; lines are 95% bootstrap intervals.", Decimals: 3}
			balance := plot.Balance{Title: fmt.Sprintf("Topics won against %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: title + ": by AUC. At the right: Holm-adjusted Wilcoxon p."}
			for _, c := range list {
				bars.Items = append(bars.Items, plot.Bar{Name: b.name(c.strategy), Value: c.Difference.Mean, Low: c.Difference.Low, High: c.Difference.High, Color: b.colors[c.scorer]})
				balance.Items = append(balance.Items, plot.Score{Name: b.name(c.strategy), Wins: c.Wins, Ties: c.Ties, Loses: c.Loses, Note: "p " + probability(c.holm)})
			}
			*charts = append(*charts, Plot{slug(id, "difference", fmt.Sprint(n)), bars.Draw()}, Plot{slug(id, "topics-won", fmt.Sprint(n)), balance.Draw()})
		}
	}
	if len(against.Tables) > 0 {
		out = append(out, against)
	}
	return out
}

// asThePapers are the measures of papers, beside H/U and H/G.
func asThePapers() []string {
	return []string{"precision-mesh", "sigma", "sigma-printed", "apr", "similar-pages", "judged-harvest", "judged-loss", "judged-loss-sum"}
}

// others are the measures that neither the main tables nor those of the papers
// show, after H/U and H/G.
func (b *builder) others() []string {
	out := []string{"of-bound", "of-greedy"}
	for _, m := range eval.Measures() {
		if !slices.Contains(b.Headline, m.Name) && !slices.Contains(asThePapers(), m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// several tells whether cells of several webs hold a budget: of one web alone,
// its own section tells.
func several(cells []eval.Cell, budget int) bool {
	first := ""
	for _, c := range cells {
		if math.IsNaN(c.Value("hits", budget)) {
			continue
		}
		if first == "" {
			first = c.Web
		}
		if c.Web != first {
			return true
		}
	}
	return false
}

// development holds the figures of the topics that settings were chosen on.
func (b *builder) development() (section, bool) {
	s := section{Title: "Topics for development", ID: "development", Badge: "not a test",
		Notes: []string{"Settings may have been chosen on these topics, so how well they fare here proves nothing."}}
	for _, w := range b.Webs {
		cells := b.sound(func(c eval.Cell) bool { return c.Web == w.Name && b.dev[id(c)] })
		for _, n := range b.Budgets {
			if t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, development", cells, n, false, b.Headline); len(t.Rows) > 0 {
				s.Tables = append(s.Tables, t)
			}
			if t := b.perTopic(cells, n); len(t.Rows) > 0 {
				t.Title = b.webName(w.Name) + ", development: " + strings.ToLower(t.Title[:1]) + t.Title[1:]
				s.Folded = append(s.Folded, t)
			}
		}
	}
	return s, len(s.Tables) > 0
}

// papers shows what the papers measured, which decides nothing here.
func (b *builder) papers() (section, bool) {
	s := section{Title: "As the papers measured", ID: "papers", Badge: "decoration", Notes: []string{
		"None of these knows the truth. A page counts by its cosine, of term frequencies, to the nearest example (items E1, E2, E3, B9), or by what the crawl's own judge said of it (A11): measures that favour a strategy which follows the same words, and a judge that is easily pleased. They are here so that a paper's figures can be set beside them, and decide nothing.",
		"As in the papers every page that was fetched counts: seeds, copies, and the examples that were shown, which are as similar to themselves as can be. So do they for every strategy alike; hits leave all of them out.",
		"E1: precision over 400 page points and γ of .5, .575, .65, .725 and .8, of which the paper gives the ends. E2: σ as its text says, the mean over pages of the best cosine, and as printed, the best over targets of the mean cosine. E3: APR, average precision over that of breadth-first, for each γ and then averaged. A11: harvest and loss, as printed a mean, and as the figures are read a sum. B9: the paper's threshold is lost; .75 is assumed, and swept.",
	}}
	measures := append([]string{"of-bound", "of-greedy"}, asThePapers()...)
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name && c.Judge != TruthJudge })
		if len(strategies(cells, false)) == 0 {
			continue
		}
		lead := b.leaders(cells, maxLines)
		s.charts = append(s.charts,
			Plot{slug(w.Name, "precision-surface"), b.surface("Precision by similarity: "+b.webName(w.Name), cells, lead).Draw()},
			Plot{slug(w.Name, "similar-pages"), b.similar("Similar pages: "+b.webName(w.Name), cells, lead).Draw()})
		if m, ok := b.loss("Expected loss: "+b.webName(w.Name), cells, lead); ok {
			s.charts = append(s.charts, Plot{slug(w.Name, "judged-loss"), m.Draw()})
		}
		open := true // the largest budget
		for _, n := range slices.Backward(b.Budgets) {
			t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, as the papers measured", cells, n, false, measures)
			switch {
			case len(t.Rows) == 0:
			case open:
				s.Tables, open = append(s.Tables, t), false
			default:
				s.Folded = append(s.Folded, t)
			}
		}
	}
	return s, len(s.Tables) > 0
}

func (b *builder) judgeSection() (section, bool) {
	s := section{Title: "Judges against the truth", ID: "judges", Notes: []string{
		"How far each judge is right, apart from any scorer: on all pages of a web but those it was shown, copies counted once. ECE is the expected calibration error over ten equal parts of [0,1]: how far what a judge gives is from the share that is relevant."}}
	list := slices.Clone(b.Judges)
	slices.SortStableFunc(list, func(x, y Judge) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Judge, y.Judge))
	})
	values := func(j Judge) []float64 { return []float64{j.Threshold, j.Precision, j.Recall, j.AUROC, j.ECE} }
	each := table{Title: "Each topic", Head: []string{"web", "topic", "judge", "threshold", "precision", "recall", "AUROC", "ECE", "relevant", "accepted", "correct"}}
	for _, j := range list {
		row := []cell{{Text: b.webName(j.Web)}, {Text: j.Topic}, {Text: j.Judge}}
		for _, v := range values(j) {
			row = append(row, number(plot.Number(v, 3)))
		}
		for _, v := range []int{j.Relevant, j.Accepted, j.Correct} {
			row = append(row, number(plot.Number(float64(v), 0)))
		}
		each.Rows = append(each.Rows, row)
	}
	means := table{Title: "Mean over topics", Head: []string{"web", "judge", "topics", "threshold", "precision", "recall", "AUROC", "ECE"}, Note: "What is not defined on a topic, such as the precision of a judge that accepts nothing, is left out of the mean."}
	slices.SortStableFunc(list, func(x, y Judge) int { return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Judge, y.Judge)) })
	for i := 0; i < len(list); {
		k := i
		columns := make([][]float64, 5)
		for ; k < len(list) && list[k].Web == list[i].Web && list[k].Judge == list[i].Judge; k++ {
			for c, v := range values(list[k]) {
				columns[c] = append(columns[c], v)
			}
		}
		row := []cell{{Text: b.webName(list[i].Web)}, {Text: list[i].Judge}, number(fmt.Sprint(k - i))}
		for _, c := range columns {
			row = append(row, number(plot.Number(mean(c), 3)))
		}
		means.Rows = append(means.Rows, row)
		i = k
	}
	s.Tables, s.Folded = []table{means}, []table{each}
	for _, w := range b.Webs {
		if chart, ok := b.reliability(w.Name); ok {
			s.charts = append(s.charts, Plot{slug(w.Name, "reliability"), chart.Draw()})
		}
	}
	return s, len(list) > 0
}

func (b *builder) costSection() (section, bool) {
	clock := b.Clock
	if clock == "" {
		clock = "the time that passed, whatever else the machine did meanwhile; it is not the processor's"
	}
	s := section{Title: "Costs", ID: "costs", Notes: []string{
		"Milliseconds a page, by stage, and seconds of training before a crawl. Measured by: " + clock + ". They differ from machine to machine and from run to run."}}
	t := table{Head: []string{"scorer", "judge"}}
	type column struct {
		name  string
		apart bool
	}
	var stages []column
	apart := false
	for _, c := range b.Costs {
		for _, g := range c.Stages {
			if !slices.ContainsFunc(stages, func(x column) bool { return x.name == g.Name }) {
				stages = append(stages, column{g.Name, g.Apart})
				apart = apart || g.Apart
			}
		}
	}
	for _, g := range stages {
		if g.apart {
			g.name += " ‡"
		}
		t.Head = append(t.Head, g.name)
	}
	t.Head = append(t.Head, "sum", "training, s")
	if apart {
		t.Note = "‡ done once for all runs, and not in the sum."
	}
	list := slices.Clone(b.Costs)
	slices.SortStableFunc(list, func(x, y Cost) int {
		return cmp.Or(cmp.Compare(x.Scorer, y.Scorer), cmp.Compare(x.Judge, y.Judge))
	})
	for _, c := range list {
		row := []cell{{Text: c.Scorer}, {Text: c.Judge}}
		sum := 0.0
		for _, stage := range stages {
			v := math.NaN()
			for _, g := range c.Stages {
				if g.Name == stage.name {
					v = g.Millis
					if !g.Apart {
						sum += v
					}
				}
			}
			row = append(row, number(plot.Number(v, 3)))
		}
		t.Rows = append(t.Rows, append(row, number(plot.Number(sum, 3)), number(plot.Number(c.Training, 2))))
	}
	s.Tables = []table{t}
	return s, len(list) > 0
}

// constants lists the settings in force.
func (b *builder) constants() (section, bool) {
	s := section{Title: "Constants", ID: "constants", Notes: []string{"Every setting of every strategy, as it was in force; those that are not the default are set bold."}}
	t := table{Head: []string{"strategy", "constant", "value", "default", "meaning"}}
	for _, c := range b.Constants {
		t.Rows = append(t.Rows, []cell{{Text: c.Scorer}, {Text: c.Name}, {Text: fmt.Sprint(c.Value), Number: true, Strong: c.Value != c.Default}, number(fmt.Sprint(c.Default)), {Text: c.Line}})
	}
	s.Folded = []table{t}
	return s, len(t.Rows) > 0
}

// diagnosis is the only place where the judge that knows the truth appears.
func (b *builder) diagnosis() (section, bool) {
	s := section{Title: "Diagnosis: with a judge that never errs", ID: "diagnosis", Badge: "not a result",
		Notes: []string{"The judge named truth reads the ground truth. No crawler has it; the figures say what a scorer could do if its judge never erred."}}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name && c.Judge == TruthJudge })
		if len(cells) == 0 {
			continue
		}
		for _, n := range b.Budgets {
			if t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, judge truth", cells, n, true, b.Headline); len(t.Rows) > 0 {
				s.Tables = append(s.Tables, t)
			}
		}
	}
	return s, len(s.Tables) > 0
}

func (b *builder) failures() (section, bool) {
	s := section{Title: "Failed runs", ID: "failed"}
	t := table{Head: []string{"run", "error"}}
	for _, c := range b.Cells {
		if c.Error != "" {
			k := c.Key
			k.Web = b.webName(k.Web)
			t.Rows = append(t.Rows, []cell{{Text: k.String()}, {Text: c.Error}})
		}
	}
	s.Tables = []table{t}
	return s, len(t.Rows) > 0
}

func (b *builder) glossary() section {
	s := section{Title: "Measures", ID: "measures", Notes: []string{"n counts places in the budget. A crawl that runs out of links wastes the rest. The CSV holds every measure."}}
	t := table{Head: []string{"measure", "meaning", "better", "source"}}
	for _, m := range eval.Measures() {
		better := "more"
		if m.Better < 0 {
			better = "less"
		} else if m.Better == 0 {
			better = ""
		}
		name := m.Name
		if h := heading(name); strings.Contains(h, "/") {
			name += " (" + h + ")"
		}
		t.Rows = append(t.Rows, []cell{{Text: name}, {Text: m.Line}, {Text: better}, {Text: m.Source}})
	}
	s.Folded = []table{t}
	return s
}

// svg draws a chart for within a page.
func svg(d *plot.Drawing) (string, error) {
	var b bytes.Buffer
	err := d.Inline(&b)
	return b.String(), err
}
