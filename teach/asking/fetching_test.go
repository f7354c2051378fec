package asking

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// shelf answers for a few pages and notes what it was asked for.
type shelf struct {
	pages map[string]string
	asked []string
}

func (s *shelf) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	s.asked = append(s.asked, u.String())
	body, ok := s.pages[u.String()]
	if !ok {
		return &web.Response{URL: u, Status: 404}, nil
	}
	return &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(body), Body: []byte(body)}, nil
}

// A question reads the pages that were shown, once, and on the live web no
// others: those behind links are judged by their links.
func TestQuestionsFetchOnlyWhatWasShown(t *testing.T) {
	step := func(u, label string) paths.Step {
		x, err := web.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		return paths.Step{URL: x, Label: label}
	}
	shown := []paths.Path{
		{Steps: []paths.Step{step("http://a.test/", ""), step("http://a.test/honey", paths.Goal)}},
		{Steps: []paths.Step{step("http://a.test/", ""), step("http://a.test/steel", paths.Fail)}},
	}
	for name, recorded := range map[string]string{"live": "", "recorded": "a web"} {
		s := &shelf{pages: map[string]string{
			"http://a.test/":      `<a href="/honey">honey</a> <a href="/steel">steel</a> <p><a href="/jam">honey and steel</a>`,
			"http://a.test/honey": "honey", "http://a.test/steel": "steel", "http://a.test/jam": "jam",
		}}
		a := NewFetching(teach.Options{Fetcher: s, Parser: parse.New(parse.Options{}), Recorded: recorded})
		for range 2 {
			got, err := a.Suggest(t.Context(), shown, nil, 3)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Path.Steps[1].URL.Path() != "/jam" {
				t.Errorf("%s: %+v", name, got)
			}
		}
		want := []string{"http://a.test/", "http://a.test/honey", "http://a.test/steel"}
		if recorded != "" {
			want = append(want, "http://a.test/jam")
		}
		if !slices.Equal(s.asked, want) {
			t.Errorf("%s: fetched %q", name, s.asked)
		}
	}
}

// A page that did not come is asked for again with the next question, and one that is not to be
// had is not.
func TestPagesThatDidNotComeAreAskedForAgain(t *testing.T) {
	u, err := web.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		err    error
		again  bool
	}{
		{status: 404}, {status: 429, again: true}, {status: 503, again: true},
		{err: &web.Failure{Reason: web.ReasonTimeout, Temporary: true}, again: true}, {err: errors.New("no connection"), again: true},
		{err: &web.Failure{Reason: web.ReasonRobots}}, {err: &web.Failure{Reason: web.ReasonType}},
	} {
		asked := 0
		f := fetcherFunc(func(context.Context, web.URL) (*web.Response, error) {
			if asked++; c.err != nil {
				return nil, c.err
			}
			return &web.Response{URL: u, Status: c.status}, nil
		})
		a := NewFetching(teach.Options{Fetcher: f, Parser: parse.New(parse.Options{})})
		shown := []paths.Path{{Steps: []paths.Step{{URL: u}, {URL: u}}}}
		for range 2 {
			a.Suggest(t.Context(), shown, nil, 1) // nothing is to be asked about
		}
		if asked != 1 && !c.again || asked != 2 && c.again {
			t.Errorf("status %d, error %v: asked for %d times", c.status, c.err, asked)
		}
	}
}

type fetcherFunc func(context.Context, web.URL) (*web.Response, error)

func (f fetcherFunc) Fetch(ctx context.Context, u web.URL) (*web.Response, error) { return f(ctx, u) }
