package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
)

// Curves are what one strategy of a lab found.
type Curves struct {
	dir, scorer string
	cells       []eval.Cell
}

// Curve is what a strategy found on a topic: the mean over its crawls of it.
// Shapes: Points, Hits [P].
type Curve struct {
	Web    string
	Points []int     // pages fetched, ascending
	Hits   []float64 // relevant ones among them, by the truth of the lab
	Crawls int
}

// ReadCurves reads what a strategy, by its name in the lab file, found by the results in dir.
func ReadCurves(dir, scorer string) (*Curves, error) {
	f, err := readResults(dir)
	if err != nil {
		return nil, err
	}
	r, err := f.results(dir)
	if err != nil {
		return nil, err
	}
	c := &Curves{dir: dir, scorer: scorer}
	for _, x := range r.Cells {
		if x.Scorer == scorer && x.Error == "" {
			c.cells = append(c.cells, x)
		}
	}
	if len(c.cells) == 0 {
		return nil, fmt.Errorf("the lab in %s has no crawl of %s: add it to the scorers of its file, and run it again", dir, scorer)
	}
	return c, nil
}

// Of is the curve of a topic, from its near seeds where the lab has both. The topic is the name of one, or WEB/TOPIC where
// several webs have it.
func (c *Curves) Of(topic string) (Curve, error) {
	var of []eval.Cell
	var webs, topics []string
	for _, x := range c.cells {
		topics = append(topics, x.Topic)
		if x.Topic == topic || x.Web+"/"+x.Topic == topic {
			of, webs = append(of, x), append(webs, x.Web)
		}
	}
	slices.Sort(webs)
	slices.Sort(topics)
	webs, topics = slices.Compact(webs), slices.Compact(topics)
	if len(of) == 0 {
		return Curve{}, fmt.Errorf("the lab in %s has no crawl of %s on a topic %q, but on %s", c.dir, c.scorer, topic, strings.Join(topics, ", "))
	}
	if len(webs) > 1 {
		return Curve{}, fmt.Errorf("the lab in %s has the topic %q on %s: give the crawl the name %s/%[2]s, or that of another web", c.dir, topic, strings.Join(webs, " and "), webs[0])
	}
	seeds := slices.MinFunc(of, func(a, b eval.Cell) int { return strings.Compare(a.Seeds, b.Seeds) }).Seeds
	of = slices.DeleteFunc(of, func(x eval.Cell) bool { return x.Seeds != seeds })
	longest := slices.MaxFunc(of, func(a, b eval.Cell) int { return cmp.Compare(last(a.Points), last(b.Points)) })
	out := Curve{Web: webs[0], Points: longest.Points, Hits: make([]float64, len(longest.Points)), Crawls: len(of)}
	for _, x := range of {
		for i, n := range out.Points {
			out.Hits[i] += hitsAt(x, n) / float64(len(of))
		}
	}
	return out, nil
}

// last is the greatest of ascending points, 0 of none.
func last(points []int) int {
	if len(points) == 0 {
		return 0
	}
	return points[len(points)-1]
}

// hitsAt is what a crawl had found after n pages, or at its last point before: a crawl that ended
// earlier than others keeps what it had.
func hitsAt(x eval.Cell, n int) float64 {
	i, at := slices.BinarySearch(x.Points, n)
	if !at {
		i--
	}
	if i < 0 {
		return 0
	}
	return x.Hits[i]
}
