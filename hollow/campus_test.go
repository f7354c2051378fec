package hollow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// On pages of a real web that were labelled by reading them, precision and recall are those that
// docs/results/hollow.md tells, or better.
func TestCampus(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "campus.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]web.Reason{}
	for line := range strings.Lines(string(b)) {
		if address, label, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t"); ok {
			labels[address] = web.Reason(label)
		}
	}
	p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	labelled := func(address string) bool { _, ok := labels[address]; return ok }
	var read, right, said, is int
	recorded.EachPage(t, "campus", labelled, func(page recorded.Page) {
		u, err := web.Parse(page.URL)
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {page.Type}}, Body: []byte(page.Body)})
		if err != nil {
			t.Logf("%s is not read: %v", u, err)
			return
		}
		read++
		want, got := labels[page.URL], hollow.Reason(q)
		if want != "" {
			is++
		}
		if got != "" {
			said++
		}
		switch {
		case got != want:
			t.Logf("%s %q is %q, its label is %q", u, q.Title, got, want)
		case got != "":
			right++
		}
	})
	t.Logf("%d pages, %d of them hollow, %d told to be, %d of these rightly", read, is, said, right)
	if read < len(labels)*9/10 {
		t.Errorf("%d of %d pages were read", read, len(labels))
	}
	if right < 16 || said > right {
		t.Errorf("%d of %d hollow pages were told, and %d others: want 16 and none", right, is, said-right)
	}
}
