package export

import (
	"context"
	"errors"
	"io"

	"github.com/waggle-crawler/waggle/event"
)

// writeHarvest writes the relevant pages of all collections, best first, as
// harvest.tsv has those of one.
func writeHarvest(ctx context.Context, in *Input, out io.Writer) error {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var h event.Harvest
	var g gaps
	for i, c := range in.Collections {
		number := -1
		for p, err := range c.Fetched() {
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
			number++
			if at, ok := s.wanted(in, i, p.URL); ok && at == number {
				h.Add(p)
			}
		}
	}
	if err := h.WriteTSV(out); err != nil {
		return err
	}
	return g.err()
}
