package collection

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// verifyRounds looks for the rounds before a round: their archives hold the bodies of the pages
// that were as before.
func (v *verification) verifyRounds() error {
	first, number, err := v.c.numbered()
	if err != nil {
		return err
	}
	pages := map[int]int{} // whose bodies are in the archive of a round
	for n := range number {
		pages[n] = 0
	}
	for k, err := range v.c.Known() {
		if err != nil {
			v.bad(Damage{filepath.Base(v.c.KnownFile()), "", err.Error(), v.c.remedyOf(v.c.KnownFile())}, "rounds")
			return nil
		}
		if h := hashOf(k.URL.String()); v.revisited[h] {
			delete(v.revisited, h)
			pages[k.Body]++
		}
	}
	if n := len(v.revisited); n > 0 {
		remedy := v.c.remedyOf(v.c.KnownFile())
		if kept, err := v.c.knownKept(); err != nil {
			return err
		} else if kept {
			remedy = "an earlier round lost them before that was made: a new crawl fetches them again"
		}
		v.bad(Damage{filepath.Base(v.c.KnownFile()), "", fmt.Sprintf("it does not tell which round holds the texts of %s that were as before", counted(n, "page", "pages")), remedy}, "rounds")
	}
	for _, n := range slices.Sorted(maps.Keys(pages)) {
		round, name := first.Round(n), fmt.Sprintf("round %d, before this one", n)
		if n == 0 {
			name = "the first crawl, of which this is a round"
		}
		what := "is not there"
		if round.Begun() {
			files, err := round.archiveFiles()
			if err != nil {
				return err
			}
			if len(files) > 0 {
				continue
			}
			what = "has no archive"
		}
		if pages[n] == 0 && len(v.revisited) > 0 {
			continue // whether any page needs it is not known
		}
		if pages[n] == 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%s, %s (looked for at %s): no page of this round needs it", name, what, round.Dir()))
			continue
		}
		remedy := fmt.Sprintf("put that folder back at %s", round.Dir())
		if number == 0 {
			remedy = remedyMoved
		}
		v.bad(Damage{round.Dir(), "", fmt.Sprintf("%s, %s: its archive holds the texts of %s that were as before", name, what, counted(pages[n], "page", "pages")), remedy}, "rounds")
	}
	return nil
}
