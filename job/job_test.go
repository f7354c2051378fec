package job

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/web"
)

// TestSettings prints what is said of each setting: testdata/settings.txt.
func TestSettings(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "settings.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, s := range Settings() {
			switch d.Cmd {
			case "settings":
				fmt.Fprintf(&b, "%s: %s", s.Path, s.Kind())
				if s.Min != 0 || s.Max != 0 {
					fmt.Fprintf(&b, ", %s…%s", number(s.Min), number(s.Max))
				}
				if len(s.Choices) > 0 && len(s.Choices) < 12 {
					fmt.Fprintf(&b, ", of %s", strings.Join(s.Choices, " "))
				}
				if s.Default != "" {
					fmt.Fprintf(&b, ", default %s", s.Default)
				}
				if s.Flag != "" {
					fmt.Fprintf(&b, ", --%s", s.Flag)
				}
				fmt.Fprintf(&b, "\n    %s\n", s.Line)
			case "resume":
				fmt.Fprintf(&b, "%-29s %s", s.Path, s.Resume)
				if s.Why != "" {
					fmt.Fprintf(&b, ": %s", s.Why)
				}
				b.WriteString("\n")
			default:
				t.Fatalf("nothing is called %q", d.Cmd)
			}
		}
		return b.String()
	})
}

// Every value of a job has a setting, and every setting a value; what cannot
// change says why.
func TestSettingsAreTheJob(t *testing.T) {
	var want []string
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, under string) {
		for _, f := range reflect.VisibleFields(typ) {
			if !f.IsExported() {
				continue
			}
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type, under+keyOf(f)+".")
			} else {
				want = append(want, under+keyOf(f))
			}
		}
	}
	walk(reflect.TypeFor[Job](), "")
	slices.Sort(want)
	var got []string
	flags := map[string]bool{}
	for _, s := range Settings() {
		got = append(got, s.Path)
		if s.Line == "" || strings.HasSuffix(s.Line, ".") {
			t.Errorf("%s: its line is %q", s.Path, s.Line)
		}
		if s.Resume >= Verdicts && s.Why == "" {
			t.Errorf("%s: %s, because %q", s.Path, s.Resume, s.Why)
		}
		if s.Flag != "" && flags[s.Flag] {
			t.Errorf("two settings have the flag --%s", s.Flag)
		}
		flags[s.Flag] = true
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("settings\n%s\nvalues\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A value given as a text is the one that a file would give, and is refused as
// there.
func TestSet(t *testing.T) {
	for _, c := range []struct{ path, text, yaml string }{
		{"name", "bees", "name: bees"},
		{"seeds", "https://a.example/", "seeds: [https://a.example/]"},
		{"judge.threshold", "0.25", "judge: {threshold: 0.25}"},
		{"scorer.seed", "18446744073709551615", "scorer: {seed: 18446744073709551615}"},
		{"budget.pages", "12", "budget: {pages: 12}"},
		{"budget.time", "2h", "budget: {time: 2h}"},
		{"politeness.delay", "0", "politeness: {delay: 0}"},
		{"fetch.max-body", "1.5MiB", "fetch: {max-body: 1.5MiB}"},
		{"fetch.allow-private", "true", "fetch: {allow-private: true}"},
		{"scope.exclude", "/a,b", "scope: {exclude: ['/a,b']}"},
		{"fetch.types", "text/plain", "fetch: {types: [text/plain]}"},
	} {
		want, err := Parse("x", []byte(c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		s, ok := Lookup(c.path)
		got := &Job{}
		if err := s.Set(got, c.text); err != nil || !ok || !reflect.DeepEqual(got, want) || !s.Given(got) {
			t.Errorf("%s %s: %+v, %v", c.path, c.text, got, err)
		}
	}
	for _, c := range []struct{ path, text, want string }{
		{"budget.pages", "many", `budget.pages: a whole number is wanted, and not "many"`},
		{"budget.time", "soon", `budget.time: "soon" is no time span`},
		{"budget.time", "5", `budget.time: the time span 5 has no unit: write it as 5s, 5m or 5h`},
		{"fetch.workers", "0", `fetch.workers: workers is 0: give more, or leave it out for 32`},
		{"scope.max-queue", "0", `scope.max-queue: max-queue is 0: give more, or leave it out for 1000000`},
		{"fetch.timeout", "0s", `fetch.timeout: timeout is 0: give more, or leave it out for 10s`},
		{"fetch.max-body", "0", `fetch.max-body: max-body is 0: give more, or leave it out for 10MiB`},
		{"judge.threshold", "x", `judge.threshold: a number is wanted, and not "x"`},
		{"fetch.allow-private", "maybe", `fetch.allow-private: true or false is wanted`},
		{"fetch.max-body", "big", `fetch.max-body: "big" is no size`},
		{"scorer.seed", "-1", `scorer.seed: a whole number of at least 0 is wanted`},
		{"scorer.set", "a=1", "scorer.set: it can be set in a job file alone"},
		{"judge.rules", "a", "judge.rules: it can be set in a job file alone"},
	} {
		s, _ := Lookup(c.path)
		var wrong *Error
		err := s.Set(&Job{}, c.text)
		if !errors.As(err, &wrong) || wrong.Path != c.path || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: %v; want %s", c.path, c.text, err, c.want)
		}
	}
}

// Bytes that are no text are refused where they stand; file names may have any.
func TestTexts(t *testing.T) {
	j := &Job{Topic: Topic{Keywords: []string{"bee", "Imkerei f\xfcr alle"}, Examples: []string{"\xff.html"}}}
	err := j.Check()
	if err == nil || err.Error() != `topic.keywords.1: "Imkerei f\xfcr alle" is not text in UTF-8: is the terminal, or the file it comes from, in another encoding?` {
		t.Error(err)
	}
}

// What is added to a list of one job is not in the list of its copy.
func TestSetOfACopy(t *testing.T) {
	seeds, _ := Lookup("seeds.3")
	twice := &Job{Seeds: []string{"https://a.example/"}}
	if err := seeds.Set(twice, "https://a.example/", "https://b.example/", "https://b.example/"); err != nil || len(twice.Seeds) != 2 {
		t.Errorf("%q, %v", twice.Seeds, err)
	}
	j := &Job{Seeds: make([]string, 1, 9)}
	a, b := *j, *j
	if err := errors.Join(seeds.Set(&a, "https://a.example/"), seeds.Set(&b, "https://b.example/")); err != nil {
		t.Fatal(err)
	}
	if a.Seeds[1] != "https://a.example/" || len(j.Seeds) != 1 {
		t.Errorf("%q and %q of %q", a.Seeds, b.Seeds, j.Seeds)
	}
}

// The example is a job, and with all that is commented out it still is.
func TestExample(t *testing.T) {
	j, err := Parse("example.yaml", []byte(Example()))
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "honey-bees" || len(j.Topic.Keywords) != 4 || j.Budget.Pages != 1000 {
		t.Errorf("read as %+v", j)
	}
	given := 0
	for _, s := range Settings() {
		if s.Given(j) != s.Shown {
			t.Errorf("%s: given %v, shown %v", s.Path, s.Given(j), s.Shown)
		}
		if s.Example != "" {
			given++
		}
	}
	if n := len(Settings()); given != n-1 { // all but the digest of the model
		t.Errorf("%d of %d settings are in the example", given, n)
	}
	var all []string
	for line := range strings.Lines(Example()) {
		if trimmed, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "# "); ok && strings.HasPrefix(line, "  ") {
			line = "  " + trimmed
		}
		all = append(all, line)
	}
	text := strings.Join(all, "")
	// A model needs a scorer that takes one.
	text = strings.Replace(text, "name: "+DefaultScorer, "name: crf", 1)
	j, err = Parse("all.yaml", []byte(text))
	if err != nil {
		t.Fatalf("with all that is commented out: %v\n%s", err, text)
	}
	for _, s := range Settings() {
		// Zeros and empty lists look as if they were not given.
		if empty := slices.Contains([]string{"0", "false", "[]", "{}", ""}, s.Example); s.Given(j) == empty {
			t.Errorf("%s: given %v in\n%s", s.Path, s.Given(j), text)
		}
	}
}

// Errors name the line and what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ job, want string }{
		{"seedz: [x]", `job.yaml:1: unknown key "seedz"; near names: seeds; `},
		{"seed: [x]", `job.yaml:1: unknown key "seed" here: it stands under scorer; near names: seeds; `},
		{"keywords: [x]\nworkers: 3", "job.yaml:1: unknown key \"keywords\" here: it stands under topic; `waggle crawl --example-job` shows every key\njob.yaml:2: unknown key \"workers\" here: it stands under fetch; "},
		{"budget: {name: a}", `job.yaml:1: unknown key "name" here: it stands at the top, and under judge, and under scorer; `},
		{"wnt: documents", `job.yaml:1: unknown key "wnt"; near names: topic.want; `},
		{"scorer: {name: waggle, turns: 8}", `job.yaml:1: unknown key "turns"; settings stand under set: set: {turns: 8}; `},
		{"scorer: {turns: many}", `job.yaml:1: unknown key "turns"; ` + "`waggle crawl"},
		{"scorer: {name: waggle, set: {turns: [8]}}", "job.yaml:1: turns: a number is wanted, and not a list"},
		{"topic: {keywords: [x], want: [documents]}", "job.yaml:1: want: text is wanted, and not a list"},
		{"name: a\nscorer: lm10-crf", `job.yaml:2: scorer: keys with values are wanted, and not "lm10-crf": write scorer: {name: lm10-crf}`},
		{"budget: 5", `job.yaml:1: budget: keys with values are wanted, and not "5": write budget: {key: value}`},
		{"topic: {want: {a: b}}", "job.yaml:1: want: text is wanted, and not a mapping"},
		{"scorer: {name: wagle}", `no scorer is called "wagle"; near names: waggle; there are: breadth-first`},
		{"scorer: {name: shark-search-0.8, set: {gama: 0.5}}", `job.yaml:1: shark-search-0.8 has no setting "gama"; near names: gamma`},
		{"name: a\nbudget:\n  pages: many", `job.yaml:3: pages: a whole number is wanted, and not "many"`},
		{"seeds:\n  - https://ok.example/\n  - gopher://x/", "job.yaml:3: seed:"},
		{"budget: {pages: -1}", "job.yaml:1: pages -1 is outside 0…1,000,000,000,000"},
		{"judge:\n  threshold: 1.5", "job.yaml:2: threshold 1.5 is not above 0"},
		{"judge:\n  name: magic", `job.yaml:2: no judge is called "magic"; there are: topic`},
		{"scorer:\n  name: magic", `job.yaml:2: no scorer is called "magic"; there are: breadth-first`},
		{"scorer: {set: {gamma: 1}}", `job.yaml:1: waggle has no setting "gamma"; waggle lab list`},
		{"scorer: {set: {turns: -1}}", `job.yaml:1: waggle: turns = -1 is outside 0…1000`},
		{"scorer: {set: {turns: 3.5}}", `job.yaml:1: waggle: turns = 3.5 is no whole number in 0…1000`},
		{"fetch: {render: alway}", `job.yaml:1: render "alway" is none of auto, always, never; near names: always`},
		{"fetch: {types: [html, pfd]}", `job.yaml:1: documents of type "pfd" are not understood, so they are not fetched; near names: pdf; there are: html`},
		{"links: {sources: [sitemap]}", `job.yaml:1: links come from nowhere called "sitemap"; near names: sitemaps; there are: alternates`},
		{"topic: {want: document}", `job.yaml:1: want "document" is none of pages, documents, both; near names: documents`},
		{"scorer: {name: breadth-first, set: {turns: 8}}", `job.yaml:1: breadth-first has no setting "turns"; waggle lab list`},
		{"scorer: {name: pagerank, model: a}", "job.yaml:1: the scorer pagerank goes by no trained model"},
		{"scope:\n  exclude:\n    - ok\n    - '('", "job.yaml:4: pattern"},
		{"scope: {reach: moon}", "job.yaml:1: reach \"moon\" is none of any, domain, host"},
		{"scope: {max-queue: 1000000001}", "job.yaml:1: max-queue 1000000001 is outside 0…1,000,000,000"},
		{"budget: {until-gain: -1}", "job.yaml:1: until-gain -1 is outside 0…100"},
		{"budget: {until-gain: .nan}", "job.yaml:1: until-gain NaN is outside 0…100"},
		{"budget: {until-gain: .inf}", "job.yaml:1: until-gain +Inf is outside 0…100"},
		{"fetch: {workers: 4097}", "job.yaml:1: workers 4097 is outside 0…4,096"},
		{"politeness:\n  delay: -3s", "job.yaml:2: the time span -3s is negative"},
		{"judge: {threshold: 0}", "leave it out for the judge's own"},
		{"judge: {critic: a}", "job.yaml:1: critic and focus are for the judge critic: add name: critic"},
		{"judge: {name: critic, critic: a}", "job.yaml:1: the judge critic needs a focus"},
		{"judge: {name: critic, focus: [/a]}", "job.yaml:1: a focus needs a critic"},
		{"judge: {name: topic, focus: [/a]}", "job.yaml:1: a focus is for the judge critic"},
		{"judge:\n  rules:\n  - {field: url, pattern: a}\n  - field: x\n    pattern: '('", "job.yaml:4: field \"x\" is none of url, title, body"},
		{"judge:\n  rules:\n  - {field: url, pattern: a, weight: -1}\n  - field: url\n    pattern: a\n    weight: .nan", "job.yaml:6: weight NaN is outside -1…1"},
		{"judge: {rules: [{field: url, pattern: a, weight: .inf}]}", "job.yaml:1: weight +Inf is outside -1…1"},
		{"budget:\n  pages: x\n  time: soon\nfetch: {max-body: big}", "job.yaml:4: \"big\" is no size"},
		{"politeness:\n  delay: soon", `job.yaml:2: "soon" is no time span: write it as 30s, 5m or 2h`},
		{"fetch:\n  max-body: big", `job.yaml:2: "big" is no size: write it as 10MiB or 500KB`},
		{"fetch: {memory: 100}", "job.yaml:1: memory 100 is outside 1,048,576…1,099,511,627,776"},
		{"politeness: {address-lanes: 65}", "job.yaml:1: address-lanes 65 is outside 1…64"},
		{"politeness:\n  own-hosts:\n  - ok.example\n  - 'http://a.example/'", `job.yaml:4: own host "http://a.example/" is no name of a host`},
		{"politeness: {own-hosts: ['*.example.org']}", `job.yaml:1: own host "*.example.org" is no name of a host`},
		{"politeness: {own-hosts: [Example.org]}", `own host "Example.org" is no name of a host`},
		{"politeness: {own-hosts: [a.example:8080]}", `name it without its port`},
		{"politeness: {own-hosts: [co.uk]}", `own host "co.uk" is where anybody may have a name`},
		{"politeness: {own-hosts: [github.io]}", "name the hosts below it that are yours"},
		{"fetch:\n\n  through: nowhere", `job.yaml:3: proxy "nowhere"`},
		{"fetch:\n  workers: 0", "job.yaml:2: workers is 0: give more, or leave it out for 32"},
		{"budget: {time: 5}", "job.yaml:1: the time span 5 has no unit: write it as 5s, 5m or 5h"},
		{"fetch:\n  types:\n  - text/html\n  - video/mp4", `job.yaml:4: documents of type "video/mp4" are not understood, so they are not fetched; there are: html, pdf, docx, `},
		{"topic: {want: films}", `want "films" is none of pages, documents, both`},
		{"topic: {want: documents}\nfetch: {types: [html]}", "documents are wanted, and fetch.types names none"},
		{"topic: {want: pages}\nfetch: {types: [pdf]}", "pages are wanted, and fetch.types does not name html"},
		{"contact: me", "job.yaml:1: contact \"me\" is neither"},
		{"a: [", "job.yaml:"},
		{"name: a\n---\nname: b", "holds one document"},
		{"- a\n- b", "job.yaml:1:"},
	} {
		_, err := Parse("job.yaml", []byte(c.job))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\n  want %s", c.job, err, c.want)
		}
	}
}

// Whoever holds a job places its errors: a flag, a field; errors of other kinds
// stay as they are.
func TestLocate(t *testing.T) {
	j := &Job{Contact: "me", Seeds: []string{"https://a.example/", "x"}, Budget: Budget{Pages: -1}}
	err := Locate(errors.Join(errors.New("b: other"), j.Check()), func(path string) string {
		if path == "budget.pages" {
			return ""
		}
		return "<" + path + ">"
	})
	var texts []string
	for line := range strings.Lines(err.Error()) {
		texts = append(texts, strings.SplitAfter(line, ": ")[0])
	}
	if got := strings.Join(texts, "|"); got != "<contact>: |<seeds.1>: |b: |pages -1 is outside 0…1,000,000,000,000" {
		t.Errorf("%s\n%v", got, err)
	}
	if Locate(nil, nil) != nil || Locate(errors.Join(nil, nil), nil) != nil {
		t.Error("nothing is an error")
	}
}

// The real web needs a contact and a delay; machines of one's own do not.
func TestCheckLive(t *testing.T) {
	quick, almost := Duration(10*time.Millisecond), Duration(999*time.Millisecond)
	private := Fetch{AllowPrivate: true}
	for _, c := range []struct {
		job  Job
		path string
	}{
		{Job{}, "contact"},
		{Job{Contact: "a@b.example"}, ""},
		{Job{Contact: "a@b.example", Politeness: Politeness{Delay: &quick}}, "politeness.delay"},
		{Job{Contact: "a@b.example", Politeness: Politeness{Delay: &almost}}, "politeness.delay"},
		{Job{Contact: "a@b.example", Politeness: Politeness{Delay: &quick, OwnHosts: []string{"a.example"}}}, ""}, // for those alone
		{Job{Contact: "a@b.example", Politeness: Politeness{Delay: &quick}, Fetch: private}, ""},                  // likewise
		{Job{Politeness: Politeness{OwnHosts: []string{"a.example"}}, Seeds: []string{"https://a.example/"}}, "contact"},
		{Job{Seeds: []string{"http://127.0.0.1/", "http://a.localhost/", "http://[::1]/"}, Fetch: private}, ""},
		{Job{Seeds: []string{"http://127.0.0.1/"}}, "fetch.allow-private"},
		{Job{Seeds: []string{"localhost:8080"}, Contact: "a@b.example"}, "fetch.allow-private"},
		{Job{Seeds: []string{"http://127.0.0.1/"}, Fetch: Fetch{Through: "http://localhost:8080"}}, ""},
		{Job{Seeds: []string{"http://127.0.0.1/", "https://a.example/"}}, "contact"},
		{Job{Seeds: []string{"http://127.0.0.1/", "https://a.example/"}, Fetch: private}, "contact"},
		{Job{Fetch: Fetch{Through: "http://localhost:8080"}}, ""},
		{Job{Fetch: Fetch{Through: "http://proxy.example:8080"}}, "contact"},
	} {
		var wrong *Error
		path := ""
		if err := c.job.CheckLive(); errors.As(err, &wrong) {
			path = wrong.Path
		} else if err != nil {
			t.Error(err)
		}
		if path != c.path {
			t.Errorf("%+v lacks %q, not %q", c.job, path, c.path)
		}
	}
	if err := (&Job{}).CheckLive(); !errors.Is(err, ErrNoContact) {
		t.Error(err)
	}
}

// A proxy gets the freedom of a recorded web when it says that it is one, and by
// nothing else: neither because it is on this machine, nor for a certificate.
func TestFetchOptionsThroughProxies(t *testing.T) {
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	defer own.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, certificate, 0o644); err != nil {
		t.Fatal(err)
	}
	proxy := func(status int, header, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if header != "" {
				w.Header().Set(web.RecordHeader, header)
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	recorded := proxy(200, web.RecordServed, string(certificate))
	none := Duration(0)
	for _, c := range []struct {
		name     string
		j        Job
		recorded bool
		cas      bool
		want     string // of the error
	}{
		{"a recorded web", Job{Fetch: Fetch{Through: recorded}}, true, true, ""},
		{"a recorded web, at once", Job{Fetch: Fetch{Through: recorded}, Politeness: Politeness{Delay: &none}}, true, true, ""},
		{"plain", Job{Fetch: Fetch{Through: proxy(400, "", "")}}, false, false, "does not say that it serves a recorded web"},
		{"plain, with a page for everything", Job{Fetch: Fetch{Through: proxy(200, "", string(certificate))}}, false, false, "contact"},
		{"plain, with a certificate given", Job{Fetch: Fetch{Through: proxy(404, "", ""), ThroughCA: file}}, false, true, "contact"},
		{"a page that is not recorded", Job{Fetch: Fetch{Through: proxy(404, web.RecordAbsent, "")}}, false, false, "contact"},
		{"plain, too fast", Job{Contact: "a@b.example", Fetch: Fetch{Through: proxy(400, "", "")}, Politeness: Politeness{Delay: &none}}, false, false, "at least 1s"},
		{"plain", Job{Contact: "a@b.example", Fetch: Fetch{Through: proxy(400, "", "")}}, false, false, ""},
		{"plain, with a certificate given", Job{Contact: "a@b.example", Fetch: Fetch{Through: proxy(400, "", ""), ThroughCA: file}}, false, true, ""},
		{"nobody", Job{Contact: "a@b.example", Fetch: Fetch{Through: "http://127.0.0.1:1"}}, false, false, "waggle web serve"},
	} {
		o, err := c.j.FetchOptions(t.Context())
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		if err == nil && (o.Recorded != c.recorded || (o.CAs != nil) != c.cas) {
			t.Errorf("%s: recorded %v, certificates %v", c.name, o.Recorded, o.CAs != nil)
		}
	}
}

// Files of a job file are in its folder.
func TestFilesFrom(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "job.yaml")
	text := "topic: {examples: [a.html, /b.html, 'https://c.example/']}\nscorer: {name: crf, model: m}\nscope: {within: w}\n" +
		"fetch: {cookies: jar/cookies.txt, through: 'http://127.0.0.1:1', through-ca: ca.pem}\n"
	if err := os.Mkdir(filepath.Join(dir, "jar"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := ReadGiven(name)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	want := []string{in("a.html"), "/b.html", "https://c.example/", in("m"), in("w"), in("jar/cookies.txt"), in("ca.pem")}
	if got := append(slices.Clone(j.Topic.Examples), j.Scorer.Model, j.Scope.Within, j.Fetch.Cookies, j.Fetch.ThroughCA); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for cookies, want := range map[string]string{
		"jar": "neither off nor session", "./jar": "is a folder", "none/cookies.txt": "there is no folder " + in("none"),
	} {
		if err := os.WriteFile(name, []byte("fetch: {cookies: "+cookies+"}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadGiven(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", cookies, err, want)
		}
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[string]Size{
		"10MiB": 10 << 20, "500KB": 500_000, "1.5 GiB": 3 << 29, "12": 12, "7b": 7, "2k": 2000, "3Ki": 3072,
	} {
		var z Size
		if err := z.UnmarshalText([]byte(in)); err != nil || z != want {
			t.Errorf("%s: %d, %v; want %d", in, z, err, want)
		}
	}
}

// FuzzJob: no job file makes waggle panic, and one that is accepted survives
// being written and read again.
func FuzzJob(f *testing.F) {
	f.Add([]byte(Example()))
	f.Add([]byte("seeds: [https://a.example/]\nbudget: {pages: 3, time: 1h}\nfetch: {max-body: 1MiB}\n"))
	f.Add([]byte("judge: {name: rules, rules: [{field: url, pattern: a, weight: -1}]}"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("scope: {exclude: [\"(\"]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		j, err := Parse("job.yaml", b)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		out, err := j.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("again.yaml", out); err != nil {
			t.Errorf("accepted, but not when written again: %v\n%s", err, out)
		}
	})
}

// A model is of the aim of a crawl however its focus was written.
func TestAimIsOfTopics(t *testing.T) {
	of := func(focus ...string) map[string]string {
		return (&Job{Judge: Judge{Name: "critic", Critic: "my.critic", Focus: focus}}).Aim()
	}
	one := of("/Arts/Music", "/Arts/Film")
	for _, same := range [][]string{{"Arts/Film", "Arts/Music"}, {"/Arts/Music/", " /Arts/Film"}, {"/Arts/Film", "/Arts/Music", "Arts/Film"}} {
		if differ := AimsDiffer(one, of(same...)); differ != "" {
			t.Errorf("%q: %s", same, differ)
		}
	}
	if AimsDiffer(one, of("/Arts/Film")) == "" {
		t.Error("fewer topics are the same aim")
	}
}
