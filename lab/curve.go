package lab

import (
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
	out := Curve{Web: webs[0]}
	for _, x := range of {
		if x.Seeds != seeds || out.Crawls > 0 && !slices.Equal(x.Points, out.Points) {
			continue
		}
		if out.Crawls++; out.Crawls == 1 {
			out.Points, out.Hits = x.Points, make([]float64, len(x.Points))
		}
		for i, h := range x.Hits {
			out.Hits[i] += (h - out.Hits[i]) / float64(out.Crawls)
		}
	}
	return out, nil
}
