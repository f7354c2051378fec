package pool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// TestTruthOfTheRepository holds docs/truth to what its README says of it.
func TestTruthOfTheRepository(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "truth")
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := ReadLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := ReadExamples(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNarratives(dir, p); err != nil {
		t.Error(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tells := func(row string) {
		t.Helper()
		if !strings.Contains(string(readme), row+"\n") {
			t.Errorf("README.md does not hold the row\n%s", row)
		}
	}
	agreements := Agreements(p, labels)
	var all Agreement
	var allAgain secondLook
	var sum [4]int
	for i := range p.Topics {
		x := &p.Topics[i]
		n := countGrades(labels, x)
		for g := range n {
			sum[g] += n[g]
		}
		if n[0]+n[1]+n[2]+n[3] != len(x.Pages) || len(x.Pages) < 300 {
			t.Errorf("%s: %v of %d pages have grades", x.Key(), n, len(x.Pages))
		}
		at := slices.IndexFunc(agreements, func(a Agreement) bool { return a.Key == x.Key() })
		if at < 0 {
			t.Fatalf("%s has no page that two readers graded", x.Key())
		}
		a := agreements[at]
		if twice := a.Table.Total() + a.Unsure; 5*twice < len(x.Pages)-10 {
			t.Errorf("%s: %d of %d pages are graded by two readers, not a fifth", x.Key(), twice, len(x.Pages))
		}
		all.Table.Add(a.Table)
		all.Disagreements = append(all.Disagreements, a.Disagreements...)
		tells(truthRow(x.Key().String(), n, a))
		again := newSecondLook(labels, x.Key())
		tells(again.row(x.Key().String()))
		allAgain.add(again)
		checkExamples(t, x.Key(), examples[x.Key()], Grades(labels, x.Key()))
	}
	tells(truthRow("all", sum, all))
	tells(allAgain.row("all"))
	if k := NewKappa(all.Table, Plain()); k.Value < .6 {
		t.Errorf("kappa over all is %.2f", k.Value)
	}
}

// truthRow is a row of the README's table.
func truthRow(name string, n [4]int, a Agreement) string {
	k := NewKappa(a.Table, Plain())
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %.2f | %.2f to %.2f |", name, n[Mainly], n[Partly], n[No], n[3],
		k.N, len(a.Disagreements), k.Value, k.Value-1.96*k.SE, min(1, k.Value+1.96*k.SE))
}

// secondLook counts what D, who read whole texts, made of the grades before: pages
// by the grade before and after, those of which nobody could tell aside.
type secondLook [Mainly + 1][Mainly + 1]int

func newSecondLook(labels []Label, k Key) (s secondLook) {
	before := Grades(slices.DeleteFunc(slices.Clone(labels), func(l Label) bool { return l.Reader == "D" }), k)
	after := Grades(labels, k)
	for _, l := range InForce(labels) {
		if l.Key != k || l.Reader != "D" {
			continue
		}
		if b, ok := before[l.URL]; ok {
			s[b][after[l.URL]]++
		}
	}
	return s
}

func (s *secondLook) add(t secondLook) {
	for b := range t {
		for a := range t[b] {
			s[b][a] += t[b][a]
		}
	}
}

// row is a row of the README's table of second looks.
func (s secondLook) row(name string) string {
	of := func(b Grade) int { return s[b][No] + s[b][Partly] + s[b][Mainly] }
	lower := s[Partly][No] + s[Mainly][No] + s[Mainly][Partly]
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", name, of(No), of(Partly), s[No][Partly], s[No][Mainly], s[Partly][Mainly], lower)
}

// countGrades counts the pages of a topic by grade; the last are those of which
// nobody can tell.
func countGrades(labels []Label, x *Topic) (n [4]int) {
	grades := Grades(labels, x.Key())
	for _, g := range grades {
		n[g]++
	}
	unsure := map[web.URL]bool{}
	for _, l := range labels {
		if _, ok := grades[l.URL]; l.Key == x.Key() && !ok {
			unsure[l.URL] = true
		}
	}
	n[3] = len(unsure)
	return n
}

// checkExamples checks that the examples of a topic are eight pages of grade 2 of
// several hosts, and its negatives four of grade 0.
func checkExamples(t *testing.T, k Key, e Examples, grades map[web.URL]Grade) {
	t.Helper()
	hosts := map[web.Host]bool{}
	for _, u := range e.Wanted {
		hosts[u.Host()] = true
		if g, ok := grades[u]; !ok || g != Mainly {
			t.Errorf("%s: the example %s has the grade %s", k, u, g)
		}
	}
	for _, u := range e.Negatives {
		if g, ok := grades[u]; !ok || g != No {
			t.Errorf("%s: the negative example %s has the grade %s", k, u, g)
		}
	}
	if len(e.Wanted) != 8 || len(e.Negatives) != 4 || len(hosts) < 3 {
		t.Errorf("%s: %d examples of %d hosts, %d negatives", k, len(e.Wanted), len(hosts), len(e.Negatives))
	}
}
