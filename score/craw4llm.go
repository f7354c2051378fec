package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/web"
)

// craw4llm orders addresses by the quality of the pages that link there: of several
// pages the first one's, the least, or the mean. Quality is the judge's relevance.
//
// Source: Yu, Liu & Xiong, Craw4LLM: Efficient Web Crawling for LLM Pretraining, 2025, and
// Neural Prioritisation for Web Crawling, 2025. "Like": the former ranks by the text of
// the page that a link leads to, which no crawl has before it fetches it; as in the
// latter (QFirst, QMin) it is the quality of the pages that hold the link. Their
// classifier of texts is the judge here.
type craw4llm struct {
	journal
	page func(*web.Page, web.Verdict) float64
	of   float64 // 0 first, 1 least, 2 mean

	known map[uint64]quality // by address
}

// quality is what is known of the pages that link to an address.
type quality struct {
	first, least, sum float32
	pages             uint32
}

var _ Scorer = (*craw4llm)(nil)

func craw4llmSettings() []Setting {
	return []Setting{
		{Name: "of", Default: 1, Max: 2, Whole: true, Line: "of several pages that hold a link: 0 the first, 1 the one of least quality, 2 their mean"},
		journalSetting(),
	}
}

func newCraw4LLM(o Options) (Scorer, error) {
	return &craw4llm{journal: newJournal("craw4llm-like", o), page: o.Page, of: math.Trunc(o.set("of")), known: map[uint64]quality{}}, nil
}

// Extract gives each link the hash of its address.
func (*craw4llm) Extract(p *web.Page, _ web.Verdict) [][]byte { return nodes(p, 0) }

// Visit rates the links of the page. The entry is
//
//	quality float32 LE · those of appendLinks
func (c *craw4llm) Visit(from *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	line := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(unit(c.page(p, v)))))
	if line = appendLinks(line, p, from); c.add(line) {
		c.apply(&entry{b: line})
	}
	return nil
}

func (c *craw4llm) apply(e *entry) {
	q := math.Float32frombits(e.uint32())
	_, links := readLinks(e)
	for _, l := range links {
		k, known := c.known[l]
		if !known {
			k = quality{first: q, least: q}
		}
		k.least = min(k.least, q)
		k.sum += q
		k.pages++
		c.known[l] = k
	}
}

// Score is in [0,1]. An address that no page links to, such as a seed, has 1.
func (c *craw4llm) Score(l *web.Candidate) float64 {
	k, ok := c.known[nodeOf(l)]
	switch {
	case !ok:
		return 1
	case c.of == 0:
		return unit(float64(k.first))
	case c.of == 1:
		return unit(float64(k.least))
	}
	return unit(float64(k.sum) / float64(k.pages))
}

func (*craw4llm) Rescores() bool               { return true }
func (c *craw4llm) Restore(state []byte) error { return c.restore(state, c.apply) }
