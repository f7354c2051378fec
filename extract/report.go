package extract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Report tells how sure what was learnt is of pages whose values nobody knows.
type Report struct {
	Fields []FieldReport
	// Doubts are the pages on which rules that agree on the examples tell different
	// things, or nothing: those whose values would teach most come first.
	Doubts []Doubt

	byPage map[int]*Doubt
	kinds  map[int][]string
}

// FieldReport tells of a field.
type FieldReport struct {
	Name   string
	Agree  int // others on which the rules give one value
	Differ int // on which they give several
	None   int // on which the field has no value
}

// Doubt is a page on which more is to be learnt.
type Doubt struct {
	URL    web.URL
	Alike  int // pages, this one too, of the same host of which the same is in doubt
	Fields []FieldDoubt
	sum    float64
}

// FieldDoubt tells what rules say of a field of a page.
type FieldDoubt struct {
	Name   string
	Values []string // different ones, what most say first; none = the field has no value there
}

// add takes in what the rules of a field say of the others.
func (r *Report) add(l *learner, f Field, others []*Page) {
	if r.byPage == nil {
		r.byPage, r.kinds = map[int]*Doubt{}, map[int][]string{}
	}
	own := FieldReport{Name: f.Name}
	for i, p := range others {
		given := f.values(p)
		votes := map[string]int{}
		total := 0
		for _, c := range l.committee {
			if c.gives == nil || len(c.gives[i]) == 0 {
				continue
			}
			votes[strings.Join(c.gives[i], " | ")]++
			total++
		}
		if len(given) > 0 {
			votes[strings.Join(given, " | ")] += max(1, total)
			total += max(1, total)
		}
		var values []string
		for v := range votes {
			values = append(values, v)
		}
		slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
		doubt := 0.0
		switch {
		case len(given) == 0:
			own.None++
			doubt, values = 1, nil
		case len(values) == 1:
			own.Agree++
		default:
			own.Differ++
			doubt = 1 - float64(votes[values[0]])/float64(total)
		}
		kind := strconv.Itoa(min(len(values), 2))
		r.kinds[i] = append(r.kinds[i], kind)
		if doubt == 0 {
			continue
		}
		d := r.byPage[i]
		if d == nil {
			d = &Doubt{URL: p.url}
			r.byPage[i] = d
		}
		d.sum += doubt
		d.Fields = append(d.Fields, FieldDoubt{f.Name, values[:min(len(values), 3)]})
	}
	r.Fields = append(r.Fields, own)
	r.order(others)
}

// order puts the page first that is most in doubt of the most pages alike, then the one
// of the next kind.
func (r *Report) order(others []*Page) {
	type group struct {
		pages []*Doubt
		sum   float64
	}
	groups := map[string]*group{}
	var names []string
	for i, p := range others {
		d := r.byPage[i]
		if d == nil {
			continue
		}
		key := string(p.url.Host()) + " " + strings.Join(r.kinds[i], " ")
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
			names = append(names, key)
		}
		g.pages, g.sum = append(g.pages, d), g.sum+d.sum
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(groups[b].sum, groups[a].sum) })
	r.Doubts = nil
	for _, n := range names {
		g := groups[n]
		slices.SortStableFunc(g.pages, func(a, b *Doubt) int { return cmp.Compare(b.sum, a.sum) })
		for _, d := range g.pages {
			d.Alike = len(g.pages)
		}
		r.Doubts = append(r.Doubts, *g.pages[0])
	}
	for _, n := range names {
		for _, d := range groups[n].pages[1:] {
			r.Doubts = append(r.Doubts, *d)
		}
	}
}
