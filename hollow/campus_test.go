package hollow_test

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// labels reads the labels of a file, by web and address.
func labels(t *testing.T, file string) map[string]map[string]web.Reason {
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]map[string]web.Reason{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) == 2 {
			f = []string{"campus", f[0], f[1]}
		}
		if len(f) != 3 {
			t.Fatalf("%s: %q", file, line)
		}
		if of[f[0]] == nil {
			of[f[0]] = map[string]web.Reason{}
		}
		of[f[0]][f[1]] = web.Reason(f[2])
	}
	return of
}

// told is what the rule did on some pages.
type told struct{ read, hollow, said, right int }

// tell asks the rule about labelled pages: in all, and of the two halves of the hosts.
func tell(t *testing.T, file string) (all told, halves [2]told) {
	p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	for name, labels := range labels(t, file) {
		labelled := func(address string) bool { _, ok := labels[address]; return ok }
		recorded.EachPage(t, name, labelled, func(page recorded.Page) {
			u, err := web.Parse(page.URL)
			if err != nil {
				t.Fatal(err)
			}
			q, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {page.Type}}, Body: []byte(page.Body)})
			if err != nil {
				t.Logf("%s is not read: %v", u, err)
				return
			}
			h := fnv.New32a()
			h.Write([]byte(u.Host()))
			want, got := labels[page.URL], hollow.Reason(q)
			if got != want {
				t.Logf("half %d: %s %q is %q, its label is %q", h.Sum32()&1, u, q.Title, got, want)
			}
			for _, n := range []*told{&all, &halves[h.Sum32()&1]} {
				n.read++
				if want != "" {
					n.hollow++
				}
				if got != "" {
					n.said++
				}
				if got != "" && got == want {
					n.right++
				}
			}
		})
		if all.read == 0 {
			t.Fatalf("no page of %s was read", name)
		}
	}
	t.Logf("pages, hollow, told, rightly told: %v, of the halves of the hosts %v", all, halves)
	return all, halves
}

// On pages of a real web that were labelled by reading them, precision and recall are those that
// docs/results/hollow.md tells, or better.
func TestCampus(t *testing.T) {
	if all, _ := tell(t, "campus.tsv"); all.right < 18 || all.said > all.right || all.read < 250 {
		t.Errorf("%d of %d hollow pages were told, and %d others: want 18 and none", all.right, all.hollow, all.said-all.right)
	}
}

// The same on pages that were read after the rule was as it is, but for what the tables there say.
func TestUnseen(t *testing.T) {
	long.Test(t, "reads a recorded web")
	if all, _ := tell(t, "unseen.tsv"); all.right < 24 || all.said > all.right || all.read < 500 {
		t.Errorf("%d of %d hollow pages were told, and %d others: want 24 and none", all.right, all.hollow, all.said-all.right)
	}
}
