package judge

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// twoClassCritic is the critic without a taxonomy. Its classes are the topic and Other.
type twoClassCritic struct {
	*bayes
	topic string
	held  FocusResult // of crossValidate
}

// crossValidate holds out each fifth of the examples and of the negative examples in
// turn, and tells how those are judged by what the other four teach. So every
// page is held out once: there are few.
func (p *twoClassCritic) crossValidate(t *topic.Topic, o Options) (s FocusResult) {
	part := func(pages []*web.Page, fold int) (learned, held []*web.Page) {
		for i, page := range pages {
			if i%heldOut == fold {
				held = append(held, page)
			} else {
				learned = append(learned, page)
			}
		}
		return learned, held
	}
	for fold := range heldOut {
		good, goodHeld := part(t.Examples, fold)
		rest, restHeld := part(t.Negatives, fold)
		// What stands for the rest without negative examples is another
		// judge's matter: one is not tried by the other.
		if len(goodHeld)+len(restHeld) == 0 || len(rest) == 0 && len(t.Negatives) > 0 || len(good) == 0 {
			continue
		}
		o.Topic = &topic.Topic{Examples: good, Negatives: rest}
		j, err := newBayes(o)
		if err != nil {
			continue // nothing is left to learn from
		}
		b := j.(*bayes)
		b.words = p.words
		taken := func(pages []*web.Page) (n int) {
			for _, page := range pages {
				if b.probability(page.Terms) >= 0.5 {
					n++
				}
			}
			return n
		}
		s.Good += len(goodHeld)
		s.Found += taken(goodHeld)
		s.Rest += len(restHeld)
		s.False += taken(restHeld)
	}
	return s
}

// Doubts say how the critic did on examples that were held out. Without
// negative examples it is taken to know all others, which is the best that can
// be hoped for.
func (p *twoClassCritic) Doubts() ([]string, error) {
	s := p.held
	if s.Good < fewHeld {
		return []string{fmt.Sprintf("the critic has only %d example pages that could be held out: how well it judges is not known; give %d or more", s.Good, fewHeld)}, nil
	}
	says := fmt.Sprintf("the critic knew %d of %d examples that were held out (a fifth at a time)", s.Found, s.Good)
	balanced := (s.Recall() + 1) / 2
	switch {
	case s.Rest == 0:
		says += "; what it takes for such without being it is not known: negative examples would tell"
	case s.Rest < fewHeld:
		says += fmt.Sprintf(", and took %d of %d negative examples for such, which are too few to tell", s.False, s.Rest)
	default:
		says += fmt.Sprintf(", and took %d of %d negative examples for such", s.False, s.Rest)
		balanced = s.Balanced()
	}
	switch {
	case balanced < leastBalanced:
		return nil, fmt.Errorf("%w: %s. Give more examples, and negative examples of what is near by and not wanted, or leave the judging to another judge, such as topic", ErrBlind, says)
	case balanced < doubtful:
		says += "; this is poor, and more examples of both kinds may mend it"
	}
	return []string{says}, nil
}

// Judge is that of bayes, with the classes.
func (p *twoClassCritic) Judge(ctx context.Context, page *web.Page) (web.Verdict, error) {
	v, err := p.bayes.Judge(ctx, page)
	if err == nil {
		v.Classes = paths(p.Classes(page))
	}
	return v, err
}

// Explain is that of bayes, with the classes.
func (p *twoClassCritic) Explain(page *web.Page) Explanation {
	x := p.bayes.Explain(page)
	x.Verdict.Classes = paths(p.Classes(page))
	return x
}

// Classes are "/" with the name of the topic, and "/Other".
func (p *twoClassCritic) Classes(page *web.Page) []Class {
	r := p.probability(page.Terms)
	return top([]string{"/" + p.topic, "/" + taxonomy.Other}, []float64{r, 1 - r})
}
