package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
)

// A crawl of a synthetic web, on a network where hosts want a second between
// requests. How many workers there are matters for how long it takes.
func ExampleRun() {
	options := synthetic.Defaults()
	options.Words = 50
	record, err := synthetic.New(options)
	if err != nil {
		panic(err)
	}
	about := record.Topic(3)
	for _, workers := range []int{1, 20} {
		j, err := judge.New("topic", &topic.Topic{Name: about.Name, Keywords: about.Keywords}, judge.Options{})
		if err != nil {
			panic(err)
		}
		s, err := score.New("best-first-both", score.Options{Anchor: j.Text})
		if err != nil {
			panic(err)
		}
		result, err := sim.Run(context.Background(), &crawl.Crawl{
			Seeds: about.Seeds, Frontier: frontier.NewMemory(frontier.Options{}),
			Parser: parse.New(parse.Options{}), Judge: j, Scorer: s,
			Policy: crawl.Policy{Pages: 100, Delay: time.Second},
		}, record, sim.Options{Workers: workers, Latency: sim.Latency{Median: 500 * time.Millisecond}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d pages in %v\n", result.How, result.Pages, result.Elapsed.Round(10*time.Second))
	}
	// Output:
	// BudgetSpent: 100 pages in 2m30s
	// BudgetSpent: 100 pages in 10s
}
