package viewer

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// hive is a site with near-copies and a page whose title and text are hostile.
func hive() site {
	const essay = ` Honey bees tell each other where flowers are by a dance on the comb, of which the angle to gravity is that to the sun and the length is the distance, as was found in long years of patient work with painted bees.`
	const evil = `&lt;/mark&gt;&lt;img src=x onerror="document.title='owned'"&gt; waggle &lt;script&gt;document.title='owned'&lt;/script&gt;`
	s := bees()
	s["https://bees.test/hive"] = `<title>Hive</title><p>A honey bee lives in a hive. <a href=/one>honey bee</a> <a href=/two>honey bee</a> <a href=/evil>honey bee</a>`
	s["https://bees.test/one"] = `<title>One</title><p>` + essay
	s["https://bees.test/two"] = `<title>Two</title><p>` + essay
	s["https://bees.test/evil"] = "<title>" + evil + "</title><p>The honey bee \u202e " + evil
	return s
}

// indexed makes the index of a crawl, which then is there at once: who opened it while
// it is made would see some of the pages for a while.
func indexed(t *testing.T, c collection.Collection) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "index")
	b, err := index.NewBuilder(c, made, job.LinkParser(c, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, index.Dir(c)); err != nil {
		t.Fatal(err)
	}
}

func flat(list []watch.Span) string {
	var b strings.Builder
	for _, s := range list {
		if s.Marked {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// Without an index titles are searched; once there is one, while the page is open, texts.
func TestSearch(t *testing.T) {
	col := crawled(t, hive(), "https://bees.test/")
	d := serve(t, col)
	var st watch.State
	var list watch.PageList
	if d.get("state", &st); st.Index.There {
		t.Errorf("%+v", st.Index)
	}
	if d.get("pages?text=gravity&fold=1&order=match", &list); list.Index || list.All != 0 {
		t.Errorf("%+v", list)
	}
	if got, b := d.ask("/api/crawls/1/pages?copies=https://nowhere.test/"); got.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", got.StatusCode, b)
	}
	if d.get("pages?copies=https://bees.test/one", &list); list.Index || list.All != 1 {
		t.Errorf("copies of a page without an index, in a log that tells of none: %+v", list)
	}
	indexed(t, col)
	c := d.crawls[0]
	c.until(t, func(s *watch.State) bool { return s.Index.There })
	titles := func(path string) []string {
		t.Helper()
		list = watch.PageList{}
		d.get(path, &list)
		var out []string
		for _, p := range list.Pages {
			out = append(out, p.Title)
		}
		return out
	}
	if got := titles("pages?text=gravity"); len(got) != 2 || !list.Index || list.All != 2 || list.Pages[0].Copies != 1 {
		t.Errorf("%q %+v", got, list)
	}
	if got := titles("pages?text=gravity&fold=1"); len(got) != 1 || list.All != 2 || list.More || !strings.Contains(flat(list.Pages[0].Snippet), "[gravity]") {
		t.Errorf("%q %+v", got, list)
	}
	if got := titles("pages?copies=" + url.QueryEscape("https://bees.test/two") + "&order=address"); !slices.Equal(got, []string{"One", "Two"}) {
		t.Errorf("%q", got)
	}
	if got := titles("pages?text=honey&order=address&down=1&host=flowers.test"); !slices.Equal(got, []string{"Flowers"}) {
		t.Errorf("%q", got)
	}
	if got := titles("pages?text=honey+-dance&order=address&n=1&verdict=relevant"); len(got) != 1 || !list.More || got[0] == "Dance" {
		t.Errorf("%q %+v", got, list)
	}
	titles("pages?text=waggle+onerror")
	if len(list.Pages) != 1 {
		t.Fatalf("%+v", list)
	}
	title, text := flat(list.Pages[0].Marked), flat(list.Pages[0].Snippet)
	if !strings.Contains(title, "</mark><img src=x [onerror]=") || !strings.Contains(title, "[waggle] <script>") || strings.Contains(text, "\u202e") {
		t.Errorf("%q %q", title, text)
	}
	for path, want := range map[string]int{
		"pages?text=" + strings.Repeat("x+", 100): 400, "pages?text=x&n=1000&from=10000": 400, "pages?text=the": 400,
		"pages?copies=x": 400, "pages?copies=https://nowhere.test/": 404, "pages?text=bee&fold=2": 400, "pages?text=%22%22%00": 400,
	} {
		if got, b := d.ask("/api/crawls/1/" + path); got.StatusCode != want {
			t.Errorf("%.40s: %d %s, want %d", path, got.StatusCode, b, want)
		}
	}
}

// The index is made when somebody asks for it, and of crawls that run where it is to be;
// one that cannot be made says why, and can be asked for again.
func TestIndexIsMade(t *testing.T) {
	col := crawled(t, hive(), "https://bees.test/")
	d := serve(t, col)
	c := d.find("1")
	if st, _ := c.State(time.Now()); st.Index.There || st.Index.Making {
		t.Errorf("an index that nobody asked for: %+v", st.Index)
	}
	blocked := index.Dir(col)
	if err := os.WriteFile(blocked, []byte("no folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, got := d.send("/api/crawls/1/index", map[string]any{}); code != 200 {
		t.Fatal(got)
	}
	c.until(t, func(s *watch.State) bool { return s.Index.Error != "" && !s.Index.Making })
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if code, got := d.send("/api/crawls/1/index", map[string]any{}); code != 200 {
		t.Fatal(got)
	}
	c.until(t, func(s *watch.State) bool { return s.Index.There && !s.Index.Making && s.Index.Error == "" })
	if _, b := d.ask("/api/crawls/1/pages?text=waggle"); !strings.Contains(string(b), `"index":true`) || !strings.Contains(string(b), `"all":3`) {
		t.Errorf("%s", b)
	}

	other := crawled(t, hive(), "https://bees.test/")
	at := serveWith(t, Options{Collections: []collection.Collection{other}, Index: watch.Always})
	at.find("1").until(t, func(s *watch.State) bool { return s.Index.There && !s.Index.Making })
}

// While the index is first made, titles and addresses are searched, and never a part of the index.
func TestSearchWhileIndexIsMade(t *testing.T) {
	col := crawled(t, hive(), "https://bees.test/")
	d := serve(t, col)
	find := func() (got watch.PageList) {
		d.get("pages?text=waggle", &got)
		return got
	}
	titles := find()
	if titles.Index || titles.All == 3 {
		t.Fatalf("by titles: %+v", titles)
	}
	if code, got := d.send("/api/crawls/1/index", map[string]any{}); code != 200 {
		t.Fatal(got)
	}
	got := find()
	for ; !got.Index; got = find() {
		if got.All != titles.All {
			t.Errorf("%d pages by titles, and before %d", got.All, titles.All)
		}
		var st watch.State
		if d.get("state", &st); st.Index.Error != "" {
			t.Fatal(st.Index.Error)
		}
	}
	if got.All != 3 {
		t.Errorf("the index was searched while it had %d of 3 pages", got.All)
	}
}

// While another process makes the index of a crawl that runs, this one waits, and tells nothing of it.
func TestAnotherMakesTheIndex(t *testing.T) {
	col := crawled(t, hive(), "https://bees.test/")
	running, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	other, err := index.NewBuilder(col, index.Dir(col), job.LinkParser(col, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(other.Close(), running.Close()); err != nil {
			t.Error(err)
		}
	})
	looks := make(chan struct{})
	d := serveWith(t, Options{Collections: []collection.Collection{col}, Index: watch.Always, Writable: func(string) error {
		select {
		case looks <- struct{}{}:
		default: // nobody counts
		}
		return nil
	}})
	c := d.find("1")
	c.until(t, func(s *watch.State) bool { return s.Read() && s.Index.There })
	wait := func(n int) (st watch.State) {
		for range n { // a crawl looks twice each time that it looks whether the log has grown
			<-looks
		}
		st, _ = c.State(time.Now())
		return st
	}
	before := wait(4)
	if after := wait(40); after.Revision != before.Revision || after.Index.Making {
		t.Errorf("revision %d, and before %d; making: %v", after.Revision, before.Revision, after.Index.Making)
	}
}
