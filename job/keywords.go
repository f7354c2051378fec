package job

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// keywords is the path of the keywords of a topic.
const keywords = event.SettingKeywords

// reword is crawl.Crawl.Reword: it says whether the topic may have these keywords, and
// keeps them.
func (m *Maker) reword(words []string) (crawl.Rewording, error) {
	then := *m.Job
	then.Topic.Keywords = words
	if err := cmp.Or(then.checkReword(), then.Check()); err != nil {
		return crawl.Rewording{}, err
	}
	if m.Topic != nil {
		t := *m.Topic
		t.Keywords, t.Language = words, m.words().Languages()
		if err := t.Validate(); err != nil {
			return crawl.Rewording{}, err
		}
	}
	s, _ := Lookup(keywords)
	return crawl.Rewording{
		Changed: event.Changed{Setting: s.Path, Old: s.Text(m.Job), New: s.Text(&then)},
		Keep: func() error {
			m.Job.Topic.Keywords = words
			return m.saveJob()
		},
	}, nil
}

// stored is crawl.Crawl.Stored.
func (m *Maker) stored(ctx context.Context) iter.Seq2[*web.Page, error] {
	return collection.Readable(m.Writer.Pages(ctx, m.Parser, nil))
}

// takeKeywords gives the job of a crawl that goes on the keywords that a person gave it
// while it ran, where the job still has those before: a run may have died between the turn
// of that act and the job file. Where the crawl was judged anew since, the job file has
// those of now. The languages of the topic stay those of the keywords before the first act, be it
// of a round before: terms and state of the judge are in them.
func (m *Maker) takeKeywords() {
	var logs []collection.Collection // of the rounds before and of this crawl
	for _, c := range []*collection.Collection{m.Before, m.Begun} {
		if c != nil {
			logs, _ = c.RoundsBefore() // an error is of the working directory, and told elsewhere
			logs = append(logs, *c)
		}
	}
	for i, c := range slices.Backward(logs) {
		g := givenKeywords(c)
		if g == nil {
			continue
		}
		if own := m.Begun != nil && i == len(logs)-1; own && !m.rejudging && slices.Equal(m.Job.Topic.Keywords, g.before) {
			m.Job.Topic.Keywords, m.first.Keywords = slices.Clone(g.now), g.now
		}
		if g.acted && slices.Equal(m.first.Keywords, g.now) {
			m.first.Keywords = g.first
		}
	}
}

// actKeywords are the keywords that acts gave a crawl.
type actKeywords struct {
	now, before []string // those of the last act, and those that it found
	first       []string // those that the first act found, if acted
	acted       bool     // those of now follow from first by acts alone
}

// givenKeywords reads the keywords that acts gave a crawl from its log; nil where those of now are from elsewhere.
func givenKeywords(c collection.Collection) *actKeywords {
	var acts []event.Act
	var g actKeywords
	own := false // the next change belongs to an act
	last := -1   // of acts, the one that gave keywords; -1 where they are from elsewhere
	for e, err := range c.CommittedKinds(event.Act{}.Kind(), event.Changed{}.Kind()) {
		if err != nil {
			continue // the log is damaged there, which is told elsewhere
		}
		switch e := e.(type) {
		case event.Act:
			acts = append(acts, e)
			if e.Refused == "" && (e.Do == event.Keywords || e.Do == event.Undo && e.Act <= len(acts) && acts[e.Act-1].Do == event.Keywords) {
				was, _ := event.KeywordsAfter(acts[:len(acts)-1])
				is, _ := event.KeywordsAfter(acts)
				if e.Do == event.Keywords || !slices.Equal(was, is) { // else a later act had replaced them
					own, last = true, len(acts)-1
				}
				if e.Do == event.Keywords && !g.acted {
					g.first, g.acted = e.KeywordsBefore, true
				}
			}
		case event.Changed:
			if e.Setting != keywords {
				continue
			}
			if !own {
				last, g.acted = -1, false
			}
			own = false
		}
	}
	if last < 0 {
		return nil
	}
	var ok bool
	if g.before, ok = event.KeywordsAfter(acts[:last]); !ok {
		g.before = acts[last].KeywordsBefore
	}
	g.now, _ = event.KeywordsAfter(acts)
	return &g
}
