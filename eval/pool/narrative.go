package pool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
)

// Narrative says, before any page is read, what counts as a page of a topic: a
// sentence for each grade. A file of them is YAML:
//
//	campus:
//	  databases:
//	    mainly: The page is mainly about databases, such as …
//	    partly: Databases are one of several subjects, such as …
//	    no: Databases are not a subject, …
type Narrative struct {
	Mainly string `yaml:"mainly" json:"mainly"` // grade 2
	Partly string `yaml:"partly" json:"partly"` // grade 1
	No     string `yaml:"no" json:"no"`         // grade 0
}

// NarrativesName is the file of narratives in the folder of a pool.
const NarrativesName = "narratives.yaml"

// WriteNarratives writes a file of narratives into the folder of a pool, with a
// place for each sentence; none where one is there, and then wrote is false.
func WriteNarratives(dir string, p *Pool) (wrote bool, err error) {
	name := filepath.Join(dir, NarrativesName)
	if folder.Exists(name) {
		return false, nil
	}
	var b bytes.Buffer
	b.WriteString("# What counts as a page of each topic: a sentence for each grade, written before\n# the first page is read. waggle lab read shows them beside the pages.\n")
	var webs []string // a key stands in the file once, wherever the topics of its web are
	topics := map[string][]*Topic{}
	for i := range p.Topics {
		t := &p.Topics[i]
		if topics[t.Web] == nil {
			webs = append(webs, t.Web)
		}
		topics[t.Web] = append(topics[t.Web], t)
	}
	for _, w := range webs {
		fmt.Fprintf(&b, "%s:\n", yamlKey(w))
		for _, t := range topics[w] {
			fmt.Fprintf(&b, "  %s:\n    mainly: \"\" # such as: The page is mainly about …\n    partly: \"\" # such as: … is one of several subjects of the page.\n    no: \"\"     # such as: Nothing of the page is about …\n", yamlKey(t.Name))
		}
	}
	return true, folder.Write(name, b.Bytes())
}

// yamlKey is a name as a key of YAML.
func yamlKey(name string) string {
	b, err := yaml.Marshal(name)
	if s := strings.TrimSpace(string(b)); err == nil && !strings.Contains(s, "\n") {
		return s
	}
	return strconv.Quote(name)
}

// ReadNarratives reads the narratives in the folder of a pool and checks that
// each topic of the pool has one, of three sentences.
func ReadNarratives(dir string, p *Pool) (map[Key]Narrative, error) {
	name := filepath.Join(dir, NarrativesName)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("narratives, which tell readers what counts: %w", err)
	}
	var webs map[string]map[string]Narrative
	f, err := yamlfile.Decode(name, b, &webs, "a topic has mainly:, partly: and no:")
	if err != nil {
		return nil, err
	}
	out := map[Key]Narrative{}
	for i := range p.Topics {
		k := p.Topics[i].Key()
		n, ok := webs[k.Web][k.Topic]
		if !ok {
			return nil, fmt.Errorf("%s: topic %s of the pool has no narrative: give it the keys mainly, partly and no, with a sentence each", name, k)
		}
		for _, s := range [][2]string{{"mainly", n.Mainly}, {"partly", n.Partly}, {"no", n.No}} {
			if strings.TrimSpace(s[1]) == "" {
				return nil, fmt.Errorf("%s: topic %s: the sentence of the key %s is missing: write what counts, before the first page is read", f.At(k.Web, k.Topic), k, s[0])
			}
		}
		out[k] = n
	}
	return out, nil
}
