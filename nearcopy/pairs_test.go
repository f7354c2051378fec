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
