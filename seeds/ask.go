package seeds

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// mostAsked is how many pages an interface is asked for.
const mostAsked = 50

// ask fetches the address of an interface with parameters.
func (f *Finder) ask(ctx context.Context, address string, parameters url.Values) ([]byte, error) {
	u, err := web.Given(address)
	if err != nil {
		return nil, err
	}
	if len(parameters) > 0 {
		separator := "?"
		if strings.Contains(u.String(), "?") {
			separator = "&"
		}
		if u, err = web.Parse(u.String() + separator + parameters.Encode()); err != nil {
			return nil, err
		}
	}
	b, _, err := f.document(ctx, u)
	return b, err
}

// document fetches a document that must be there, whole. It is at the address to which u has moved.
func (f *Finder) document(ctx context.Context, u web.URL) (b []byte, at web.URL, err error) {
	r, err := f.Get(ctx, u)
	if err != nil {
		return nil, u, err
	}
	defer r.Release()
	switch {
	case r.Status != 200:
		return nil, u, &statusError{u, r.Status, string(r.Body[:min(len(r.Body), mostSaid)])}
	case r.Truncated != "":
		return nil, u, fmt.Errorf("the answer of %s is not whole: %s", u, web.CutMeaning(r.Truncated))
	}
	f.answers = append(f.answers, &web.Response{URL: r.URL, Conceal: r.Conceal})
	return bytes.Clone(r.Body), r.URL, nil
}

// statusError says that a document is not there, and what helps.
type statusError struct {
	url    web.URL
	status int
	said   string // the beginning of the answer
}

// mostSaid bounds statusError.said, in bytes.
const mostSaid = 1000

func (e *statusError) Error() string {
	help := ""
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		help = ": it lets programs in that it knows, or none"
	case e.status == http.StatusTooManyRequests:
		help = ": it was asked too often, try again later"
	case e.status == http.StatusNotFound, e.status == http.StatusGone:
		help = ": is the address right?"
	case e.status >= 500:
		help = ": it has a fault of its own, try again later"
	}
	return fmt.Sprintf("%s answers with status %d%s", e.url, e.status, help)
}

// read reads an answer as JSON.
func read(b []byte, into any) error {
	switch b = bytes.TrimSpace(b); {
	case len(b) == 0:
		return errors.New("the answer is empty: is the address that of such an interface?")
	case b[0] == '<':
		return errors.New("the answer is a page, and not what such an interface gives: is the address right, and may programs ask it?")
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the answer is not what such an interface gives: %w", err)
	}
	return nil
}

// add adds a page, unless its address is none that a crawl could take.
func add(list []Seed, address, title, text string) []Seed {
	if u, err := web.Parse(strings.TrimSpace(address)); err == nil {
		list = append(list, Seed{URL: u, Title: title, Text: text})
	}
	return list
}

// searxng asks for JSON, which an instance gives where its settings allow it
// (search.formats).
func searxng(ctx context.Context, f *Finder, where, words string) (list []Seed, err error) {
	if words == "" {
		return nil, errNoWords
	}
	b, err := f.ask(ctx, strings.TrimSuffix(where, "/")+"/search", url.Values{"q": {words}, "format": {"json"}})
	if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusForbidden {
		return nil, fmt.Errorf("%s answers with status 403: the settings of the instance may have to let it give JSON (search: formats: [html, json])", e.url)
	}
	if err != nil {
		return nil, err
	}
	var answer struct{ Results []json.RawMessage }
	if err := read(b, &answer); err != nil {
		return nil, err
	}
	for _, raw := range answer.Results {
		// The engines behind an instance differ: one result that is none does not cost
		// the others.
		var r struct{ URL, Title, Content string }
		if json.Unmarshal(raw, &r) == nil {
			list = add(list, r.URL, r.Title, r.Content)
		}
	}
	return list, nil
}

var errNoWords = errors.New("there are no words to ask for: give --keywords, or example pages")

// mediawiki asks the search of a wiki.
func mediawiki(ctx context.Context, f *Finder, where, words string) (list []Seed, err error) {
	if words == "" {
		return nil, errNoWords
	}
	b, err := f.ask(ctx, where, url.Values{
		"action": {"query"}, "format": {"json"}, "generator": {"search"}, "gsrsearch": {words},
		"gsrlimit": {fmt.Sprint(mostAsked)}, "prop": {"info"}, "inprop": {"url"},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error struct{ Info string }
		Query struct {
			Pages map[string]struct {
				Title   string
				FullURL string
				Index   int
			}
		}
	}
	if err := read(b, &answer); err != nil {
		return nil, err
	}
	if answer.Error.Info != "" {
		return nil, fmt.Errorf("the wiki says: %.200q", answer.Error.Info)
	}
	type ranked struct {
		Seed
		index int
	}
	var pages []ranked
	for _, p := range answer.Query.Pages {
		if one := add(nil, p.FullURL, p.Title, ""); one != nil {
			pages = append(pages, ranked{one[0], p.Index})
		}
	}
	slices.SortFunc(pages, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.URL.String(), b.URL.String()))
	})
	for _, p := range pages {
		list = append(list, p.Seed)
	}
	return list, nil
}

// openalex asks for works, and gives the pages on which they are.
func openalex(ctx context.Context, f *Finder, where, words string) (list []Seed, err error) {
	if words == "" {
		return nil, errNoWords
	}
	q := url.Values{"search": {words}, "per-page": {fmt.Sprint(mostAsked)}}
	if f.Contact != "" {
		q.Set("mailto", f.Contact)
	}
	b, err := f.ask(ctx, strings.TrimSuffix(cmp.Or(where, "https://api.openalex.org"), "/")+"/works", q)
	if err != nil {
		return nil, err
	}
	type location struct {
		Page string `json:"landing_page_url"`
	}
	var answer struct {
		Results []struct {
			Title   string
			Primary *location `json:"primary_location"`
			Open    *location `json:"best_oa_location"`
		}
	}
	if err := read(b, &answer); err != nil {
		return nil, err
	}
	for _, r := range answer.Results {
		for _, l := range []*location{r.Open, r.Primary} {
			if l != nil && l.Page != "" {
				list = add(list, l.Page, r.Title, "")
				break
			}
		}
	}
	return list, nil
}

// commonCrawl asks the newest index for pages of a site.
func commonCrawl(ctx context.Context, f *Finder, where, _ string) (list []Seed, err error) {
	site, server, _ := strings.Cut(where, "@")
	b, err := f.ask(ctx, strings.TrimSuffix(cmp.Or(server, "https://index.commoncrawl.org"), "/")+"/collinfo.json", nil)
	if err != nil {
		return nil, err
	}
	var indexes []struct {
		API string `json:"cdx-api"`
	}
	if err := read(b, &indexes); err != nil {
		return nil, err
	}
	if len(indexes) == 0 {
		return nil, errors.New("the server names no index")
	}
	b, err = f.ask(ctx, indexes[0].API, url.Values{
		"url": {"*." + site}, "output": {"json"}, "fl": {"url"}, "filter": {"=status:200", "=mime:text/html"}, "limit": {"2000"},
	})
	if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusNotFound && strings.Contains(e.said, "No Captures found") {
		return nil, nil // it knows no page of the site
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var page struct{ URL string }
		if err := read(line, &page); err != nil {
			return list, err
		}
		list = add(list, page.URL, "", "")
	}
	return list, nil
}
