package judge

import (
	"strings"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// textCache keeps the values of a pure function of short texts: the anchors and addresses of
// a site's menu come again with each of its pages. Each text has one place, by its hash, and
// takes that of another one. Safe for concurrent use.
type textCache struct {
	places [textCachePlaces]atomic.Pointer[textValue]
}

// textValue is a text and the function's value for it.
type textValue struct {
	text  string
	value float64
}

// Bounds of a textCache: 0.7 MB at most.
const (
	textCachePlaces = 1 << 12
	textCacheBytes  = 128 // of a text
)

// get is f(s).
func (r *textCache) get(s string, f func(string) float64) float64 {
	if len(s) > textCacheBytes {
		return f(s)
	}
	place := &r.places[xxh3.HashString(s)%textCachePlaces]
	if x := place.Load(); x != nil && x.text == s {
		return x.value
	}
	v := f(s)
	place.Store(&textValue{strings.Clone(s), v}) // a text is a part of its page
	return v
}
