package score

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// linkClasses parts links into a few classes, for strategies that learn what each is
// worth:
//
//	relevance of the page that holds the link, in fifths   5
//	likeness of the anchor to the topic: 0, below ½, above 3
//	the link stays on its host, or leaves it               2
//
// A class is a byte below classCount, and the only feature of a link.
type linkClasses struct {
	page   func(*web.Page, web.Verdict) float64
	anchor func(string) float64
}

const classCount = 5 * 3 * 2

// of are the classes of all links of a page [links].
func (l linkClasses) of(p *web.Page, v web.Verdict) []byte {
	out := make([]byte, len(p.Links))
	fifth := min(4, int(5*unit(l.page(p, v))))
	host := p.URL.Host()
	for i := range p.Links {
		like := 0
		if text := p.Links[i].Anchor; strings.TrimSpace(text) != "" {
			switch a := unit(l.anchor(text)); {
			case a >= 0.5:
				like = 2
			case a > 0:
				like = 1
			}
		}
		leaves := 0
		if p.Links[i].URL.Host() != host {
			leaves = 1
		}
		out[i] = byte((fifth*3+like)*2 + leaves)
	}
	return out
}

// Extract keeps the class of each link.
func (l linkClasses) Extract(p *web.Page, v web.Verdict) [][]byte {
	all := l.of(p, v)
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i : i+1 : i+1]
	}
	return out
}

// classOf is the class of a link that waits; ok is false for a seed.
func classOf(c *web.Candidate) (class byte, ok bool) {
	if len(c.Features) != 1 || c.Features[0] >= classCount {
		return 0, false
	}
	return c.Features[0], true
}

// explainClass tells what the links of a class have in common, and what came of those
// that were fetched; a priority is that of a class whole.
func explainClass(class byte, came string, priority float64) []Reason {
	host := "stays on its host"
	if class%2 == 1 {
		host = "leaves its host"
	}
	anchor := [...]string{"anchor unlike the topic", "anchor a little like the topic", "anchor like the topic"}[class/2%3]
	fifth := float64(class / 6)
	return []Reason{{
		Kind: ReasonSeen, What: fmt.Sprintf("its class: page %.1f–%.1f, %s, %s", fifth/5, (fifth+1)/5, anchor, host), Times: 1, Weight: priority,
	}, {
		Kind: ReasonSeen, What: came, Times: 1,
	}}
}

// Recall is nothing: such scorers keep no memory of paths.
func (linkClasses) Recall(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }

// relevanceOf is the middle of the fifth that a class stands for.
func relevanceOf(class byte) float64 { return (float64(class/6) + 0.5) / 5 }

// errForeignClass is of a state that names a class which there is not.
var errForeignClass = errors.New("score: a class of links that there is not")
