package pool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// ReadNarratives reads the narratives in the folder of a pool and checks that
// each topic of the pool has one.
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
	for w, topics := range webs {
		for t, n := range topics {
			for key, s := range map[string]string{"mainly": n.Mainly, "partly": n.Partly, "no": n.No} {
				if strings.TrimSpace(s) == "" {
					return nil, fmt.Errorf("%s: topic %s/%s: the sentence of the key %s is missing", f.At(w, t), w, t, key)
				}
			}
			out[Key{w, t}] = n
		}
	}
	for i := range p.Topics {
		k := p.Topics[i].Key()
		if _, ok := out[k]; !ok {
			return nil, fmt.Errorf("%s: topic %s of the pool has no narrative", name, k)
		}
	}
	return out, nil
}
