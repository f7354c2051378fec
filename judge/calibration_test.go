package judge

import (
	"math"
	"testing"
)

// The same score promises more on a page of a crawl, the more so the more pages
// were seen. The expected numbers are made by hand, with T = 1 everywhere:
// x = ln(1 + 0.02), logit = 1.82·x − 3.81 + 0.9·n/(n + 32).
func TestCrawlOffset(t *testing.T) {
	r := defaultConstants()
	j := &topicJudge{constants: r}
	for n, want := range map[int]float64{0: 0.022446, 32: 0.034758, 64: 0.040157, 256: 0.048616} {
		v := &view{reference: 1, crawl: r.crawlOffset(n), slope: r.slope, offset: r.offset}
		if p := j.relevance(v, 1); math.Abs(p-want) > 1e-6 {
			t.Errorf("after %d pages the relevance is %.6f, want %.6f", n, p, want)
		}
		if p := j.relevance(v, 0); p != 0 {
			t.Errorf("after %d pages a page without a score has relevance %v", n, p)
		}
	}
}
