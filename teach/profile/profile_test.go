package profile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/topic/paths"
)

// visit is a line of a made-up history: url, the number of the visit it came
// from (from 1; 0 = none) and its type.
type visit struct {
	url  string
	from int
	kind int64
}

// firefox builds a places.sqlite as Firefox lays it out.
func firefox(t testing.TB, file string, version int, visits []visit) *sqlite.Conn {
	t.Helper()
	c := create(t, file, fmt.Sprintf(`
		CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
			visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL,
			last_visit_date INTEGER, guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL);
		CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER, session INTEGER,
			source INTEGER DEFAULT 0 NOT NULL, triggeringPlaceId INTEGER);
		PRAGMA user_version = %d;`, version))
	for i, v := range visits {
		run(t, c, `INSERT INTO moz_places (id, url) VALUES (?, ?)`, i+1, v.url)
		run(t, c, `INSERT INTO moz_historyvisits (id, from_visit, place_id, visit_date, visit_type) VALUES (?, ?, ?, ?, ?)`, i+1, v.from, i+1, 1_700_000_000_000_000+i, v.kind)
	}
	return c
}

// chromium builds a History as Chromium lays it out.
func chromium(t testing.TB, file string, visits []visit) *sqlite.Conn {
	t.Helper()
	c := create(t, file, `
		CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
		INSERT INTO meta VALUES ('version', '70'), ('last_compatible_version', '16');
		CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER DEFAULT 0 NOT NULL,
			typed_count INTEGER DEFAULT 0 NOT NULL, last_visit_time INTEGER NOT NULL, hidden INTEGER DEFAULT 0 NOT NULL);
		CREATE TABLE visits(id INTEGER PRIMARY KEY AUTOINCREMENT, url INTEGER NOT NULL, visit_time INTEGER NOT NULL, from_visit INTEGER,
			transition INTEGER DEFAULT 0 NOT NULL, segment_id INTEGER, visit_duration INTEGER DEFAULT 0 NOT NULL, opener_visit INTEGER);`)
	for i, v := range visits {
		run(t, c, `INSERT INTO urls (id, url, last_visit_time) VALUES (?, ?, 0)`, i+1, v.url)
		from, opener := v.from, 0
		if v.from < 0 { // opened in a new tab
			from, opener = 0, -v.from
		}
		run(t, c, `INSERT INTO visits (id, url, visit_time, from_visit, opener_visit, transition) VALUES (?, ?, ?, ?, ?, ?)`, i+1, i+1, 13_350_000_000_000_000+i, from, opener, v.kind)
	}
	return c
}

func create(t testing.TB, file, script string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.OpenConn(file, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t testing.TB, c *sqlite.Conn, query string, args ...any) {
	t.Helper()
	if err := sqlitex.Execute(c, query, &sqlitex.ExecOptions{Args: args}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// text is what was found, one path a line.
func text(f Found) string {
	var b strings.Builder
	for _, p := range f.Paths {
		fmt.Fprintf(&b, "%s %s:", p.Source, p.Site)
		for _, s := range p.Steps {
			b.WriteString(" " + s.URL.String())
			if !s.Link.Via.IsZero() {
				b.WriteString("(" + s.Link.Via.String() + ")")
			}
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), "http://college.test", "")
}

// read reads a history of two sites.
func read(t *testing.T, file string, sites ...string) (Found, error) {
	t.Helper()
	if len(sites) == 0 {
		sites = []string{"college.test", "https://other.test/any"}
	}
	temp := t.TempDir()
	f, err := Read(context.Background(), file, Options{Sites: sites, Temp: temp})
	if left, errDir := os.ReadDir(temp); errDir != nil || len(left) > 0 {
		t.Errorf("the copy was left behind: %v %v", left, errDir)
	}
	return f, err
}

const (
	link    = 1 // Firefox
	cLink   = 0 | 0x30000000
	cTyped  = 1 | 0x30000000
	cFrame  = chromiumManualSubframe | 0x30000000
	cBack   = 0 | 0x30000000 | chromiumForwardBack
	cServer = 0 | 0x20000000 | chromiumServerRedirect
)

// TestFirefox follows from_visit: branches, redirects, frames, other sites.
func TestFirefox(t *testing.T) {
	dir := t.TempDir()
	firefox(t, filepath.Join(dir, "places.sqlite"), 80, []visit{
		{"http://college.test/", 0, 2},                            // 1, typed
		{"http://college.test/dept/", 1, link},                    // 2
		{"http://college.test/dept/old", 2, link},                 // 3, moved to
		{"http://college.test/dept/courses", 3, firefoxMoved},     // 4
		{"http://college.test/dept/people", 2, link},              // 5: back, then this
		{"http://college.test/ad", 5, firefoxFrame},               // 6: no page of its own
		{"http://www.college.test/cs101", 4, link},                // 7: below the site
		{"http://secret.test/diary", 7, link},                     // 8: not asked for
		{"http://college.test/after", 8, link},                    // 9: comes from there: a start
		{"http://other.test/", 7, link},                           // 10: another site: a start
		{"http://other.test/x", 10, link},                         // 11
		{"about:preferences", 0, 2}, {"file:///etc/passwd", 0, 2}, // 12, 13
		{"http://college.test/", 0, 2},                // 14: the same again, less far
		{"http://college.test/dept/", 14, link},       // 15
		{"http://notcollege.test/", 0, 2},             // 16: a name that only ends alike
		{"http://college.test/late", 99, link},        // 17: from a visit that was forgotten
		{"http://college.test/out?x", 5, link},        // 18: a link that redirects
		{"http://secret.test/", 18, firefoxMovedTemp}, // 19: elsewhere, so 18 is no page
	}).Close()
	f, err := read(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "firefox college.test: / /dept/ /dept/people\n" +
		"firefox college.test: / /dept/ /dept/courses(/dept/old) http://www.college.test/cs101\n" +
		"firefox other.test: http://other.test/ http://other.test/x\n"
	if got := text(f); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if f.Browser != "firefox" || f.Version != 80 || f.Visits != 13 || len(f.Copied) != 1 {
		t.Errorf("%+v", f)
	}
}

// TestChromium follows from_visit and the tabs that links opened.
func TestChromium(t *testing.T) {
	dir := t.TempDir()
	chromium(t, filepath.Join(dir, "History"), []visit{
		{"http://college.test/", 0, cTyped},              // 1
		{"http://college.test/dept/", 1, cLink},          // 2
		{"http://college.test/go?1", 2, 0 | 0x10000000},  // 3: moved to
		{"http://college.test/dept/courses", 3, cServer}, // 4
		{"http://college.test/dept/frame", 2, cFrame},    // 5
		{"http://college.test/dept/people", -2, cLink},   // 6: in a new tab
		{"chrome://settings/", 0, cTyped},                // 7
		{"http://college.test/dept/", 0, cBack},          // 8: back, then
		{"http://college.test/dept/ann", 8, cLink},       // 9: comes from 2
		{"http://college.test/forgotten", 0, cBack},      // 10: back to what is no more known: a start
		{"http://college.test/late", 10, cLink},          // 11
		{"http://college.test/out?x", 9, 0 | 0x10000000}, // 12: moved to
		{"http://secret.test/", 12, cServer},             // 13: elsewhere
	}).Close()
	f, err := read(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "chromium college.test: / /dept/ /dept/courses(/go?1)\nchromium college.test: / /dept/ /dept/people\n" +
		"chromium college.test: / /dept/ /dept/ann\nchromium college.test: /forgotten /late\n"
	if got := text(f); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if f.Browser != "chromium" || f.Version != 70 {
		t.Errorf("%+v", f)
	}
}

// TestRunningBrowser reads a profile that its browser holds open and locked,
// with the latest visit in the write-ahead log only, and leaves it as it was.
func TestRunningBrowser(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "places.sqlite")
	c := firefox(t, file, 77, nil)
	for _, p := range []string{"PRAGMA journal_mode=WAL", "PRAGMA locking_mode=EXCLUSIVE"} {
		if err := sqlitex.ExecuteTransient(c, p, &sqlitex.ExecOptions{ResultFunc: func(*sqlite.Stmt) error { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	for i, u := range []string{"http://college.test/", "http://college.test/dept/"} {
		run(t, c, `INSERT INTO moz_places (id, url) VALUES (?, ?)`, i+1, u)
		run(t, c, `INSERT INTO moz_historyvisits (id, from_visit, place_id, visit_date, visit_type) VALUES (?, ?, ?, ?, 1)`, i+1, i, i+1, i)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := read(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(f); got != "firefox college.test: / /dept/\n" || f.Behind {
		t.Errorf("got %q, behind: %v", got, f.Behind)
	}
	if len(f.Copied) != 2 || !strings.HasSuffix(f.Copied[1], "places.sqlite-wal") {
		t.Errorf("copied %q", f.Copied)
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("the profile was written to: %v", err)
	}
	run(t, c, `DELETE FROM moz_historyvisits`) // the browser is not disturbed
	// The file alone, without its log, knows less, and says so.
	if err := os.WriteFile(filepath.Join(dir, "copy.sqlite"), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := read(t, filepath.Join(dir, "copy.sqlite")); err != nil || !f.Behind || f.Visits != 0 {
		t.Errorf("without its log: %v %+v", err, f)
	}
}

// TestStrangeProfiles tells what is the matter, and what to do.
func TestStrangeProfiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	create(t, at("future.sqlite"), `CREATE TABLE moz_historyvisits (id INTEGER, origin INTEGER); CREATE TABLE moz_places (id INTEGER, url TEXT); PRAGMA user_version = 999`).Close()
	create(t, at("future"), `CREATE TABLE visits (id INTEGER, visit_time INTEGER); CREATE TABLE urls (id INTEGER); CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('version', '999')`).Close()
	create(t, at("other.sqlite"), `CREATE TABLE cookies (id INTEGER)`).Close()
	for name, content := range map[string]string{"empty": "", "text": strings.Repeat("no database\n", 500), "short": "SQLite format 3\x00"} {
		if err := os.WriteFile(at(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	firefox(t, at("good.sqlite"), 77, []visit{{"http://college.test/", 0, link}}).Close()
	whole, err := os.ReadFile(at("good.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("cut.sqlite"), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file  string
		sites []string
		want  string
	}{
		"a newer Firefox":  {"future.sqlite", nil, "firefox with schema version 999 is not known here: its table moz_historyvisits lacks the column from_visit"},
		"a newer Chromium": {"future", nil, "chromium with schema version 999 is not known here: its table visits lacks the column from_visit"},
		"another database": {"other.sqlite", nil, "holds no history: neither moz_historyvisits (Firefox) nor visits (Chromium)"},
		"nothing in it":    {"empty", nil, "holds no history"},
		"a text":           {"text", nil, "no database a browser keeps, or it is damaged"},
		"a beginning":      {"short", nil, "short"},
		"half of one":      {"cut.sqlite", nil, "cut.sqlite"},
		"no file":          {"absent", nil, "no such file"},
		"a folder":         {".", nil, "holds neither places.sqlite (Firefox) nor History (Chromium)"},
		"no site":          {"good.sqlite", []string{""}, `site ""`},
		"all of com":       {"good.sqlite", []string{"com"}, "that is no single site"},
	} {
		_, err := read(t, at(c.file), c.sites...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read(context.Background(), at("good.sqlite"), Options{}); err == nil || !strings.Contains(err.Error(), "no site is named") {
		t.Errorf("without sites: %v", err)
	}
	// A path of one page shows no way.
	if f, err := read(t, at("good.sqlite")); err != nil || f.Visits != 1 || len(f.Paths) != 0 {
		t.Errorf("one page: %+v %v", f, err)
	}
}

// TestPathsReadBack writes what was found and reads it again.
func TestPathsReadBack(t *testing.T) {
	dir := t.TempDir()
	firefox(t, filepath.Join(dir, "places.sqlite"), 77, []visit{{"http://college.test/", 0, link}, {"http://college.test/a", 1, link}}).Close()
	f, err := read(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := paths.WriteTSV(&b, f.Paths); err != nil {
		t.Fatal(err)
	}
	got, problems, err := paths.Read(strings.NewReader(b.String()), "f")
	if err != nil || len(problems) > 0 || len(got) != 1 || got[0].Source != "firefox" || got[0].Site != "college.test" {
		t.Errorf("%+v %v %v", got, problems, err)
	}
}
