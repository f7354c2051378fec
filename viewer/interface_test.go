package viewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// The document of the interface tells what is answered: each path that it names is there,
// and the answer is of its schema, without anything that the schema does not name.
func TestDocument(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	got, b := d.ask("/api/openapi.json")
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name, In string
					Required bool
					Schema   struct{ Enum []string }
				}
				Responses map[string]struct {
					Content map[string]struct{ Schema map[string]any }
				}
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil || got.StatusCode != http.StatusOK {
		t.Fatal(got.StatusCode, err)
	}
	if len(doc.Paths) < 15 {
		t.Errorf("%d paths", len(doc.Paths))
	}
	for path, x := range doc.Paths {
		if strings.HasSuffix(path, "/changes") || x.Get.Responses == nil {
			continue // it has no end, or is for POST alone
		}
		form := "harvest"
		at := strings.NewReplacer("{id}", "1", "{form}", form).Replace(path)
		var variants []string
		sep := "?"
		for _, p := range x.Get.Parameters {
			if p.Required && p.In == "query" {
				at += sep + p.Name + "=https://bees.test/"
				sep = "&"
			}
		}
		variants = append(variants, at)
		for _, p := range x.Get.Parameters {
			for _, word := range p.Schema.Enum {
				variants = append(variants, at+sep+p.Name+"="+word)
			}
		}
		for _, at := range variants {
			got, b := d.ask(at)
			kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
			content, ok := x.Get.Responses["200"].Content[kind]
			if got.StatusCode != http.StatusOK || !ok {
				t.Errorf("%s: %d, %s: %.200s", at, got.StatusCode, kind, b)
				continue
			}
			if kind != "application/json" || path == "/api/openapi.json" {
				continue
			}
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			if err := fits(v, content.Schema, "answer"); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
}

// What is asked for is served under the path by which the document names it, with the methods that it
// names, and nothing else is: what the document leaves out is not found.
func TestDocumentIsWhole(t *testing.T) {
	d, _ := starting(t)
	b, err := json.Marshal(document(d.routes()))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/openapi.json", "/metrics", "/api/crawls/{id}/changes"} {
		if doc.Paths[path]["get"] == nil {
			t.Errorf("the document does not tell of %s", path)
		}
	}
	for path, methods := range doc.Paths {
		at := strings.NewReplacer("{id}", "1", "{form}", "harvest").Replace(path)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			want := "/"
			if methods[strings.ToLower(method)] != nil {
				want = method + " " + path
			}
			if _, got := d.mux.Handler(httptest.NewRequest(method, at, nil)); got != want {
				t.Errorf("%s %s is served as %q, want %q", method, at, got, want)
			}
		}
	}
	served := 0
	for _, r := range d.routes() {
		for method, serve := range map[string]http.HandlerFunc{"get": r.serve, "post": r.post} {
			if serve == nil {
				continue
			}
			served++
			if doc.Paths[r.path][method] == nil {
				t.Errorf("the document does not tell of %s %s", method, r.path)
			}
		}
	}
	if served < 30 {
		t.Errorf("%d operations", served)
	}
}

// A parameter that is not known, is given twice or cannot be read is refused, and named.
func TestParameters(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	for path, want := range map[string]string{
		"/api/crawls/1/pages?limit=1":                    `there is no parameter "limit"`,
		"/api/crawls/1/pages?n=1&n=2":                    `the parameter "n" is given 2 times`,
		"/api/crawls/1/pages?n=1&n=1":                    `the parameter "n" is given 2 times`,
		"/api/crawls/1/page?url=a&url=b&url=c":           `the parameter "url" is given 3 times`,
		"/api/crawls/1/body?url=a&url=b":                 `the parameter "url" is given 2 times`,
		"/api/crawls/1/pages?n=%zz":                      "the parameters cannot be read",
		"/api/crawls/1/pages?n=1;n=2":                    "the parameters cannot be read",
		"/api/crawls/1/exports/wacz?partial=1&partial=0": `the parameter "partial" is given 2 times`,
		"/metrics?x=1":                                   `there is no parameter "x"`,
	} {
		got, b := d.ask(path)
		var told failure
		if err := json.Unmarshal(b, &told); err != nil || got.StatusCode != http.StatusBadRequest || !strings.Contains(told.Error, want) {
			t.Errorf("%s: %d %.200s, want 400 and %q", path, got.StatusCode, b, want)
		}
	}
	if code, lines := d.send("/api/crawls/1/acts?do=pause", map[string]any{"do": "budget", "pages": 1000}); code != http.StatusBadRequest {
		t.Errorf("an act with a parameter: %d %s", code, lines)
	}
}

// Each operation of the document has a name of its own, by which a program that is made of the
// document calls it.
func TestOperations(t *testing.T) {
	d, _ := starting(t)
	b, err := json.Marshal(document(d.routes()))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			at := method + " " + path
			if other := of[o.OperationID]; other != "" || o.OperationID == "" {
				t.Errorf("%s is called %q, as %s", at, o.OperationID, other)
			}
			of[o.OperationID] = at
		}
	}
	for name, want := range map[string]string{
		"exports": "get /api/exports", "export": "get /api/crawls/{id}/exports/{form}", "acts": "get /api/crawls/{id}/acts", "tell": "post /api/crawls/{id}/acts",
		"fields": "get /api/crawls/{id}/fields", "take-fields": "post /api/crawls/{id}/fields", "go-on": "post /api/crawls/{id}/go-on",
	} {
		if of[name] != want {
			t.Errorf("%s is %q, want %q", name, of[name], want)
		}
	}
}

// fits tells where a value is not of a schema.
func fits(v any, schema map[string]any, at string) error {
	kind := schema["type"]
	switch v := v.(type) {
	case map[string]any:
		if more, ok := schema["additionalProperties"].(map[string]any); ok {
			for k, x := range v {
				if err := fits(x, more, at+"."+k); err != nil {
					return err
				}
			}
			return nil
		}
		properties, _ := schema["properties"].(map[string]any)
		for k, x := range v {
			p, ok := properties[k].(map[string]any)
			if !ok {
				return fmt.Errorf("%s.%s is not in the document", at, k)
			}
			if err := fits(x, p, at+"."+k); err != nil {
				return err
			}
		}
		required, _ := schema["required"].([]any)
		for _, k := range required {
			if _, ok := v[k.(string)]; !ok {
				return fmt.Errorf("%s.%s is missing", at, k)
			}
		}
		if kind != "object" {
			return fmt.Errorf("%s is an object, not %v", at, kind)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		if kind != "array" {
			return fmt.Errorf("%s is an array, not %v", at, kind)
		}
		for i, x := range v {
			if err := fits(x, items, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case string:
		if kind != "string" {
			return fmt.Errorf("%s is a string, not %v", at, kind)
		}
	case float64:
		if kind != "number" && (kind != "integer" || v != float64(int64(v))) {
			return fmt.Errorf("%s is %v, not %v", at, v, kind)
		}
	case bool:
		if kind != "boolean" {
			return fmt.Errorf("%s is a boolean, not %v", at, kind)
		}
	default:
		return fmt.Errorf("%s is null", at)
	}
	return nil
}

// samples are those of /metrics without the folder, which each test has another of.
func samples(metrics []byte) string {
	return regexp.MustCompile(`,folder="[^"]*"`).ReplaceAllString(string(metrics), "")
}

// What Prometheus is told is in its text format, and the board for Grafana asks for what
// is told.
func TestMetrics(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	got, b := d.ask("/metrics")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", got.StatusCode, got.Header)
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) waggle_\w+ .+|(waggle_\w+)\{crawl="1",name="bees"(,reason="[a-z-]+"|,how="[A-Za-z]+")?,folder="[^"]+/bees"\} -?[0-9.e+-]+)$`)
	told := map[string]bool{}
	for l := range strings.Lines(string(b)) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			t.Errorf("%q", l)
			continue
		}
		told[m[3]] = true
	}
	for _, want := range []string{`waggle_pages_total{crawl="1",name="bees"} 6`, `waggle_relevant_pages{crawl="1",name="bees"} 4`, `waggle_failures_total{crawl="1",name="bees",reason="status"} 1`, `waggle_links_muted{crawl="1",name="bees"} 0`, `waggle_ended{crawl="1",name="bees",how="FrontierEmpty"} 1`} {
		if !strings.Contains(samples(b), want+"\n") {
			t.Errorf("%q is missing in\n%s", want, b)
		}
	}
	board, err := os.ReadFile(filepath.Join("..", "docs", "examples", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`waggle_\w+`).FindAllString(string(board), -1)
	if len(asked) < 10 || !json.Valid(board) {
		t.Errorf("the board asks for %q", asked)
	}
	if !slices.Contains(asked, "waggle_links_muted") {
		t.Error("the board does not show the links that mutes set aside")
	}
	for _, m := range asked {
		if !told[m] {
			t.Errorf("the board asks for %s, which is not told", m)
		}
	}
	if got := label("a\"b\\c\nd"); got != `a\"b\\c\nd` {
		t.Errorf("%q", got)
	}
}

// Bounds of a list hold wherever they lie: one of 0 is one, and moments may be as far away as they like.
func TestBounds(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	var all watch.PageList
	d.get("pages", &all)
	irrelevant := 0
	for _, p := range all.Pages {
		if p.Relevance == 0 {
			irrelevant++
		}
	}
	if irrelevant == 0 || irrelevant == all.All {
		t.Fatalf("of %d pages %d have no relevance", all.All, irrelevant)
	}
	for path, want := range map[string]int{
		"most=0": irrelevant, "most=1": all.All, "least=0": all.All, "most=0&order=relevance&n=1": irrelevant,
		"until=9999-12-31T00:00:00Z": all.All, "since=9999-12-31T00:00:00Z": 0, "since=0002-01-01T00:00:00Z": all.All,
		"until=0002-01-01T00:00:00Z": 0, "until=1970-01-01T00:00:00Z": 0,
	} {
		var got watch.PageList
		if d.get("pages?"+path, &got); got.All != want {
			t.Errorf("%s: %d pages, want %d", path, got.All, want)
		}
	}
}

// A crawl is taken away as a file.
func TestExport(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	got, b := d.ask("/api/crawls/1/exports/harvest")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(string(b), "relevance\turl\t") || !strings.Contains(got.Header.Get("Content-Disposition"), `attachment; filename="harvest.tsv"`) {
		t.Errorf("%d %v %.80s", got.StatusCode, got.Header, b)
	}
	if got, b := d.ask("/api/crawls/1/exports/nothing"); got.StatusCode != http.StatusNotFound || !json.Valid(b) {
		t.Errorf("%d %s", got.StatusCode, b)
	}
}

// An export of a crawl whose archive is damaged is not taken for whole: where it is small,
// the answer says what cannot be read, else the connection breaks. What can be read is had by
// asking for it, with what cannot in the trailer. Both stand in the state, as a browser shows neither.
func TestDamagedExport(t *testing.T) {
	for _, large := range []bool{false, true} {
		s := bees()
		if large {
			s["https://bees.test/dance"] += strings.Repeat("<p>The waggle dance of the honey bee, once more.", 20000)
		}
		col := crawled(t, s, "https://bees.test/")
		files, err := col.ArchiveFiles()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		clear(b[len(b)-len(b)/4 : len(b)-len(b)/4+100])
		if err := os.WriteFile(files[0], b, 0o644); err != nil {
			t.Fatal(err)
		}
		d := serve(t, col)
		ask := func(more string) (*http.Response, string, error) {
			r, err := http.NewRequest(http.MethodGet, d.http.URL+"/api/crawls/1/exports/pages-jsonl"+more, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+d.key)
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				return nil, "", err
			}
			defer got.Body.Close()
			b, err := io.ReadAll(got.Body)
			return got, string(b), err
		}
		got, text, err := ask("")
		switch {
		case large && err == nil:
			t.Errorf("a large export looks whole: %d, %d bytes", got.StatusCode, len(text))
		case !large && (err != nil || got.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "partial=1 gives the rest") || got.Header.Get("Content-Disposition") != ""):
			t.Errorf("a small export: %v, %v, %.300s", got, err, text)
		}
		told := func(partial bool) {
			t.Helper()
			var st watch.State
			d.get("state", &st)
			if x := st.Export; x == nil || x.Form != "pages-jsonl" || x.Partial != partial || x.At.IsZero() || !strings.Contains(x.Why, filepath.Base(files[0])) || strings.Contains(x.Why, "partial=1") || strings.Contains(x.Why, export.ErrPartial.Error()) {
				t.Errorf("large %v: the state tells %+v", large, x)
			}
		}
		told(false)
		got, text, err = ask("?partial=1")
		if err != nil || got.StatusCode != http.StatusOK || !strings.Contains(text, "https://bees.test/") || !strings.HasSuffix(got.Trailer.Get("Waggle-Partial"), "; "+export.ErrPartial.Error()) {
			t.Errorf("what can be read: %v, %v, %.300s", got, err, text)
		}
		told(true)
		var st watch.State
		d.ask("/api/crawls/1/exports/harvest")
		if d.get("state", &st); st.Export != nil {
			t.Errorf("after an export that is whole the state tells %+v", st.Export)
		}
	}
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	if got, b := d.ask("/api/crawls/1/exports/harvest?partial=1"); got.StatusCode != http.StatusOK || len(b) == 0 || got.Trailer.Get("Waggle-Partial") != "" {
		t.Errorf("of a crawl without damage: %d %v", got.StatusCode, got.Trailer)
	}
}

// A log whose end is lost is not taken for that of a crawl that broke off: the state says what is
// missing, and an export is refused. A log that goes on behind the mark is what a killed crawl
// leaves.
func TestLogCutShort(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	log, err := os.ReadFile(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		log  []byte
		cut  bool
	}{
		{"whole", log, false},
		{"a torn line more", append(slices.Clone(log), `{"at":`...), false},
		{"half of it", log[:len(log)/2], true},
		{"whole again", log, false},
		{"without the last line", log[:1+bytes.LastIndexByte(log[:len(log)-1], '\n')], true},
	} {
		if err := os.WriteFile(col.EventLog(), x.log, 0o644); err != nil {
			t.Fatal(err)
		}
		d := serve(t, col)
		st, err := d.crawls[0].Until(t.Context(), (*watch.State).Read)
		if err != nil || (st.Cut != "") != x.cut {
			t.Errorf("%s: %q, %v", x.name, st.Cut, err)
		}
		got, b := d.ask("/api/crawls/1/exports/pages-jsonl")
		if x.cut != (got.StatusCode == http.StatusInternalServerError && strings.Contains(string(b), "partial=1 gives the rest")) {
			t.Errorf("%s: an export: %d, %.200s", x.name, got.StatusCode, b)
		}
		got, _ = d.ask("/api/crawls/1/exports/pages-jsonl?partial=1")
		if x.cut != (got.Trailer.Get("Waggle-Partial") != "") {
			t.Errorf("%s: the trailer %q", x.name, got.Trailer.Get("Waggle-Partial"))
		}
	}
}
