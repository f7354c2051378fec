package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

func addr(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // when tests begin

// after is a moment of a test, in seconds.
func after(seconds float64) At { return At{epoch.Add(time.Duration(seconds * float64(time.Second)))} }

// drawEvent draws any event a crawl could say, with text as pages hold it.
func drawEvent(t *rapid.T) Event {
	text := rapid.OneOf(
		rapid.Just(""), rapid.String(),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
		rapid.SampledFrom([]string{"\x1b[2J", "a\tb\r\n", "\u202egnp.exe", "\U000e0041", "\"\\", "\xff\xfe", "日本", "\u2028", "</script>"}),
	)
	word := rapid.StringMatching(`[a-z0-9]{1,8}`)
	link := rapid.Custom(func(t *rapid.T) web.URL {
		return addr("https://" + word.Draw(t, "host") + ".example/" + rapid.StringMatching(`[ -~é]{0,12}`).Draw(t, "path"))
	})
	maybe := rapid.OneOf(rapid.Just(web.URL{}), link)
	float := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{
		0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 1e-7,
	}))
	n := rapid.IntRange(0, 1<<40)
	yes := rapid.Bool()
	at := func() At {
		return At{time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()}
	}
	reason := rapid.Custom(func(t *rapid.T) web.Reason { return web.Reason(text.Draw(t, "reason")) })
	found := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Found {
		return Found{link.Draw(t, "url"), float.Draw(t, "priority"), text.Draw(t, "anchor"), yes.Draw(t, "raised"), web.LinkKind(text.Draw(t, "link")), web.Date(text.Draw(t, "changed"))}
	}), 0, 4)
	dated := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Dated {
		return Dated{link.Draw(t, "url"), web.Date(text.Draw(t, "date")), float.Draw(t, "value"), Move(text.Draw(t, "then"))}
	}), 0, 3)
	skipped := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Skipped {
		return Skipped{link.Draw(t, "url"), reason.Draw(t, "reason"), web.LinkKind(text.Draw(t, "link"))}
	}), 0, 4)
	visit := func() Visit {
		return Visit{link.Draw(t, "url"), maybe.Draw(t, "from"), web.LinkKind(text.Draw(t, "kind")), n.Draw(t, "depth"), float.Draw(t, "priority")}
	}
	stats := func() web.FrontierStats {
		return web.FrontierStats{
			Queued: n.Draw(t, "q"), Leased: n.Draw(t, "l"), Seen: n.Draw(t, "s"),
			Hosts: n.Draw(t, "h"), Ready: n.Draw(t, "r"), Waiting: n.Draw(t, "w"), Down: n.Draw(t, "d"), Held: n.Draw(t, "held"),
		}
	}
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		return Started{at(), text.Draw(t, "name"), text.Draw(t, "scorer"), text.Draw(t, "judge"), yes.Draw(t, "resumed"),
			n.Draw(t, "pages"), time.Duration(n.Draw(t, "limit")), n.Draw(t, "workers"), yes.Draw(t, "several"), float.Draw(t, "threshold"),
			rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}\.[a-z]{1,4}`), text, 0, 3).Draw(t, "settings")}
	case 9:
		return Changed{at(), text.Draw(t, "setting"), text.Draw(t, "old"), text.Draw(t, "new")}
	case 1:
		return Seeded{at(), found.Draw(t, "queued"), skipped.Draw(t, "skipped")}
	case 2:
		return Fetched{
			At: at(), Visit: visit(), Status: n.Draw(t, "status"), MIME: text.Draw(t, "mime"), Bytes: n.Draw(t, "bytes"),
			Took: float.Draw(t, "took"), Title: text.Draw(t, "title"), Language: text.Draw(t, "lang"), Digest: word.Draw(t, "digest"),
			Relevance: float.Draw(t, "rel"), Similarity: float.Draw(t, "sim"), Relevant: yes.Draw(t, "relevant"), Reason: reason.Draw(t, "reason"),
			Like: maybe.Draw(t, "like"), Likeness: float.Draw(t, "likeness"),
			Directives: web.Directives{
				NoIndex: yes.Draw(t, "d1"), NoFollow: yes.Draw(t, "d2"), NoArchive: yes.Draw(t, "d3"), NoAI: yes.Draw(t, "d4"),
				NoImageAI: yes.Draw(t, "d5"), TDMReserved: yes.Draw(t, "d6"), TDMPolicy: text.Draw(t, "d7"),
			},
			BySite: yes.Draw(t, "by-site"), Truncated: yes.Draw(t, "truncated"), Cut: rapid.SampledFrom([]string{"", "time"}).Draw(t, "cut"), Links: n.Draw(t, "links"), Queued: found.Draw(t, "queued"),
			Skipped: skipped.Draw(t, "skipped"), Omitted: n.Draw(t, "omitted"), Sent: n.Draw(t, "sent"), Telling: n.Draw(t, "telling"), Concealed: n.Draw(t, "concealed"),
			Entries: n.Draw(t, "entries"), Dated: dated.Draw(t, "dated"),
			NoBrowser: yes.Draw(t, "no-browser"),
			Rendered: rapid.SampledFrom([]*Rendered{nil, {Took: 1.5, SentWords: 3, Words: 400, SentLinks: 1, Links: 20, Requests: 2,
				Refused: map[web.Reason]int{web.ReasonRobots: 1, web.ReasonScope: 2}, Scrolls: 1, Ended: web.ReasonRenderTime, Detail: "<\u2028\"&", AsSent: true}}).Draw(t, "rendered"),
		}
	case 10:
		return Received{at(), maybe.Draw(t, "from"), n.Draw(t, "depth"), found.Draw(t, "queued"), skipped.Draw(t, "skipped")}
	case 13:
		return SiteFile{at(), link.Draw(t, "url"), n.Draw(t, "status"), n.Draw(t, "rules"), text.Draw(t, "wrong")}
	case 12:
		return Shipped{at(), text.Draw(t, "file"), int64(n.Draw(t, "bytes")), text.Draw(t, "sha256"), text.Draw(t, "trouble")}
	case 3:
		return Failed{at(), visit(), reason.Draw(t, "reason"), text.Draw(t, "detail"), n.Draw(t, "status"), n.Draw(t, "bytes"),
			float.Draw(t, "took"), yes.Draw(t, "retry"), yes.Draw(t, "outage"), maybe.Draw(t, "to"), yes.Draw(t, "queued")}
	case 4:
		return Dropped{at(), reason.Draw(t, "reason"), web.Host(word.Draw(t, "host")), n.Draw(t, "count"),
			rapid.SliceOfN(link, 0, 3).Draw(t, "urls"), text.Draw(t, "detail")}
	case 5:
		return Tick{at(), stats(), yes.Draw(t, "waits")}
	case 6:
		return Outage{at(), at().At, n.Draw(t, "sites"), n.Draw(t, "probes"), at().At, yes.Draw(t, "over"), yes.Draw(t, "proxy"), text.Draw(t, "detail")}
	case 7:
		return HostDown{at(), web.Host(word.Draw(t, "host")), reason.Draw(t, "reason"), text.Draw(t, "detail"), n.Draw(t, "failures"),
			at().At, at().At, yes.Draw(t, "over")}
	case 8:
		return Trap{at(), web.Host(word.Draw(t, "host")), text.Draw(t, "shape"), n.Draw(t, "copies"), link.Draw(t, "like")}
	default:
		return Ended{at(), Ending(text.Draw(t, "how")), stats(), at().At, at().At}
	}
}

// asWritten is the event as a log gives it back: the contract of AppendJSON.
func asWritten(e Event) Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	var mend func(v reflect.Value)
	mend = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.CanSet() {
				var b strings.Builder
				for _, r := range v.String() { // an invalid byte reads as U+FFFD
					b.WriteRune(r)
				}
				v.SetString(b.String())
			}
		case reflect.Float64:
			switch f := v.Float(); {
			case math.IsNaN(f):
				v.SetFloat(0)
			case math.IsInf(f, 0):
				v.SetFloat(math.Copysign(math.MaxFloat64, f))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				mend(v.Field(i))
			}
		case reflect.Map: // of texts
			if v.Len() == 0 {
				v.SetZero()
				return
			}
			c := reflect.MakeMap(v.Type())
			for _, k := range v.MapKeys() {
				text := reflect.New(v.Type().Elem()).Elem()
				text.Set(v.MapIndex(k))
				mend(text)
				c.SetMapIndex(k, text)
			}
			v.Set(c)
		case reflect.Slice:
			if v.Len() == 0 {
				v.SetZero()
				return
			}
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			for i := range c.Len() {
				mend(c.Index(i))
			}
			v.Set(c)
		}
	}
	mend(v)
	return v.Interface().(Event)
}

var equal = cmp.Options{cmp.Comparer(func(a, b web.URL) bool { return a == b }), cmp.Comparer(func(a, b float64) bool { return a == b })} // how tests compare

func collect(t testing.TB, path string) (events []Event) {
	t.Helper()
	for e, err := range ReadFile(path) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// What is appended is read back, whatever the pages held.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 6).Draw(rt, "events")
		l, err := Open(path, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		if _, err := l.Append(events...); err != nil {
			rt.Fatal(err)
		}
		var want []Event
		for _, e := range events {
			want = append(want, asWritten(e))
		}
		if diff := cmp.Diff(want, collect(t, path), equal); diff != "" {
			rt.Fatalf("read back differently (-appended +read):\n%s", diff)
		}
	})
}

// The hand-written encoding says the same as encoding/json, and is harmless on
// a terminal.
func TestEncodingAgainstStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		got, err := AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := AppendJSON([]byte("x"), e)
		if string(again) != "x"+string(got) {
			t.Fatalf("equal events, different bytes:\n%s\n%s", got, again[1:])
		}
		for _, r := range string(got) {
			// The marks that enclose Arabic numbers are format characters one sees.
			visible := unicode.Is(unicode.Prepended_Concatenation_Mark, r)
			if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && !visible || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q lets %U through", got, r)
			}
		}
		std, err := json.Marshal(asWritten(e))
		if err != nil {
			t.Fatal(err)
		}
		var a, b map[string]any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(std, &b); err != nil {
			t.Fatal(err)
		}
		if a["kind"] != e.Kind() {
			t.Fatalf("kind %v, want %s", a["kind"], e.Kind())
		}
		delete(a, "kind")
		dropNull(a)
		for _, k := range []string{"took", "priority", "threshold", "relevance", "similarity"} { // NaN: null here, 0 there
			if _, ok := a[k]; !ok && b[k] == 0.0 {
				delete(b, k)
			}
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatalf("(-encoding/json +ours):\n%s", diff)
		}
	})
}

func TestAppendRefusesStrangers(t *testing.T) {
	for _, e := range []Event{&Tick{}, nil, Unknown{Name: "x", Raw: []byte("{\n")}, Unknown{Name: "x", Raw: []byte("1")}} {
		if b, err := AppendJSON(nil, e); err == nil {
			t.Errorf("%#v was written as %s", e, b)
		}
	}
}

// A log is copied line by line, those of earlier versions as they are.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	old := `{"kind":"tick","at":"2026-03-01T12:00:00Z","frontier":{}}` + "\n"
	if err := os.WriteFile(from, []byte(old+"junk\n"+old+old[:9]), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := Open(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for e, err := range Entries(from) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Err != nil {
			bad = append(bad, fmt.Sprintf("%d at %d", e.Number, e.Offset))
			if _, err := l.AppendEntry(e); err == nil {
				t.Error("a damaged line was copied")
			}
			continue
		}
		if _, err := l.AppendEntry(e); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != old+old {
		t.Errorf("copied %q, %v", got, err)
	}
	if fmt.Sprint(bad) != fmt.Sprintf("[2 at %d 4 at %d]", len(old), 2*len(old)+5) {
		t.Errorf("damaged lines: %v", bad)
	}
	n := 0
	for _, err := range Behind(from, fmt.Append(nil, len(old)+5)) {
		if n++; n > 1 != errors.Is(err, ErrTorn) {
			t.Errorf("entry %d behind the mark: %v", n, err)
		}
	}
	if n != 2 {
		t.Errorf("%d entries behind the mark", n)
	}
	l.Room = func(n int) error { return fmt.Errorf("no room for %d bytes", n) }
	if _, err := l.Append(Tick{At: after(1)}); err == nil || !strings.Contains(err.Error(), "no room for") {
		t.Errorf("without room: %v", err)
	}
}

func TestRead(t *testing.T) {
	tick := `{"kind":"tick","at":"2026-03-01T12:00:00Z"}`
	for _, c := range []struct {
		name, log string
		want      []string // kinds, and errors
	}{
		{"nothing", "", nil},
		{"events", tick + "\n" + `{"at":"2026-03-01T12:00:00Z","how":"Stopped","kind":"ended"}` + "\n", []string{"tick", "ended"}},
		{"torn", tick + "\n" + tick[:20], []string{"tick", "line 2: " + ErrTorn.Error()}},
		{"whole but for its newline", tick, []string{"line 1: " + ErrTorn.Error()}},
		{"junk between", "junk\n" + tick + "\n\n", []string{"line 1: invalid character 'j' looking for beginning of value", "tick", "line 3: unexpected end of JSON input"}},
		{"another version's", `{"kind":"waggled","at":"2026-03-01T12:00:00Z","x":[1]}` + "\n", []string{"waggled"}},
		{"no kind", "{}\n", []string{"line 1: an event without a kind"}},
		{"no address", `{"kind":"fetched","url":"not one"}` + "\n", []string{"line 1: \"not one\" is no address"}},
		{"too long", strings.Repeat("x", maxLine+5) + "\n" + tick + "\n", []string{"line 1: longer than 16777216 bytes", "tick"}},
		{"too long and torn", strings.Repeat("x", maxLine+5), []string{"line 1: " + ErrTorn.Error()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for e, err := range Read(strings.NewReader(c.log)) {
				if err != nil {
					if e != nil {
						t.Errorf("event %v with error %v", e, err)
					}
					got = append(got, err.Error())
				} else {
					got = append(got, e.Kind())
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("unplugged")
	n := 0
	for _, err := range Read(io.MultiReader(strings.NewReader(`{"kind":"tick"}`+"\n"), errReader{broken})) {
		if n++; n == 2 && !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
	if n != 2 {
		t.Errorf("%d items, want an event and an error", n)
	}
	for _, err := range ReadFile(filepath.Join(t.TempDir(), "none")) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	for range Read(strings.NewReader("x\nx\n")) {
		break // stops without a word
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// An event of another version passes through unharmed.
func TestUnknown(t *testing.T) {
	line := `{"kind":"waggled","at":"2026-03-01T12:00:00Z","x":[1]}`
	for e, err := range Read(strings.NewReader(line + "\n")) {
		if err != nil {
			t.Fatal(err)
		}
		if u := e.(Unknown); u.Kind() != "waggled" || !u.Time().Equal(epoch) {
			t.Errorf("read as %v", u)
		}
		if b, err := AppendJSON(nil, e); err != nil || string(b) != line {
			t.Errorf("written as %s, %v", b, err)
		}
	}
}

// Events beyond the length of a line lose no seed, and say what they lose.
func TestLongEvents(t *testing.T) {
	const limit = 1 << 17
	u := addr("https://a.example/" + strings.Repeat("x", 900))
	var found []Found
	var skipped []Skipped
	var urls []web.URL
	var dated []Dated
	for range limit / 900 {
		dated = append(dated, Dated{URL: u, Changed: "2026-01-02"})
		found = append(found, Found{URL: u, Anchor: "\x1b\x1b\x1b\x1b"})
		skipped = append(skipped, Skipped{URL: u, Reason: web.ReasonScope})
		urls = append(urls, u)
	}
	var log []byte
	for _, e := range []Event{
		Seeded{Queued: found, Skipped: skipped},
		Received{From: u, Queued: found, Skipped: skipped},
		Fetched{Visit: Visit{URL: u}, Queued: found, Skipped: skipped, Omitted: 1, Dated: dated},
		Dropped{Count: len(urls), URLs: urls},
		Failed{Visit: Visit{URL: u}, Detail: strings.Repeat("\x00", limit)},
	} {
		var err error
		if log, err = appendLine(log, e, limit); err != nil {
			t.Fatal(err)
		}
	}
	for line := range bytes.Lines(log) {
		if len(line) > limit {
			t.Errorf("a line of %d bytes, limit %d", len(line), limit)
		}
	}
	seeds, refused, received, declined, others := 0, 0, 0, 0, 0
	for e, err := range Read(bytes.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case Seeded:
			seeds += len(e.Queued)
			refused += len(e.Skipped)
			continue
		case Received:
			received += len(e.Queued)
			declined += len(e.Skipped)
			if e.From != u {
				t.Errorf("links of %s are told as of %s", u, e.From)
			}
			continue
		case Fetched:
			if e.Omitted < 2 || e.Omitted+len(e.Queued)+len(e.Skipped) != 1+len(found)+len(skipped) {
				t.Errorf("%d + %d links listed, %d omitted, of %d", len(e.Queued), len(e.Skipped), e.Omitted, len(found)+len(skipped))
			}
		case Dropped:
			if e.Count != len(urls) {
				t.Errorf("%d dropped, want %d", e.Count, len(urls))
			}
		}
		others++
	}
	if received != len(found) || declined != len(skipped) {
		t.Errorf("%d and %d links received, want %d and %d", received, declined, len(found), len(skipped))
	}
	if seeds != len(found) || refused != len(skipped) || others != 3 {
		t.Errorf("%d and %d seeds, want %d and %d; %d other events, want 3", seeds, refused, len(found), len(skipped), others)
	}
	if _, err := appendLine(nil, Started{Name: strings.Repeat("x", limit)}, limit); err == nil {
		t.Error("a name longer than a line was written")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind":"fetched","at":"2026-03-01T12:00:00Z","url":"https://a.example/","depth":1,"priority":1e300}` + "\n"))
	f.Add([]byte(`{"kind":"\u0078","at":"2026-03-01T12:00:00+07:00"}` + "\n{"))
	f.Fuzz(func(t *testing.T, log []byte) {
		for e, err := range Read(bytes.NewReader(log)) {
			var line *LineError
			if err != nil {
				if !errors.As(err, &line) || line.Line < 1 {
					t.Fatalf("error without a line: %v", err)
				}
				continue
			}
			b, err := AppendJSON(nil, e)
			if err != nil {
				t.Fatalf("%#v cannot be written: %v", e, err)
			}
			for again, err := range Read(bytes.NewReader(append(b, '\n'))) {
				if err != nil {
					t.Fatalf("%s: %v", b, err)
				}
				if c, _ := AppendJSON(nil, again); !bytes.Equal(b, c) {
					t.Fatalf("written as\n%s\nand then as\n%s", b, c)
				}
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\u202eb\xff")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendText(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := string([]rune(s)); back != want {
			t.Fatalf("%q reads as %q", want, back)
		}
		line := Line(s)
		if Line(line) != line || !utf8.ValidString(line) || strings.TrimSpace(line) != line || strings.Contains(line, "  ") {
			t.Fatalf("%q became %q, then %q", s, line, Line(line))
		}
		for _, r := range line {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q lets %U through", line, r)
			}
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                        "plain",
		"  two\t\r\n words\u00a0here ": "two words here",
		"\x1b[2J\x1b]0;owned\x07x":     "[2J]0;ownedx",
		"\u009b31mred":                 "31mred",
		"\u202eexe.gnp\u202c":          "exe.gnp",
		"a\u200bb\u00adc\ufeff":        "abc",
		"bad \xff\xc0 bytes":           "bad \ufffd\ufffd bytes",
		"e\u0301\u0301\u0301\u0301!":   "e\u0301\u0301!",
		"\u0301x":                      "x",
		"日本語 テキスト":                     "日本語 テキスト",
		"\ue000\U000e0041\U0010ffff":   "",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The history of a log is what it was told at first, and what changed since.
// Events of other kinds are not decoded, so their damage does not matter.
func TestReadHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if h := ReadHistory(path); h.Settings != nil || h.Changes != nil {
		t.Errorf("of no log: %+v", h)
	}
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := Started{At: after(0), Settings: map[string]string{"budget.pages": "10", "scope.reach": "any"}}
	changes := []Changed{{after(2), "budget.pages", "10", "20"}, {after(3), SettingThreshold, "0.5", "0.25"}}
	if _, err := l.Append(first, Tick{At: after(1)}, changes[0], Started{At: after(2), Resumed: true}, changes[1]); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(b, []byte(`"queued":0`), []byte(`"queued":?`), 1)
	if bytes.Equal(b, damaged) {
		t.Fatal("the tick is not where it was looked for")
	}
	if err := os.WriteFile(path, append(damaged, `{"kind":"cha`...), 0o644); err != nil {
		t.Fatal(err)
	}
	h := ReadHistory(path)
	want := map[string]string{"budget.pages": "20", "scope.reach": "any", SettingThreshold: "0.25"}
	if diff := cmp.Diff(History{want, changes}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if x, ok := h.Threshold(); x != 0.25 || !ok {
		t.Errorf("threshold %v, %v", x, ok)
	}
}
