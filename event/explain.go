package event

import (
	"cmp"
	"errors"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Fate is what became of an address.
type Fate string

// The fates of an address.
const (
	Unseen   Fate = "unseen"  // no page of the crawl links to it, nor was it a seed
	NotTaken Fate = "skipped" // found, but never queued: see Reason
	Waiting  Fate = "waiting" // in the frontier, or in flight, when the log ends
	GivenUp  Fate = "dropped" // left the frontier unfetched: see Reason
	Broken   Fate = "failed"  // fetched without bringing a page: see Reason and Detail
	Moved    Fate = "moved"   // a redirect: see To
	Taken    Fate = "fetched" // a page; with a Reason it is not part of the harvest
)

// Explanation tells why an address was fetched, or not.
type Explanation struct {
	URL    web.URL
	Fate   Fate
	Reason web.Reason
	Detail string
	To     web.URL // where a redirect from it points
	// Cut says why the end of a fetched page is missing, as Fetched.Cut; "" if it is not.
	Cut string
	// InPart tells that a part of a fetched page was not read, as Fetched.InPart.
	InPart bool
	// Directives are what a fetched page asks for, and BySite is Fetched.BySite.
	Directives web.Directives
	BySite     bool
	// Rendered is what rendering the page brought, nil where it was not rendered.
	Rendered *Rendered
	// NoBrowser is Fetched.NoBrowser.
	NoBrowser bool
	// Concealed is Fetched.Concealed.
	Concealed int
	// Like is the page that it repeats, of a duplicate or a near-copy; Likeness is by how much
	// a near-copy resembles it, in [0,1].
	Like     web.URL
	Likeness float64
	// Down tells that its host does not answer, while it waits; zero = it does.
	Down HostDown
	// Trap is what was found of addresses like it, where it was refused as a trap;
	// zero where the address itself was refused.
	Trap Trap
	// Path leads to URL: a seed first, URL itself last, each step found on
	// the one before it. It is empty for an address that is unseen. Of one
	// that was skipped it ends with the page that named it first and URL.
	Path []Step
	// Notes is what happened to URL itself, oldest first; the middle of a
	// long history is left out.
	Notes []Note
	// Left is the number of notes left out, after the first half.
	Left int
	// Label is the act by which a person called URL relevant or not, which is its verdict in place
	// of the judge's; zero = nobody did, or it was undone.
	Label Act
	// Threshold is the judge's: a page at or above it is relevant.
	Threshold     float64
	Scorer, Judge string
	// Changes are those of the crawl's settings, oldest first.
	Changes []Changed
	// Whole is false when the log broke off, as that of a crawl which still
	// runs or was killed.
	Whole bool
}

// Step is an address on the path.
type Step struct {
	URL    web.URL
	Link   web.LinkKind // that brought it; redirect and seed included
	Anchor string       // of that link, untrusted
	// Queued is the priority it entered the frontier with, or rose to, by
	// that link, and Leased the one it left the frontier with: NaN-free, 0
	// where HasQueued and HasLeased are false.
	Queued, Leased       float64
	HasQueued, HasLeased bool
	Raised               bool // the link was not the first to name it
	Tries                int  // failed attempts before this outcome
	// Of a step that was fetched:
	Fetched    bool // false for a redirect, and for what still waits or failed
	Relevance  float64
	Similarity float64 // to the topic, as the judge measured it
	Relevant   bool
	Title      string // untrusted
	Status     int
	At         time.Time
}

// Note is one thing that happened to the address.
type Note struct {
	At   time.Time
	What string  // queued, raised, skipped, retry, busy, outage, failed, moved, dropped, fetched, judged, dated, told, undone
	On   web.URL // the page or redirect that named it; zero for a seed
	// Priority is the one it entered or left the frontier with.
	Priority float64
	// Link is what the link was that named it, "" for an a element.
	Link   web.LinkKind
	Anchor string // untrusted
	Reason web.Reason
	Detail string // untrusted
	Status int
	// Changed is when a sitemap or a feed says that the page changed, and Then what became of
	// it by that, as a known page.
	Changed web.Date
	Then    Move
	Act     int // the number of the act that told it, or that was undone
	// Relevance is what was said anew of a page, and Was what had been said of it
	// before, which Explain leaves to who reads the log as it was written: see Said.
	Relevance float64
	Was       *float64
}

// maxNotes bounds Explanation.Notes.
const maxNotes = 64

// Explain looks for u in the events of a crawl, which it ranges over twice:
// give it ReadFile's sequence, or one over a slice. Beside the answer it holds
// 16 bytes for each page or redirect fetched before u's fate was sealed, about
// 40 with the overhead of a map, and no address.
//
// A torn last line is no error, see Explanation.Whole. Any other error of the
// sequence is returned.
func Explain(events iter.Seq2[Event, error], u web.URL) (Explanation, error) {
	x := newExplainer(u)
	return x.explain(events, func(map[uint64]int) iter.Seq2[Event, error] { return events })
}

func newExplainer(u web.URL) *explainer {
	return &explainer{Explanation: Explanation{URL: u, Fate: Unseen}, seed: maphash.MakeSeed(), parents: map[uint64]uint64{}}
}

// explain reads the events for the first time, and those of the path for the second: second is
// given the hashes of its addresses.
func (x *explainer) explain(first iter.Seq2[Event, error], second func(path map[uint64]int) iter.Seq2[Event, error]) (Explanation, error) {
	for e, err := range first {
		if err != nil {
			if errors.Is(err, ErrTorn) {
				x.Whole = false
				break
			}
			return x.Explanation, err
		}
		x.follow(e)
	}
	if x.Fate == Unseen {
		return x.Explanation, nil // nothing leads to it
	}
	if x.Fate == Taken && x.last.Overrules(x.Reason) {
		x.Reason = ""
	}

	// chain[i] is the hash of step i; the seed ends up first. A hash of 64
	// bits stands for an address: among 10⁸ pages two share one with a
	// probability below 0.1 %.
	chain := []uint64{x.hash(x.URL)}
	at := map[uint64]int{chain[0]: 0}
	for parent, ok := x.hash(x.from), !x.from.IsZero(); ok && parent != 0; parent, ok = x.parents[parent] {
		if _, loop := at[parent]; loop {
			break
		}
		at[parent] = len(chain)
		chain = append(chain, parent)
	}
	steps := make([]Step, len(chain)) // u first
	steps[0].URL = x.URL
	x.parents = nil
	for e, err := range second(at) {
		if err != nil {
			if errors.Is(err, ErrTorn) {
				break
			}
			return x.Explanation, err
		}
		x.fill(e, chain, at, steps)
	}
	slices.Reverse(steps)
	x.Path = steps
	if x.Fate != Waiting {
		x.Down = HostDown{}
	}
	if x.Reason != web.ReasonTrap {
		x.Trap = Trap{}
	}
	return x.Explanation, nil
}

type explainer struct {
	Explanation
	seed    maphash.Seed
	parents map[uint64]uint64 // page or redirect → what it was found on, 0 = a seed
	from    web.URL           // what u was found on, at last
	last    Verdict           // that was said anew of u
	digest  string            // of u, if it is a duplicate
	labels  []Act             // of u, oldest first, without those that were undone
}

// hash is never 0, but for no address.
func (x *explainer) hash(u web.URL) uint64 {
	if u.IsZero() {
		return 0
	}
	return max(1, maphash.String(x.seed, u.String()))
}

// follow is the first reading: the fate of u, and who found whom.
func (x *explainer) follow(e Event) {
	t := e.Time()
	switch e := e.(type) {
	case Started:
		x.Whole = false
		x.Scorer, x.Judge, x.Threshold = e.Scorer, e.Judge, e.Threshold
	case Changed:
		x.Changes = append(x.Changes, e)
		if v, err := strconv.ParseFloat(e.New, 64); e.Setting == SettingThreshold && err == nil {
			x.Threshold = v
		}
	case Ended:
		x.Whole = true
	case Seeded:
		x.named(t, web.URL{}, e.Queued, e.Skipped)
	case Received:
		x.named(t, e.From, e.Queued, e.Skipped)
	case Fetched:
		if e.URL == x.URL {
			x.from, x.last = e.From, Verdict{}
			x.Fate, x.Reason, x.Detail, x.Cut, x.Rendered, x.NoBrowser = Taken, e.Reason, "", e.Cut, e.Rendered, e.NoBrowser
			x.Directives, x.BySite, x.Concealed = e.Directives, e.BySite, e.Concealed
			x.Like, x.Likeness, x.InPart = e.Like, e.Likeness, e.InPart()
			if e.Reason == web.ReasonDuplicate {
				x.digest = e.Digest
			}
			x.note(Note{At: t, What: "fetched", On: e.From, Priority: e.Priority, Reason: e.Reason, Status: e.Status})
		} else if !x.sealed() {
			x.parents[x.hash(e.URL)] = x.hash(e.From)
		}
		for _, d := range e.Dated {
			if d.URL == x.URL {
				x.note(Note{At: t, What: "dated", On: e.URL, Changed: d.Changed, Then: d.Then})
			}
		}
		x.named(t, e.URL, e.Queued, e.Skipped)
	case Failed:
		if e.URL == x.URL {
			x.failed(t, e)
		} else if !e.To.IsZero() && !x.sealed() {
			x.parents[x.hash(e.URL)] = x.hash(e.From)
		}
		if e.To == x.URL && e.To != e.URL {
			switch {
			case e.Queued:
				x.named(t, e.URL, []Found{{URL: e.To, Priority: e.Priority, Link: web.LinkRedirect}}, nil)
			case e.Reason != web.ReasonRedirectKnown && e.Reason != web.ReasonRedirectLoop:
				x.named(t, e.URL, nil, []Skipped{{URL: e.To, Reason: e.Reason, Link: web.LinkRedirect}})
			}
		}
	case Rejudged:
		if e.Judge != "" {
			x.Judge, x.Threshold = e.Judge, e.Threshold
		}
		if i := slices.IndexFunc(e.Pages, func(v Verdict) bool { return v.URL == x.URL }); i >= 0 {
			x.last = e.Pages[i].After(x.last)
			x.Reason = cmp.Or(x.Reason, x.last.Reason)
			x.note(Note{At: t, What: "judged", Relevance: x.last.Relevance})
		}
	case Act:
		x.told(t, e)
	case Dropped:
		if x.Fate == Waiting && (len(e.URLs) == 0 && e.Host == x.URL.Host() || slices.Contains(e.URLs, x.URL)) {
			x.Fate, x.Reason, x.Detail = GivenUp, e.Reason, e.Detail
			x.note(Note{At: t, What: "dropped", Reason: e.Reason, Detail: e.Detail})
		}
	case HostDown:
		if e.Host == x.URL.Host() {
			x.Down = e
			if e.Over {
				x.Down = HostDown{}
			}
		}
	case Trap:
		if e.Covers(x.URL) {
			x.Trap = e
		}
	}
}

// told takes in an act on u, or the undoing of one.
func (x *explainer) told(t time.Time, a Act) {
	if a.Refused != "" {
		return
	}
	if a.URL == x.URL {
		x.note(Note{At: t, What: "told", Detail: string(a.Do), Act: a.Number})
		if a.Label() {
			x.labels = append(x.labels, a)
		}
	} else if i := slices.IndexFunc(x.labels, func(l Act) bool { return a.Do == Undo && l.Number == a.Act }); i >= 0 {
		x.note(Note{At: t, What: "undone", Act: a.Act})
		x.labels = slices.Delete(x.labels, i, i+1)
	}
	x.Label = Act{}
	if n := len(x.labels); n > 0 {
		x.Label = x.labels[n-1]
	}
}

// sealed tells that nothing more will happen to u.
func (x *explainer) sealed() bool { return x.Fate == Taken || x.Fate == Broken || x.Fate == Moved }

func (x *explainer) failed(t time.Time, e Failed) {
	x.from = e.From
	x.Reason, x.Detail, x.To = e.Reason, e.Detail, e.To
	n := Note{At: t, What: "failed", On: e.From, Priority: e.Priority, Reason: e.Reason, Detail: e.Detail, Status: e.Status}
	switch {
	case e.Outage:
		x.Fate, n.What = Waiting, "outage"
	case e.Reason == web.ReasonBusy:
		x.Fate, n.What = Waiting, "busy"
	case e.Retry:
		x.Fate, n.What = Waiting, "retry"
	case e.Reason == web.ReasonRedirect:
		x.Fate, n.What = Moved, "moved"
	default:
		x.Fate = Broken
	}
	x.note(n)
}

// named looks for u among the links of a page.
func (x *explainer) named(t time.Time, on web.URL, queued []Found, skipped []Skipped) {
	for _, f := range queued {
		if f.URL != x.URL {
			continue
		}
		n := Note{At: t, What: "queued", On: on, Priority: f.Priority, Anchor: f.Anchor, Changed: f.Changed, Link: f.Link}
		if f.Raised {
			n.What = "raised"
		}
		x.note(n)
		if !x.sealed() {
			x.from = on
			x.Fate, x.Reason, x.Detail = Waiting, "", ""
		}
	}
	for _, s := range skipped {
		if s.URL != x.URL {
			continue
		}
		x.note(Note{At: t, What: "skipped", On: on, Reason: s.Reason, Link: s.Link})
		if x.Fate == Unseen {
			x.Fate, x.Reason, x.from = NotTaken, s.Reason, on
		}
	}
}

func (x *explainer) note(n Note) {
	if len(x.Notes) == maxNotes {
		x.Notes = slices.Delete(x.Notes, maxNotes/2, maxNotes/2+1)
		x.Left++
	}
	x.Notes = append(x.Notes, n)
}

// fill is the second reading: what is known of each step. chain and steps have
// u first, and at is the index of a hash in chain.
func (x *explainer) fill(e Event, chain []uint64, at map[uint64]int, steps []Step) {
	switch e := e.(type) {
	case Seeded:
		for _, f := range e.Queued {
			if i := len(chain) - 1; x.hash(f.URL) == chain[i] {
				f.Link = cmp.Or(f.Link, web.LinkSeed)
				steps[i].URL = f.URL
				steps[i].found(f)
			}
		}
	case Fetched:
		if x.digest != "" && e.Digest == x.digest && x.Like.IsZero() && e.URL != x.URL {
			x.Like = e.URL
		}
		i, ok := at[x.hash(e.URL)]
		if !ok {
			return
		}
		steps[i].visit(e.Visit)
		steps[i].Fetched = true
		steps[i].Relevance, steps[i].Similarity = e.Relevance, e.Similarity
		steps[i].Relevant, steps[i].Title = e.Relevant && e.Reason == "", e.Title
		steps[i].Status, steps[i].At = e.Status, e.At.At
		if i > 0 {
			for _, f := range e.Queued {
				if x.hash(f.URL) == chain[i-1] {
					steps[i-1].URL = f.URL
					steps[i-1].found(f)
				}
			}
			for _, s := range e.Skipped {
				if at := &steps[i-1]; x.hash(s.URL) == chain[i-1] && !at.HasQueued && !at.HasLeased {
					at.Link = s.Link
				}
			}
		}
	case Failed:
		i, ok := at[x.hash(e.URL)]
		if !ok {
			return
		}
		steps[i].visit(e.Visit)
		steps[i].Status, steps[i].At = e.Status, e.At.At
		if e.Retry && !e.Outage && e.Reason != web.ReasonBusy {
			steps[i].Tries++
		}
		if i > 0 && e.Queued && x.hash(e.To) == chain[i-1] {
			steps[i-1].URL = e.To
			steps[i-1].found(Found{Priority: e.Priority, Link: web.LinkRedirect})
		}
	}
}

func (s *Step) found(f Found) {
	s.Queued, s.HasQueued, s.Anchor, s.Raised = f.Priority, true, f.Anchor, f.Raised
	if !s.HasLeased { // what was taken says by which link
		s.Link = f.Link
	}
}

func (s *Step) visit(v Visit) {
	s.URL, s.Link, s.Leased, s.HasLeased = v.URL, v.Link, v.Priority, true
}
