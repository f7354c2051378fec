package examples

import (
	"iter"
	"maps"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// Topics are the topics that a critic was trained with.
type Topics struct {
	pages map[string]int // in each, and below it
	below map[string][]string
}

// TopicsOf reads them from the record of the training.
func TopicsOf(rec *judge.Record) Topics {
	t := Topics{map[string]int{}, map[string][]string{}}
	for i, class := range rec.Classes {
		for p := class; p != ""; p = taxonomy.Parent(p) {
			if _, known := t.pages[p]; !known {
				up := taxonomy.Parent(p)
				t.below[up] = append(t.below[up], p)
			}
			t.pages[p] += rec.Pages[i]
		}
	}
	return t
}

// Has tells whether there is a page in a topic.
func (t Topics) Has(topic string) bool { return t.pages[topic] > 0 }

// Pages is how many pages there are in a topic.
func (t Topics) Pages(topic string) int { return t.pages[topic] }

// Below are the topics right below one.
func (t Topics) Below(topic string) []string { return t.below[topic] }

// All are all topics, in no order.
func (t Topics) All() iter.Seq[string] { return maps.Keys(t.pages) }
