package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// maxSeedLine bounds a line of a list of seeds, in bytes.
const maxSeedLine = 1 << 20

// ReadSeeds reads addresses to start from, one a line. Empty lines are passed
// over, and so is what follows a # at the beginning of a line or after white
// space. An address may lack its scheme; see web.WithScheme. name is that of the file, for errors: each line that is no address is
// one, and then there are no seeds.
func ReadSeeds(r io.Reader, name string) (seeds []string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSeedLine)
	var errs []error
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		for i, c := range line {
			if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				line = line[:i]
				break
			}
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if _, err := web.Given(line); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		seeds = append(seeds, line)
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	if len(errs) > 0 {
		const most = 10
		if more := len(errs) - most; more > 0 {
			errs = append(errs[:most], fmt.Errorf("%s: and %d more lines that are no address", name, more))
		}
		return nil, errors.Join(errs...)
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("%s holds no address: write one a line, such as https://example.org/", name)
	}
	return seeds, nil
}
