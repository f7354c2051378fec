package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/web"
)

// readTree is the small web with a pool in which the pages about bees were read:
// every seventh is of grade 2, those beside them of grade 1.
func readTree(t *testing.T, grade func(n int) (pool.Grade, bool)) (webDir, poolDir string) {
	t.Helper()
	webDir = small(t)
	f := read(t, "webs: [{path: "+webDir+"}]\nscorers: [breadth-first, best-first-both]\nbudgets: [10, 30]\njudges: [keyword]\nkeep-runs: true\n")
	results := t.TempDir()
	if _, err := f.Run(t.Context(), results, Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := DrawPool(t.Context(), []string{results}, PoolOptions{DrawOptions: pool.DrawOptions{Pages: 40, Top: 15, Seed: 2}})
	if err != nil {
		t.Fatal(err)
	}
	poolDir = t.TempDir()
	if err := p.Write(poolDir); err != nil {
		t.Fatal(err)
	}
	file, _, err := pool.OpenLabels(poolDir, p)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range p.Topics {
		for _, x := range p.Topics[i].Pages {
			if g, ok := grade(number(t, x.URL)); ok {
				if err := file.Add(pool.Label{Key: p.Topics[i].Key(), URL: x.URL, Grade: g, Reader: "ada", Round: 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return webDir, poolDir
}

// number is that of a page of the small web.
func number(t *testing.T, u web.URL) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(u.String(), "http://a.example/%d", &n); err != nil {
		t.Fatal(u, err)
	}
	return n
}

func byBees(n int) (pool.Grade, bool) {
	switch n % 7 {
	case 0:
		return pool.Mainly, true
	case 1:
		return pool.Partly, true
	}
	return pool.No, true
}

// A lab takes its truth from what was read: estimates lie between their bounds,
// the report tells how much was not read, and other labels give other cells.
func TestTruthRead(t *testing.T) {
	webDir, poolDir := readTree(t, byBees)
	file := "webs: [{path: " + webDir + ", topics: [bees]}]\nscorers: [breadth-first, best-first-both]\njudges: [topic, truth]\nbudgets: [10, 30]\nrepeats: 2\ntruth: read\npool: " + poolDir + "\n"
	out := t.TempDir()
	if o, err := read(t, file).Run(t.Context(), out, Options{}); err != nil || o.Failed > 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	r, text := reportOf(t, out)
	if len(r.Cells) != 8 || len(r.Topics) != 1 || r.Topics[0].Read == nil {
		t.Fatalf("%d cells, topics %+v", len(r.Cells), r.Topics)
	}
	info := r.Topics[0].Read
	if sum := info.Grades[0] + info.Grades[1] + info.Grades[2]; sum != 40 || info.From != 1 || info.Low > r.Topics[0].Reachable || info.High < r.Topics[0].Reachable {
		t.Errorf("%+v, reachable %v", info, r.Topics[0].Reachable)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		low, h, high := c.LowerValue("hits", 30), c.Value("hits", 30), c.UpperValue("hits", 30)
		unread := c.Value("unread", 30)
		if !(low <= h && h <= high) || math.Abs(high-low-30*unread) > 1e-6 || !(unread > 0 && unread < 1) {
			t.Errorf("%s: %v (%v…%v), of which %v were not read", c.Key, h, low, high, unread)
		}
		if two, one := c.Value("harvest-2", 30), c.Value("harvest-1", 30); !(two < one) || math.Abs(one*30-h) > 1e-6 {
			t.Errorf("%s: harvest %v of grade 2, %v of grade 1", c.Key, two, one)
		}
		for _, name := range []string{"bpref", "inf-ap", "recall", "of-bound", "of-bound-read", "harvest-condensed"} {
			if v := c.Value(name, 30); !(v >= 0 && v <= 1) {
				t.Errorf("%s: %s is %v", c.Key, name, v)
			}
		}
	}
	for _, want := range []string{"## The truth that was read", "What was read is pool ", "| bees | 40 |", "| unread |", "Ground truth is what readers found by reading", "H/U read", "a (b…c): estimated"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
	if strings.Contains(text, "the web's truth files") {
		t.Error("the report speaks of the web's truth files")
	}
	names := func(file string) []string {
		t.Helper()
		dir := t.TempDir()
		if _, err := read(t, file).Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		names, _ := results(t, dir)
		return names
	}
	first, _ := results(t, out)
	if again := names(file); !slices.Equal(again, first) {
		t.Error("the same labels give other cells")
	}
	if two := names(file + "grade: 2\n"); slices.Equal(two, first) {
		t.Error("another grade gives the same cells")
	}
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	lf, old, err := pool.OpenLabels(poolDir, p)
	if err != nil {
		t.Fatal(err)
	}
	old[0].Grade = (old[0].Grade + 1) % 3
	if err := lf.Add(old[0]); err != nil {
		t.Fatal(err)
	}
	lf.Close()
	if other := names(file); slices.Equal(other, first) {
		t.Error("other labels give the same cells")
	}
}

// Where all that crawls come to was read, a truth that was read gives the figures
// of the same truth in a file.
func TestTruthReadWhole(t *testing.T) {
	webDir := small(t)
	poolDir := t.TempDir()
	f := read(t, "webs: [{path: "+webDir+"}]\nscorers: [breadth-first]\njudges: [keyword]\nbudgets: [30]\nkeep-runs: true\n")
	kept := t.TempDir()
	if _, err := f.Run(t.Context(), kept, Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := DrawPool(t.Context(), []string{kept}, PoolOptions{DrawOptions: pool.DrawOptions{Pages: 60, Top: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(poolDir); err != nil {
		t.Fatal(err)
	}
	lf, _, err := pool.OpenLabels(poolDir, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Topics[0].Pages {
		g := pool.No
		if number(t, x.URL)%7 == 0 {
			g = pool.Mainly
		}
		if err := lf.Add(pool.Label{Key: p.Topics[0].Key(), URL: x.URL, Grade: g, Reader: "ada", Round: 1}); err != nil {
			t.Fatal(err)
		}
	}
	lf.Close()
	const rest = "\nscorers: [breadth-first, random, best-first-both]\nbudgets: [10, 30]\nrepeats: 2\n"
	one, two := t.TempDir(), t.TempDir()
	if _, err := read(t, "webs: [{path: "+webDir+", topics: [bees]}]"+rest).Run(t.Context(), one, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, "webs: [{path: "+webDir+", topics: [bees]}]"+rest+"truth: read\ngrade: 2\npool: "+poolDir+"\n").Run(t.Context(), two, Options{}); err != nil {
		t.Fatal(err)
	}
	a, _ := reportOf(t, one)
	b, _ := reportOf(t, two)
	if len(a.Cells) != len(b.Cells) {
		t.Fatal(len(a.Cells), len(b.Cells))
	}
	for i := range a.Cells {
		for _, v := range a.Cells[i].Values {
			got := b.Cells[i].Value(v.Measure, v.Budget)
			if want := float64(v.Value); v.Measure != "seconds" && math.Abs(got-want) > 1e-6 && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %s at %d is %v read, %v by the file", a.Cells[i].Key, v.Measure, v.Budget, got, want)
			}
		}
	}
	for i := range a.Judges {
		x, y := a.Judges[i], b.Judges[i]
		if x.Judge != y.Judge || x.Pages != y.Pages || x.Correct != y.Correct || math.Abs(x.AUROC-y.AUROC) > 1e-9 {
			t.Errorf("judge %+v\nread  %+v", x, y)
		}
	}
}

// Chosen examples replace the web's, negatives are shown too, and neither is a
// hit; bad examples take the place of good ones, and the report tells what that
// costs.
func TestExamplesRead(t *testing.T) {
	webDir, poolDir := readTree(t, byBees)
	write := func(s string) {
		if err := os.WriteFile(filepath.Join(poolDir, pool.ExamplesName), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const page = "http://a.example/"
	write("topic\taddress\tas\ntree/bees\t" + page + "14\texample\ntree/bees\t" + page + "21\texample\ntree/bees\t" + page + "28\texample\ntree/bees\t" + page + "15\tnegative\n")
	file := "webs: [{path: " + webDir + ", topics: [bees], budgets: [30]}]\nscorers: [breadth-first]\npool: " + poolDir + "\nexamples: read\n"
	g := groupOf(t, file, "bees", 0)
	if got := fmt.Sprint(g.examples()); got != fmt.Sprintf("[%s14 %[1]s21 %[1]s28]", page) {
		t.Errorf("examples %s", got)
	}
	top := g.topic()
	if len(top.Examples) != 3 || len(top.Negatives) != 1 || top.Negatives[0].URL.String() != page+"15" {
		t.Errorf("%d examples, negatives %v", len(top.Examples), top.Negatives)
	}
	truth := g.truth()
	for _, u := range append(g.examples(), top.Negatives[0].URL) {
		if !truth.Shown.Has(u, "") {
			t.Errorf("%s counts as a hit", u)
		}
	}
	old, err := web.Parse(page + "7") // the web's own example
	if err != nil || truth.Shown.URLs[old] {
		t.Errorf("the web's own example is shown, or %v", err)
	}

	bad := groupOf(t, file+"bad-examples: 2\ntruth: read\n", "bees", 0)
	examples := bad.examples()
	if len(examples) != 3 || examples[0].String() != page+"14" {
		t.Errorf("with bad ones: %v", examples)
	}
	for _, u := range examples[1:] {
		if g, _ := byBees(number(t, u)); g != pool.No || !bad.truth().Shown.Has(u, "") {
			t.Errorf("%s, of grade %v, is a bad example that counts", u, g)
		}
	}
	facts, err := bad.judges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good, spoilt := 0, 0
	for _, f := range facts {
		if f.Bad == 2 {
			spoilt++
		} else {
			good++
		}
	}
	if good == 0 || good != spoilt {
		t.Errorf("%d judges with good examples, %d with bad ones", good, spoilt)
	}
	out := t.TempDir()
	if _, err := read(t, file+"bad-examples: 2\ntruth: read\n").Run(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, text := reportOf(t, out); !strings.Contains(text, "### What bad examples cost") || !strings.Contains(text, "2 were exchanged for pages that are not about it") {
		t.Error("the report says nothing of bad examples")
	}
	// Without a pool bad examples are pages that the truth does not hold.
	plain := groupOf(t, "webs: [{path: "+webDir+", topics: [cars], budgets: [30]}]\nscorers: [breadth-first]\nbad-examples: 1\n", "cars", 0)
	if e := plain.examples(); len(e) != 3 || plain.w.truth["cars"][e[2]] {
		t.Errorf("examples %v", e)
	}

	for want, s := range map[string]string{
		"holds no examples":                "topic\taddress\tas\n",
		`:1: the first line is not`:        "x\n",
		":2: three fields":                 "topic\taddress\tas\ntree/bees\thttp://a.example/14\n",
		`:2: "good": example or negative`:  "topic\taddress\tas\ntree/bees\thttp://a.example/14\tgood\n",
		":3: http://a.example/14 is there": "topic\taddress\tas\ntree/bees\thttp://a.example/14\texample\ntree/bees\thttp://a.example/14\tnegative\n",
		`topic "bees": WEB/TOPIC`:          "topic\taddress\tas\nbees\thttp://a.example/14\texample\n",
		"topic bees: " + poolDir:           "topic\taddress\tas\ntree/wasps\thttp://a.example/14\texample\n",
	} {
		write(s)
		if _, err := read(t, file).Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

// What a truth that was read needs is said before anything is run.
func TestTruthReadRefuses(t *testing.T) {
	webDir, poolDir := readTree(t, func(n int) (pool.Grade, bool) { return pool.No, n < 20 })
	empty := t.TempDir()
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(empty); err != nil {
		t.Fatal(err)
	}
	other := tree(t, "trains have engines too") // another web of the same name
	for _, c := range []struct{ file, want string }{
		{"truth: read", "name it by pool:"},
		{"truth: maybe", `truth: "maybe": web (the web's own) or read`},
		{"pool: " + poolDir, "neither truth: read nor examples: read asks for it"},
		{"grade: 3", "grade: 3: pages count from grade 1"},
		{"grade: 2", "grade: is of truth: read"},
		{"bad-examples: -1", "outside 0…100"},
		{"truth: read\npool: " + t.TempDir(), "waggle lab pool draw makes one"},
		{"truth: read\npool: " + empty, "nobody has read a page"},
		{"truth: read\npool: " + poolDir, "none is of grade 1"},
		{"truth: read\noutside: bounds\npool: " + poolDir, "choose drop or fail"},
		{"examples: read\npool: " + poolDir, "examples.tsv: no such file"},
		{"bad-examples: 9", "9 of its 1 examples cannot be exchanged"},
	} {
		file := "scorers: [breadth-first]\nwebs: [{path: " + webDir + ", topics: [bees], budgets: [10]}]\n" + c.file + "\n"
		f, err := decode(filepath.Join(t.TempDir(), "lab.yaml"), []byte(file))
		if err == nil {
			_, err = f.Run(t.Context(), t.TempDir(), Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
	}
	_, poolDir = readTree(t, byBees)
	f := read(t, "scorers: [breadth-first]\nwebs: [{path: "+other+", topics: [bees], budgets: [10]}]\ntruth: read\npool: "+poolDir+"\n")
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "drawn from other pages") {
		t.Errorf("a pool of another web: %v", err)
	}
}
