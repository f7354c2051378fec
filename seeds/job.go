package seeds

import (
	"context"
	"errors"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// For makes a Finder of the judge and the fetcher that a job says: words, contact, parser
// and judge are set. m has not made anything yet; who made it closes it. Errors that are
// for the user to mend are those of m.
func For(ctx context.Context, m *job.Maker) (*Finder, error) {
	m.Types = append(fetch.DefaultTypes(), "text/plain", "application/json", "text/xml", "application/xml",
		"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/gzip", "application/x-gzip", "text/x-cdxj", "text/x-ndjson", "application/x-ndjson",
		"application/octet-stream", "binary/octet-stream") // as files with names such as sitemap.xml.gz are served
	if err := m.MakeJudge(ctx); err != nil {
		return nil, err
	}
	judge, ok := m.Judge.(Judge)
	if !ok {
		return nil, errors.New("the judge cannot tell how like a text is to the topic: choose another")
	}
	f := &Finder{Parser: m.Parser, Analyzer: m.Analyzer, Judge: judge, Words: m.Job.Topic.Keywords, Contact: m.Job.Contact, Note: m.Note}
	f.Get = func(ctx context.Context, u web.URL) (*web.Response, error) {
		m.Seeds = []web.URL{u} // whom a contact may be owed
		if err := m.MakeFetcher(ctx); err != nil {
			return nil, err
		}
		return m.Follow(ctx, u)
	}
	if len(f.Words) == 0 {
		f.Words = TypicalWords(m.Topic.Examples, m.Analyzer, 4, nil)
		if len(f.Words) == 0 && m.Job.Topic.Description != "" {
			f.Words = []string{m.Job.Topic.Description}
		}
	}
	return f, nil
}
