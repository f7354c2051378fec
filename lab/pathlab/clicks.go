package pathlab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Clicks is how high models rank the link that a person clicked next, among the
// links of the page.
type Clicks struct {
	Ranker string
	Paths  int // shown
	// Of clicks that led to the target, and of those before.
	Last, Before Ranks
}

// Ranks are means over clicks.
type Ranks struct {
	Clicks  int
	Links   float64 // on the page
	First   float64 // share of clicks ranked first, in [0,1]
	Ten     float64 // among the first ten
	Inverse float64 // 1/rank
	Above   float64 // share of the other links that rank lower
}

func (r *Ranks) add(rank float64, links int) {
	r.Clicks++
	r.Links += float64(links)
	if rank < 1.5 {
		r.First++
	}
	if rank <= 10 {
		r.Ten++
	}
	r.Inverse += 1 / rank
	if links > 1 {
		r.Above += 1 - (rank-1)/float64(links-1)
	}
}

func (r *Ranks) mean() {
	n := float64(max(1, r.Clicks))
	r.Links, r.First, r.Ten, r.Inverse, r.Above = r.Links/n, r.First/n, r.Ten/n, r.Inverse/n, r.Above/n
}

// Rankers of Clicks, in the order of its rows.
const (
	rankPaths   = "pathlearner"
	rankPrinted = "pathlearner, rewards as printed"
	rankAlone   = "afc-approx"
	rankOrder   = "order on the page"
)

// TrailOptions say which searches are tried.
type TrailOptions struct {
	Targets int // the most frequent ones
	Shown   int // paths that teach, of one target; three in ten are searches that were given up
	Tested  int // finished searches of each target whose clicks are ranked
	Seed    uint64
}

// OpenGames reads the recorded searches of a file.
func OpenGames(name string) (games []paths.Game, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was read only
	_, err = paths.ReadGames(f, name, func(g paths.Game) bool { games = append(games, g); return true })
	return games, err
}

// RankClicks learns, for each of the targets most often sought, from some
// searches and ranks the clicks of others.
func RankClicks(ctx context.Context, pages *corpus.Pages, games []paths.Game, o TrailOptions, tell func(string)) ([]Clicks, error) {
	by := map[web.URL][2][]paths.Path{} // given up, finished
	for _, g := range games {
		p := paths.Path{Source: "trails", Task: g.Target.String()}
		for _, u := range g.Clicks {
			if u.IsZero() {
				p.Steps = p.Steps[:max(0, len(p.Steps)-1)]
				continue
			}
			p.Steps = append(p.Steps, paths.Step{URL: u})
		}
		if len(p.Steps) < 2 || slices.ContainsFunc(p.Steps, func(s paths.Step) bool { _, ok := pages.Page(s.URL); return !ok }) {
			continue
		}
		all := by[g.Target]
		end := &p.Steps[len(p.Steps)-1]
		if g.Finished && end.URL == g.Target {
			end.Label = paths.Goal
			all[1] = append(all[1], p)
		} else if !g.Finished {
			end.Label = paths.Fail
			all[0] = append(all[0], p)
		}
		by[g.Target] = all
	}
	var targets []web.URL
	for u, all := range by {
		if len(all[1]) >= o.Shown {
			targets = append(targets, u)
		}
	}
	slices.SortFunc(targets, func(a, b web.URL) int {
		return cmp.Or(len(by[b][1])-len(by[a][1]), cmp.Compare(a.String(), b.String()))
	})
	targets = targets[:min(o.Targets, len(targets))]
	rows := map[string]*Clicks{}
	for _, name := range []string{rankPaths, rankPrinted, rankAlone, rankOrder} {
		rows[name] = &Clicks{Ranker: name, Paths: o.Shown}
	}
	for i, target := range targets {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		tell(fmt.Sprintf("clicks on the way to target %d of %d", i+1, len(targets)))
		chance := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		given, finished := by[target][0], by[target][1]
		chance.Shuffle(len(finished), func(i, j int) { finished[i], finished[j] = finished[j], finished[i] })
		chance.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		wrong := min(len(given), o.Shown*3/10)
		goals := min(len(finished), o.Shown-wrong)
		shown := slices.Concat(finished[:goals], given[:wrong])
		tested := finished[goals:min(len(finished), goals+o.Tested)]
		f, err := train.FitPaths(ctx, shown, pages, train.FitOptions{})
		if err != nil {
			return nil, err
		}
		if err := rankAll(rows, f, pages, tested); err != nil {
			return nil, err
		}
	}
	var out []Clicks
	for _, name := range []string{rankPaths, rankPrinted, rankAlone, rankOrder} {
		r := rows[name]
		r.Last.mean()
		r.Before.mean()
		out = append(out, *r)
	}
	return out, nil
}

func rankAll(rows map[string]*Clicks, f *model.File, pages *corpus.Pages, tested []paths.Path) error {
	vstd, err := guide.New(f, guide.Options{})
	if err != nil {
		return err
	}
	printed, err := guide.New(f, guide.Options{Printed: true})
	if err != nil {
		return err
	}
	approximate, err := score.New("afc-approx", score.Options{Model: f})
	if err != nil {
		return err
	}
	for _, p := range tested {
		var at guide.Place
		var came []byte // features of the link that led here
		for k := 0; k+1 < len(p.Steps); k++ {
			page, _ := pages.Page(p.Steps[k].URL)
			features := vstd.Links(page)
			if k == 0 {
				at = vstd.Begin(page)
			} else {
				at = vstd.Follow(at, came, page)
			}
			alone := approximate.Extract(page, web.Verdict{})
			next := p.Steps[k+1].URL
			for name, worth := range map[string]func(i int) float64{
				rankPaths:   func(i int) float64 { return vstd.Rate(at, features[i]) },
				rankPrinted: func(i int) float64 { return printed.Rate(at, features[i]) },
				rankAlone: func(i int) float64 {
					return approximate.Score(&web.Candidate{URL: page.Links[i].URL, Features: alone[i]})
				},
				rankOrder: func(i int) float64 { return -float64(i) },
			} {
				rank, links, ok := rankOf(page, next, worth)
				if !ok {
					continue // no such link on the page
				}
				r := &rows[name].Before
				if k+2 == len(p.Steps) {
					r = &rows[name].Last
				}
				r.add(rank, links)
			}
			came = nil
			for i := range page.Links {
				if page.Links[i].URL == next {
					came = features[i]
					break
				}
			}
		}
	}
	return nil
}

// rankOf is the rank of an address among those a page links to, from 1, by its
// best link; of equals the mean.
func rankOf(page *web.Page, u web.URL, worth func(i int) float64) (rank float64, links int, ok bool) {
	best := map[web.URL]float64{}
	for i := range page.Links {
		to := page.Links[i].URL
		w := worth(i)
		if old, is := best[to]; !is || w > old {
			best[to] = w
		}
	}
	own, ok := best[u]
	if !ok {
		return 0, 0, false
	}
	above, equal := 0, 0
	for to, w := range best {
		switch {
		case to == u:
		case w > own:
			above++
		case w == own:
			equal++
		}
	}
	return 1 + float64(above) + float64(equal)/2, len(best), true
}

// WriteClicks writes a table, shares in percent.
func WriteClicks(w io.Writer, rows []Clicks) {
	fmt.Fprintln(w, "| paths shown | ranker | clicks before the last | links on the page | ranked first | in the first ten | 1/rank | above the others | last clicks | ranked first | in the first ten | 1/rank | above the others |")
	fmt.Fprintln(w, "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, r := range rows {
		b, l := r.Before, r.Last
		fmt.Fprintf(w, "| %d | %s | %d | %.0f | %.1f | %.1f | %.3f | %.1f | %d | %.1f | %.1f | %.3f | %.1f |\n", r.Paths, r.Ranker,
			b.Clicks, b.Links, 100*b.First, 100*b.Ten, b.Inverse, 100*b.Above, l.Clicks, 100*l.First, 100*l.Ten, l.Inverse, 100*l.Above)
	}
}
