package asking_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/teach/asking"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

type record map[web.URL]*web.Page

func (r record) Page(u web.URL) (*web.Page, bool) {
	p, ok := r[u]
	return p, ok
}

func address(s string) web.URL {
	u, err := web.Parse("http://shop.test/" + s)
	if err != nil {
		panic(err)
	}
	return u
}

// put adds a page: its words, and links "place address anchor".
func (r record) put(name, words string, links ...string) {
	p := &web.Page{URL: address(name), Title: words}
	for i, l := range links {
		f := strings.SplitN(l, " ", 3)
		p.Links = append(p.Links, web.Link{URL: address(f[1]), TagPath: f[0], Anchor: f[2], Position: i})
	}
	r[p.URL] = p
}

func way(steps ...string) (p paths.Path) {
	for _, s := range steps {
		name, label, _ := strings.Cut(s, " ")
		p.Steps = append(p.Steps, paths.Step{URL: address(name), Label: label})
	}
	return p
}

// The page that is like a goal on one side and like a wrong turn on the other is
// asked about before those that are plain; pages with a label are not asked
// about; of a list one line is.
func TestAsksWhatIsInDoubt(t *testing.T) {
	r := record{}
	r.put("", "welcome all", "nav goods our goods", "nav news today news", "foot odd honey news")
	r.put("goods", "goods for sale", "list honey1 honey jar", "list honey2 honey jar", "list honey3 honey jar", "list honey4 honey jar")
	r.put("news", "news of today", "list news1 news more", "list news2 news more")
	for i := range 4 {
		r.put(fmt.Sprintf("honey%d", i+1), "honey jar sweet")
	}
	r.put("news1", "news more of it")
	r.put("news2", "news more of it")
	r.put("odd", "honey news")
	shown := []paths.Path{
		way("", "goods List", "honey1 Goal"), way("", "goods List", "honey2 Goal"),
		way("", "news", "news1 Fail"), way("", "goods List", "news Fail"),
	}
	got, err := (&asking.Asker{Record: r}).Suggest(context.Background(), shown, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, s := range got {
		last := s.Path.Steps[len(s.Path.Steps)-1]
		asked = append(asked, last.URL.Path())
		if s.Why == "" {
			t.Errorf("%s: nothing says why", last.URL)
		}
		if last.Label != "" {
			t.Errorf("%s has the label %s", last.URL, last.Label)
		}
		if s.Path.Steps[0].URL != address("") {
			t.Errorf("the way to %s begins at %s", last.URL, s.Path.Steps[0].URL)
		}
	}
	if len(asked) == 0 || asked[0] != "/odd" {
		t.Errorf("asked about %q, and /odd is in doubt", asked)
	}
	if slices.Contains(asked, "/honey1") || slices.Contains(asked, "/goods") {
		t.Errorf("asked about %q, some of which has a label", asked)
	}
	if slices.Contains(asked, "/honey3") && slices.Contains(asked, "/honey4") {
		t.Errorf("asked about %q: two lines of one list", asked)
	}
	// What was walked without a label is asked about too.
	got, err = (&asking.Asker{Record: r}).Suggest(context.Background(), shown, []paths.Path{way("", "news", "news2")}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got, func(s teach.Suggestion) bool { return s.Path.Steps[len(s.Path.Steps)-1].URL == address("news2") }) {
		t.Error("the candidate is not asked about")
	}
}

// What was shown so far teaches nothing: the error says what is missing.
func TestNothingToAsk(t *testing.T) {
	r := record{}
	r.put("", "welcome", "nav news news")
	r.put("news", "news")
	for _, shown := range [][]paths.Path{nil, {way("", "news Fail")}} {
		if _, err := (&asking.Asker{Record: r}).Suggest(context.Background(), shown, nil, 3); err == nil || !strings.Contains(err.Error(), "no suggestion yet") {
			t.Errorf("%v", err)
		}
	}
}
