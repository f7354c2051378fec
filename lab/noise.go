package lab

import (
	"math"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// noisyScorer gives a scorer wrong verdicts of a share of the pages: each is the
// verdict of a page that was judged before, drawn at random. So the share of pages
// that are told to be relevant stays nearly what it was. What the judge knows, and
// what counts as a hit, do not change.
//
// A verdict on which another page's was put stays so for the whole crawl, also where
// the judge renews its own. What a person says of a page is told as it was said.
type noisyScorer struct {
	watchedScorer         // which has what only some scorers have
	share         float64 // of the pages, in [0,1]
	seed          uint64

	lock     sync.Mutex       // Extract may be called concurrently
	verdicts []web.Verdict    // as the judge gave them at first, each page once
	judged   map[web.URL]bool // the pages of verdicts
	wrong    map[web.URL]web.Verdict
}

func newNoisyScorer(s watchedScorer, share float64, seed uint64) *noisyScorer {
	return &noisyScorer{watchedScorer: s, share: share, seed: seed, judged: map[web.URL]bool{}, wrong: map[web.URL]web.Verdict{}}
}

// verdictFor is the verdict of p that the scorer is given; p may be nil.
func (n *noisyScorer) verdictFor(p *web.Page, v web.Verdict) web.Verdict {
	if p == nil {
		return v
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if !n.judged[p.URL] {
		chance := func(of string) uint64 { return xxh3.HashStringSeed(of+" "+p.URL.String(), n.seed) }
		if float64(chance("wrong"))/math.MaxUint64 < n.share && len(n.verdicts) > 0 {
			n.wrong[p.URL] = n.verdicts[chance("which")%uint64(len(n.verdicts))]
		}
		n.judged[p.URL], n.verdicts = true, append(n.verdicts, v)
	}
	if other, ok := n.wrong[p.URL]; ok {
		return other
	}
	return v
}

func (n *noisyScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	return n.watchedScorer.Extract(p, n.verdictFor(p, v))
}

func (n *noisyScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return n.watchedScorer.Visit(c, p, n.verdictFor(p, v))
}

func (n *noisyScorer) Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool) {
	if judged {
		v = n.verdictFor(p, v)
	}
	n.watchedScorer.Label(c, p, v, judged)
}

func (n *noisyScorer) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return n.watchedScorer.Recall(c, p, n.verdictFor(p, v))
}

func (n *noisyScorer) Renew(pages []web.Renewal) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.watchedScorer.Renew(slices.DeleteFunc(slices.Clone(pages), func(r web.Renewal) bool {
		_, other := n.wrong[r.URL]
		return other
	}))
}
