package event

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Window is the number of pages over which the recent harvest is taken.
const Window = 200

// Summary folds the events of a crawl, over all its runs, into its figures.
// The zero Summary is that of a crawl which has not begun. Equal events give
// equal summaries. It holds a few words for each host that gave a page,
// and for each of the last thousand pages.
type Summary struct {
	Name      string
	Scorer    string
	Judge     string
	Threshold float64       // a page at or above it is relevant
	Pages     int           // pages fetched, duplicates and noindex included: each cost a fetch
	Relevant  int           // of these, relevant ones that may be kept
	Budget    int           // of pages, as it was told last; 0 = no limit
	Several   bool          // it is one of several workers: Budget is that of all, and Pages its own
	Limit     time.Duration // of time; 0 = no limit
	Workers   int
	// NotKept counts, among Pages, those fetched but not part of the harvest,
	// by reason: duplicate, noindex.
	NotKept map[web.Reason]int
	// Cut counts, among Pages, those whose body is not whole, by what cut it: length,
	// time, disconnect.
	Cut map[string]int
	// InPart counts, among Pages, those whose body is whole and of which a part was not read:
	// the document is damaged there, or larger than its reader takes.
	InPart int
	// Rendered counts, among Pages, those that a browser rendered, and RenderEnded those of
	// them that it ended before they were done, by reason.
	Rendered    int
	RenderEnded map[web.Reason]int
	// Requests counts the fetches for which a request could be sent: pages
	// and failures, but for those refused beforehand by robots.txt or the
	// address guard.
	Requests int
	Retries  int                // failures after which the address waits for another try
	Busy     int                // times that nothing was asked, as politeness asked to wait
	Statuses map[int]int        // of Failures by reason status: by HTTP status
	Failures map[web.Reason]int // fetches that brought no page, for good, redirects apart
	Redirect int                // fetches that brought a redirect which was followed
	Known    int                // fetches that brought a redirect to an address seen before
	Bytes    int64              // received, without robots.txt
	Links    int                // on all pages, repeated ones too
	Queued   int                // links and seeds that entered the frontier
	Raised   int                // times that a waiting link rose
	Skipped  map[web.Reason]int // links that never entered the frontier
	Omitted  int                // links that are counted nowhere else, see Fetched.Omitted
	Dropped  map[web.Reason]int // links that left the frontier unfetched, but for those that mutes set aside
	Frontier web.FrontierStats  // as last heard
	Waits    bool               // as last heard, see Tick
	// Forecast tells what the next pages bring, by the verdicts that were told last.
	Forecast Forecast
	// Renewed tells that the judge told some of them after their pages came. The crawl itself
	// ends by those that came with the pages (crawl.Policy.UntilGain).
	Renewed bool
	Outages int           // times that the network was down
	Silence time.Duration // of these together, as far as they, or their runs, are over
	Runs    int
	// Doubts are what the judge found last of how well it can tell wanted pages from
	// others.
	Doubts []string
	// DoubtsAt is how many pages there were when they were told.
	DoubtsAt  int
	concluded bool // and no page has come since
	// How says how the last run ended, "" while it runs or if it was killed.
	How Ending
	// Next and Until are those of Ended.
	Next, Until time.Time
	// First and Last are the moments of the first and the last event.
	First, Last time.Time

	hosts   map[web.Host]HostCount
	down    map[web.Host]HostDown
	past    time.Duration // time of the runs before this one
	between bool          // two runs: the crawl is judged anew
	began   time.Time     // this run
	budgets []Act         // that set the budget, and that undid those
	pauses  []Act         // of this run: pauses, their ends, and what undid those
	held    time.Time     // since when the crawl stands still; zero = it does not
	silent  time.Time     // since when the network is down; zero = it is not
	recent  recent        // the last pages
}

// HostCount is what a host gave.
type HostCount struct {
	Host            web.Host
	Pages, Relevant int
}

// Add takes the next event of the crawl.
func (s *Summary) Add(e Event) {
	if e == nil {
		return
	}
	t := e.Time()
	if started, ok := e.(Started); ok {
		s.past, s.began = s.Elapsed(s.Last), t
		s.Silence, s.silent = s.SilenceUntil(s.Last), time.Time{}
		s.pauses, s.held = nil, time.Time{} // a pause ends with its run
		if s.concluded {                    // what holds of it is told again at the next end
			s.Doubts, s.concluded = nil, false
		}
		s.Runs++
		s.How, s.between, s.Next, s.Until = "", false, time.Time{}, time.Time{}
		s.Name, s.Scorer, s.Judge, s.Threshold = started.Name, started.Scorer, started.Judge, started.Threshold
		s.Budget, s.Limit, s.Workers, s.Several = started.Pages, started.Limit, started.Workers, started.Several
	}
	if s.First.IsZero() {
		s.First = t
		if s.began.IsZero() {
			s.began = t
		}
	}
	if r, ok := e.(Rejudged); ok && r.Judge != "" {
		s.between = true // until the next run, no time of the crawl passes
	}
	if !s.between && (t.After(s.Last) || s.began.Equal(t)) {
		s.Last = t
	}
	switch e := e.(type) {
	case Seeded:
		s.found(e.Queued)
		s.skipped(e.Skipped)
	case Received:
		s.found(e.Queued)
		s.skipped(e.Skipped)
	case Fetched:
		s.page(e)
		s.concluded = false
	case Failed:
		s.Bytes += int64(e.Bytes)
		switch e.Reason {
		case web.ReasonRobots, web.ReasonRobotsMissing, web.ReasonAddress, web.ReasonPort, web.ReasonContact, web.ReasonBusy:
		default:
			s.Requests++
		}
		if e.Queued {
			s.Queued++
		}
		switch {
		case e.Reason == web.ReasonBusy:
			s.Busy++
		case e.Outage:
		case e.Retry:
			s.Retries++
		case e.Reason == web.ReasonRedirect:
			s.Redirect++
		case e.Reason == web.ReasonRedirectKnown:
			s.Known++
		default:
			count(&s.Failures, e.Reason, 1)
			if e.Reason == web.ReasonStatus {
				if s.Statuses == nil {
					s.Statuses = map[int]int{}
				}
				s.Statuses[e.Status]++
			}
		}
	case Rejudged:
		s.rejudged(e)
	case Act:
		s.told(e)
	case Doubt:
		s.Doubts, s.DoubtsAt, s.concluded = e.Notes, s.Pages, true
	case Changed:
		if e.Setting == SettingThreshold || e.Setting == SettingKeywords {
			s.Doubts = nil // they were of what the judge knew before
		}
	case Dropped:
		if e.Reason != web.ReasonMuted { // of which Frontier.Muted tells: they come back
			count(&s.Dropped, e.Reason, e.Count)
		}
		if e.Reason == web.ReasonHostDead {
			delete(s.down, e.Host)
		}
	case Outage:
		s.silent = e.Since
		switch {
		case e.Over:
			s.Silence, s.silent = s.SilenceUntil(t), time.Time{}
		case e.Probes == 0:
			s.Outages++
		}
	case HostDown:
		s.hostDown(e)
	case Tick:
		s.Frontier, s.Waits = e.Frontier, e.Waits
	case Ended:
		s.Silence, s.silent = s.SilenceUntil(t), time.Time{}
		s.Frontier = e.Frontier
		s.How, s.Next, s.Until = e.How, e.Next, e.Until
	}
}

// told takes in what a person said of the budget.
func (s *Summary) told(a Act) {
	if a.Do == Pause || a.Do == Continue || a.Do == Undo && slices.ContainsFunc(s.pauses, func(b Act) bool { return b.Number == a.Act }) {
		s.pause(a)
	}
	switch {
	case a.Refused != "":
	case a.Do == Budget:
		s.budgets, s.Budget = append(slices.Clip(s.budgets), a), a.Pages
	case a.Do == Undo && slices.ContainsFunc(s.budgets, func(b Act) bool { return b.Do == Budget && b.Number == a.Act }):
		s.budgets = append(slices.Clip(s.budgets), a)
		s.Budget, _ = BudgetAfter(s.budgets)
	}
}

// pause stops the time while the crawl stands still.
func (s *Summary) pause(a Act) {
	s.pauses = append(slices.Clip(s.pauses), a)
	switch on := Paused(s.pauses, 0); {
	case on && s.held.IsZero():
		s.held = a.Time()
	case !on && !s.held.IsZero():
		s.began, s.held = s.began.Add(max(0, a.Time().Sub(s.held))), time.Time{}
	}
}

// Held tells whether the crawl stands still by an act.
func (s *Summary) Held() bool { return !s.held.IsZero() }

// maxDown bounds the hosts that a summary knows to be down.
const maxDown = 10_000

func (s *Summary) hostDown(e HostDown) {
	if e.Over {
		delete(s.down, e.Host)
		return
	}
	if s.down == nil {
		s.down = map[web.Host]HostDown{}
	}
	if _, known := s.down[e.Host]; known || len(s.down) < maxDown {
		s.down[e.Host] = e
	}
}

// Logins counts the pages that ask for a login, or that are shown to those alone who are let in: walls of
// whatever status, and the statuses 401 and 403 without one.
func (s *Summary) Logins() int {
	return s.NotKept[web.ReasonLogin] + s.Failures[web.ReasonLogin] + s.Statuses[http.StatusUnauthorized] + s.Statuses[http.StatusForbidden]
}

// LoginsHelp says what lets a crawl in, behind the number of Logins.
const LoginsHelp = "ask for a login or refuse those without (401, 403): waggle login and --secrets let a crawl in, see waggle help logins"

// Down returns at most n of the hosts that do not answer, as told last, those that
// have been down for longest first, of equal ones by name.
func (s *Summary) Down(n int) []HostDown {
	all := slices.SortedFunc(maps.Values(s.down), func(a, b HostDown) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Host, b.Host))
	})
	return all[:min(n, len(all))]
}

func (s *Summary) page(e Fetched) {
	kept := e.Relevant && e.Reason == ""
	s.recent.add(e.URL, kept)
	s.Pages++
	s.Forecast.Add(kept)
	s.Requests++
	if s.hosts == nil {
		s.hosts = map[web.Host]HostCount{}
	}
	h := s.hosts[e.URL.Host()]
	h.Host = e.URL.Host()
	h.Pages++
	delete(s.down, h.Host)
	if kept {
		s.Relevant++
		h.Relevant++
	}
	s.hosts[h.Host] = h
	if reason := cmp.Or(e.Reason, e.Overruled); reason != "" {
		count(&s.NotKept, reason, 1)
	}
	if e.Cut != "" {
		if s.Cut == nil {
			s.Cut = map[string]int{}
		}
		s.Cut[e.Cut]++
	}
	if e.InPart() {
		s.InPart++
	}
	if e.Rendered != nil {
		s.Rendered++
		if e.Rendered.Ended != "" {
			count(&s.RenderEnded, e.Rendered.Ended, 1)
		}
	}
	s.Bytes += int64(e.Bytes)
	s.Links += e.Links
	s.Omitted += e.Omitted
	if e.Telling > 0 {
		count(&s.Skipped, web.ReasonTelling, e.Telling)
	}
	s.found(e.Queued)
	s.skipped(e.Skipped)
}

// rejudged counts pages by their new verdicts.
func (s *Summary) rejudged(e Rejudged) {
	if e.Judge != "" {
		s.Judge, s.Threshold = e.Judge, e.Threshold
		s.Doubts = nil // they were another judge's
	}
	s.recent.rejudged(e.Pages, &s.Forecast)
	s.Renewed = e.Judge == "" && (s.Renewed || len(e.Pages) > 0)
	for _, v := range e.Pages {
		d := v.Change()
		h, ok := s.hosts[v.URL.Host()]
		if d == 0 || !ok {
			continue
		}
		s.Relevant += d
		h.Relevant += d
		s.hosts[h.Host] = h
	}
}

func (s *Summary) found(l []Found) {
	for _, f := range l {
		if f.Raised {
			s.Raised++
		} else {
			s.Queued++
		}
	}
}

func (s *Summary) skipped(l []Skipped) {
	for _, k := range l {
		count(&s.Skipped, k.Reason, 1)
	}
}

func count(m *map[web.Reason]int, r web.Reason, n int) {
	if n == 0 {
		return
	}
	if *m == nil {
		*m = map[web.Reason]int{}
	}
	(*m)[r] += n
}

// Harvest is the share of relevant pages among all, in [0,1]; 0 without pages.
func (s *Summary) Harvest() float64 { return share(s.Relevant, s.Pages) }

// RecentHarvest is Harvest over the last Window pages; of a crawl of no more pages it is
// Harvest.
func (s *Summary) RecentHarvest() float64 {
	if s.Pages <= Window {
		return s.Harvest()
	}
	return share(s.recent.relevant(Window), Window)
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Elapsed is the run time up to now, over all runs; the time between runs, and
// that of pauses, does not count. For a crawl that ended, or a log, now is s.Last.
func (s *Summary) Elapsed(now time.Time) time.Duration { return s.past + s.Run(now) }

// Run is the time of the present run up to now, without that of its pauses.
func (s *Summary) Run(now time.Time) time.Duration {
	if s.began.IsZero() {
		return 0
	}
	if !s.held.IsZero() && s.held.Before(now) {
		now = s.held
	}
	return max(0, now.Sub(s.began))
}

// SilenceUntil is Silence, with the outage that is not over up to now. For a crawl that ended, or
// a log, now is s.Last.
func (s *Summary) SilenceUntil(now time.Time) time.Duration {
	if s.silent.IsZero() {
		return s.Silence
	}
	return s.Silence + max(0, now.Sub(s.silent))
}

// Hosts is the number of hosts that gave a page.
func (s *Summary) Hosts() int { return len(s.hosts) }

// TopHosts returns at most n hosts, those with most relevant pages first, of
// equal ones those with fewer pages, then by name.
func (s *Summary) TopHosts(n int) []HostCount {
	all := slices.SortedFunc(maps.Values(s.hosts), func(a, b HostCount) int {
		return cmp.Or(cmp.Compare(b.Relevant, a.Relevant), cmp.Compare(a.Pages, b.Pages), cmp.Compare(a.Host, b.Host))
	})
	return all[:min(n, len(all))]
}

// ReasonCount is how often a reason occurred.
type ReasonCount struct {
	Reason web.Reason
	Count  int
}

// ByCount lists counts, largest first, of equal ones by name.
func ByCount(counts map[web.Reason]int) []ReasonCount {
	out := make([]ReasonCount, 0, len(counts))
	for r, n := range counts {
		out = append(out, ReasonCount{r, n})
	}
	slices.SortFunc(out, func(a, b ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
