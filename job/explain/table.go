package explain

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// sumTable shows a sum, and the parts of it below.
type sumTable struct {
	sum  float64
	what string // the sum is
	rest string // the parts that are not shown are
	none string // said where there are no parts; "" = nothing

	parts []sumPart
	left  int // parts that are not shown
	more  float64
}

type sumPart struct {
	value float64
	text  string
}

// add shows a part.
func (t *sumTable) add(v float64, text string) { t.parts = append(t.parts, sumPart{v, text}) }

// leave counts a part that is not shown.
func (t *sumTable) leave(v float64) {
	t.left++
	t.more += v
}

func (t *sumTable) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	digits := 3
	if t.sum != 0 && math.Abs(t.sum) < 0.01 { // a small one would be rounded to nothing
		digits = min(8, 2-int(math.Floor(math.Log10(math.Abs(t.sum)))))
	}
	row := func(v float64, text string) { fmt.Fprintf(out, "%+.*f\t  %s\n", digits, v, text) }
	row(t.sum, t.what)
	for _, p := range t.parts {
		row(p.value, p.text)
	}
	if t.left > 0 {
		row(t.more, terminal.Number(t.left)+" "+t.rest)
	}
	if len(t.parts) == 0 && t.none != "" {
		fmt.Fprintf(out, "\t  %s\n", t.none)
	}
	out.Flush() // errors stay with w, which is the terminal's
}
