package collection

import "fmt"

// RepairReport says what Repair found and made.
type RepairReport struct {
	// Whole says that there was nothing to repair, and nothing was changed.
	Whole bool
	// Found is what was damaged, or did not fit together.
	Found []string
	// Made counts the events of the new log that were made of the archive.
	Made int
	// Linked is how many archived pages had their links read, as neither log nor
	// frontier tells of them.
	Linked int
	// Waiting and Done are the links and addresses of the new frontier; Owed
	// counts links that waited and of which no address is known.
	Waiting, Done, Owed int
	// Lost are the addresses whose page or outcome is lost. They stand in
	// lost.txt, with those of earlier repairs, and are not fetched again; but those of which
	// only the answer to an attempt is lost that another one follows.
	Lost []string
	// Unnamed counts pages that were fetched, and of which no store tells any more: not
	// even lost.txt has their addresses.
	Unnamed int
	// Alone says that the archive alone told of the crawl, so that its links wait.
	Alone bool
	// Learnt tells whether what scorer and judge had learnt is there.
	Learnt bool
	// Left is damage of the set-up, which a repair does not mend.
	Left []Damage
	// Before is the folder to which the old frontier and log were moved; Aside where damaged pieces of the archive are.
	Before, Aside string
}

// Lines is the report in sentences.
func (r *RepairReport) Lines() (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	defer func() {
		for _, d := range r.Left {
			say("DAMAGED %s", d)
			say("        a repair does not mend that: %s", d.Remedy)
		}
	}()
	if r.Whole && len(r.Left) > 0 {
		say("archive, log and frontier agree: nothing was changed")
		return lines
	}
	if r.Whole {
		return []string{"nothing is damaged, and archive, log and frontier agree: nothing was changed"}
	}
	for _, f := range r.Found {
		say("%s", f)
	}
	if r.Before == "" {
		say("that was written anew, and nothing else is amiss")
		return lines
	}
	say("repaired: %s and %s", counted(r.Done, "address is done", "addresses are done"), counted(r.Waiting, "link waits", "links wait"))
	if r.Made > 0 {
		say("%s made anew of the archive; which links had been queued is not told there", counted(r.Made, "event was", "events were"))
	}
	if r.Linked > 0 && !r.Alone {
		say("where the event log ended is not known, as the frontier is lost: the links of %s that it does not tell of wait without priorities", counted(r.Linked, "archived page", "archived pages"))
	}
	if !r.Learnt {
		say("what scorer and judge had learnt in this crawl is lost: they begin anew")
	}
	if r.Alone {
		say("what waited is lost: in its place wait the links of the archived pages, without priorities, and what of the seeds was not fetched enters when the crawl goes on")
		say("whether the pages were judged anew after they were fetched is not known: waggle judge does so by job.yaml")
	}
	if r.Owed > 0 {
		say("%s, and no store knows the address", counted(r.Owed, "link that waited is lost", "links that waited are lost"))
	}
	if len(r.Lost) > 0 {
		say("%s", counted(len(r.Lost), "address is lost; lost.txt has it", "addresses are lost; lost.txt lists them"))
		for _, u := range r.Lost[:min(len(r.Lost), 20)] {
			say("  %s", u)
		}
	}
	if r.Unnamed > 0 {
		say("%s fetched %s", counted(r.Unnamed, "page was", "pages were"), saidOfUnnamed)
	}
	if r.Aside != "" {
		say("damaged pieces of the archive were moved to %s", r.Aside)
	}
	if r.Before != "" {
		say("what was replaced is in %s: remove it when the crawl goes on well", r.Before)
	}
	return lines
}
