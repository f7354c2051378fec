package job_test

import (
	"reflect"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// The judge of a new round begins with what that of the round before knew at its end, unless the
// topic is another one now: then it begins with nothing, as that of a first crawl does.
func TestJudgeOfRound(t *testing.T) {
	dir := t.TempDir()
	told(t, dir, 40, 0, event.Act{}, false)
	before := collection.At(dir)
	judges := map[string]crawl.Judge{}
	for _, x := range []struct {
		name     string
		before   *collection.Collection
		keywords []string
	}{
		{"of the round before", nil, nil},
		{"of a new round", &before, nil},
		{"of a first crawl", nil, nil},
		{"of a first crawl with other keywords", nil, []string{"ship"}},
		{"of a new round with other keywords", &before, []string{"ship"}},
	} {
		j, err := job.In(before)
		if err != nil {
			t.Fatal(err)
		}
		if x.keywords != nil {
			j.Topic.Keywords = x.keywords
		}
		m := &job.Maker{Job: j, Before: x.before}
		defer m.Close()
		if err := m.MakeJudge(t.Context()); err != nil {
			t.Fatal(err)
		}
		judges[x.name] = m.Judge
	}
	if err := before.RestoreJudge(judges["of the round before"]); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{"of the round before", "of a new round", true},
		{"of the round before", "of a first crawl", false},
		{"of a first crawl with other keywords", "of a new round with other keywords", true},
	} {
		same := true
		for _, p := range gardenPages(t) {
			a, errA := judges[x.a].Judge(t.Context(), p)
			b, errB := judges[x.b].Judge(t.Context(), p)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			same = same && reflect.DeepEqual(a, b)
		}
		if same != x.same {
			t.Errorf("the judges %s and %s say the same of all pages: %t, want %t", x.a, x.b, same, x.same)
		}
	}
}

// gardenPages are some pages of the garden, as they are parsed.
func gardenPages(t *testing.T) (out []*web.Page) {
	p := parse.New(parse.Options{})
	for _, path := range []string{"hub0", "bee0-1", "ship0-1", "bee1-0"} {
		u, err := web.Parse("http://garden.test/" + path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := garden{}.Fetch(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page)
	}
	return out
}
