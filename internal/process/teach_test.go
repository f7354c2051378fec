package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/store"
	shown "github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// TestTeachCommand teaches one path on a live site through the command itself:
// the address it prints, a click, a label, the file, the end.
func TestTeachCommand(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>%s</title><a href="/next">Next</a>`, r.URL.Path)
	}))
	defer site.Close()
	file := filepath.Join(t.TempDir(), "paths.tsv")
	read := func() paths.Path {
		t.Helper()
		set, problems, err := paths.ReadFile(file)
		if err != nil || len(problems) > 0 || len(set) != 1 {
			t.Fatalf("kept %+v, %v %v", set, problems, err)
		}
		return set[0]
	}
	ask, end := teaching(t, site.URL, "-o", file, "--allow-private", "--delay", "0")
	st := ask("POST", "/do/open", fmt.Sprintf(`{"url":%q}`, site.URL))
	ask("GET", st.Src+"0", "")
	st = ask("POST", "/do/arrived", fmt.Sprintf(`{"view":%d}`, ask("GET", "/do/state", "").Framed))
	ask("POST", "/do/label", fmt.Sprintf(`{"label":"Goal","url":%q}`, st.Steps[1].URL))
	end()
	if p := read(); !p.Positive() || len(p.Steps) != 2 || p.Steps[1].Link.Anchor != "Next" {
		t.Errorf("kept %+v", p)
	}

	// Another day: what was done before can be undone, step by step.
	ask, end = teaching(t, "-o", file, "--allow-private", "--delay", "0")
	if st := ask("GET", "/do/state", ""); st.Undo != "the label Goal" {
		t.Errorf("to undo: %q", st.Undo)
	}
	if st := ask("POST", "/do/undo", "{}"); st.Steps[1].Label != "" || st.Undo != "following a link" {
		t.Errorf("after undo: %+v", st)
	}
	end()
	if p := read(); p.Ending() != "" || len(p.Steps) != 2 {
		t.Errorf("kept %+v", p)
	}

	// And redone, on yet another.
	ask, end = teaching(t, "-o", file, "--allow-private", "--delay", "0")
	if st := ask("POST", "/do/redo", "{}"); st.Steps[1].Label != "Goal" || st.Undo != "the label Goal" || st.Redo != "" {
		t.Errorf("after redo: %+v", st)
	}
	if st := ask("POST", "/do/undo", "{}"); st.Redo != "the label Goal" {
		t.Errorf("after undo: %+v", st)
	}
	end()

	// Edited by hand in between: the past is not that of these paths.
	if err := os.WriteFile(file, []byte(site.URL+"\tGoal\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ask, end = teaching(t, "-o", file, "--allow-private", "--delay", "0")
	if st := ask("GET", "/do/state", ""); st.Undo != "" {
		t.Errorf("to undo: %q", st.Undo)
	}
	end()
	if p := read(); !p.Positive() {
		t.Errorf("kept %+v", p)
	}
}

// TestTeachRecorded shows pages of a recorded web as they looked, with the style
// sheets that are recorded, and with the titles of its start pages; links out of
// the record look dead.
func TestTeachRecorded(t *testing.T) {
	dir := t.TempDir()
	a, err := store.Create(dir, store.Options{Prefix: "styled"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct{ address, kind, body string }{
		{"https://bees.test/", "text/html", `<title>Bees</title><link rel=stylesheet href=/s.css><link rel=stylesheet href=/gone.css><a href=/hive>Hive</a> <a href=/out>Out</a>`},
		{"https://bees.test/hive", "text/html", "<title>Hive</title>"},
		{"https://bees.test/s.css", "text/css", "body{color:green}"},
	} {
		u, err := web.Parse(p.address)
		if err != nil {
			t.Fatal(err)
		}
		record, err := a.EncodeResponse(&web.Response{URL: u, Started: time.Unix(0, 0), Status: 200, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: " + p.kind), Raw: []byte(p.body)})
		if err == nil {
			_, err = a.Append(record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	manifest := "name: bees\ntopics: [{name: hives, seeds: ['https://bees.test/']}]\n"
	if err := errors.Join(a.Close(), os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(manifest), 0o644)); err != nil {
		t.Fatal(err)
	}
	ask, end := teaching(t, "--web", dir, "-o", filepath.Join(t.TempDir(), "paths.tsv"))
	defer end()
	if st := ask("GET", "/do/state", ""); len(st.Starts) != 1 || st.Starts[0].Title != "Bees" || st.Starts[0].URL != "https://bees.test/" {
		t.Errorf("start pages %+v", st.Starts)
	}
	st := ask("POST", "/do/open", `{"url":"https://bees.test/"}`)
	page := ask("GET", st.Src, "").Text
	if strings.Count(page, `<a href="/page/`) != 1 || !strings.Contains(page, `<a class="waggle-dead" title="https://bees.test/out is not in the record">Out</a>`) {
		t.Errorf("links of\n%s", page)
	}
	sheet := strings.Replace(st.Src, "/page/", "/load/", 1)
	if css := ask("GET", sheet+"0", "").Text; css != "body{color:green}" {
		t.Errorf("style sheet %q", css)
	}
	if css := ask("GET", sheet+"1", "").Text; css != "not to be had\n" {
		t.Errorf("a sheet that is not recorded: %q", css)
	}
}

// pageState is what a test reads of the page's state.
type pageState struct {
	Src    string
	Framed int
	Error  string
	Undo   string
	Redo   string
	Steps  []struct{ URL, Label string }
	Starts []struct{ URL, Title string }
	Text   string `json:"-"` // of an answer that is no state
}

// teaching runs `waggle teach`. ask asks its page, end ends it as Ctrl-C does.
func teaching(t *testing.T, args ...string) (ask func(method, path, body string) pageState, end func()) {
	t.Helper()
	cmd, base, token := startPage(t, "Teach here: ", append([]string{"teach"}, args...)...)
	ask = func(method, path, body string) (answer pageState) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(shown.TokenHeader, token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		answer.Text = string(b)
		if resp.Header.Get("Content-Type") == "application/json" {
			if err := json.Unmarshal(b, &answer); err != nil || answer.Error != "" {
				t.Fatalf("%s: %v %s", path, err, b)
			}
		}
		return answer
	}
	end = func() {
		t.Helper()
		http.DefaultClient.CloseIdleConnections()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}
	return ask, end
}

// startPage starts a command that shows a local page, whose address it prints behind
// some words. base is where it listens, token the key to ask it with.
func startPage(t *testing.T, words string, args ...string) (cmd *exec.Cmd, base, token string) {
	t.Helper()
	cmd = waggleCommand(args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), words)
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	base, token, _ = strings.Cut(strings.TrimPrefix(strings.TrimSuffix(address, "/"), "http://"), "/")
	return cmd, base, token
}

// TestTeachImportProfile imports from a made-up Firefox profile, with labels.
func TestTeachImportProfile(t *testing.T) {
	dir := t.TempDir()
	c, err := sqlite.OpenConn(filepath.Join(dir, "places.sqlite"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(c, `
		CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR);
		CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER);
		INSERT INTO moz_places VALUES (1, 'https://college.test/'), (2, 'https://college.test/courses'), (3, 'https://diary.test/secret');
		INSERT INTO moz_historyvisits VALUES (1, 0, 1, 1, 1), (2, 1, 2, 2, 1), (3, 2, 3, 3, 1);
		PRAGMA user_version = 77;`, nil)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "paths.tsv")
	b, err := waggleCommand([]string{"teach", "import", dir, "--site", "college.test", "--label", "Goal=/courses$", "-o", out}).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, b)
	}
	kept, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	const want = "# site: college.test\n# source: firefox\nhttps://college.test/\nhttps://college.test/courses\tGoal\n"
	if !strings.HasSuffix(string(kept), want) || strings.Contains(string(kept), "secret") {
		t.Errorf("kept\n%s", kept)
	}
	if got := string(b); !strings.Contains(got, "firefox, schema version 77: read a copy of "+filepath.Join(dir, "places.sqlite")) || !strings.Contains(got, "1 path, 1 with labels") || strings.Contains(got, "secret") {
		t.Errorf("said\n%s", got)
	}
}
