package judge

import (
	"github.com/waggle-crawler/waggle/topic"
)

// newKeyword makes the judge "topic" of the keywords alone.
func newKeyword(t *topic.Topic, o Options) (Judge, error) {
	return newFused("keyword", &topic.Topic{Name: t.Name, Keywords: t.Keywords}, o, defaultRecipe()), nil
}
