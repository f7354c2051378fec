package job

import (
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// MayBeginAnew tells whether another crawl may take the place of the one in a folder:
// only one that has ended without a page. The error says how to go on with any other.
func MayBeginAnew(col collection.Collection) error {
	how, pages, err := col.Ended()
	if err != nil {
		return err
	}
	switch {
	case how == event.GainLow:
		return fmt.Errorf("%s holds a crawl of %s that ended as %s: choose another folder, or go on with --resume --until-gain 0, or a smaller number", col.Dir(), count(pages, "page"), terminal.Ending(how))
	case how != event.FrontierEmpty && how != event.BudgetSpent:
		return fmt.Errorf("%s holds an unfinished crawl of %s: go on with --resume, or choose another folder", col.Dir(), count(pages, "page"))
	case pages > 0:
		return fmt.Errorf("%s holds a finished crawl of %s (%s): choose another folder, or grant it more with --resume --pages N", col.Dir(), count(pages, "page"), terminal.Ending(how))
	}
	return nil
}
