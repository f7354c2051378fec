package viewer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// An act that is sent is kept and listed; what is no act is refused with what to do.
func TestActs(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	send := func(body string) (int, string) { return d.post("acts", body) }
	for _, x := range []struct {
		body string
		code int
		want string
	}{
		{`{"do":"relevant","url":"https://bees.test/"}`, 200, `{"number":1}`},
		{`{"do":"mute","place":"bees.test/ads/"}`, 200, `{"number":2,"unmatched":true}`},
		{`{"do":"undo","act":2}`, 200, `{"number":3}`},
		{`{"do":"pause"}`, 200, `{"number":4}`},
		{`{"do":"keywords","keywords":["honey","waggle dance"]}`, 200, `{"number":5}`},
		{`{"do":"budget","pages":20}`, 200, `{"number":6}`},
		{`{"do":"budget","pages":30}`, 200, `{"number":7}`},
		{`{"do":"undo","act":6}`, 200, `{"number":8,"replaced":7}`},
		{`{"do":"undo","act":7}`, 200, `{"number":9}`},
		{`{"do":"undo","act":7}`, 400, "act 7 was undone by act 9"},
		{`{"do":"undo","act":8}`, 400, "act 8 undid act 6, and is not undone itself: give what act 6 said again"},
		{`{"do":"undo","act":99}`, 400, "there is no act 99"},
		{`[{"do":"pause"}]`, 400, "it is an object"},
		{`{"do":"undo"}`, 400, "needs the number of an act"},
		{`{"do":"budget","pages":1}`, 400, "pages already, and its budget over all runs is 1: give more than it has fetched, or 0 for no limit"},
		{`{"do":"budget","page":12}`, 400, `budget has no member \"page\"`},
		{`{"do":"budget"}`, 400, `budget needs the member \"pages\"`},
		{`{"do":"budget","pages":null}`, 400, `budget needs the member \"pages\"`},
		{`{"do":"budget","Pages":12}`, 400, `budget has no member \"Pages\"`},
		{`{"do":"pause","pages":12}`, 400, `pause has no member \"pages\"`},
		{`{"do":"keywords","keywords":[]}`, 400, "give 1 to 200"},
		{`{"do":"keywords","keywords":[" "]}`, 400, "no keyword"},
		{`{"do":"relevant","url":"https://bees.test/never"}`, 400, "has fetched no page of the address https://bees.test/never"},
		{`{"do":"relevant"}`, 400, "needs the address"},
		{`{"do":"mute","place":"bees"}}`, 400, "no act"},
		{`{"do":"keywords","keywords":["\u202e\u001b[31m"]}`, 400, "control characters"},
		{`{"do":"keywords","keywords":["honey \u202ebee"]}`, 400, "turn the direction"},
		{`{"do":"keywords","keywords":["a","b","A"]}`, 400, "given twice"},
		{`{"do":"budget","pages":100000000000000000000}`, 400, "pages cannot be a number 100000000000000000000"},
		{`{"do":"pause","do":"continue"}`, 400, `the member \"do\" twice`},
		{`{"do":"mute","place":"<b>"}`, 400, "as addresses have it"},
		{`{"do":"budget","pages":-1}`, 400, "give a number of pages, or 0 for no limit"},
		{`{"do":"dance"}`, 400, "give one of relevant"},
		{`{"do":"relevant","url":"javascript:alert(1)"}`, 400, "no act"},
		{`[`, 400, "no act"},
		{`{"do":"mute","place":"` + strings.Repeat("a", 1<<20) + `"}`, 413, "at most 16384 bytes"},
	} {
		if code, got := send(x.body); code != x.code || !strings.Contains(got, x.want) {
			t.Errorf("%.60s: %d %s; want %d, %s", x.body, code, got, x.code, x.want)
		}
	}
	_, b := d.ask("/api/crawls/1/acts")
	want := `{"acts":[` +
		`{"number":1,"do":"relevant","url":"https://bees.test/","words":"relevant https://bees.test/"},` +
		`{"number":2,"do":"mute","place":"bees.test/ads/","words":"mute bees.test/ads/","undone":true},` +
		`{"number":3,"do":"undo","act":2,"words":"undo 2"},` +
		`{"number":4,"do":"pause","words":"pause"},` +
		`{"number":5,"do":"keywords","keywords":["honey","waggle dance"],"words":"keywords honey, waggle dance"},` +
		`{"number":6,"do":"budget","pages":20,"words":"budget 20","undone":true},` +
		`{"number":7,"do":"budget","pages":30,"words":"budget 30","undone":true},` +
		`{"number":8,"do":"undo","act":6,"words":"undo 6","replaced":7},` +
		`{"number":9,"do":"undo","act":7,"words":"undo 7"}],"paused":true,"keywords":["honey bee"],"delay":"0s"}`
	if got := strings.TrimSpace(string(b)); got != want {
		t.Errorf("listed %s\nwant   %s", got, want)
	}
	if got, err := http.Post(d.http.URL+"/api/crawls/1/acts", "application/json", strings.NewReader(`{"do":"pause"}`)); err != nil || got.StatusCode != http.StatusForbidden {
		t.Errorf("without the key: %v, %v", got, err)
	}
}

// Two pages that steer at once, each of a server of its own, give each act a number of
// its own; each lists what both have told, and undoes what the other has.
func TestTwoPagesSteer(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	pages := []*desk{serve(t, col), serve(t, col)}
	tell := func(d *desk, body string) (string, error) {
		r, err := http.NewRequest(http.MethodPost, d.http.URL+"/api/crawls/1/acts", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+d.key)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer got.Body.Close()
		b, err := io.ReadAll(got.Body)
		return strings.TrimSpace(string(b)), err
	}
	const each = 20
	var mu sync.Mutex
	var numbers []string
	var all sync.WaitGroup
	for p, d := range pages {
		for i := range each {
			all.Go(func() {
				got, err := tell(d, fmt.Sprintf(`{"do":"budget","pages":%d}`, 100+p*each+i))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				numbers = append(numbers, got)
			})
		}
	}
	all.Wait()
	var want []string
	for i := range len(pages) * each {
		want = append(want, fmt.Sprintf(`{"number":%d}`, i+1))
	}
	slices.Sort(want)
	slices.Sort(numbers)
	if !slices.Equal(numbers, want) {
		t.Errorf("the acts were numbered %q", numbers)
	}
	if got, err := tell(pages[1], `{"do":"undo","act":1}`); got != fmt.Sprintf(`{"number":%d,"replaced":%d}`, len(want)+1, len(want)) || err != nil {
		t.Errorf("undo: %s, %v", got, err)
	}
	_, first := pages[0].ask("/api/crawls/1/acts")
	_, second := pages[1].ask("/api/crawls/1/acts")
	if string(first) != string(second) || strings.Count(string(first), `"do":"budget"`) != len(want) || !strings.Contains(string(first), `"undone":true`) {
		t.Errorf("one page lists %s\nthe other %s", first, second)
	}
}

// An address that is pasted is taken for the place that it names.
func TestPlaceOfAnAddress(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	for given, want := range map[string]string{
		"http://www.bees.test/Info/Courses/": "www.bees.test/Info/Courses/", "WWW.BEES.TEST": "www.bees.test", " https://bees.test/ ": "bees.test", "bees.test/ads/": "bees.test/ads/",
	} {
		if code, got := d.post("acts", fmt.Sprintf(`{"do":"mute","place":%q}`, given)); code != 200 {
			t.Errorf("%q: %d %s", given, code, got)
		}
		if _, b := d.ask("/api/crawls/1/acts"); !strings.Contains(string(b), fmt.Sprintf(`"place":%q`, want)) {
			t.Errorf("%q is no %q in %s", given, want, b)
		}
	}
}

// Of a crawl that runs it is told what the relevance of a page is made of, and it is said that the
// scorer is asked later.
func TestExplainedWhileItRuns(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, b := serve(t, col).ask("/api/crawls/1/explain?url=https://bees.test/dance")
	if s := string(b); !strings.Contains(s, "What the judge topic makes of the page now") || strings.Contains(s, "another waggle") || !strings.Contains(s, "is running: ask again once it has ended") {
		t.Error(s)
	}
}

// A crawl that runs and stands still is paused, for who reads its state and its metrics.
func TestPausedIsTold(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := serve(t, col)
	for _, idle := range []web.Idle{web.IdlePaused, web.IdleBetter} {
		at := time.Now()
		if err := w.SaveActivity(web.Activity{At: at, Fetches: 4, Idle: idle}); err != nil {
			t.Fatal(err)
		}
		paused := idle == web.IdlePaused
		if _, err := d.crawls[0].Until(t.Context(), func(s *watch.State) bool {
			return s.Read() && s.Running && s.Activity != nil && s.Activity.Idle == idle.Brief() && s.Paused == paused
		}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: `waggle_paused{crawl="1",name="bees"} 1`, false: `waggle_paused{crawl="1",name="bees"} 0`}[paused]
		if _, b := d.ask("/metrics"); !strings.Contains(samples(b), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// untrusted is a site that cannot be asked by https.
type untrusted struct{ site }

func (s untrusted) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.Scheme() == "https" {
		return nil, &web.Failure{Reason: web.ReasonTLS, Connected: true, Err: errors.New("no trust")}
	}
	return s.site.Fetch(ctx, u)
}

// The way to a page leads back to a seed that was given without a scheme, and was asked for by
// http once https had failed.
func TestWayFromABareSeed(t *testing.T) {
	s := site{"http://bees.test/": `<title>Bees</title><p>The honey bee. <a href="/dance">dance</a>`, "http://bees.test/dance": `<title>Dance</title><p>The honey bee.`}
	d := serve(t, crawledBy(t, "bees", "", untrusted{s}, "bees.test"))
	_, b := d.ask("/api/crawls/1/page?url=http://bees.test/dance")
	var got struct {
		Way []struct{ URL, Link, Failed string }
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	var way []string
	for _, x := range got.Way {
		way = append(way, x.Link+" "+x.URL+" "+x.Failed)
	}
	if w := strings.Join(way, "; "); w != "seed https://bees.test/ "+web.ReasonTLS.Brief()+"; redirect http://bees.test/ ; a http://bees.test/dance " {
		t.Errorf("the way: %s", w)
	}
}

// What an act meets at present is told at once: that nothing known is of a place, and that a page was
// not fetched yet, which one that runs may do before it takes the label in.
func TestActsThatMeetNothing(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := serve(t, col)
	d.crawls[0].until(t, func(s *watch.State) bool { return s.Running })
	for _, x := range []struct{ body, want string }{
		{`{"do":"mute","place":"nowhere.example"}`, `{"number":1,"unmatched":true}`},
		{`{"do":"boost","place":"bees.test"}`, `{"number":2}`},
		{`{"do":"boost","place":"test/x"}`, `{"number":3,"unmatched":true}`},
		{`{"do":"boost","place":"bees.test/hi"}`, `{"number":4}`},
		{`{"do":"relevant","url":"https://bees.test/never"}`, `{"number":5,"unfetched":true}`},
		{`{"do":"relevant","url":"https://bees.test/hive"}`, `{"number":6}`},
		{`{"do":"undo","act":5}`, `{"number":7}`},
	} {
		if code, got := d.post("acts", x.body); code != 200 || strings.TrimSpace(got) != x.want {
			t.Errorf("%s: %d %s, want %s", x.body, code, got, x.want)
		}
	}
	_, b := d.ask("/api/crawls/1/acts")
	if s := string(b); strings.Count(s, `"unmatched":true`) != 2 || strings.Contains(s, `"unfetched"`) {
		t.Error(s)
	}
}

// A place of which nothing is known is met as the log grows: the page is told, and says so no more.
func TestPlaceThatIsMetLater(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	c := d.crawls[0]
	c.until(t, func(s *watch.State) bool { return s.Read() })
	a := event.Act{Do: event.Mute, Place: "bees.test/later/"}
	if !c.Unmatched(&a) {
		t.Fatal("it is matched before")
	}
	info, err := os.Stat(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	l, err := event.Open(col.EventLog(), fmt.Append(nil, info.Size()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(event.Seeded{Queued: []event.Found{{URL: address(t, "https://bees.test/later/on")}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.until(t, func(*watch.State) bool { return !c.Unmatched(&a) })
}

// An act for a crawl whose folder is gone is refused as a conflict, with what is wrong and what helps: the
// act is as it should be, and so is where it was sent.
func TestActsOfAFolderThatIsGone(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	if err := os.Rename(col.Dir(), col.Dir()+".away"); err != nil {
		t.Fatal(err)
	}
	for _, act := range []string{`{"do":"relevant","url":"https://bees.test/hive"}`, `{"do":"mute","place":"bees.test"}`, `{"do":"undo","act":1}`, `{"do":"pause"}`} {
		if code, got := d.post("acts", act); code != http.StatusConflict || !strings.Contains(got, "does not hold the crawl any more") {
			t.Errorf("%s: %d %s", act, code, got)
		}
	}
}
