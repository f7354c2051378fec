//go:build unix

package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
)

// servedPage is a page that waggle open serves.
type servedPage struct {
	t    *testing.T
	base string // of its interface
	key  string
}

// pageOf is the page that a command serves until the test ends.
func pageOf(t *testing.T, cmd *exec.Cmd) *servedPage {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, _ := strings.Cut(strings.TrimSpace(line), "Look here: ")
	at, errParse := url.Parse(address)
	if err = errors.Join(err, errParse); err != nil || at.Host == "" {
		cmd.Wait()
		t.Fatalf("%q: %v\n%s", line, err, said.String())
	}
	return &servedPage{t, "http://" + at.Host + "/api/", at.Query().Get("key")}
}

// ask asks the interface; a body is sent by POST.
func (o *servedPage) ask(path, body string) *http.Response {
	o.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.base+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+o.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	return got
}

func (o *servedPage) text(path, body string) string {
	o.t.Helper()
	got := o.ask(path, body)
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", got.StatusCode, b)
}

// shownState is what the tests read of the figures.
type shownState struct {
	Running  bool
	Error    string
	Closed   string
	Activity *struct{ Busy int }
	Index    struct{ Error, Closed string }
	Figures  struct {
		Pages int
		Ended event.Ending
	}
}

// until reads the changes that the page is told until one is as wanted, for two minutes.
func (o *servedPage) until(what string, is func(*shownState) bool) (last shownState) {
	o.t.Helper()
	got := o.ask("crawls/1/changes", "")
	defer got.Body.Close()
	defer time.AfterFunc(2*time.Minute, func() { got.Body.Close() }).Stop()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = shownState{}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			o.t.Fatal(err)
		}
		if is(&last) {
			return last
		}
	}
	o.t.Fatalf("%s: the page is told no more: %v; last %+v", what, lines.Err(), last)
	return last
}

// A crawl is killed, goes on and ends while its page is open: the page tells each.
func TestPageOfKilledCrawl(t *testing.T) {
	long.Test(t, "opens the page of a crawl in a process")
	t.Parallel()
	site := serveNumbered(t, 60)
	enough := site.gate(20)
	dir := filepath.Join(t.TempDir(), "crawl")
	begin := func(args []string) (cmd *exec.Cmd, ended chan error) {
		cmd = waggleCommand(args)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended = make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, ended
	}
	cmd, ended := begin(append(site.crawl(dir), "--keywords", "bees", "--workers", "4"))
	defer cmd.Process.Kill()
	<-enough
	page := pageOf(t, waggleCommand([]string{"open", dir, "--no-browser"}))
	page.until("while it runs", func(s *shownState) bool {
		return s.Running && s.Figures.Pages > 0 && s.Activity != nil && s.Activity.Busy > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	s := page.until("killed", func(s *shownState) bool { return !s.Running })
	if s.Activity != nil || s.Figures.Ended != "" || s.Error != "" {
		t.Errorf("of a crawl that was killed the page tells %+v", s)
	}
	site.open()
	cmd, ended = begin([]string{"crawl", "-o", dir, "--resume"})
	defer cmd.Process.Kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	page.until("ended", func(s *shownState) bool {
		return !s.Running && s.Figures.Ended == event.FrontierEmpty && s.Activity == nil
	})
}

// The page of a folder that its user may only read shows all there is, says what cannot be
// done, and leaves the folder as it was.
func TestPageOfFolderToRead(t *testing.T) {
	long.Test(t, "opens the page of a crawl in a process")
	t.Parallel()
	site := serveNumbered(t, 10)
	top := t.TempDir()
	dir := filepath.Join(top, "crawl")
	if said, err := waggleCommand(append(site.crawl(dir), "--keywords", "bees")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	list := func() string {
		var out strings.Builder
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			fmt.Fprintln(&out, path, info.Size(), info.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	chmod := func(folder, file fs.FileMode) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return errors.Join(err, os.Chmod(path, file))
			}
			return os.Chmod(path, folder)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o555, 0o444)
	t.Cleanup(func() { chmod(0o755, 0o644) })
	var cred *syscall.Credential
	if os.Geteuid() == 0 { // who may write anywhere: somebody else opens the page
		cred = &syscall.Credential{Uid: 65534, Gid: 65534}
		for _, above := range []string{filepath.Dir(waggle), filepath.Dir(top), top} {
			if err := os.Chmod(above, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := list()
	cmd := waggleCommand([]string{"open", dir, "--no-browser"})
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	cmd.Dir = dir // in which a crawl would begin
	page := pageOf(t, cmd)
	page.until("read", func(s *shownState) bool { return s.Figures.Ended != "" })
	address := url.QueryEscape(site.hosts[0] + "/")
	for path, want := range map[string]string{
		"crawls/1/pages": `"title":"Page 0"`, "crawls/1/body?url=" + address: `"archived":true`, "crawls/1/explain?url=" + address: "Fetched",
		"crawls/1/exports/pages-csv": site.hosts[0], "crawls/1/acts": `"acts":[]`, "crawls/1/job": "seeds:",
	} {
		if got := page.text(path, ""); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want) {
			t.Errorf("%s: %.300s does not hold %s", path, got, want)
		}
	}
	mayNot := "the user who runs waggle open may not write in " + dir + ": open a copy of the crawl, or open it as a user who may"
	page.until("nothing can be told", func(s *shownState) bool { return s.Closed == mayNot })
	if got := page.text("crawls/1/acts", `{"do":"budget","pages":20}`); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, mayNot) {
		t.Errorf("an act: %s", got)
	}
	if got := page.text("crawls/1/go-on", `{}`); !strings.Contains(got, `"problems":[{`) || !strings.Contains(got, mayNot) {
		t.Errorf("to go on: %s", got)
	}
	mayNot = "the user who runs waggle open may not write in " + dir + ": open it as a user who may, or open another folder"
	if got := page.text("start", ""); !strings.Contains(got, `"closed":"`+mayNot) {
		t.Errorf("a crawl can begin: %.300s", got)
	}
	if got := page.text("start/begin", `{"folder":"other","values":{}}`); !strings.Contains(got, mayNot) {
		t.Errorf("to begin a crawl: %s", got)
	}
	page.until("no index", func(s *shownState) bool { return strings.Contains(s.Index.Closed, "may not write") })
	if got := page.text("crawls/1/index", `{}`); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "may not write in "+dir) || !strings.Contains(got, "waggle search") {
		t.Errorf("to make the index: %s", got)
	}
	if after := list(); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
}
