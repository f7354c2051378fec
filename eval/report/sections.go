package report

import (
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
	Verdict  string   // of the tests, in two sentences
	Terms    string   // what words of the verdict mean
	Warnings []string // what a reader has to know before any figure
	Notes    []string // the author's
	Rules    []string // how it was run
	Command  string
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
	silent []string // charts that would show nothing, by title
	Tables []table
	Folded []table
}

// chart adds a chart, or its title to those that show nothing.
func (s *section) chart(name, title string, c interface {
	Tells() bool
	Draw() *plot.Drawing
}) {
	if c.Tells() {
		s.charts = append(s.charts, Plot{name, c.Draw()})
	} else {
		s.silent = append(s.silent, title)
	}
}

// panels adds a chart of those panels that show something, and the titles of the
// others to what shows nothing.
func (s *section) panels(name string, m plot.Multiples) {
	told, silent := m.Telling()
	switch {
	case len(told.Panels) == 0:
		s.silent = append(s.silent, m.Title)
	case len(silent) > 0:
		s.silent = append(s.silent, m.Title+" ("+strings.Join(silent, ", ")+")")
		fallthrough
	default:
		s.charts = append(s.charts, Plot{name, told.Draw()})
	}
}

// Silent tells of charts that would show nothing, "" if there are none.
func (s section) Silent() string {
	if len(s.silent) == 0 {
		return ""
	}
	return "Not drawn, as the lines would lie together or be straight, and a table says the same: " + strings.Join(s.silent, "; ") + "."
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
	p := page{Title: b.Title, Command: b.Command, Warnings: slices.Concat(b.warnings(), b.Warnings, b.sameCrawls()), Notes: b.Notes, Rules: slices.Concat(b.Rules, b.averaged(), b.reach())}
	p.Verdict, p.Terms = b.verdict()
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
		b.readSection, b.development, b.papers, b.judgeSection, b.costSection, b.models, b.diagnosis, b.failures, b.constants,
	} {
		if s, ok := more(); ok {
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, b.glossary())
	p.apart()
	p.define()
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
		for _, t := range b.parts {
			if of[t.TopicID] {
				list = append(list, b.topicName(t.TopicID))
			}
		}
		return strings.Join(list, ", ")
	}
	if len(b.barren) > 0 {
		out = append(out, fmt.Sprintf("No relevant page that counts can be reached from the seeds of: %s. These topics are in no figure.", names(b.barren)))
	}
	for _, n := range b.Budgets {
		gone := 0
		for at := range b.eaten {
			if at.budget == n {
				gone++
			}
		}
		if gone > 0 {
			out = append(out, fmt.Sprintf("Seeds take more than half of %s pages on %s, of %d: no table tells of them there.", plot.Number(float64(n), 0), count(gone, "topic"), len(b.parts)))
		}
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
		whole := 0
		for _, t := range b.Topics {
			if t.Web == w.Name {
				whole++
			}
		}
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
			{Text: plot.Number(float64(w.Hosts), 0), Number: true}, {Text: inParts(whole, len(topics)), Number: true},
			{Text: fmt.Sprint(runs), Number: true}, {Text: fmt.Sprint(failed), Number: true}, {Text: w.Note}})
	}
	s.Tables = []table{t}
	if synthetic {
		s.Notes = append(s.Notes, "Synthetic webs are made up: they show that nothing broke, and support no claim about the web. They are left out of everything that spans several webs.")
	}
	return s
}

// inParts is a number of topics, with that of their parts where these are more.
func inParts(topics, parts int) string {
	if topics > 0 && topics < parts {
		return fmt.Sprintf("%d in %s", topics, count(parts, "part"))
	}
	return fmt.Sprint(parts)
}

// group is what is said of a set of cells: a section for its figures, and one
// for its comparison with the baseline.
func (b *builder) group(title, group string, cells []eval.Cell, synthetic bool) []section {
	if len(strategies(cells, false)) == 0 {
		return nil
	}
	s := section{Title: title, ID: slug(group)}
	if group == allWebs {
		s.ID = "all"
	}
	if synthetic {
		s.Badge = "synthetic"
	}
	budgets := slices.DeleteFunc(slices.Clone(b.Budgets), func(n int) bool { return group == allWebs && !several(cells, n) })
	b.groupCharts(&s, group, cells)
	b.groupTables(&s, group, cells, budgets)
	out := []section{s}
	if against := b.against(s, group, cells, budgets); len(against.Tables) > 0 {
		out = append(out, against)
	}
	return out
}

// bounds explains the two dashed lines of a chart of harvest.
const bounds = " U: the most that any crawl could have found by then. G: what a greedy one with full knowledge finds."

func (b *builder) groupCharts(s *section, group string, cells []eval.Cell) {
	id, title := s.ID, s.Title
	lead, none := b.leaders(cells, maxLines), func(strategy) bool { return false }
	curves := b.curves("Harvest: "+title, cells, lead, false, b.leaders(cells, maxBands))
	whole := complete(cells, false)
	curves.Note = fmt.Sprintf("Mean over topics. The bands, of the best and of %s, are 95%% bootstrap intervals over topics.", b.Baseline) + bounds
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
		if all.Tells() {
			s.more = append(s.more, Plot{slug(id, "harvest-all"), all.Draw()})
		}
	}
	s.chart(slug(id, "harvest"), curves.Title, curves)
	if bounded(cells) || wasRead(cells) {
		between := b.between("Between the bounds: "+title, cells, b.leaders(cells, maxBands))
		s.chart(slug(id, "bounds"), between.Title, between)
	}
	if multiples, ok := b.multiples("Topic by topic: "+title, cells, lead); ok && group != allWebs {
		s.panels(slug(id, "topics"), multiples)
	}
}

func (b *builder) groupTables(s *section, group string, cells []eval.Cell, budgets []int) {
	for _, n := range budgets {
		if t := b.summary("At "+plot.Number(float64(n), 0)+" pages", cells, n, false, b.Headline); len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		} else if left := b.leftOut(cells, n); left != "" {
			s.Notes = append(s.Notes, "There is no table at "+plot.Number(float64(n), 0)+" pages. "+left)
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
}

// against compares the strategies of a section with the baseline.
func (b *builder) against(of section, group string, cells []eval.Cell, budgets []int) section {
	out := section{Title: of.Title + ": against " + b.Baseline, ID: slug(of.ID, "against"), Badge: of.Badge, Notes: []string{comparisonNote}}
	for _, n := range slices.Backward(budgets) { // the largest first, and open
		for _, measure := range compared() {
			list := b.compare(group, cells, measure, n)
			if len(list) == 0 {
				continue
			}
			t := b.comparisonTable(cells, list, measure, n)
			if measure != "auc" || len(out.Tables) > 0 {
				out.Folded = append(out.Folded, t)
			} else {
				out.Tables = append(out.Tables, t)
			}
			if measure != "auc" {
				continue
			}
			bars := plot.Bars{Title: fmt.Sprintf("AUC above that of %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: of.Title + ": mean of the differences over topics; lines are 95% bootstrap intervals.", Decimals: 3}
			balance := plot.Balance{Title: fmt.Sprintf("Topics won against %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: of.Title + ": by AUC. At the right: Holm-adjusted Wilcoxon p."}
			for _, c := range list {
				bars.Items = append(bars.Items, plot.Bar{Name: b.name(c.strategy), Value: c.Difference.Mean, Low: c.Difference.Low, High: c.Difference.High, Color: b.colors[c.scorer]})
				balance.Items = append(balance.Items, plot.Score{Name: b.name(c.strategy), Wins: c.Wins, Ties: c.Ties, Loses: c.Loses, Note: "p " + probability(c.holm)})
			}
			charts := &out.charts
			if len(out.charts) > 0 {
				charts = &out.more
			}
			if bars.Tells() {
				*charts = append(*charts, Plot{slug(of.ID, "difference", fmt.Sprint(n)), bars.Draw()})
			}
			if balance.Tells() {
				*charts = append(*charts, Plot{slug(of.ID, "topics-won", fmt.Sprint(n)), balance.Draw()})
			}
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
