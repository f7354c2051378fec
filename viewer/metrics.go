package viewer

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/store/ship"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// metric is one of /metrics.
type metric struct {
	name, kind, help string
	value            func(*watch.State) float64
}

// metrics are those of each crawl.
func metrics() []metric {
	of := func(value func(*figures.Figures) float64) func(*watch.State) float64 {
		return func(s *watch.State) float64 { return value(&s.Figures) }
	}
	return []metric{
		{"waggle_running", "gauge", "1 while a process has the folder of the crawl.", func(s *watch.State) float64 {
			if s.Running {
				return 1
			}
			return 0
		}},
		{"waggle_paused", "gauge", "1 while a crawl that runs is paused.", func(s *watch.State) float64 {
			if s.Paused {
				return 1
			}
			return 0
		}},
		{"waggle_pages_total", "counter", "Pages fetched.", of(func(f *figures.Figures) float64 { return float64(f.Pages) })},
		{"waggle_relevant_pages", "gauge", "Relevant pages; fewer when a judge thinks otherwise.", of(func(f *figures.Figures) float64 { return float64(f.Relevant) })},
		{"waggle_harvest_ratio", "gauge", "Share of relevant pages among all.", of(func(f *figures.Figures) float64 { return f.Harvest })},
		{"waggle_recent_harvest_ratio", "gauge", "Share of relevant pages among the last 200.", of(func(f *figures.Figures) float64 { return f.Recent })},
		{"waggle_budget_pages", "gauge", "Pages that the crawl may fetch; 0 without a limit.", of(func(f *figures.Figures) float64 { return float64(f.Budget) })},
		{"waggle_received_bytes_total", "counter", "Bytes received, without robots.txt.", of(func(f *figures.Figures) float64 { return float64(f.Bytes) })},
		{"waggle_requests_total", "counter", "Requests sent.", of(func(f *figures.Figures) float64 { return float64(f.Requests) })},
		{"waggle_retries_total", "counter", "Failures after which the address waits for another try.", of(func(f *figures.Figures) float64 { return float64(f.Retries) })},
		{"waggle_outages_total", "counter", "Times that the network was down.", of(func(f *figures.Figures) float64 { return float64(f.Outages) })},
		{"waggle_links_waiting", "gauge", "Links that wait, or are being fetched.", of(func(f *figures.Figures) float64 { return float64(f.Waiting) })},
		{"waggle_links_muted", "gauge", "Links that mutes set aside; they wait again once none holds for them.", of(func(f *figures.Figures) float64 { return float64(f.Muted) })},
		{"waggle_links_queued_total", "counter", "Links that entered the frontier.", of(func(f *figures.Figures) float64 { return float64(f.Queued) })},
		{"waggle_hosts", "gauge", "Hosts that gave a page.", of(func(f *figures.Figures) float64 { return float64(f.Hosts) })},
		{"waggle_elapsed_seconds_total", "counter", "Time of all runs.", of(func(f *figures.Figures) float64 { return f.Elapsed })},
	}
}

// Metrics by reason, and by state.
const (
	endedMetric    = "waggle_ended"
	workersMetric  = "waggle_workers"
	failuresMetric = "waggle_failures_total"
	skipsMetric    = "waggle_skipped_links_total"
)

// shipMetrics are those of crawls whose archive is copied to a store.
func shipMetrics() []struct {
	name, help string
	value      func(*ship.State) float64
} {
	return []struct {
		name, help string
		value      func(*ship.State) float64
	}{
		{"waggle_shipped_bytes", "Bytes of the archive that a store has a copy of.", func(s *ship.State) float64 { return float64(s.Bytes()) }},
		{"waggle_unshipped_files", "Complete files of the archive that wait to be copied to a store.", func(s *ship.State) float64 { return float64(s.Left) }},
		{"waggle_unshipped_bytes", "Bytes of these.", func(s *ship.State) float64 { return float64(s.LeftBytes) }},
		{"waggle_ship_trouble", "1 while the store takes no file.", func(s *ship.State) float64 {
			if s.Trouble != "" {
				return 1
			}
			return 0
		}},
	}
}

// label escapes a value of a label.
func label(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}

// serveMetrics answers in the text format of Prometheus.
func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	crawls, _ := s.present()
	states := make([]watch.State, len(crawls))
	for i, c := range crawls {
		states[i], _ = c.State(time.Now())
	}
	var b strings.Builder
	write := func(name string, st *watch.State, more string, v float64) {
		fmt.Fprintf(&b, "%s{crawl=\"%s\",name=\"%s\"%s,folder=\"%s\"} %s\n", name, label(st.ID), label(st.Figures.Name), more, label(st.Dir), strconv.FormatFloat(v, 'g', -1, 64))
	}
	for _, m := range metrics() {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for i := range states {
			write(m.name, &states[i], "", m.value(&states[i]))
		}
	}
	for _, m := range []struct {
		name, help string
		causes     func(*figures.Crawl) []figures.Cause
	}{
		{failuresMetric, "Fetches that brought no page, by reason.", (*figures.Crawl).Failures},
		{skipsMetric, "Links that never entered the frontier, by reason.", (*figures.Crawl).Skips},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n", m.name, m.help, m.name)
		for i, c := range crawls {
			c.With(func(f *figures.Crawl) {
				for _, x := range m.causes(f) {
					write(m.name, &states[i], fmt.Sprintf(",reason=\"%s\"", label(string(x.Reason))), float64(x.Count))
				}
			})
		}
	}
	fmt.Fprintf(&b, "# HELP %s How the last run of a crawl ended, if it did: 1.\n# TYPE %[1]s gauge\n", endedMetric)
	for i := range states {
		if how := states[i].Figures.Ended; how != "" {
			write(endedMetric, &states[i], fmt.Sprintf(",how=\"%s\"", label(string(how))), 1)
		}
	}
	fmt.Fprintf(&b, "# HELP %s Workers of a crawl that several do, by state.\n# TYPE %[1]s gauge\n", workersMetric)
	for i, c := range crawls {
		counts := map[string]int{}
		for _, x := range c.Workers().Workers {
			counts[x.State]++
		}
		for _, s := range slices.Sorted(maps.Keys(counts)) {
			write(workersMetric, &states[i], fmt.Sprintf(",state=\"%s\"", label(s)), float64(counts[s]))
		}
	}
	for _, m := range shipMetrics() {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s gauge\n", m.name, m.help)
		for i, c := range crawls {
			if shipped, err := ship.Read(c.Collection().ShippedFile()); err == nil {
				write(m.name, &states[i], "", m.value(&shipped))
			}
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, b.String())
}
