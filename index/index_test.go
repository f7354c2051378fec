package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

const essay = "Honey bees tell each other where flowers are by a dance on the comb, of which the angle to gravity is that to the sun and the length is the distance, as Karl von Frisch found in long years of patient work with painted bees."

func meadow() madecrawl.Site {
	return madecrawl.Site{
		"https://bees.test/":          {Body: `<html lang=en><title>Bees <script>alert(1)</script></title><p>Bee one. <a href="dance">the dance</a> <a href="https://www.wasps.test/">w</a> <a href="copy">c</a> <a href="near">n</a> <a href="https://bees.test:8443/port">p</a> <a href="quiet">q</a> <a href="/text">t</a> <a href="/long">l</a> <a href="/ja">j</a>`},
		"https://bees.test/dance":     {Body: "<html lang=en><title>The waggle dance</title><p>Bee bee bee \x1b[31m\u202e. " + essay},
		"https://bees.test/copy":      {Body: "<html lang=en><title>The waggle dance</title><p>Bee bee bee \x1b[31m\u202e. " + essay},
		"https://bees.test/near":      {Body: "<html lang=en><title>The waggle dance, again</title><p>Bee bee bee \x1b[31m\u202e. <i>" + essay + "</i>"},
		"https://bees.test/quiet":     {Body: "<title>Quiet</title><p>bee secret", Header: map[string][]string{"X-Robots-Tag": {"noindex"}}},
		"https://bees.test/text":      {Body: "plain bee text", Type: "text/plain"},
		"https://bees.test/long":      {Body: "<title>" + strings.Repeat("ё", 3000) + "</title><p>needle " + strings.Repeat("x", 1<<20)},
		"https://bees.test/ja":        {Body: "<html lang=ja><title>蜜蜂</title><p>蜜蜂のダンスは美しい"},
		"https://bees.test:8443/port": {Body: "<title>Port</title><p>bee on a port"},
		"https://www.wasps.test/":     {Body: "<html lang=de><title>Wespen</title><p>Wespen tanzen nicht. <a href='n'>n</a>"},
		"https://www.wasps.test/n":    {Body: "<title>Nest</title><p>bee and wasp dance around a nest"},
	}
}

func made(t *testing.T) collection.Collection {
	return madecrawl.Crawl(t, filepath.Join(t.TempDir(), "c"), "meadow", meadow(), "https://bees.test/")
}

func builder(t *testing.T, c collection.Collection) *Builder {
	t.Helper()
	b, err := NewBuilder(c, Dir(c), parse.New(parse.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return b
}

func closing(t *testing.T, x interface{ Close() error }) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

func reader(t *testing.T, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, r) })
	return r
}

func marked(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.Marked {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// queryOf reads a query from a transcript.
func queryOf(t *testing.T, d *datadriven.TestData) Query {
	q := Query{Text: strings.TrimSpace(d.Input)}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "host":
			q.Hosts = a.Vals
		case "language":
			q.Languages = a.Vals
		case "type":
			q.Types = a.Vals
		case "verdict":
			q.Verdict = Verdict(a.Vals[0])
		case "sort":
			q.Sort = Sort(a.Vals[0])
		case "fold":
			q.Fold = true
		case "copies-of":
			u, err := web.Parse(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			q.CopiesOf = u
		case "since":
			at, err := time.Parse(time.RFC3339, a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			q.Since = at
		case "relevance":
			a.Scan(t, 0, &q.MinRelevance)
			q.MaxRelevance = new(float64)
			a.Scan(t, 1, q.MaxRelevance)
		case "from":
			a.Scan(t, 0, &q.From)
		case "size":
			a.Scan(t, 0, &q.Size)
		default:
			t.Fatalf("nothing is called %s", a.Key)
		}
	}
	return q
}

// TestSearch holds searches to their transcript.
func TestSearch(t *testing.T) {
	c := made(t)
	closing(t, builder(t, c))
	r := reader(t, Dir(c))
	datadriven.RunTest(t, filepath.Join("testdata", "search.txt"), func(t *testing.T, d *datadriven.TestData) string {
		found, err := r.Search(t.Context(), queryOf(t, d))
		var slip *QueryError
		if errors.As(err, &slip) || errors.Is(err, ErrAbsent) {
			return "error: " + err.Error() + "\n"
		}
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d of %d, more %v\n", found.Total, found.Pages, found.More)
		for _, h := range found.Hits {
			title, text := marked(h.Title), marked(h.Snippet)
			if len([]rune(title)) > maxTitle+20 || len([]rune(text)) > maxSnippet+40 || strings.ContainsAny(title+text, "\x1b\u202e\n") {
				t.Errorf("%s: %q %q", h.URL, title, text)
			}
			fmt.Fprintf(&b, "%.2f %s relevant=%v copies=%d %.40s | %.140s\n", h.Relevance, h.URL, h.Relevant, h.Copies, title, text)
		}
		return b.String()
	})
}

// all are the pages in the index.
func all(t *testing.T, dir string) (out []string) {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, r)
	found, err := r.Search(t.Context(), Query{Sort: ByURL, Size: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		_, text, err := r.Text(t.Context(), h.URL)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %.2f %d %.20s", h.URL, h.Relevance, h.Copies, text))
	}
	return out
}

// An index that grows with its log, from one line to another, ends as one that is made
// at once; so does one whose log is cut back and written on.
func TestGrowing(t *testing.T) {
	c := made(t)
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(c.EventLog(), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	closing(t, builder(t, c))
	want := all(t, Dir(c))
	if len(want) != 10 {
		t.Fatalf("%d pages: %q", len(want), want)
	}
	if err := os.RemoveAll(Dir(c)); err != nil {
		t.Fatal(err)
	}
	ends := []int{0}
	for _, l := range bytes.SplitAfter(log, []byte("\n")) {
		ends = append(ends, ends[len(ends)-1]+len(l))
	}
	for _, end := range []int{ends[1], ends[4], ends[5], ends[9], ends[7], len(log) - 30, ends[6], len(log)} {
		put(log[:end]) // where it is shorter than before, it was cut back
		closing(t, builder(t, c))
	}
	if got := all(t, Dir(c)); !slices.Equal(got, want) {
		t.Errorf("grown: %q\nat once: %q", got, want)
	}

	// Pages are judged anew, and a reader that is open sees it.
	r := reader(t, Dir(c))
	r.every, r.patience = 0, time.Hour
	relevant := func() (out []string) {
		found, err := r.Search(t.Context(), Query{Verdict: Relevant, Sort: ByURL})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			out = append(out, fmt.Sprintf("%s %.2f", h.URL, h.Relevance))
		}
		return out
	}
	if got := relevant(); len(got) < 5 {
		t.Errorf("at first: %q", got)
	}
	dance := `{"kind":"rejudged","at":"2000-01-02T00:00:00Z","judge":"other","threshold":0.99,"pages":[{"url":"https://bees.test/","relevance":0.995,"similarity":0,"relevant":true},{"url":"https://bees.test/dance","relevance":0.5,"similarity":0,"was":true}]}` + "\n"
	put(append(slices.Clone(log), dance...))
	b := builder(t, c)
	if got := relevant(); !slices.Contains(got, "https://bees.test/ 0.99") && !slices.Contains(got, "https://bees.test/ 1.00") || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "https://bees.test/dance") }) {
		t.Errorf("judged anew: %q", got)
	}
	put(log)
	if err := b.Update(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	closing(t, b)
	if got := relevant(); len(got) < 5 {
		t.Errorf("after the log was cut back: %q", got)
	}
	if got := all(t, Dir(c)); !slices.Equal(got, want) {
		t.Errorf("after the log was cut back: %q\nat first: %q", got, want)
	}
}

// Builders keep out of each other's way, and readers out of nobody's.
func TestTogether(t *testing.T) {
	c := made(t)
	if _, err := Open(Dir(c)); !errors.Is(err, ErrNone) {
		t.Errorf("no index: %v", err)
	}
	// Who waits for an index asks for it twice a second.
	if n := testing.AllocsPerRun(20, func() { _, _ = Open(Dir(c)) }); n > 50 {
		t.Errorf("to find that there is no index took %.0f allocations", n)
	}
	b := builder(t, c)
	defer closing(t, b)
	if _, err := NewBuilder(c, Dir(c), parse.New(parse.Options{})); !errors.Is(err, ErrBusy) {
		t.Errorf("a second builder: %v", err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	one, err := Open(Dir(c))
	if err != nil {
		t.Fatal(err)
	}
	two := reader(t, Dir(c))
	for _, r := range []*Reader{one, two} {
		if found, err := r.Search(t.Context(), Query{Text: "dance"}); err != nil || found.Total != 5 {
			t.Errorf("%+v, %v", found, err)
		}
	}
	closing(t, one)
	closing(t, one) // twice does nothing
	if _, err := one.Search(t.Context(), Query{}); err == nil {
		t.Error("a closed reader searches")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 1 {
		t.Errorf("of two readers one is open, and there are %d temporary folders, %v", len(left), err)
	}
}

// Each file of an index is gone, cut, or has other bytes in a part of it. A Reader finds what
// it found before, or says what to do: it does not search what is left. A Builder makes anew
// what it cannot go on with. The quick run has a third of the damages.
func TestDamagedIndex(t *testing.T) {
	c := made(t)
	closing(t, builder(t, c))
	whole, want := Dir(c), all(t, Dir(c))
	part := func(b []byte, from, to int, as byte) []byte {
		b = bytes.Clone(b)
		for i := from; i < to; i++ {
			b[i] = as
		}
		return b
	}
	damages := []struct {
		name string
		do   func(b []byte) []byte // nil: the file is gone
	}{
		{"gone", func([]byte) []byte { return nil }},
		{"empty", func([]byte) []byte { return []byte{} }},
		{"half", func(b []byte) []byte { return b[:len(b)/2] }},
		{"an eighth", func(b []byte) []byte { return b[:len(b)/8] }},
		{"a byte short", func(b []byte) []byte { return b[:max(0, len(b)-1)] }},
		{"zeros at the begin", func(b []byte) []byte { return part(b, 0, len(b)/8, 0) }},
		{"zeros in the middle", func(b []byte) []byte { return part(b, len(b)/3, len(b)/2, 0) }},
		{"zeros at the end", func(b []byte) []byte { return part(b, len(b)/2, len(b), 0) }},
		{"other bytes at the begin", func(b []byte) []byte { return part(b, 0, len(b)/8, 'x') }},
		{"no list of free pages", func(b []byte) []byte { // of root.bolt, which only one that writes reads
			b = bytes.Clone(b)
			for page := 0; page+10 <= len(b); page += os.Getpagesize() {
				if b[page+8] == 0x10 && b[page+9] == 0 { // its flags
					b[page+8] = 0
				}
			}
			return b
		}},
		{"other bytes in the middle", func(b []byte) []byte { return part(b, len(b)/3, len(b)/2, 0xff) }},
	}
	var files []string
	err := fs.WalkDir(os.DirFS(whole), ".", func(path string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() && path != "lock" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) != 3 {
		t.Fatalf("files %q, %v", files, err)
	}
	told, tried := 0, 0
	for i, file := range files {
		b, err := os.ReadFile(filepath.Join(whole, file))
		if err != nil {
			t.Fatal(err)
		}
		for k, d := range damages {
			if !long.Asked() && (i+k)%3 != 0 {
				continue
			}
			what := file + ": " + d.name
			if strings.HasSuffix(file, ".zap") && strings.HasSuffix(d.name, "the begin") {
				continue // texts, which are found to be damaged only when one is read
			}
			tried++
			dir := filepath.Join(t.TempDir(), "index")
			path := filepath.Join(dir, file)
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Remove(path)); err != nil {
				t.Fatal(err)
			}
			if left := d.do(b); left != nil {
				if err := os.WriteFile(path, left, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, err := Open(dir)
			switch {
			case err == nil:
				closing(t, r)
				if got := all(t, dir); !slices.Equal(got, want) {
					t.Errorf("%s: %q\nbefore: %q", what, got, want)
				}
			case errors.Is(err, ErrNone), strings.Contains(err.Error(), "waggle index makes it anew"):
				told++
			default:
				t.Errorf("%s: %v", what, err)
			}
			again, err := NewBuilder(c, dir, parse.New(parse.Options{}))
			if err != nil {
				t.Errorf("%s: building: %v", what, err)
				continue
			}
			if err := again.Update(t.Context(), nil); err != nil {
				t.Errorf("%s: building: %v", what, err)
			}
			closing(t, again)
			if got := all(t, dir); !slices.Equal(got, want) {
				t.Errorf("%s: made anew: %q\nbefore: %q", what, got, want)
			}
		}
	}
	if told < tried/2 {
		t.Errorf("of %d damages %d were told", tried, told)
	}
}

// An index of which the system does not let a file be opened is not damaged, and stays.
func TestUnreadableIndex(t *testing.T) {
	c := made(t)
	closing(t, builder(t, c))
	want := all(t, Dir(c))
	files, err := filepath.Glob(filepath.Join(bleveDir(Dir(c)), "store", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, file := range files { // root.bolt, and a segment
		moved := file + ".moved"
		if err := errors.Join(os.Rename(file, moved), os.Mkdir(file, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := NewBuilder(c, Dir(c), parse.New(parse.Options{})); err == nil || !strings.Contains(err.Error(), "cannot be opened") {
			t.Errorf("%s: building: %v", filepath.Base(file), err)
		}
		if err := errors.Join(os.Remove(file), os.Rename(moved, file)); err != nil {
			t.Fatal(err)
		}
		if got := all(t, Dir(c)); !slices.Equal(got, want) {
			t.Errorf("%s is there again: %q\nbefore: %q", filepath.Base(file), got, want)
		}
	}
}

// More pages are compared with a new one than share a piece of its hash by chance, however many there are.
func TestMaxAlike(t *testing.T) {
	for _, pages := range []uint64{0, 1000, 1_000_000, 5_000_000, 100_000_000} {
		if chance := 4 * pages >> 16; uint64(maxAlike(pages)) < chance+chance/2 {
			t.Errorf("of %d pages %d are compared, and %d share a piece by chance", pages, maxAlike(pages), chance)
		}
	}
}

// Texts that differ little have hashes that differ little, and others do not.
func TestSimHash(t *testing.T) {
	var long []string
	for i := range 1000 {
		long = append(long, fmt.Sprintf("word%d", i))
	}
	changed := slices.Clone(long)
	changed[200] = "changed"
	if !nearCopies(simHash(long), simHash(changed)) {
		t.Error("a long text with another word is no copy")
	}
	if nearCopies(simHash(long), simHash(long[500:])) {
		t.Error("half of a text is a copy of it")
	}
	if short := long[:fewTerms-1]; !nearCopies(simHash(short), simHash(slices.Clone(short))) || nearCopies(simHash(short), simHash(short[1:])) {
		t.Error("short texts are copies only where they are equal")
	}
	if simHash(nil) != 0 || nearCopies(0, 0) {
		t.Error("pages without text are copies of each other")
	}
}

// Hits are in one order whatever piece of them is asked for, also where many pages match
// equally well: then the most relevant comes first, and of these the one that came first.
func TestOrder(t *testing.T) {
	c, err := madecrawl.Write(filepath.Join(t.TempDir(), "made"), 300, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, builder(t, c))
	r := reader(t, Dir(c))
	search := func(q Query) []Hit {
		t.Helper()
		found, err := r.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return found.Hits
	}
	ties := 0
	for _, text := range []string{"", madecrawl.Word(0), madecrawl.Word(1) + " " + madecrawl.Word(2), "-" + madecrawl.Word(3)} {
		for _, sort := range append(Sorts(), ByMatch) {
			q := Query{Text: text, Sort: sort, Size: 300}
			all := search(q)
			if len(all) < 20 {
				t.Fatalf("%q: %d hits", text, len(all))
			}
			for i, h := range all[1:] {
				before := all[i]
				wrong := false
				switch byScore := sort == ByMatch && text != "" && text[0] != '-'; {
				case byScore && before.Score == h.Score:
					ties++
					wrong = before.Relevance < h.Relevance || before.Relevance == h.Relevance && !before.At.Before(h.At)
				case byScore:
					wrong = before.Score < h.Score
				case sort == ByRelevance || sort == ByMatch:
					wrong = before.Relevance < h.Relevance || before.Relevance == h.Relevance && !before.At.Before(h.At)
				case sort == Newest:
					wrong = !before.At.After(h.At)
				case sort == Oldest:
					wrong = !before.At.Before(h.At)
				case sort == ByHost:
					wrong = before.URL.Host() > h.URL.Host()
				case sort == ByURL:
					wrong = before.URL.String() >= h.URL.String()
				}
				if wrong {
					t.Errorf("%q by %q: %s, %v, %v, stands before %s, %v, %v", text, sort, before.URL, before.Score, before.Relevance, h.URL, h.Score, h.Relevance)
				}
			}
			for from := 0; from < len(all); from += 49 {
				q.From, q.Size = from, 49
				r.now.split = 1 + from%100 // whoever shares the work
				for i, h := range search(q) {
					if h.URL != all[from+i].URL {
						t.Errorf("%q by %q: from %d on, hit %d is %s, and of all it is %s", text, sort, from, i, h.URL, all[from+i].URL)
					}
				}
			}
		}
	}
	if ties < 20 {
		t.Errorf("%d hits have the score of the one before them: too few to tell", ties)
	}
}

// A reader sees what is committed while it is open, and answers meanwhile; closed while it
// takes that up, it leaves nothing behind.
func TestRenewed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := madecrawl.Write(filepath.Join(t.TempDir(), "made"), 60, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	put := func(lines int) {
		t.Helper()
		part := bytes.Join(bytes.SplitAfter(log, []byte("\n"))[:lines], nil)
		if err := os.WriteFile(c.EventLog(), part, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(20)
	b := builder(t, c)
	defer closing(t, b)
	r, err := Open(Dir(c))
	if err != nil {
		t.Fatal(err)
	}
	r.every = 0
	r.Warm()
	pages := b.Pages()
	for _, lines := range []int{30, 40, 50} {
		put(lines)
		if err := b.Update(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for was := pages; pages == was; {
			found, err := r.Search(t.Context(), Query{Sort: Newest})
			if err != nil {
				t.Fatal(err)
			}
			if pages = found.Total; pages < was || pages > b.Pages() {
				t.Fatalf("%d pages are found of %d; there were %d before", pages, b.Pages(), was)
			}
		}
		if pages != b.Pages() {
			t.Errorf("%d pages are found of %d", pages, b.Pages())
		}
	}
	put(60)
	if err := b.Update(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Search(t.Context(), Query{}); err != nil {
		t.Error(err)
	}
	closing(t, r)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("a closed reader leaves %d temporary folders, %v", len(left), err)
	}
}
