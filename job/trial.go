package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Trial is what a judge says of an example page before a crawl begins. The texts are
// untrusted.
type Trial struct {
	Source   string // as the job calls the page
	Title    string
	Negative bool   // it is an example of what is not wanted
	Missing  string // why it cannot be judged; "" = it was
	// Knows says that the judge was made of this page as well: without it nothing is
	// left to make a judge of.
	Knows     bool
	Relevance float64
	Relevant  bool
}

// Right tells whether the judge says what the person does.
func (t Trial) Right() bool { return t.Missing == "" && t.Relevant != t.Negative }

// Try has each example page of a new crawl judged by a judge that was made of all else
// that the job says, so that it does not know the page: as it will be with the pages of
// the crawl. notes are what a judge of all of them says of itself. Nothing is kept.
func (m *Maker) Try(ctx context.Context) (trials []Trial, notes []string, err error) {
	if err := m.begin(); err != nil {
		return nil, nil, err
	}
	note := m.Note
	defer func() { m.Note = note }()
	m.Note = func(s string) {
		notes = append(notes, s)
		note(s)
	}
	if m.Known == nil {
		m.Known = map[string]collection.Example{}
	}
	if err := m.MakeJudge(ctx); err != nil {
		return nil, nil, err
	}
	whole := m.Topic
	defer func() { m.Topic = whole }()
	pages := m.examplePages()
	m.Note = func(string) {}
	for _, list := range []struct {
		sources  []string
		negative bool
	}{{m.Job.Topic.Examples, false}, {m.Job.Topic.Negatives, true}} {
		for _, src := range list.sources {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			t := Trial{Source: src, Negative: list.negative}
			if p := pages[src]; p == nil {
				t.Missing = "it could not be had"
				if err := m.lost[src]; err != nil {
					t.Missing += ": " + err.Error()
				}
			} else if t.Title = p.Title; len(p.Terms) == 0 {
				t.Missing = "it has no text"
			} else if err := m.try(ctx, &t, p, whole); err != nil {
				return nil, nil, err
			}
			trials = append(trials, t)
		}
	}
	return trials, notes, nil
}

// examplePages are the example pages that there are, parsed, by what the job calls them.
func (m *Maker) examplePages() map[string]*web.Page {
	out := map[string]*web.Page{}
	for src, e := range m.Known {
		if p, err := ParseExample(m.Parser, e); err == nil {
			out[src] = p
		}
	}
	return out
}

// try judges a page by a judge of a topic without it.
func (m *Maker) try(ctx context.Context, t *Trial, p *web.Page, whole *topic.Topic) error {
	without := *whole
	same := func(x *web.Page) bool { return x.Title == p.Title && x.Main == p.Main } // of what is the same, one is in the topic
	without.Examples = slices.DeleteFunc(slices.Clone(whole.Examples), same)
	without.Negatives = slices.DeleteFunc(slices.Clone(whole.Negatives), same)
	m.Topic = &without
	j, err := m.newJudge()
	if err != nil { // nothing is left of which one could be made
		t.Knows = true
		m.Topic = whole
		if j, err = m.newJudge(); err != nil {
			return &Error{"judge", err}
		}
	}
	v, err := j.Judge(ctx, p)
	if closing := j.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("judging %s: %w", t.Source, err)
	}
	t.Relevance, t.Relevant = v.Relevance, v.Relevant
	return nil
}
