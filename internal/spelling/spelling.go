// Package spelling finds the known names that a misspelt one is like.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// near bounds Distance: a name that is farther is another one.
const near = 0.45

// most is how many names Hint gives.
const most = 3

// Near are the known names that a name is like, the nearest first, and at most three. Case
// is no matter.
func Near(name string, known []string) []string {
	type found struct {
		name string
		far  float64
	}
	var all []found
	low := strings.ToLower(name)
	for _, k := range known {
		far := Distance(low, strings.ToLower(k))
		// "crf" for "lm10-crf" is a part that was left out, and not a typing error.
		if len(low) > 2 && strings.Contains(strings.ToLower(k), low) {
			far = min(far, near/2)
		}
		if far < near {
			all = append(all, found{k, far})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.name) && len(out) < most {
			out = append(out, f.name)
		}
	}
	return out
}

// Hint is Near for the end of an error: "; near names: waggle, …", or "" where no name is near.
func Hint(name string, known []string) string {
	names := Near(name, known)
	if len(names) == 0 {
		return ""
	}
	return "; near names: " + strings.Join(names, ", ")
}

// Distance is the number of letters to insert, remove or change, and of neighbours to
// exchange, to make b of a (optimal string alignment), as a share of the longer one.
func Distance(a, b string) float64 {
	x, y := []rune(a), []rune(b)
	if len(x) > 200 || len(y) > 200 || len(x) == 0 || len(y) == 0 {
		return 1
	}
	// [len(y)+1] of the letters of x so far, of those before the last, and before that
	row, before, earlier := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		earlier, before, row = before, row, earlier
		row[0] = i + 1
		for j := range y {
			change := before[j]
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, before[j+1]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], earlier[j-1]+1)
			}
		}
	}
	return float64(row[len(y)]) / float64(max(len(x), len(y)))
}
