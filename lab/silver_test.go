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
	"github.com/waggle-crawler/waggle/eval/silver"
)

// silverTree is the small web with a pool that was read, and a file that gives all
// other pages of the topic bees the silver grade of a page.
func silverTree(t *testing.T, grade func(n int) pool.Grade) (webDir, poolDir, file string) {
	t.Helper()
	webDir, poolDir = readTree(t, byBees)
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := pool.ReadLabels(poolDir, p)
	if err != nil {
		t.Fatal(err)
	}
	k := p.Topics[0].Key()
	gold := pool.Grades(labels, k)
	w := groupOf(t, "webs: [{path: "+webDir+", topics: [bees], budgets: [30]}]\nscorers: [breadth-first]\n", "bees", 0).w
	var list []silver.Label
	for u := range w.URLs() {
		if _, read := gold[u]; read || u.Path() == "/robots.txt" {
			continue
		}
		x := silver.Label{Key: k, URL: u}
		switch grade(number(t, u)) {
		case pool.Mainly:
			x.Prediction = silver.Prediction{Partly: 1, Mainly: 1}
		case pool.Partly:
			x.Prediction = silver.Prediction{Partly: 1}
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		t.Fatal("all pages were read")
	}
	file = filepath.Join(t.TempDir(), "silver.tsv")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := silver.Write(f, p.Revision, list); err != nil {
		t.Fatal(err)
	}
	return webDir, poolDir, file
}

// Where silver grades are right, a lab gives the figures of the same truth in a
// file, and its report says that they are silver and not read.
func TestTruthSilver(t *testing.T) {
	webDir, poolDir, file := silverTree(t, func(n int) pool.Grade { g, _ := byBees(n); return g })
	const rest = "\nscorers: [breadth-first, best-first-both]\nbudgets: [10, 30]\n"
	silvers := rest + "truth: silver\ngrade: 2\nsilver: " + file + "\npool: " + poolDir + "\n"
	bees := "webs: [{path: " + webDir + ", topics: [bees]}]"
	one, two := t.TempDir(), t.TempDir()
	if _, err := read(t, bees+rest).Run(t.Context(), one, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, bees+silvers).Run(t.Context(), two, Options{}); err != nil {
		t.Fatal(err)
	}
	a, _ := reportOf(t, one)
	b, text := reportOf(t, two)
	if len(a.Cells) != len(b.Cells) || b.Topics[0].Read != nil {
		t.Fatal(len(a.Cells), len(b.Cells))
	}
	for i := range a.Cells {
		for _, v := range a.Cells[i].Values {
			got := b.Cells[i].Value(v.Measure, v.Budget)
			if want := float64(v.Value); v.Measure != "seconds" && math.Abs(got-want) > 1e-6 && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %s at %d is %v silver, %v by the file", a.Cells[i].Key, v.Measure, v.Budget, got, want)
			}
		}
	}
	for _, want := range []string{"Ground truth is silver", "tree/bees: of "} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
	for _, wrong := range []string{"the web's truth files", "## The truth that was read", "Ground truth is what readers found"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the report holds %q", wrong)
		}
	}
}

// A lab whose file names its silver grades from the folder that both lie in goes on, and its kept
// file is the same lab.
func TestFolderOfRelativeSilver(t *testing.T) {
	webDir, poolDir, file := silverTree(t, func(n int) pool.Grade { g, _ := byBees(n); return g })
	t.Chdir(filepath.Dir(file))
	body := "webs: [{path: " + webDir + ", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\ntruth: silver\nsilver: " + filepath.Base(file) + "\npool: " + poolDir + "\n"
	if err := os.WriteFile(labFile, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, name := range []string{labFile, labFile, filepath.Join(dir, labFile)} {
		f, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := f.Run(t.Context(), dir, Options{}); err != nil || (out.Made > 0) != (i == 0) {
			t.Errorf("run %d, of %s: %+v, %v", i+1, name, out, err)
		}
	}
}

// What readers graded keeps its grade, whatever the file says, and other silver
// grades give other cells.
func TestTruthSilverKeepsGold(t *testing.T) {
	webDir, poolDir, file := silverTree(t, func(int) pool.Grade { return pool.No })
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	var wrong strings.Builder
	for _, x := range p.Topics[0].Pages {
		wrong.WriteString("tree\tbees\t" + x.URL.String() + "\t1.000\t1.000\t2\n")
	}
	body := "webs: [{path: " + webDir + ", topics: [bees], budgets: [30]}]\nscorers: [breadth-first]\ntruth: silver\nsilver: " + file + "\npool: " + poolDir + "\n"
	names := func(s string) []string {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := read(t, body).Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		names, _ := results(t, dir)
		return names
	}
	first := names(string(b))
	more := strings.Replace(string(b)+wrong.String(), fmt.Sprintf(", %d grades\n", strings.Count(string(b), "\n")-2), fmt.Sprintf(", %d grades\n", strings.Count(string(b)+wrong.String(), "\n")-2), 1)
	if !slices.Equal(names(more), first) {
		t.Error("silver grades replace those of readers")
	}
	if slices.Equal(names(strings.Replace(string(b), "\t0.000\t0.000\t0\n", "\t1.000\t1.000\t2\n", 1)), first) {
		t.Error("other silver grades give the same cells")
	}
}

// What silver grades need is said before anything is run.
func TestTruthSilverRefuses(t *testing.T) {
	webDir, poolDir, file := silverTree(t, func(int) pool.Grade { return pool.No })
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	write := func(name, s string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	old := lines[0][:strings.Index(lines[0], ",")] + "\n" // without a count
	empty := write("empty.tsv", old+lines[1])
	cut := write("cut.tsv", strings.Join(lines[:len(lines)-4], ""))
	half := write("half.tsv", strings.TrimSuffix(string(b), "\n"))
	oldCut := write("old.tsv", old+strings.Join(lines[1:len(lines)-4], ""))
	oldWhole := write("whole.tsv", old+strings.Join(lines[1:], ""))
	for _, c := range []struct{ file, want string }{
		{"truth: silver\npool: " + poolDir, "waggle lab pool extend makes the file"},
		{"truth: read\nsilver: " + file + "\npool: " + poolDir, "need each other"},
		{"truth: silver\nsilver: " + file, "name it by pool:"},
		{"truth: silver\nsilver: none.tsv\npool: " + poolDir, "none.tsv: no such file"},
		{"truth: silver\nsilver: " + empty + "\npool: " + poolDir, "has no grade of it"},
		{"truth: silver\nsilver: " + cut + "\npool: " + poolDir, "and its first line says"},
		{"truth: silver\nsilver: " + half + "\npool: " + poolDir, "the line has no end: the file was cut short: waggle lab pool extend makes it anew"},
		{"truth: silver\nsilver: " + oldCut + "\npool: " + poolDir, "has no grade of 3 of the 60 documents of tree/bees, such as http://a.example/"},
		{"truth: silver\nsilver: " + oldWhole + "\npool: " + poolDir, ""},
		{"examples: silver\npool: " + poolDir, `examples: "silver": web (the web's own) or read`},
	} {
		s := "scorers: [breadth-first]\nwebs: [{path: " + webDir + ", topics: [bees], budgets: [10]}]\n" + c.file + "\n"
		f, err := decode(filepath.Join(t.TempDir(), "lab.yaml"), []byte(s))
		if err == nil {
			_, err = f.Run(t.Context(), t.TempDir(), Options{})
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
	}
}

// A pool is extended over a web: every document without a grade gets one, and the
// accuracy is measured on those that were read.
func TestExtendPool(t *testing.T) {
	webDir, poolDir := readTree(t, byBees)
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	var n strings.Builder
	n.WriteString("tree:\n")
	for i := range p.Topics {
		n.WriteString("  " + p.Topics[i].Name + ":\n    mainly: The page is mainly about " + p.Topics[i].Name + ".\n    partly: In part.\n    no: Not about it.\n")
	}
	if err := os.WriteFile(filepath.Join(poolDir, pool.NarrativesName), []byte(n.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	x, got, err := ExtendPool(t.Context(), poolDir, []string{webDir}, SilverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Revision != p.Revision || len(x.Accuracy) != len(p.Topics) || len(p.Topics) < 2 {
		t.Errorf("%d topics, of pool %s", len(x.Accuracy), got.Revision)
	}
	if want := len(p.Topics) * (p.Webs[0].Documents - 40); len(x.Labels) != want {
		t.Errorf("%d labels, want %d", len(x.Labels), want)
	}
	for _, a := range x.Accuracy {
		if a.Read[0].N != 40 || a.Web[1].N != 40 {
			t.Errorf("%+v", a)
		}
	}
	if _, _, err := ExtendPool(t.Context(), poolDir, nil, SilverOptions{}); err == nil || !strings.Contains(err.Error(), "give it by --web") {
		t.Errorf("without a web: %v", err)
	}
	if _, _, err := ExtendPool(t.Context(), poolDir, []string{tree(t, "trains have engines too")}, SilverOptions{}); err == nil || !strings.Contains(err.Error(), "drawn from other pages") {
		t.Errorf("another web: %v", err)
	}
}
