package nearcopy_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// pair is a line of testdata/pairs.tsv.
type pair struct {
	web, label    string
	urls, digests [2]string
}

func readPairs(t testing.TB) (pairs []*pair) {
	b, err := os.ReadFile(filepath.Join("testdata", "pairs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 6 {
			continue
		}
		pairs = append(pairs, &pair{web: f[0], label: f[1], urls: [2]string{f[2], f[3]}, digests: [2]string{f[4], f[5]}})
	}
	return pairs
}

// eachPage calls do with the pages of a recorded web that are wanted.
func eachPage(t testing.TB, name string, wanted map[string]bool, do func(address string, r *web.Response, p *web.Page)) {
	parser := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	recorded.EachPage(t, name, func(address string) bool { return wanted[address] }, func(page recorded.Page) {
		u, err := web.Parse(page.URL)
		if err != nil {
			t.Fatal(err)
		}
		r := &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {page.Type}}, Body: []byte(page.Body)}
		if p, err := parser.Parse(r); err == nil { // others are of another type
			do(page.URL, r, p)
		}
	})
}

// On pairs of pages that were labelled by reading what differs, precision and recall are those
// that docs/results/copies.md tells, or better.
func TestPairs(t *testing.T) {
	long.Test(t, "parses pages of three recorded webs")
	pairs := readPairs(t)
	byWeb := map[string]map[string]bool{}
	for _, p := range pairs {
		if byWeb[p.web] == nil {
			byWeb[p.web] = map[string]bool{}
		}
		byWeb[p.web][p.urls[0]], byWeb[p.web][p.urls[1]] = true, true
	}
	sketches, digests := map[string]*nearcopy.Sketch{}, map[string]string{}
	for name, wanted := range byWeb {
		eachPage(t, name, wanted, func(address string, _ *web.Response, p *web.Page) {
			sketches[address], digests[address] = nearcopy.Of(p), hex.EncodeToString(p.Digest[:])
		})
	}
	var right, told, are, unsure int
	for _, p := range pairs {
		for i, u := range p.urls {
			if digests[u] != p.digests[i] {
				t.Fatalf("%s has the digest %q, when it was labelled %q", u, digests[u], p.digests[i])
			}
		}
		like, near := sketches[p.urls[0]].Likeness(sketches[p.urls[1]])
		isCopy := p.label == "copy"
		switch {
		case p.label == "unsure":
			unsure++
			continue
		case near != isCopy:
			t.Logf("%s, told %v at %.3f: %s %s", p.label, near, like, p.urls[0], p.urls[1])
		case near:
			right++
		}
		if isCopy {
			are++
		}
		if near {
			told++
		}
	}
	t.Logf("%d pairs and %d unsure: %d copies, %d told, %d rightly", len(pairs)-unsure, unsure, are, told, right)
	if right < 85 || told-right > 2 {
		t.Errorf("%d of %d copies are told, and %d others: want 85 and 2", right, are, told-right)
	}
}

// Of the pages of recorded webs, in the order of the record, nearly all that are told to repeat
// another have most of their sequences of three words in common with it.
func TestTold(t *testing.T) {
	long.TestOfAll(t, "parses 29,000 pages of three recorded webs")
	pages, told, few := 0, 0, 0
	for _, name := range []string{"departments", "campus", "manuals"} {
		kept, looked := map[string][]byte{}, 0
		index := nearcopy.NewIndex(func(name string) ([]byte, error) { return kept[name], nil }, func(name string, value []byte) { kept[name] = value })
		words := map[string]string{} // of the pages that were not told, in their order
		half := func(string) bool { looked++; return looked <= 15_000 }
		parser := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
		recorded.EachPage(t, name, half, func(page recorded.Page) {
			u, err := web.Parse(page.URL)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {page.Type}}, Body: []byte(page.Body)})
			if err != nil {
				return // it is of another type
			}
			pages++
			s := nearcopy.Of(p)
			of, found, err := index.Find(u, s)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, l := range p.Leaves {
				all.WriteString(l.Text + " ")
			}
			text := all.String()
			if !found {
				words[u.String()] = text
				if err := index.Add(u, s); err != nil {
					t.Fatal(err)
				}
				return
			}
			told++
			if r := common(text, words[of.URL.String()]); r < .8 {
				few++
				t.Logf("%.2f of the sequences: %s %s", r, u, of.URL)
			}
		})
	}
	t.Logf("%d of %d pages are near-copies, %d with less than .8 of their sequences of words in common", told, pages, few)
	if told < pages/100 || few > told/20 {
		t.Errorf("%d of %d pages are told, %d of them unlike what they repeat", told, pages, few)
	}
}

// common is the share of the sequences of three words that two texts have in common.
func common(a, b string) float64 {
	sequences := func(s string) map[[3]string]bool {
		set, f := map[[3]string]bool{}, strings.Fields(strings.ToLower(s))
		for i := 0; i+3 <= len(f); i++ {
			set[[3]string(f[i:i+3])] = true
		}
		return set
	}
	x, y := sequences(a), sequences(b)
	both := 0
	for s := range x {
		if y[s] {
			both++
		}
	}
	if all := len(x) + len(y) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 1
}
