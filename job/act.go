package job

import (
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
)

// CheckAct says why a crawl would not do an act, as far as that can be told before it takes it in:
// other keywords for a judge or a scorer that takes none, and a budget below the pages that were fetched: by
// a crawl alone as pages tells, and by several workers as far as this one had heard of the others. It is nil as well where the job cannot be read, or its
// judge is of another program.
func CheckAct(col collection.Collection, a event.Act, pages func() (int, error)) error {
	switch a.Do {
	case event.Keywords:
		j, err := Read(col.JobFile())
		if err != nil {
			return nil
		}
		if d, ok := judge.Describe(j.Judge.Name); ok && !judge.Rewords(d) {
			return crawl.NoKeywords(d.Name)
		}
		return j.checkReword()
	case event.Budget:
		if a.Pages == 0 {
			return nil
		}
		n, err := pages()
		if err != nil {
			return err
		}
		if col.OfSeveral() {
			n = max(n, heardPages(col))
		}
		if n > a.Pages {
			return belowSpent(n, a.Pages)
		}
	}
	return nil
}

// checkReword says why a crawl takes no other keywords while it runs, by its scorer: one that looks
// for those that it was made of, or compares pages with them by a likeness of its own,
// goes on with the old ones. It is nil where the scorer goes by the judge, or by examples.
func (j *Job) checkReword() error {
	_, looks := j.scorer().Uses(score.InputKeywords, j.Scorer.Set)
	if by := j.Scorer.Similarity; !looks && by != "keywords" && by != "keywords-idf" {
		return nil
	}
	return fmt.Errorf("the scorer %s takes no other keywords while a crawl runs, as it uses those of its beginning: stop it, and have it judged anew with waggle judge", j.Scorer.name())
}

// heardPages is how many pages all workers of a crawl have fetched, as far as that of this folder had heard.
func heardPages(col collection.Collection) (n int) {
	all, err := col.Workers()
	if err != nil {
		return 0 // the file may go at any time
	}
	for _, w := range all.Workers {
		n += w.Pages
	}
	return n
}

// belowSpent is why a crawl that fetched so many pages is not given a budget.
func belowSpent(pages, budget int) error {
	return fmt.Errorf("the crawl has fetched %s already, and its budget over all runs is %s: give more than it has fetched, or 0 for no limit",
		terminal.Count(pages, "page"), number(float64(budget)))
}
