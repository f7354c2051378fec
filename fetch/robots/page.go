package robots

import (
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Meta is a meta element of a page: its name and content attributes.
type Meta struct{ Name, Content string }

// maxPolicy bounds the address of a TDM policy, in bytes.
const maxPolicy = 2048

// Page gathers the wishes of a page from its response header (X-Robots-Tag,
// TDM-Reservation, TDM-Policy) and its meta elements (robots, the name of
// agent, tdm-reservation, tdm-policy), as far as they are for the crawler with
// the product token agent. Wishes add up: what any of them asks for holds.
//
// Sources: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag,
// https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240202/ (a
// policy has a meaning with a reservation only); noai and noimageai are
// DeviantArt's.
func Page(header web.Header, metas []Meta, agent string) web.Directives {
	var d web.Directives
	var policy string
	agent = token(agent)
	for _, value := range header["X-Robots-Tag"] {
		tagged(&d, value, agent)
	}
	for _, value := range header["Tdm-Reservation"] {
		d.TDMReserved = d.TDMReserved || strings.TrimSpace(value) == "1"
	}
	for _, value := range header["Tdm-Policy"] {
		policy = strings.TrimSpace(value)
	}
	for _, m := range metas {
		switch name := strings.ToLower(strings.TrimSpace(m.Name)); {
		case name == "tdm-reservation":
			d.TDMReserved = d.TDMReserved || strings.TrimSpace(m.Content) == "1"
		case name == "tdm-policy":
			policy = strings.TrimSpace(m.Content)
		case name == "robots", name != "" && name == agent:
			wish(&d, m.Content)
		}
	}
	if d.TDMReserved && len(policy) <= maxPolicy {
		d.TDMPolicy = policy
	}
	return d
}

// tagged adds the wishes of one X-Robots-Tag header. A crawler's name with a
// colon makes what follows, up to the next name, for that crawler alone:
//
//	noindex, otherbot: nofollow, noarchive, waggle: noai
func tagged(d *web.Directives, value, agent string) {
	mine := true
	for part := range strings.SplitSeq(value, ",") {
		name, rest, ok := strings.Cut(part, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		if ok {
			switch name {
			case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
				continue
			}
			if name != "" && token(name) == name { // not "25 Jun 2030 15" of a date
				mine = name == agent || name == "*" || name == "robots"
				part = rest
			}
		}
		if mine {
			wish(d, part)
		}
	}
}

// wish adds a list of directives, apart by commas or spaces. Unknown ones ask
// for nothing that a crawler keeps.
func wish(d *web.Directives, list string) {
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return r <= ' ' || r == ',' || r == ';' }) {
		switch strings.ToLower(word) {
		case "none":
			d.NoIndex, d.NoFollow = true, true
		case "noindex":
			d.NoIndex = true
		case "nofollow":
			d.NoFollow = true
		case "noarchive", "nocache":
			d.NoArchive = true
		case "noai":
			d.NoAI = true
		case "noimageai":
			d.NoImageAI = true
		}
	}
}
