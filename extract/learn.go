package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Example is a page with the values that a person found on it.
type Example struct {
	Page   *Page
	Values []Value // of each field
}

// Value is what a person says of a field of a page.
type Value struct {
	Known bool     // false = not looked at
	Texts []string // none = the page has no such value
}

// Column is a field to learn.
type Column struct {
	Name string
	Many bool
}

// Bounds on what is tried.
const (
	maxRules     = 8_000 // selectors of a field that are tried, of each example
	maxCommittee = 40    // rules that agree with all examples, asked about other pages
	maxAlternate = 5     // selectors of a learnt field
)

// partWorth is the worth of a value that is cut out of a text, by that of one that is all text of
// an element: what is cut by a form has that form on any page.
const partWorth = 0.8

// ErrUnlike is wrapped by the error of Learn where the examples of a field have nothing in
// common that tells their values from the rest of their pages.
var ErrUnlike = errors.New("no selector gives one of these values and nothing wrong on the other pages filled in")

// Learn finds, for each column, selectors that give the values of the examples and
// nothing else on them. others are more pages of the kind, whose values nobody knows: of
// selectors that do equally well on the examples, those are taken that give one value of
// the form of the examples on most of the others, and different ones on different pages.
//
// A selector is the tag path of a value, generalised to a suffix of it, with the words
// before the value and the form of it where they help. A field has several, in turn: so
// many that all examples are told, and then those that tell other pages and agree with
// the ones before. What was learnt of each page is in the Report.
//
// Sources: Kushmerick, Weld and Doorenbos (1997), section 3, delimiters around values;
// Muslea, Minton and Knoblock (1999), section 4, landmarks and ordered covering; Muslea,
// Minton and Knoblock (2000), section 3, asking where redundant rules disagree.
func Learn(ctx context.Context, columns []Column, examples []Example, others []*Page) (*Fields, *Report, error) {
	out := &Fields{}
	report := &Report{}
	var errs []error
	for i, c := range columns {
		l := learner{ctx: ctx, many: c.Many, compiled: map[string]css{}, expressions: map[string]*regexp.Regexp{}}
		for _, e := range examples {
			if v := e.Values[i]; v.Known {
				l.examples = append(l.examples, labelledPage{e.Page, normal(v.Texts)})
			}
		}
		l.others = others
		f, err := l.field(c.Name)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			errs = append(errs, err)
			continue
		}
		out.Fields = append(out.Fields, f)
		report.add(&l, f, others)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return out, report, nil
}

func normal(texts []string) (out []string) {
	for _, t := range texts {
		if t = value(t); t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// learner learns one field.
type learner struct {
	ctx      context.Context
	many     bool
	examples []labelledPage
	others   []*Page

	like      likeness
	distinct  bool     // the values of the examples differ
	patterns  []string // the forms of the examples
	committee []*rule  // rules that agree with all examples

	compiled    map[string]css // by their texts
	expressions map[string]*regexp.Regexp
}

// labelledPage is a page with its values.
type labelledPage struct {
	page   *Page
	values []string
}

// rule is a selector that is tried.
type rule struct {
	Selector
	key   string
	right []bool // [examples] it gives the values
	count int    // of right
	prior int    // how plain it is: less is plainer
	worth float64
	gives [][]string // [others]
}

func (l *learner) field(name string) (Field, error) {
	var values []string
	for _, e := range l.examples {
		values = append(values, e.values...)
	}
	if len(values) == 0 {
		return Field{}, fmt.Errorf("%s: no page has a value of it: fill in some", name)
	}
	l.like = likenessOf(values)
	l.patterns = patterns(values)
	for i := 0; len(values) > 2 && len(l.patterns) == 0 && i < len(values); i++ { // one is written otherwise
		l.patterns = patterns(slices.Concat(values[:i], values[i+1:]))
	}
	first := map[string]bool{}
	for _, v := range values {
		first[v] = true
	}
	l.distinct = len(first) == len(values) && len(values) > 1
	rules, err := l.rules(name)
	if err != nil {
		return Field{}, err
	}
	chosen := l.choose(rules)
	f := Field{Name: name, Many: l.many}
	for _, r := range chosen {
		f.From = append(f.From, r.Selector)
	}
	if len(f.From) == 1 {
		f.Selector, f.From = f.From[0], nil
	}
	return f, nil
}

// rules are those that are right on an example and wrong on none, the best first.
func (l *learner) rules(name string) ([]*rule, error) {
	byKey := map[string]bool{}
	var good []*rule
	tried := 0
	for i, e := range l.examples {
		if len(e.values) == 0 {
			continue
		}
		found := false
		seen := map[string]bool{} // of this example
		for s := range l.candidates(e.page, e.values[0]) {
			found = true
			if l.ctx.Err() != nil {
				return nil, l.ctx.Err()
			}
			own := s.key()
			if seen[own] {
				continue
			}
			seen[own] = true
			if tried++; tried > maxRules*(i+1) {
				break // each is looked for on the page, whether it finds the value or not
			}
			for _, own := range l.placed(s, e) {
				key := own.key()
				if byKey[key] {
					continue
				}
				byKey[key] = true
				if r := l.try(own, key); r != nil {
					good = append(good, r)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: %q stands nowhere on %s: write it as the page has it", name, e.values[0], e.page.url)
		}
	}
	if len(good) == 0 {
		return nil, fmt.Errorf("%s: %w: are they all of one kind? Another page filled in may help", name, ErrUnlike)
	}
	l.weigh(good)
	return good, nil
}

// key is a selector as one text.
func (s *Selector) key() string {
	return strings.Join([]string{s.CSS, s.Take, s.After, s.Until, s.Pattern, strconv.Itoa(int(s.At))}, "\x00")
}

// placed are s for the place that the value has among those that it finds on the page
// of an example; none if it does not find it.
func (l *learner) placed(s Selector, e labelledPage) []Selector {
	all := s.all(e.page)
	if l.many {
		if slices.Equal(sorted(all), sorted(e.values)) {
			return []Selector{s}
		}
		return nil
	}
	i := slices.Index(all, e.values[0])
	if i < 0 {
		return nil
	}
	out := []Selector{s}
	if i > 0 {
		out = nil
		if i < 5 {
			s.At = Place(i + 1)
			out = append(out, s)
		}
	}
	if back := len(all) - i; len(all) > 1 && back <= 3 {
		s.At = Place(-back)
		out = append(out, s)
	}
	return out
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// try is the rule of a selector, nil if it is wrong on an example.
func (l *learner) try(s Selector, key string) *rule {
	r := &rule{Selector: s, key: key, right: make([]bool, len(l.examples))}
	for i, e := range l.examples {
		got := s.values(e.page, l.many)
		switch {
		case slices.Equal(sorted(got), sorted(e.values)):
			if r.right[i] = true; len(e.values) > 0 {
				r.count++
			}
		case len(got) > 0:
			return nil
		}
	}
	if r.count == 0 {
		return nil
	}
	alone := s.whole && s.After == "" && s.At == 0
	for i, e := range l.examples {
		alone = alone && (!r.right[i] || len(e.values) == 0 || len(s.all(e.page)) == 1)
	}
	r.prior = plainness(s, alone)
	return r
}

// plainness orders selectors that do equally well: what names the place of a value more
// closely comes first, what hangs on chance last. alone says that the value is all text of the
// only element that the path finds, which no words before it need tell from others.
func plainness(s Selector, alone bool) int {
	n := 0
	steps := strings.Count(s.CSS, ">") + 1
	n += max(steps-3, 3-steps) // three steps of a path
	n += 3 * strings.Count(s.CSS, "nth-of-type")
	switch {
	case s.After != "":
		n += max(0, len(s.after)-2)
	case !alone:
		n += 2
	}
	if s.Until != "" {
		n += 2
	}
	switch s.Pattern {
	case "":
		if !alone {
			n++
		}
	case namesForm: // many words that are no names have it
		n += 2
	}
	switch {
	case s.At != 0 && s.At != 1:
		n += 2 * int(max(s.At, -s.At))
	}
	switch s.Take {
	case "own":
		n++
	case "", "text":
	default:
		n += 2
	}
	return n
}

// weigh orders rules by what they do on the examples, and then on the other pages.
func (l *learner) weigh(rules []*rule) {
	order := func(a, b *rule) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.worth, a.worth), cmp.Compare(a.prior, b.prior), cmp.Compare(a.key, b.key))
	}
	slices.SortFunc(rules, order)
	for _, r := range rules[:min(len(rules), 600)] {
		r.gives = make([][]string, len(l.others))
		different := map[string]bool{}
		for i, p := range l.others {
			if l.ctx.Err() != nil {
				return
			}
			got := r.values(p, l.many)
			if r.gives[i] = got; len(got) == 0 {
				continue
			}
			again := different[got[0]]
			different[got[0]] = true
			n := 1.0
			if !l.many && r.Selector.At == 0 {
				n = float64(len(r.all(p)))
			}
			if r.CSS == "body" && r.pattern != nil {
				n = float64(len(p.distinct(r.pattern)))
			}
			switch {
			case slices.ContainsFunc(got, func(v string) bool { return !l.like.has(v) }):
				r.worth--
			case again && l.distinct && !l.many:
				// It is of the site, and not of the page, such as the mail of a webmaster.
				r.worth -= 0.25
			case r.whole:
				r.worth += 0.5 + 0.5/n
			default:
				r.worth += partWorth * (0.5 + 0.5/n)
			}
		}
	}
	slices.SortFunc(rules, order)
}

// distinct are the different texts on a page that a pattern matches, up to 20 matches.
func (p *Page) distinct(pattern *regexp.Regexp) []string {
	i := slices.IndexFunc(p.elements, func(e element) bool { return e.node.Data == "body" })
	if i < 0 {
		return nil
	}
	all := pattern.FindAllString(p.text(i), 20)
	slices.Sort(all)
	return slices.Compact(all)
}

// choose takes rules in turn until all examples are told, and then those that tell more
// of the other pages and agree with what was taken where both tell something.
func (l *learner) choose(rules []*rule) (chosen []*rule) {
	told := make([]bool, len(l.examples))
	for len(chosen) < maxAlternate {
		var best *rule
		bestNew := 0
		for _, r := range rules {
			n := 0
			for i, ok := range r.right {
				if ok && !told[i] && len(l.examples[i].values) > 0 {
					n++
				}
			}
			if n > bestNew || n == bestNew && n > 0 && r.worth > best.worth {
				best, bestNew = r, n
			}
		}
		if best == nil {
			break
		}
		chosen = append(chosen, best)
		for i, ok := range best.right {
			told[i] = told[i] || ok
		}
	}
	for _, r := range rules {
		if r.count == rules[0].count && len(l.committee) < maxCommittee {
			l.committee = append(l.committee, r)
		}
	}
	gives := make([][]string, len(l.others)) // by the chosen ones
	for i := range l.others {
		for _, r := range chosen {
			if r.gives != nil && len(gives[i]) == 0 {
				gives[i] = r.gives[i]
			}
		}
	}
	for len(chosen) < maxAlternate && len(l.others) > 0 {
		var best *rule
		most := max(0.5, float64(len(l.others))/50)
		for _, r := range rules {
			if r.gives == nil || r.count < min(2, rules[0].count) || r.worth <= 0 {
				continue
			}
			gain, both, same := 0.0, 0, 0
			for i, got := range r.gives {
				switch {
				case len(got) == 0:
				case len(gives[i]) == 0:
					if l.like.has(got[0]) {
						gain++
					} else {
						gain--
					}
				default:
					if both++; slices.Equal(got, gives[i]) {
						same++
					}
				}
			}
			if both > 0 {
				gain *= float64(same) / float64(both)
			}
			if !r.whole && chosen[0].whole && slices.Contains(l.patterns, namesForm) && gain <= float64(len(l.others))/5 {
				continue // titles of a few other pages have the form of a name too
			}
			if gain > most && 5*same >= 4*both && both > 0 {
				best, most = r, gain
			}
		}
		if best == nil {
			break
		}
		chosen = append(chosen, best)
		for i := range gives {
			if len(gives[i]) == 0 {
				gives[i] = best.gives[i]
			}
		}
	}
	return chosen
}
