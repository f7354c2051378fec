package waggle_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle"
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl by a judge, a scorer and a listener of one's own: begun, gone on with,
// and read.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(bees))
	defer site.Close()
	dir, none := tempDir(), job.Duration(0)
	defer os.RemoveAll(dir)

	c := &waggle.Crawler{
		Judges: []judge.Description{waggle.JudgeFunc("dancing", "pages that say dance", 0.5, func(p *web.Page) float64 {
			return float64(strings.Count(p.Main, "dance"))
		})},
		Scorers: []score.Description{waggle.ScorerFunc("short", "short anchors first", func(_ *web.Page, _ web.Verdict, l *web.Link) float64 {
			return -float64(len(l.Anchor))
		})},
		Listen: func(e event.Event) {
			if p, ok := e.(event.Fetched); ok {
				fmt.Println("fetched", p.URL.RequestPath())
			}
		},
	}
	how, err := c.Begin(context.Background(), dir, &job.Job{
		Seeds: []string{site.URL + "/"}, Judge: job.Judge{Name: "dancing"}, Scorer: job.Scorer{Name: "short"},
		Budget: job.Budget{Pages: 2}, Fetch: job.Fetch{Workers: 1, AllowPrivate: true}, Politeness: job.Politeness{Delay: &none},
	})
	fmt.Println(how, err)
	how, err = c.Resume(context.Background(), dir, func(j *job.Job) { j.Budget.Pages = 0 })
	fmt.Println(how, err)
	pages, err := collection.At(dir).Harvest()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pages {
		fmt.Println("relevant:", p.Title)
	}
	// Output:
	// fetched /
	// fetched /cars
	// BudgetSpent <nil>
	// fetched /hive
	// fetched /dance
	// FrontierEmpty <nil>
	// relevant: Dance
}

// A scorer of one's own, measured against others on a recorded web.
func Example_lab() {
	dir := tempDir()
	defer os.RemoveAll(dir)
	record(filepath.Join(dir, "web"))

	c := &waggle.Crawler{Scorers: []score.Description{
		waggle.ScorerFunc("page-and-order", "relevant pages, and their first links, first", func(p *web.Page, v web.Verdict, l *web.Link) float64 {
			return v.Relevance - 0.1*float64(l.Position)/float64(len(p.Links))
		}),
	}}
	f, err := c.ParseLab(filepath.Join(dir, "lab.yaml"), []byte(`
webs: [{path: web, budgets: [100]}]
scorers: [breadth-first, best-first-both, page-and-order]
`))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.Run(context.Background(), filepath.Join(dir, "out"), lab.Options{}); err != nil {
		log.Fatal(err)
	}
	results, err := f.Report(filepath.Join(dir, "out"))
	if err != nil {
		log.Fatal(err)
	}
	for _, cell := range results.Cells {
		for _, v := range cell.Values {
			if v.Measure == "hits" {
				fmt.Println(cell.Scorer, v.Budget, v.Value)
			}
		}
	}
	// Output:
	// breadth-first 100 8
	// best-first-both 100 16
	// page-and-order 100 13
}

// A judge with a setting of its own, which jobs and labs can change.
func Example_judge() {
	site := httptest.NewServer(http.HandlerFunc(bees))
	defer site.Close()
	dir, none := tempDir(), job.Duration(0)
	defer os.RemoveAll(dir)

	c := &waggle.Crawler{Judges: []judge.Description{{
		Name: "short", Line: "pages of a few words",
		Settings: []judge.Setting{{Name: "words", Default: 10, Min: 1, Max: 1000, Line: "most words of a wanted page"}},
		Make: func(o judge.Options) (judge.Judge, error) {
			return waggle.JudgeFunc("short", "", 0.5, func(p *web.Page) float64 {
				return o.Set["words"] / float64(2*len(strings.Fields(p.Main)))
			}).Make(o)
		},
	}}}
	j := &job.Job{
		Seeds: []string{site.URL + "/"}, Judge: job.Judge{Name: "short", Set: map[string]float64{"words": 5}}, Scorer: job.Scorer{Name: "best-first-page"},
		Fetch: job.Fetch{Workers: 1, AllowPrivate: true}, Politeness: job.Politeness{Delay: &none},
	}
	how, err := c.Begin(context.Background(), filepath.Join(dir, "crawl"), j)
	fmt.Println(how, err)
	pages, err := collection.At(filepath.Join(dir, "crawl")).Harvest()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pages {
		fmt.Println("relevant:", p.Title)
	}
	j.Judge.Set["words"] = 0
	_, err = c.Begin(context.Background(), filepath.Join(dir, "other"), j)
	fmt.Println(err)
	// Output:
	// FrontierEmpty <nil>
	// relevant: Cars
	// relevant: Hive
	// judge.set.words: short: words = 0 is outside 1…1000
}

// bees is a site of four pages.
func bees(w http.ResponseWriter, r *http.Request) {
	pages := map[string]string{
		"/":      `<title>Bees</title><p>All about bees: <a href="/dance">how they tell the way</a> <a href="/hive">their home</a> <a href="/cars">cars</a>`,
		"/dance": `<title>Dance</title><p>The waggle dance tells where food is.`,
		"/hive":  `<title>Hive</title><p>Bees live in a hive.`,
		"/cars":  `<title>Cars</title><p>Four wheels.`,
	}
	w.Header().Set("Content-Type", "text/html")
	if pages[r.URL.Path] == "" {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprint(w, pages[r.URL.Path])
}

// record makes a recorded web of a made-up one.
func record(dir string) {
	o, err := synthetic.Parse("pages=600,topics=1,targets=0.1,seed=1")
	if err != nil {
		log.Fatal(err)
	}
	made, err := synthetic.New(o)
	if err != nil {
		log.Fatal(err)
	}
	source, err := made.Source()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := corpus.Build(context.Background(), dir, source, corpus.Options{}); err != nil {
		log.Fatal(err)
	}
}

func tempDir() string {
	dir, err := os.MkdirTemp("", "waggle-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
