package judge

import (
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Keywords sets the keywords, in place of those before, and makes the view anew. page
// finds a page that was observed before, nil where it is not to be had; of such a page
// the words are known that mattered before. The pages observed so far that are judged
// otherwise now are returned.
func (j *topicJudge) Keywords(words []string, page func(web.URL) (*web.Page, error)) ([]web.Renewal, error) {
	t := topic.Topic{Keywords: words}
	if err := validate(t, j.analyzer); err != nil {
		return nil, err
	}
	wereWords, werePhrases := j.keywords, j.phrases
	j.setKeywords(t.Keywords, inAll(j.analyzer, t.Phrases))
	if j.memory == nil {
		j.view.Store(j.newView(nil))
		return nil, nil
	}
	m := newMemory(j.vocabulary())
	for i := range j.memory.pages {
		old := &j.memory.pages[i]
		p, err := page(old.url)
		if err != nil {
			j.setKeywords(wereWords, werePhrases)
			return nil, err
		}
		if p != nil {
			m.remember(p, web.Verdict{Relevance: float64(old.said)}, j.analyzer.In(p.TermLanguage))
		} else {
			m.add(old.translated(j.memory.vocabulary, m.id))
		}
	}
	m.looked, m.labelled = j.memory.looked, true
	m.shares, m.lessons = j.memory.shares, j.memory.lessons // of the same pages
	j.memory = m
	v := j.newView(m)
	j.view.Store(v)
	return j.renew(v), nil
}

// setKeywords sets the keywords and what is made of them alone.
func (j *topicJudge) setKeywords(words []string, phrases [][]string) {
	j.keywords, j.phrases = words, phrases
	j.keywordStems = map[string]struct{}{}
	for _, phrase := range phrases {
		for _, stem := range phrase {
			j.keywordStems[stem] = struct{}{}
		}
	}
}

// translated is a page by the words of another vocabulary, as far as both have them.
func (p *pageWords) translated(vocabulary []string, id map[string]uint16) pageWords {
	out := *p
	out.words, out.pieces = nil, nil
	for _, w := range p.words {
		if n, ok := id[vocabulary[w.id]]; ok {
			out.words = append(out.words, wordCount{n, w.body, w.head})
		}
	}
	for _, x := range p.pieces {
		var ids []uint16
		for _, old := range x.ids {
			if n, ok := id[vocabulary[old]]; ok {
				ids = append(ids, n)
			}
		}
		if ids != nil {
			out.pieces = append(out.pieces, piece{x.hash, x.kind, ids})
		}
	}
	return out
}
