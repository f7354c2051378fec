package collection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// subfolders are the folders that a crawl has within its own.
var subfolders = []string{"archive", "frontier", filepath.Join("frontier", "queue")}

// checkKinds refuses a folder in which something else stands under the name of a file
// of the crawl: a folder, a link that leads nowhere, or a pipe or device, which to read
// may never end. Links to files and folders are as good as these. What the crawl does
// not know is left alone.
func (c Collection) checkKinds() error {
	names := []string{
		c.JobFile(), c.ExampleFile(), c.ModelFile(), c.CriticFile(), c.SumFile(), c.EventLog(), c.HarvestFile(),
		c.ProvenanceFile(), c.LostFile(), c.RobotsFile(), c.ReservationsFile(), c.ActFile(), c.actsForAll(), c.WorkersFile(), c.MemberFile(), c.ShippedFile(), c.FieldsFile(), c.journalFile(),
	}
	for _, sub := range subfolders {
		dir := filepath.Join(c.dir, sub)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s should be a folder: %w; move it away, and put back what belongs there", dir, err)
		}
		for _, e := range entries {
			known := sub != "archive" || strings.HasSuffix(e.Name(), ".warc.gz") // beside what a user or a repair puts there
			if known && !slices.Contains(subfolders, filepath.Join(sub, e.Name())) {
				names = append(names, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range names {
		switch as, err := os.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
			if _, err := os.Lstat(name); err != nil { // a file may be removed meanwhile
				continue
			}
			return wrongKind(name, "a link that leads nowhere")
		case err != nil:
			return fmt.Errorf("%w: make it readable, or move it away and run waggle verify %s", err, c.dir)
		case as.IsDir():
			return wrongKind(name, "a folder")
		case !as.Mode().IsRegular():
			return wrongKind(name, "a pipe, socket or device")
		}
	}
	return nil
}

func wrongKind(name, kind string) error {
	return fmt.Errorf("%s is %s where a file should be: move it away; waggle verify then says what is missing, and waggle repair mends what it can", name, kind)
}
