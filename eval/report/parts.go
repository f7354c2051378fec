package report

import (
	"fmt"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
)

// whole is the topic that a part belongs to; the topic itself, if it is not a part.
func (t Topic) whole() eval.TopicID {
	id := t.TopicID
	if t.Part != "" {
		id.Topic = strings.TrimSuffix(id.Topic, "@"+t.Part)
	}
	return id
}

// joinParts makes repeats of one topic of its parts. Parts share keywords and what
// teaches, and are not independent: taken for topics they would make intervals too
// narrow and p too small. Parts on which nothing can be found are in no mean. From here
// on Topics are whole ones, with the means of their parts, and parts as they were given.
func (b *builder) joinParts() {
	b.parts = b.Topics
	b.Topics = nil
	of := map[eval.TopicID][]Topic{}
	for _, t := range b.parts {
		id := t.whole()
		of[id] = append(of[id], t)
	}
	place := map[eval.TopicID]int{} // of a part among those of its topic
	wholes := map[eval.TopicID]eval.TopicID{}
	done := map[eval.TopicID]bool{}
	for _, t := range b.parts {
		id := t.whole()
		if t.Part != "" {
			wholes[t.TopicID], b.count[id] = id, len(of[id])
		}
		if !done[id] {
			done[id] = true
			b.Topics = append(b.Topics, b.joined(id, of[id], place))
		}
	}
	shown := b.shown[:0]
	for _, c := range b.shown {
		part := id(c)
		if of, ok := wholes[part]; ok {
			if b.barren[part] {
				continue
			}
			c.Topic, c.Repeat = of.Topic, c.Repeat*b.count[of]+place[part]
		}
		shown = append(shown, c)
	}
	b.shown = shown
}

// joined is a topic of parts, or of itself alone.
func (b *builder) joined(id eval.TopicID, parts []Topic, place map[eval.TopicID]int) Topic {
	if len(parts) == 1 && parts[0].Part == "" {
		return parts[0]
	}
	out, n := Topic{TopicID: id}, 0
	for i, t := range parts {
		place[t.TopicID] = i
		if t.Dev {
			out.Dev, b.dev[id] = true, true
		}
		if b.barren[t.TopicID] {
			continue
		}
		n++
		out.Reachable += (t.Reachable - out.Reachable) / float64(n)
		if n == 1 {
			out.Points = t.Points
			out.Bound, out.Greedy = append([]float64(nil), t.Bound...), append([]float64(nil), t.Greedy...)
			out.BoundRead, out.GreedyRead = append([]float64(nil), t.BoundRead...), append([]float64(nil), t.GreedyRead...)
			continue
		}
		out.Add(t, n)
	}
	if n == 0 {
		b.barren[id] = true
	}
	return out
}

// averaged says what was averaged into topics, "" where nothing was.
func (b *builder) averaged() (out []string) {
	for _, w := range b.Webs {
		topics, parts := 0, 0
		for _, t := range b.Topics {
			if n := b.count[t.TopicID]; n > 0 && t.Web == w.Name {
				topics++
				parts += n
			}
		}
		if parts > topics {
			out = append(out, fmt.Sprintf("%s: %s in %s, of which each is crawled on its own. The parts of a topic are averaged as its repeats are, before means, intervals, tests and the topics needed: they have their words and what teaches in common, and count as one. Each part by itself is in values.csv.",
				b.webName(w.Name), count(topics, "topic"), count(parts, "part")))
		}
	}
	return out
}
