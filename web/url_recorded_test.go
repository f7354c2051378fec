package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
)

// Truth lists name pages by their recorded addresses, so these must parse, and
// no two of them may be one.
func TestRecordedAddresses(t *testing.T) {
	long.Test(t, "reads all addresses of recorded webs")
	pages, err := filepath.Glob(filepath.Join(filepath.Dir(recorded.Web(t, "departments")), "*", "pages.jsonl.zst"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages.jsonl.zst in the recorded webs (%v)", err)
	}
	for _, path := range pages {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			known := map[URL]string{}
			changed, stripped, collapsed := 0, 0, 0
			for s := range recordedAddresses(t, path) {
				u, err := Parse(s)
				if err != nil {
					t.Error(err)
					continue
				}
				if other, ok := known[u]; ok {
					collapsed++
					t.Errorf("%q and %q are both %q", s, other, u)
				}
				known[u] = s
				if u.String() != s {
					changed++
				}
				if v, err := (Canon{true, true}).Parse(s); err != nil || v != u {
					stripped++
				}
				checkCanonical(t, u)
			}
			aliases, same := 0, 0
			lines, _ := os.ReadFile(filepath.Join(dir, "aliases.tsv")) // trails has none
			for line := range strings.Lines(string(lines)) {
				from, to, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				u, err := Parse(from)
				if err != nil {
					t.Error(err)
					continue
				}
				aliases++
				if _, ok := known[u]; ok {
					same++
				}
				if v, err := Parse(to); err != nil {
					t.Error(err)
				} else if _, ok := known[v]; !ok {
					t.Errorf("alias of %q, which is not recorded", to)
				}
			}
			t.Logf("%d addresses, %d of them not canonical, %d with sessions or tracking, %d collapsed; %d aliases, %d of them recorded addresses",
				len(known), changed, stripped, collapsed, aliases, same)
		})
	}
}

// recordedAddresses reads the distinct addresses of a pages.jsonl.zst.
func recordedAddresses(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	addresses := map[string]bool{}
	lines := bufio.NewReaderSize(z, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			addresses[addressOf(t, line)] = true
		}
		for err == bufio.ErrBufferFull {
			_, err = lines.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return addresses
}

// addressOf returns the url of a recorded page, without reading the page: url
// is the first member of its object.
func addressOf(t *testing.T, line []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line[:min(len(line), 1<<14)]))
	for _, want := range []json.Token{json.Delim('{'), "url"} {
		if got, err := d.Token(); err != nil || got != want {
			t.Fatalf("%.80q: got %v, %v, want %v", line, got, err, want)
		}
	}
	var address string
	if err := d.Decode(&address); err != nil {
		t.Fatalf("%.80q: %v", line, err)
	}
	return address
}
