package viewer

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// A file of fields in the folder of a crawl gives the values of each page, on its screen and
// in the tables of pages; one that is wrong is told with its line.
func TestFields(t *testing.T) {
	s := bees()
	s["https://bees.test/hive"] = "<title>Hive</title><h1>The \u202ehive</h1><p>A honey bee lives in a hive.<b>wax</b> <b>comb</b>"
	col := crawled(t, s, "https://bees.test/")
	d := serve(t, col)
	body := func(address string) (b bodyView) {
		d.get("body?url="+url.QueryEscape(address), &b)
		return b
	}
	if b := body("https://bees.test/hive"); b.Values != nil || b.Fields != "" {
		t.Errorf("without fields: %+v", b)
	}
	write := func(text string) {
		if err := os.WriteFile(col.FieldsFile(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("fields:\n  - {name: heading, css: h1}\n  - {name: parts, css: b, many: true}\n")
	b := body("https://bees.test/hive")
	if len(b.Values) != 2 || b.Values[0].Field != "heading" || strings.Join(b.Values[0].Values, "|") != "The hive" || strings.Join(b.Values[1].Values, "|") != "wax|comb" {
		t.Errorf("values %+v, %s", b.Values, b.Fields)
	}
	if b := body("https://bees.test/dance"); len(b.Values) != 2 || len(b.Values[0].Values)+len(b.Values[1].Values) != 0 {
		t.Errorf("of a page without: %+v", b.Values)
	}
	if _, got := d.ask("/api/crawls/1/exports/pages-jsonl"); !strings.Contains(string(got), `"parts":["wax","comb"]`) {
		t.Errorf("the table of pages: %s", got)
	}
	// What an export would leave out of a table of pages without a word, it is refused for.
	refused := func(want string) {
		t.Helper()
		if r, got := d.ask("/api/crawls/1/exports/pages-csv"); r.StatusCode != http.StatusConflict || !strings.Contains(string(got), want) {
			t.Errorf("a table of pages: %d %s, want %d %q", r.StatusCode, got, http.StatusConflict, want)
		}
		var st watch.State
		if d.get("state", &st); st.Export == nil || !st.Export.Refused || !strings.Contains(st.Export.Why, want) {
			t.Errorf("a table of pages: the page is told %+v, want %q", st.Export, want)
		}
		if r, got := d.ask("/api/crawls/1/exports/graphml"); r.StatusCode != http.StatusOK {
			t.Errorf("a form without a place for them: %d %s", r.StatusCode, got)
		}
	}
	write("fields:\n  - {name: title, css: h1}\n")
	refused("has a column title of its own")
	write("fields:\n  - {name: heading, css: 'h1['}\n")
	refused("fields.yaml:2")
	if b := body("https://bees.test/hive"); !b.Archived || b.Values != nil || !strings.Contains(b.Fields, "fields.yaml:2") {
		t.Errorf("of a file that is wrong: %q", b.Fields)
	}
}

// Other fields are taken in place of those in the folder, until they are given up; what is
// wrong with them, or more than is taken, changes nothing.
func TestOtherFields(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	inFolder := "fields:\n  - {name: heading, css: title}\n"
	if err := os.WriteFile(col.FieldsFile(), []byte(inFolder), 0o644); err != nil {
		t.Fatal(err)
	}
	given, err := watch.ReadFieldFile("given.yaml", []byte("fields: [{name: given, css: p}]"))
	if err != nil {
		t.Fatal(err)
	}
	d := serveWith(t, Options{Collections: []collection.Collection{col}, Fields: given})
	names := func() string {
		t.Helper()
		var b bodyView
		d.get("body?url="+url.QueryEscape("https://bees.test/hive"), &b)
		var list []string
		for _, v := range b.Values {
			list = append(list, v.Field+"="+strings.Join(v.Values, "|"))
		}
		return strings.Join(list, ", ")
	}
	take := func(body string) (int, string) { return d.post("fields", body) }
	if got := names(); got != "given=A honey bee lives in a hive." {
		t.Errorf("the fields that were given: %s", got)
	}
	long := strings.Repeat("a", 2000)
	for _, x := range []struct {
		body, want string
		code       int
		then       string
	}{
		{`{"text":"fields: [{name: first, css: p}, {name: words, xpath: 'string-length(//p)'}]"}`, `"fields":["first","words"]`, 200, "first=A honey bee lives in a hive., words=28"},
		{`{"text":"fields: [{name: first, css: 'p['}]"}`, `these fields:1: css: `, 400, "first=A honey bee lives in a hive., words=28"},
		{`{"text":"fields: [{name: first, css: '` + long + `b'}]"}`, "longer than 2000 bytes", 400, "first=A honey bee lives in a hive., words=28"},
		{`{"text":"` + strings.Repeat(`#\n`, 600_000) + `"}`, "larger than 1 MiB", 400, "first=A honey bee lives in a hive., words=28"},
		{`{"text":"` + strings.Repeat(`a`, 5<<20) + `"}`, "at most 1 MiB", 413, "first=A honey bee lives in a hive., words=28"},
		{`[`, "this is no file of fields", 400, "first=A honey bee lives in a hive., words=28"},
		{`{"text":"fields: [{name: slow, xpath: 'count(//node()[count(//node()[count(//node())>0])>0])'}]"}`, `"fields":["slow"],"given":true`, 200, "slow=7"},
		{`{"text":""}`, `fields.yaml","text":"fields:\n  - {name: heading, css: title}\n","fields":["heading"]}`, 200, "heading=Hive"},
	} {
		code, got := take(x.body)
		if code != x.code || !strings.Contains(got, x.want) {
			t.Errorf("%.60s: %d %s, want %d %s", x.body, code, got, x.code, x.want)
		}
		if got := names(); got != x.then {
			t.Errorf("%.60s: then %s, want %s", x.body, got, x.then)
		}
	}
	if b, err := os.ReadFile(col.FieldsFile()); err != nil || string(b) != inFolder {
		t.Errorf("the file in the folder: %s, %v", b, err)
	}
	if got, err := http.Post(d.http.URL+"/api/crawls/1/fields", "application/json", strings.NewReader(`{"text":""}`)); err != nil || got.StatusCode != http.StatusForbidden {
		t.Errorf("without the key: %v, %v", got, err)
	}
}
