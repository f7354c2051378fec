//go:build unix

package judge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// The test binary is its own black box: started with WAGGLE_TEST_JUDGE it
// answers as that says, page by page, by what the title asks for.
func TestMain(m *testing.M) {
	if os.Getenv("WAGGLE_TEST_JUDGE") != "" {
		blackBox()
		return
	}
	os.Exit(m.Run())
}

func blackBox() {
	if log, err := os.OpenFile(os.Getenv("WAGGLE_TEST_JUDGE"), os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(log, os.Getpid())
		log.Close()
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var q struct{ URL, Title, Text, HTML string }
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			fmt.Println(`{"error":"no JSON"}`)
			continue
		}
		switch {
		case strings.HasPrefix(q.Title, "say "):
			fmt.Println(strings.TrimPrefix(q.Title, "say "))
		case q.Title == "echo":
			if q.URL == "http://x.test/" && q.Text == "echo\nthe body\n" && q.HTML == "<p>\n</p>" {
				fmt.Println(`{"relevance":0.9}`)
			} else {
				fmt.Println(`{"relevance":0}`)
			}
		case q.Title == "crash":
			fmt.Fprintln(os.Stderr, "out of honey")
			os.Exit(3)
		case q.Title == "hang":
			time.Sleep(time.Minute) // longer than anybody waits
		case q.Title == "flood":
			for range 1 << 12 {
				fmt.Print(strings.Repeat("x", 1<<10))
			}
			fmt.Println()
		case q.Title == "late":
			late()
		}
	}
}

// late answers, and when the test bids it to, says another line. It tells the test when that was
// read: what follows the line is more than a pipe holds.
func late() {
	test, err := net.Dial("tcp", os.Getenv("WAGGLE_TEST_LATE"))
	if err != nil {
		fmt.Println(`{"error":"no test"}`)
		return
	}
	defer test.Close()
	fmt.Println(`{"relevance":0.5}`)
	b := make([]byte, 1)
	test.Read(b)
	fmt.Print("{\"relevance\":0.6}\n" + strings.Repeat("x", 1<<18))
	test.Write(b)
}

// startBox starts the black box; pids returns the process ids of all its lives.
func startBox(t *testing.T, o judge.Options) (j judge.Judge, pids func() []int) {
	t.Helper()
	log := t.TempDir() + "/pids"
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WAGGLE_TEST_JUDGE", log)
	o.Command = []string{os.Args[0]}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	j, err := judge.New("command", &topic.Topic{Keywords: []string{"bees"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return j, func() (out []int) {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Fields(string(b)) {
			var pid int
			fmt.Sscan(f, &pid)
			out = append(out, pid)
		}
		return out
	}
}

// gone checks that no process is left, not even as a zombie.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there (%v)", pid, err)
		}
	}
}

func ask(j judge.Judge, title string) (web.Verdict, error) {
	p := page("http://x.test/", title, "the body")
	return j.Judge(context.Background(), p)
}

func TestCommandAnswers(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{HTML: func(*web.Page) []byte { return []byte("<p>\n</p>") }})
	for _, c := range []struct {
		title string
		want  float64
		err   string // part of the error, "" for none
	}{
		{`say {"relevance":0.7}`, 0.7, ""},
		{`say {"relevance":0, "why":"no bees"}`, 0, ""},
		{`say {"relevance":1}`, 1, ""},
		{`say {"relevance":1.01}`, 0, "relevance 1.01 is outside [0,1]"},
		{`say {"relevance":-0.1}`, 0, "outside [0,1]"},
		{`say {"relevance":"high"}`, 0, `it must be a line such as {"relevance":0.7}`},
		{`say {}`, 0, `holds no "relevance"`},
		{`say yes`, 0, `answer "yes\n"`},
		{`say {"error":"no model"}`, 0, ""},
		{"echo", 0.9, ""}, // it was given address, text and source
		{"say {\"relevance\":0.5}\n{\"relevance\":0.6}", 0.5, ""},
		{`say {"relevance":0.3}`, 0.3, ""}, // and not .6
		{`say {"relevance":0.2}`, 0.2, ""},
	} {
		v, err := ask(j, c.title)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.title, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "http://x.test/")):
			t.Errorf("%s: error %v, want one with %q and the page", c.title, err, c.err)
		case v.Relevance != c.want || v.Relevant != (err == nil && c.want >= j.Threshold()):
			t.Errorf("%s: %+v, want %v", c.title, v, c.want)
		}
	}
	if n := len(pids()); n != 4 {
		t.Errorf("it was started %d times: once, and after two answers that were none and one that was two", n)
	}
	if j.Text("bees") <= j.Text("steel") {
		t.Error("anchors are not judged by the topic")
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pids())
	if _, err := ask(j, `say {"relevance":1}`); err == nil {
		t.Error("a closed judge answered")
	}
}

// A line that comes some time after the answer is not taken for that to the next page.
func TestCommandLateLine(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("WAGGLE_TEST_LATE", l.Addr().String())
	j, pids := startBox(t, judge.Options{})
	defer j.Close()
	if v, err := ask(j, "late"); err != nil || v.Relevance != 0.5 {
		t.Fatalf("%v, %v", v, err)
	}
	box, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	box.SetDeadline(time.Now().Add(30 * time.Second))
	b := make([]byte, 1)
	if _, err := box.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Read(b); err != nil {
		t.Fatalf("the second line is not read: %v", err)
	}
	for _, want := range []float64{0.3, 0.2} {
		if v, err := ask(j, fmt.Sprintf(`say {"relevance":%v}`, want)); err != nil || v.Relevance != want {
			t.Errorf("%v, %v, want %v", v, err, want)
		}
	}
	if n := len(pids()); n != 2 {
		t.Errorf("it was started %d times, want once more after the line", n)
	}
	j.Close()
	gone(t, pids())
}

// A process that dies is started again, at most Restarts times.
func TestCommandCrash(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{Restarts: 3})
	defer j.Close()
	// The page at which it dies is asked of two processes.
	if _, err := ask(j, "crash"); err == nil || !strings.Contains(err.Error(), "out of honey") {
		t.Errorf("error %v does not tell what it said", err)
	}
	if v, err := ask(j, `say {"relevance":0.5}`); err != nil || v.Relevance != 0.5 {
		t.Errorf("after a crash: %v, %v", v, err)
	}
	ask(j, "crash")
	if _, err := ask(j, `say {"relevance":0.5}`); err == nil || !strings.Contains(err.Error(), "ended too often") {
		t.Errorf("after the last restart: error %v", err)
	}
	if n := len(pids()); n != 4 {
		t.Errorf("started %d times, want once and 3 restarts", n)
	}
	gone(t, pids())
}

// A page that takes too long is an error, its process is replaced.
func TestCommandTimeout(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{Timeout: 3 * time.Second})
	if _, err := ask(j, "hang"); err == nil || !strings.Contains(err.Error(), "no answer within 3s") {
		t.Errorf("error %v", err)
	}
	gone(t, pids())
	began := len(pids())
	_, err := ask(j, `say {"relevance":0.5}`)
	// On a busy machine a program may take as long to start: then it has not said yet which process it is.
	for tries := 1; tries < 5 && err != nil && strings.Contains(err.Error(), "no answer within 3s") && len(pids()) == began; tries++ {
		_, err = ask(j, `say {"relevance":0.5}`)
	}
	if err != nil {
		t.Errorf("the page after it: %v", err)
	}
	j.Close()
	gone(t, pids())
}

func TestCommandFlood(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{})
	if _, err := ask(j, "flood"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error %v", err)
	}
	j.Close()
	gone(t, pids())
}

// When the crawl stops, a pending page ends at once with its context.
func TestCommandCancel(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := j.Judge(ctx, page("http://x.test/", "hang", ""))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	j.Close()
	gone(t, pids())
}

// Many workers ask at once; each gets the answer for its own page.
func TestCommandConcurrent(t *testing.T) {
	defer goleak.VerifyNone(t)
	j, pids := startBox(t, judge.Options{})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for k := range 20 {
				want := float64(i*20+k) / 200
				if v, err := ask(j, fmt.Sprintf(`say {"relevance":%v}`, want)); err != nil || v.Relevance != want {
					t.Errorf("%v, %v, want %v", v, err, want)
				}
			}
		})
	}
	group.Wait()
	j.Close()
	gone(t, pids())
}
