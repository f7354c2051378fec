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
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/internal/long"
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
	checkBounds(t, r)
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

// checkBounds checks that values.csv and curves.csv have both bounds, behind all
// columns that were there before.
func checkBounds(t *testing.T, r report.Results) {
	t.Helper()
	values, err := report.ValuesCSV(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(values)), "\n")
	if !strings.HasSuffix(lines[0], ",measure,value,upper,lower") {
		t.Errorf("values.csv begins %s", lines[0])
	}
	rows := 0
	for _, line := range lines[1:] {
		f := strings.Split(line, ",")
		if f[9] != "hits" {
			continue
		}
		rows++
		var v [3]float64 // value, upper, lower
		for i := range v {
			if _, err := fmt.Sscan(f[10+i], &v[i]); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if !(v[2] <= v[0] && v[0] <= v[1]) {
			t.Errorf("%s: %v", line, v)
		}
	}
	if rows != 2*len(r.Cells) {
		t.Errorf("%d rows of hits for %d cells of two budgets", rows, len(r.Cells))
	}
	curves, err := report.CurvesCSV(r)
	if err != nil || !strings.Contains(string(curves), ",pages,hits,upper,similar,loss,loss_sum,lower\n") || strings.Contains(string(curves), ",\n") {
		t.Errorf("curves.csv lacks lower bounds, %v", err)
	}
}

// Distances to relevant pages are known as far as pages were read, and the report
// says so.
func TestTruthReadHops(t *testing.T) {
	long.Test(t, "runs a lab")
	webDir, poolDir := readTree(t, byBees)
	for truth, want := range map[string]bool{"truth: read\npool: " + poolDir + "\n": true, "": false} {
		out := t.TempDir()
		// A single scorer needs no baseline.
		f := read(t, "webs: [{path: "+webDir+", topics: [bees], budgets: [10]}]\nscorers: [best-first-both]\nhops: 1\n"+truth)
		if _, err := f.Run(t.Context(), out, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Report(out); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(out, "report.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"A page that nobody read may count too, and may be nearer", "drawn from those whose nearest page that readers found to count is exactly 1 link away"} {
			if strings.Contains(string(b), s) != want {
				t.Errorf("%q: the report holds %q: %v", truth, s, !want)
			}
		}
	}
}

// Where all that crawls come to was read, a truth that was read gives the figures
// of the same truth in a file.
func TestTruthReadWhole(t *testing.T) {
	long.Test(t, "runs a lab")
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

	// Examples that readers found not to be about the topic are told, and so are
	// negative ones that are.
	grades := groupOf(t, file+"truth: read\n", "bees", 0).w.grades["bees"]
	by := map[pool.Grade]string{}
	for u, g := range grades {
		by[g] = u.String()
	}
	write("topic\taddress\tas\ntree/bees\t" + by[pool.Mainly] + "\texample\ntree/bees\t" + by[pool.No] + "\texample\ntree/bees\t" + by[pool.Partly] + "\tnegative\n")
	notes := strings.Join(groupOf(t, file+"truth: read\n", "bees", 0).w.notes, " ")
	for _, want := range []string{"1 of the 2 examples in examples.tsv another grade than these should have, such as " + by[pool.No] + " (grade 0)", "1 of the 1 negative examples in examples.tsv another grade than these should have, such as " + by[pool.Partly] + " (grade 1)"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %s", notes, want)
		}
	}
	write("topic\taddress\tas\ntree/bees\t" + page + "14\texample\ntree/bees\t" + page + "21\texample\ntree/bees\t" + page + "28\texample\ntree/bees\t" + page + "15\tnegative\n")
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
	facts, _, err := bad.judges(t.Context())
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
		{"truth: raed", `truth: "raed": web (the web's own), read (a pool's) or silver (a classifier's)`},
		{"pool: " + poolDir, "neither truth: read nor examples: read asks for it"},
		{"grade: 3", "grade: 3: pages count from grade 1"},
		{"grade: 2", "grade: is of truth: read"},
		{"bad-examples: -1", "outside 0…100"},
		{"example-count: -1", "example-count: -1 is outside 0…"},
		{"example-count: 1\nbad-examples: 2", "example-count: 1 is outside 2…"},
		{"example-count: 1.5", `example-count: a whole number is wanted, and not "1.5"`},
		{"network: {workers: 2.5}", `workers: a whole number is wanted, and not "2.5"`},
		{"label-noise: 1.5", "label-noise: 1.5 is outside 0…1"},
		{"truth: read\npool: " + t.TempDir(), "waggle lab pool draw makes one"},
		{"truth: read\npool: " + empty, "nobody has read a page"},
		{"truth: read\npool: " + poolDir, "none counts, from grade 1: read more of its 40 pages with waggle lab read " + poolDir + ", or name other topics by topics:"},
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
	foreign := buildTree(t, "trains have engines too", strings.Replace(treeFile, "name: tree", "name: foreign", 1))
	for _, topics := range []string{"", ", topics: [bees]"} {
		f := read(t, "scorers: [breadth-first]\nwebs: [{path: "+foreign+topics+", budgets: [10]}]\ntruth: read\npool: "+poolDir+"\n")
		if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "the pool "+poolDir+" has no page of the web foreign, but of tree") {
			t.Errorf("a web that the pool lacks: %v", err)
		}
	}
	f := read(t, "scorers: [breadth-first]\nwebs: [{path: "+other+", topics: [bees], budgets: [10]}]\ntruth: read\npool: "+poolDir+"\n")
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "drawn from other pages") {
		t.Errorf("a pool of another web: %v", err)
	}
}
