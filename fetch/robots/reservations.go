package robots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Bounds of such a file, beside maxBody.
const (
	maxReservations = 5000
	maxNesting      = 32 // of arrays and objects; two are needed
)

// Reservations are the rules of a tdmrep.json, in which a site says of what of it the rights
// to text and data mining are reserved:
//
//	[{"location": "/photos/*.jpg$", "tdm-reservation": 0},
//	 {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://a.example/policy.json"}]
//
// They never change once made, and are safe for concurrent use. See web.Reservation for the source.
type Reservations struct{ rules []reservation }

type reservation struct {
	rule
	says web.Reservation
}

// ParseReservations reads a tdmrep.json. wrong says what of it is not used, and why: all of a
// file that is damaged or too large, else rules without a location that can match anything, or
// without a tdm-reservation of 0 or 1. It is "" where nothing is wrong. Members that the
// protocol does not know are passed over.
func ParseReservations(body []byte) (r *Reservations, wrong string) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	switch {
	case len(body) > maxBody:
		return &Reservations{}, fmt.Sprintf("it is longer than %d KiB", maxBody>>10)
	case nestedDeeper(body, maxNesting):
		return &Reservations{}, fmt.Sprintf("it is nested more than %d deep", maxNesting)
	}
	r = &Reservations{}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return r, "it is no JSON array of rules"
	}
	out, all := 0, 0
	for ; dec.More(); all++ {
		var entry json.RawMessage
		if err := dec.Decode(&entry); err != nil {
			return &Reservations{}, "it is damaged: " + err.Error()
		}
		if len(r.rules) == maxReservations {
			continue
		}
		if one, ok := parseReservation(entry); ok {
			r.rules = append(r.rules, one)
		} else {
			out++
		}
	}
	if _, err := dec.Token(); err != nil {
		return &Reservations{}, "it is damaged: its end is missing"
	}
	if _, err := dec.Token(); err != io.EOF {
		return &Reservations{}, "it is damaged: something follows its array"
	}
	switch {
	case len(r.rules)+out < all:
		wrong = fmt.Sprintf("only the first %d rules of it are used", maxReservations)
	case out > 0:
		wrong = fmt.Sprintf("%d of its %d rules are not used: they have no location that begins with / or *, or no tdm-reservation of 0 or 1", out, all)
	}
	return r, wrong
}

// parseReservation reads one rule.
func parseReservation(entry json.RawMessage) (r reservation, ok bool) {
	var e struct {
		Location    json.RawMessage `json:"location"`
		Reservation json.RawMessage `json:"tdm-reservation"`
		Policy      json.RawMessage `json:"tdm-policy"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return r, false
	}
	var location string
	if json.Unmarshal(e.Location, &location) != nil || location == "" || location[0] != '/' && location[0] != '*' {
		return r, false
	}
	switch string(e.Reservation) {
	case `1`, `"1"`: // a header and a meta element have it as a text
		r.says.Reserved = true
	case `0`, `"0"`:
	default:
		return r, false
	}
	r.rule, r.says.Said = newRule(location, false), true
	if json.Unmarshal(e.Policy, &r.says.Policy) != nil || len(r.says.Policy) > maxPolicy {
		r.says.Policy = ""
	}
	r.says.Policy = strings.TrimSpace(r.says.Policy)
	return r, true
}

// Len is how many rules there are.
func (r *Reservations) Len() int { return len(r.rules) }

// Of is what they say of an address, given its path with its query: the first that
// matches decides, as "the most specific match is the first in sequence". Locations match as
// the patterns of a robots.txt do.
func (r *Reservations) Of(requestPath string) web.Reservation {
	if len(r.rules) == 0 {
		return web.Reservation{}
	}
	path := normalise(requestPath, false)
	bare := unescape(path)
	escapes := bare != path
	for i := range r.rules {
		if x := &r.rules[i]; x.matches(path) || escapes && x.matches(bare) {
			return x.says
		}
	}
	return web.Reservation{}
}

// nestedDeeper tells whether arrays and objects are nested deeper than some depth.
func nestedDeeper(body []byte, most int) bool {
	depth, text := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text:
			if c == '\\' {
				i++
			} else if c == '"' {
				text = false
			}
		case c == '"':
			text = true
		case c == '[' || c == '{':
			if depth++; depth > most {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
