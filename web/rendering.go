package web

import (
	"maps"
	"time"
)

// Rendering is what a browser made of a response: the document that the scripts of the
// page left, and what they asked for on the way.
type Rendering struct {
	// Body is the document as HTML in UTF-8; nil where the browser brought none: then the
	// page is what the server sent.
	Body []byte
	// Concealed is Response.Concealed of Body.
	Concealed int
	Started   time.Time
	Took      time.Duration // waits for the turns of requests included
	// Resources are what the page asked for and was fetched, in the order in which it
	// asked. Those of them that an earlier page was given already are not here again.
	Resources []Resource
	Requests  int // that the page made, all; pictures, styles and the like are not counted
	// Refused counts the requests that brought the page nothing, by reason.
	Refused map[Reason]int
	// Scrolls, Clicks and Routes count what was done to make the page show more: it was
	// scrolled to its end, a control that loads more was pressed, a route within the page
	// was opened.
	Scrolls, Clicks, Routes int
	// Ended says why the browser ended the page before it was done by itself, and Detail
	// more of that; "" for a page that came to rest.
	Ended  Reason
	Detail string
	// Tries is how often it was given to a browser, which was gone each time but the last.
	Tries int
}

// Resource is the response to a request that a page made.
type Resource struct {
	*Response
	Type string // "script", "fetch", "xhr"
}

// Rendered is r with the document of its rendering in place of its body: what is parsed,
// judged and shown. It is r itself where there is none.
func (r *Response) Rendered() *Response {
	by := r.Rendering
	if by == nil || by.Body == nil {
		return r
	}
	own := *r
	own.Body, own.Truncated, own.Rendering, own.Concealed = by.Body, "", nil, by.Concealed
	own.Header = maps.Clone(r.Header)
	if own.Header == nil {
		own.Header = Header{}
	}
	own.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	delete(own.Header, "Content-Encoding")
	if by.Ended == ReasonRenderSize {
		own.Truncated = "length"
	}
	return &own
}
