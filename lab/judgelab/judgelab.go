// Package judgelab measures how far a judge is right on recorded webs: before it
// has seen a page of the web and after the first pages of a crawl, with few and
// many examples.
package judgelab

import (
	"container/heap"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Trial is what is measured. Its life: fill it in, Run, and write the rows.
type Trial struct {
	Webs  []*Web
	Judge string // "" = topic
	Pages int    // of the walk in each topic; 0 = 600
	Told  string // the one Condition that is measured, as String has it; "" = all
}

// Condition is what a judge is told.
type Condition struct {
	Keywords, Description bool
	Examples              int
	// Read takes the examples that people chose, and Bad of them are pages unlike
	// what is wanted.
	Read bool
	Bad  int
}

// String names the condition in a few letters: K for keywords, D for the
// description, the number of examples, "read" for those that people chose.
func (c Condition) String() string {
	s := ""
	if c.Keywords {
		s = "keywords"
	}
	if c.Description {
		s += " and description"
	}
	if c.Examples > 0 || s == "" {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprint(c.Examples)
		if c.Read {
			s += " read"
		}
		s += " examples"
		if c.Examples == 1 {
			s = strings.TrimSuffix(s, "s")
		}
	}
	if c.Bad > 0 {
		s += fmt.Sprintf(", %d of them bad", c.Bad)
	}
	return s
}

// conditions are those measured on webs with their own truth, and on pages that
// were read.
func conditions(read bool) (out []Condition) {
	written := Condition{Keywords: true, Description: true}
	if !read {
		out = append(out, Condition{Keywords: true})
		for _, n := range []int{1, 2, 3, 8} {
			c := written
			c.Examples = n
			out = append(out, c)
		}
		for _, n := range []int{1, 2, 3, 8} {
			out = append(out, Condition{Examples: n})
		}
		return out
	}
	out = append(out, Condition{Keywords: true})
	for _, c := range []Condition{{Examples: 8}, {Examples: 1, Read: true}, {Examples: 3, Read: true}, {Examples: 8, Read: true}, {Examples: 8, Read: true, Bad: 1}, {Examples: 8, Read: true, Bad: 2}} {
		c.Keywords, c.Description = true, true
		out = append(out, c)
	}
	return out
}

// InWalk is the moment at the end of a walk, when a judge is measured on the pages
// of the walk themselves.
const InWalk = -1

// Moments are the numbers of pages of a walk after which a judge is measured on the
// whole web, and InWalk.
func Moments() []int { return []int{0, 64, 256, InWalk} }

// Row is what was measured of one judge, in one condition, at one moment.
type Row struct {
	Web, Topic string
	Condition  Condition
	Read       bool // measured on pages that were read, by what the readers said
	At         int  // pages seen, or InWalk
	Tally
}

// Tally counts judged pages. Pages weigh as many pages of the web as they stand
// for.
type Tally struct {
	Pages, Relevant, Listed, Correct float64
	ListedPages                      int         // without weights
	AtR                              float64     // precision at R, see tallied
	Bins                             metric.Bins // ten, by relevance
}

// Precision is the share of what is listed that is relevant; NaN if nothing is.
func (t *Tally) Precision() float64 { return t.Correct / t.Listed }

// Recall is the share of what is relevant that is listed.
func (t *Tally) Recall() float64 { return t.Correct / t.Relevant }

// ECE is the expected calibration error.
func (t *Tally) ECE() float64 { return t.Bins.ECE() }

// add counts the pages of another tally as well.
func (t *Tally) add(o *Tally) {
	t.Pages += o.Pages
	t.Relevant += o.Relevant
	t.Listed += o.Listed
	t.Correct += o.Correct
	t.ListedPages += o.ListedPages
	t.Bins = t.Bins.Plus(o.Bins)
}

// observation is the relevance and the similarity of a page as a judge gives them, with
// the truth.
type observation struct {
	metric.Prediction // of the relevance
	similarity        float64
}

// tallied counts pages. Precision at R is the share of relevant pages among
// as many pages, by falling similarity, as are relevant:
//
//	P@R = 1/R · |relevant ∩ first R|
func tallied(all []observation, threshold float64) (t Tally) {
	t.Bins = make(metric.Bins, 10)
	for _, x := range all {
		is := 0.
		if x.Positive {
			is = x.Weight
		}
		t.Pages += x.Weight
		t.Relevant += is
		t.Bins.Add(x.Prediction)
		if x.Score >= threshold {
			t.Listed += x.Weight
			t.Correct += is
			t.ListedPages++
		}
	}
	slices.SortStableFunc(all, func(a, b observation) int {
		switch {
		case a.similarity > b.similarity:
			return -1
		case a.similarity < b.similarity:
			return 1
		}
		return 0
	})
	first, hits := 0., 0.
	for _, x := range all {
		if first >= t.Relevant {
			break
		}
		first += x.Weight
		if x.Positive {
			hits += x.Weight
		}
	}
	t.AtR = hits / t.Relevant
	return t
}

// Run measures everything. tell is told what is done.
func (t *Trial) Run(ctx context.Context, tell func(done, all int)) ([]Row, error) {
	type task struct {
		w *Web
		t *Topic
		c Condition
		n int // place of its rows
	}
	var tasks []task
	for _, w := range t.Webs {
		for _, x := range w.Topics {
			for _, read := range []bool{false, true} {
				if read && len(x.Read) == 0 {
					continue
				}
				for _, c := range conditions(read) {
					if t.Told != "" && c.String() != t.Told || c.Read && len(x.Chosen) < 8 || slices.ContainsFunc(tasks, func(k task) bool { return k.t == x && k.c == c }) {
						continue
					}
					tasks = append(tasks, task{w, x, c, len(tasks)})
				}
			}
		}
	}
	rows, errs := make([][]Row, len(tasks)), make([]error, len(tasks))
	next := make(chan task, len(tasks))
	for _, k := range tasks {
		next <- k
	}
	close(next)
	var group sync.WaitGroup
	var done int
	var lock sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for k := range next {
				if ctx.Err() == nil {
					rows[k.n], errs[k.n] = t.measure(ctx, k.w, k.t, k.c)
				}
				lock.Lock()
				done++
				tell(done, len(tasks))
				lock.Unlock()
			}
		})
	}
	group.Wait()
	for _, err := range append(errs, ctx.Err()) {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(rows...), nil
}

// measure makes a judge and walks with it.
func (t *Trial) measure(ctx context.Context, w *Web, x *Topic, c Condition) (rows []Row, err error) {
	told := &topic.Topic{Name: x.Name}
	if c.Keywords {
		told.Keywords = x.Keywords
	}
	if c.Description {
		told.Description = x.Description
	}
	examples := x.Examples
	if c.Read {
		examples = x.Chosen
	}
	told.Examples = slices.Clone(examples[:min(c.Examples-c.Bad, len(examples))])
	told.Examples = append(told.Examples, x.Unlike[:min(c.Bad, len(x.Unlike))]...)
	name := t.Judge
	if name == "" {
		name = "topic"
	}
	j, err := judge.New(name, told, judge.Options{Analyzer: w.analyzer})
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", w.Name, x.Name, err)
	}
	defer j.Close()
	shown := map[web.URL]bool{}
	for u := range x.Shown {
		shown[u] = true
	}
	for _, p := range told.Examples {
		shown[p.URL] = true
	}
	of := func(at int, read bool, all []observation) {
		if len(all) > 0 {
			rows = append(rows, Row{w.Name, x.Name, c, read, at, tallied(all, j.Threshold())})
		}
	}
	look := func(at int) error {
		var all, read []observation
		for i, p := range w.Pages {
			if shown[p.URL] {
				continue
			}
			grade, known := x.grade(p)
			v, err := j.Judge(ctx, p)
			if err != nil {
				return err
			}
			y := observation{metric.Prediction{Score: v.Relevance, Positive: x.relevant[p.Digest], Weight: w.weights[i]}, v.Similarity}
			all = append(all, y)
			if known {
				y.Weight, y.Positive = 1, grade > 0
				read = append(read, y)
			}
		}
		of(at, false, all)
		of(at, true, read)
		return nil
	}
	if err := look(0); err != nil {
		return nil, err
	}
	seen, err := t.walk(ctx, w, x, j, look)
	if err != nil {
		return nil, err
	}
	seen = slices.DeleteFunc(seen, func(p *web.Page) bool { return shown[p.URL] })
	weights := w.standFor(x, seen)
	var all, read []observation
	for i, p := range seen {
		v, err := j.Judge(ctx, p)
		if err != nil {
			return nil, err
		}
		y := observation{metric.Prediction{Score: v.Relevance, Positive: x.relevant[p.Digest], Weight: 1}, v.Similarity}
		all = append(all, y)
		if grade, known := x.grade(p); known {
			y.Weight, y.Positive = weights[i], grade > 0
			read = append(read, y)
		}
	}
	of(InWalk, false, all)
	of(InWalk, true, read)
	return rows, nil
}

// walk goes through the web from the seeds of a topic, always along the best link
// by the relevance of its page and the likeness of its anchor, half each, without
// hosts, delays or robots.txt, and returns the pages, copies once. After each
// moment look is called.
func (t *Trial) walk(ctx context.Context, w *Web, x *Topic, j judge.Judge, look func(at int) error) (seen []*web.Page, err error) {
	budget := t.Pages
	if budget == 0 {
		budget = 600
	}
	var q queue
	best, done := map[web.URL]float64{}, map[web.URL]bool{}
	push := func(u web.URL, priority float64) {
		if before, waits := best[u]; done[u] || waits && before >= priority {
			return
		}
		best[u] = priority
		heap.Push(&q, link{priority, u, len(best) + len(q)})
	}
	for _, u := range x.Seeds {
		push(u, 2)
	}
	bodies := map[[16]byte]bool{}
	adapting, _ := j.(crawl.AdaptiveJudge)
	for n := 0; len(q) > 0 && n < budget && ctx.Err() == nil; {
		u := heap.Pop(&q).(link).u
		if done[u] {
			continue
		}
		done[u] = true
		p := w.page(u)
		if p == nil {
			continue
		}
		n++
		v, err := j.Judge(ctx, p)
		if err != nil {
			return nil, err
		}
		if !bodies[p.Digest] {
			bodies[p.Digest] = true
			seen = append(seen, p)
			if adapting != nil {
				adapting.Observe(p, v)
			}
		}
		for i := range p.Links {
			push(p.Links[i].URL, 0.5*v.Relevance+0.5*j.Text(p.Links[i].Anchor))
		}
		if slices.Contains(Moments(), n) {
			if err := look(n); err != nil {
				return nil, err
			}
		}
	}
	return seen, ctx.Err()
}

// link waits in a queue: the best first, of equal ones the oldest.
type link struct {
	priority float64
	u        web.URL
	n        int
}

type queue []link

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool {
	if q[a].priority != q[b].priority {
		return q[a].priority > q[b].priority
	}
	return q[a].n < q[b].n
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(x any)   { *q = append(*q, x.(link)) }
func (q *queue) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}
