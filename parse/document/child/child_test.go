package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/parse/document/pdf/pdftest"
	"github.com/waggle-crawler/waggle/web"
)

// TestMain is a process of a pool when it is run as one, or one that misbehaves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Name:
			os.Exit(Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case "misbehave":
			misbehave(os.Args[2:])
		case "outlive":
			os.Exit(outlive())
		}
	}
	dir, done, err := pdftest.MachineCode()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	machineCode = dir
	code := m.Run()
	done()
	os.Exit(code)
}

// machineCode is the folder in which that of PDFium is kept for all tests. It is set once.
var machineCode string

// compilePDFium has the machine code of PDFium made, however long that takes here: what reads PDF
// after it is held to limits by the clock.
func compilePDFium(t *testing.T) {
	t.Helper()
	if _, _, err := newPool(t, Options{Workers: 1, Time: 5 * time.Minute, Cache: machineCode}).HTML(document.PDF, pdftest.Page("first", ""), ""); err != nil {
		t.Fatal(err)
	}
}

// misbehave reads documents, and does what each of them says.
func misbehave(args []string) {
	o, err := parseArguments(args[1:])
	if err == nil {
		err = served(o, os.Stdin, os.Stdout, evil{})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// outlive reads a document after the file of its program is gone.
func outlive() int {
	file, err := os.Executable()
	if err == nil {
		err = os.Remove(file)
	}
	self, errSelf := Self()
	if err != nil || errSelf != nil {
		fmt.Println(err, errSelf)
		return 1
	}
	p := NewPool(Options{Command: []string{self}, Workers: 1})
	defer p.Close()
	html, _, err := p.HTML(document.Text, []byte("bees dance"), "")
	fmt.Println(saidOf(html, err))
	return 0
}

// evil is a reader that a document has taken over.
type evil struct{}

func (evil) HTML(_ document.Kind, src []byte, _ string) ([]byte, bool, error) {
	switch do, _, _ := strings.Cut(string(src), " "); do {
	case "open":
		if _, err := os.Open("/etc/passwd"); err == nil {
			return []byte("read a file"), false, nil
		}
		if _, err := os.Create(os.TempDir() + "/waggle-child-test"); err == nil {
			return []byte("made a file"), false, nil
		}
	case "connect":
		for _, network := range []string{"tcp", "udp", "unix"} {
			if c, err := net.Dial(network, "127.0.0.1:1"); err == nil || !errors.Is(err, os.ErrPermission) {
				return fmt.Appendf(nil, "%s: %v, %v", network, c, err), false, nil
			}
		}
	case "start":
		if err := exec.Command("/bin/true").Run(); err == nil {
			return []byte("started a program"), false, nil
		}
	case "eat":
		var held [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
			_ = held
		}
	case "turn":
		for {
			runtime.Gosched()
		}
	case "sleep":
		select {}
	case "die":
		os.Exit(3)
	case "lie":
		os.Stdout.Write([]byte{0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
		select {}
	}
	return []byte("ok"), false, nil
}

func newPool(t testing.TB, o Options, more ...string) *Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command = append([]string{self}, more...)
	p := NewPool(o)
	t.Cleanup(func() { p.Close() })
	return p
}

// A process reads many documents, of which some cannot be read.
func TestPool(t *testing.T) {
	p := newPool(t, Options{Workers: 1})
	for range 3 {
		html, cut, err := p.HTML(document.Text, []byte("bees dance"), "utf-8")
		if err != nil || cut || !strings.Contains(string(html), "<p>bees dance") {
			t.Fatalf("%q, %v, %v", html, cut, err)
		}
		if _, _, err := p.HTML(document.Word, []byte("PK\x03\x04no zip"), ""); !errors.Is(err, document.ErrDamaged) || err.Error() != "damaged: zip: not a valid zip file" {
			t.Fatalf("half a zip file: %v", err)
		}
		if _, _, err := p.HTML(document.Text, nil, ""); !errors.Is(err, document.ErrEmpty) {
			t.Fatalf("an empty text: %v", err)
		}
	}
	if n := len(p.idle[ofOther]); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
	long := strings.Repeat("honey bees ", 1<<20)
	if html, cut, err := p.HTML(document.Text, []byte(long), ""); err != nil || !cut || len(html) < 1<<20 {
		t.Errorf("a long text: %d bytes, %v, %v", len(html), cut, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.HTML(document.Text, []byte("bees"), ""); err == nil {
		t.Error("a closed pool reads")
	}
}

// copyOfSelf is a copy of the program of the tests.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(name, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// A program goes on to read documents when another was put in the place of its file.
func TestProgramReplaced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems than Linux do not start a program whose file is gone")
	}
	if out, err := exec.Command(copyOfSelf(t), "outlive").CombinedOutput(); err != nil || !strings.Contains(string(out), "<p>bees dance") {
		t.Errorf("%s, %v", out, err)
	}
}

// Where no process starts it is tried again, and then it is no fault of the document.
func TestNoProcess(t *testing.T) {
	p := NewPool(Options{Command: []string{filepath.Join(t.TempDir(), "gone")}, Workers: 1})
	p.pauses = []time.Duration{0, 0}
	u, err := web.Parse("http://a.example/bees.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := &web.Response{URL: u, Status: 200, Body: []byte("bees dance")}
	var f *web.Failure
	if _, err := (document.Documents{Reader: p}).HTML(r, "text/plain", ""); !errors.As(err, &f) || f.Reason != web.ReasonReader || !f.Temporary {
		t.Errorf("%v, want a temporary failure for %q", err, web.ReasonReader)
	}
	p.pauses = []time.Duration{time.Hour}
	go p.Close() // which ends a pause
	if _, _, err := p.HTML(document.Text, r.Body, ""); err == nil {
		t.Error("a document is read without a process")
	}
}

// byClock is said of a document that took longer than it may by the clock.
const byClock = "beyond the bounds of a document: it took too long"

// A document that takes over its reader gets nothing but that: no file, no connection,
// no program, a bounded time and memory; and the next document is read all the same.
func TestConfined(t *testing.T) {
	hasty := newPool(t, Options{Workers: 1, Memory: 128 << 20, Time: 500 * time.Millisecond}, "misbehave")
	// On a slow machine memory takes its time to fill.
	patient := newPool(t, Options{Workers: 1, Memory: 128 << 20, Time: 20 * time.Second}, "misbehave")
	for _, c := range []struct{ do, want string }{
		{"open", "ok"}, {"connect", "ok"}, {"start", "ok"},
		{"eat", "beyond the bounds of a document: it takes too much memory"},
		{"turn", "beyond the bounds of a document: it takes too much time"},
		{"die", "damaged: its reader broke down (exit status 3)"},
		{"lie", "damaged: its reader broke down (signal: killed)"},
	} {
		if c.want == "ok" && runtime.GOOS != "linux" {
			continue
		}
		p := hasty
		if c.do == "eat" {
			p = patient
		}
		once := func(do string) string {
			html, _, err := p.HTML(document.Text, []byte(do), "")
			return saidOf(html, err)
		}
		says := func(do string) (got string) {
			for range 21 {
				if got = once(do); got != byClock {
					break
				}
				// Other programs keep the processors from it: it has three times as long as it may use of them.
			}
			return got
		}
		for range 2 { // in a process that has read others, and in a new one
			if got := says(c.do); got != c.want {
				t.Errorf("%s: %s, want %s", c.do, got, c.want)
			}
		}
		var next string // the document right behind it
		for range 21 {
			if next = once("fine"); next != byClock {
				break
			}
			says(c.do)
		}
		if next != "ok" {
			t.Errorf("after %s: %s", c.do, next)
		}
	}
	asleep := newPool(t, Options{Workers: 1, Time: 50 * time.Millisecond}, "misbehave")
	if html, _, err := asleep.HTML(document.Text, []byte("sleep"), ""); saidOf(html, err) != byClock {
		t.Errorf("asleep: %s", saidOf(html, err))
	}
}

func saidOf(html []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(html)
}

// Many ask at a time, and no more processes run than may.
func TestManyAtATime(t *testing.T) {
	p := newPool(t, Options{Workers: 2})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			want := fmt.Sprintf("<p>bee %d", i)
			if html, _, err := p.HTML(document.Text, []byte(want[3:]), ""); err != nil || !strings.Contains(string(html), want) {
				t.Errorf("%q, %v, want %s", html, err, want)
			}
		})
	}
	all.Wait()
	if n := len(p.idle[ofOther]); n < 1 || n > 2 {
		t.Errorf("%d processes, want at most 2", n)
	}
}

// A process ends with the program that started it: when its input ends.
func TestEndsWithItsInput(t *testing.T) {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(r, io.Discard, document.Local{}, func() {}, func() {}) }()
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var frame bytes.Buffer
	frame.Write([]byte{0xff, 0xff, 0xff, 0xff})
	if err := serve(&frame, io.Discard, document.Local{}, func() {}, func() {}); err == nil {
		t.Error("a frame without an end is read")
	}
}

// PDF is read in a process, its text at its links; files that have no end, or are damaged,
// are cut or refused. TestBadDocuments has those that take memory and time.
func TestPDF(t *testing.T) {
	compilePDFium(t)
	p := newPool(t, Options{Workers: 1, Time: 10 * time.Second, Cache: machineCode})
	html, cut, err := p.HTML(document.PDF, pdftest.Page("The waggle dance", "http://a.example/"), "")
	if want := `<title>Bees</title></head><body><section><p><a href="http://a.example/">The waggle dance</a></p></section>`; err != nil || cut || !strings.Contains(string(html), want) || !strings.Contains(string(html), `lang="en"`) {
		t.Fatalf("%s, %v, %v\nwant %s", html, cut, err, want)
	}
	for name, c := range map[string]struct {
		src  []byte
		want string // in the HTML, or the error
	}{
		"no PDF":                               {[]byte("%PDF-1.7 and nothing"), "damaged"},
		"cut in the middle":                    {pdftest.Page("The waggle dance", "")[:600], "damaged"},
		"a table of objects that is elsewhere": {bytes.Replace(pdftest.Page("The waggle dance", ""), []byte("startxref\n"), []byte("startxref\n9"), 1), "The waggle dance"},
		"pages in a loop":                      {pdftest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>"), "<title>"},
		"a password":                           {encrypted(), "protected by a password"},
		"an endless number of pages":           {pdftest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>", "<< /Type /Page /Parent 2 0 R >>"), "<title>Bees"},
	} {
		began := time.Now()
		html, _, err := p.HTML(document.PDF, c.src, "")
		if got := saidOf(html, err); !strings.Contains(got, c.want) && !errors.Is(err, document.ErrBounds) {
			t.Errorf("%s: %.300s, want %s", name, got, c.want)
		}
		t.Logf("%s: %.100s, after %v", name, saidOf(html, err), time.Since(began).Round(time.Millisecond))
	}
	if html, _, err := p.HTML(document.PDF, pdftest.Page("The end", ""), ""); err != nil || !strings.Contains(string(html), "The end") {
		t.Errorf("a sound PDF behind them: %s, %v", html, err)
	}
}

// encrypted is a PDF that says that it needs a password.
func encrypted() []byte {
	b := pdftest.Page("secret", "")
	return bytes.Replace(b, []byte("trailer\n<<"), []byte("trailer\n<< /ID [<00> <00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <"+strings.Repeat("00", 32)+"> /U <"+strings.Repeat("11", 32)+"> >>"), 1)
}
