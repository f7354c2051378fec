package wordnet_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/internal/wordnet"
)

// small is a database in the form of WordNet's files, made up for these tests.
func small() fstest.MapFS {
	return fstest.MapFS{
		"data.noun": {Data: []byte("" +
			"  1 This stands for the licence, whose lines begin with a space.\n" +
			"00000100 05 n 02 bee 0 Honey_Bee 0 002 @ 00000300 n 0000 ~ 00000200 n 0000 | an insect; | it stings  \n" +
			"00000200 05 n 01 drone 0 001 @ 00000100 n 0000 | a male bee  \n" +
			"00000300 05 n 01 insect 0 002 ~ 00000100 n 0000 #m 00000400 n 0000 | six legs  \n" +
			"00000400 05 n 02 swarm 0 cloud 1 000 | many of them  \n" +
			"00000500 06 n 01 mouse 0 000 | a rodent  \n")},
		"data.verb": {Data: []byte("" +
			"00000100 38 v 02 dance 0 trip_the_light_fantastic 0 001 @ 00000200 v 0000 01 + 02 00 | move  \n" +
			"00000200 38 v 01 move 0 001 ~ 00000100 v 0000 01 + 02 00 | go  \n")},
		"data.adj": {Data: []byte("00000100 00 a 02 galore(ip) 0 plentiful 0 001 & 00000200 a 0000 | much  \n" +
			"00000200 00 s 01 big 0 000 | large  \n")},
		"data.adv": {Data: []byte("00000100 02 r 0a a1 0 a2 0 a3 0 a4 0 a5 0 a6 0 a7 0 a8 0 a9 0 a10 0 000 | ten, counted in hexadecimal  \n")},
		"adj.exc":  {Data: []byte("bigger big\n")},
		"noun.exc": {Data: []byte("mice mouse\n")},
	}
}

func TestRelated(t *testing.T) {
	th, err := wordnet.Open(small())
	if err != nil {
		t.Fatal(err)
	}
	if th.Len() != 10 {
		t.Errorf("%d sets", th.Len())
	}
	for _, c := range []struct {
		word            string
		synonyms, wider []string
	}{
		{"bee", []string{"honey bee"}, []string{"drone", "insect"}},
		{"honey_bee", []string{"bee"}, []string{"drone", "insect"}},
		{"Honey  Bees", []string{"bee", "honey bee"}, []string{"drone", "insect"}},
		{"insect", nil, []string{"bee", "honey bee"}}, // a member of a swarm is no hyponym
		{"mice", []string{"mouse"}, nil},
		{"dancing", []string{"dance", "trip the light fantastic"}, []string{"move"}},
		{"dancer", nil, nil}, // the ending is one of adjectives
		{"bigger", []string{"big"}, nil},
		{"galore", []string{"plentiful"}, nil},
		{"a10", []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"}, nil},
		{"steel", nil, nil},
		{"", nil, nil},
	} {
		synonyms, wider := th.Related(c.word)
		if d := cmp.Diff([][]string{c.synonyms, c.wider}, [][]string{synonyms, wider}); d != "" {
			t.Errorf("%q: %s", c.word, d)
		}
	}
}

func TestTable(t *testing.T) {
	th, err := wordnet.ReadTable(strings.NewReader("# words of bees\nbee, honeybee < insect, flying animal\n\nwaggle dance,bee dance # a dance\nbee < worker"), "bees.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		word            string
		synonyms, wider []string
	}{
		{"bee", []string{"honeybee"}, []string{"flying animal", "insect", "worker"}},
		{"bees", []string{"bee", "honeybee"}, []string{"flying animal", "insect", "worker"}},
		{"honeybee", []string{"bee"}, []string{"flying animal", "insect"}},
		{"Waggle Dance", []string{"bee dance"}, nil},
		{"flying animal", nil, []string{"bee", "honeybee"}},
	} {
		synonyms, wider := th.Related(c.word)
		if d := cmp.Diff([][]string{c.synonyms, c.wider}, [][]string{synonyms, wider}); d != "" {
			t.Errorf("%q: %s", c.word, d)
		}
	}
}

// What cannot be read is told with file and line.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, file, content, want string
	}{
		{"no file", "data.verb", "", "there is no data.verb"},
		{"no set", "data.noun", "words", "data.noun:1: a synonym set"},
		{"offset", "data.noun", "bee 05 n 01 bee 0 000 | x", `data.noun:1: "bee" is no number`},
		{"words", "data.noun", "00000001 05 n 02 bee 0 000 | x", "data.noun:1: 2 words are announced"},
		{"many words", "data.noun", "00000001 05 n ffffffff bee 0 000 | x", "words are announced"},
		{"pointers", "data.noun", "\n00000001 05 n 01 bee 0 002 @ 00000001 n 0000 | x", "data.noun:2: 2 pointers are announced"},
		{"part of speech", "data.noun", "00000001 05 n 01 bee 0 001 @ 00000001 x 0000 | x", `part of speech "x"`},
		{"target", "data.noun", "00000001 05 n 01 bee 0 001 @ 00000002 n 0000 | x", "00000001 points to data.noun 00000002"},
		{"irregular", "adj.exc", "better good\nbest", "adj.exc:2:"},
		{"long line", "data.adv", strings.Repeat("x", 1<<21), "data.adv:1: bufio.Scanner: token too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := small()
			if folder[c.file] = (&fstest.MapFile{Data: []byte(c.content)}); c.content == "" {
				delete(folder, c.file)
			}
			if _, err := wordnet.Open(folder); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
	for table, want := range map[string]string{
		"bee,, wasp":  "t.txt:1: a word is missing",
		"\nbee <":     "t.txt:2: a word is missing",
		"< insect":    "t.txt:1: a word is missing",
		"a < b < c, ": "t.txt:1: a word is missing",
	} {
		if _, err := wordnet.ReadTable(strings.NewReader(table), "t.txt"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", table, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for name, file := range small() {
		if strings.HasPrefix(name, "data") {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, data string) {
		folder := small()
		folder["data.noun"] = &fstest.MapFile{Data: []byte(data)}
		if th, err := wordnet.Open(folder); err == nil {
			th.Related("bee")
		}
	})
}

// installed is the folder of a WordNet on this machine: WAGGLE_WORDNET, or
// where Debian's wordnet-base puts it.
func installed(t testing.TB) string {
	dir := os.Getenv("WAGGLE_WORDNET")
	if dir == "" {
		dir = "/usr/share/wordnet"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("needs WordNet's database files: install wordnet-base, or set WAGGLE_WORDNET to their folder")
	}
	return dir
}

func TestInstalled(t *testing.T) {
	th, err := wordnet.Open(os.DirFS(installed(t)))
	if err != nil {
		t.Fatal(err)
	}
	synonyms, wider := th.Related("cars")
	for _, w := range []string{"car", "auto", "automobile", "motorcar"} {
		if !strings.Contains(" "+strings.Join(synonyms, " ")+" ", " "+w+" ") {
			t.Errorf("%s is not among %q", w, synonyms)
		}
	}
	if !strings.Contains(strings.Join(wider, ","), "motor vehicle") {
		t.Errorf("motor vehicle is not among %q", wider)
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := os.DirFS(installed(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wordnet.Open(dir); err != nil {
			b.Fatal(err)
		}
	}
}
