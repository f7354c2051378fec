package collection

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// writeProvenance writes by what the pages of the harvest are relevant, as the log
// tells it:
//
//	judge: "topic"
//	threshold: 0.32
//	judged: "when they were fetched", or "anew", and at: the moment
//	settings: those of the topic and the judge, as the log holds them
//
// It is YAML.
func (c Collection) writeProvenance(w io.Writer) error {
	var h event.History
	var judge string
	var threshold float64
	var anew time.Time
	for e, err := range event.ReadKinds(c.EventLog(), event.Started{}.Kind(), event.Changed{}.Kind(), event.Rejudged{}.Kind()) {
		if err != nil {
			return err
		}
		h.Add(e)
		switch e := e.(type) {
		case event.Started:
			judge, threshold = e.Judge, e.Threshold
		case event.Rejudged:
			if e.Judge != "" {
				judge, threshold, anew = e.Judge, e.Threshold, e.At.At
			}
		}
	}
	if t, ok := h.Threshold(); ok {
		threshold = t
	}
	out := bufio.NewWriter(w)
	// A text of JSON is one of YAML.
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err) // any text has a form
		}
		return string(b)
	}
	fmt.Fprintf(out, "# By what the pages of %s are relevant.\n", "harvest.tsv")
	fmt.Fprintf(out, "judge: %s\nthreshold: %v\n", text(judge), threshold)
	if anew.IsZero() {
		fmt.Fprintf(out, "judged: %s\n", text("when they were fetched"))
	} else {
		fmt.Fprintf(out, "judged: %s\nat: %s\n", text("anew, from the archive; pages fetched later when they were fetched"), text(anew.UTC().Format(time.RFC3339)))
	}
	first := true
	for _, path := range slices.Sorted(maps.Keys(h.Settings)) {
		of, _, _ := strings.Cut(path, ".")
		if of != "topic" && of != "judge" || h.Settings[path] == "" {
			continue
		}
		if first {
			fmt.Fprintln(out, "settings:")
			first = false
		}
		fmt.Fprintf(out, "  %s: %s\n", path, text(h.Settings[path]))
	}
	return out.Flush()
}
