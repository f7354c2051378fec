package localpage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// page is a page with a key, whose requests under way wait until it is closed.
type page struct {
	address string
	closed  chan struct{}
	began   chan struct{}
}

func (p *page) URL() string { return p.address }

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/wait" {
		close(p.began)
		<-p.closed
	}
	fmt.Fprint(w, "a page")
}

func (p *page) Close() error {
	close(p.closed)
	return nil
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The browser is given a file that only its owner can read, and nothing of the key is
// among its arguments. A request under way gets its answer when the page ends, and the
// file is gone.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	if err := syscall.Mkfifo(told, 0o600); err != nil {
		t.Fatal(err)
	}
	browser := "#!/bin/sh\n{ stat -c %a \"$1\"; echo \"$#\" \"$1\"; cat \"$1\"; } >\"$TOLD\"\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(browser), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOLD", told)
	t.Setenv("TMPDIR", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))

	l := listen(t)
	p := &page{"http://" + l.Addr().String() + "/?key=secret&more=\"<", make(chan struct{}), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var warnings bytes.Buffer
	go func() { ended <- Serve(ctx, l, p, true, &warnings) }()

	b, err := os.ReadFile(told) // waits for the browser
	if err != nil {
		t.Fatal(err)
	}
	mode, rest, _ := strings.Cut(string(b), "\n")
	arguments, shown, _ := strings.Cut(rest, "\n")
	_, file, _ := strings.Cut(arguments, " ")
	if mode != "600" || !strings.HasPrefix(arguments, "1 "+dir) || strings.Contains(arguments, "secret") {
		t.Errorf("the browser was given a file of mode %s: %s", mode, arguments)
	}
	if want := "http://" + l.Addr().String() + "/?key=secret&amp;more=&#34;&lt;"; strings.Count(shown, want) != 2 {
		t.Errorf("the file is %s, without %s", shown, want)
	}

	answers := make(chan string, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String() + "/wait")
		if err != nil {
			answers <- err.Error()
			return
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		answers <- fmt.Sprint(string(b), err)
	}()
	<-p.began
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := <-answers; got != "a page<nil>" {
		t.Errorf("a request under way got %s", got)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there still: %v", file, err)
	}
	if warnings.Len() > 0 {
		t.Error(warnings.String())
	}
}

func TestServeWithoutBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var warnings bytes.Buffer
	if err := Serve(ctx, l, &page{"http://127.0.0.1/", make(chan struct{}), nil}, true, &warnings); err != nil {
		t.Error(err)
	}
	if !strings.Contains(warnings.String(), "open the address yourself") {
		t.Errorf("told %q", warnings.String())
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}

	l = listen(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, &page{"", make(chan struct{}), nil}, false, &warnings); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that is closed: %v", err)
	}
}
