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
	some := func(s Tally, what string) {
		if s.N > 0 {
			fmt.Fprintf(out, "%s: %s\n", what, terminal.Number(s.N))
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
	some(got.Twice, "addresses under a second topic, which "+kept)
	some(got.Unusable, "examples left out, as they are no http or https addresses, or have a password")
	some(got.LeftOut, "records left out")
	some(got.Given, "examples that name no topic, and were given that of the Topic before them")
	some(got.Unknown, "topics of examples that the structure lacks, and that were added")
	some(Tally{N: len(got.Empty), First: got.Empty[:min(5, len(got.Empty))]}, "topics without an example, also below them, which waggle topic prune folds")
	if got.Repeated > 0 {
		fmt.Fprintf(out, "addresses listed again under the same topic: %s\n", terminal.Number(got.Repeated))
	}
	if got.Mended > 0 {
		fmt.Fprintf(out, "broken or forbidden characters, or tags in what editors wrote, that were replaced: %s\n", terminal.Number(got.Mended))
	}
	for _, place := range got.Cut {
		fmt.Fprintf(out, "%s; what came before was taken\n", event.Line(place))
	}
	if got.Ignored > 0 {
		fmt.Fprintf(out, "files left out, as they are neither HTML (.html, .htm, .xhtml) nor lists (.txt, .urls), or lead elsewhere: %s\n", terminal.Number(got.Ignored))
	}
}
