package corpus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// Listed is a source with topics of a directory of the web: a page that the directory
// lists under a topic is relevant to it. Half of the listed pages that are recorded, at
// most 30, are the seeds and the examples of the topic, and crawls are to find the
// others.
//
// Liu & Milios 2010 (sections 3.1 and 3.2) take targets, keywords and description of a
// topic from the Open Directory, and Chakrabarti, Punera & Subramanyam 2002 (section
// 3.5) start from its examples. Relevance by listing is sure but meagre: a directory
// lists few of the pages that are about a topic.
type Listed struct {
	Of     Source
	Topics []ListedTopic
}

// ListedTopic is a topic of a directory.
type ListedTopic struct {
	Name        string
	Keywords    []string
	Description string // what editors wrote of it
	Pages       []ListedPage
}

// ListedPage is a page that a directory lists, with what editors wrote of it.
type ListedPage struct {
	Address            string
	Title, Description string
}

// Bounds of a listed topic.
const (
	leastListed = 4    // recorded pages, or it is left out
	mostShown   = 30   // seeds and examples
	mostText    = 2000 // bytes of a description
)

func (x Listed) describe(b *builder) error {
	if of, ok := x.Of.(describer); ok {
		return of.describe(b)
	}
	return nil
}

func (x Listed) feed(ctx context.Context, b *builder) error { return x.Of.feed(ctx, b) }

func (x Listed) finish(b *builder) error {
	if of, ok := x.Of.(finisher); ok {
		return of.finish(b)
	}
	return nil
}

// add adds the topics, now that it is known which pages are recorded.
func (x Listed) add(b *builder, w *Web) error {
	m := &b.built.Manifest
	before := len(m.Topics)
	for _, listed := range x.Topics {
		pages := listed.recorded(w)
		if len(pages) < leastListed {
			b.note("topic %s: %d of the %d pages that are listed are recorded: it is left out, as it takes %d", listed.Name, len(pages), len(listed.Pages), leastListed)
			continue
		}
		t := listed.topic(pages[:min(mostShown, len(pages)/2)])
		t.Truth = "truth/" + fileName(t.Name) + ".txt"
		for _, other := range m.Topics {
			switch {
			case other.Name == t.Name:
				return fmt.Errorf("the topic %s of the directory has the name of one that is there: rename one", t.Name)
			case other.Truth == t.Truth:
				return fmt.Errorf("the topics %q and %q would share the file %s: rename one", other.Name, t.Name, t.Truth)
			}
		}
		var truth []web.URL
		for _, p := range pages {
			truth = append(truth, p.at)
		}
		if err := b.truth(&t, truth); err != nil {
			return err
		}
		m.Topics = append(m.Topics, t)
	}
	if len(m.Topics) == before {
		return fmt.Errorf("no topic of the directory has %d pages that are recorded%s", leastListed, notes(b.built.Notes))
	}
	return nil
}

// listedAt is a listed page with the address at which it is recorded.
type listedAt struct {
	ListedPage
	at web.URL
}

// recorded are the listed pages that are recorded, each once, in an order by chance that
// is the same whenever the same pages are listed.
func (t *ListedTopic) recorded(w *Web) []listedAt {
	var out []listedAt
	for _, p := range t.Pages {
		u, err := w.Canon().Parse(p.Address)
		for range maxRedirects {
			if st := w.Status(u); err != nil || st < 300 || st > 399 {
				break
			}
			var r *web.Response
			if r, err = w.Lookup(u); err == nil {
				u = r.Location
			}
		}
		if err == nil && w.Status(u) == 200 { // what is no address of the web is not recorded
			out = append(out, listedAt{p, u})
		}
	}
	slices.SortStableFunc(out, func(a, b listedAt) int {
		x, y := a.at.String(), b.at.String()
		return cmp.Or(cmp.Compare(xxh3.HashString(x), xxh3.HashString(y)), cmp.Compare(x, y))
	})
	return slices.CompactFunc(out, func(a, b listedAt) bool { return a.at == b.at })
}

// topic is a topic of which some of the pages are shown to crawls.
func (t *ListedTopic) topic(shown []listedAt) Topic {
	out := Topic{Name: t.Name, Keywords: t.Keywords}
	var text []string
	size := 0
	add := func(s string) {
		if s != "" && !slices.Contains(text, s) && size+len(s) <= mostText {
			text = append(text, s)
			size += len(s) + len(". ")
		}
	}
	add(t.Description)
	for _, p := range shown {
		out.Seeds = append(out.Seeds, p.at)
		add(p.Title)
		add(p.Description)
	}
	out.Examples = slices.Clone(out.Seeds)
	out.Description = strings.Join(text, ". ")
	return out
}
