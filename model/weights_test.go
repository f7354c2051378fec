package model_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/model"
)

func weights() *model.Weights {
	return &model.Weights{
		Fetches: 7, Dense: []model.Weight{{Mean: -3.5, Variance: 0.3}, {Mean: 1, Variance: 0.1}, {Mean: 2}},
		Hashed: []model.Hashed{{Place: 0, Weight: model.Weight{Mean: 1, Variance: 0.2}}, {Place: 9, Weight: model.Weight{Variance: 0.3}}},
	}
}

func TestWeights(t *testing.T) {
	for _, want := range []*model.Weights{weights(), {}} {
		b := marshal(t, &model.File{Kind: model.Waggle, Payload: want})
		f, err := model.Unmarshal(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(f.Payload, want) {
			t.Errorf("wrote %+v and read %+v", want, f.Payload)
		}
	}
	for says, spoil := range map[string]func(*model.Weights){
		"no number":     func(w *model.Weights) { w.Dense[1].Mean = float32(math.NaN()) },
		"is no number":  func(w *model.Weights) { w.Hashed[0].Variance = -1 },
		"a weight that": func(w *model.Weights) { w.Hashed[0].Variance = 0 },
		"out of order":  func(w *model.Weights) { w.Hashed[1].Place = 0 },
	} {
		w := weights()
		spoil(w)
		if _, err := (&model.File{Kind: model.Waggle, Payload: w}).Marshal(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q was expected: %v", says, err)
		}
	}
}

// FuzzWeights reaches behind the checksums.
func FuzzWeights(f *testing.F) {
	for _, w := range []*model.Weights{weights(), {}} {
		b, err := w.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var w, back model.Weights
		if w.UnmarshalBinary(b) != nil {
			return
		}
		again, err := w.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalBinary(again); err != nil || !reflect.DeepEqual(back, w) {
			t.Fatalf("%+v, then %+v, %v", w, back, err)
		}
	})
}
