package explain

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// writePath writes why an address was fetched, or not.
func writePath(w io.Writer, x *event.Explanation) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n%s\n", address(x.URL), verdict(x))
	p := priorities(x.Scorer)
	if len(x.Path) > 0 {
		fmt.Fprintf(out, "\nThe way there (priorities of %s", terminal.Untrusted(x.Scorer, 40))
		if p != nil {
			fmt.Fprint(out, ", and the relevance that each expects of the page")
		}
		fmt.Fprint(out, "):\n")
		for i, s := range x.Path {
			printStep(out, i, s, x.Threshold, p)
		}
	}
	if len(x.Changes) > 0 {
		fmt.Fprintf(out, "\nWhat the crawl was told otherwise when it went on:\n")
		for _, c := range x.Changes {
			fmt.Fprintf(out, "  %s  %s from %s to %s\n", c.At.At.UTC().Format(time.DateTime), terminal.Untrusted(c.Setting, 40), settingValue(c.Old), settingValue(c.New))
		}
	}
	if len(x.Notes) > 0 {
		fmt.Fprintf(out, "\nWhat happened to it:\n")
		for i, n := range x.Notes {
			if x.Left > 0 && i == len(x.Notes)/2 {
				fmt.Fprintf(out, "  … %s more\n", terminal.Number(x.Left))
			}
			fmt.Fprintf(out, "  %s  %s\n", n.At.UTC().Format(time.DateTime), note(n, p))
		}
	}
	return out.Flush()
}

// expectations tell what relevance a scorer expects by a priority; nil = it does not tell.
type expectations func(priority float64) float64

// priorities are what those of a scorer tell. A scorer of a program is not known here.
func priorities(scorer string) expectations {
	d, _ := score.Describe(scorer)
	return d.Expects
}

// show shows a priority, with what it expects. Those that a person or a trap moved away
// from what the scorer gave are far outside of what it gives.
func (p expectations) show(priority float64) string {
	s := terminal.Priority(priority)
	if p != nil && math.Abs(priority) < 50 {
		s += fmt.Sprintf(" (expects %.2f)", p(priority))
	}
	return s
}

// address shows a URL in full, since it may be wanted for copying.
func address(u web.URL) string { return event.Line(u.String()) }

// cause is why something came to nothing, with what was heard of it.
func cause(r web.Reason, detail string) string {
	s := terminal.Untrusted(r.Meaning(), 100)
	if detail != "" {
		s += " (" + terminal.Untrusted(detail, 200) + ")"
	}
	return s
}

// settingValue shows the value of a setting.
func settingValue(s string) string {
	if s == "" {
		return "nothing"
	}
	return terminal.Untrusted(s, 100)
}

// renderedBy tells what a browser made of a page.
func renderedBy(r *event.Rendered) string {
	s := fmt.Sprintf("A browser rendered it in %s: %s and %s, where %s and %s were sent", terminal.Span(time.Duration(r.Took*float64(time.Second))),
		terminal.Count(r.Words, "word"), terminal.Count(r.Links, "link"), terminal.Number(r.SentWords), terminal.Number(r.SentLinks))
	switch {
	case r.AsSent && (r.Words < r.SentWords || r.Links < r.SentLinks):
		s += ", so it is as it was sent"
	case r.AsSent:
		s = "A browser was to render it and brought no document, so it is as it was sent"
	}
	if r.Ended != "" {
		s += "; it was ended, as " + r.Ended.Meaning()
		if r.Detail != "" {
			s += " (" + terminal.Untrusted(r.Detail, 200) + ")"
		}
	}
	if r.Again > 0 {
		s += fmt.Sprintf("; its browser was gone before the page had been shown, so it was rendered again (%s)", terminal.Count(r.Again, "time"))
	}
	return s + "."
}

// verdict is the answer in a sentence.
func verdict(x *event.Explanation) string {
	because := cause(x.Reason, x.Detail)
	if t := x.Trap; t.Shape != "" {
		because += fmt.Sprintf(": %s gave the same page under %s addresses", terminal.Untrusted(t.Shape, 100), terminal.Number(t.Copies))
	}
	switch x.Fate {
	case event.Taken:
		s := "Fetched: " + judged(x.Path[len(x.Path)-1].Relevance, x.Threshold)
		if x.Label.Number > 0 {
			s += ", as " + labelled(x.Label)
		}
		s += "."
		if x.Reason != "" {
			if !x.Like.IsZero() {
				because += ": that of " + address(x.Like)
			}
			if x.Likeness > 0 {
				because += fmt.Sprintf(" (similarity %.2f)", x.Likeness)
			}
			s += " It is not part of the harvest: " + because + "."
		}
		if x.Cut != "" {
			s += " Its end is missing: " + terminal.Untrusted(web.CutMeaning(x.Cut), 40) + "."
		}
		if x.InPart {
			s += " A part of it was not read: it is damaged there, or larger than a reader takes."
		}
		if r := x.Rendered; r != nil {
			s += " " + renderedBy(r)
		}
		if x.Concealed > 0 {
			s += fmt.Sprintf(" In %s of what is kept, “%s” stands in place of a secret.", terminal.Count(x.Concealed, "place"), web.Concealed)
		}
		if x.NoBrowser {
			s += " A browser was to render it and none was to be had, so it is as it was sent."
		}
		s += wishes(x)
		return s
	case event.Waiting:
		last := x.Path[len(x.Path)-1]
		s := "Not fetched: it waits in the frontier"
		if last.HasQueued {
			s += ", where it was put with priority " + priorities(x.Scorer).show(last.Queued)
		}
		if last.Tries > 0 {
			s += " after " + attempts(last.Tries) + ", the last one: " + because
		}
		if d := x.Down; d.Host != "" {
			s += fmt.Sprintf("; its host has not answered since %s (%s)", terminal.Moment(d.Since), terminal.Untrusted(d.Reason.Brief(), 24))
		}
		if !x.Whole {
			s += ", or was in flight when the log broke off"
		}
		return s + "."
	case event.NotTaken:
		s := "Not fetched: " + because
		if len(x.Notes) > 0 && !x.Notes[0].On.IsZero() {
			s += ", found on " + address(x.Notes[0].On)
			if l := x.Notes[0].Link; l != "" && l != web.LinkA && l != web.LinkRedirect {
				s += " (" + terminal.Untrusted(l.Meaning(), 60) + ")"
			}
		}
		return s + "."
	case event.GivenUp:
		return "Not fetched: it left the frontier, as " + because + "."
	case event.Broken:
		return "Fetched, but it brought no page: " + because + "."
	case event.Moved:
		return "Moved to " + address(x.To) + "."
	}
	s := "Never seen: it is no seed, and no page that was fetched links to it."
	if !x.Whole {
		s += " The log has no end: the crawl was killed or still runs."
	}
	return s
}

// wishes tells what of its use a page asks for, in sentences that follow others.
func wishes(x *event.Explanation) (s string) {
	d := &x.Directives
	var words []string
	for _, w := range []struct {
		word string
		is   bool
	}{{"noindex", d.NoIndex}, {"nofollow", d.NoFollow}, {"noarchive", d.NoArchive}, {"noai", d.NoAI}, {"noimageai", d.NoImageAI}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) > 0 {
		s += " It asks for " + strings.Join(words, ", ") + "."
	}
	if d.TDMReserved {
		s += " Text and data mining of it is reserved"
		if x.BySite {
			s += ", as /.well-known/tdmrep.json of its site says"
		}
		if d.TDMPolicy != "" {
			s += "; the terms are at " + terminal.Untrusted(d.TDMPolicy, 200)
		}
		s += "."
	}
	return s
}

// judged says a page's relevance and on which side of the threshold it lies.
func judged(relevance, threshold float64) string {
	side := "≥"
	if relevance < threshold {
		side = "<"
	}
	is, from := terminal.Apart(relevance, threshold)
	return fmt.Sprintf("relevance %s %s %s", is, side, from)
}

// labelled tells which word of a person is the verdict of a page.
func labelled(a event.Act) string {
	says := "relevant"
	switch a.Do {
	case event.Irrelevant:
		says = "not relevant"
	case event.More:
		says = "one of which more are wanted"
	}
	return fmt.Sprintf("a person called it %s by act %d", says, a.Number)
}

func attempts(n int) string { return terminal.Count(n, "failed attempt") }

func printStep(out io.Writer, i int, s event.Step, threshold float64, p expectations) {
	fmt.Fprintf(out, "%3d. %s\n", i, address(s.URL))
	var facts []string
	how := terminal.Untrusted(s.Link.Meaning(), 60)
	if a := terminal.Untrusted(s.Anchor, 60); a != "" {
		how += " “" + a + "”"
	}
	facts = append(facts, how)
	if s.HasQueued {
		verb := "queued at "
		if s.Raised {
			verb = "raised to "
		}
		facts = append(facts, verb+p.show(s.Queued))
	}
	if s.HasLeased {
		facts = append(facts, "taken at "+p.show(s.Leased))
	}
	if s.Tries > 0 {
		facts = append(facts, attempts(s.Tries))
	}
	if s.Fetched {
		facts = append(facts, judged(s.Relevance, threshold))
	}
	fmt.Fprintf(out, "     %s\n", strings.Join(facts, ", "))
	if t := terminal.Untrusted(s.Title, 70); t != "" {
		fmt.Fprintf(out, "     %s\n", t)
	}
}

func note(n event.Note, p expectations) string {
	s := n.What
	named := false // by a link: say which
	switch n.What {
	case "queued":
		s, named = "queued at "+p.show(n.Priority), true
	case "raised":
		s, named = "raised to "+p.show(n.Priority), true
	case "skipped":
		named = true
	case "dropped":
		s = "left the frontier"
	case "busy":
		s = "taken at " + p.show(n.Priority) + ", put back"
	case "told":
		s = fmt.Sprintf("a person said: %s (act %d)", n.Detail, n.Act)
	case "undone":
		s = fmt.Sprintf("a person took back what act %d said of it", n.Act)
	case "judged":
		s = "judged anew: relevance "
		switch is := terminal.Decimal(n.Relevance); {
		case n.Was == nil:
			s += is
		case is == terminal.Decimal(*n.Was):
			s += is + " as before"
		default:
			s += "from " + terminal.Decimal(*n.Was) + " to " + is
		}
	case "dated":
		s = "said to have changed " + terminal.Untrusted(string(n.Changed), 24) + " by " + address(n.On)
		switch n.Then {
		case event.MoveSooner:
			s += ", so it comes sooner"
		case event.MoveLast:
			s += ", which is before its last visit, so it goes behind all links"
		}
	case "outage":
		s = "taken at " + p.show(n.Priority) + ", put back: the network was down"
	case "fetched", "failed", "retry", "moved":
		what := n.What
		if what == "retry" {
			what = "failed, to be tried again"
		}
		s = "taken at " + p.show(n.Priority) + ", " + what
		if n.Status != 0 && n.Reason != web.ReasonStatus {
			s += fmt.Sprintf(", status %d", n.Status)
		}
	}
	if n.Reason != "" && n.What != "moved" {
		s += ": " + cause(n.Reason, n.Detail)
	}
	if named && !n.On.IsZero() {
		s += ", found on " + address(n.On)
		if n.Link != "" && n.Link != web.LinkA && n.Link != web.LinkRedirect {
			s += " (" + terminal.Untrusted(n.Link.Meaning(), 60) + ")"
		}
	}
	if n.Changed != "" && n.What != "dated" {
		s += ", which says that it changed " + terminal.Untrusted(string(n.Changed), 24)
	}
	if a := terminal.Untrusted(n.Anchor, 60); a != "" {
		s += " as “" + a + "”"
	}
	return s
}
