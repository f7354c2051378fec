package eval_test

import (
	"fmt"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A web of four pages, a crawl that took three of them, and what it was worth.
func Example() {
	page := func(path string) web.URL {
		u, err := web.Parse("http://bees.example/" + path)
		if err != nil {
			panic(err)
		}
		return u
	}
	b := eval.NewBuilder()
	b.Page(page(""), "home", []web.URL{page("shop"), page("dance")})
	b.Page(page("shop"), "shop", nil)
	b.Page(page("dance"), "dance", []web.URL{page("honey")})
	b.Page(page("honey"), "honey", nil)
	graph := b.Graph()

	seeds := []web.URL{page("")}
	relevant := map[web.URL]bool{page("dance"): true, page("honey"): true}
	truth := graph.Truth(relevant, seeds, nil)
	possible := graph.Reference(truth, seeds, 3)

	rec := eval.NewRecorder(eval.Key{Topic: "bees", Scorer: "breadth-first"}, 3, truth, eval.RecorderOptions{Number: graph.Number})
	for _, path := range []string{"", "shop", "dance"} {
		rec.Listen(event.Fetched{Visit: event.Visit{URL: page(path)}, Digest: path})
	}
	for _, name := range []string{"hits", "harvest", "of-bound", "recall"} {
		m, _ := eval.MeasureNamed(name)
		fmt.Printf("%-8s %.2f\n", name, m.Of(rec.Run(), possible, 3))
	}
	// Output:
	// hits     1.00
	// harvest  0.33
	// of-bound 0.50
	// recall   0.50
}

func ExampleCompare() {
	topics := []eval.TopicID{{Topic: "bees"}, {Topic: "wasps"}, {Topic: "ants"}, {Topic: "flies"}, {Topic: "moths"}, {Topic: "gnats"}}
	shark := []float64{.31, .22, .40, .18, .27, .33}
	breadth := []float64{.10, .12, .25, .19, .07, .08}
	c := eval.Compare(topics, shark, breadth, +1, 1)
	fmt.Printf("won %d, lost %d, worst on %s; difference %.3f; Wilcoxon p %.4f\n", c.Wins, c.Loses, c.Worst.Topic, c.Difference.Mean, c.Wilcoxon.P)
	// Output: won 5, lost 1, worst on flies; difference 0.150; Wilcoxon p 0.0625
}
