package export

import (
	"cmp"
	"context"
	"io"

	"github.com/parquet-go/parquet-go"
)

// groupBytes bounds the texts of the rows that are in memory before they are written
// as a row group.
const groupBytes = 32 << 20

// groupRows bounds their number.
const groupRows = 100_000

// parquetFile writes rows in groups of bounded size.
type parquetFile[R any] struct {
	w     *parquet.GenericWriter[R]
	most  int // bytes of a group
	rows  int
	bytes int
}

func newParquetFile[R any](out io.Writer, in *Input) *parquetFile[R] {
	return &parquetFile[R]{most: cmp.Or(in.memory, groupBytes), w: parquet.NewGenericWriter[R](out, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("waggle", "", ""))}
}

// add writes a row with texts of size bytes.
func (p *parquetFile[R]) add(row R, size int) error {
	if _, err := p.w.Write([]R{row}); err != nil {
		return err
	}
	p.rows++
	if p.bytes += size; p.bytes < p.most && p.rows < groupRows {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

func writePagesParquet(ctx context.Context, in *Input, out io.Writer) error {
	p := newColumnFile[pageRow](out, in)
	return pagesTo(ctx, in, func(r pageRow) error {
		return p.add(r, r.Values, len(r.URL)+len(r.Title)+len(r.Text)+len(r.From)+len(r.Digest)+128)
	}, p.close)
}

func writeLinksParquet(ctx context.Context, in *Input, out io.Writer) error {
	p := newParquetFile[linkRow](out, in)
	return linksTo(ctx, in, func(r linkRow) error {
		return p.add(r, len(r.From)+len(r.To)+len(r.Anchor)+len(r.Context)+64)
	}, p.w.Close)
}
