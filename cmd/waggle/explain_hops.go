package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// printHops adds to an explanation what the priorities of scorers that follow
// hop distances say, step by step, and what the model saw in the link. It prints
// nothing for other scorers. m may be nil.
func printHops(w io.Writer, x *event.Explanation, set map[string]float64, m *model.File) error {
	out := bufio.NewWriter(w)
	states := 0
	if m != nil {
		states = len(m.Provenance.States)
	}
	told := false
	for i, s := range x.Path {
		priority := s.Leased
		if !s.HasLeased {
			priority = s.Queued
		}
		belief := score.ReadHops(x.Scorer, set, priority)
		if belief == nil || s.Link == web.LinkSeed || !s.HasLeased && !s.HasQueued {
			continue
		}
		if !told {
			of := "the page"
			if set["literal"] >= 0.5 {
				of = "the page that holds the link"
			}
			fmt.Fprintf(out, "\nWhat the priorities say: how probable it was that %s is a target (T0),\none link from one (T1), and so on:\n", of)
			told = true
		}
		fmt.Fprintf(out, "%3d.", i)
		for hops, p := range belief {
			if states == 0 || hops < states {
				fmt.Fprintf(out, "  T%d %s", hops, decimal(p))
			}
		}
		fmt.Fprintln(out)
		if m == nil {
			continue
		}
		for _, r := range score.LinkReasons(m, &web.Link{URL: s.URL, Anchor: s.Anchor}, 3) {
			side := "for a target"
			if r.Weight < 0 {
				side = "against one"
			}
			fmt.Fprintf(out, "     %s: %s (%+.2f)\n", side, untrusted(r.Seen, 70), r.Weight)
		}
	}
	return out.Flush()
}
