package taxonomy

import "slices"

// edge is a narrow line that leads to a topic not right below its own.
type edge struct{ from, to string }

// maxOdd bounds the edges that findCycle compares, each with each.
const maxOdd = 2000

// findCycle returns topics of which each lists the next as narrower, or holds
// it, and the last is the first; nil if there are none. A topic also holds all
// below it, so an edge goes on with every edge that starts at or below its
// end.
func findCycle(edges []edge) []string {
	const (
		fresh = iota
		onPath
		done
	)
	state := make([]int, len(edges))
	var path []int
	var walk func(i int) []string
	walk = func(i int) []string {
		state[i] = onPath
		path = append(path, i)
		for j, next := range edges {
			if !Covers(edges[i].to, next.from) || state[j] == done {
				continue
			}
			if state[j] == onPath {
				var out []string
				add := func(name string) {
					if len(out) == 0 || out[len(out)-1] != name {
						out = append(out, name)
					}
				}
				for _, e := range path[slices.Index(path, j):] {
					add(edges[e].from)
					add(edges[e].to)
				}
				return append(out, out[0])
			}
			if out := walk(j); out != nil {
				return out
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return nil
	}
	for i := range edges {
		if state[i] == fresh {
			if out := walk(i); out != nil {
				return out
			}
		}
	}
	return nil
}
