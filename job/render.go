package job

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/render"
	"github.com/waggle-crawler/waggle/web"
)

// makeRenderer makes what gives pages to a browser, where the job asks for that and the pages
// come from the network. A browser is started when the first page needs it. Where all pages
// are to be rendered it is tried before: the error says what is missing.
func (m *Maker) makeRenderer(ctx context.Context) error {
	stack, live := m.Fetcher.(*fetch.Stack)
	how := crawl.Render(m.Job.Fetch.Render)
	if m.Renderer != nil || !live || how == crawl.RenderNever {
		return nil
	}
	f := &m.Job.Fetch
	scope := m.Job.policy().Scope
	seeds := make(map[string]bool, len(m.Seeds))
	for _, u := range m.Seeds {
		seeds[u.Host().Domain()] = true
	}
	pool, err := render.New(render.Options{
		Unsandboxed: f.Unsandboxed, Browsers: f.Browsers, Limits: render.Limits{Time: time.Duration(f.BrowserTime), Memory: int64(f.BrowserBytes)},
		Resources: stack.Resources(), Origin: fetch.WithOrigin, Page: fetch.WithPage, Cookies: m.cookies, Agent: fetch.Agent + "/" + Version,
		Refuse: func(page, u web.URL) web.Reason { return scope.Asks(page, u, seeds) },
		Note:   m.Note, Clock: m.Clock,
	})
	var absent *devtools.AbsentError
	switch {
	case errors.As(err, &absent) && how != crawl.RenderAlways:
		m.Renderer = &browsers{absent: err, note: m.Note}
		return nil
	case err != nil:
		return &Error{"fetch.render", err}
	}
	m.closers = append(m.closers, pool.Close)
	if how == crawl.RenderAlways {
		if err := pool.Try(ctx); err != nil {
			return &Error{"fetch.render", err}
		}
	}
	m.Renderer = &browsers{pool: pool, note: m.Note}
	return nil
}

// browsers renders pages as long as there is a browser. Where there is none, or none starts,
// pages are as they were sent. The user is told the first once, and the second by the pool.
type browsers struct {
	pool   *render.Pool
	absent error
	note   func(string)
	once   sync.Once
}

// Render is for crawl.Renderer.
func (b *browsers) Render(ctx context.Context, r *web.Response, priority float64) (*web.Rendering, error) {
	if b.absent != nil {
		b.once.Do(func() {
			b.note("some pages are made by scripts and are not rendered, so they are taken as they are sent: " + b.absent.Error())
		})
		return nil, ctx.Err()
	}
	if by, err := b.pool.Render(ctx, r, priority); err == nil {
		return by, nil
	}
	return nil, ctx.Err()
}
