package pathlab

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Site is a part of a record whose pages people have labelled.
type Site struct {
	Start  web.URL
	Base   string // all of its addresses begin with it
	Labels map[web.URL][]string
}

// has tells whether an address belongs to the site.
func (s *Site) has(u web.URL) bool { return strings.HasPrefix(u.String(), s.Base) }

// goals are the pages with a label, in the order of their addresses.
func (s *Site) goals(kind string) (out []web.URL) {
	for u, labels := range s.Labels {
		if slices.Contains(labels, kind) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// milestone is the first label of a page that is not the one sought.
func (s *Site) milestone(u web.URL, kind string) string {
	for _, l := range s.Labels[u] {
		if l != kind {
			return l
		}
	}
	return ""
}

// OpenSites reads the labelled sites of a file.
func OpenSites(name string) ([]Site, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was read only
	return ReadSites(f, name)
}

// ReadSites reads labelled sites. Fields are parted by tabs, # begins a comment;
// name stands in errors:
//
//	https://example.org/docs/index.html	start	https://example.org/docs/
//	https://example.org/docs/install.html	installation
//	│                                    	│           	└ what all addresses of the site begin with
//	│                                    	└ label; start begins a site
//	└ page
func ReadSites(r io.Reader, name string) (out []Site, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		u, err := web.Parse(f[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		switch {
		case len(f) == 3 && f[1] == "start" && strings.HasPrefix(u.String(), f[2]):
			out = append(out, Site{Start: u, Base: f[2], Labels: map[web.URL][]string{}})
		case len(f) != 2 || f[1] == "" || f[1] == "start":
			return nil, fmt.Errorf("%s:%d: a line is an address and a label, or a start page, start and what the addresses of the site begin with, parted by tabs", name, n)
		case len(out) == 0 || !out[len(out)-1].has(u):
			return nil, fmt.Errorf("%s:%d: %s lies outside the site above; give the start page of its site first", name, n, u)
		default:
			s := &out[len(out)-1]
			s.Labels[u] = append(s.Labels[u], f[1])
		}
	}
	return out, lines.Err()
}

// Sites tries strategies on many labelled sites: a few teach, all others are
// crawled, each from its own start page and for itself.
//
//	draw ─► sites that teach ─► paths, examples ─► models, judge
//	   └──► other sites ─► sim, one crawl each ─► pages at which goals came
type Sites struct {
	Web   *corpus.Web
	Pages *corpus.Pages
	Sites []Site
	Kinds []string // labels sought, each in turn
	Draws int
	Teach int // sites that teach
	// Goals and Wrong are how many paths they show; all strategies are given
	// the goals' pages as examples.
	Goals, Wrong int
	Budgets      []int // pages of a site, ascending
	Strategies   []string
	Seed         uint64

	links *train.Backlinks
	words *text.Analyzer
}

// A strategy is written as the name of a scorer, with settings of its own or of
// the training of labelled paths, and at last with whether it is told the name
// of what is sought as a keyword besides the examples:
//
//	best-first-both+name   pathlearner:page-tokens=0:endless=1
type strategy struct {
	name   string
	scorer score.Description
	set    map[string]float64 // of the scorer
	train  map[string]float64 // of train.FitPaths
	named  bool
}

// parseStrategy reads one.
func parseStrategy(text string) (s strategy, err error) {
	s.set, s.train = map[string]float64{}, map[string]float64{}
	rest, named := strings.CutSuffix(text, "+name")
	s.named = named
	for i, part := range strings.Split(rest, ":") {
		if i == 0 {
			s.name = part
			var ok bool
			if s.scorer, ok = score.Describe(part); !ok {
				return s, fmt.Errorf("there is no scorer %q; waggle lab list names them", part)
			}
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		x, err := strconv.ParseFloat(value, 64)
		o, ok := s.scorer.Setting(key)
		switch {
		case err != nil:
			return s, fmt.Errorf("%s: a setting is written as name=number, not %q", text, part)
		case ok && o.Min <= x && x <= o.Max:
			s.set[key] = x
		case score.ModelOf(s.scorer) == model.PathLearner && slices.ContainsFunc(train.PathSettings(), func(o train.Setting) bool { return o.Name == key && o.Min <= x && x <= o.Max }):
			s.train[key] = x
		default:
			return s, fmt.Errorf("%s: neither %s nor its training has a setting %s that can be %s", text, s.name, key, value)
		}
	}
	return s, nil
}

// model names the model that a strategy needs, "" for none.
func (s strategy) model() string {
	if kind := score.ModelOf(s.scorer); kind != "" {
		return fmt.Sprint(kind, s.train)
	}
	return ""
}

// lesson is what a draw teaches, and where it is tried.
type siteLesson struct {
	kind   string
	draw   int
	teach  []int // sites
	test   []int
	goals  []web.URL // shown
	paths  []paths.Path
	topic  *topic.Topic
	models map[string]*model.File
}

// lessons draws for all kinds.
func (t *Sites) lessons(ctx context.Context) (out []siteLesson, err error) {
	if t.links == nil {
		if t.links, err = train.NewBacklinks(ctx, t.Web, t.Pages, true); err != nil {
			return nil, err
		}
		t.words = text.NewAnalyzer()
	}
	for _, kind := range t.Kinds {
		for draw := range t.Draws {
			l := siteLesson{kind: kind, draw: draw, models: map[string]*model.File{}}
			chance := rand.New(rand.NewPCG(t.Seed+uint64(draw), 0x7369746573))
			for _, i := range chance.Perm(len(t.Sites)) {
				ways, err := t.show(ctx, i, kind, len(l.teach), chance)
				if err != nil {
					return nil, err
				}
				if len(l.teach) == t.Teach || !slices.ContainsFunc(ways, func(p paths.Path) bool { return p.Positive() }) {
					l.test = append(l.test, i)
					continue
				}
				l.teach = append(l.teach, i)
				l.paths = append(l.paths, ways...)
				for _, p := range ways {
					if p.Positive() {
						l.goals = append(l.goals, p.Steps[len(p.Steps)-1].URL)
					}
				}
			}
			if len(l.teach) < t.Teach {
				return nil, fmt.Errorf("%d sites have pages labelled %s that their start pages lead to, and %d are to teach", len(l.teach), kind, t.Teach)
			}
			slices.Sort(l.test)
			l.topic = &topic.Topic{Name: kind}
			for _, u := range l.goals {
				if p, ok := t.Pages.Page(u); ok {
					l.topic.Examples = append(l.topic.Examples, p)
				}
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// show shows the ways of one site, as many as fall to the n-th that teaches.
func (t *Sites) show(ctx context.Context, site int, kind string, n int, chance *rand.Rand) ([]paths.Path, error) {
	if n >= t.Teach {
		return nil, nil
	}
	share := func(all int) int { return all*(n+1)/t.Teach - all*n/t.Teach }
	s := &t.Sites[site]
	goals := s.goals(kind)
	chance.Shuffle(len(goals), func(i, j int) { goals[i], goals[j] = goals[j], goals[i] })
	return train.ShowPaths(ctx, t.Pages, train.ShowOptions{
		Starts: []web.URL{s.Start}, Goals: goals[:min(len(goals), share(t.Goals))], Wrong: share(t.Wrong),
		Label:  func(u web.URL) string { return s.milestone(u, kind) },
		IsGoal: func(u web.URL) bool { return slices.Contains(s.Labels[u], kind) },
		Keep:   s.has, Resolve: t.links.Resolve, Task: kind, Seed: t.Seed + chance.Uint64(),
	})
}

// learn fits the model that a strategy needs, once a lesson; nil for none.
func (t *Sites) learn(ctx context.Context, l *siteLesson, s strategy) (*model.File, error) {
	kind, key := score.ModelOf(s.scorer), s.model()
	if kind == "" || l.models[key] != nil {
		return l.models[key], nil
	}
	var err error
	if kind == model.PathLearner {
		l.models[key], err = train.FitPaths(ctx, l.paths, t.Pages, train.FitOptions{Set: s.train, Seed: t.Seed})
		return l.models[key], err
	}
	keep := func(u web.URL) bool {
		return slices.ContainsFunc(l.teach, func(i int) bool { return t.Sites[i].has(u) })
	}
	graph, err := train.FromRecord(ctx, t.Web, t.Pages, l.topic, l.goals, keep, train.CollectOptions{IgnoreDirectives: true, Backlinks: t.links, Seed: t.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	walks, err := graph.Sequences(ctx, train.SequenceOptions{Count: 1000, Seed: t.Seed})
	if err != nil {
		return nil, err
	}
	l.models[key], err = train.Fit(ctx, kind, graph, walks, train.FitOptions{Workers: 1, Seed: t.Seed, Analyzer: t.words})
	return l.models[key], err
}

// inSite is the record as far as one site goes.
type inSite struct {
	*corpus.Pages
	site *Site
}

// Has tells whether an address of the site is recorded.
func (r inSite) Has(u web.URL) bool { return r.site.has(u) && r.Pages.Has(u) }

// Fetch fetches from the site; what lies outside is not there.
func (r inSite) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if !r.site.has(u) {
		return web.NotRecorded(u), nil
	}
	return r.Pages.Fetch(ctx, u)
}

// crawl crawls one site with one strategy, until the largest budget is spent or
// all goals are found. It returns at which pages, from 1, goals came.
func (t *Sites) crawl(ctx context.Context, l *siteLesson, by strategy, site int) (hits []int, err error) {
	top := *l.topic
	if by.named {
		top.Keywords = []string{l.kind}
	}
	m, err := t.learn(ctx, l, by)
	if err != nil {
		return nil, fmt.Errorf("%s for %s: %w", by.name, l.kind, err)
	}
	s, delay := &t.Sites[site], job.Duration(0)
	mk := &job.Maker{
		Job: &job.Job{
			Name: s.Base, Scorer: job.Scorer{Name: by.name, Seed: t.Seed + uint64(l.draw), Set: by.set},
			Budget: job.Budget{Pages: t.Budgets[len(t.Budgets)-1]}, Politeness: job.Politeness{Delay: &delay},
		},
		Analyzer: t.words, Fetcher: inSite{t.Pages, s}, Parser: t.Pages, Topic: &top, Model: m, Seeds: []web.URL{s.Start},
	}
	defer mk.Close()
	c, err := mk.Crawl(ctx)
	if err != nil {
		return nil, err
	}
	until, enough := context.WithCancel(ctx)
	defer enough()
	pages, all := 0, len(s.goals(l.kind))
	c.Policy.IgnoreDirectives = true
	c.Listen = func(e event.Event) {
		if e, ok := e.(event.Fetched); ok {
			pages++
			if slices.Contains(s.Labels[e.URL], l.kind) {
				hits = append(hits, pages)
			}
			if len(hits) == all {
				enough()
			}
		}
	}
	_, err = sim.Run(until, c, inSite{t.Pages, s}, sim.Options{Seed: t.Seed, IgnoreRobots: true})
	if until.Err() != nil {
		err = ctx.Err() // enough is no error
	}
	return hits, err
}

// Result is how one strategy fared on the sites that have goals of a kind.
type Result struct {
	Kind, Strategy string
	Sites          int             // with goals, over all draws
	First          eval.Interval   // pages to the first goal; the largest budget where there is none
	At             []Found         // by budget
	Curve          []float64       // [1…largest budget]: share of a site's goals found, in the mean over sites
	Against        eval.Comparison // the first strategy against this one: share of goals at the first budget, by site
}

// Found is what a budget brought.
type Found struct {
	Any     float64       // share of sites with a goal
	Goals   float64       // in the mean
	Share   eval.Interval // of a site's goals
	Harvest float64       // goals a page of the budget
}

// siteSums are what the crawls of one site came to, summed over its draws.
type siteSums struct {
	n, first                   float64
	any, goals, share, harvest []float64 // by budget
	curve                      []float64
}

// add adds a crawl, which found hits of all goals.
func (s *siteSums) add(budgets, hits []int, all int) {
	most := budgets[len(budgets)-1]
	s.n++
	first := most
	if len(hits) > 0 {
		first = hits[0]
	}
	s.first += float64(first)
	for k, b := range budgets {
		n, _ := slices.BinarySearch(hits, b+1)
		if n > 0 {
			s.any[k]++
		}
		s.goals[k] += float64(n)
		s.share[k] += float64(n) / float64(all)
		s.harvest[k] += float64(n) / float64(b)
	}
	for _, h := range hits {
		for k := h - 1; k < most; k++ {
			s.curve[k] += 1 / float64(all)
		}
	}
}

// Try crawls all sites with all strategies. Means are over sites, of each the
// mean of its draws; intervals are 95 % bootstraps over sites.
func (t *Sites) Try(ctx context.Context, tell func(string)) ([]Result, error) {
	lessons, err := t.lessons(ctx)
	if err != nil {
		return nil, err
	}
	var out []Result
	for _, kind := range t.Kinds {
		shares := map[string]map[eval.TopicID]float64{}
		begin := len(out)
		for _, strategy := range t.Strategies {
			sites, err := t.try(ctx, lessons, kind, strategy, tell)
			if err != nil {
				return nil, err
			}
			row := t.result(sites)
			row.Kind, row.Strategy = kind, strategy
			shares[strategy] = map[eval.TopicID]float64{}
			for i, s := range sites {
				shares[strategy][eval.TopicID{Web: kind, Topic: t.Sites[i].Base}] = s.share[0] / s.n
			}
			topics, a, b := eval.Pair(shares[t.Strategies[0]], shares[strategy])
			row.Against = eval.Compare(topics, a, b, 1, t.Seed)
			out = append(out, row)
		}
		slices.SortStableFunc(out[begin:], func(a, b Result) int { return cmp.Compare(b.At[0].Share.Mean, a.At[0].Share.Mean) })
	}
	return out, nil
}

// try crawls the sites that have goals of a kind with one strategy, in all draws. The
// sums are by the numbers of the sites.
func (t *Sites) try(ctx context.Context, lessons []siteLesson, kind, strategy string, tell func(string)) (map[int]*siteSums, error) {
	by, err := parseStrategy(strategy)
	if err != nil {
		return nil, err
	}
	sites := map[int]*siteSums{}
	for i := range lessons {
		l := &lessons[i]
		if l.kind != kind {
			continue
		}
		tell(fmt.Sprintf("%s, %s, draw %d", kind, strategy, l.draw+1))
		for _, site := range l.test {
			all := len(t.Sites[site].goals(kind))
			if all == 0 {
				continue
			}
			hits, err := t.crawl(ctx, l, by, site)
			if err != nil {
				return nil, err
			}
			if sites[site] == nil {
				b := len(t.Budgets)
				sites[site] = &siteSums{
					any: make([]float64, b), goals: make([]float64, b), share: make([]float64, b), harvest: make([]float64, b),
					curve: make([]float64, t.Budgets[b-1]),
				}
			}
			sites[site].add(t.Budgets, hits, all)
		}
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("no site but those that teach has pages labelled %s", kind)
	}
	return sites, nil
}

// result is what the sums of sites come to.
func (t *Sites) result(sites map[int]*siteSums) Result {
	row := Result{Curve: make([]float64, t.Budgets[len(t.Budgets)-1])}
	mean := func(of func(*siteSums) float64) (values []float64) {
		for i := range t.Sites {
			if s := sites[i]; s != nil {
				values = append(values, of(s)/s.n)
			}
		}
		return values
	}
	boot := func(values []float64) eval.Interval {
		return eval.Bootstrap(values, 0.95, 2000, rand.New(rand.NewPCG(t.Seed, 0x626f6f74)))
	}
	average := func(values []float64) (sum float64) {
		for _, v := range values {
			sum += v
		}
		return sum / float64(len(values))
	}
	for _, s := range sites {
		row.Sites += int(s.n)
	}
	row.First = boot(mean(func(s *siteSums) float64 { return s.first }))
	for k := range t.Budgets {
		row.At = append(row.At, Found{
			Any:     average(mean(func(s *siteSums) float64 { return s.any[k] })),
			Goals:   average(mean(func(s *siteSums) float64 { return s.goals[k] })),
			Share:   boot(mean(func(s *siteSums) float64 { return s.share[k] })),
			Harvest: average(mean(func(s *siteSums) float64 { return s.harvest[k] })),
		})
	}
	for k := range row.Curve {
		row.Curve[k] = average(mean(func(s *siteSums) float64 { return s.curve[k] }))
	}
	return row
}

// Check finds what is wrong before anything is crawled.
func (t *Sites) Check() error {
	if len(t.Budgets) == 0 || t.Budgets[0] < 1 || !slices.IsSorted(t.Budgets) {
		return errors.New("budgets are pages of a site, ascending and above 0")
	}
	if t.Draws < 1 || t.Teach < 1 || t.Goals < t.Teach || t.Wrong < 0 {
		return errors.New("at least one draw, one site that teaches and a goal of each, and no fewer than 0 wrong turns")
	}
	for _, s := range t.Sites {
		if !t.Pages.Has(s.Start) {
			return fmt.Errorf("the start page %s is not in the record", s.Start)
		}
		for u := range s.Labels {
			if !t.Pages.Has(u) {
				return fmt.Errorf("the labelled page %s is not in the record", u)
			}
		}
	}
	for _, text := range t.Strategies {
		if _, err := parseStrategy(text); err != nil {
			return err
		}
	}
	return nil
}
