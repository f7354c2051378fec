package model_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/model"
)

func surroundings() *model.Surroundings {
	return &model.Surroundings{
		Reach: 5, Cited: true, Links: [2]uint64{12, 7},
		Features: []model.FeatureCount{{ID: 0, Low: 3}, {ID: 1, High: 1}, {ID: 1 << 31, Low: 2, High: 9}, {ID: 1<<32 - 1, Low: 1}},
	}
}

// What an apprentice learnt comes back as it was.
func TestSurroundings(t *testing.T) {
	for _, want := range []*model.Surroundings{surroundings(), {Plain: true}, {Tree: 1}, {Cited: true, Tree: 2}} {
		b := marshal(t, &model.File{Kind: model.Apprentice, Payload: want})
		f, err := model.Unmarshal(b, analyzer)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(f.Payload, want) {
			t.Errorf("%+v came back as %+v", want, f.Payload)
		}
	}
	for says, spoil := range map[string]func(*model.Surroundings){
		"out of order": func(s *model.Surroundings) { s.Features[2].ID = 1 },
		"never was":    func(s *model.Surroundings) { s.Features[1].High = 0 },
		"farther":      func(s *model.Surroundings) { s.Reach = -1 },
		"the tree":     func(s *model.Surroundings) { s.Tree = 3 },
		"more links":   func(s *model.Surroundings) { s.Links[0] = 1 << 40 },
	} {
		s := surroundings()
		spoil(s)
		if _, err := s.MarshalBinary(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := model.Of[*model.Surroundings](nil, model.Apprentice); err == nil || !strings.Contains(err.Error(), "`waggle train apprentice`") {
		t.Errorf("no model: %v", err)
	}
}

// Whatever the bytes, they are a model that writes itself as it was read, or an
// error.
func FuzzSurroundings(f *testing.F) {
	b, err := surroundings().MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add([]byte{5, 0, 0, 0, 0})
	f.Add([]byte{5, 9, 0, 0, 0})
	f.Add([]byte{5, 12, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again model.Surroundings
		if s.UnmarshalBinary(b) != nil {
			return
		}
		out, err := s.MarshalBinary()
		if err != nil {
			t.Fatalf("read, and cannot be written: %v", err)
		}
		if err := again.UnmarshalBinary(out); err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v came back as %+v, %v", s, again, err)
		}
		if second, err := again.MarshalBinary(); err != nil || !bytes.Equal(out, second) {
			t.Fatal("the same model gives other bytes", errors.Join(err))
		}
	})
}
