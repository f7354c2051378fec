package explain

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// pageParts is a page with what its relevance is made of.
type pageParts struct {
	judge     string
	threshold float64
	why       judge.Explanation
	label     event.Act // of a person, whose word holds in place of the judge's; zero = there is none
}

// explainPage reads a page from the archive and has the judge, as the crawl left
// it, tell why it is as relevant as it is. ok is false where the judge cannot tell.
func explainPage(ctx context.Context, col collection.Collection, documents parse.Documents, u web.URL) (x pageParts, ok bool, err error) {
	m, err := makerOf(col, documents)
	if err != nil {
		return x, false, err
	}
	defer m.Close()
	if err := m.MakeJudge(ctx); err != nil {
		return x, false, err
	}
	explains, ok := m.Judge.(judge.Explainer)
	if !ok {
		return x, false, nil
	}
	if err := col.RestoreJudge(m.Judge); err != nil {
		return x, false, err
	}
	for p, err := range collection.Readable(col.Pages(ctx, m.Parser, func(v web.URL) bool { return v == u })) {
		if err != nil {
			return x, false, err
		}
		x.judge, x.why = m.Job.Judge.Name, explains.Explain(p)
		if bounded, ok := m.Judge.(interface{ Threshold() float64 }); ok {
			x.threshold = bounded.Threshold()
		}
		return x, true, nil
	}
	return x, false, fmt.Errorf("%s is not in the archive: it asked not to be kept, or the archive is damaged", u)
}

// Bounds of what is shown.
const (
	mostWords   = 12
	mostIgnored = 6
)

func (x pageParts) print(w io.Writer) {
	y := &x.why
	holds := ""
	if x.label.Number > 0 {
		holds = "; it does not hold, as " + labelled(x.label)
	}
	fmt.Fprintf(w, "\nWhat the judge %s makes of the page now, %s%s:\n\n", terminal.Untrusted(x.judge, 40), judged(y.Verdict.Relevance, x.threshold), holds)
	all := 0.
	for _, r := range y.Reasons {
		all += math.Abs(r.Part)
	}
	parts := sumTable{sum: y.Sum, what: terminal.Untrusted(y.Measure, 60), rest: "more words together", none: "it holds no word that the judge looks for"}
	for i, r := range y.Reasons {
		if i < mostWords {
			parts.add(r.Part, wordLine(r, all))
		} else {
			parts.leave(r.Part)
		}
	}
	parts.print(w)
	if len(y.Facts)+len(y.Ignored) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range y.Facts {
		fmt.Fprintf(w, "  %s\n", terminal.Untrusted(f, 300))
	}
	if n := len(y.Ignored); n > 0 {
		var texts []string
		for _, s := range y.Ignored[:min(n, mostIgnored)] {
			texts = append(texts, "“"+terminal.Untrusted(s, 40)+"”")
		}
		if n > mostIgnored {
			texts = append(texts, terminal.Number(n-mostIgnored)+" more")
		}
		fmt.Fprintf(w, "  left out, as many pages of the site have it: %s\n", strings.Join(texts, ", "))
	}
}

// wordLine says which word a part is of, how often the page has it, and its share
// of all parts.
func wordLine(r judge.Reason, all float64) string {
	s := "“" + terminal.Untrusted(r.Words, 60) + "”"
	switch {
	case r.Times > 1:
		s += fmt.Sprintf(", %s times", terminal.Number(r.Times))
	case r.Times == 1:
		s += ", once"
	}
	if r.Head > 0 {
		s += fmt.Sprintf(", %s in title and headings", terminal.Number(r.Head))
	}
	if all > 0 {
		s += " (" + terminal.Percent(math.Abs(r.Part)/all) + ")"
	}
	return s
}
