package collection

import (
	"context"
	"errors"
	"io"

	"github.com/waggle-crawler/waggle/store"
)

// Export is a form in which the finds of a crawl are handed over. A form of its
// own is a value of this type; Exports are those of waggle.
type Export struct {
	Name string // one word in lower case
	Line string // what it is, for people
	File string // the usual name of the file
	// Write writes what the crawl holds, which may still run. An error that
	// wraps ErrPartial says that all that can be read was written.
	Write func(ctx context.Context, c Collection, out io.Writer) error
}

// ErrPartial says that an export is complete but for what could not be read.
var ErrPartial = errors.New("what can be read was written")

// Exports are the forms that there are.
func Exports() []Export {
	return []Export{
		{"harvest", "The relevant pages as a table (TSV): relevance, url, title, depth, from, at.", "harvest.tsv", exportHarvest},
		{"cdxj", "An index of the archive (CDXJ), by which replay tools find its records.", "index.cdxj", exportCDXJ},
	}
}

func exportHarvest(ctx context.Context, c Collection, out io.Writer) error {
	h, err := c.harvest(ctx)
	if err != nil {
		return err
	}
	return h.WriteTSV(out)
}

// exportCDXJ writes the index. The record that a running crawl is writing is no
// damage.
func exportCDXJ(_ context.Context, c Collection, out io.Writer) error {
	paths, err := c.ArchiveFiles()
	if err != nil {
		return err
	}
	_, err = store.WriteCDXJ(out, paths...)
	var damage *store.Damage
	if !errors.As(err, &damage) {
		return err
	}
	if damage.Torn {
		if how, _, _ := c.Ended(); how == "" {
			return nil
		}
	}
	return errors.Join(err, ErrPartial)
}
