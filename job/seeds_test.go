package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadSeeds(t *testing.T) {
	const list = "\ufeff# my hives\n\nhttps://a.example/#part\n  https://b.example/  # the old one\r\nhttps://a.example/c\t#\nd.example/bees\n"
	got, err := ReadSeeds(strings.NewReader(list), "seeds.txt")
	if want := []string{"https://a.example/#part", "https://b.example/", "https://a.example/c", "d.example/bees"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for list, want := range map[string]string{
		"":                          "seeds.txt holds no address",
		"# none\n":                  "seeds.txt holds no address",
		"https://a.example/\nhives": `seeds.txt:2: address "hives" has no scheme: write it as https://…`,
		"gopher://a/\nmailto:b\n":   "seeds.txt:1: address \"gopher://a/\": not an http or https address\nseeds.txt:2: ",
		"https://a.example/\nhttp://ada:pw@b.example/": "seeds.txt:2: an address with a name or a password",
		strings.Repeat("x\n", 12):                      "seeds.txt: and 2 more lines that are no address",
		strings.Repeat("x", 2<<20):                     "seeds.txt:1: bufio.Scanner: token too long",
	} {
		if got, err := ReadSeeds(strings.NewReader(list), "seeds.txt"); got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %q, %v; want %q", list, got, err, want)
		}
	}
}

func TestOutline(t *testing.T) {
	for text, want := range map[string]string{
		"seeds: [https://a.example/]\ntopic: {keywords: [honey bee]}\nbudget: {pages: 1200, time: 2h}\njudge: {threshold: 0.25}": `crawl: pages on “honey bee”, by the judge topic from relevance 0.25 on; links in the order of waggle.
At most 1,200 pages or 2h, from 1 seed, to wherever links lead; 1s between requests to a host, 32 fetches at a time.`,
		"name: hives\nseeds: [https://a.example/, https://b.example/]\ntopic: {keywords: [a, b, c, d, e], examples: [x.html]}\nscope: {reach: domain, exclude: [a], max-depth: 3}\npoliteness: {delay: 0}\nfetch: {workers: 1, through: 'http://127.0.0.1:1'}": `hives: pages on “a”, “b”, “c”, “d” and 1 more keyword and 1 example page, by the judge topic; links in the order of waggle.
No limit of pages, from 2 seeds, within their domains, addresses held against 1 pattern, at most 3 links deep; no pause between requests to a host, 1 fetch at a time, through http://127.0.0.1:1.`,
		"seeds: [https://a.example/]\njudge: {name: command, command: [./j]}\nscope: {reach: host}": `crawl: pages that the judge wants, by the judge command; links in the order of waggle.
No limit of pages, from 1 seed, within its host; 1s between requests to a host, 32 fetches at a time.`,
	} {
		j, err := Parse("job.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		j.setDefaults()
		if got := strings.Join(j.Outline(len(j.Topic.Examples)), "\n"); got != want {
			t.Errorf("of %s\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestSeedsWithoutScheme(t *testing.T) {
	j, err := Parse("job.yaml", []byte("seeds: [a.example/bees, 'localhost:8080']\ntopic: {keywords: [bee]}"))
	if err != nil {
		t.Fatal(err)
	}
	m := &Maker{Job: j}
	if err := m.makeSeeds(); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(m.Seeds, m.bare), "[https://a.example/bees http://localhost:8080/] [https://a.example/bees]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
