package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// glass is a terminal wide enough for what is written to it. A frame begins and
// ends at the beginning of a line.
type glass struct {
	lines  [][]rune
	row    int
	hidden bool
}

func (s *glass) write(text string) error {
	col := 0
	for i := 0; i < len(text); {
		if rest, ok := strings.CutPrefix(text[i:], "\x1b["); ok {
			end := strings.IndexFunc(rest, unicode.IsLetter)
			arg, verb := rest[:end], rest[end]
			switch {
			case arg == "?25" && verb == 'l':
				s.hidden = true
			case arg == "?25" && verb == 'h':
				s.hidden = false
			case verb == 'H':
				s.row = 0
			case arg == "2" && verb == 'J':
				s.lines = nil
			case verb == 'A':
				n := 0
				fmt.Sscan(arg, &n)
				if s.row -= n; s.row < 0 {
					return fmt.Errorf("the cursor leaves the screen by %d rows", -s.row)
				}
			case verb == 'K':
				for len(s.lines) <= s.row {
					s.lines = append(s.lines, nil)
				}
				s.lines[s.row] = s.lines[s.row][:min(col, len(s.lines[s.row]))]
			case verb == 'J':
				s.lines = s.lines[:min(s.row, len(s.lines))]
			case verb == 'm':
			default:
				return fmt.Errorf("unknown sequence %q", rest[:end+1])
			}
			i += 2 + end + 1
			continue
		}
		r := []rune(text[i:])[0]
		i += len(string(r))
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, nil)
		}
		switch r {
		case '\r':
			col = 0
		case '\n':
			s.row++
		default:
			line := s.lines[s.row]
			for len(line) <= col {
				line = append(line, ' ')
			}
			line[col] = r
			s.lines[s.row] = line
			col++
		}
	}
	return nil
}

// Frames drawn over one another leave the last one, and the cursor visible. A
// terminal whose size has changed may have moved what stood there anywhere: that
// leaves nothing behind either.
func TestFramesReplaceOneAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := glass{}
		var last frame
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			lines := rapid.SliceOfN(rapid.StringMatching(`[a-z ]{0,20}[a-z]`), 1, 6).Draw(t, "lines")
			width := rapid.SampledFrom([]int{80, 80, 80, 40, 20}).Draw(t, "width")
			next := frame{strings.Join(lines, "\n") + "\n", width, 24}
			if last.text != "" && width != last.width {
				s.row = rapid.IntRange(0, 9).Draw(t, "row")
				s.lines = [][]rune{[]rune("wrapped"), []rune("and moved"), nil, []rune("by the terminal")}
			}
			if err := s.write(next.over(last)); err != nil {
				t.Fatal(err)
			}
			last = next
			var got strings.Builder
			for _, l := range s.lines {
				got.WriteString(string(l) + "\n")
			}
			if got.String() != next.text || s.hidden {
				t.Fatalf("the screen shows %q, want %q; cursor hidden: %v", got.String(), next.text, s.hidden)
			}
		}
	})
}

// A frame that is erased leaves the lines above it.
func TestFrameErased(t *testing.T) {
	s := glass{}
	f := frame{"12\n\n\x1b[1m3\x1b[0m\n", 20, 24}
	for _, text := range []string{"$ waggle\r\n", f.over(frame{}), f.erase()} {
		if err := s.write(text); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.lines) != 1 || string(s.lines[0]) != "$ waggle" || s.row != 1 {
		t.Errorf("the screen shows %q, cursor in row %d", s.lines, s.row)
	}
}

// sink is a terminal's end of a write; it can hold writers up.
type sink struct {
	mu     sync.Mutex
	writes []string
	hold   chan struct{} // nil: never
	err    error
}

func (s *sink) Write(b []byte) (int, error) {
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, string(b))
	return len(b), s.err
}

// desktop is a console whose person and shell are a test.
type desktop struct {
	width, height int
	background    bool
	keys          chan key
	signals       chan consoleSignal
	size          func() // asked for
	mu            sync.Mutex
	did           []string
}

func newDesktop() *desktop {
	return &desktop{width: 80, height: 24, keys: make(chan key), signals: make(chan consoleSignal)}
}

func (d *desktop) do(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what)
}

// change changes something between two frames.
func (d *desktop) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *desktop) Size() (int, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size != nil {
		d.size()
	}
	return d.width, d.height
}

func (d *desktop) Front() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.background
}

func (d *desktop) Take()                         { d.do("take") }
func (d *desktop) Give()                         { d.do("give") }
func (d *desktop) Keys() <-chan key              { return d.keys }
func (d *desktop) Signals() <-chan consoleSignal { return d.signals }
func (d *desktop) Interrupt()                    { d.do("interrupt") }

// Suspend stops nothing here; the shell takes the terminal.
func (d *desktop) Suspend() {
	d.do("suspend")
	d.change(func() { d.background = true })
}

func (d *desktop) Close() { d.do("close") }

// In synthetic time: frames come five times a second at most, only when there
// is something new, and the last one shows the end.
func TestLiveView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		v := newLive(out, newDesktop(), clock.System{}, false)
		events, _ := tale(t, 40, 40)
		for _, e := range events {
			v.Add(e)
			time.Sleep(10 * time.Millisecond)
		}
		spent := time.Duration(len(events)) * 10 * time.Millisecond
		v.Add(event.Ended{At: event.At{At: time.Now()}, How: event.BudgetSpent})
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if most := int(spent/redraw) + 2; len(out.writes) > most || len(out.writes) < 3 {
			t.Errorf("%d frames in %v, want 3 to %d", len(out.writes), spent, most)
		}
		for _, w := range out.writes {
			if !strings.HasPrefix(w, "\x1b[?25l") || !strings.HasSuffix(w, "\x1b[?25h") {
				t.Errorf("frame %q does not hide and show the cursor", w)
			}
		}
		if last := out.writes[len(out.writes)-1]; !strings.Contains(last, "40 of 40 pages  the budget is spent") {
			t.Errorf("the last frame is %q", last)
		}
	})
}

// The keys hold the crawl, open screens and stop the crawl as Ctrl-C does; what is
// looked at is told to the crawl.
func TestKeysOfTheLiveView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, d := &sink{}, newDesktop()
		v := newLive(out, d, clock.System{}, false)
		v.Add(event.Started{At: event.At{At: time.Now()}, Name: "bees", Pages: 10})
		shows := func(what string) {
			t.Helper()
			synctest.Wait()
			if last := out.writes[len(out.writes)-1]; !strings.Contains(last, what) {
				t.Errorf("no %q in %q", what, last)
			}
		}
		time.Sleep(redraw)
		shows("p pause   h hosts")
		d.keys <- "p"
		shows("paused")
		if !v.Control().Paused() {
			t.Error("the crawl is not held")
		}
		d.keys <- "h"
		shows("They are asked for.")
		d.keys <- keyEscape
		shows("relevant  0")
		d.keys <- "x" // no key of ours
		d.keys <- "p"
		shows("p pause")
		if v.Control().Paused() {
			t.Error("the crawl is still held")
		}
		d.keys <- "p"
		d.keys <- "q"
		synctest.Wait()
		if !slices.Equal(d.did, []string{"take", "interrupt"}) {
			t.Errorf("did %q", d.did)
		}
		// What the interrupt brings: the terminal is given back before anything
		// else, and the crawl is not held any more.
		d.signals <- interrupted
		shows("stopping")
		if v.Control().Paused() || !slices.Equal(d.did, []string{"take", "interrupt", "give"}) {
			t.Errorf("held: %v, did %q", v.Control().Paused(), d.did)
		}
		v.Add(event.Ended{At: event.At{At: time.Now()}, How: event.Stopped})
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		shows("stopped; --resume goes on")
		if last := out.writes[len(out.writes)-1]; strings.Contains(last, "hosts   f") {
			t.Errorf("the last frame tells of keys: %q", last)
		}
		if d.did[len(d.did)-1] != "close" {
			t.Errorf("did %q", d.did)
		}
	})
}

// Ctrl-Z takes the frame off the terminal and gives that back; in the background
// nothing is drawn; in front again the terminal is taken and a frame drawn below
// what the shell wrote.
func TestSuspendedView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, d := &sink{}, newDesktop()
		v := newLive(out, d, clock.System{}, false)
		time.Sleep(redraw)
		d.signals <- suspended
		synctest.Wait()
		if last := out.writes[len(out.writes)-1]; last != "\x1b[6A\r\x1b[J" {
			t.Errorf("at the end %q was written", last)
		}
		drawn := len(out.writes)
		for i := range 10 {
			v.Add(event.Fetched{At: event.At{At: time.Now()}, Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://a.example/%d", i))}})
			time.Sleep(time.Second)
		}
		if len(out.writes) != drawn {
			t.Errorf("in the background was written: %q", out.writes[drawn:])
		}
		d.change(func() { d.background = false })
		time.Sleep(redraw)
		synctest.Wait()
		if got := out.writes[drawn:]; len(got) == 0 || !strings.HasPrefix(got[0], "\x1b[?25l\rwaggle ") || !strings.Contains(got[0], "10 pages") {
			t.Errorf("in front again: %q", got)
		}
		if !slices.Equal(d.did, []string{"take", "give", "suspend", "take"}) {
			t.Errorf("did %q", d.did)
		}
		d.change(func() { d.background = true })
		drawn = len(out.writes)
		if err := v.Close(); err != nil || len(out.writes) != drawn {
			t.Errorf("closed in the background: %v, %q", err, out.writes[drawn:])
		}
	})
}

// A terminal of another size is cleared, as nobody knows what it made of the frame.
func TestResizedView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, d := &sink{}, newDesktop()
		v := newLive(out, d, clock.System{}, false)
		time.Sleep(redraw)
		for _, size := range [][2]int{{20, 24}, {20, 4}, {300, 60}} {
			d.change(func() { d.width, d.height = size[0], size[1] })
			time.Sleep(redraw)
			synctest.Wait()
			last := out.writes[len(out.writes)-1]
			text, ok := strings.CutPrefix(last, "\x1b[?25l\x1b[2J\x1b[H")
			if !ok {
				t.Errorf("%v: not cleared: %q", size, last)
			}
			lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\x1b[K\r\n", "\n"), "\x1b[J\x1b[?25h"), "\n")
			for _, l := range lines {
				if terminal.Cells(l) >= size[0] || len(lines) > size[1] {
					t.Errorf("%v: %d lines, %q", size, len(lines), l)
				}
			}
		}
		v.Close()
	})
}

func TestKeysOf(t *testing.T) {
	for sent, want := range map[string][]key{
		"":                         nil,
		"p":                        {"p"},
		"Q":                        {"q"},
		"ph?":                      {"p", "h", "?"},
		" ":                        {" "},
		"\r":                       {keyEnter},
		"\x1b":                     {keyEscape},
		"\x1b\x1b":                 {keyEscape, keyEscape},
		"\x1b[A\x1b[B":             {keyUp, keyDown},
		"\x1bOA\x1bOH":             {keyUp, keyHome},
		"\x1b[5~\x1b[6~":           {keyPageUp, keyPageDown},
		"\x1b[1;5A":                nil,             // with Ctrl
		"\x1b[200~qqq":             {"q", "q", "q"}, // pasted: its beginning is no key
		"\x1b[":                    nil,
		"\x1b[1":                   nil,
		"\x1b[M !!":                {" ", "!", "!"},
		"é日\x00\x7f\x03":           nil,
		"\x1b[15~f":                {"f"},
		strings.Repeat("\x1b[", 3): nil,
	} {
		if got := keysOf([]byte(sent)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, k := range keysOf(rapid.SliceOf(rapid.Byte()).Draw(t, "sent")) {
			if k == "" {
				t.Fatal("a key without a name")
			}
			var s viewState
			s.press(k)
			if s.top < 0 {
				t.Fatalf("%q scrolls to %d", k, s.top)
			}
		}
	})
}

func TestLiveViewOfAStoppedTerminalHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{hold: make(chan struct{})}
		v := newLive(out, newDesktop(), clock.System{}, false)
		synctest.Wait() // the view hangs in its first write
		events, _ := tale(t, 1000, 0)
		for _, e := range events {
			v.Add(e) // must return, or the bubble is deadlocked
		}
		close(out.hold)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if last := out.writes[len(out.writes)-1]; !strings.Contains(last, "1,000 pages") {
			t.Errorf("the last frame is %q", last)
		}
	})
}

func TestLiveViewFailsAlone(t *testing.T) {
	for name, v := range map[string]func() *liveView{
		"a panic": func() *liveView {
			d := newDesktop()
			d.size = func() { panic("no size") }
			return newLive(io.Discard, d, clock.System{}, false)
		},
		"a panic within a frame": func() *liveView { return newLive(io.Discard, newDesktop(), brokenClock{}, false) },
		"a dead tty":             func() *liveView { return newLive(&sink{err: syscall.EIO}, newDesktop(), clock.System{}, false) },
	} {
		synctest.Test(t, func(t *testing.T) {
			v := v()
			synctest.Wait()
			v.Add(event.Tick{})
			if err := v.Close(); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

// brokenClock cannot tell the time.
type brokenClock struct{ clock.System }

func (brokenClock) Now() time.Time { panic("no time") }
