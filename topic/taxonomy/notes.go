package taxonomy

import (
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// WriteNotes tells what an import made of what was unusual in its source, for a
// terminal; nothing where there was nothing.
func (got *ImportReport) WriteNotes(out io.Writer, o Options) {
	some := func(s Some, what string) {
		if s.N > 0 {
			fmt.Fprintf(out, "%s %s:\n", terminal.Number(s.N), what)
			for _, x := range s.First {
				fmt.Fprintf(out, "  %s\n", event.Line(x))
			}
			if s.N > len(s.First) {
				fmt.Fprintln(out, "  …")
			}
		}
	}
	kept := "stay with the first of them"
	if o.Twice == TwiceAll {
		kept = "are kept under each"
	}
	some(got.Twice, "times an address stands under a second topic; such addresses "+kept)
	some(got.Unusable, "examples are no http or https addresses and were left out")
	some(got.Unknown, "topics of examples are missing in the structure, and were added")
	some(Some{N: len(got.Empty), First: got.Empty[:min(5, len(got.Empty))]}, "topics have no example, nor has any below them; waggle topic prune folds them")
	if got.Repeated > 0 {
		fmt.Fprintf(out, "%s addresses were listed again under the same topic\n", terminal.Number(got.Repeated))
	}
	if got.Mended > 0 {
		fmt.Fprintf(out, "%s broken or forbidden characters, or tags in what editors wrote, were replaced\n", terminal.Number(got.Mended))
	}
	for _, place := range got.Cut {
		fmt.Fprintf(out, "%s; what came before was taken\n", event.Line(place))
	}
	if got.Ignored > 0 {
		fmt.Fprintf(out, "%s files are neither HTML (.html, .htm, .xhtml) nor lists (.txt, .urls), or lead elsewhere, and were left out\n", terminal.Number(got.Ignored))
	}
}
