package web

// Exchange is a response with what the crawl made of it: what an archive
// keeps.
type Exchange struct {
	Candidate Candidate
	Response  *Response
	Page      *Page   // nil when the response is no page
	Verdict   Verdict // zero without a Page
	Judge     string  // name of the judge
	Scorer    string  // name of the scorer
	// Reason says why the response is no page, "" for a page.
	Reason Reason
}
