package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/web"
)

const manifestName = "web.yaml"

// web.yaml of a web that a crawl of a synthetic one recorded:
//
//	name: bees
//	description: 'Recorded by a crawl: bees'
//	synthetic: true        # absent: of real pages
//	addresses:             # absent: addresses are read by no such rule
//	    strip_sessions: true
//	    strip_tracking: true
//	pages: 120
//	hosts: 7
//	links_inside: 2400
//	topics:
//	    - name: bees
//	      keywords: [honey bee]
//	      seeds: [http://h1.example/]

// Manifest is what web.yaml says of a recorded web. Addresses are canonical
// once read.
type Manifest struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description,omitempty"`
	Source      string `yaml:"source,omitempty"`
	Licence     string `yaml:"licence,omitempty"`
	Synthetic   bool   `yaml:"synthetic,omitempty"` // made up by a program: no claim about real webs rests on it
	// Addresses are the rules by which addresses were made canonical before
	// they were recorded: what reads links of these pages needs them, or it
	// looks for addresses that nothing is recorded under. See Web.Canon.
	Addresses   Addresses `yaml:"addresses,omitempty"`
	Pages       int       `yaml:"pages"`                  // see Count
	Hosts       int       `yaml:"hosts"`                  // see Count
	LinksInside int       `yaml:"links_inside,omitempty"` // from page to page, 0 = not counted
	Topics      []Topic   `yaml:"topics,omitempty"`
}

// Addresses is web.Canon as the manifest writes it.
type Addresses struct {
	StripSessions bool `yaml:"strip_sessions,omitempty"`
	StripTracking bool `yaml:"strip_tracking,omitempty"`
}

// Canon are the rules by which links of the recorded pages are read.
func (m *Manifest) Canon() web.Canon { return web.Canon(m.Addresses) }

// Topic is something to look for in a recorded web.
type Topic struct {
	Name        string    `yaml:"name"`
	Description string    `yaml:"description,omitempty"`
	Keywords    []string  `yaml:"keywords,omitempty,flow"`
	Language    []string  `yaml:"language,omitempty,flow"` // ISO 639-1 codes; nil = what it is written in
	Seeds       []web.URL `yaml:"seeds,omitempty"`
	SeedsFar    []web.URL `yaml:"seeds_far,omitempty"` // three or four links from the next relevant page
	Examples    []web.URL `yaml:"examples,omitempty"`  // relevant pages shown to a crawler; no hits
	Truth       string    `yaml:"truth,omitempty"`     // file of the relevant addresses, within the folder
	Relevant    int       `yaml:"relevant,omitempty"`  // addresses in it
	Reachable   int       `yaml:"reachable,omitempty"` // of these, from the seeds within the record
}

func readManifest(file string) (Manifest, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return Manifest{}, fmt.Errorf("%s: %w", file, err)
	}
	if m.Name == "" {
		return Manifest{}, fmt.Errorf("%s: name is missing", file)
	}
	seen := map[string]bool{}
	for i, t := range m.Topics {
		switch {
		case t.Name == "":
			return Manifest{}, fmt.Errorf("%s: topic %d has no name", file, i+1)
		case seen[t.Name]:
			return Manifest{}, fmt.Errorf("%s: two topics are named %s", file, t.Name)
		case t.Truth != "" && !isLocal(t.Truth):
			return Manifest{}, fmt.Errorf("%s: topic %s: truth %q lies outside the folder", file, t.Name, t.Truth)
		}
		seen[t.Name] = true
	}
	return m, nil
}

// isLocal tells whether a path with slashes stays within its folder.
func isLocal(p string) bool {
	c := path.Clean(p)
	return !path.IsAbs(c) && c != ".." && !strings.HasPrefix(c, "../") && !strings.Contains(p, `\`)
}

func writeManifest(file string, m Manifest) error {
	data, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// readAddresses reads a file of addresses, one a line; empty lines and lines
// that begin with # are passed over.
func readAddresses(file string) ([]web.URL, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []web.URL
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := web.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		list = append(list, u)
	}
	return list, nil
}
