package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// MakeTopic brings together what the job says of its topic. The example pages of
// a new crawl are read and fetched, and kept with a Writer, so that a later run
// judges by the same.
func (m *Maker) MakeTopic(ctx context.Context) error {
	if err := m.begin(); err != nil || m.Topic != nil {
		return err
	}
	examples, err := m.examples(ctx)
	if err != nil {
		return err
	}
	t, err := m.topicOf(examples, m.Note)
	if err != nil {
		return err
	}
	m.first.Examples = t.Examples
	languages := m.languages() // which are guessed of the examples, where none are given
	if m.speak(languages) {
		if t, err = m.topicOf(examples, func(string) {}); err != nil {
			return err
		}
	}
	m.Topic = t
	switch given := m.Job.languages(); {
	case len(given) == 0 && !slices.Equal(languages, []string{text.English}):
		m.Note("the topic is taken to be in " + strings.Join(languages, ", ") + "; --language says otherwise")
	case len(given) > 0 && m.Job.byCritic() && !slices.Equal(given, languages):
		m.Note("a critic was trained by the rules of English, and pages are read by them: the language of the topic changes nothing")
	}
	return m.readModelAgain()
}

// topicOf is the topic with these examples; note is told which say nothing.
func (m *Maker) topicOf(examples []collection.Example, note func(string)) (*topic.Topic, error) {
	t := m.Job.written()
	for _, e := range examples {
		page, err := ParseExample(m.Parser, e)
		if err != nil {
			return nil, fmt.Errorf("example %s: %w", e.Source, err)
		}
		if len(page.Terms) == 0 {
			note(fmt.Sprintf("example %s has no text and is left out", e.Source))
			continue
		}
		if e.Negative {
			t.Negatives = append(t.Negatives, page)
		} else {
			t.Examples = append(t.Examples, page)
		}
	}
	return t, nil
}

// written is the topic without examples.
func (j *Job) written() *topic.Topic {
	return &topic.Topic{Name: j.Name, Description: j.Topic.Description, Keywords: j.Topic.Keywords, Language: j.languages()}
}

// examples are the example pages: those kept of a crawl that goes on, or those
// that the job names.
func (m *Maker) examples(ctx context.Context) ([]collection.Example, error) {
	if m.rejudging {
		examples, err := m.gather(ctx)
		m.newExamples = examples
		return examples, err
	}
	if m.Begun != nil {
		if err := m.Begun.CheckExamples(); err != nil {
			return nil, err
		}
		examples, err := m.Begun.Examples()
		if err == nil && len(m.Job.Topic.Examples) > 0 && !folder.Exists(m.Begun.ExampleFile()) && !folder.Exists(m.Begun.SumFile()) {
			err = fmt.Errorf("%s is missing: the judge was made of it and cannot be made again without; put it back, or have the pages judged anew: waggle judge %s", m.Begun.ExampleFile(), m.Begun.Dir())
		}
		return examples, err
	}
	examples, err := m.gather(ctx)
	if err == nil && m.Writer != nil {
		err = m.Writer.SaveExamples(examples)
	}
	return examples, err
}

// gather reads and fetches the example pages. One that cannot be had is left
// out with a word, unless nothing would be left to judge by.
func (m *Maker) gather(ctx context.Context) (examples []collection.Example, err error) {
	var lost []error
	take := func(sources []string, negative bool) error {
		for _, src := range sources {
			e, err := m.example(ctx, src)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				lost = append(lost, fmt.Errorf("example %s: %w", src, err))
				m.Note(fmt.Sprintf("example %s is left out: %v", src, err))
				if m.lost == nil {
					m.lost = map[string]error{}
				}
				m.lost[src] = err
				continue
			}
			if m.Known != nil {
				m.Known[src] = e
			}
			e.Negative = negative
			// Of a page that is shown twice the judge would believe that two pages share its words.
			if i := slices.IndexFunc(examples, func(x collection.Example) bool { return x.Negative == negative && bytes.Equal(x.Body, e.Body) }); i >= 0 && len(e.Body) > 0 {
				m.Note(fmt.Sprintf("example %s is the same page as %s and is left out", src, examples[i].Source))
				continue
			}
			if i := slices.IndexFunc(examples, func(x collection.Example) bool { return x.Negative != negative && bytes.Equal(x.Body, e.Body) }); i >= 0 {
				m.Note(fmt.Sprintf("example %s, which is not wanted, is the same page as %s, which is: leave one of them out", src, examples[i].Source))
			}
			examples = append(examples, e)
		}
		return nil
	}
	t := &m.Job.Topic
	if err := errors.Join(take(t.Examples, false), take(t.Negatives, true)); err != nil {
		return nil, err
	}
	if len(lost) > 0 && len(examples) == 0 && len(t.Keywords) == 0 && t.Description == "" {
		return nil, fmt.Errorf("no example page could be had, and there are no keywords:\n%w", errors.Join(lost...))
	}
	return examples, nil
}

// example brings one example page: a known one, a file, or what is fetched.
func (m *Maker) example(ctx context.Context, src string) (collection.Example, error) {
	if e, ok := m.Known[src]; ok {
		return e, nil
	}
	if !IsAddress(src) {
		return ReadExample(src)
	}
	u, err := web.Parse(src)
	if err != nil {
		return collection.Example{}, err
	}
	if err := m.MakeFetcher(ctx); err != nil {
		return collection.Example{}, err
	}
	m.Note("example " + src)
	r, err := m.Follow(ctx, u)
	if err != nil {
		return collection.Example{}, err
	}
	defer r.Release()
	if r.Status != 200 {
		return collection.Example{}, fmt.Errorf("status %d", r.Status)
	}
	mime := ""
	if v := r.Header["Content-Type"]; len(v) > 0 {
		mime = v[0]
	}
	return collection.Example{Source: src, URL: r.URL.String(), MIME: mime, Body: r.Body}, nil
}

// maxWait is how long an example page is waited for because politeness asks to.
const maxWait = 2 * time.Minute

// Follow fetches a page outside a crawl by the fetcher that was made, and goes on to
// where it has moved. In a crawl there are other pages to fetch while politeness asks
// to wait; here it is this one, and it is waited for up to two minutes in all.
func (m *Maker) Follow(ctx context.Context, u web.URL) (*web.Response, error) {
	var c crawl.Clock = clock.System{}
	if m.Clock != nil {
		c = m.Clock
	}
	way, waited := fetch.Way{u}, time.Duration(0)
	for {
		r, err := way.Follow(ctx, m.Fetcher, 10)
		var f *web.Failure
		if !errors.As(err, &f) || f.Reason != web.ReasonBusy || waited+f.RetryAfter > maxWait {
			return r, err
		}
		waited += f.RetryAfter
		fire, stop := c.NewTimer(f.RetryAfter)
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		}
	}
}

// maxExample bounds an example file, in bytes.
const maxExample = 10 << 20

// ReadExample reads an example page from a file of HTML, or of text where its
// name ends in .txt. Of a larger one the first 10 MiB count.
func ReadExample(name string) (e collection.Example, err error) {
	f, err := os.Open(name)
	if err != nil {
		return e, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxExample))
	if err != nil {
		return e, err
	}
	if kind := http.DetectContentType(b); len(b) > 0 && !strings.HasPrefix(kind, "text/") {
		return e, fmt.Errorf("it is %s, neither text nor HTML", kind)
	}
	return FileExample(name, b), nil
}

// FileExample is an example page of the contents of a file: HTML, or text where its name
// ends in .txt. It has no address of its own; the one that stands for it ends in the
// name, by which judges tell of it.
func FileExample(name string, contents []byte) collection.Example {
	mime := "text/html"
	if strings.EqualFold(filepath.Ext(name), ".txt") {
		mime = "text/plain"
	}
	u := url.URL{Scheme: "http", Host: judge.FileHost, Path: "/" + filepath.Base(name)}
	return collection.Example{Source: name, URL: u.String(), MIME: mime, Body: contents}
}

// ParseExample makes a page of an example.
func ParseExample(p crawl.Parser, e collection.Example) (*web.Page, error) {
	u, err := web.Parse(e.URL)
	if err != nil {
		return nil, err
	}
	return p.Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {e.MIME}}, Raw: e.Body, Body: e.Body,
	})
}
