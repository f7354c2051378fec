package score

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

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
	for i, value := range x.dense {
		r := Reason{Kind: ReasonSeen, What: denseNames[i], Weight: float64(w.weights.dense[i].mean * value)}
		switch i {
		case inBias:
			r.Kind, r.What = ReasonPrior, ""
		case inRelevance:
			r.Kind, r.What = ReasonPage, ""
		case inAnchor:
			r.Kind, r.What = ReasonAnchor, ""
		}
		add(r)
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
		r := Reason{Kind: ReasonSeen, What: inputKindNames[kind].what, Weight: float64(w.weights.hashed[h.place].mean * h.value)}
		if s := names[binary.LittleEndian.Uint32(f)]; s != "" {
			if r.What = s; kind == kindWord {
				r.Kind = ReasonWord
			}
		}
		add(r)
	}
	slices.SortStableFunc(out, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
	return out
}

// names tells of the hashed inputs that are words which words they are.
func (w *waggle) names(p *web.Page, v web.Verdict, link int) map[uint32]string {
	out := make(map[uint32]string)
	x := w.readPage(p, v)
	l := w.readLink(&p.Links[link], &x)
	w.hashed(&p.Links[link], &x, &l, func(h uint32, k inputKind, first, second string) {
		switch k {
		case kindWord:
			out[h] = first
		case kindPair:
			out[h] = "“" + first + " " + second + "” in the anchor"
		case kindHeading:
			out[h] = "“" + first + "” in the heading"
		case kindAddress:
			out[h] = "“" + first + "” in the address"
		}
	})
	return out
}
