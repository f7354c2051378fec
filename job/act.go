package job

import (
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
)

// CheckAct says why a crawl would not do an act, as far as that can be told before it takes it in:
// other keywords for a judge that takes none, and a budget below the pages that were fetched. Of a
// crawl by several workers pages is not asked. It is nil as well where the job cannot be read, or its
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
	case event.Budget:
		if col.OfSeveral() || a.Pages == 0 {
			return nil
		}
		n, err := pages()
		if err != nil {
			return err
		}
		if n > a.Pages {
			return belowSpent(n, a.Pages)
		}
	}
	return nil
}

// belowSpent is why a crawl that fetched so many pages is not given a budget.
func belowSpent(pages, budget int) error {
	return fmt.Errorf("the crawl has fetched %s already, and its budget over all runs is %s: give more than it has fetched, or 0 for no limit",
		terminal.Count(pages, "page"), number(float64(budget)))
}
