package viewer

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
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
		{`{"do":"mute","place":"bees.test/ads/"}`, 200, `{"number":2}`},
		{`{"do":"undo","act":2}`, 200, `{"number":3}`},
		{`{"do":"pause"}`, 200, `{"number":4}`},
		{`{"do":"keywords","keywords":["honey","waggle dance"]}`, 200, `{"number":5}`},
		{`{"do":"budget","pages":20}`, 200, `{"number":6}`},
		{`{"do":"budget","pages":30}`, 200, `{"number":7}`},
		{`{"do":"undo","act":6}`, 200, `{"number":8,"replaced":7}`},
		{`{"do":"undo","act":7}`, 200, `{"number":9}`},
		{`{"do":"undo","act":7}`, 400, "act 7 was undone by act 9"},
		{`{"do":"undo","act":99}`, 400, "there is no act 99"},
		{`{"do":"undo"}`, 400, "needs the number of an act"},
		{`{"do":"budget","page":12}`, 400, `budget has no member \"page\"`},
		{`{"do":"budget"}`, 400, `budget needs the member \"pages\"`},
		{`{"do":"budget","pages":null}`, 400, `budget needs the member \"pages\"`},
		{`{"do":"budget","Pages":12}`, 400, `budget has no member \"Pages\"`},
		{`{"do":"pause","pages":12}`, 400, `pause has no member \"pages\"`},
		{`{"do":"keywords","keywords":[]}`, 400, "give 1 to 200"},
		{`{"do":"keywords","keywords":[" "]}`, 400, "no keyword"},
		{`{"do":"relevant"}`, 400, "needs the address"},
		{`{"do":"mute","place":"Bees.test"}`, 400, "give a host in small letters"},
		{`{"do":"mute","place":"bees.test/<b>"}`, 400, "as addresses have it"},
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
		`{"number":9,"do":"undo","act":7,"words":"undo 7"}],"paused":true,"keywords":["honey bee"]}`
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
