package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
)

// maxFile bounds a job file, in bytes.
const maxFile = 8 << 20

// Read reads and checks a job file. Every error names its line.
func Read(name string) (*Job, error) { return Strategies{}.Read(name) }

// Read is the function Read for a program with strategies of its own.
func (s Strategies) Read(name string) (*Job, error) { return s.read(name, "") }

// ReadGiven is Read for a job file that a person gives: relative names of files in it are taken from its
// folder. That of a crawl has them as the crawl does.
func ReadGiven(name string) (*Job, error) { return Strategies{}.ReadGiven(name) }

// ReadGiven is the function ReadGiven for a program with strategies of its own.
func (s Strategies) ReadGiven(name string) (*Job, error) { return s.read(name, filepath.Dir(name)) }

func (s Strategies) read(name, dir string) (*Job, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("job file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("job file %s: %w", name, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("job file %s is larger than %d MiB: is it a job file?", name, maxFile>>20)
	}
	return s.parse(name, b, dir)
}

// Parse makes a Job of YAML, and checks it; name is the file's, for errors. Keys
// that no job has are errors.
func Parse(name string, b []byte) (*Job, error) { return Strategies{}.Parse(name, b) }

// Parse is the function Parse for a program with strategies of its own.
func (s Strategies) Parse(name string, b []byte) (*Job, error) { return s.parse(name, b, "") }

// parse is Parse with relative names of files taken from dir, "" for as they are.
func (s Strategies) parse(name string, b []byte, dir string) (*Job, error) {
	j := &Job{strategies: s}
	file, err := yamlfile.Decode(name, b, j, "`waggle crawl --example-job` shows every key")
	if err != nil {
		return nil, err
	}
	if dir != "" {
		j.filesFrom(dir)
	}
	errs := []error{j.Check()}
	for _, x := range Settings() {
		if x.zeroIsDefault() && !x.Given(j) && file.Has(strings.Split(x.Path, ".")...) {
			errs = append(errs, &Error{x.Path, x.zeroError()})
		}
	}
	return j, Locate(errors.Join(errs...), func(path string) string { return file.At(strings.Split(path, ".")...) })
}

// filesFrom takes relative names of files in a job from a folder.
func (j *Job) filesFrom(dir string) {
	names := []*string{&j.Scorer.Model, &j.Scorer.WordNet, &j.Scorer.Thesaurus, &j.Judge.Critic, &j.Scope.Within, &j.Fetch.Secrets, &j.Fetch.ThroughCA}
	if isFileName(j.Fetch.Cookies) {
		names = append(names, &j.Fetch.Cookies)
	}
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
		if name == &j.Fetch.Cookies && !isFileName(*name) { // Join takes ./ away
			*name = "." + string(filepath.Separator) + *name
		}
	}
	for _, list := range [][]string{j.Topic.Examples, j.Topic.Negatives} {
		for i, name := range list {
			if !IsAddress(name) && !filepath.IsAbs(name) {
				list[i] = filepath.Join(dir, name)
			}
		}
	}
}

// IsAddress tells an example that is an address on the web from one that is a
// file.
func IsAddress(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// YAML is the job as a job file.
func (j *Job) YAML() ([]byte, error) { return yaml.Marshal(j) }

// Example is a job file that explains every key.
func Example() string {
	var b strings.Builder
	b.WriteString(`# A waggle job. Every key but seeds and a topic may be left out. What is commented
# out shows the default, or an example where there is none.
`)
	table := func(under, indent string) {
		var keys, lines []string
		wide := 0
		for _, s := range Settings() {
			key, found := strings.CutPrefix(s.Path, under)
			if !found || strings.Contains(key, ".") || s.Example == "" {
				continue
			}
			text := indent + key + ": " + s.Example
			if !s.Shown {
				text = indent + "# " + key + ": " + s.Example
			}
			keys, lines = append(keys, text), append(lines, s.Help(7))
			wide = max(wide, len(text))
		}
		for i, text := range keys {
			fmt.Fprintf(&b, "%-*s # %s\n", min(wide, 44), text, lines[i])
		}
	}
	table("", "")
	for _, g := range sections() {
		fmt.Fprintf(&b, "\n# %s\n%s:\n", g.line, g.key)
		table(g.key+".", "  ")
	}
	return b.String()
}

// Recorded is the job to look for a topic of a recorded web.
func Recorded(t corpus.Topic, far bool, pages int) *Job {
	j := &Job{Name: t.Name}
	seeds := t.Seeds
	if far {
		seeds = t.SeedsFar
	}
	for _, u := range seeds {
		j.Seeds = append(j.Seeds, u.String())
	}
	for _, u := range t.Examples {
		j.Topic.Examples = append(j.Topic.Examples, u.String())
	}
	j.Topic.Description, j.Topic.Keywords, j.Topic.Language = t.Description, t.Keywords, t.Language
	j.Budget.Pages = pages
	none := Duration(0)
	j.Politeness.Delay = &none
	return j
}
