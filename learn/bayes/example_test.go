package bayes_test

import (
	"fmt"

	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Two classes learnt a link at a time: word 7 speaks for class 1.
func Example() {
	m, err := bayes.New(bayes.Options{Classes: 2})
	if err != nil {
		panic(err)
	}
	links := []struct {
		class int
		words sparse.Vector
	}{
		{1, sparse.Vector{{ID: 3, Value: 1}, {ID: 7, Value: 2}}},
		{0, sparse.Vector{{ID: 3, Value: 1}, {ID: 5, Value: 1}}},
	}
	for _, l := range links {
		if err := m.Add(l.class, l.words); err != nil {
			panic(err)
		}
		p, err := m.Probability(sparse.Vector{{ID: 7, Value: 1}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%.2f, ready: %v\n", p, m.Ready() == nil)
	}
	// Output:
	// 1.00, ready: false
	// 0.71, ready: true
}
