package pool

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Tables of a pool for a terminal.

// WriteStrata tells the topics of a pool, and how many pages of each stratum are to be
// read.
func WriteStrata(out io.Writer, p *Pool) error {
	fmt.Fprintf(out, "pool %s, seed %d\n\n", p.Revision, p.Seed)
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "topic\tpages\tdepth")
	for _, s := range p.Topics[0].Strata {
		fmt.Fprintf(tab, "\t%s", event.Line(s.Name))
	}
	fmt.Fprintln(tab)
	total := 0
	for i := range p.Topics {
		t := &p.Topics[i]
		total += len(t.Pages)
		fmt.Fprintf(tab, "%s\t%s\t%d", event.Line(t.Key().String()), terminal.Number(len(t.Pages)), t.Depth)
		for _, s := range t.Strata {
			fmt.Fprintf(tab, "\t%s of %s", terminal.Number(s.Drawn), terminal.Number(s.Size))
		}
		fmt.Fprintln(tab)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s to read\n", terminal.Count(total, "page"))
	return err
}

// WriteRead tells how many pages of a pool were read, by grade, and by whom.
func WriteRead(out io.Writer, p *Pool, labels []Label) error {
	fmt.Fprintln(out)
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "topic\tread\tmainly\tpartly\tno\tcannot tell\tby two or more")
	var all [5]int
	labels = InForce(labels)
	own := ByTopic(labels)
	for i := range p.Topics {
		t := &p.Topics[i]
		n := counts(own[t.Key()])
		fmt.Fprintf(tab, "%s\t%s of %s\t%s\t%s\t%s\t%s\t%s\n", event.Line(t.Key().String()), terminal.Number(n[No]+n[Partly]+n[Mainly]+n[3]), terminal.Number(len(t.Pages)),
			terminal.Number(n[Mainly]), terminal.Number(n[Partly]), terminal.Number(n[No]), terminal.Number(n[3]), terminal.Number(n[4]))
		for k := range n {
			all[k] += n[k]
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	var names []string
	for _, r := range readersOf(labels) {
		names = append(names, event.Line(r))
	}
	_, err := fmt.Fprintf(out, "\n%s pages are read, by %s\n", terminal.Number(all[No]+all[Partly]+all[Mainly]+all[3]), strings.Join(names, ", "))
	return err
}

// counts counts the pages of a topic by grade, of its labels in force; then those of
// which nobody could tell, and those that two or more readers graded.
func counts(labels []Label) (n [5]int) {
	grades := gradesOf(labels)
	for _, g := range grades {
		n[g]++
	}
	readers := map[web.URL]string{} // the first of each page; "" = there are more
	for _, l := range labels {
		first, ok := readers[l.URL]
		if !ok {
			readers[l.URL] = l.Reader
		} else if first != l.Reader && first != "" {
			readers[l.URL] = ""
		}
	}
	for u, first := range readers {
		if _, graded := grades[u]; !graded {
			n[3]++
		}
		if first == "" {
			n[4]++
		}
	}
	return n
}

// WriteAgreements tells how far readers agree, and lists the pages on which they do
// not if wanted.
func WriteAgreements(out io.Writer, list []Agreement, differing bool) error {
	all := Agreement{}
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "topic\tpairs\tequal\tkappa\t95 %\tweighted\tfrom 1\tfrom 2\tcannot tell\tdiffer\tlooked at again")
	for _, a := range list {
		writeAgreement(tab, event.Line(a.Key.String()), a)
		all.Table.Add(a.Table)
		all.Unsure += a.Unsure
		all.Disagreements = append(all.Disagreements, a.Disagreements...)
	}
	writeAgreement(tab, "all", all)
	if err := tab.Flush(); err != nil {
		return err
	}
	if !differing {
		return nil
	}
	fmt.Fprintln(out)
	tab = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range all.Disagreements {
		fmt.Fprintf(tab, "%s\t%s\t", event.Line(d.Key.String()), d.URL)
		for i, l := range d.Labels {
			if i > 0 {
				fmt.Fprint(tab, ", ")
			}
			fmt.Fprintf(tab, "%s %s", event.Line(l.Reader), l.Grade)
		}
		if d.Settled {
			fmt.Fprint(tab, "\tafter a second look")
		}
		fmt.Fprintln(tab)
	}
	return tab.Flush()
}

// writeAgreement prints a row.
func writeAgreement(out io.Writer, name string, a Agreement) {
	k := NewKappa(a.Table, Plain())
	interval := "–"
	if !math.IsNaN(k.SE) {
		interval = fmt.Sprintf("%s to %s", twoPlaces(k.Value-1.96*k.SE), twoPlaces(min(1, k.Value+1.96*k.SE)))
	}
	settled := 0
	for _, d := range a.Disagreements {
		if d.Settled {
			settled++
		}
	}
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, terminal.Number(k.N), twoPlaces(k.Observed), twoPlaces(k.Value), interval,
		twoPlaces(NewKappa(a.Table, Linear()).Value), twoPlaces(NewKappa(a.Table.From(Partly), Plain()).Value),
		twoPlaces(NewKappa(a.Table.From(Mainly), Plain()).Value), terminal.Number(a.Unsure), terminal.Number(len(a.Disagreements)), terminal.Number(settled))
}

// twoPlaces is a number of two decimals, a dash where it is not known.
func twoPlaces(x float64) string { return plot.Number(x, 2) }
