package read

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/web"
)

// WriteTexts writes the pages of a topic below a folder for reading elsewhere, in files
// of so many pages each, of each page so many words at most. dir is the folder of the
// topic. Files of an earlier export there are removed where replace is set, and an error that wraps
// fs.ErrExist otherwise.
func WriteTexts(below string, pages *corpus.Pages, t *pool.Topic, part, words int, replace bool) (dir string, files int, err error) {
	dir = filepath.Join(below, fileWord(t.Web)+"-"+fileWord(t.Name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return dir, 0, err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return dir, 0, err
	}
	for _, e := range old {
		if !strings.HasPrefix(e.Name(), "part-") || !strings.HasSuffix(e.Name(), ".jsonl") {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if !replace {
			return dir, 0, fmt.Errorf("%s: %w", name, fs.ErrExist)
		}
		if err := os.Remove(name); err != nil {
			return dir, 0, err
		}
	}
	for list := range slices.Chunk(t.Pages, part) {
		b, err := textLines(pages, list, files*part, words)
		if err != nil {
			return dir, files, err
		}
		files++
		if err := folder.Write(filepath.Join(dir, fmt.Sprintf("part-%02d.jsonl", files)), b); err != nil {
			return dir, files, err
		}
	}
	return dir, files, nil
}

// textLines are pages as lines of JSON, numbered from first+1.
func textLines(pages *corpus.Pages, list []pool.Page, first, words int) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, x := range list {
		page, ok := pages.Page(x.URL)
		if !ok {
			return nil, fmt.Errorf("%s is not in the recorded web: is it the one that the pool was drawn from?", x.URL)
		}
		err := enc.Encode(struct {
			N       int     `json:"n"`
			Address web.URL `json:"address"`
			Title   string  `json:"title"`
			Text    string  `json:"text"`
		}{first + i + 1, x.URL, event.Line(page.Title), Text(page, words)})
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// fileWord is a name as part of a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
