package apprentice

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A table that is full takes no feature that is new, and its sums stay those of what it has.
func TestFullTable(t *testing.T) {
	table := counts{most: 20}
	rng := rand.New(rand.NewPCG(19, 3))
	type example struct {
		features []byte
		class    int
	}
	var given []example
	for range 300 {
		if len(given) > 0 && rng.IntN(3) == 0 {
			e := &given[rng.IntN(len(given))]
			e.class = 1 - e.class
			table.move(e.features, e.class)
		} else {
			e := example{class: rng.IntN(2)}
			for range rng.IntN(9) {
				e.features = binary.LittleEndian.AppendUint32(e.features, rng.Uint32N(60))
			}
			given = append(given, e)
			table.add(e.features, e.class)
		}
		var sum [2]int
		size := 0
		for _, s := range table.slots {
			if s.n != [2]uint32{} {
				size++
			}
			sum[0] += int(s.n[0])
			sum[1] += int(s.n[1])
		}
		if size > 20 || size != table.size || sum != table.sum {
			t.Fatalf("%d features of %d, sums %v; counted %d and %v", table.size, table.most, table.sum, size, sum)
		}
	}
	if table.size != 20 {
		t.Errorf("the table has %d features", table.size)
	}
}
