package score

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// Explain names the inputs that raise or lower a link, those of the most weight
// first. Inputs without any weight are left out.
func (w *waggle) Explain(p *web.Page, v web.Verdict, link int, c *web.Candidate) []Reason {
	var x example
	trail, depth := pathOf(c)
	if link < 0 || link >= len(p.Links) || !w.read(&x, c.Features, trail, depth) {
		return nil
	}
	var out []Reason
	add := func(r Reason) {
		if r.Weight == 0 {
			return
		}
		for i := range out {
			if out[i].Kind == r.Kind && out[i].What == r.What {
				out[i].Times++
				out[i].Weight += r.Weight
				return
			}
		}
		r.Times = 1
		out = append(out, r)
	}
	dense := w.weights.dense
	if w.alternation.byFirst {
		dense = w.alternation.dense
	}
	for i, value := range x.dense {
		r := Reason{Kind: ReasonSeen, What: denseNames[i], Weight: float64(dense[i].mean * value)}
		switch i {
		case inBias:
			if r.Kind, r.What = ReasonPrior, ""; w.alternation.byFirst {
				r.Kind, r.What = ReasonSeen, "a turn by the first weights"
			}
		case inRelevance:
			r.Kind, r.What = ReasonPage, ""
		case inAnchor:
			r.Kind, r.What = ReasonAnchor, ""
		}
		add(r)
	}
	if w.alternation.byFirst {
		return byWeight(out)
	}
	names := w.names(p, v, link)
	// read passes over kinds without variance, and so does this.
	at := 0
	for f := c.Features[hashedAt:]; len(f) > 0; f = f[4:] {
		kind := kindOf(f)
		if kind >= inputKinds || w.variance[kind] == 0 {
			continue
		}
		h := x.hashed[at]
		at++
		r := Reason{Kind: ReasonSeen, What: inputKindNames[kind].what, Weight: float64(w.weights.means[h.place] * h.value)}
		if s := names[binary.LittleEndian.Uint32(f)]; s != "" {
			if r.What = s; kind == kindWord {
				r.Kind = ReasonWord
			}
		}
		add(r)
	}
	return byWeight(out)
}

// byWeight sorts reasons, those of the most weight first.
func byWeight(out []Reason) []Reason {
	slices.SortStableFunc(out, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
	return out
}

// mostUnderWay bounds how many fetches may have ended between the moment at which a link
// was taken and its own end, for that moment to be looked for.
const mostUnderWay = 256

// RestoreBefore looks for what the link led to by its words and places, whose hashes no
// later page changes.
func (w *waggle) RestoreBefore(state []byte, places []web.Candidate, priority float64) (place int, at Moment, err error) {
	place = -1
	n, own := 0, 0
	err = w.restore(state, func(e *entry) {
		if place < 0 {
			if place = slices.IndexFunc(places, func(c web.Candidate) bool { return sameLink(e.b, c.Features) }); place >= 0 {
				own = n
				c := &places[place]
				c.Memory = bytes.Clone(e.b[2:4])
				c.Features = bytes.Clone(featuresOf(e.b))
			}
		}
		n++
		e.rest()
	})
	if err != nil || place < 0 {
		return place, at, errors.Join(err, w.Restore(state))
	}
	n = 0
	var hosts hostSet
	var weights *posterior
	var renewed map[pageKey]renewedVerdict
	var turns alternation
	keep := func(exact bool) {
		at = Moment{w.visits, exact}
		turns = w.alternation
		renewed = maps.Clone(w.renewed)
		hosts, weights = slices.Clone(w.hosts), w.weights.clone()
	}
	err = w.restore(state, func(e *entry) {
		switch {
		case n > own:
		case own-n < mostUnderWay && w.Score(&places[place]) == priority:
			keep(true)
		case n == own && !at.Exact:
			keep(false)
		}
		if n++; n <= own {
			w.apply(e)
		} else {
			e.rest()
		}
	})
	w.weights, w.hosts, w.visits, w.renewed, w.alternation = weights, hosts, at.Known, renewed, turns
	return place, at, err
}

// sameLink tells whether an entry is of a link with these features, by those of them
// that do not depend on the judge.
func sameLink(entry, features []byte) bool {
	of := featuresOf(entry)
	return len(of) >= hashedAt && len(features) >= hashedAt && bytes.Equal(of[hostAt:], features[hostAt:])
}

// featuresOf are the features in an entry of the journal, nil where it has none.
func featuresOf(entry []byte) []byte {
	head := exampleHead
	if len(entry) > 1 && entry[1]&flagNamed != 0 {
		head += 8
	}
	if len(entry) < head || isRenewal(entry) {
		return nil
	}
	return entry[head:]
}

// names tells of the hashed inputs what they are: words as the page writes them, and
// the other links that have the same host, folder or place.
func (w *waggle) names(p *web.Page, v web.Verdict, link int) map[uint32]string {
	out := make(map[uint32]string)
	x := w.readPage(p, v)
	l := w.readLink(&p.Links[link], &x)
	words := text.Spelling{}
	words.Add(w.analyzer, p.Links[link].Anchor)
	words.Add(w.analyzer, p.Links[link].Heading)
	words.Add(w.analyzer, l.address)
	w.hashed(&p.Links[link], &x, &l, func(h uint32, k inputKind, first, second string) {
		switch k {
		case kindWord:
			out[h] = words.Of(first)
		case kindPair:
			out[h] = "“" + words.Of(first, second) + "” in the anchor"
		case kindHeading:
			out[h] = "“" + words.Of(first) + "” in the heading"
		case kindAddress:
			out[h] = "“" + words.Of(first) + "” in the address"
		case kindHost:
			out[h] = "links to the host " + first
		case kindFolder:
			out[h] = "links to the folder " + first
		case kindAbove:
			out[h] = "links below " + first
		case kindShape:
			out[h] = "links to addresses of the same shape"
		case kindFrom:
			out[h] = "links on pages of " + first
		case kindPage:
			out[h] = "other links of the page"
		case kindPlace:
			out[h] = "links at the same place of pages of " + first
		case kindBlock:
			out[h] = "other links at the same place of the page"
		case kindAnchor:
			out[h] = "links with the same anchor"
		}
	})
	return out
}
