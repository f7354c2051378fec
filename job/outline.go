package job

import (
	"fmt"
	"strings"
)

// Outline says in two lines what a crawl of the job will do: what it goes for and
// how it chooses, and how far it goes. The job has its defaults filled in, and of its
// example pages so many were had. Texts of the job stand in it as they are.
func (j *Job) Outline(examples int) []string {
	return []string{j.aimLine(examples), j.boundsLine()}
}

// aimLine says what is wanted, who judges and what goes first.
func (j *Job) aimLine(examples int) string {
	t := &j.Topic
	var of []string
	if n := len(t.Keywords); n > 0 {
		of = append(of, "“"+strings.Join(t.Keywords[:min(n, 4)], "”, “")+"”")
		if n > 4 {
			of = append(of, count(n-4, "more keyword"))
		}
	}
	if t.Description != "" && len(t.Keywords) == 0 {
		of = append(of, "“"+clip(t.Description)+"”")
	}
	if examples > 0 {
		of = append(of, count(examples, "example page"))
	}
	if len(j.Judge.Focus) > 0 {
		of = append(of, strings.Join(j.Judge.Focus, ", "))
	}
	text := j.Name + ": pages on " + strings.Join(of, " and ")
	if len(of) == 0 {
		text = j.Name + ": pages that the judge wants"
	}
	text += ", by the judge " + j.Judge.Name
	if j.Judge.Threshold != nil {
		text += fmt.Sprintf(" from relevance %.4g on", *j.Judge.Threshold)
	}
	return text + "; links in the order of " + j.Scorer.name() + "."
}

// boundsLine says how much, from where and how far.
func (j *Job) boundsLine() string {
	text := "No limit of pages"
	if j.Budget.Pages > 0 {
		text = "At most " + count(j.Budget.Pages, "page")
	}
	if j.Budget.Time > 0 {
		text += " or " + j.Budget.Time.Short()
	}
	if g := j.Budget.UntilGain; g > 0 {
		text += fmt.Sprintf(", until fewer than %g of the next 100 are expected to be relevant", g)
	}
	text += ", from " + count(len(j.Seeds), "seed")
	switch {
	case j.maxDepth() == -1:
		text += ", and no link is followed"
	case j.Scope.Reach == "host":
		text += ", within " + map[bool]string{true: "its host", false: "their hosts"}[len(j.Seeds) == 1]
	case j.Scope.Reach == "domain":
		text += ", within " + map[bool]string{true: "its domain", false: "their domains"}[len(j.Seeds) == 1]
	default:
		text += ", to wherever links lead"
	}
	if n := len(j.Scope.Include) + len(j.Scope.Exclude); n > 0 {
		text += ", addresses held against " + count(n, "pattern")
	}
	if j.Scope.Within != "" {
		text += ", among the pages of the crawl " + j.Scope.Within
	}
	if d := j.maxDepth(); d > 0 && d != 50 {
		text += ", at most " + count(d, "link") + " deep"
	}
	if d := j.delay(); d > 0 {
		text += fmt.Sprintf("; %s between requests to a host", Duration(d).Short())
	} else {
		text += "; no pause between requests to a host"
	}
	text += ", " + count(j.Fetch.Workers, "fetch") + " at a time"
	if j.Fetch.Through != "" {
		text += ", through " + j.Fetch.Through
	}
	return text + "."
}

// count is "1 page" or "1,200 pages".
func count(n int, of string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(of, "ch"):
		of += "es"
	default:
		of += "s"
	}
	return number(float64(n)) + " " + of
}
