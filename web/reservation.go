package web

// Reservation is what somebody says of text and data mining of an address: a site in its
// file, a response in its header, or a page in its meta elements.
//
// Source: TDM Reservation Protocol, final report of the W3C community group, 10 May 2024,
// https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/.
type Reservation struct {
	Said     bool   // false: nothing is said, and the rest is zero
	Reserved bool   // the rights are reserved
	Policy   string // address of the terms on which mining is permitted; "" = none is named
}

// ReservationsPath is where a site has its file of reservations.
const ReservationsPath = "/.well-known/tdmrep.json"

// SiteFile is what came of asking a site for its file of reservations.
type SiteFile struct {
	URL URL
	// Response is the last one on the way to the file, nil where none came.
	Response *Response
	// Robots is the answer for a robots.txt that was asked for before a request which failed or
	// was not sent, nil where none was. That before Response stands in Response.Robots.
	Robots *Response
	Rules  int    // of the file
	Wrong  string // why it, or a part of it, is not used, or could not be had; "" = nothing is wrong
}
