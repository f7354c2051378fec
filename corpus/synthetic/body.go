package synthetic

import (
	"math/bits"
	"strconv"

	"github.com/waggle-crawler/waggle/corpus"
)

// body writes an original page:
//
//	title · menu (template) · boilerplate · content: words and links in
//	alternation · calendar, on hosts that have one
func (w *Web) body(g page) []byte {
	topic, level := w.topic(g), w.levelOf(g)
	s := w.stream("body", g.host, g.n)
	links := (w.opt.Links + 1) / 2
	links += s.below(2*(w.opt.Links-links) + 1)
	b := make([]byte, 0, 1024+8*(w.opt.Words+w.opt.Boilerplate)+96*(links+w.opt.Template))
	b = append(b, "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=generator content=\""+corpus.SyntheticMark+"\"><title>"...)
	signal := w.opt.Signal
	for range level {
		signal *= w.opt.Decay
	}
	for i := range 4 {
		if i > 0 {
			b = append(b, ' ')
		}
		b = w.appendWord(b, &s, w.vocabulary(&s, topic, level), signal)
	}
	b = append(b, "</title></head><body>\n<ul class=menu>"...)
	b = w.appendMenu(b, g.host)
	b = append(b, "</ul>\n<div class=banner><p>"...)
	b = w.appendBoilerplate(b, g.host)
	b = append(b, "</p></div>\n<div class=content><p>"...)
	written := 0
	for i := range links {
		for ; written < (i+1)*w.opt.Words/links; written++ {
			b = w.appendWord(b, &s, w.vocabulary(&s, topic, level), signal)
			b = append(b, ' ')
		}
		to := w.target(&s, g, i, topic, level)
		if w.opt.Trail > 0 && w.levelOf(to) < level-1 && s.chance(w.opt.Trail) {
			to = w.far(&s, topic, to)
		}
		b = w.appendLink(b, &s, to)
		if i%5 == 4 {
			b = append(b, "</p>\n<p>"...)
		}
	}
	b = append(b, "</p></div>\n"...)
	if w.hasTrap(g.host) {
		b = appendDay(b, g.host, s.below(entryDays), "calendar")
	}
	return append(b, "</body></html>\n"...)
}

// target draws what link i of a page leads to. The first leads one level
// nearer.
func (w *Web) target(s *stream, g page, i, topic, level int) page {
	if i == 0 && level >= 1 && level <= w.opt.Hops {
		if to, ok := w.sample(s, topic, level-1); ok {
			return to
		}
	}
	switch {
	case s.chance(w.opt.Locality):
		if s.chance(w.opt.Near) {
			beside := min(max(level+s.below(3)-1, 0), w.opt.Hops+1)
			if to, ok := w.sample(s, topic, beside); ok {
				return to
			}
		}
		return w.ofTopic(s, topic)
	case s.chance(w.opt.Inside):
		return page{g.host, s.below(w.opt.PagesPerHost)}
	}
	return w.anyPage(s)
}

// far draws a page of a topic with no path to a target; instead where there is none.
func (w *Web) far(s *stream, topic int, instead page) page {
	if to, ok := w.sample(s, topic, w.opt.Hops+1); ok {
		return to
	}
	return instead
}

// appendLink writes a link, by way of a redirect or to nowhere where it comes
// to that. The promise of a nearer level survives a redirect, and a dead link
// stands beside the link it would replace.
func (w *Web) appendLink(b []byte, s *stream, to page) []byte {
	if s.chance(w.opt.Dead) {
		b = append(b, "<a href=\""...)
		b = appendHost(b, to.host)
		b = append(b, "/gone/"...)
		b = strconv.AppendInt(b, int64(s.below(1e6)), 10)
		b = append(b, "\">gone</a> "...)
	}
	b = append(b, "<a href=\""...)
	if s.chance(w.opt.Redirects) {
		b = appendHost(b, to.host)
		b = append(b, "/moved/"...)
		b = strconv.AppendInt(b, int64(to.n), 10)
	} else {
		b = w.appendAddress(b, to)
	}
	b = append(b, "\">"...)
	topical := 0.
	if s.chance(w.opt.Anchors) {
		topical = 1
	}
	topic, level := w.topic(to), w.levelOf(to)
	for i := range 1 + s.below(3) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = w.appendWord(b, s, w.vocabulary(s, topic, level), topical)
	}
	return append(b, "</a> "...)
}

// appendMenu writes the links that all pages of a host share: its home page
// and its first pages.
func (w *Web) appendMenu(b []byte, host int) []byte {
	s := w.stream("menu", host, 0)
	for i := range min(w.opt.Template, w.opt.PagesPerHost) {
		b = append(b, "<li><a href=\""...)
		b = w.appendAddress(b, page{host, i})
		b = append(b, "\">"...)
		b = w.appendWord(b, &s, 0, 0)
		b = append(b, "</a></li>"...)
	}
	return b
}

// appendBoilerplate writes the words that all pages of a host share; one in
// ten is of its home topic.
func (w *Web) appendBoilerplate(b []byte, host int) []byte {
	s := w.stream("boilerplate", host, 0)
	for i := range w.opt.Boilerplate {
		if i > 0 {
			b = append(b, ' ')
		}
		b = w.appendWord(b, &s, host%w.opt.Topics, 0.1)
	}
	return b
}

// entryDays is the number of days of a calendar that pages lead to.
const entryDays = 1000

// calendar writes the page of a day, which leads to the next, and to a day
// that no other page leads to.
func (w *Web) calendar(host, day int) []byte {
	b := append([]byte(nil), "<!doctype html><html lang=en><head><meta name=generator content=\""+corpus.SyntheticMark+"\"><title>Day "...)
	b = strconv.AppendInt(b, int64(day), 10)
	b = append(b, "</title></head><body>\n<ul class=menu>"...)
	b = w.appendMenu(b, host)
	b = append(b, "</ul>\n"...)
	b = appendDay(b, host, (day+1)%lastDay, "next day")
	b = appendDay(b, host, (day*7919+104729)%lastDay, "another day")
	return append(b, "</body></html>\n"...)
}

func appendDay(b []byte, host, day int, anchor string) []byte {
	b = append(b, "<a href=\""...)
	b = appendHost(b, host)
	b = append(b, "/calendar?day="...)
	b = strconv.AppendInt(b, int64(day), 10)
	b = append(b, "\">"...)
	b = append(b, anchor...)
	return append(b, "</a>\n"...)
}

// Sizes of vocabularies. Low numbers are common: half of all words drawn are of
// the first eighth.
const (
	topicWords   = 60
	generalWords = 4000
)

// appendWord draws a word: of the topic with the given chance, else a general
// one.
func (w *Web) appendWord(b []byte, s *stream, vocabulary int, topical float64) []byte {
	if s.chance(topical) {
		return appendNumbered(b, vocabulary+1, s.common(topicWords))
	}
	return appendNumbered(b, 0, s.common(generalWords))
}

// vocabulary draws which words tell of a page: those of its topic, or those of its
// topic and level, which are on no target.
func (w *Web) vocabulary(s *stream, topic, level int) int {
	if level > 0 && w.opt.Trail > 0 && s.chance(w.opt.Trail) {
		return w.opt.Topics + topic*(w.opt.Hops+1) + level - 1
	}
	return topic
}

// word is word i of a vocabulary, which is a topic or one of vocabulary's.
func word(vocabulary, i int) string { return string(appendNumbered(nil, vocabulary+1, i)) }

// appendNumbered writes word i of vocabulary v as syllables, so that no two
// are the same: the number in base 64, three syllables at least.
func appendNumbered(b []byte, v, i int) []byte {
	const consonants, vowels = "bdfgklmnprstvxzj", "aeou"
	for n, k := v*generalWords+i, 0; n > 0 || k < 3; n, k = n/64, k+1 {
		b = append(b, consonants[n%64/4], vowels[n%4])
	}
	return append(b, 'k') // an end that no stemmer takes for a suffix
}

// stream is a source of chance whose draws are a function of its first value
// alone, on every machine and with every version of Go.
//
// Source: SplitMix64 (Steele, Lea, Flood 2014).
type stream uint64

// stream starts the draws for a purpose and two numbers.
func (w *Web) stream(purpose string, a, b int) stream {
	h := w.opt.Seed ^ 0x9e3779b97f4a7c15
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * 0x100000001b3
	}
	s := stream(mix(mix(h^uint64(a)*0xd6e8feb86659fd93) ^ uint64(b)*0xa0761d6478bd642f))
	return s
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	return mix(uint64(*s))
}

// below draws from 0…n-1.
func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// chance is true with probability p.
func (s *stream) chance(p float64) bool { return float64(s.next()>>11)/(1<<53) < p }

// common draws from 0…n-1, low numbers more often: the cube of a uniform draw.
func (s *stream) common(n int) int {
	u := s.next() >> 32
	square := u * u >> 32
	cube := square * u >> 32
	return int(cube * uint64(n) >> 32)
}
