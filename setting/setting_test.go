package setting

import (
	"fmt"
	"math"
	"testing"
)

func TestComplete(t *testing.T) {
	two := []Setting{{Name: "k", Default: 4, Min: 1, Max: 9, Whole: true}, {Name: "gamma", Default: 0.5, Max: 1}}
	for _, c := range []struct {
		settings []Setting
		set      map[string]float64
		want     string
	}{
		{two, nil, "map[gamma:0.5 k:4] <nil>"},
		{two, map[string]float64{"k": 9, "gamma": 0}, "map[gamma:0 k:9] <nil>"},
		{two, map[string]float64{"k": 0.5}, "map[] setting k = 0.5 is outside 1…9"},
		{two, map[string]float64{"k": 3.5}, "map[] setting k = 3.5 is no whole number in 1…9"},
		{two, map[string]float64{"gamma": math.NaN()}, "map[] setting gamma = NaN is outside 0…1"},
		{two, map[string]float64{"beta": 1}, `map[] there is no setting "beta"; it has k, gamma`},
		{nil, map[string]float64{"beta": 1}, `map[] there is no setting "beta"; it has none`},
	} {
		all, err := Complete(c.settings, c.set)
		if got := fmt.Sprint(all, " ", err); got != c.want {
			t.Errorf("%v: %s, want %s", c.set, got, c.want)
		}
	}
}
