package train

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/web"
)

// Study is what a crawl that has ended shows of links and the words around them:
// figures 6 to 9 and 13(a) of Chakrabarti, Punera & Subramanyam 2002. Accuracies
// are of links to a fifth of the targets, by a model of the links to the others.
type Study struct {
	// ByReach is the accuracy for each d_max, 0…MaxReach.
	ByReach []ReachAccuracy
	// Also is that of variants at the d_max of the options: the first is the
	// apprentice as given.
	Also []NamedAccuracy
	// Offsets are −MaxReach…MaxReach.
	Offsets []OffsetFacts
	// Before and After are the links that the crawl left waiting, a sample of
	// them, by R(u) and by Pr(high), in Bins bins of equal width.
	Before, After [Bins]int
}

// MaxReach is the greatest d_max of a study, and Bins the number of bins of
// [0,1].
const (
	MaxReach = 8
	Bins     = 20
)

// ReachAccuracy is the accuracy with and without offsets for one d_max.
type ReachAccuracy struct {
	Reach          int
	Offsets, Plain Accuracy
}

// NamedAccuracy is that of a variant.
type NamedAccuracy struct {
	Name string
	Accuracy
}

// OffsetFacts tell of the leaves at one distance from the links.
type OffsetFacts struct {
	Offset int
	Leaves int            // that there are
	Text   float64        // share of them that hold text: the others are images, line breaks and the like
	Rate   float64        // words there, as a share of all words of the window
	Tags   map[string]int // leaves by their element (web.Page.Tags); nil where pages have none
	Gain   float64        // bits, mean over the words that stand there around three links or more; see gain
	Words  int            // these
}

const (
	mostHeld   = 20_000 // examples held out for one variant
	mostWaited = 20_000 // links that wait, sampled
)

// variant is an apprentice that learns from four fifths of the targets.
type variant struct {
	name string
	*apprentice.Trainer
	held []apprentice.Example
}

// learn takes the examples of a page, or keeps them for accuracy.
func (l *variant) learn(p *web.Page, f visit, c *Crawl) {
	l.Examples(p, f.verdict, func(u web.URL) apprentice.Outcome { return c.outcome(f, u) }, func(link int, x apprentice.Example) {
		switch {
		case !heldOut(p.Links[link].URL):
			l.Learn(x)
		case len(l.held) < mostHeld:
			l.held = append(l.held, x)
		}
	})
}

func (l *variant) accuracy() (a Accuracy) {
	l.Model()
	for _, x := range l.held {
		a.add(l.Trainer, x)
	}
	return a
}

// variants are the apprentices that a study compares.
type variants struct {
	main  *variant
	reach [MaxReach + 1][2]*variant // by d_max, with offsets and plain
	named []*variant
	all   []*variant
}

func (o *ApprenticeOptions) variants() (*variants, error) {
	vs := &variants{}
	add := func(name string, set map[string]float64) (*variant, error) {
		t, err := o.trainer(set)
		if err != nil {
			return nil, err
		}
		v := &variant{name: name, Trainer: t}
		vs.all = append(vs.all, v)
		return v, nil
	}
	var err error
	if vs.main, err = add("as it is", nil); err != nil {
		return nil, err
	}
	for d := range vs.reach {
		for plain := range vs.reach[d] {
			if vs.reach[d][plain], err = add("", map[string]float64{"dmax": float64(d), "plain": float64(plain)}); err != nil {
				return nil, err
			}
		}
	}
	type change struct {
		name, setting string
		value         float64
	}
	changes := []change{{"with the outcomes of links near by", "cocitation", 1}}
	if o.Classes != nil {
		changes = append(changes, change{"without classes of the page", "topics", 0},
			change{"with their names alone", "topics", 1}, change{"with all that stands above them", "topics", 2})
	}
	for _, c := range changes {
		v, err := add(c.name, map[string]float64{c.setting: c.value})
		if err != nil {
			return nil, err
		}
		vs.named = append(vs.named, v)
	}
	return vs, nil
}

// NewStudy reads the pages of a crawl twice.
func NewStudy(ctx context.Context, l CrawlPages, o ApprenticeOptions) (*Study, error) {
	vs, err := o.variants()
	if err != nil {
		return nil, err
	}
	wide, err := o.trainer(map[string]float64{"dmax": MaxReach, "plain": 0})
	if err != nil {
		return nil, err
	}
	total := 2 * l.Crawl.Len()
	tell := func(more int) func(done, _ int) {
		return func(done, _ int) {
			if o.Progress != nil {
				o.Progress(done+more, total)
			}
		}
	}
	if err := l.each(ctx, o.Classes, tell(0), func(p *web.Page, f visit) {
		for _, v := range vs.all {
			v.learn(p, f, l.Crawl)
		}
	}); err != nil {
		return nil, err
	}
	s := &Study{}
	for d, v := range vs.reach {
		s.ByReach = append(s.ByReach, ReachAccuracy{d, v[0].accuracy(), v[1].accuracy()})
	}
	for _, v := range append([]*variant{vs.main}, vs.named...) {
		s.Also = append(s.Also, NamedAccuracy{v.name, v.accuracy()})
	}
	around := newSurvey()
	waiting := map[web.URL]bool{}
	err = l.each(ctx, o.Classes, tell(l.Crawl.Len()), func(p *web.Page, f visit) {
		outcome := func(u web.URL) apprentice.Outcome { return l.Crawl.outcome(f, u) }
		wide.Examples(p, f.verdict, outcome, func(link int, x apprentice.Example) {
			around.take(wide, p, link, vs.main.High(x))
		})
		// Links that wait, as they were first found in the archive.
		vs.main.Examples(p, f.verdict, func(u web.URL) apprentice.Outcome {
			new := l.Crawl.Waits(u) && !waiting[u] && xxh3.HashString(u.String())%7 == 0 && len(waiting) < mostWaited
			return apprentice.Outcome{Fetched: new, Later: new}
		}, func(link int, x apprentice.Example) {
			waiting[p.Links[link].URL] = true
			s.Before[bin(f.verdict.Relevance)]++
			s.After[bin(vs.main.Predict(x))]++
		})
	})
	if err != nil {
		return nil, err
	}
	s.Offsets = around.facts()
	return s, nil
}

// bin is the one of a number in [0,1].
func bin(x float64) int { return max(0, min(Bins-1, int(x*Bins))) }

// survey counts the words around links.
type survey struct {
	links  [2]int // low, high
	leaves map[int]*[2]int
	tags   map[int]map[string]int
	words  map[int]int                // by offset, all
	of     map[int]map[string]*[2]int // by offset: links of each side around which the word stands there
}

func newSurvey() *survey {
	return &survey{leaves: map[int]*[2]int{}, tags: map[int]map[string]int{}, words: map[int]int{}, of: map[int]map[string]*[2]int{}}
}

func (s *survey) take(t *apprentice.Trainer, p *web.Page, link int, high bool) {
	class := boolInt(high)
	s.links[class]++
	type at struct {
		word   string
		offset int
	}
	seen := map[at]bool{}
	t.Surroundings(p, link, func(word string, d int) {
		s.words[d]++
		if seen[at{word, d}] {
			return
		}
		seen[at{word, d}] = true
		if s.of[d] == nil {
			s.of[d] = map[string]*[2]int{}
		}
		if s.of[d][word] == nil {
			s.of[d][word] = new([2]int)
		}
		s.of[d][word][class]++
	})
	l := &p.Links[link]
	for d := -MaxReach; d <= MaxReach; d++ {
		i := l.Last + d
		if d < 0 {
			i = l.First + d
		}
		if l.First > l.Last || i < 0 || i >= len(p.Leaves) {
			continue
		}
		if s.leaves[d] == nil {
			s.leaves[d] = new([2]int)
		}
		s.leaves[d][0]++
		if len(p.Tags) == len(p.Leaves) {
			if s.tags[d] == nil {
				s.tags[d] = map[string]int{}
			}
			s.tags[d][p.Tags[i]]++
		}
		s.leaves[d][1] += boolInt(strings.TrimSpace(p.Leaves[i].Text) != "")
	}
}

func (s *survey) facts() (out []OffsetFacts) {
	total := 0
	for _, n := range s.words {
		total += n
	}
	for d := -MaxReach; d <= MaxReach; d++ {
		f := OffsetFacts{Offset: d, Tags: s.tags[d], Rate: float64(s.words[d]) / float64(max(1, total))}
		if n := s.leaves[d]; n != nil {
			f.Leaves, f.Text = n[0], float64(n[1])/float64(n[0])
		}
		var sum float64
		for _, word := range slices.Sorted(maps.Keys(s.of[d])) { // the same sum each time
			n := s.of[d][word]
			if n[0]+n[1] >= 3 {
				sum += gain(s.links, *n)
				f.Words++
			}
		}
		f.Gain = sum / float64(max(1, f.Words))
		out = append(out, f)
	}
	return out
}

// gain is the information in bits that a word at an offset gives of where a
// link leads, [class] being links in all and with the word there:
//
//	IG = H(C) − P(w)·H(C|w) − P(¬w)·H(C|¬w)
func gain(all, with [2]int) float64 {
	n := float64(all[0] + all[1])
	p := float64(with[0]+with[1]) / n
	without := [2]int{all[0] - with[0], all[1] - with[1]}
	return max(0, entropy(all)-p*entropy(with)-(1-p)*entropy(without))
}

func entropy(n [2]int) (bits float64) {
	total := float64(n[0] + n[1])
	for _, k := range n {
		if k > 0 {
			bits -= float64(k) / total * math.Log2(float64(k)/total)
		}
	}
	return bits
}
