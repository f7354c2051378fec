package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/waggle-crawler/waggle/event"
)

// writeHarvest writes the relevant pages of all collections, best first, as
// harvest.tsv has those of one.
func writeHarvest(ctx context.Context, in *Input, out io.Writer) (err error) {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var g gaps
	lines := sorter{memory: in.memory, key: harvestKey}
	defer func() { err = errors.Join(err, lines.close()) }()
	n := 0
	for i, c := range in.Collections {
		number := -1
		for e, err := range c.Visits() {
			var damaged *event.LineError
			if errors.As(err, &damaged) {
				g.add(err)
				continue
			}
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f, ok := e.(event.Fetched)
			if !ok {
				continue
			}
			number++
			if at, ok := s.wanted(in, i, f.URL); !ok || at != number {
				continue
			}
			if p, ok := event.HarvestedOf(f); ok {
				line := fmt.Appendf(nil, "%016x%016x", ^ascending(p.Relevance), n)
				if err := lines.add(p.AppendTSV(line)); err != nil {
					return err
				}
				n++
			}
		}
	}
	w := bufio.NewWriter(out)
	w.WriteString(event.HarvestColumns + "\n")
	if err := lines.write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return g.err()
}

// harvestKey is how many bytes before a row of a harvest put it in its place: the most
// relevant first, equal ones as they came.
const harvestKey = 32

// ascending is a number for v that is less for less, and least of what is no number.
func ascending(v float64) uint64 {
	switch b := math.Float64bits(v + 0); { // -0 is 0
	case math.IsNaN(v):
		return 0
	case b>>63 == 1:
		return ^b
	default:
		return b | 1<<63
	}
}
