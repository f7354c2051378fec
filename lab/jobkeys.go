package lab

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/job"
)

// sharedKeys are keys of a job file that a lab file has as well, by the key they stand under.
var sharedKeys = map[string]string{"fetch": "types", "topic": "want"}

// jobKeys are keys of a job file that a lab file has not, and why: of those in sharedKeys what
// else stands under them.
var jobKeys = map[string]string{
	"fetch":      "a lab fetches nothing: it reads pages as the recorded web has them, those that a browser rendered included; of fetch it has types alone",
	"topic":      "topics, with their languages, keywords and examples, are those of the recorded web: they stand in its web.yaml; of topic a lab has want alone",
	"judge":      "the judges of a lab stand in judges",
	"scorer":     "the scorers of a lab stand in scorers",
	"budget":     "the budgets of a lab stand in budgets, and waits for better links in network",
	"scope":      "a lab crawls all hosts of the recorded web: record one of fewer",
	"politeness": "there is nobody to be polite to: pauses between requests stand in network",
	"addresses":  "addresses are read as the recorded web was made",
	"contact":    "a lab asks nobody for pages",
	"again":      "a lab makes first crawls: a recorded web is of one moment",
}

// reportKeys are keys that a reader of a report looks for, and what a lab file has in their place.
var reportKeys = map[string]string{
	"tables":     "the report has a table of each measure, and those that measures names come first",
	"charts":     "the report draws the harvest of the best strategies; waggle lab chart draws others",
	"plots":      "the report draws the harvest of the best strategies; waggle lab chart draws others",
	"topics":     "each web names its topics: webs: [{path: DIR, topics: [NAME]}]",
	"strategies": "strategies stand in scorers",
}

// refuseJobKeys says why a lab file takes no part of a job.
func refuseJobKeys(name string, b []byte) error {
	var doc yaml.Node
	if yaml.Unmarshal(b, &doc) != nil || len(doc.Content) == 0 {
		return nil // for the reader to say
	}
	var all []error
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content) && top.Kind == yaml.MappingNode; i += 2 {
		k := top.Content[i]
		why, ok := jobKeys[k.Value]
		if shared := sharedKeys[k.Value]; shared != "" {
			v := top.Content[i+1]
			if v.Kind != yaml.MappingNode {
				continue // for the reader to say
			}
			for n := 0; n+1 < len(v.Content); n += 2 {
				// What is no key of a job either is for the reader to say.
				if x := v.Content[n]; x.Value != shared && ofJob(k.Value+"."+x.Value) {
					all = append(all, fmt.Errorf("%s:%d: \"%s.%s\" is a key of a job, and none of a lab: %s", name, x.Line, k.Value, x.Value, why))
				}
			}
		} else if ok {
			all = append(all, fmt.Errorf("%s:%d: %q is a key of a job, and none of a lab: %s", name, k.Line, k.Value, why))
		} else if why, ok := reportKeys[k.Value]; ok {
			all = append(all, fmt.Errorf("%s:%d: a lab has no key %q: %s", name, k.Line, k.Value, why))
		}
	}
	return errors.Join(all...)
}

// ofJob tells whether a job file has a key, given with those above it.
func ofJob(path string) bool {
	return slices.ContainsFunc(job.Settings(), func(s job.Setting) bool { return s.Path == path })
}
