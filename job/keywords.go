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
		t.Keywords = words
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
// those of now. The languages of the topic stay those of the keywords before the first act:
// terms and state of the judge are in them.
func (m *Maker) takeKeywords() {
	if m.Begun == nil {
		return
	}
	var acts []event.Act
	var first []string // the keywords before acts gave others
	acted := false     // first is known
	own := false       // the next change belongs to an act
	last := -1         // of acts, the one that gave keywords; -1 where they are from elsewhere
	for e, err := range m.Begun.CommittedKinds(event.Act{}.Kind(), event.Changed{}.Kind()) {
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
				if e.Do == event.Keywords && !acted {
					first, acted = e.KeywordsBefore, true
				}
			}
		case event.Changed:
			if e.Setting != keywords {
				continue
			}
			if !own {
				last, acted = -1, false
			}
			own = false
		}
	}
	if last < 0 {
		return
	}
	before, ok := event.KeywordsAfter(acts[:last])
	if !ok {
		before = acts[last].KeywordsBefore
	}
	words, _ := event.KeywordsAfter(acts)
	if !m.rejudging && slices.Equal(m.Job.Topic.Keywords, before) {
		m.Job.Topic.Keywords = slices.Clone(words)
	}
	if acted && slices.Equal(m.Job.Topic.Keywords, words) {
		m.first.Keywords = first
	}
}
