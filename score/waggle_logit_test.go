package score

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// Score sums as learn does, to the bit: what is learnt of a link is what it was scored by. It
// allocates nothing.
func TestWaggleSumsInOneWay(t *testing.T) {
	s, err := New("waggle", Options{Anchor: func(string) float64 { return 0.5 }})
	if err != nil {
		t.Fatal(err)
	}
	w := s.(*waggle)
	for i := range w.hosts { // every other host is known
		w.hosts[i] = 0x5555555555555555
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SliceOfN(rapid.Byte(), 0, hashedAt+4*mostHashed+8).Draw(t, "features")
		for at := hashedAt; at+4 <= len(f) && rapid.Bool().Draw(t, "of a kind"); at += 4 {
			f[at+3] = f[at+3]&0xf | byte(at/16%int(inputKinds))<<(8-kindBits)
		}
		if rapid.Bool().Draw(t, "a kind is off") {
			off := inputKind(rapid.IntRange(0, int(inputKinds)-1).Draw(t, "which"))
			defer func(was float32) { w.variance[off] = was }(w.variance[off])
			w.variance[off] = 0
		}
		trail, depth := rapid.Byte().Draw(t, "trail"), rapid.ByteMax(10).Draw(t, "depth")
		var x example
		want := 0.
		if w.read(&x, f, trail, depth) {
			want = w.weights.logit(&x)
			defer w.weights.learn(&x, rapid.Float64Range(0, 1).Draw(t, "relevance"), 1)
		}
		if got := w.logit(f, trail, depth); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%v, and %v by its inputs", got, want)
		}
	})
	c := &web.Candidate{Features: make([]byte, hashedAt+40), Memory: []byte{1, 2}}
	if n := testing.AllocsPerRun(10, func() { w.Score(c) }); n != 0 {
		t.Errorf("%v allocations a link", n)
	}
}
