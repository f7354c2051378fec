package pool

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// drawn is a pool in a folder.
func drawn(t testing.TB) (*Pool, string) {
	t.Helper()
	p, dir := small(t), t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	return p, dir
}

func TestLabelsAreKeptAsTheyCome(t *testing.T) {
	p, dir := drawn(t)
	bees := &p.Topics[0]
	label := func(n int, g Grade, reader string, round int) Label {
		return Label{bees.Key(), bees.Pages[n].URL, g, reader, round}
	}
	given := []Label{
		label(0, Mainly, "ada", 1), label(1, No, "ada", 1), label(2, CannotTell, "ada", 1), label(3, Partly, "ada", 1),
		label(0, No, "bob", 1), label(1, No, "bob", 1), label(2, Mainly, "bob", 1),
		label(1, Partly, "ada", 1),              // changed
		label(3, Partly, "ada", 1).Withdrawal(), // taken back
		label(0, Partly, "bob", 2),
	}
	f, old, err := OpenLabels(dir, p)
	if err != nil || len(old) != 0 {
		t.Fatalf("%v, %v", old, err)
	}
	for _, l := range given {
		if err := f.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLabels(dir, p)
	if err != nil || !reflect.DeepEqual(got, given) {
		t.Fatalf("read %v, %v\nwant %v", got, err, given)
	}
	// ada 2, bob first 0, then 1, which alone counts. ada 1, bob 0: the lower. ada
	// cannot tell, bob 2.
	want := map[string]Grade{bees.Pages[0].URL.String(): Partly, bees.Pages[1].URL.String(): No, bees.Pages[2].URL.String(): Mainly}
	grades := map[string]Grade{}
	for u, g := range Grades(got, bees.Key()) {
		grades[u.String()] = g
	}
	if !maps.Equal(grades, want) {
		t.Errorf("grades %v, want %v", grades, want)
	}
	if len(Grades(got, Key{"tree", "cars"})) != 0 {
		t.Error("a topic that nobody read has grades")
	}
	if r := readersOf(InForce(got)); !reflect.DeepEqual(r, []string{"ada", "bob"}) {
		t.Errorf("readers %v", r)
	}
}

// Second looks stand where there are some, also against readers who agree and by one
// who did not read the page before.
func TestGradesBySecondLooks(t *testing.T) {
	p, _ := drawn(t)
	bees := &p.Topics[0]
	for _, c := range []struct {
		name   string
		labels string // reader, grade, round
		want   string
	}{
		{"one reader", "a 1 1", "1"},
		{"two readers: the lower", "a 1 1, b 2 1", "1"},
		{"three readers: the median", "a 0 1, b 2 1, c 2 1", "2"},
		{"a third looks again where two agree", "a 0 1, b 0 1, c 1 2", "1"},
		{"and lower", "a 2 1, b 2 1, c 0 2", "0"},
		{"a third looks again where two differ", "a 0 1, b 1 1, c 1 2", "1"},
		{"a reader looks again", "a 0 1, b 2 1, b 1 2", "1"},
		{"both look again: the lower", "a 0 1, a 1 2, b 2 1, b 2 2", "1"},
		{"a first look after a second one", "c 1 2, a 0 1", "1"},
		{"a second look that cannot tell", "a 0 1, b 2 1, c ? 2", "0"},
		{"a reader who cannot tell any more", "a 0 1, a ? 2, b 2 1", "2"},
		{"a second look taken back", "a 0 1, c 1 2, c - 2", "0"},
		{"nobody can tell", "a ? 1, c ? 2", "none"},
	} {
		var labels []Label
		for _, s := range strings.Split(c.labels, ", ") {
			l := Label{Key: bees.Key(), URL: bees.Pages[0].URL}
			var grade string
			if _, err := fmt.Sscan(s, &l.Reader, &grade, &l.Round); err != nil {
				t.Fatal(err)
			}
			if grade == withdrawn.String() {
				l.Grade = withdrawn
			} else {
				var err error
				if l.Grade, err = ParseGrade(grade); err != nil {
					t.Fatal(err)
				}
			}
			labels = append(labels, l)
		}
		got := "none"
		if g, ok := Grades(labels, bees.Key())[bees.Pages[0].URL]; ok {
			got = g.String()
		}
		if got != c.want {
			t.Errorf("%s (%s): %s, want %s", c.name, c.labels, got, c.want)
		}
	}
}

// A process that dies while it writes a label loses none before it, wherever
// the write ends.
func TestLabelCutShort(t *testing.T) {
	p, dir := drawn(t)
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	var given []Label
	for n := range 5 {
		given = append(given, Label{p.Topics[0].Key(), p.Topics[0].Pages[n].URL, Partly, "ada", 1})
	}
	if err := f.Add(given...); err != nil {
		t.Fatal(err)
	}
	f.Close()
	name := filepath.Join(dir, LabelsName)
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(all) + 1 {
		b := all[:cut]
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		f, got, err := OpenLabels(dir, p)
		want := max(0, bytes.Count(b, []byte("\n"))-2)
		half := ""
		if end := b[bytes.LastIndexByte(b, '\n')+1:]; bytes.Count(b, []byte("\n")) >= 2 && len(end) > 0 {
			if all[cut] == '\n' {
				want++ // it lacks its end alone
			} else {
				half = string(end)
			}
		}
		if err != nil || len(got) != want || f.Cut != half {
			t.Fatalf("cut at %d: %d labels, want %d, cut off %q, want %q, %v", cut, len(got), want, f.Cut, half, err)
		}
		next := Label{p.Topics[1].Key(), p.Topics[1].Pages[0].URL, No, "bob", 1}
		if err := f.Add(next); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got, err = ReadLabels(dir, p); err != nil || len(got) != want+1 || got[len(got)-1] != next {
			t.Fatalf("cut at %d, and a label added: %v, %v", cut, got, err)
		}
	}
}

func TestLabelErrors(t *testing.T) {
	p, dir := drawn(t)
	head := labelsMark + p.Revision + "\n" + labelsHead + "\n"
	page := p.Topics[0].Pages[0].URL.String()
	for _, c := range []struct{ file, want string }{
		{"x\n", "labels.tsv:1: the first line is not"},
		{labelsMark + "0123\n", "the labels are of pool 0123, and this is pool " + p.Revision},
		{labelsMark + p.Revision + "\nx\n", "labels.tsv:2: the line is not"},
		{head + "tree\tbees\t" + page + "\t3\tada\t1\n", `labels.tsv:3: grade "3"`},
		{head + "tree\tbees\t" + page + "\t2\tada\t1\ntree\tbees\t" + page + "\t2\tada\t0\n", `labels.tsv:4: round "0"`},
		{head + "tree\tbees\t" + page + "\t2\t\t1\n", `reader ""`},
		{head + "tree\tbees\t" + page + "\t2\ta\u202eb\t1\n", `reader "ab"`},
		{head + "tree\twasps\t" + page + "\t2\tada\t1\n", "the pool has no topic tree/wasps"},
		{head + "tree\tbees\thttp://a.example/nowhere\t2\tada\t1\n", "http://a.example/nowhere is no page to read for tree/bees"},
		{head + "tree\tbees\t" + page + "\t2\tada\n", "six fields"},
	} {
		if err := os.WriteFile(filepath.Join(dir, LabelsName), []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLabels(dir, p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.file, err, c.want)
		}
	}
}

func TestImport(t *testing.T) {
	p, _ := drawn(t)
	bees := &p.Topics[0]
	a, b := bees.Pages[0].URL.String(), bees.Pages[1].URL.String()
	o := ImportOptions{Topic: bees.Key(), Reader: "ada"}
	for _, c := range []struct {
		name, file string
		o          ImportOptions
		want       string // labels, or an error
	}{
		{"numbers", "n\tgrade\n1\t2\n2\t?\n", o, "tree/bees 1 2 ada 1; tree/bees 2 ? ada 1"},
		{"all columns", "reader\tnote\tgrade\ttopic\taddress\tround\tn\nbob\tx\t0\ttree/bees\t" + b + "\t2\t2\n", ImportOptions{}, "tree/bees 2 0 bob 2"},
		{"web apart", "web\ttopic\taddress\tgrade\ntree\tbees\t" + a + "\t1\n", ImportOptions{Reader: "ada", Round: 2}, "tree/bees 1 1 ada 2"},
		{"qrels", "tree/bees 0 " + a + " 2\ntree/bees\t0\t" + b + "\t-1\n", ImportOptions{Reader: "ada"}, "tree/bees 1 2 ada 1; tree/bees 2 ? ada 1"},
		{"CRLF, blanks, comments", "\ufeffn\tgrade\r\n# why\r\n\r\n1\t2\r\n", o, "tree/bees 1 2 ada 1"},
		{"no head", "1\t2\n", o, "f:1: the first line names the columns"},
		{"twice", "n\tgrade\n1\t2\n1\t0\n", o, "f:3: " + a + " has a grade in line 2 already"},
		{"many wrong", "n\tgrade\n1\t4\n0\t1\n999\t1\n2\t1\n", o, "f:2: grade \"4\": 2 (mainly), 1 (in part), 0 (no) or ? (cannot tell) is wanted\nf:3: n \"0\": a number in 1…30 is wanted\nf:4: n \"999\""},
		{"they disagree", "n\taddress\tgrade\n1\t" + b + "\t2\n", o, "n is 1, but " + b + " is page 2 of tree/bees"},
		{"another page", "address\tgrade\nhttp://a.example/none\t2\n", o, "is no page to read"},
		{"no reader", "n\tgrade\n1\t2\n", ImportOptions{Topic: bees.Key()}, "--reader NAME"},
		{"no topic", "n\tgrade\n1\t2\n", ImportOptions{Reader: "ada"}, "--topic WEB/TOPIC"},
		{"other topic", "topic\tn\tgrade\ntree/wasps\t1\t2\n", o, "the pool has no topic tree/wasps"},
		{"fields", "n\tgrade\n1\n", o, "f:2: 1 fields parted by tabs, but 2 columns"},
		{"columns", "n\tn\tgrade\n", o, `two columns are named "n"`},
		{"qrels and more", "tree/bees 0 " + a + " 2\ntree/bees 0 " + b + " 2 3\n", o, "f:2: 5 words; qrels have four"},
		{"nothing", "n\tgrade\n", o, "f holds no labels"},
	} {
		got, err := NewImporter(p, c.o).Read(strings.NewReader(c.file), "f")
		var text []string
		ix := p.index()
		for _, l := range got {
			_, n, _ := ix.find(l.Key, l.URL.String())
			text = append(text, fmt.Sprintf("%s %d %s %s %d", l.Key, n+1, l.Grade, l.Reader, l.Round))
		}
		if err != nil {
			text = []string{err.Error()}
		}
		if s := strings.Join(text, "; "); s != c.want && (err == nil || !strings.Contains(s, c.want)) {
			t.Errorf("%s: %s\nwant %s", c.name, s, c.want)
		}
	}
}

// What is exported is imported as it was.
func TestExportImport(t *testing.T) {
	p, _ := drawn(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var labels []Label
	for i := range p.Topics {
		for _, x := range p.Topics[i].Pages {
			labels = append(labels, Label{p.Topics[i].Key(), x.URL, Grade(rng.IntN(4) - 1), "ada", 1})
		}
	}
	var b bytes.Buffer
	if err := WriteTSV(&b, p, labels); err != nil {
		t.Fatal(err)
	}
	got, err := NewImporter(p, ImportOptions{}).Read(&b, "f")
	if err != nil || !reflect.DeepEqual(got, labels) {
		t.Errorf("TSV: %v\n%v\n%v", err, got, labels)
	}
	b.Reset()
	if err := WriteQrels(&b, p, labels); err != nil {
		t.Fatal(err)
	}
	got, err = NewImporter(p, ImportOptions{Reader: "ada"}).Read(&b, "f")
	var told []Label
	for _, l := range labels {
		if l.Grade != CannotTell {
			told = append(told, l)
		}
	}
	if err != nil || !reflect.DeepEqual(got, told) {
		t.Errorf("qrels: %v\n%v\n%v", err, got, told)
	}
}

func TestKappa(t *testing.T) {
	near := func(name string, got, want, by float64) {
		t.Helper()
		if !(math.Abs(got-want) <= by) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// Fleiss, Levin & Paik (2003), table 18.1: κ .676, standard error .087.
	k := NewKappa(Table{{75, 1, 4}, {5, 4, 1}, {0, 0, 10}}, Plain())
	near("observed", k.Observed, .89, 1e-12)
	near("expected", k.Expected, .66, 1e-12)
	near("κ", k.Value, .6765, 5e-5)
	near("its standard error", k.SE, .0877, 5e-4)
	// Two readers of 50 proposals: 20 both yes, 15 both no, 5 and 10 otherwise.
	near("κ of two grades", NewKappa(Table{{20, 5}, {10, 15}}, Plain()).Value, .4, 1e-12)
	near("κ of equals", NewKappa(Table{{5}, {0, 7}, {0, 0, 9}}, Linear()).Value, 1, 1e-12)
	near("κ of independents", NewKappa(Table{{4, 8}, {2, 4}}, Linear()).Value, 0, 1e-12)
	if k := NewKappa(Table{{9}}, Plain()); !math.IsNaN(k.Value) || k.N != 9 || k.Observed != 1 {
		t.Errorf("one grade alone: %+v", k)
	}
	if k := NewKappa(Table{}, Plain()); !math.IsNaN(k.Value) || k.N != 0 {
		t.Errorf("no pairs: %+v", k)
	}
	// Weighted κ is one minus the ratio of mean disagreements, pair by pair.
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var x, y []int
		var table Table
		for range 40 {
			a := rng.IntN(3)
			b := min(2, max(0, a+rng.IntN(3)-1))
			x, y = append(x, a), append(y, b)
			table[a][b]++
		}
		seen, chance := 0., 0.
		for i := range x {
			seen += math.Abs(float64(x[i]-y[i])) / 40
			for j := range y {
				chance += math.Abs(float64(x[i]-y[j])) / 1600
			}
		}
		near("weighted κ", NewKappa(table, Linear()).Value, 1-seen/chance, 1e-9)
		two := table.From(Partly)
		if two.Total() != 40 || two[0][0] != table[0][0] || two[1][1] != table[1][1]+table[1][2]+table[2][1]+table[2][2] {
			t.Errorf("from 1: %v of %v", two, table)
		}
	}
}

// The standard error is the spread of κ over samples.
func TestKappaStandardError(t *testing.T) {
	share := Weights{{.3, .08, .02}, {.06, .2, .04}, {.02, .08, .2}}
	rng := rand.New(rand.NewPCG(5, 6))
	var values []float64
	se := 0.
	const draws = 3000
	for range draws {
		var table Table
		for range 200 {
			r := rng.Float64()
		cells:
			for i := range share {
				for j, p := range share[i] {
					if r -= p; r < 0 {
						table[i][j]++
						break cells
					}
				}
			}
		}
		k := NewKappa(table, Linear())
		values = append(values, k.Value)
		se += k.SE / draws
	}
	m, v := 0., 0.
	for _, x := range values {
		m += x / draws
	}
	for _, x := range values {
		v += (x - m) * (x - m) / draws
	}
	if sd := math.Sqrt(v); math.Abs(se/sd-1) > .06 {
		t.Errorf("mean standard error %.4f, spread %.4f", se, sd)
	}
}

func TestAgreements(t *testing.T) {
	p, _ := drawn(t)
	cars := &p.Topics[1]
	var labels []Label
	add := func(n, round int, grades map[string]Grade) {
		for reader, g := range grades {
			labels = append(labels, Label{cars.Key(), cars.Pages[n].URL, g, reader, round})
		}
	}
	add(0, 1, map[string]Grade{"ada": Mainly, "bob": Mainly})
	add(1, 1, map[string]Grade{"bob": No, "ada": Partly})
	add(2, 1, map[string]Grade{"bob": No, "ada": CannotTell})
	add(3, 1, map[string]Grade{"bob": Mainly})
	add(4, 1, map[string]Grade{"bob": No, "ada": Mainly})
	add(4, 2, map[string]Grade{"bob": Partly, "ada": Partly})
	add(5, 1, map[string]Grade{"bob": No, "ada": Mainly, "cy": Mainly})
	add(5, 2, map[string]Grade{"bob": Mainly})
	got := Agreements(p, labels)
	if len(got) != 1 || got[0].Key != cars.Key() || got[0].Unsure != 1 {
		t.Fatalf("%+v", got)
	}
	// ada first: pages 0, 1, 4, 5; on page 5 also ada and cy, bob and cy.
	if want := (Table{{0, 0, 1}, {1, 0, 0}, {2, 0, 2}}); got[0].Table != want {
		t.Errorf("table %v, want %v", got[0].Table, want)
	}
	var text []string
	for _, d := range got[0].Disagreements {
		s := fmt.Sprint(p.index().at[d.Key][d.URL.String()]+1, " ", d.Settled)
		for _, l := range d.Labels {
			s += fmt.Sprintf(" %s %s/%d", l.Reader, l.Grade, l.Round)
		}
		text = append(text, s)
	}
	want := "2 false ada 1/1 bob 0/1; 5 true ada 1/2 bob 1/2; 6 false ada 2/1 bob 0/1 cy 2/1"
	if s := strings.Join(text, "; "); s != want {
		t.Errorf("disagreements %s\nwant %s", s, want)
	}
}

// Files that contradict each other are refused, and so is what is no text.
func TestImportOfSeveralFiles(t *testing.T) {
	p, _ := drawn(t)
	o := ImportOptions{Topic: p.Topics[0].Key(), Reader: "ada"}
	im := NewImporter(p, o)
	for i, c := range []struct{ file, want string }{
		{"n\tgrade\n1\t2\n", ""},
		{"n\tgrade\n1\t2\n2\t0\n", ""},
		{"n\tgrade\n1\t1\n", "f3:2: " + p.Topics[0].Pages[0].URL.String() + " has the grade 2 by ada in f2:2, and 1 here"},
		{strings.Repeat("\x00", maxLine+2), "f4:1: the line has more than 1048576 bytes"},
	} {
		name := fmt.Sprint("f", i+1)
		if _, err := im.Read(strings.NewReader(c.file), name); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.40q: %v, want %s", c.file, err, c.want)
		}
	}
}

// A first grade stays once another reader has given another one, and a second
// look needs somebody's first.
func TestNewLabels(t *testing.T) {
	p, _ := drawn(t)
	bees := &p.Topics[0]
	label := func(n int, g Grade, reader string, round int) Label {
		return Label{bees.Key(), bees.Pages[n].URL, g, reader, round}
	}
	old := []Label{
		label(0, Mainly, "ada", 1), label(0, No, "bob", 1), // they differ
		label(1, Mainly, "ada", 1), label(1, Mainly, "bob", 1),
		label(2, Mainly, "ada", 1), label(2, CannotTell, "bob", 1),
	}
	for _, c := range []struct {
		name           string
		labels         []Label
		added, changed int
		want           string
	}{
		{"as they are", old, 0, 0, ""},
		{"changed", []Label{label(1, No, "ada", 1), label(2, No, "ada", 1), label(3, No, "ada", 1)}, 3, 2, ""},
		{"in two files", []Label{label(3, No, "ada", 1), label(3, No, "ada", 1)}, 1, 0, ""},
		{"another reader differs", []Label{label(0, No, "ada", 1)}, 0, 0, "the first grade 2 of ada stays"},
		{"a second look", []Label{label(0, No, "ada", 2)}, 1, 0, ""},
		{"both", []Label{label(4, No, "cy", 2), label(4, Mainly, "cy", 1)}, 2, 0, ""},
		{"a second look of somebody else", []Label{label(0, No, "cy", 2)}, 1, 0, ""},
		{"no first grade", []Label{label(5, No, "cy", 2)}, 0, 0, "a second look of cy at a page that nobody has given a first grade"},
	} {
		added, changed, err := NewLabels(old, c.labels)
		if len(added) != c.added || changed != c.changed || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %d changed, %v", c.name, added, changed, err)
		}
	}
}
