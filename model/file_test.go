package model_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

var analyzer = text.NewAnalyzer()

// chain makes a model over three states and a few words.
func chain(t testing.TB) *model.File {
	p := &web.Page{Terms: []web.Term{{Text: "bee", Head: 1, Body: 2}, {Text: "honey", Body: 1}}, Keywords: "wax"}
	u, err := web.Parse("http://bee.test/")
	if err != nil {
		t.Fatal(err)
	}
	space, err := feature.Build(
		&topic.Topic{Keywords: []string{"bee"}, Examples: []*web.Page{p}},
		[]feature.Example{{Page: p, Links: []*web.Link{{URL: u, Anchor: "the hive"}}}},
		feature.Options{MinPages: 1, Analyzer: analyzer})
	if err != nil {
		t.Fatal(err)
	}
	w := lattice.NewWeights(lattice.Hops(3, space.Len()))
	for i := range w.W {
		w.W[i] = float64(float32(math.Sin(float64(i))))
	}
	return &model.File{
		Kind: model.CRF,
		Provenance: model.Provenance{
			Waggle: "v0", Topic: "bees", TrainingSet: "d1", Sites: []web.Host{"a.test", "b.test:8080"}, Pages: 40, Targets: 3, Sequences: 12,
			States: []int{3, 17, 20}, Settings: map[string]float64{"variance": 10}, Texts: map[string]string{"features": "all"},
			Curve: []float64{-300.5, -17.25}, Status: "converged",
		},
		Space:   space,
		Payload: &model.Chain{Weights: w, Start: []float64{0.25, 0.25, 0.5}, Moves: []float64{0.5, 0.25, 0.25, 0.125, 0.375, 0.5, 0, 0.5, 0.5}},
	}
}

func marshal(t testing.TB, f *model.File) []byte {
	b, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was written is what is read, from the same bytes each time.
func TestRoundTrip(t *testing.T) {
	f := chain(t)
	name := filepath.Join(t.TempDir(), "bees.model")
	for range 2 { // the second replaces the first
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
	}
	got, err := model.Read(name, analyzer)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != f.Kind || got.Name != name || !reflect.DeepEqual(got.Provenance, f.Provenance) {
		t.Errorf("%+v\ncame back as %+v", f.Provenance, got.Provenance)
	}
	if !reflect.DeepEqual(got.Payload, f.Payload) {
		t.Errorf("%+v\ncame back as %+v", f.Payload, got.Payload)
	}
	if a, b := f.Space.String(), got.Space.String(); a != b {
		t.Errorf("%s came back as %s", a, b)
	}
	onDisk, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(onDisk, marshal(t, got)) || !bytes.Equal(onDisk, marshal(t, chain(t))) {
		t.Error("the same model gives other bytes")
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v beside the model", left, err)
	}
}

// Every way in which a file is no model says so, names the file and says what
// to do.
func TestDamage(t *testing.T) {
	whole := marshal(t, chain(t))
	later := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(later[13:], 2)
	for _, c := range []struct {
		name string
		b    []byte
		is   error
		says string
	}{
		{"nothing", nil, model.ErrNoModel, "`waggle train` wrote"},
		{"another file", []byte("<!DOCTYPE html><html>"), model.ErrNoModel, "`waggle train` wrote"},
		{"another version", later, model.ErrVersion, "train it anew with this program"},
		{"a kind of the future", rename(t, whole, `"kind":"crf"`, `"kind":"llm"`), model.ErrVersion, `"llm"`},
		{"a header that is no JSON", rename(t, whole, `{"kind"`, `["kind"`), model.ErrDamaged, "header"},
		{"cut in its first bytes", whole[:14], model.ErrDamaged, "cut short after 14 bytes"},
		{"cut in the middle", whole[:len(whole)/2], model.ErrDamaged, "copy it again"},
		{"cut before its last byte", whole[:len(whole)-1], model.ErrDamaged, "cut short"},
		{"a byte too many", append(bytes.Clone(whole), 0), model.ErrDamaged, "1 bytes lie behind its end"},
	} {
		name := filepath.Join(t.TempDir(), "bees.model")
		if err := os.WriteFile(name, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := model.Read(name, analyzer)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := model.Read(filepath.Join(t.TempDir(), "none"), analyzer); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "`waggle train` wrote") {
		t.Errorf("no file: %v", err)
	}
}

// rename replaces text in the header by as much other text, with the checksum
// made good.
func rename(t *testing.T, b []byte, old, new string) []byte {
	out := bytes.Replace(b, []byte(old), []byte(new), 1)
	if len(out) != len(b) || bytes.Equal(out, b) {
		t.Fatalf("there is no %s", old)
	}
	const first = 17 // magic, version, sections
	size := binary.LittleEndian.Uint64(out[first+16:])
	h := xxh3.New()
	h.Write(out[first : first+24])
	h.Write(out[first+32:][:size])
	binary.LittleEndian.PutUint64(out[first+24:], h.Sum64())
	return out
}

// No bit of a file can flip unnoticed.
func TestFlippedBits(t *testing.T) {
	whole := marshal(t, chain(t))
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		if _, err := model.Unmarshal(b, analyzer); err == nil {
			t.Fatalf("byte %d of %d flipped, and nobody noticed", i, len(b))
		}
	}
	for i := range whole {
		if _, err := model.Unmarshal(whole[:i], analyzer); err == nil {
			t.Fatalf("%d of %d bytes are a model", i, len(whole))
		}
	}
}

// A model that cannot be written whole leaves the one that was there.
func TestNoHalfWrittenModel(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "bees.model")
	if err := chain(t).Write(name); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*model.File){
		"NaN":                    func(f *model.File) { f.Payload.(*model.Chain).Weights.W[3] = math.NaN() },
		"infinite":               func(f *model.File) { f.Payload.(*model.Chain).Weights.W[3] = math.Inf(1) },
		"no weights":             func(f *model.File) { f.Payload = &model.Chain{} },
		"nothing learnt":         func(f *model.File) { f.Payload = nil },
		"no vocabulary":          func(f *model.File) { f.Space = nil },
		"no such kind":           func(f *model.File) { f.Kind = "llm" },
		"another kind's payload": func(f *model.File) { f.Kind = model.HMM },
		"start beyond 1":         func(f *model.File) { f.Payload.(*model.Chain).Start[0] = 1 },
		"start below 0":          func(f *model.File) { f.Payload.(*model.Chain).Start = []float64{-1, 1, 1} },
		"start of other states":  func(f *model.File) { f.Payload.(*model.Chain).Start = []float64{1} },
		"a curve of NaN":         func(f *model.File) { f.Provenance.Curve[0] = math.NaN() },
		"too few weights": func(f *model.File) {
			w := f.Payload.(*model.Chain).Weights
			w.W = w.W[1:]
		},
		"weights of other words": func(f *model.File) {
			f.Payload.(*model.Chain).Weights = lattice.NewWeights(lattice.Hops(3, 2))
		},
	} {
		f := chain(t)
		spoil(f)
		if err := f.Write(name); err == nil {
			t.Errorf("%s: written", what)
		}
		if f, err := model.Read(name, analyzer); err != nil || f.Provenance.Status != "converged" {
			t.Errorf("%s: the model of before is gone: %v", what, err)
		}
	}
	if err := chain(t).Write(filepath.Join(dir, "none", "bees.model")); err == nil {
		t.Error("written into a folder that does not exist")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v beside the model", left, err)
	}
}

// A model of the wrong kind, or none, says which is needed and how to get it.
func TestOf(t *testing.T) {
	f := chain(t)
	if _, err := model.Of[*model.Chain](f, model.CRF); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		f    *model.File
		kind model.Kind
		want string
	}{
		{nil, model.MEMM, "a model of kind memm is needed: name the file that `waggle train model --kind memm` wrote"},
		{f, model.MEMM, "the model is of kind crf and not memm: crawl by it with --scorer crf, or make another with `waggle train model --kind memm`"},
		{&model.File{Kind: model.PathLearner}, model.MEMM, "the model is of kind paths and not memm: crawl by it with --scorer pathlearner, or make another with"},
		{&model.File{Kind: model.Waggle}, model.MEMM, "crawl by it with --scorer waggle, or make another with"},
		{&model.File{Kind: model.CRF}, model.CRF, "train it anew"},
	} {
		if _, err := model.Of[*model.Chain](c.f, c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
}

// sections takes a file apart.
func sections(b []byte) (facts, space, payload []byte) {
	var all [][]byte
	for b = b[17:]; len(b) > 0; {
		end := 32 + binary.LittleEndian.Uint64(b[16:])
		all = append(all, b[32:end])
		b = b[end:]
	}
	if len(all) == 3 {
		space = all[1]
	}
	return all[0], space, all[len(all)-1]
}

// together is the file of sections, with checksums that fit; it has no space where that is empty.
func together(facts, space, payload []byte) []byte {
	out := []byte("waggle model\n\x01\x00\x03\x00")
	for _, s := range []struct {
		name     string
		contents []byte
	}{{"header", facts}, {"space", space}, {"payload", payload}} {
		if s.name == "space" && len(space) == 0 {
			out[15] = 2
			continue
		}
		var head [24]byte
		copy(head[:], s.name)
		binary.LittleEndian.PutUint64(head[16:], uint64(len(s.contents)))
		out = append(out, head[:]...)
		out = binary.LittleEndian.AppendUint64(out, xxh3.Hash(slices.Concat(head[:], s.contents)))
		out = append(out, s.contents...)
	}
	return out
}

// FuzzUnmarshal reads whatever stands behind the checksums: it is refused, or a model that is written
// as it was read.
func FuzzUnmarshal(f *testing.F) {
	memm := chain(f)
	memm.Kind = model.MEMM
	files := append(model.Counted(f), chain(f), memm, &model.File{Kind: model.Apprentice, Payload: surroundings()},
		&model.File{Kind: model.PathLearner, Payload: pathsOf(true)}, &model.File{Kind: model.Waggle, Payload: weights()})
	if len(files) != len(model.Kinds()) {
		f.Fatalf("%d files of %d kinds", len(files), len(model.Kinds()))
	}
	_, _, other := sections(marshal(f, files[0]))
	for _, file := range files {
		whole := marshal(f, file)
		facts, space, payload := sections(whole)
		if !bytes.Equal(together(facts, space, payload), whole) {
			f.Fatalf("%s: a file taken apart is not put together as it was", file.Kind)
		}
		f.Add(facts, space, payload)
		f.Add(facts, []byte(nil), payload)
		f.Add(facts, space, other) // of another kind, or nearly
		other = payload
	}
	f.Fuzz(func(t *testing.T, facts, space, payload []byte) {
		file, err := model.Unmarshal(together(facts, space, payload), analyzer)
		if err != nil {
			if !errors.Is(err, model.ErrDamaged) && !errors.Is(err, model.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		again, err := file.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := model.Unmarshal(again, analyzer)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(marshal(t, back), again) {
			t.Fatalf("a model of kind %s is another one once it was written and read", file.Kind)
		}
	})
}

// FuzzChain reaches behind the checksums.
func FuzzChain(f *testing.F) {
	b, err := chain(f).Payload.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var c model.Chain
		if err := c.UnmarshalBinary(b); err != nil {
			return
		}
		again, err := c.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back model.Chain
		if err := back.UnmarshalBinary(again); err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%+v, then %+v, %v", c, back, err)
		}
	})
}
