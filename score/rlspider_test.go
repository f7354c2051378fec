package score_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Rennie & McCallum: the posterior mean of the bins, by hand. One link to
// steel is worth 0, one to a hive .5, one to bees 1.5; shares of the three
// words by Laplace's rule are ½ for a bin's own and ¼ for the others.
func TestRLSpider(t *testing.T) {
	link := func(anchor string) *web.Link { return &web.Link{URL: parse("http://a.test/"), Anchor: anchor} }
	links := []*web.Link{link("steel"), link("hive"), link("bees")}
	words := feature.CountWords(3, 1, func(i int) []string { return feature.LinkWords(nil, analyzer, links[i]) }, nil)
	var documents []sparse.Vector
	for _, l := range links {
		documents = append(documents, words.Link(analyzer, l))
	}
	learnt, err := bayes.Train(documents, []int{0, 1, 2}, bayes.Options{Classes: 3, Vocabulary: words.Len()})
	if err != nil {
		t.Fatal(err)
	}
	m := &model.File{Kind: model.RLSpider, Payload: &model.Classes{Words: words, Bayes: learnt, Values: []float64{0, 0.5, 1.5}}}
	s := newScorer(t, "rlspider", score.Options{Model: m})
	got := along(s, pageOf("bees", "hive", "steel", "else", "bees bees", "steel bees"))
	for i, want := range []float64{
		0.25*0.5 + 0.5*1.5,                   // posteriors ¼ ¼ ½
		0.5*0.5 + 0.25*1.5,                   // ¼ ½ ¼
		0.25*0.5 + 0.25*1.5,                  // ½ ¼ ¼
		(0.5 + 1.5) / 3,                      // nothing known
		(0.5 + 4*1.5) / 6,                    // 1/16 1/16 1/4
		(0.0625*0.5 + 0.125*1.5) / (5. / 16), // 1/8 1/16 1/8
	} {
		nearly(t, "link", got[i], want)
	}
	if top := s.Score(&web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}); top != 1.5 {
		t.Errorf("a seed has %v, and no link can be above 1.5", top)
	}
}

// Learnt from a web, the words of links that lead on are worth more.
func TestRLSpiderLearns(t *testing.T) {
	s := newScorer(t, "rlspider", score.Options{})
	got := along(s, pageOf("bees", "heavy steel"))
	if got[0] <= got[1] {
		t.Errorf("bees %v, heavy steel %v", got[0], got[1])
	}
}
