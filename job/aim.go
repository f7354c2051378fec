package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// Aim tells what makes pages relevant in a crawl: two crawls of one aim agree
// about what a link should lead to.
//
//	judge   its name, for a critic with the topics in focus
//	wanted  a digest of the topic, of which a critic with a taxonomy knows nothing
func (j *Job) Aim() map[string]string {
	name := cmp.Or(j.Judge.Name, "topic")
	if j.byCritic() {
		focus := slices.Clone(j.Judge.Focus)
		for i, t := range focus {
			if clean, err := taxonomy.Clean(t); err == nil { // else the judge refuses it
				focus[i] = clean
			}
		}
		slices.Sort(focus)
		focus = slices.Compact(focus)
		return map[string]string{"judge": name + " of " + strings.Join(focus, ", ")}
	}
	told := []any{j.Topic, j.Judge.Rules, j.Judge.Command}
	if len(j.Judge.Set) > 0 {
		told = append(told, j.Judge.Set)
	}
	b, err := json.Marshal(told)
	if err != nil {
		panic(err) // plain texts and numbers
	}
	return map[string]string{"judge": name, "wanted": fmt.Sprintf("%016x", xxh3.Hash(b))}
}

// AimsDiffer says in what two aims differ, "" if in nothing.
func AimsDiffer(a, b map[string]string) string {
	switch {
	case a["judge"] != b["judge"]:
		return fmt.Sprintf("judge %s, and %s", event.Line(a["judge"]), event.Line(b["judge"]))
	case a["wanted"] != b["wanted"]:
		return "other words or examples of what is wanted"
	}
	return ""
}
