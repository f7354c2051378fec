package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/web"
)

// Texts are the pages of a topic for reading elsewhere, as files that are not written yet.
type Texts struct {
	Dir   string // the folder of the topic
	Pages int
	files [][]byte
}

// TextOptions say how pages are given for reading elsewhere.
type TextOptions struct {
	Part    int  // pages of a file
	Words   int  // of a page, at most
	Replace bool // files of an earlier export
}

// MakeTexts makes the texts of those topics of a pool whose web is among these, each for a folder of its own
// below one. It writes nothing. The error wraps fs.ErrExist where there are files of an earlier export that are
// not to be replaced.
func MakeTexts(below string, p *pool.Pool, topics []*pool.Topic, webs map[string]*corpus.Pages, o TextOptions) ([]Texts, error) {
	topics = slices.DeleteFunc(slices.Clone(topics), func(t *pool.Topic) bool { return webs[t.Web] == nil })
	names := folderNames(p)
	made := make([]Texts, len(topics))
	for i, t := range topics {
		dir := filepath.Join(below, names[t.Key()])
		if err := folder.MayBe(dir); err != nil {
			return nil, err
		}
		old, err := filesIn(dir)
		if err != nil {
			return nil, err
		}
		if len(old) > 0 && !o.Replace {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, old[0]), fs.ErrExist)
		}
		made[i] = Texts{Dir: dir, Pages: len(t.Pages)}
	}
	for i, t := range topics {
		for list := range slices.Chunk(t.Pages, o.Part) {
			b, err := textLines(webs[t.Web], list, len(made[i].files)*o.Part, o.Words)
			if err != nil {
				return nil, err
			}
			made[i].files = append(made[i].files, b)
		}
	}
	return made, nil
}

// Files is the number of files.
func (t *Texts) Files() int { return len(t.files) }

// Write writes the files, and removes what an earlier export has beyond them. An earlier export stays as it is
// until all of them are there.
func (t *Texts) Write() (err error) {
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return err
	}
	surplus, err := filesIn(t.Dir)
	if err != nil {
		return err
	}
	temp, remove, err := folder.Temp(t.Dir, ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	names := make([]string, len(t.files))
	for i, b := range t.files {
		names[i] = fmt.Sprintf("part-%02d.jsonl", i+1)
		if err := folder.Write(filepath.Join(temp, names[i]), b); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(t.Dir, name)); err != nil {
			return err
		}
	}
	for _, name := range surplus {
		if slices.Contains(names, name) {
			continue
		}
		if err := os.Remove(filepath.Join(t.Dir, name)); err != nil {
			return err
		}
	}
	return folder.Sync(t.Dir)
}

// filesIn are the names of the files that an export has written into a folder, which need not be there.
func filesIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "part-") && strings.HasSuffix(e.Name(), ".jsonl") {
			names = append(names, e.Name())
		}
	}
	return names, err
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

// folderNames are the names of the folders of all topics of a pool. No two are the same, also where case does not
// count; that of a topic does not depend on which of them are exported.
func folderNames(p *pool.Pool) map[pool.Key]string {
	names, taken := map[pool.Key]string{}, map[string]bool{}
	for i := range p.Topics {
		k := p.Topics[i].Key()
		name := fileWord(k.Web) + "-" + fileWord(k.Topic)
		own := name
		for n := 2; taken[strings.ToLower(own)]; n++ {
			own = fmt.Sprintf("%s-%d", name, n)
		}
		names[k], taken[strings.ToLower(own)] = own, true
	}
	return names
}

// fileWord is a name as part of a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N) {
			return r
		}
		return '_'
	}, s)
}
