package score

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// beliefOrder makes one priority of a belief over states, so that beliefs compare
// lexicographically: by p(T0), among equals by p(T1), and so on; two components
// are equal when they fall into the same bucket of width ε:
//
//	d_i = ⌊p_i/ε⌋
//	priority = ε·(d_0 + d_1·2^−b + d_2·2^−2b + …),   b bits hold any d_i
//
// So the priority reads as p(T0) rounded down to a bucket, plus less than ε.
//
// Source: Liu & Milios 2010, section 3.3.2, where components count as equal within
// ε of each other. That order is not transitive: with ε = .001 and p(T0)
// of .5000, .5008 and .5016 the first is equal to the second and the second to
// the third, yet the third is greater than the first. Buckets are transitive.
//
// A float64 holds 52 bits here, so that no two are rounded into one: five
// components with ε = .001, the paper's. What does not fit is left out; of a
// belief over six states that is nothing, as its components sum to 1.
type beliefOrder struct {
	epsilon float64
	bits    int // b
	digits  int // components that fit
}

const orderBits = 52

// orderSetting is ε of the scorers that compare beliefs.
func orderSetting() Setting {
	return Setting{Name: "epsilon", Default: 0.001, Min: 1e-6, Max: 0.5, Line: "ε: beliefs in the same bucket of this width are equal, and the next state decides"}
}

// newOrder makes the order of buckets of width epsilon, in (0,1].
func newBeliefOrder(epsilon float64) beliefOrder {
	b := bits.Len(uint(epsilonBucket(1, epsilon)))
	return beliefOrder{epsilon, b, max(1, orderBits/b)}
}

// epsilonBucket is ⌊p/ε⌋ for p in [0,1]. Quotients a rounding error below a whole
// number count as that number.
func epsilonBucket(p, epsilon float64) uint64 { return uint64(math.Floor(unit(p)/epsilon + 1e-9)) }

// priority is in [0, 1+ε). What is no number counts as 0.
//
// Shape: belief [S], in the order of the comparison.
func (o beliefOrder) priority(belief []float64) float64 {
	var packed uint64
	for i := range o.digits {
		packed <<= o.bits
		if i < len(belief) {
			packed |= epsilonBucket(belief[i], o.epsilon)
		}
	}
	return math.Ldexp(o.epsilon*float64(packed), -o.bits*(o.digits-1))
}

// reason is what a priority holds beside the probability of a target: how
// probable the farther distances are, and what rounding to buckets takes off.
func (o beliefOrder) reason(belief []float64) Reason {
	var b strings.Builder
	for hops, p := range belief[1:] {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "T%d %.3f", hops+1, p)
	}
	return Reason{Kind: ReasonHops, What: b.String(), Times: 1, Weight: o.priority(belief) - belief[0]}
}

// readBelief fills dst with a belief that wire.AppendFloat32s wrote for a link to
// carry, and makes it sum to 1 again, as rounding may have changed the sum. ok is false, and dst of no use, when b
// is not a belief over so many states.
func readBelief(dst []float64, b []byte) (ok bool) {
	if len(b) != 4*len(dst) {
		return false
	}
	sum := 0.
	for i := range dst {
		p := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		if !(p >= 0 && p <= 2) {
			return false
		}
		dst[i] = p
		sum += p
	}
	if !(sum > 0.5 && sum < 2) {
		return false
	}
	for i := range dst {
		dst[i] /= sum
	}
	return true
}
