package taxonomy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// What editors wrote of a topic stays where the topic stays, an inner one too, and goes
// where it is folded.
func TestPruneKeepsWhatIsSaid(t *testing.T) {
	in := head + "/A\t\t\tAll of A\n/A/B\t\t\tAll of B\n/A/Oth\t\t\tAll of C\n/A/Oth\thttp://c.example/\n"
	for i := range 3 {
		in += fmt.Sprintf("/A/B\thttp://b.example/%d\n/D\thttp://d.example/%d\n", i, i)
	}
	var out bytes.Buffer
	_, err := taxonomy.Prune(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(in)), nil }, "a.tax", &out, taxonomy.Pruning{K: 2, Cap: 2})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for e, err := range taxonomy.Read(&out, "classes.tax") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Source == "" {
			said = append(said, e.Topic+": "+e.Description)
		}
	}
	if want := []string{"/A: All of A", "/A/B: All of B"}; !slices.Equal(said, want) {
		t.Errorf("%q is said, not %q", said, want)
	}
}

// The steps of section 3.1 on small trees: k = 3, no cap.
func TestPrune(t *testing.T) {
	for name, c := range map[string]struct{ in, want map[string]int }{
		"leaves fold, and fold again": {
			map[string]int{"/A/B/C": 1, "/A/B": 1, "/A/D": 1, "/E": 3},
			map[string]int{"/A": 3, "/E": 3},
		},
		"an inner topic gets an Other, whatever its size": {
			map[string]int{"/A": 1, "/A/B": 3, "/A/C": 1, "/D": 4},
			map[string]int{"/A/B": 3, "/A/Other": 2, "/D": 4},
		},
		"no Other without examples": {
			map[string]int{"/A/B": 3, "/A/C": 3, "/D": 0},
			map[string]int{"/A/B": 3, "/A/C": 3},
		},
		"the root takes what is left": {
			map[string]int{"/A": 1, "/B": 3, "/": 1},
			map[string]int{"/B": 3, "/Other": 2},
		},
		"an Other that is there": {
			map[string]int{"/A": 1, "/A/Other": 3, "/A/B": 3},
			map[string]int{"/A/Other": 4, "/A/B": 3},
		},
		"an Other that is an inner topic": {
			map[string]int{"/A": 1, "/A/Other": 1, "/A/Other/B": 3, "/C": 3},
			map[string]int{"/A/Other/Other": 2, "/A/Other/B": 3, "/C": 3},
		},
		"names that begin alike": {
			map[string]int{"/A": 3, "/A-B": 3, "/A/C": 3, "/AB": 1},
			map[string]int{"/A/Other": 3, "/A-B": 3, "/A/C": 3, "/Other": 1},
		},
	} {
		got, p, err := prune(lines(c.in), taxonomy.Pruning{K: 3, Cap: -1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sizes := map[string]int{}
		for class, examples := range got {
			sizes[class] = len(examples)
		}
		if diff := cmp.Diff(c.want, sizes); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if len(p.Classes) != len(c.want) {
			t.Errorf("%s: %d classes reported", name, len(p.Classes))
		}
	}
	// Topics come in any order: an Other that was there is one once it takes what is left.
	for range 20 {
		_, p, err := prune(lines(map[string]int{"/A": 1, "/A/Other": 3, "/A/B": 3}), taxonomy.Pruning{K: 3, Cap: -1})
		if err != nil || !slices.ContainsFunc(p.Classes, func(c taxonomy.Class) bool { return c.Path == "/A/Other" && c.Other }) {
			t.Fatalf("%+v, %v", p.Classes, err)
		}
	}
	for name, in := range map[string]map[string]int{"all in the root": {"/A": 1, "/B": 1}, "one class": {"/A": 5}} {
		if _, _, err := prune(lines(in), taxonomy.Pruning{K: 3}); !errors.Is(err, taxonomy.ErrOneClass) && name == "all in the root" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := prune(lines(map[string]int{"/A": 0}), taxonomy.Pruning{}); err == nil || !strings.Contains(err.Error(), "holds no example") {
		t.Errorf("nothing but empty topics: %v", err)
	}
}

// byHand folds as the paper tells it, one leaf at a time in any order.
func byHand(counts map[string]int, k int, rng *rand.Rand) map[string]int {
	own := map[string]int{"/": 0}
	for t, n := range counts {
		for p := t; p != ""; p = taxonomy.Parent(p) {
			own[p] += 0
		}
		own[t] += n
	}
	inner := func(t string) bool {
		for x := range own {
			if x != t && x != "/" && taxonomy.Parent(x) == t {
				return true
			}
		}
		return false
	}
	for {
		var small []string
		for t, n := range own {
			if t != "/" && n < k && !inner(t) {
				small = append(small, t)
			}
		}
		if len(small) == 0 {
			break
		}
		slices.Sort(small)
		t := small[rng.IntN(len(small))]
		own[taxonomy.Parent(t)] += own[t]
		delete(own, t)
	}
	out := map[string]int{}
	for t, n := range own {
		if inner(t) {
			t = strings.TrimSuffix(t, "/") + "/" + taxonomy.Other
		}
		if n > 0 {
			out[t] += n
		}
	}
	return out
}

// Any tree: folded as by hand in any order, no example lost or doubled but by
// the cap, every class of at least k examples or an Other, the cap kept, and
// the sample independent of the order of lines.
func TestPruneProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.MapOfN(
			rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4), func(names []string) string { return "/" + strings.Join(names, "/") }),
			rapid.IntRange(0, 6), 1, 25).Draw(t, "tree")
		k, most := rapid.IntRange(1, 8).Draw(t, "k"), rapid.IntRange(1, 10).Draw(t, "cap")
		seed := rapid.Uint64().Draw(t, "seed")
		in := lines(counts)
		want := byHand(counts, k, rand.New(rand.NewPCG(seed, 1)))
		got, p, err := prune(in, taxonomy.Pruning{K: k, Cap: most, Seed: seed})
		if len(want) < 2 {
			if err == nil {
				t.Fatalf("%d classes are no error", len(want))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		classes := map[string]int{}
		for _, c := range p.Classes {
			classes[c.Path] = c.Examples
			if c.Examples < k && !c.Other {
				t.Fatalf("%s has %d examples, k is %d", c.Path, c.Examples, k)
			}
			if len(got[c.Path]) != min(c.Examples, most) || c.Kept != len(got[c.Path]) {
				t.Fatalf("%s keeps %d of %d, the cap is %d", c.Path, len(got[c.Path]), c.Examples, most)
			}
		}
		if diff := cmp.Diff(want, classes); diff != "" {
			t.Fatalf("(-by hand +pruned)\n%s", diff)
		}
		seen := map[string]bool{}
		for class, examples := range got {
			for _, e := range examples {
				if seen[e] || !strings.Contains(in, "\t"+e+"\n") {
					t.Fatalf("%s of %s is doubled or made up", e, class)
				}
				seen[e] = true
			}
		}

		shuffled := strings.Split(strings.TrimSuffix(strings.TrimPrefix(in, head), "\n"), "\n")
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, _, err := prune(head+strings.Join(shuffled, "\n")+"\n", taxonomy.Pruning{K: k, Cap: most, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		less, _, err := prune(in, taxonomy.Pruning{K: k, Cap: max(1, most-1), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for class := range got {
			slices.Sort(got[class])
			slices.Sort(again[class])
			if !slices.Equal(got[class], again[class]) {
				t.Fatalf("%s: another order of lines draws another sample", class)
			}
			for _, e := range less[class] {
				if !seen[e] {
					t.Fatalf("%s: a smaller cap draws %s, which a larger one does not", class, e)
				}
			}
		}
	})
}

// Another seed draws another sample; files are found from the new place.
func TestPruneDraw(t *testing.T) {
	in := lines(map[string]int{"/A": 100, "/B": 100})
	one, _, err := prune(in, taxonomy.Pruning{K: 10, Cap: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := prune(in, taxonomy.Pruning{K: 10, Cap: 10, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(one["/A"], two["/A"]) {
		t.Error("two seeds draw the same")
	}
	files := head + "/A\tfile:a.html\n/B\tfile:b/c.html\n"
	moved, _, err := prune(files, taxonomy.Pruning{K: 1, Prefix: "../old"})
	if err != nil || moved["/A"][0] != "file:../old/a.html" || moved["/B"][0] != "file:../old/b/c.html" {
		t.Errorf("%v, %v", moved, err)
	}
}

// check holds the output of an import to the form of a taxonomy.
func check(t *testing.T, out string, got taxonomy.ImportReport) {
	t.Helper()
	tree, err := taxonomy.ReadTree(strings.NewReader(out), "out")
	if err != nil {
		t.Fatalf("what was imported cannot be read: %v", err)
	}
	if _, n := tree.Count("/"); n != got.Examples || tree.Len() != max(got.Topics, 1) {
		t.Fatalf("%d examples of %d topics, reported %d of %d", n, tree.Len(), got.Examples, got.Topics)
	}
	if empty := tree.Empty(); len(empty) != len(got.Empty) {
		t.Fatalf("%d topics are empty, reported %d", len(empty), len(got.Empty))
	}
}

func FuzzRDF(f *testing.F) {
	f.Add(structure, content)
	f.Add("", content)
	f.Add("<RDF/>", "<RDF><Topic r:id='Top/A\x00/\xff'/><ExternalPage about='http://a.example/'><d:Title>&#0;\x01</d:Title></ExternalPage></RDF>")
	f.Add("<RDF><Topic r:id='a'><narrow x='/' resource='b'/></Topic></RDF>", "<?xml?><!DOCTYPE x><RDF><![CDATA[]]]]>x]]></RDF>")
	f.Fuzz(func(t *testing.T, structure, content string) {
		out, got, err := importRDF(t, structure, content, taxonomy.Options{})
		if err == nil {
			check(t, out, got)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add("a,http://a.example/\n\"b,c\",http://b.example/,x,y\n")
	f.Add("topic\turl\na/b\thttp://a.example/\t\x00\n/\thttp://b.example/\n")
	f.Add("\uFEFFa\u2028b,https://\u00e9.example/\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		got, err := taxonomy.ImportTable(&out, strings.NewReader(in), "in", taxonomy.Options{})
		if err == nil {
			check(t, out.String(), got)
		}
	})
}

func BenchmarkImportRDF(b *testing.B) {
	var s strings.Builder
	s.WriteString("<RDF>\n")
	for i := range 20_000 {
		fmt.Fprintf(&s, "<ExternalPage about=\"http://www.host%d.example/page/%d.html\">\n  <d:Title>Title number %d &amp; more</d:Title>\n  <d:Description>What an editor of the directory says of this page in a sentence of usual length.</d:Description>\n  <topic>Top/Arts/Music/T%d</topic>\n</ExternalPage>\n", i%5000, i, i, i%100)
	}
	s.WriteString("</RDF>\n")
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		if _, err := taxonomy.ImportRDF(io.Discard, taxonomy.Dump{}, taxonomy.Dump{Name: "content", Reader: strings.NewReader(s.String())}, taxonomy.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
