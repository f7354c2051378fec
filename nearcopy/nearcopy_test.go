package nearcopy

import (
	"fmt"
	"html"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// parser reads made pages.
var parser = parse.New(parse.Options{})

// made is a page with a title, one heading and a text in pieces; one that begins with "nav: " is
// a menu.
func made(title, heading string, text ...string) *web.Page {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>%s</title>", html.EscapeString(title))
	if heading != "" {
		fmt.Fprintf(&b, "<h1>%s</h1>", html.EscapeString(heading))
	}
	for _, s := range text {
		if menu, ok := strings.CutPrefix(s, "nav: "); ok {
			fmt.Fprintf(&b, "<nav>%s</nav>", html.EscapeString(menu))
		} else {
			fmt.Fprintf(&b, "<p>%s</p>", html.EscapeString(s))
		}
	}
	p, err := parser.Parse(&web.Response{URL: address("/made"), Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(b.String())})
	if err != nil {
		panic(err)
	}
	return p
}

// prose is n different words from the i-th on.
func prose(i, n int) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, "word%d ", i+k)
	}
	return b.String()
}

func TestLikeness(t *testing.T) {
	article, menu := prose(0, 400), "nav: "+prose(9000, 30)
	japanese := strings.Repeat("蜜蜂は巣で踊りを踊る。", 1) + "花の蜜がどこにあるかを仲間に伝えるためである。養蜂家は春に巣箱を開けて女王蜂を探し、蜂蜜を集める前に群れの様子を調べる。"
	for _, c := range []struct {
		what string
		a, b *web.Page
		near bool
	}{
		{"the same", made("Bees", "Bees", article), made("Bees", "Bees", article), true},
		{"another case, other marks and spaces", made("Bees", "", article), made("BEES!", "", strings.ToUpper(article)+" ?!"), true},
		{"the same under another title", made("Bees", "", article), made("Bees | archive", "", article), true},
		{"without the menu", made("Bees", "Bees", menu, article), made("Bees", "Bees", article), true},
		{"without the menu, under another title", made("Bees", "Bees", menu, article), made("Print", "Bees", article), false},
		{"another date", made("Bees", "", article, "printed 2026-01-01"), made("Bees", "", article, "printed 2026-01-02"), true},
		{"two people of one template", made("Staff: Ann Lee", "", prose(0, 120), "Ann Lee, databases, office 12"), made("Staff: Bo Ray", "", prose(0, 120), "Bo Ray, graphics, office 14"), false},
		{"two people of one template, by the heading", made("Staff", "Ann Lee", prose(0, 120), "databases, office 12"), made("Staff", "Bo Ray", prose(0, 120), "graphics, office 14"), false},
		{"few words, the same", made("Index of /a", "", "name size date"), made("Index of /A", "", "name size date"), true},
		{"few words, another number", made("Lecture", "", "see part 1"), made("Lecture", "", "see part 2"), false},
		{"few words, under another title", made("Index of /a", "", "name size date"), made("Index of /b", "", "name size date"), false},
		{"few words, one of them another", made("Index", "", prose(0, 20), "north"), made("Index", "", prose(0, 20), "south"), false},
		{"months of one calendar, by the main text", made("Events", "", menu, prose(0, 300)), made("Events", "", menu, prose(0, 300), prose(500, 20)), false},
		{"a sentence repeated, under a number of its own", made("item", "", "Item three. "+strings.Repeat("Bees dance in the hive. ", 30)), made("item", "", "Item four. "+strings.Repeat("Bees dance in the hive. ", 30)), false},
		{"two people of one long template", made("Staff: Ann Lee", "", prose(0, 5000), "Ann Lee"), made("Staff: Bo Ray", "", prose(0, 5000), "Bo Ray"), false},
		{"half of it", made("Bees", "", article), made("Bees", "", prose(0, 200)), false},
		{"the other order", made("Bees", "", prose(0, 100), prose(100, 100), prose(200, 100)), made("Bees", "", prose(200, 100), prose(0, 100), prose(100, 100)), true},
		{"Japanese, the same but for a letter", made("蜂", "", japanese), made("蜂", "", strings.Replace(japanese, "春", "夏", 1)), true},
		{"Japanese, half of it", made("蜂", "", japanese), made("蜂", "", japanese[:len(japanese)/6*3]), false},
	} {
		like, near := Of(c.a).Likeness(Of(c.b))
		back, nearBack := Of(c.b).Likeness(Of(c.a))
		if near != c.near || near != nearBack || like != back {
			t.Errorf("%s: %.3f, %v, and the other way round %.3f, %v", c.what, like, near, back, nearBack)
		}
		x := newIndex()
		if err := x.Add(address("/a"), Of(c.a)); err != nil {
			t.Fatal(err)
		}
		m, found, err := x.Find(address("/b"), Of(c.b))
		if err != nil || found != c.near || found && m.URL != address("/a") {
			t.Errorf("%s: found %v %+v %v", c.what, found, m, err)
		}
	}
	if Of(made("", "", " … ")) != nil {
		t.Error("a page without a word has a sketch")
	}
}

// The likeness of two sketches is that of the terms, as far as a sample of 256 goes.
func TestLikenessIsResemblance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var sum float64
	const pairs = 200
	for range pairs {
		n := 300 + rng.IntN(2000)
		words, other := make([]string, n), make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint("w", rng.IntN(5000))
			if other[i] = words[i]; rng.IntN(10) == 0 {
				other[i] = fmt.Sprint("w", rng.IntN(5000))
			}
		}
		a, b := times(words), times(other)
		common, all := 0, 0
		for f, n := range a {
			common += min(n, b[f])
			all += n
		}
		for _, n := range b {
			all += n
		}
		want := float64(common) / float64(all-common)
		got, _ := Of(made("", "", strings.Join(words, " "))).Likeness(Of(made("", "", strings.Join(other, " "))))
		if math.Abs(got-want) > .15 {
			t.Errorf("%.3f, the texts %.3f", got, want)
		}
		sum += got - want
	}
	if bias := sum / pairs; math.Abs(bias) > .01 {
		t.Errorf("the mean error is %.3f", bias)
	}
}

// times is how often each word is there, twice at most.
func times(words []string) map[string]int {
	out := map[string]int{}
	for _, w := range words {
		out[w] = min(out[w]+1, 2)
	}
	return out
}

func address(path string) web.URL {
	u, err := web.Parse("http://bees.test" + path)
	if err != nil {
		panic(err)
	}
	return u
}

func newIndex() *Index {
	kept := map[string][]byte{}
	return over(kept)
}

func over(kept map[string][]byte) *Index {
	return NewIndex(func(name string) ([]byte, error) { return kept[name], nil }, func(name string, value []byte) { kept[name] = value })
}

func namesOf(kept map[string][]byte) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name := range kept {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// An index that is told what is stored asks for nothing else.
func TestIndexAsksForWhatIsStored(t *testing.T) {
	kept := map[string][]byte{}
	first := over(kept)
	add := func(x *Index, n int) {
		t.Helper()
		s := Of(made(fmt.Sprint("Item ", n), "", prose(1000*n, 300)))
		if _, found, err := x.Find(address(fmt.Sprint("/", n)), s); err != nil || found {
			t.Fatal(found, err)
		}
		if err := x.Add(address(fmt.Sprint("/", n)), s); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 100 {
		add(first, n)
	}
	before, vain := len(kept), 0
	x := NewIndex(func(name string) ([]byte, error) {
		if kept[name] == nil {
			vain++
		}
		return kept[name], nil
	}, func(name string, value []byte) { kept[name] = value })
	if err := x.Stored(namesOf(kept)); err != nil {
		t.Fatal(err)
	}
	for n := 100; n < 200; n++ {
		add(x, n)
	}
	if len(kept) < before+200 || vain > 10 {
		t.Errorf("100 pages stored %d values, and asked %d times for one that is not there", len(kept)-before, vain)
	}
}

// An index that is opened anew before each page tells what one does that was open all the
// time, also one that knows that it began empty, and copies are found among many pages of one template.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.IntRange(1, 120).Draw(t, "pages")
		kept, alone, began := map[string][]byte{}, newIndex(), newIndex()
		began.StoredNothing()
		var firsts []string
		for i := range pages {
			path, text := fmt.Sprint("/", i), prose(0, 300)+prose(1000*i+1000, 30)
			title := fmt.Sprint("Item ", i)
			want := ""
			if i > 0 && rapid.IntRange(0, 2).Draw(t, "copy") == 0 {
				of := rapid.IntRange(0, len(firsts)-1).Draw(t, "of")
				want = firsts[of]
				var n int
				fmt.Sscanf(want, "/%d", &n)
				title, text = fmt.Sprint("Item ", n), prose(0, 300)+prose(1000*n+1000, 30)+" seen 7 times"
			} else {
				firsts = append(firsts, path)
			}
			s := Of(made(title, "", text))
			again := over(kept)
			if err := again.Stored(namesOf(kept)); err != nil {
				t.Fatal(err)
			}
			var told [4]Match
			for k, x := range []*Index{over(kept), alone, began, again} {
				m, found, err := x.Find(address(path), s)
				if err == nil && !found {
					err = x.Add(address(path), s)
				}
				if err != nil {
					t.Fatal(err)
				}
				told[k] = m
			}
			if told[0] != told[1] || told[0] != told[2] || told[0] != told[3] {
				t.Fatalf("%s: %+v, began empty %+v, opened anew %+v, told what is stored %+v", path, told[1], told[2], told[0], told[3])
			}
			if got := told[0].URL; want == "" && !got.IsZero() || want != "" && got != address(want) {
				t.Fatalf("%s is told to be a copy of %q, want %q", path, got, want)
			}
		}
	})
}

// A filter has all that was added, and few others, also of a crawl of more than a million pages.
func TestFilter(t *testing.T) {
	f := new(filter)
	const n = 3_000_000
	for i := range uint64(n) {
		f.add(mix(i))
		f.add(mix(i)) // once more is not more
	}
	if len(f.parts) != 3 { // of half a million, one million and two
		t.Errorf("%d parts for %d hashes", len(f.parts), n)
	}
	others := 0
	for i := range uint64(n) {
		if !f.has(mix(i)) {
			t.Fatalf("%d was added and is not there", i)
		}
		if f.has(mix(n + i)) {
			others++
		}
	}
	if t.Logf("%d of %d others", others, n); others > n/30 {
		t.Errorf("it has %d of %d others", others, n)
	}
}

// A page that is fetched again is no copy of itself, and what was damaged is as if it had not been.
func TestFindLeaves(t *testing.T) {
	kept := map[string][]byte{}
	x := over(kept)
	s := Of(made("Bees", "", prose(0, 300)))
	if err := x.Add(address("/a"), s); err != nil {
		t.Fatal(err)
	}
	if m, found, err := x.Find(address("/a"), s); found || err != nil {
		t.Errorf("a copy of itself: %+v %v", m, err)
	}
	for name, value := range maps.Clone(kept) {
		for n := range value {
			kept[name] = value[:n]
			if _, _, err := over(kept).Find(address("/b"), s); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		kept[name] = nil
	}
	if m, found, err := over(kept).Find(address("/b"), s); found || err != nil {
		t.Errorf("a copy of what is lost: %+v %v", m, err)
	}
}

// What is stored is read as it was written, whatever else the bytes are.
func FuzzPages(f *testing.F) {
	s := Of(made("Bees", "", prose(0, 300)))
	one := page{s.bins[:], s.main, []byte("http://bees.test/")}
	f.Add(appendPages(nil))
	f.Add(appendPages([]page{one, one}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list := parsePages(b)
		for _, p := range list {
			if resemblance(p.bins, p.bins) != 1 {
				t.Error("a page does not resemble itself")
			}
		}
		if again := parsePages(appendPages(list)); len(list) > mostNamed || !reflect.DeepEqual(again, list) {
			t.Errorf("%d pages become %d", len(list), len(again))
		}
	})
}

// Any page has a sketch if it has terms, and two with the same terms are near-copies.
func FuzzOf(f *testing.F) {
	f.Add("Bees dance.", 3)
	f.Add("蜜蜂は踊る", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		words := strings.Fields(text)
		if len(words) == 0 {
			return
		}
		at = min(max(at, 0), len(words)-1)
		p := made("", "", strings.Join(words, " "))
		whole, parts := Of(p), Of(made("", "", strings.Join(words[:at], "\n"), strings.Join(words[at:], "\t")))
		if (whole == nil) != (len(p.Terms) == 0) || (whole == nil) != (parts == nil) {
			t.Fatal("one has a sketch")
		}
		if whole == nil {
			return
		}
		if like, near := whole.Likeness(parts); like != 1 || !near {
			t.Errorf("they differ: %v", like)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	p := made("Bees", "Bees", prose(0, 1000))
	for b.Loop() {
		Of(p)
	}
}

func BenchmarkFindAndAdd(b *testing.B) {
	x := newIndex()
	i := 0
	for b.Loop() {
		s := Of(made(fmt.Sprint("Item ", i), "", prose(1000*i, 300)))
		if _, found, err := x.Find(address("/"), s); err != nil || found {
			b.Fatal(found, err)
		}
		if err := x.Add(address(fmt.Sprint("/", i)), s); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
