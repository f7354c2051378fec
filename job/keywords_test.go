package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// garden is a web of pages on bees and on ships. Each of its hubs links to pages of both
// kinds, and to the next hub.
type garden struct{ hubs, each int }

func (g garden) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	var body strings.Builder
	var hub, n int
	switch path := u.Path(); {
	case strings.HasPrefix(path, "/hub"):
		fmt.Sscanf(path, "/hub%d", &hub)
		body.WriteString("<title>Contents</title><p>What there is in this part of the web.")
		for i := range g.each {
			fmt.Fprintf(&body, `<p><a href="/bee%d-%d">the honey bee and its hive</a> <a href="/ship%[1]d-%[2]d">sailing ships of the harbour</a>`, hub, i)
		}
		if hub+1 < g.hubs {
			fmt.Fprintf(&body, `<p><a href="/hub%d">more</a>`, hub+1)
		}
	case strings.HasPrefix(path, "/bee"):
		fmt.Sscanf(path, "/bee%d-%d", &hub, &n)
		fmt.Fprintf(&body, "<title>Bee %d</title><p>The honey bee number %[1]d lives in a hive and brings honey to the hive of bees.", hub*1000+n)
	default:
		fmt.Sscanf(path, "/ship%d-%d", &hub, &n)
		fmt.Fprintf(&body, "<title>Ship %d</title><p>The sailing ship number %[1]d lies in the harbour with other ships, and its sails are white.", hub*1000+n)
	}
	b := []byte(body.String())
	var robots *web.Response
	if strings.HasPrefix(u.Path(), "/ship0-1") { // the site gives a page on ships for it
		at, err := web.Parse("http://garden.test/robots.txt")
		if err != nil {
			return nil, err
		}
		robots = &web.Response{
			URL: at, Status: 200, Proto: "HTTP/1.1", Started: time.Now(), Head: []byte("HTTP/1.1 200 OK\r\n"), Header: web.Header{"Content-Type": {"text/html"}},
			RequestHead: []byte("GET /robots.txt HTTP/1.1\r\n"), Raw: b, Body: b,
		}
	}
	return &web.Response{
		Robots: robots,
		URL:    u, Status: 200, Proto: "HTTP/1.1", Started: time.Now(), Head: []byte("HTTP/1.1 200 OK\r\n"), Header: web.Header{"Content-Type": {"text/html"}},
		RequestHead: []byte("GET / HTTP/1.1\r\n"), Raw: b, Body: b,
	}, nil
}

// told is a run of a crawl on bees in the folder dir: after so many pages in all it is
// told an act, and with kill it dies as soon as it hears of that.
func told(t *testing.T, dir string, budget int, after int, act event.Act, kill bool) (order []string) {
	t.Helper()
	w, err := collection.At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	none := job.Duration(0)
	m := &job.Maker{Writer: w, Fetcher: garden{10, 10}, Job: &job.Job{
		Name: "garden", Seeds: []string{"http://garden.test/hub0"}, Topic: job.Topic{Keywords: []string{"honey bee", "hive"}},
		Fetch: job.Fetch{Workers: 1}, Politeness: job.Politeness{Delay: &none}, Budget: job.Budget{Pages: budget},
	}}
	if w.Begun() {
		m.Begun = &w.Collection
		if m.Job, err = job.In(w.Collection); err != nil {
			t.Fatal(err)
		}
		m.Job.Budget.Pages = budget
	}
	c, err := m.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pages := 0
	if c.History != nil {
		for e, err := range c.History {
			if _, ok := e.(event.Fetched); ok && err == nil {
				pages++
			}
		}
	}
	c.Listen = func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			order = append(order, strings.TrimPrefix(e.URL.Path(), "/"))
			if pages++; pages == after {
				if _, err := w.Act(act); err != nil {
					t.Error(err)
				}
			}
		case event.Act:
			if kill {
				cancel()
			}
		}
	}
	_, err = c.Run(ctx)
	if err = errors.Join(err, w.SaveHarvest(), m.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return order
}

// harvest counts the relevant pages of each kind.
func harvest(t *testing.T, dir string) (bees, ships int) {
	t.Helper()
	list, err := collection.At(dir).Harvest()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		switch {
		case strings.Contains(h.URL.String(), "/bee"):
			bees++
		case strings.Contains(h.URL.String(), "/ship"):
			ships++
		}
	}
	return bees, ships
}

// Keywords that a person gives a running crawl reach the judge, the pages that were
// fetched before, and the links that wait; undone, all is as it was told first.
func TestKeywordsOfARunningCrawl(t *testing.T) {
	ship := event.Act{Do: event.Keywords, Keywords: []string{"sailing ship", "harbour"}}
	kinds := func(order []string) (bees, ships int) {
		for _, p := range order {
			if strings.HasPrefix(p, "bee") {
				bees++
			} else if strings.HasPrefix(p, "ship") {
				ships++
			}
		}
		return bees, ships
	}
	for _, kill := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "garden")
		order := told(t, dir, 90, 40, ship, kill)
		if kill { // it is in the middle of all that follows from the act
			order = append(order, told(t, dir, 90, 0, event.Act{}, false)...)
		}
		if b, s := kinds(order[:40]); b < 3*s {
			t.Errorf("%d pages on bees and %d on ships before the act", b, s)
		}
		if b, s := kinds(order[50:]); s < 3*b {
			t.Errorf("%d pages on bees and %d on ships after the act: %v", b, s, order)
		}
		if bees, ships := harvest(t, dir); bees > 0 || ships < 25 {
			t.Errorf("the harvest has %d pages on bees and %d on ships", bees, ships)
		}
		j, err := job.In(collection.At(dir))
		if err != nil || !slices.Equal(j.Topic.Keywords, ship.Keywords) {
			t.Errorf("the job has the keywords %q, %v", j.Topic.Keywords, err)
		}
		// It goes on, and the act is undone.
		order = told(t, dir, 140, 95, event.Act{Do: event.Undo, Act: 1}, false)
		if b, s := kinds(order[15:]); b < 2*s {
			t.Errorf("%d pages on bees and %d on ships after the act was undone: %v", b, s, order)
		}
		if bees, ships := harvest(t, dir); bees < 40 || ships > 0 {
			t.Errorf("then the harvest has %d pages on bees and %d on ships", bees, ships)
		}
		// The figures of the crawl are those of its log.
		relevant := 0
		for p, err := range collection.At(dir).Fetched() {
			if err == nil && p.Relevant {
				relevant++
			}
		}
		if sum, err := collection.At(dir).Summary(); err != nil || sum.Relevant != relevant {
			t.Errorf("%d relevant pages by the summary, %d by the log, %v", sum.Relevant, relevant, err)
		}
		var followed event.Summary
		for e, err := range event.ReadFile(collection.At(dir).EventLog()) {
			if err != nil {
				t.Fatal(err)
			}
			followed.Add(e)
		}
		if followed.Relevant != relevant {
			t.Errorf("%d relevant pages for who followed the crawl, %d by the log", followed.Relevant, relevant)
		}
	}
}

// Keywords of a turn that a killed run did not finish are cut back with it, and taken in by the next
// run: the job file has those before until then, and that is no change of it.
func TestKeywordsThatAreCutBack(t *testing.T) {
	ship := event.Act{Do: event.Keywords, Keywords: []string{"sailing ship", "harbour"}}
	other, dir := filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), "garden")
	told(t, other, 40, 20, ship, false)
	told(t, dir, 20, 0, event.Act{}, false)
	from, to := collection.At(other), collection.At(dir)
	log, err := os.ReadFile(from.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	acts, err := os.ReadFile(from.ActFile())
	if err != nil {
		t.Fatal(err)
	}
	var torn []byte
	for line := range bytes.Lines(log) {
		if bytes.HasPrefix(line, []byte(`{"kind":"act"`)) || bytes.HasPrefix(line, []byte(`{"kind":"changed"`)) {
			torn = append(torn, line...)
		}
	}
	if bytes.Count(torn, []byte("\n")) != 2 {
		t.Fatalf("of the act and its change there are %q", torn)
	}
	was, err := os.ReadFile(to.EventLog())
	if err == nil {
		err = errors.Join(os.WriteFile(to.EventLog(), append(was, torn...), 0o644), os.WriteFile(to.ActFile(), acts, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	told(t, dir, 40, 0, event.Act{}, false)
	if j, err := job.In(to); err != nil || !slices.Equal(j.Topic.Keywords, ship.Keywords) {
		t.Errorf("the job has the keywords %q, %v", j.Topic.Keywords, err)
	}
	if all, err := to.Told(); err != nil || len(all) != 1 {
		t.Errorf("acts: %+v, %v", all, err)
	}
}

// A run may die between the turn of an act and the job file: the log has the keywords
// then. A judge that takes none refuses them, and so does a crawl words that tell nothing.
func TestKeywordsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "garden")
	told(t, dir, 30, 0, event.Act{}, false)
	col := collection.At(dir)
	before, err := col.Job()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []event.Act{{Do: event.Keywords, Keywords: []string{"sailing ship", "harbour"}}, {Do: event.Keywords, Keywords: []string{"the"}}} {
		if _, err := col.Act(a); err != nil {
			t.Fatal(err)
		}
	}
	told(t, dir, 40, 0, event.Act{}, false)
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.SaveJob(before), w.Close()); err != nil {
		t.Fatal(err)
	}
	told(t, dir, 60, 0, event.Act{}, false)
	j, err := job.In(col)
	if err != nil || !slices.Equal(j.Topic.Keywords, []string{"sailing ship", "harbour"}) {
		t.Errorf("the job has the keywords %q, %v", j.Topic.Keywords, err)
	}
	acts, err := col.Told()
	if err != nil || len(acts) != 2 || acts[0].Refused != "" || !strings.Contains(acts[1].Refused, "no word that tells something") {
		t.Errorf("%+v, %v", acts, err)
	}
	if bees, ships := harvest(t, dir); bees > 0 || ships == 0 {
		t.Errorf("the harvest has %d pages on bees and %d on ships", bees, ships)
	}
}

// A crawl that is told other keywords stays in its language when it goes on, and when it is judged
// anew by the same; other keywords to judge by may be in another.
func TestKeywordsKeepTheLanguage(t *testing.T) {
	german := []string{"Datenbank", "Tabellen verknüpfen"}
	for _, c := range []struct {
		first, act []string
		stays, new string
	}{
		{german, []string{"PostgreSQL"}, "de", "en"},
		{[]string{"PostgreSQL"}, german, "en", "de"},
	} {
		dir := filepath.Join(t.TempDir(), "garden")
		// open makes a crawl that goes on, with a budget of so many pages, or judges it anew where that is 0.
		open := func(words []string, pages int) string {
			t.Helper()
			w, err := collection.At(dir).Lock()
			if err != nil {
				t.Fatal(err)
			}
			none := job.Duration(0)
			m := &job.Maker{Writer: w, Fetcher: garden{1, 5}, Job: &job.Job{
				Name: "garden", Seeds: []string{"http://garden.test/hub0"}, Topic: job.Topic{Keywords: c.first},
				Fetch: job.Fetch{Workers: 1}, Politeness: job.Politeness{Delay: &none},
			}}
			if w.Begun() {
				m.Begun = &w.Collection
				if m.Job, err = job.In(w.Collection); err != nil {
					t.Fatal(err)
				}
			}
			if words != nil {
				m.Job.Topic.Keywords = words
			}
			m.Job.Budget.Pages = max(pages, m.Job.Budget.Pages)
			if pages == 0 {
				_, err = m.Rejudge(t.Context())
			} else {
				var made *crawl.Crawl
				if made, err = m.Crawl(t.Context()); err == nil {
					_, err = made.Run(t.Context())
				}
			}
			if err = errors.Join(err, m.Close(), w.Close()); err != nil {
				t.Fatal(err)
			}
			return strings.Join(m.Analyzer.Languages(), " ")
		}
		languages := []string{open(nil, 2)}
		if _, err := collection.At(dir).Act(event.Act{Do: event.Keywords, Keywords: c.act}); err != nil {
			t.Fatal(err)
		}
		// The run that takes the act in, the next one, and one after judging anew by the same.
		languages = append(languages, open(nil, 4), open(nil, 6), open(nil, 0), open(nil, 8))
		if j, err := job.In(collection.At(dir)); err != nil || !slices.Equal(j.Topic.Keywords, c.act) {
			t.Errorf("the job has the keywords %q, %v", j.Topic.Keywords, err)
		}
		// A round of it.
		base := collection.At(dir)
		j, err := job.In(base)
		if err != nil {
			t.Fatal(err)
		}
		m := &job.Maker{Job: j, Before: &base, Fetcher: garden{1, 5}}
		if err := m.MakeTopic(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.Analyzer.Languages(), " "); got != c.stays {
			t.Errorf("%q, then %q: a round is in %s", c.first, c.act, got)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		other := []string{"Daten und Tabellen"}
		if c.new == "en" {
			other = []string{"tables of the database"}
		}
		languages = append(languages, open(other, 0), open(nil, 10))
		if want := []string{c.stays, c.stays, c.stays, c.stays, c.stays, c.new, c.new}; !slices.Equal(languages, want) {
			t.Errorf("%q, then %q: in %q, want %q", c.first, c.act, languages, want)
		}
	}
}

// Keywords that were replaced are undone without anything being judged anew; once those that
// replaced them are undone too, the first ones hold again.
func TestKeywordsThatWereReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "garden")
	told(t, dir, 20, 0, event.Act{}, false)
	col := collection.At(dir)
	first, err := job.In(col)
	if err != nil {
		t.Fatal(err)
	}
	pages := 20
	for _, x := range []struct {
		act   event.Act
		words []string
		anew  bool
	}{
		{event.Act{Do: event.Keywords, Keywords: []string{"sailing ship", "harbour"}}, []string{"sailing ship", "harbour"}, true},
		{event.Act{Do: event.Keywords, Keywords: []string{"harbour"}}, []string{"harbour"}, true},
		{event.Act{Do: event.Undo, Act: 1}, []string{"harbour"}, false},
		{event.Act{Do: event.Undo, Act: 2}, first.Topic.Keywords, true},
	} {
		changes := func() (n int) {
			for e, err := range event.ReadKinds(col.EventLog(), event.Changed{}.Kind()) {
				if c, ok := e.(event.Changed); err == nil && ok && c.Setting == "topic.keywords" {
					n++
				}
			}
			return n
		}
		before := changes()
		if _, err := col.Act(x.act); err != nil {
			t.Fatal(err)
		}
		pages += 10
		told(t, dir, pages, 0, event.Act{}, false)
		j, err := job.In(col)
		if err != nil || !slices.Equal(j.Topic.Keywords, x.words) {
			t.Errorf("%s: the job has the keywords %q, want %q, %v", x.act.Words(), j.Topic.Keywords, x.words, err)
		}
		if anew := changes() > before; anew != x.anew {
			t.Errorf("%s: the keywords were set anew: %v", x.act.Words(), anew)
		}
	}
}

// A keyword that would move a cursor or turn text round is refused with its place and what helps,
// before anything is made.
func TestKeywordsThatAreNone(t *testing.T) {
	for _, k := range []string{"\u202emoney", "honey\u200e bee", "\x1b[31m", "a\nb"} {
		err := (&job.Job{Topic: job.Topic{Keywords: []string{"bee", k}}}).Check()
		if err == nil || !strings.HasPrefix(err.Error(), "topic.keywords.1: ") || !strings.Contains(err.Error(), "leave them out") || strings.Contains(err.Error(), k) {
			t.Errorf("%q: %v", k, err)
		}
	}
	if err := (&job.Job{Topic: job.Topic{Keywords: []string{"عسل", "naïve bee"}}}).Check(); err != nil {
		t.Error(err)
	}
}
