package judge

import (
	"errors"

	"github.com/waggle-crawler/waggle/topic"
)

// newKeyword makes the judge "topic" of the keywords alone.
func newKeyword(t *topic.Topic, o Options) (Judge, error) {
	if len(t.Keywords) == 0 {
		return nil, errors.New("the topic has no keywords: give some, or choose the judge topic")
	}
	return newFused("keyword", &topic.Topic{Name: t.Name, Keywords: t.Keywords}, o, defaultRecipe()), nil
}
