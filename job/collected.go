package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// remedyJob says what helps where the job file of a crawl cannot be used.
const remedyJob = "put the file back, or correct it: events.jsonl tells what it said (started, changed)"

// In is the job of a crawl that was begun. The error names a remedy.
func In(col collection.Collection) (*Job, error) {
	if err := col.CheckJob(); err != nil {
		return nil, err
	}
	j, err := Read(col.JobFile())
	if err != nil {
		return nil, fmt.Errorf("%w:\n%s", err, remedyJob)
	}
	return j, nil
}

// Damage is why a crawl cannot go on with its job, beyond what collection knows of the
// file; nil if it can. A judge or a scorer of another program
// is no damage.
func Damage(col collection.Collection) *collection.Damage {
	if !col.Begun() || col.CheckJob() != nil {
		return nil // that is told already
	}
	j, err := Read(col.JobFile())
	if err == nil {
		err = j.CheckLive()
	}
	var wrong *Error
	if err == nil || errors.As(err, &wrong) && (wrong.Path == "judge.name" || wrong.Path == "scorer.name") {
		return nil
	}
	what := strings.TrimPrefix(err.Error(), filepath.Dir(col.JobFile())+string(filepath.Separator))
	return &collection.Damage{File: filepath.Base(col.JobFile()), What: "it cannot be used: " + what, Remedy: remedyJob}
}

// LinkParser reads the links of pages as a crawl did, as far as its job can be
// read. Documents reads what is no HTML; nil = it is not read.
func LinkParser(col collection.Collection, documents parse.Documents) *parse.Parser {
	o := parse.Options{Documents: documents}
	if j, err := Read(col.JobFile()); err == nil {
		o.Canon, o.Sources = j.Canon(), j.Sources()
	}
	return parse.New(o)
}

// Sitemaps tells which sitemaps the robots.txt of the host of a page names, as written there and
// as the archive of a crawl has it; none where it has no robots.txt.
func Sitemaps(col collection.Collection) func(ctx context.Context, page web.URL) ([]string, error) {
	archived := inArchive{col.Finder()}
	robots := fetch.NewRobots(fetch.RobotsOptions{Pages: anyPage{}, Files: archived})
	return func(ctx context.Context, page web.URL) ([]string, error) {
		return fetch.Sitemaps(robots.Fetch(ctx, page))
	}
}

// inArchive fetches what an archive holds.
type inArchive struct{ *collection.Finder }

func (a inArchive) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := a.Response(ctx, u)
	if errors.Is(err, collection.ErrAbsent) {
		return web.NotRecorded(u), nil
	}
	return r, err
}

// anyPage has an empty page at each address.
type anyPage struct{}

func (anyPage) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	return &web.Response{URL: u, Status: http.StatusOK}, nil
}
