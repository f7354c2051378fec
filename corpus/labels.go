package corpus

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Labels are what people have called pages: the second field of labels.tsv, of
// several by commas the first. Without such a file there are none.
func (w *Web) Labels() (map[web.URL]string, error) {
	path := filepath.Join(w.dir, labelsName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	labels := map[web.URL]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		u, err := web.Parse(fields[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		labels[u], _, _ = strings.Cut(fields[1], ",")
	}
	return labels, lines.Err()
}
