package inspect

import (
	"math"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// What strangers may have put into a model file does not speak to the terminal.
func TestInspectIsSafe(t *testing.T) {
	const evil = "\x1b]0;title\a\x1b[2J\u202e"
	f := &model.File{Kind: model.CRF, Provenance: model.Provenance{
		Waggle: evil, Topic: "bees" + evil, TrainingSet: evil, Sites: []web.Host{web.Host(evil)}, States: []int{1, 2},
		Settings: map[string]float64{evil: 1}, Texts: map[string]string{evil: evil}, Curve: []float64{-2, math.NaN(), -1}, Status: evil,
	}}
	var b strings.Builder
	Model(&b, "x.model", f, 5)
	if strings.ContainsAny(b.String(), "\x1b\a\u202e") {
		t.Errorf("control characters in %q", b.String())
	}
	if !strings.Contains(b.String(), "x.model: crf, for bees") {
		t.Errorf("it says %q", b.String())
	}
}

func TestTrainingCurve(t *testing.T) {
	var b strings.Builder
	writeCurve(&b, []float64{-100, -50, -10, 0})
	if got, want := b.String(), `             0 |   *
               |  *
               |
               |
               |
               | *
               |
               |
               |
               |
               |
          -100 |*
               +----
                0  3
`; got != want {
		t.Errorf("drawn\n%s\nwant\n%s", got, want)
	}
	for _, curve := range [][]float64{{1, 1}, {math.NaN(), 2}, {math.Inf(-1), 2}} {
		b.Reset()
		writeCurve(&b, curve)
		if !strings.Contains(b.String(), "it stays at") {
			t.Errorf("%v is drawn as\n%s", curve, b.String())
		}
	}
}

// An apprentice that knows one side alone says so, and what to try: 97 % right
// is nothing where 97 % are low.
func TestLopsided(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high int
		held      train.Accuracy
		boundary  float64
		want      string // within; "" = nothing is said
	}{
		{"all are taken for low", 1107, 53, train.Accuracy{Low: 200, High: 12, RightLow: 200}, 0, "hardly better than a guess: only 53 of 1,160 links are high. Try --set boundary=1"},
		{"most high ones are", 4021, 64, train.Accuracy{Low: 1066, High: 9, RightLow: 1044, RightHigh: 1}, 2, "Try --set boundary=1"},
		{"all are taken for high", 53, 1107, train.Accuracy{Low: 12, High: 200, RightHigh: 200}, 0, "only 53 of 1,160 links are low. Try --set boundary=1"},
		{"none of the few was held out", 1107, 7, train.Accuracy{Low: 200, RightLow: 200}, 0, "is not known: only 7 of 1,114 links are high. Try --set boundary=1"},
		{"few are high and known", 1107, 53, train.Accuracy{Low: 200, High: 12, RightLow: 190, RightHigh: 9}, 0, ""},
		{"the upper half", 561, 599, train.Accuracy{Low: 100, High: 110, RightLow: 70, RightHigh: 80}, 1, ""},
		{"two halves and no difference", 561, 599, train.Accuracy{Low: 100, High: 110, RightLow: 70, RightHigh: 40}, 1, "look with --study DIR"},
		{"no halves can be had", 30, 1130, train.Accuracy{Low: 6, High: 200, RightHigh: 200}, 1, "most targets are equally relevant"},
	} {
		got := Lopsided(train.ApprenticeModel{Low: c.low, High: c.high, Held: c.held, File: &model.File{Provenance: model.Provenance{Settings: map[string]float64{"boundary": c.boundary}}}})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
