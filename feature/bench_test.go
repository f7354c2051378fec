package feature_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// invented makes pages of a usual size: 600 terms, 25 of them in headings, 15
// image texts, 100 links.
func invented(n int) (pages []*web.Page) {
	draw := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("w%dx", int(draw.ExpFloat64()*1500)) }
	for i := range n {
		p := &web.Page{
			URL: address(fmt.Sprintf("http://h%d.test/dir/page%d.html", i%7, i)), Description: word() + " " + word() + " " + word(),
			Keywords: word() + ", " + word(),
		}
		terms := map[string]bool{}
		text := ""
		for len(terms) < 600 {
			w := word()
			if !terms[w] {
				terms[w] = true
				text += fmt.Sprintf("%s=%d/%d ", w, 1+draw.IntN(4), max(0, 25-len(terms)))
			}
		}
		p.Terms = page(text).Terms
		for range 15 {
			p.Alts = append(p.Alts, word()+" "+word())
		}
		for k := range 100 {
			p.Links = append(p.Links, web.Link{URL: address(fmt.Sprintf("http://h%d.test/dir/other%d.html?id=%d", k%9, k, i)), Anchor: word() + " " + word() + " " + word()})
		}
		pages = append(pages, p)
	}
	return pages
}

func inventedSpace(b *testing.B) (*feature.Space, []*web.Page) {
	pages := invented(300)
	var examples []feature.Example
	for _, p := range pages {
		x := feature.Example{Page: p}
		for i := range p.Links {
			x.Links = append(x.Links, &p.Links[i])
		}
		examples = append(examples, x)
	}
	t := &topic.Topic{Description: "w1x w2x w3x", Keywords: []string{"honey bees", "waggle dance"}, Examples: pages[:15]}
	s, err := feature.Build(t, examples, feature.Options{Analyzer: analyzer})
	if err != nil {
		b.Fatal(err)
	}
	b.Log(s)
	return s, pages
}

// A page is to take at most 300 µs.
func BenchmarkPage(b *testing.B) {
	s, pages := inventedSpace(b)
	for i := 0; b.Loop(); i++ {
		s.Page(pages[i%len(pages)])
	}
}

// A link is to take at most 3 µs.
func BenchmarkLink(b *testing.B) {
	s, pages := inventedSpace(b)
	for i := 0; b.Loop(); i++ {
		s.Outlink(s.Link(&pages[i%len(pages)].Links[i%100]))
	}
}
