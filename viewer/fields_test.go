package viewer

import (
	"net/url"
	"os"
	"strings"
	"testing"
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
	if r, got := d.ask("/api/crawls/1/exports/graphml"); r.StatusCode != 200 {
		t.Errorf("a form without a place for them: %d %s", r.StatusCode, got)
	}
	write("fields:\n  - {name: heading, css: 'h1['}\n")
	if b := body("https://bees.test/hive"); !b.Archived || b.Values != nil || !strings.Contains(b.Fields, "fields.yaml:2") {
		t.Errorf("of a file that is wrong: %q", b.Fields)
	}
}
