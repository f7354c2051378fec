package pool

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
	"github.com/waggle-crawler/waggle/web"
)

// A pool is three files of a folder. pool.yaml says what was drawn:
//
//	revision: 3fa9c20be1d04a57    # a hash of all three files
//	seed: 1
//	webs:
//	    - name: campus
//	      revision: 90b2f9d2a1c3e4f5   # of the pages of the web
//	      documents: 10871             # pages with a body of their own
//	topics:
//	    - web: campus
//	      name: databases
//	      lists: 21               # rankings of crawls and judges
//	      depth: 31               # pages of each that are read for sure
//	      strata:
//	        - {name: top, size: 199, drawn: 199}
//	        - {name: high, size: 604, drawn: 59}
//
// pool.tsv holds the pages, in the order in which they are read:
//
//	web	topic	address	stratum
//	campus	databases	http://a.example/	high
//
// strata.gz tells of every document in which stratum it is, as text: a line for
// each topic, in the order of pool.yaml, with a letter for each document, a for
// the first stratum:
//
//	campus	databases	eeadecbbdeeee…
const (
	yamlName   = "pool.yaml"
	pagesName  = "pool.tsv"
	strataName = "strata.gz"
)

// ErrLabelled says what to do about a folder that has labels of another pool.
var ErrLabelled = errors.New("choose another folder, or move the labels away")

// Files are the names of the files that a pool may have, with labels and narratives, in a folder.
func Files(dir string) (names []string) {
	for _, name := range []string{yamlName, pagesName, strataName, LabelsName, NarrativesName} {
		names = append(names, filepath.Join(dir, name))
	}
	return names
}

const pagesHead = "web\ttopic\taddress\tstratum\n"

// maxStrata bounds what strata.gz is unpacked to, in bytes.
const maxStrata = 1 << 30

// poolYAML is pool.yaml.
type poolYAML struct {
	Revision string  `yaml:"revision"`
	Seed     uint64  `yaml:"seed"`
	Webs     []Web   `yaml:"webs"`
	Topics   []Topic `yaml:"topics"`
}

// Write writes the files of a pool and sets its revision. In a folder with labels of another pool,
// which would fit no more, it writes nothing; the error wraps ErrLabelled then.
func (p *Pool) Write(dir string) error {
	pages, members := p.pages(), p.members()
	rev, err := p.revision(pages, members)
	if err != nil {
		return err
	}
	p.Revision = rev
	if _, err := ReadLabels(dir, p); err != nil {
		return fmt.Errorf("%w; %w", err, ErrLabelled)
	}
	head, err := yaml.Marshal(poolYAML(*p))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(members); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return errors.Join(
		folder.Write(filepath.Join(dir, pagesName), pages),
		folder.Write(filepath.Join(dir, strataName), z.Bytes()),
		folder.Write(filepath.Join(dir, yamlName), head))
}

// pages is pool.tsv.
func (p *Pool) pages() []byte {
	var b bytes.Buffer
	b.WriteString(pagesHead)
	for i := range p.Topics {
		t := &p.Topics[i]
		for _, page := range t.Pages {
			for _, s := range []string{t.Web, "\t", t.Name, "\t", page.URL.String(), "\t", t.Strata[page.Stratum].Name, "\n"} {
				b.WriteString(s)
			}
		}
	}
	return b.Bytes()
}

// members is what strata.gz unpacks to.
func (p *Pool) members() []byte {
	var b bytes.Buffer
	for i := range p.Topics {
		t := &p.Topics[i]
		fmt.Fprintf(&b, "%s\t%s\t", t.Web, t.Name)
		for _, s := range t.Member {
			b.WriteByte('a' + s)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// revision is the hash of all that a pool says.
func (p *Pool) revision(pages, members []byte) (string, error) {
	head := poolYAML(*p)
	head.Revision = ""
	b, err := yaml.Marshal(head)
	if err != nil {
		return "", err
	}
	h := xxh3.New()
	for _, part := range [][]byte{b, pages, members} {
		fmt.Fprintln(h, len(part))
		h.Write(part)
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// Open reads the pool in a folder. The error names the file, its line and what
// is wrong.
func Open(dir string) (*Pool, error) {
	name := filepath.Join(dir, yamlName)
	head, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no pool (waggle lab pool draw makes one): %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	var y poolYAML
	if _, err := yamlfile.Decode(name, head, &y, ""); err != nil {
		return nil, err
	}
	p := Pool(y)
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	pages, err := os.ReadFile(filepath.Join(dir, pagesName))
	if err != nil {
		return nil, err
	}
	if err := p.readPages(filepath.Join(dir, pagesName), string(pages)); err != nil {
		return nil, err
	}
	members, err := unpack(filepath.Join(dir, strataName))
	if err != nil {
		return nil, err
	}
	if err := p.readMembers(string(members)); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, strataName), err)
	}
	rev, err := p.revision(pages, members)
	if err != nil {
		return nil, err
	}
	if rev != p.Revision {
		return nil, fmt.Errorf("%s: the revision is %s, but that of what the folder holds is %s: one of its files was changed after the pool was drawn", name, p.Revision, rev)
	}
	return &p, nil
}

// check finds what is wrong with pool.yaml by itself.
func (p *Pool) check() error {
	documents := map[string]int{}
	for _, w := range p.Webs {
		if w.Name == "" || w.Documents < 1 {
			return fmt.Errorf("web %q of %d documents", w.Name, w.Documents)
		}
		documents[w.Name] = w.Documents
	}
	known := map[Key]bool{}
	for i := range p.Topics {
		t := &p.Topics[i]
		total := 0
		for _, s := range t.Strata {
			if s.Size < 0 || s.Drawn < 0 || s.Drawn > s.Size {
				return fmt.Errorf("topic %s: %d of the %d documents of stratum %s are drawn", t.Key(), s.Drawn, s.Size, s.Name)
			}
			total += s.Size
		}
		switch {
		case known[t.Key()]:
			return fmt.Errorf("topic %s is there twice", t.Key())
		case len(t.Strata) == 0 || len(t.Strata) > 26:
			return fmt.Errorf("topic %s has %d strata: 1…26 are possible", t.Key(), len(t.Strata))
		case documents[t.Web] == 0:
			return fmt.Errorf("topic %s: there is no web %q", t.Key(), t.Web)
		case total != documents[t.Web]:
			return fmt.Errorf("topic %s: its strata hold %d documents, and the web %d", t.Key(), total, documents[t.Web])
		}
		known[t.Key()] = true
	}
	return nil
}

// readPages reads pool.tsv.
func (p *Pool) readPages(name, text string) error {
	body, ok := strings.CutPrefix(text, pagesHead)
	if !ok {
		return fmt.Errorf("%s:1: the first line is not %q", name, strings.TrimSuffix(pagesHead, "\n"))
	}
	n := 1
	var t *Topic
	seen := map[web.URL]bool{}
	drawn := make([][]int, len(p.Topics)) // [topic][stratum]
	at := -1
	for line := range strings.Lines(body) {
		n++
		f, ok := fields4(strings.TrimSuffix(line, "\n"))
		if !ok {
			return fmt.Errorf("%s:%d: four fields parted by tabs are wanted: web, topic, address, stratum", name, n)
		}
		if t == nil || t.Web != f[0] || t.Name != f[1] {
			if at++; at >= len(p.Topics) || p.Topics[at].Key() != (Key{f[0], f[1]}) {
				return fmt.Errorf("%s:%d: topic %s/%s is not the next one of %s", name, n, f[0], f[1], yamlName)
			}
			t = &p.Topics[at]
			drawn[at] = make([]int, len(t.Strata))
			clear(seen)
		}
		s := t.stratum(f[3])
		if s < 0 {
			return fmt.Errorf("%s:%d: topic %s has no stratum %q", name, n, t.Key(), f[3])
		}
		u, err := web.Parse(f[2])
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if seen[u] {
			return fmt.Errorf("%s:%d: %s is there twice", name, n, u)
		}
		seen[u] = true
		drawn[at][s]++
		t.Pages = append(t.Pages, Page{u, s})
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		for s, x := range t.Strata {
			got := 0
			if drawn[i] != nil {
				got = drawn[i][s]
			}
			if got != x.Drawn {
				return fmt.Errorf("%s: topic %s: %d pages of stratum %s, but %s says %d", name, t.Key(), got, x.Name, yamlName, x.Drawn)
			}
		}
	}
	return nil
}

// fields4 parts a line at its tabs.
func fields4(line string) (f [4]string, ok bool) {
	for i := range 3 {
		if f[i], line, ok = strings.Cut(line, "\t"); !ok {
			return f, false
		}
	}
	f[3] = line
	return f, !strings.Contains(line, "\t")
}

// stratum is the index of a stratum, -1 for none.
func (t *Topic) stratum(name string) int {
	for i, s := range t.Strata {
		if s.Name == name {
			return i
		}
	}
	return -1
}

func unpack(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was read only
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b, err := io.ReadAll(io.LimitReader(z, maxStrata))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// readMembers reads what strata.gz unpacks to.
func (p *Pool) readMembers(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		if n == len(p.Topics) {
			return fmt.Errorf("line %d: there are more lines than topics", n+1)
		}
		t := &p.Topics[n]
		n++
		letters, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), t.Web+"\t"+t.Name+"\t")
		if !ok {
			return fmt.Errorf("line %d does not begin with %s", n, strconv.Quote(t.Web+"\t"+t.Name))
		}
		size := make([]int, len(t.Strata))
		t.Member = make([]uint8, len(letters))
		for i := range len(letters) {
			s := letters[i] - 'a'
			if int(s) >= len(size) {
				return fmt.Errorf("line %d: %q is no stratum of %s", n, letters[i], t.Key())
			}
			t.Member[i] = s
			size[s]++
		}
		for s, x := range t.Strata {
			if size[s] != x.Size {
				return fmt.Errorf("line %d: %d documents of stratum %s, but %s says %d", n, size[s], x.Name, yamlName, x.Size)
			}
		}
	}
	if n < len(p.Topics) {
		return fmt.Errorf("%d lines, but %d topics", n, len(p.Topics))
	}
	return nil
}
