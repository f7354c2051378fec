package gather

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// A wiki's API tells the in-links and its articles are the pages, by robots.txt
// of the articles and not of the API. Links that track the visitor lead where
// they lead without that, and still do when the graph is read from its folder.
func TestTrainCollectFromAWiki(t *testing.T) {
	links := map[string][]string{"Goal": nil, "A": {"Goal"}, "B": {"A", "Goal"}, "Secret": {"Goal"}}
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "User-agent: *\nDisallow: /w/\nDisallow: /wiki/Secret\n")
	})
	mux.HandleFunc("/wiki/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		title := strings.TrimPrefix(r.URL.Path, "/wiki/")
		fmt.Fprintf(w, "<title>%s</title>On %[1]s.", title)
		for _, l := range links[title] {
			fmt.Fprintf(w, ` <a href="/wiki/%s?utm_source=wiki">%[1]s</a>`, l)
		}
	})
	mux.HandleFunc("/w/api.php", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		list := []map[string]string{}
		for title, to := range links {
			if slices.Contains(to, r.URL.Query().Get("bltitle")) {
				list = append(list, map[string]string{"title": title})
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"query": map[string]any{
			"general": map[string]string{"articlepath": "/wiki/$1", "server": "//" + r.Host}, "backlinks": list,
		}})
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "graph")
	none := job.Duration(0)
	j := &job.Job{}
	j.Topic.Keywords, j.Fetch.AllowPrivate, j.Politeness.Delay = []string{"goal"}, true, &none
	c := Collection{
		Out: dir, Job: j, MediaWiki: srv.URL + "/w/api.php", Target: []string{srv.URL + "/wiki/Goal"}, Layers: 5, LayerNodes: 600, Similar: 2,
		Note: func(s string) { t.Log(s) }, Progress: func(int, int, string) {},
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	lock, err := folder.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	g, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 3 || len(g.Edges) != 3 || g.Found.NoPage != 1 {
		t.Errorf("%d pages, %d links, %+v", len(g.Nodes), len(g.Edges), g.Found)
	}
	again, err := train.Load(t.Context(), dir, func(canon web.Canon) train.Parser { return parse.New(parse.Options{Canon: canon}) })
	if err != nil || len(again.Edges) != 3 {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

// A folder with a lock and other files, as that of a crawl, is not taken for one of a collection that goes on.
func TestFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	c := Collection{Out: dir, MediaWiki: "https://a.example/w/api.php", Layers: 5, LayerNodes: 600, Similar: 2}
	for _, x := range []struct{ file, want string }{{"lock", ""}, {"job.yaml", "holds other files (job.yaml)"}, {"collect.json", ""}} {
		if err := os.WriteFile(filepath.Join(dir, x.file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("with %s: %v", x.file, err)
		}
	}
}

// What is wrong with the command shows before a collection is replaced, and other folders are not touched.
func TestForceRemovesLast(t *testing.T) {
	site := t.TempDir()
	collected, foreign := filepath.Join(site, "collected"), filepath.Join(site, "foreign")
	kept := []string{train.GraphPath(collected), train.SequencesPath(collected), filepath.Join(collected, "collect.json"), filepath.Join(train.PagesPath(collected), "a"), filepath.Join(train.PagesPath(foreign), "a")}
	for _, name := range kept {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("{}"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir, web string
		target   []string
		want     string
	}{
		{collected, filepath.Join(site, "none"), nil, "none"},
		{collected, "", []string{"bees"}, "--target bees"},
		{collected, "", []string{"https://bees.example/"}, "contact"},
		{foreign, "", []string{"https://bees.example/"}, "holds other files (pages)"},
	} {
		x := Collection{
			Out: c.dir, Job: &job.Job{}, Web: c.web, Target: c.target, Force: true, Layers: 5, LayerNodes: 600, Similar: 2,
			Note: func(string) {}, Progress: func(int, int, string) {},
		}
		if c.web == "" {
			x.MediaWiki = "https://wiki.example/w/api.php"
		}
		err := x.Check()
		if err == nil {
			_, err = x.Run(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, name := range kept {
		if !folder.Exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// The wishes of pages are passed over on a record alone.
func TestAllPagesNeedARecord(t *testing.T) {
	c := Collection{Out: filepath.Join(t.TempDir(), "graph"), MediaWiki: "https://a.example/w/api.php", AllPages: true, Layers: 5, LayerNodes: 600, Similar: 2}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "--all-pages is for a record") {
		t.Errorf("on the live web: %v", err)
	}
	if c.Web = "a record"; c.Check() != nil {
		t.Errorf("on a record: %v", c.Check())
	}
}

func TestHostName(t *testing.T) {
	for given, want := range map[string]string{
		"a.example": "a.example", " A.Example. ": "a.example", "https://a.example/": "a.example", "https://a.example": "a.example",
		"*.a.example": "a.example", ".a.example": "a.example", "a.example:8080": "a.example:8080", "a.example/": "a.example",
		"bücher.example": "xn--bcher-kva.example",
		"":               "no host", "*": "no host", "a*.example": "no host", "https://a.example/x": "only whole hosts",
		"a.example/x": "only whole hosts", "https://a.example/?q": "only whole hosts",
	} {
		got, err := hostName(given)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func TestHostFilter(t *testing.T) {
	for _, c := range []struct {
		hosts, not, url string
		keep            bool
	}{
		{"a.example", "", "http://a.example/x", true},
		{"a.example", "", "http://www.a.example/x", true},
		{"a.example", "", "http://ba.example/", false},
		{"A.example, b.example", "", "http://b.example:8080/", true},
		{"b.example:8080", "", "http://b.example:8080/", true},
		{"", "a.example", "http://www.a.example/", false},
		{"", "a.example", "http://b.example/", true},
		{"example", "a.example", "http://a.example/", false},
	} {
		list := func(s string) []string {
			return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
		}
		u, err := web.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostFilter(list(c.hosts), list(c.not))(u); got != c.keep {
			t.Errorf("hosts %q, not %q: %s is kept: %v", c.hosts, c.not, c.url, got)
		}
	}
	if hostFilter(nil, nil) != nil {
		t.Error("without hosts there is a filter")
	}
}
