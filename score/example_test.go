package score_test

import (
	"fmt"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// The belief over hop distances along a path, for a scorer that has other
// things to go by as well: what Links and Follow return travels with the links,
// as features and memory.
func ExamplePath() {
	path, err := score.NewPath(exampleModel(), score.PathOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	seed := &web.Page{Links: []web.Link{{URL: parse("http://x.test/bees"), Anchor: "the hive"}}}
	memory := path.Follow(nil, nil, seed)
	belief := make([]float64, path.States())
	for _, features := range path.Links(seed) {
		path.Predict(belief, features, memory)
		fmt.Printf("a target by %.2f, one link from it by %.2f\n", belief[0], belief[1])
	}
	// Output:
	// a target by 0.78, one link from it by 0.12
}

// exampleModel knows one thing: a keyword in its address makes a page a target.
func exampleModel() *model.File {
	m := chainOf(&testing.T{}, model.CRF, 3, feature.All, 0)
	w := m.Payload.(*model.Chain).Weights
	clear(w.W)
	weigh(w, m.Space.Inlink(feature.Link{Keyword: true})[0].ID, 0, 3)
	return m
}
