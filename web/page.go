package web

import (
	"cmp"
	"net/netip"
	"time"
)

// Response is what one request brought back from a server, before anything in
// it is interpreted. All of it is untrusted.
type Response struct {
	URL     URL       // the address requested
	Started time.Time // when the request was sent
	Took    time.Duration
	Proto   string // "HTTP/1.1", "HTTP/2.0"
	Remote  string // address and port spoken to, "" when unknown
	// Address is the server's, the one in Remote: hosts of one address share a
	// machine. Zero when unknown, as it is behind a proxy.
	Address netip.Addr
	Status  int // 100…999
	// RequestHead and Head are the message heads as HTTP/1.1 text, lines ended
	// by CRLF, without the empty line that ends a head.
	RequestHead []byte
	Head        []byte
	Header      Header // of the response; keys canonical
	// Raw is the body as received after transfer decoding and before content
	// decoding; Body is Raw after content decoding. Both are bounded by the
	// size cap. They share memory when there is no content coding.
	Raw, Body []byte
	// Truncated says why Body is not whole: "" | "length" | "time" | "disconnect".
	// See CutMeaning.
	Truncated string
	// Location is the redirect target of a 3xx response, canonical; zero
	// otherwise, or when the target is unusable.
	Location URL
	// Repeats says that Location is zero because the target repeats a secret that was sent.
	Repeats bool
	// Conceal, unless nil, puts Concealed in the place of what lets the user in, such as a password or the cookie
	// of a session, in a text that was made of the response: at its site, or at a host that the text names.
	Conceal func(text string) string
	// Concealed counts the places of Body in which the constant of that name stands for what lets the user in: there
	// the server sent something else. Body is Raw then, whatever content coding it came with, and Came is how many
	// bytes that had. Where nothing of a coded body could be decoded, they are places of Raw; where they were in what
	// could not be decoded behind Body, nothing of that is kept.
	Concealed, Came int
	// RetryAfter is the server's wish before the next request, whatever the
	// status, at most a day; 0 = none.
	RetryAfter time.Duration
	// CrawlDelay is what this host is owed between two requests beyond the
	// crawl's own delay: the Crawl-delay of its robots.txt, capped, or the least
	// delay of hosts that are somebody else's; 0 = nothing.
	CrawlDelay time.Duration
	// Sitemaps are those that the robots.txt of the host names, as written.
	Sitemaps []string
	// Robots is the exchange that fetched robots.txt on the way, nil if the
	// rules were cached already.
	Robots *Response
	// Site is what the file of the site, /.well-known/tdmrep.json, says of this address. That
	// of its header and its page goes first.
	Site Reservation
	// SiteFile is what came of asking for that file once this response was there, nil if
	// it was known already or is not asked for.
	SiteFile *SiteFile
	// Rendering is what a browser made of it, nil where none was asked. Body stays what
	// the server sent; see Rendered.
	Rendering *Rendering
	// Record is the name of its record in an archive it was read from, "" for none.
	Record string
	// Revisit, unless nil, says that the body is that of an earlier response, which an
	// archive holds. Status, Head, Header, Raw and Body are those of the earlier one then.
	Revisit *Revisit

	release func() // nil when there is nothing to give back
}

// Revisit is what a server answered when it was asked again for what it had given before.
type Revisit struct {
	// NotModified says that the server sent no body, as it has none that is newer (304);
	// otherwise it sent the same once more.
	NotModified bool
	Head        []byte // as received; see Response.Head
	// Of the earlier response: its record, "" if that has no name, and when it was sent.
	Record string
	At     time.Time
}

// Received is how many bytes of a body came over the network.
func (r *Response) Received() int {
	if r.Revisit != nil && r.Revisit.NotModified {
		return 0
	}
	if r.Concealed > 0 && r.Came > 0 {
		return r.Came
	}
	return len(r.Raw)
}

// OnRelease sets what Release calls. A fetcher that counts the memory of the
// bodies it has handed out sets it.
func (r *Response) OnRelease(f func()) { r.release = f }

// Release tells the fetcher that Raw and Body are no longer in use. Whoever
// fetched a response calls it once it has made of it what it wants; a second
// call does nothing, and neither does one on nil.
func (r *Response) Release() {
	if r == nil || r.release == nil {
		return
	}
	f := r.release
	r.release = nil
	f()
}

// CutMeaning says in a clause why a body is not whole: of Response.Truncated, which
// is not "".
func CutMeaning(truncated string) string {
	switch truncated {
	case "time":
		return "it came too slowly"
	case "disconnect":
		return "the connection broke"
	case "length":
		return "it is longer than the limit"
	}
	return truncated
}

// Header is a response header with canonical keys, as net/http.Header.
type Header = map[string][]string

// Directives are the wishes a page or its response states about its use.
type Directives struct {
	NoIndex     bool   `json:"noindex,omitempty"`
	NoFollow    bool   `json:"nofollow,omitempty"`
	NoArchive   bool   `json:"noarchive,omitempty"`
	NoAI        bool   `json:"noai,omitempty"`
	NoImageAI   bool   `json:"noimageai,omitempty"`
	TDMReserved bool   `json:"tdm_reservation,omitempty"` // TDM Reservation Protocol
	TDMPolicy   string `json:"tdm_policy,omitempty"`
}

// And are the wishes of d and those of other together. The terms are those of other where it
// names any.
func (d Directives) And(other Directives) Directives {
	return Directives{
		NoIndex:     d.NoIndex || other.NoIndex,
		NoFollow:    d.NoFollow || other.NoFollow,
		NoArchive:   d.NoArchive || other.NoArchive,
		NoAI:        d.NoAI || other.NoAI,
		NoImageAI:   d.NoImageAI || other.NoImageAI,
		TDMReserved: d.TDMReserved || other.TDMReserved,
		TDMPolicy:   cmp.Or(other.TDMPolicy, d.TDMPolicy),
	}
}

// Leaf is a leaf of the document tree, in document order: a text node, or an
// element without children (then Text is empty, or an img's alt text).
type Leaf struct {
	Text string
}

// Nesting is how deep a leaf is in the document tree.
type Nesting struct {
	Depth  uint16 // elements around the leaf
	Shared uint16 // of these, those around the leaf before too; 0 for the first leaf
}

// Term is a stemmed word of a page and how often it occurs.
type Term struct {
	Text string
	Head int32 // in title and headings
	Body int32 // in all visible text, title included; ≥ Head
}

// Page is a parsed document: immutable once made.
type Page struct {
	URL      URL
	Base     URL // what relative links resolve against
	Fetched  time.Time
	Status   int
	MIME     string // "text/html"
	Charset  string // as decoded: "utf-8", "windows-1252"
	Language string // ISO 639-1, "" when unknown
	// TermLanguage is the language by whose rules Terms were made, "" where they know
	// only one.
	TermLanguage string
	Title        string
	Description  string // meta description
	Keywords     string // meta keywords
	Headings     []string
	Alts         []string
	Leaves       []Leaf // every leaf, left to right, empty ones too
	// Tags is the element of each leaf, where a parser was asked for them: that
	// around a text, such as td, or the childless one itself, such as br.
	Tags []string
	// Nesting is of each leaf, where a parser was asked for it.
	Nesting    []Nesting
	Main       string // main text, without navigation, what is hidden, and lists of links
	Terms      []Term // of the whole visible text, sorted by Text
	Links      []Link // in document order
	Directives Directives
	Digest     [16]byte // of the decoded body; equal bodies are duplicates
	Truncated  bool     // the body or the tree hit a bound
	Password   bool     // a field asks for a password
	Telling    int      // links left out of Links, as Concealed stands in their addresses
	// PasswordAlone says that such a field is in a form, and that there is next to nothing
	// outside of forms: no script, no heading, and, not counting links, at most a line of text.
	PasswordAlone bool
	Account       bool // a field asks for the name of an account: an e-mail address or a user name
	// Values are those of the fields that a reader of pages asked for, in their order;
	// see package extract.
	Values [][]string
}

// LinkKind names the element, or other place, a link was found in.
type LinkKind string

// The kinds of link a page can hold.
const (
	LinkA         LinkKind = "a"
	LinkArea      LinkKind = "area"
	LinkFrame     LinkKind = "frame"
	LinkIframe    LinkKind = "iframe"
	LinkRefresh   LinkKind = "refresh"
	LinkNext      LinkKind = "next"
	LinkAlternate LinkKind = "alternate"
	LinkCanonical LinkKind = "canonical"
	LinkHeader    LinkKind = "header"   // in a Link header of the response
	LinkFeed      LinkKind = "feed"     // leads to a feed
	LinkSitemap   LinkKind = "sitemap"  // leads to a sitemap
	LinkEntry     LinkKind = "entry"    // an entry of a feed or a sitemap
	LinkJSONLD    LinkKind = "json-ld"  // an address in JSON-LD
	LinkForm      LinkKind = "form"     // a form with the method GET, as it is filled in
	LinkScript    LinkKind = "script"   // an address in a script
	LinkRedirect  LinkKind = "redirect" // from a 3xx response, not from a page
	LinkSeed      LinkKind = "seed"     // given by the user
	LinkAgain     LinkKind = "again"    // known from an earlier round of the collection
	LinkProbe     LinkKind = "probe"    // no link: a request that asks whether anybody answers
)

// Meaning says in a few words what a link of that kind is, as part of a sentence.
func (k LinkKind) Meaning() string {
	switch k {
	case LinkA, "":
		return "link"
	case LinkArea:
		return "link in an image map"
	case LinkFrame, LinkIframe:
		return "frame"
	case LinkRefresh:
		return "refresh"
	case LinkNext, LinkAlternate, LinkCanonical:
		return "link element (" + string(k) + ")"
	case LinkHeader:
		return "Link header"
	case LinkFeed:
		return "feed"
	case LinkSitemap:
		return "sitemap that robots.txt or the page names"
	case LinkEntry:
		return "entry of a feed or a sitemap"
	case LinkJSONLD:
		return "address in JSON-LD"
	case LinkForm:
		return "form"
	case LinkScript:
		return "address in a script"
	case LinkRedirect:
		return "redirect"
	case LinkSeed:
		return "seed"
	case LinkAgain:
		return "known page"
	case LinkProbe:
		return "probe"
	}
	return "link (" + string(k) + ")"
}

// Link is one hyperlink of a page with what surrounds it.
type Link struct {
	URL      URL
	Kind     LinkKind
	Anchor   string // text, or the alt of an image where there is no text
	Before   string // up to 10 words before the anchor
	After    string // up to 10 words after it
	Heading  string // nearest heading above
	TagPath  string // "html/body/div.nav/ul/li/a"
	Position int    // index among the page's links, 0…
	First    int    // leaves of the anchor's subtree: First…Last, inclusive;
	Last     int    // First > Last for links outside the body
	NoFollow bool   // rel=nofollow, ugc or sponsored
	// Changed is when the page changed last, as an entry of a sitemap or a feed tells it.
	// Published says that it tells when the page was published: of later changes it tells
	// nothing.
	Changed   Date
	Published bool
}

// Verdict is what a judge says of a page.
type Verdict struct {
	Relevance  float64 // calibrated probability that the page is wanted, [0,1]
	Similarity float64 // the judge's uncalibrated measure, [0,1]
	Relevant   bool    // Relevance ≥ the judge's threshold
	// Classes are the paths of the page's likeliest classes in a taxonomy, such as
	// /Arts/Music, the likeliest first; nil from a judge without classes.
	Classes []string
}

// Renewal is what a judge says anew of a page that it judged before.
type Renewal struct {
	URL     URL
	Verdict Verdict
	Was     bool // relevant, as it was told last
}
