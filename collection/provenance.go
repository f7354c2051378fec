package collection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// provenance is by which judge and settings the pages of a harvest were judged, as the
// log tells it. The zero provenance is that of an empty log. harvest.yaml holds it:
//
//	# By what the pages of harvest.tsv are relevant.
//	judge: "topic"                       its name
//	threshold: 0.32                      γ in (0,1]: relevant from it on
//	pages: 120                           lines of harvest.tsv, without its header
//	judged: "when they were fetched"     or "anew, from the archive; pages fetched
//	                                     later when they were fetched"
//	at: "2026-03-01T12:00:00Z"           when they were judged anew; left out otherwise
//	settings:                            those that the log holds of topic.… and
//	  judge.name: "topic"                judge.…, sorted; left out where there are none
//	  topic.keywords: "[\"bees\"]"
//
// It is YAML, each text as in JSON. Earlier versions left out the line of the pages.
type provenance struct {
	history   event.History
	judge     string
	threshold float64
	anew      time.Time // when all pages were judged anew; zero = never
}

// add takes the next event of the log.
func (p *provenance) add(e event.Event) {
	p.history.Add(e)
	switch e := e.(type) {
	case event.Started:
		p.judge, p.threshold = e.Judge, e.Threshold
	case event.Rejudged:
		if e.Judge != "" {
			p.judge, p.threshold, p.anew = e.Judge, e.Threshold, e.At.At
		}
	}
}

// text is harvest.yaml for a harvest of so many pages.
func (p *provenance) text(pages int) []byte {
	threshold := p.threshold
	if t, ok := p.history.Threshold(); ok {
		threshold = t
	}
	out := &bytes.Buffer{}
	// A text of JSON is one of YAML.
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err) // any text has a form
		}
		return string(b)
	}
	fmt.Fprintf(out, "# By what the pages of %s are relevant.\n", "harvest.tsv")
	fmt.Fprintf(out, "judge: %s\nthreshold: %v\n%s%d\n", text(p.judge), threshold, pagesKey, pages)
	if p.anew.IsZero() {
		fmt.Fprintf(out, "judged: %s\n", text("when they were fetched"))
	} else {
		fmt.Fprintf(out, "judged: %s\nat: %s\n", text("anew, from the archive; pages fetched later when they were fetched"), text(p.anew.UTC().Format(time.RFC3339)))
	}
	first := true
	for _, path := range slices.Sorted(maps.Keys(p.history.Settings)) {
		of, _, _ := strings.Cut(path, ".")
		if of != "topic" && of != "judge" || p.history.Settings[path] == "" {
			continue
		}
		if first {
			fmt.Fprintln(out, "settings:")
			first = false
		}
		fmt.Fprintf(out, "  %s: %s\n", path, text(p.history.Settings[path]))
	}
	return out.Bytes()
}

const pagesKey = "pages: "

// matches tells whether a file is the text for a harvest of so many pages, or that of
// an earlier version.
func (p *provenance) matches(file []byte, pages int) bool {
	want := p.text(pages)
	if bytes.Equal(file, want) {
		return true
	}
	before, rest, _ := bytes.Cut(want, []byte("\n"+pagesKey))
	_, after, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.Equal(file, slices.Concat(before, []byte("\n"), after))
}
