package job_test

import (
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
)

// Other keywords are refused where the judge, or the scorer, would go on with those of the beginning.
func TestCheckKeywords(t *testing.T) {
	for _, c := range []struct {
		job    string
		refuse string // "" = nobody
	}{
		{"scorer: {name: waggle}", ""},
		{"scorer: {name: breadth-first}", ""},
		{"scorer: {name: best-first-page, similarity: judge}", ""},
		{"scorer: {name: best-first-page, similarity: keywords-idf}", "the scorer best-first-page"},
		{"scorer: {name: best-first-page, similarity: tfidf}", ""},
		{"scorer: {name: infospiders-like}", "the scorer infospiders-like"},
		{"scorer: {name: backlink}", ""},
		{"scorer: {name: backlink, set: {hot: 1}}", "the scorer backlink"},
		{"judge: {name: cosine-tfidf-max}", "the judge cosine-tfidf-max"},
	} {
		col := collection.At(t.TempDir())
		if err := os.WriteFile(col.JobFile(), []byte("seeds: [http://garden.test/]\ntopic: {keywords: [bees]}\n"+c.job+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Read(col.JobFile()); err != nil {
			t.Fatalf("%s: %v", c.job, err)
		}
		err := job.CheckAct(col, event.Act{Do: event.Keywords, Keywords: []string{"honey"}}, nil)
		if c.refuse == "" && err != nil || c.refuse != "" && (err == nil || !strings.HasPrefix(err.Error(), c.refuse+" takes no other keywords")) {
			t.Errorf("%s: %v", c.job, err)
		}
	}
}
