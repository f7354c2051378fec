package pathlab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/forage"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Claim is what the model itself takes for goals, foraging with one budget.
type Claim struct {
	Kind          string // "" for all kinds together
	Budget        int
	From          float64 // probability from which a page is claimed, see forage.Forager.Claim
	Sites         int     // that have goals, over all draws
	Claimed       int     // of these, with a page taken for a goal, of which
	Right         int     // the first is one
	Stopped       float64
	ByPath, Alone PRF     // goals known as such among pages fetched; Alone is by a page itself
	Without       int     // sites without a goal, over all draws, of which
	Quiet         int     // none was claimed there
	Wrong         float64 // pages claimed where there is none, in the mean
}

// claimLevels are the probabilities from which pages are claimed in tables.
var claimLevels = [...]float64{0, .3, .4, .5, .6, .7}

// tally counts what was claimed, for each kind, budget and level.
type tally struct {
	claims []Claim
	counts [][2]Counts // [claims], by the path and by the page alone
}

// sight is a page of a site as it came.
type sight struct {
	forage.Seen
	is    bool // a goal
	alone bool // taken for one by itself
}

func newTally(kinds []string, budgets []int) *tally {
	t := &tally{}
	for _, kind := range kinds {
		for _, budget := range budgets {
			for _, from := range claimLevels {
				t.claims = append(t.claims, Claim{Kind: kind, Budget: budget, From: from})
				t.counts = append(t.counts, [2]Counts{{}, {}})
			}
		}
	}
	return t
}

// add counts one crawl, of a site that has goals or not.
func (t *tally) add(kind string, has bool, seen []sight) {
	for i := range t.claims {
		c := &t.claims[i]
		if c.Kind != kind {
			continue
		}
		n := min(len(seen), c.Budget)
		is, claimed := make([]bool, n), make([]bool, n)
		for k, s := range seen[:n] {
			is[k], claimed[k] = s.is, s.Goal && s.Claim >= c.From
			t.counts[i][0].add(yes(s.is), yes(claimed[k]))
			t.counts[i][1].add(yes(s.is), yes(s.alone))
		}
		c.site(is, claimed, has)
	}
}

func (t *tally) rows() []Claim {
	for i := range t.claims {
		c := &t.claims[i]
		c.Stopped /= float64(max(1, c.Claimed))
		c.Wrong /= float64(max(1, c.Without))
		c.ByPath, c.Alone = t.counts[i][0].Of("yes"), t.counts[i][1].Of("yes")
	}
	return t.claims
}

// sights forages a site with the model of a file, as far as f goes, and returns what was
// seen; is tells goals.
func sights(ctx context.Context, f forage.Forager, file *model.File, start web.URL, pages paths.Record, is func(web.URL) bool) (seen []sight, err error) {
	if f.Guide, err = guide.New(file, guide.Options{}); err != nil {
		return nil, err
	}
	f.Stop, f.Recorded = forage.Never, true
	f.Listen = func(s forage.Seen) {
		page, _ := pages.Page(s.URL)
		seen = append(seen, sight{s, is(s.URL), f.Guide.GoalAlone(page)})
	}
	_, err = f.Site(ctx, start)
	return seen, err
}

// Claims forages all sites as far as the model's own word goes (Vydiswaran
// & Sarawagi 2005, sections 3.4 and 4.4.3), those
// that have no goal too. What a budget brought is the beginning of what the
// largest did.
func (t *Sites) Claims(ctx context.Context, tell func(string)) ([]Claim, error) {
	lessons, err := t.lessons(ctx)
	if err != nil {
		return nil, err
	}
	by, err := parseStrategy("pathlearner")
	if err != nil {
		return nil, err
	}
	count := newTally(t.Kinds, t.Budgets)
	for i := range lessons {
		l := &lessons[i]
		tell(fmt.Sprintf("%s, what is claimed, draw %d", l.kind, l.draw+1))
		file, err := t.learn(ctx, l, by)
		if err != nil {
			return nil, err
		}
		for _, site := range l.test {
			s := &t.Sites[site]
			f := forage.Forager{Pages: t.Budgets[len(t.Budgets)-1], Reach: crawl.ReachHost, Fetcher: inSite{t.Pages, s}, Parser: t.Pages}
			seen, err := sights(ctx, f, file, s.Start, t.Pages, func(u web.URL) bool { return slices.Contains(s.Labels[u], l.kind) })
			if err != nil {
				return nil, err
			}
			count.add(l.kind, len(s.goals(l.kind)) > 0, seen)
		}
	}
	return count.rows(), nil
}

// Claims is the same for the sites of the folds, all together and topic by topic. Each of
// them has goals.
func (t *Trial) Claims(ctx context.Context, tell func(string)) ([]Claim, error) {
	folds, err := t.folds(ctx)
	if err != nil {
		return nil, err
	}
	count := newTally(append([]string{""}, t.Topics...), []int{t.Budget})
	for _, f := range folds {
		tell(fmt.Sprintf("what is claimed: %s of %s", f.topic, f.site))
		file, err := train.FitPaths(ctx, f.shown, t.Pages, train.FitOptions{})
		if err != nil {
			return nil, err
		}
		seen, err := sights(ctx, forage.Forager{Pages: t.Budget, Fetcher: inside{t.Pages}, Parser: t.Pages}, file, f.start, t.Pages, func(u web.URL) bool { return f.truth[u] })
		if err != nil {
			return nil, err
		}
		count.add("", true, seen)
		count.add(f.topic, true, seen)
	}
	return count.rows(), nil
}

// site counts one crawl: which of its pages are goals, and which were taken for
// one. Shapes: is, claimed [pages].
func (c *Claim) site(is, claimed []bool, has bool) {
	first := slices.Index(claimed, true)
	if !has {
		c.Without++
		if first < 0 {
			c.Quiet++
		}
		for _, yes := range claimed {
			if yes {
				c.Wrong++
			}
		}
		return
	}
	c.Sites++
	if first >= 0 {
		c.Claimed++
		c.Stopped += float64(first + 1)
		if is[first] {
			c.Right++
		}
	}
}

// Names is how classifiers name the pages of paths on the sites that did not
// teach: of each up to three ways to goals and two wrong turns.
func (t *Sites) Names(ctx context.Context, kind string, tell func(string)) ([]Naming, error) {
	lessons, err := t.lessons(ctx)
	if err != nil {
		return nil, err
	}
	var folds []fold
	for _, l := range lessons {
		if l.kind != kind {
			continue
		}
		f := fold{topic: kind, site: fmt.Sprintf("draw %d", l.draw+1), shown: l.paths}
		chance := rand.New(rand.NewPCG(t.Seed+uint64(l.draw), 0x6e616d6573))
		few := *t
		few.Teach, few.Goals, few.Wrong = 1, 3, 2
		for _, i := range l.test {
			ways, err := few.show(ctx, i, kind, 0, chance)
			if err != nil {
				return nil, err
			}
			f.other = append(f.other, ways...)
		}
		folds = append(folds, f)
	}
	lab := &Trial{Web: t.Web, Pages: t.Pages}
	return lab.name(ctx, folds, []int{10}, tell)
}

// WriteResults writes a table a kind, the best share at the first budget first.
func WriteResults(w io.Writer, rows []Result, budgets []int) {
	kind := ""
	for _, r := range rows {
		if r.Kind != kind {
			kind = r.Kind
			fmt.Fprintf(w, "\n**%s**, %d crawls of %d sites\n\n| strategy | pages to the first goal |", kind, r.Sites, r.Against.Topics)
			line := "|---|---|"
			for _, b := range budgets {
				fmt.Fprintf(w, " sites with a goal in %d | goals | share of the goals | harvest |", b)
				line += "--:|--:|---|--:|"
			}
			fmt.Fprintf(w, " won by the first strategy, even, lost at %d | p |\n%s---|--:|\n", budgets[0], line)
		}
		fmt.Fprintf(w, "| %s | %.1f (%.1f–%.1f) |", r.Strategy, r.First.Mean, r.First.Low, r.First.High)
		for _, f := range r.At {
			fmt.Fprintf(w, " %.0f%% | %.1f | %.1f%% (%.1f–%.1f) | %.3f |", 100*f.Any, f.Goals, 100*f.Share.Mean, 100*f.Share.Low, 100*f.Share.High, f.Harvest)
		}
		if a := r.Against; a.Wins+a.Loses == 0 {
			fmt.Fprintln(w, " – | – |")
		} else {
			p := math.Min(1, a.Wilcoxon.P)
			fmt.Fprintf(w, " %d–%d–%d | %.3f |\n", a.Wins, a.Ties, a.Loses, p)
		}
	}
}

// Chart draws how many goals came with how many pages, a panel a kind, of the
// strategies named, at most eight.
func Chart(rows []Result, strategies []string, title, note string) *plot.Drawing {
	c := plot.Multiples{Title: title, Note: note, Columns: 3, PanelHeight: 260}
	for _, r := range rows {
		at := slices.Index(strategies, r.Strategy)
		if at < 0 {
			continue
		}
		k := slices.IndexFunc(c.Panels, func(p plot.Lines) bool { return p.Title == r.Kind })
		if k < 0 {
			k = len(c.Panels)
			c.Panels = append(c.Panels, plot.Lines{Title: r.Kind, XLabel: "pages of a site", YLabel: "share of its goals", Percent: true, YMax: 1, Series: make([]plot.Series, len(strategies))})
		}
		x := make([]float64, len(r.Curve))
		for i := range x {
			x[i] = float64(i + 1)
		}
		c.Panels[k].Series[at] = plot.Series{Name: r.Strategy, X: x, Y: r.Curve, Color: at}
	}
	return c.Draw()
}

// WriteClaims writes a table. The words of a page alone are told where no probability is
// asked for.
func WriteClaims(w io.Writer, rows []Claim) {
	fmt.Fprintln(w, "| sought | pages | claimed from | crawls of sites with goals | with a claim | first claim right | pages until then | claims: P | R | F1 | by the page alone: P | R | F1 | crawls of sites without | no claim there | claims there |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	cell := func(x PRF) string { return fmt.Sprintf("%.1f | %.1f | %.1f", 100*x.P, 100*x.R, 100*x.F) }
	for _, c := range rows {
		alone := " | | "
		if c.From == 0 {
			alone = cell(c.Alone)
		}
		fmt.Fprintf(w, "| %s | %d | %v | %d | %d | %d | %.1f | %s | %s | %d | %d | %.1f |\n", cmp.Or(c.Kind, "all"), c.Budget, c.From, c.Sites, c.Claimed, c.Right, c.Stopped, cell(c.ByPath), alone, c.Without, c.Quiet, c.Wrong)
	}
}
