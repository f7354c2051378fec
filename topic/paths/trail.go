package paths

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Visit is one click of a person, as browsers and studies of browsing keep it.
type Visit struct {
	URL web.URL
	// Via is the address of the link where it redirected to URL; zero = URL.
	Via web.URL
	// From is the visit (by its index in the trail) on whose page the link was
	// clicked; -1 = none: an address typed in, a bookmark, another site.
	From int
}

// Unfold makes paths of a trail of visits: one from each start to each visit
// from which nothing was clicked, in the order of those. A trail in which
// somebody went back and took another link thus gives several paths that share
// their beginning. A visit to the page it came from (a reload) is no step, and
// a path that comes back to one of its pages goes on from where that first
// stood. After MaxSteps pages a path begins anew. The error tells of a visit
// that does not come after the one it came from.
func Unfold(trail []Visit) ([][]Step, error) {
	// chains[i] is the path that ends at visit i.
	chains := make([][]Step, len(trail))
	clicked := make([]bool, len(trail))
	for i, v := range trail {
		if v.From >= i || v.From < -1 {
			return nil, fmt.Errorf("visit %d comes from visit %d, which is not before it", i, v.From)
		}
		var before []Step
		back := false
		if v.From >= 0 {
			clicked[v.From] = true
			before = chains[v.From]
		}
		for j := range before {
			if before[j].URL == v.URL { // back again
				before = before[:j+1]
				back = true
				break
			}
		}
		if back {
			chains[i] = before
			continue
		}
		if len(before) == MaxSteps {
			before = nil
		}
		s := Step{URL: v.URL}
		if len(before) > 0 && v.Via != v.URL {
			s.Link.Via = v.Via
		}
		chains[i] = append(before[:len(before):len(before)], s)
	}
	var out [][]Step
	for i := range trail {
		if !clicked[i] && len(chains[i]) > 0 {
			out = append(out, chains[i])
		}
	}
	return out, nil
}

// Game is one recorded search of a person for a given page.
type Game struct {
	Finished bool
	Target   web.URL
	// Clicks are what was done, in order: a page come to by a link, or the
	// zero URL for a click on "back".
	Clicks []web.URL
	Line   int
}

// ReadGames yields the searches of a file of lines
//
//	kind  seconds  rating or end  target  path
//
// parted by tabs: kind is finished or unfinished, and the path is addresses
// parted by ";", where "<" is a click on "back". # begins a comment. Lines that
// are not understood are problems; f may return false to stop.
func ReadGames(r io.Reader, name string, f func(Game) bool) (problems []Problem, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		g, err := readGame(line)
		if err != nil {
			problems = append(problems, Problem{Kind: Malformed, Dropped: true, Place: fmt.Sprintf("%s:%d", name, n), Text: err.Error() + "; the line is left out"})
			continue
		}
		g.Line = n
		if !f(g) {
			return problems, nil
		}
	}
	if err := scanned(lines, n); err != nil {
		return problems, fmt.Errorf("%s: %w", name, err)
	}
	return problems, nil
}

func readGame(line string) (g Game, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 {
		return g, fmt.Errorf("%d fields, not 5: kind, seconds, rating or end, target, path", len(fields))
	}
	switch fields[0] {
	case "finished":
		g.Finished = true
	case "unfinished":
	default:
		return g, fmt.Errorf("the kind %q is neither finished nor unfinished", fields[0])
	}
	if g.Target, err = web.Parse(fields[3]); err != nil {
		return g, fmt.Errorf("the target: %w", err)
	}
	depth := 0
	for c := range strings.SplitSeq(fields[4], ";") {
		if c == "<" {
			if depth--; depth < 1 {
				return g, errors.New(`"<" goes back from the first page`)
			}
			g.Clicks = append(g.Clicks, web.URL{})
			continue
		}
		u, err := web.Parse(c)
		if err != nil {
			return g, err
		}
		depth++
		g.Clicks = append(g.Clicks, u)
	}
	return g, nil
}

// Visits is the trail of g: a click on "back" is no visit, and what is clicked
// next comes from the page gone back to.
func (g *Game) Visits() []Visit {
	var out []Visit
	var stack []int // visits, from the first page to the present one
	for _, u := range g.Clicks {
		if u.IsZero() {
			stack = stack[:len(stack)-1]
			continue
		}
		from := -1
		if len(stack) > 0 {
			from = stack[len(stack)-1]
		}
		out = append(out, Visit{URL: u, From: from})
		stack = append(stack, len(out)-1)
	}
	return out
}

// Paths are the paths of g: the one that stood at the end, which ends in Goal
// if the target was found, and with deadEnds also those that were gone back
// from, which end in Fail. They are of the task that the target's address
// names. An unfinished search without deadEnds gives none.
func (g *Game) Paths(deadEnds bool) ([]Path, error) {
	ways, err := Unfold(g.Visits())
	if err != nil {
		return nil, err
	}
	var out []Path
	for i, way := range ways {
		label := Fail
		if g.Finished && way[len(way)-1].URL == g.Target {
			label = Goal
		} else if givenUp := i == len(ways)-1 && !g.Finished && !g.Clicks[len(g.Clicks)-1].IsZero(); givenUp || !deadEnds {
			continue // where a search was given up, nothing says that it was wrong
		}
		p := Path{Task: g.Target.String(), Source: "trails", Line: g.Line, Steps: slices.Clone(way)}
		p.Steps[len(way)-1].Label = label
		out = append(out, p)
	}
	return out, nil
}
