package silver

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/web"
)

// The made-up web: page n is about the subject n%4, and every second page of it
// only in part, as its words stand at its end.
var subjects = []string{"bees", "trains", "glass", "opera"}

var vocabulary = map[string]string{
	"bees":   "honey hive nectar pollen swarm beekeeper",
	"trains": "locomotive railway carriage platform signal timetable",
	"glass":  "furnace blower silica crystal window annealing",
	"opera":  "soprano aria libretto overture baritone theatre",
}

func madeUp() []Topic {
	w := NewWeb()
	const pages = 240
	for n := range pages {
		s := subjects[n%4]
		filler := fmt.Sprintf("garden%c street%c weather today people house river", 'a'+n%26, 'a'+n%17)
		filler = strings.Repeat(filler+" ", 8)
		switch n / 4 % 3 {
		case 0:
			w.Add(s, []string{s + " and more"}, vocabulary[s]+" "+filler+vocabulary[s])
		case 1:
			w.Add("news", nil, filler+vocabulary[s])
		default:
			w.Add("news", nil, filler)
		}
	}
	var out []Topic
	for i, s := range subjects {
		t := Topic{Key: pool.Key{Web: "web", Topic: s}, Web: w, Narrative: pool.Narrative{
			Mainly: "The page is mainly about " + vocabulary[s] + ".", Partly: "In part.", No: "The page is not about it.",
		}}
		for n := range pages {
			g := pool.No
			if n%4 == i {
				g = []pool.Grade{pool.Mainly, pool.Partly, pool.No}[n/4%3]
			}
			if n%5 == 0 {
				g = pool.CannotTell
			}
			t.Gold = append(t.Gold, g)
		}
		out = append(out, t)
	}
	return out
}

// Grades of three topics teach what a page of a fourth is, of which no word occurs
// in theirs, and none of its grades is looked at.
func TestExtend(t *testing.T) {
	topics := madeUp()
	got, err := Extend(t.Context(), topics, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range topics {
		for _, from := range []pool.Grade{pool.Partly, pool.Mainly} {
			if a := topics[i].Measure(got[i], from, false); a.N != 192 || a.Kappa < .9 || a.AUROC < .95 {
				t.Errorf("%s from grade %d: %+v", topics[i].Key, from, a)
			}
		}
	}
	again, err := Extend(t.Context(), madeUp(), Options{})
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the same input gives other bits, %v", err)
	}
	other := madeUp()
	for d := range other[0].Gold {
		other[0].Gold[d] = pool.Mainly - max(0, other[0].Gold[d])
	}
	lies, err := Extend(t.Context(), other, Options{})
	if err != nil || !reflect.DeepEqual(lies[0], got[0]) {
		t.Errorf("the grades of a topic change its own predictions, %v", err)
	}
	if reflect.DeepEqual(lies[1], got[1]) {
		t.Error("the grades of a topic do not teach the others")
	}
}

// Weighted by strata, a page counts as many as it stands for.
func TestMeasure(t *testing.T) {
	const none = pool.CannotTell
	x := Topic{
		Gold:    []pool.Grade{2, 0, 1, none, none, none, 0, none},
		Stratum: []uint8{0, 0, 1, 1, 1, 1, 2, 2},
	}
	p := []Prediction{{.9, .9}, {.8, .1}, {.2, .1}, {}, {}, {}, {.1, .1}, {}}
	// Weights 1, 1, 4 and 2; of them tp 1, fp 1, fn 4, tn 2.
	for _, c := range []struct {
		weighted bool
		want     Accuracy
	}{
		{false, Accuracy{N: 4, Share: .5, Accuracy: .5, Precision: .5, Recall: .5, Kappa: 0, AUROC: .75, Calibration: (.1 + .8 + .8 + .1) / 4}},
		// Chance: (2·5 + 6·3)/64 = .4375. Pairs: 5·3, won 1·3 + 4·2.
		{true, Accuracy{N: 4, Share: 5. / 8, Accuracy: 3. / 8, Precision: .5, Recall: .2, Kappa: (.375 - .4375) / .5625, AUROC: 11. / 15, Calibration: (.1 + .8 + 3.2 + .2) / 8}},
	} {
		got := x.Measure(p, pool.Partly, c.weighted)
		a, b := reflect.ValueOf(got), reflect.ValueOf(c.want)
		for i := range a.NumField() {
			if a.Field(i).CanFloat() && !(math.Abs(a.Field(i).Float()-b.Field(i).Float()) < 1e-12) || got.N != 4 {
				t.Errorf("weighted %t: %s is %v, want %v", c.weighted, a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	}
	if a := x.Measure(p, pool.Mainly, false); a.Precision != 1 || a.Recall != 1 || a.Kappa != 1 {
		t.Errorf("from grade 2: %+v", a)
	}
}

// The weights of logistic regression are where the gradient of its loss is 0.
func TestFit(t *testing.T) {
	var all []example
	for i := range 40 {
		x := make([]float64, dim)
		x[0], x[3] = float64(i%7), float64(i%5)-2
		all = append(all, example{x, (i*i)%7 > 3, 1 + float64(i%3)})
	}
	m := fit(all)
	total := 0.
	for _, e := range all {
		total += e.weight
	}
	for f := range dim {
		g := ridge * m.w[f]
		for _, e := range all {
			y := 0.
			if e.positive {
				y = 1
			}
			g += e.weight / total * (m.probability(e.features) - y) * (e.features[f] - m.mean[f]) * m.scale[f]
		}
		if math.Abs(g) > 1e-3 {
			t.Errorf("feature %d: gradient %v", f, g)
		}
	}
	if p := fit(nil).probability(make([]float64, dim)); p != .5 {
		t.Errorf("of nothing %v is learnt", p)
	}
}

func TestFile(t *testing.T) {
	u, err := web.Parse("http://a.example/1")
	if err != nil {
		t.Fatal(err)
	}
	p := &pool.Pool{Revision: "3fa9c20be1d04a57", Topics: []pool.Topic{{Web: "campus", Name: "databases"}}}
	k := pool.Key{Web: "campus", Topic: "databases"}
	var b bytes.Buffer
	if err := Write(&b, p.Revision, []Label{{k, u, Prediction{.731, .1119}}}); err != nil {
		t.Fatal(err)
	}
	const file = "# waggle silver of pool 3fa9c20be1d04a57, 1 grades\nweb\ttopic\taddress\tpartly\tmainly\tgrade\ncampus\tdatabases\thttp://a.example/1\t0.731\t0.112\t1\n"
	if b.String() != file {
		t.Errorf("%s", b.String())
	}
	name := filepath.Join(t.TempDir(), "silver.tsv")
	read := func(s string) (Grades, error) {
		if err := os.WriteFile(name, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		return Read(name, p)
	}
	if g, err := read(file); err != nil || !reflect.DeepEqual(g, Grades{k: {u: pool.Partly}}) {
		t.Errorf("%v, %v", g, err)
	}
	if g, err := read(strings.Replace(file, ", 1 grades", "", 1)); err != nil || len(g[k]) != 1 {
		t.Errorf("an older file: %v, %v", g, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"# waggle silver", "# silver", ":1: the first line"},
		{"57, 1", "58, 1", ":1: the grades are of pool"},
		{"1 grades", "2 grades", "holds 1 grades, and its first line says 2: it was cut short"},
		{"1 grades", "x grades", `:1: "x" is no number`},
		{"\t1\n", "\t1", ":3: the line has no end"},
		{"partly", "p", ":2: the line"},
		{"\t1\n", "\n", ":3: 5 fields"},
		{"databases", "wasps", ":3: the pool has no topic"},
		{"http://a", "a", ":3: "},
		{"0.731", "1.731", `:3: "1.731" is no probability`},
		{"\t1\n", "\t3\n", `:3: grade "3"`},
		{"\t1\n", "\t?\n", `:3: grade "?"`},
	} {
		if _, err := read(strings.Replace(file, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.new, err, c.want)
		}
	}
}
