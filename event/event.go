// Package event holds what a crawl says of itself: typed events, and the log
// that keeps them. Log, progress view, summary and explanation read nothing
// else, so every figure of a crawl can be made again from its log alone.
//
// A log is JSON, one event a line, oldest first:
//
//	{"kind":"fetched","at":"2026-03-01T12:00:00Z","url":"https://…",…}
package event

import (
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Event is one of the types of this package.
type Event interface {
	Kind() string
	Time() time.Time
}

// At is the moment of an event; every event embeds it.
type At struct {
	At time.Time `json:"at"`
}

// Time returns the moment of the event.
func (a At) Time() time.Time { return a.At }

// Started opens a run: the first of a crawl, or one that goes on.
type Started struct {
	At
	Name    string        `json:"name"`
	Scorer  string        `json:"scorer"`
	Judge   string        `json:"judge"`
	Resumed bool          `json:"resumed,omitempty"`
	Pages   int           `json:"budget_pages,omitempty"` // 0 = no limit
	Limit   time.Duration `json:"budget_ns,omitempty"`    // 0 = no limit
	Workers int           `json:"workers"`
	Several bool          `json:"several,omitempty"` // the run is that of one of several workers of a crawl
	// Threshold is the judge's: a page at or above it is relevant.
	Threshold float64 `json:"threshold"`
	// Settings is what the crawl was told, by path of the setting. It is in the
	// first event of a crawl, and in that of a run for whose crawl none is known;
	// later runs tell only what Changed. A value that is long is a digest.
	Settings map[string]string `json:"settings,omitempty"`
}

// Changed says that a crawl goes on with another value of a setting than it had.
// It follows what the change did: links that left the frontier, and seeds that
// entered it.
type Changed struct {
	At
	Setting string `json:"setting"` // its path, such as "scope.exclude"
	Old     string `json:"old"`     // as in Started.Settings
	New     string `json:"new"`
}

// SettingThreshold is the setting whose change gives pages that were fetched
// before another verdict.
const SettingThreshold = "judge.threshold"

// SettingKeywords is the setting that keywords told while a crawl runs change.
const SettingKeywords = "topic.keywords"

// SettingHostPages is the setting whose change closes hosts that have given enough
// pages, and opens those that may give more.
const SettingHostPages = "scope.max-host-pages"

// Seeded says what became of the start addresses.
type Seeded struct {
	At
	Queued  []Found   `json:"queued,omitempty"`
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Found is a link that entered the frontier, or rose in it.
type Found struct {
	URL      web.URL `json:"url"`
	Priority float64 `json:"priority"`
	Anchor   string  `json:"anchor,omitempty"` // at most 80 bytes
	Raised   bool    `json:"raised,omitempty"`
	// Link is where the link was found, "" for an a element.
	Link web.LinkKind `json:"link,omitempty"`
	// Changed is when the page changed last, or was published, as an entry of a sitemap or a
	// feed tells it.
	Changed web.Date `json:"changed,omitempty"`
}

// Dated is what a sitemap or a feed tells of a page that earlier rounds of the collection know,
// and that this one has not visited yet.
type Dated struct {
	URL     web.URL  `json:"url"`
	Changed web.Date `json:"changed"`
	Value   float64  `json:"value"` // of a visit since, in [0,1]
	Then    Move     `json:"then,omitempty"`
}

// Move is what becomes of a page of which something is told.
type Move string

// The moves of pages; "" leaves one where it is.
const (
	MoveSooner Move = "sooner" // it goes by Dated.Value, before new links
	MoveLast   Move = "last"   // it goes behind all links
)

// Skipped is a link that did not enter the frontier. One that is refused for its
// address is reported the first time only; one refused for the path that led to
// it (depth, nofollow, host-queue), each time.
type Skipped struct {
	URL    web.URL    `json:"url"`
	Reason web.Reason `json:"reason"`
	// Link is where the link was found, "" for an a element, and for all in logs of before.
	Link web.LinkKind `json:"link,omitempty"`
}

// Visit names the fetch an event speaks of.
type Visit struct {
	URL      web.URL      `json:"url"`
	From     web.URL      `json:"from,omitzero"`
	Link     web.LinkKind `json:"link,omitempty"`
	Depth    int          `json:"depth"`
	Priority float64      `json:"priority"` // when it left the frontier
}

// Fetched is a page: fetched, parsed, judged, archived.
type Fetched struct {
	At
	Visit
	Status     int        `json:"status"`
	MIME       string     `json:"mime"`
	Bytes      int        `json:"bytes"` // received
	Took       float64    `json:"took"`  // seconds
	Title      string     `json:"title,omitempty"`
	Language   string     `json:"language,omitempty"`
	Digest     string     `json:"digest"` // of the body, hex
	Relevance  float64    `json:"relevance"`
	Similarity float64    `json:"similarity"`
	Relevant   bool       `json:"relevant,omitempty"`
	Reason     web.Reason `json:"reason,omitempty"` // such as duplicate or noindex: fetched, but no harvest
	// Overruled is what was the Reason, of a page that Renewed gave a verdict which overrules it.
	// A log has it under Reason.
	Overruled web.Reason `json:"-"`
	// Wanted is that of its last verdict, where Renewed gave it one.
	Wanted bool `json:"-"`
	// Like is the page of which this is a near-copy, and Likeness by how much they resemble
	// each other, in [0,1].
	Like       web.URL        `json:"like,omitzero"`
	Likeness   float64        `json:"likeness,omitempty"`
	Directives web.Directives `json:"directives,omitzero"`
	// BySite tells that text and data mining is reserved by the file of the site.
	BySite    bool   `json:"tdm_by_site,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Cut       string `json:"cut,omitempty"` // why the body is not whole, as web.Response.Truncated
	// Rendered tells that a browser rendered the page, whose title, text and links are those
	// of the rendering; nil for a page as it was sent.
	Rendered *Rendered `json:"rendered,omitempty"`
	// NoBrowser tells that a browser was to render the page and none was to be had: the page is
	// as it was sent.
	NoBrowser bool `json:"no_browser,omitempty"`
	Links     int  `json:"links"` // on the page, all but Telling
	// Telling counts links that are written nowhere, as they repeat what lets the user in.
	Telling int `json:"telling,omitempty"`
	// Concealed counts the places of the document, as it is kept, in which web.Concealed stands for what lets the
	// user in: there the server sent something else.
	Concealed int `json:"concealed,omitempty"`
	// Entries counts those of a sitemap or a feed that tell when pages of its registrable
	// domain changed, and Dated are those of known pages.
	Entries int       `json:"entries,omitempty"`
	Dated   []Dated   `json:"dated,omitempty"`
	Queued  []Found   `json:"queued,omitempty"`
	Skipped []Skipped `json:"skipped,omitempty"`
	// Sent counts links that went to other workers of the crawl, which tell of them by
	// Received.
	Sent int `json:"sent,omitempty"`
	// Omitted counts links that Queued and Skipped leave out because the
	// event would not fit into a line of the log.
	Omitted int `json:"omitted,omitempty"`
}

// SiteFile is a file in which a site reserves text and data mining, /.well-known/tdmrep.json,
// as it was found there: that of the page told of before it, by Fetched or Failed, of whose turn
// it is a part. Of sites without one nothing is told.
type SiteFile struct {
	At
	URL    web.URL `json:"url"`
	Status int     `json:"status,omitempty"` // 0 = nobody answered
	Rules  int     `json:"rules"`
	// Wrong says why the file, or a part of it, is not used, or could not be had.
	Wrong string `json:"wrong,omitempty"`
}

// Received says what became of links of a page after that of the page: another worker of the
// crawl fetched it, or the links were kept as muted ones until then.
type Received struct {
	At
	From    web.URL   `json:"from,omitzero"` // the page
	Depth   int       `json:"depth"`         // of the links, from a seed
	Queued  []Found   `json:"queued,omitempty"`
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Rendered is what rendering a page has brought. Words are those outside links, and links are
// counted once for each address.
type Rendered struct {
	Took      float64 `json:"took"` // seconds, waits for the turns of its requests included
	SentWords int     `json:"sent_words"`
	Words     int     `json:"words"`
	SentLinks int     `json:"sent_links"`
	Links     int     `json:"links"`
	// Requests are those that the page made, and Refused those that brought it nothing.
	Requests int                `json:"requests,omitempty"`
	Refused  map[web.Reason]int `json:"refused,omitempty"`
	// What was done to make it show more; see web.Rendering.
	Scrolls int `json:"scrolls,omitempty"`
	Clicks  int `json:"clicks,omitempty"`
	Routes  int `json:"routes,omitempty"`
	// Ended says why the browser ended the page before it was done, and Detail more of that.
	// AsSent tells that the page is as it was sent: the browser brought no document, or one that
	// had less of the page and added nothing.
	Ended  web.Reason `json:"ended,omitempty"`
	Detail string     `json:"detail,omitempty"`
	AsSent bool       `json:"as_sent,omitempty"`
	// Again is how often it was given to another browser, as the one before was gone.
	Again int `json:"again,omitempty"`
}

// InPart tells that the body came whole and a part of it was not read: it is damaged there, or
// larger than its reader takes.
func (e Fetched) InPart() bool { return e.Truncated && e.Cut == "" }

// Failed is a fetch that brought no page.
type Failed struct {
	At
	Visit
	Reason web.Reason `json:"reason"`
	Detail string     `json:"detail,omitempty"`
	Status int        `json:"status,omitempty"`
	Bytes  int        `json:"bytes,omitempty"`
	Took   float64    `json:"took,omitempty"`
	// Retry says that the address went back into the frontier, and Outage that it
	// did so as it was: the network was down.
	Retry  bool `json:"retry,omitempty"`
	Outage bool `json:"outage,omitempty"`
	// To is where a redirect points, or the http address of a seed that was given
	// without a scheme and failed by https; Queued tells whether it was followed.
	To     web.URL `json:"to,omitzero"`
	Queued bool    `json:"queued,omitempty"`
}

// Dropped says that links left the frontier unfetched.
type Dropped struct {
	At
	Reason web.Reason `json:"reason"`
	Host   web.Host   `json:"host,omitempty"`
	Count  int        `json:"count"`
	URLs   []web.URL  `json:"urls,omitempty"` // those pushed out one by one
	Detail string     `json:"detail,omitempty"`
}

// Tick is the state of the frontier now and then, for those who watch.
type Tick struct {
	At
	Frontier web.FrontierStats `json:"frontier"`
	// Waits tells that hosts are ready and nothing is fetched from them, as better
	// links wait for hosts that are not.
	Waits bool `json:"waits,omitempty"`
}

// Ended closes a run.
type Ended struct {
	At
	How      Ending            `json:"how"`
	Frontier web.FrontierStats `json:"frontier"`
	// Of HostsDown: when the first of them is tried again by a run that lasts, and
	// when the last of them is given up if it never answers.
	Next  time.Time `json:"next,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Unknown is an event of a kind this version does not know, as read from the
// log of another.
type Unknown struct {
	At
	Name string // its kind
	Raw  []byte // its line, without the newline
}

func (Started) Kind() string  { return "started" }
func (Changed) Kind() string  { return "changed" }
func (Received) Kind() string { return "received" }
func (Seeded) Kind() string   { return "seeded" }
func (Fetched) Kind() string  { return "fetched" }
func (SiteFile) Kind() string { return "site-file" }
func (Failed) Kind() string   { return "failed" }
func (Dropped) Kind() string  { return "dropped" }
func (Tick) Kind() string     { return "tick" }
func (Ended) Kind() string    { return "ended" }

// Kind returns the kind the event was read with.
func (u Unknown) Kind() string { return u.Name }
