package robots

import (
	"cmp"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Meta is a meta element of a page: its name and content attributes.
type Meta struct{ Name, Content string }

// maxPolicy bounds the address of a TDM policy, in bytes.
const maxPolicy = 2048

// Page gathers the wishes of a page from what its site says of it, its response header
// (X-Robots-Tag, TDM-Reservation, TDM-Policy) and its meta elements (robots, the name of
// agent, tdm-reservation, tdm-policy), as far as they are for the crawler with
// the product token agent.
//
// Wishes add up: what any of them asks for holds. Not so of text and data mining, of which the
// meta elements go before the header, and the header before the site; what one of them does not
// say is left as it was. Where one says both, it is reserved.
//
// Sources: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag; see
// web.Reservation (section "Processing priority"; a policy has a meaning with a reservation
// only); noai and noimageai are DeviantArt's.
func Page(site web.Reservation, header web.Header, metas []Meta, agent string) web.Directives {
	var d web.Directives
	agent = token(agent)
	for _, value := range header["X-Robots-Tag"] {
		tagged(&d, value, agent)
	}
	var byHeader, byPage web.Reservation
	for _, value := range header["Tdm-Reservation"] {
		reserve(&byHeader, value)
	}
	for _, value := range header["Tdm-Policy"] {
		byHeader.Policy = strings.TrimSpace(value)
	}
	for _, m := range metas {
		switch name := strings.ToLower(strings.TrimSpace(m.Name)); {
		case name == "tdm-reservation":
			reserve(&byPage, m.Content)
		case name == "tdm-policy":
			byPage.Policy = strings.TrimSpace(m.Content)
		case name == "robots", name != "" && name == agent:
			wish(&d, m.Content)
		}
	}
	policy := ""
	for _, said := range []web.Reservation{site, byHeader, byPage} {
		if said.Said {
			d.TDMReserved = said.Reserved
		}
		policy = cmp.Or(said.Policy, policy)
	}
	if d.TDMReserved && len(policy) <= maxPolicy {
		d.TDMPolicy = policy
	}
	return d
}

// reserve takes in a value of tdm-reservation. Others than 0 and 1 say nothing.
func reserve(r *web.Reservation, value string) {
	value = strings.TrimSpace(value)
	r.Said = r.Said || value == "0" || value == "1"
	r.Reserved = r.Reserved || value == "1"
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
