package judge

import (
	"github.com/waggle-crawler/waggle/topic"
)

// newKeyword makes the judge "topic" of the keywords alone.
func newKeyword(o Options) (Judge, error) {
	return newTopicJudge("keyword", &topic.Topic{Name: o.Topic.Name, Keywords: o.Topic.Keywords}, o, defaultConstants()), nil
}
