package pathlab

import (
	"context"
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/topic/paths"
)

// CompareClicks ranks the clicks of games by models of few and of many paths, and
// writes a table of each.
func CompareClicks(ctx context.Context, out io.Writer, pages *corpus.Pages, games []paths.Game, seed uint64, tell func(string)) error {
	for _, shown := range []int{10, 50} {
		rows, err := RankClicks(ctx, pages, games, TrailOptions{Targets: 20, Shown: shown, Tested: 20, Seed: seed}, tell)
		if err != nil {
			return err
		}
		WriteClicks(out, rows)
		fmt.Fprintln(out)
	}
	return nil
}

// Report makes the trial and writes its tables: what teaches, how well pages are named, with each
// number of words read of a page, and how soon goals are reached. Without Topics, all
// topics of the web are sought.
func (t *Trial) Report(ctx context.Context, out io.Writer, tokens []int, tell func(string)) error {
	if len(t.Topics) == 0 {
		for _, topic := range t.Web.Topics {
			t.Topics = append(t.Topics, topic.Name)
		}
	}
	data, err := t.Data(ctx)
	if err != nil {
		return err
	}
	WriteData(out, data)
	named, err := t.Names(ctx, tokens, tell)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	WriteNaming(out, named)
	reached, err := t.Reach(ctx, tell)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	WriteReach(out, reached)
	claims, err := t.Claims(ctx, tell)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	WriteClaims(out, claims)
	return nil
}

// Report writes the tables of strategies that were tried, see Try: their results, the
// claims about them, and how well pages are named.
func (t *Sites) Report(ctx context.Context, out io.Writer, tried []Result, tell func(string)) error {
	WriteResults(out, tried, t.Budgets)
	claims, err := t.Claims(ctx, tell)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	WriteClaims(out, claims)
	for _, kind := range t.Kinds {
		named, err := t.Names(ctx, kind, tell)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n**%s**\n\n", kind)
		WriteNaming(out, named)
	}
	return nil
}

// Chart draws how many goals the first 8 strategies found over pages.
func (t *Sites) Chart(tried []Result) *plot.Drawing {
	note := fmt.Sprintf("Mean over sites that did not teach, %d draws of %d sites that did.", t.Draws, t.Teach)
	return Chart(tried, t.Strategies[:min(8, len(t.Strategies))], "Goals found over pages", note)
}
