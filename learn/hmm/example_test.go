package hmm_test

import (
	"fmt"

	"github.com/waggle-crawler/waggle/learn/hmm"
)

// A crawler that learnt from three walks whether to follow the links of a page.
func Example() {
	const target, hub, far = 0, 1, 2
	walks := []hmm.Sequence{
		{States: []int{far, hub, target}, Obs: []int{2, 1, 0}},
		{States: []int{far, far, hub, target}, Obs: []int{2, 2, 1, 0}},
		{States: []int{hub, hub, target}, Obs: []int{1, 1, 0}},
	}
	m, err := hmm.Count(walks, 3, 3, hmm.CountOptions{Smoothing: hmm.FirstSmoothing, Arcs: hmm.HopArcs(3)})
	if err != nil {
		panic(err)
	}
	belief, next, behind := make([]float64, 3), make([]float64, 3), make([]float64, 3)
	m.Step(belief, nil, 2) // the first page looks far away
	m.Predict(behind, belief)
	fmt.Printf("links of the first page lead to a target with %.2f\n", behind[target])
	m.Step(next, belief, 1) // the second like a hub
	m.Predict(behind, next)
	fmt.Printf("links of the second page with %.2f\n", behind[target])
	// Output:
	// links of the first page lead to a target with 0.01
	// links of the second page with 0.71
}
