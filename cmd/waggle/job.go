package main

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"net/url"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Job is everything a crawl is told. It is what a job file holds; flags change
// single values of it. A value left out has the default named here.
type Job struct {
	Name    string   `yaml:"name,omitempty"`    // of the crawl; default "crawl"
	Contact string   `yaml:"contact,omitempty"` // mail or page where site owners reach you
	Seeds   []string `yaml:"seeds,omitempty"`   // addresses to start from
	Topic   JobTopic `yaml:"topic,omitempty"`
	Judge   JobJudge `yaml:"judge,omitempty"`
	Scorer  struct {
		Name string `yaml:"name,omitempty"` // default best-first-both
		Seed uint64 `yaml:"seed,omitempty"` // of every random draw
		// Similarity is what best-first goes by: judge (default), tf or tfidf.
		Similarity string `yaml:"similarity,omitempty"`
		// Batch is N of best-n-first.
		Batch int `yaml:"batch,omitempty"`
		// Set changes constants of the scorer; waggle lab list names them.
		Set map[string]float64 `yaml:"set,omitempty"`
		// Model is the file of a trained model, for the scorers that need one.
		Model string `yaml:"model,omitempty"`
		// Digest is the SHA-256 of that model as the crawl was begun with it;
		// written when it begins.
		Digest string `yaml:"model-digest,omitempty"`
		// WordNet is a folder with WordNet's database files, and Thesaurus a
		// table of related words, for the semantic scorers.
		WordNet   string `yaml:"wordnet,omitempty"`
		Thesaurus string `yaml:"thesaurus,omitempty"`
	} `yaml:"scorer,omitempty"`
	Budget struct {
		Pages int      `yaml:"pages,omitempty"` // 0 = no limit
		Time  Duration `yaml:"time,omitempty"`  // 0 = no limit
	} `yaml:"budget,omitempty"`
	Scope struct {
		Reach        string   `yaml:"reach,omitempty"`   // any (default), domain or host, of the seeds
		Include      []string `yaml:"include,omitempty"` // patterns: an address must match one
		Exclude      []string `yaml:"exclude,omitempty"` // patterns: an address must match none
		MaxDepth     int      `yaml:"max-depth,omitempty"`
		MaxHostPages int      `yaml:"max-host-pages,omitempty"`
		MaxHostQueue int      `yaml:"max-host-queue,omitempty"`
		MaxQueue     int      `yaml:"max-queue,omitempty"` // of all hosts; 0 = no limit
	} `yaml:"scope,omitempty"`
	Politeness struct {
		Delay         *Duration `yaml:"delay,omitempty"`           // between requests to a host; default 1s
		MaxCrawlDelay Duration  `yaml:"max-crawl-delay,omitempty"` // that robots.txt may ask for; default 60s
		ObeyNoFollow  bool      `yaml:"obey-rel-nofollow,omitempty"`
	} `yaml:"politeness,omitempty"`
	Fetch struct {
		Workers      int      `yaml:"workers,omitempty"`       // fetches at a time; default 32
		Timeout      Duration `yaml:"timeout,omitempty"`       // for a whole fetch; default 10s
		MaxBody      Size     `yaml:"max-body,omitempty"`      // decoded; default 10MiB
		Types        []string `yaml:"types,omitempty"`         // default text/html, application/xhtml+xml
		Through      string   `yaml:"through,omitempty"`       // HTTP proxy
		ThroughCA    string   `yaml:"through-ca,omitempty"`    // file with the proxy's certificates
		AllowPrivate bool     `yaml:"allow-private,omitempty"` // loopback and private addresses
	} `yaml:"fetch,omitempty"`
	Addresses struct {
		KeepSessions bool `yaml:"keep-session-ids,omitempty"`
		KeepTracking bool `yaml:"keep-tracking,omitempty"`
	} `yaml:"addresses,omitempty"`
}

// JobTopic is what is wanted.
type JobTopic struct {
	Description string   `yaml:"description,omitempty"`
	Keywords    []string `yaml:"keywords,omitempty"`
	Examples    []string `yaml:"examples,omitempty"`  // wanted pages: addresses or files
	Negatives   []string `yaml:"negatives,omitempty"` // unwanted pages
}

// JobJudge is how a page's relevance is measured.
type JobJudge struct {
	Name      string   `yaml:"name,omitempty"`      // default topic
	Threshold *float64 `yaml:"threshold,omitempty"` // default: the judge's own, from the examples
	Command   []string `yaml:"command,omitempty"`   // of the judge "command"
	// Critic is the file that waggle topic train made, for the judge "critic",
	// and Focus the topics of it that are wanted, with all below them. Printed
	// leaves its probabilities as the formula gives them, and Anyway accepts
	// one that cannot tell the focus from the rest.
	Critic  string   `yaml:"critic,omitempty"`
	Focus   []string `yaml:"focus,omitempty"`
	Printed bool     `yaml:"printed,omitempty"`
	Anyway  bool     `yaml:"anyway,omitempty"`
	// Rules are those of the judge "rules": what matches adds its weight.
	Rules []JobRule `yaml:"rules,omitempty"`
}

// JobRule is a rule of the judge "rules".
type JobRule struct {
	Field   string  `yaml:"field"` // url, title or body
	Pattern string  `yaml:"pattern"`
	Weight  float64 `yaml:"weight,omitempty"` // default 1
}

// Duration is a time span written as "1s", "2h30m", or a number of seconds.
type Duration time.Duration

// UnmarshalText reads a Duration.
func (d *Duration) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	v, err := time.ParseDuration(s)
	if err != nil {
		n, errN := strconv.ParseFloat(s, 64)
		if errN != nil || n != n || n > 1e9 {
			return fmt.Errorf("%q is no time span: write it as 30s, 5m or 2h", s)
		}
		v = time.Duration(n * float64(time.Second))
	}
	if v < 0 {
		return fmt.Errorf("the time span %s is negative", s)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads a Duration; its errors name the line.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error { return atLine(n, d) }

// atLine reads a value and says in which line it is wrong.
func atLine(n *yaml.Node, v encoding.TextUnmarshaler) error {
	var s string
	if err := n.Decode(&s); err != nil {
		return err
	}
	if err := v.UnmarshalText([]byte(s)); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", n.Line, err)}}
	}
	return nil
}

// MarshalText writes a Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Size is a number of bytes written as "10MiB", "500KB" or a number.
type Size int64

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([kKmMgG]?)(i?)[bB]?$`)

// UnmarshalText reads a Size.
func (z *Size) UnmarshalText(b []byte) error {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(string(b)))
	if m == nil {
		return fmt.Errorf("%q is no size: write it as 10MiB or 500KB", b)
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	unit := 1000.0
	if m[3] != "" {
		unit = 1024
	}
	for range strings.Index("kmg", strings.ToLower(m[2] + "k")[:1]) + 1 {
		if m[2] != "" {
			n *= unit
		}
	}
	if n > 1<<40 {
		return fmt.Errorf("the size %s is beyond 1 TiB", b)
	}
	*z = Size(n)
	return nil
}

// UnmarshalYAML reads a Size; its errors name the line.
func (z *Size) UnmarshalYAML(n *yaml.Node) error { return atLine(n, z) }

// MarshalText writes a Size.
func (z Size) MarshalText() ([]byte, error) {
	if z%(1<<20) == 0 && z > 0 {
		return fmt.Appendf(nil, "%dMiB", z>>20), nil
	}
	return fmt.Appendf(nil, "%d", int64(z)), nil
}

// maxJob bounds a job file, in bytes.
const maxJob = 8 << 20

// readJob reads and checks a job file. Every error names its line.
func readJob(name string) (*Job, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("job file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxJob+1))
	if err != nil {
		return nil, fmt.Errorf("job file %s: %w", name, err)
	}
	if len(b) > maxJob {
		return nil, fmt.Errorf("job file %s is larger than %d MiB: is it a job file?", name, maxJob>>20)
	}
	return parseJob(name, b)
}

// parseJob makes a Job of YAML. Keys that no job has are errors.
func parseJob(name string, b []byte) (*Job, error) {
	job := &Job{}
	file, err := yamlfile.Decode(name, b, job, "`waggle crawl --example-job` shows every key")
	if err != nil {
		return nil, err
	}
	return job, job.check(func(path string) string { return file.At(strings.Split(path, ".")...) })
}

// check validates the values that a job names; where says in which line of
// which file, or by which flag, a value was given.
func (j *Job) check(where func(path string) string) error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", where(path), fmt.Sprintf(format, args...)))
	}
	for i, s := range j.Seeds {
		if _, err := web.Parse(s); err != nil {
			bad(fmt.Sprintf("seeds.%d", i), "seed: %v", err)
		}
	}
	if j.Contact != "" && !isContact(j.Contact) {
		bad("contact", "contact %q is neither a mail address nor an address of a page", j.Contact)
	}
	if j.Budget.Pages < 0 {
		bad("budget.pages", "the number of pages is negative")
	}
	if t := j.Judge.Threshold; t != nil && !(*t > 0 && *t <= 1) {
		bad("judge.threshold", "threshold %v is not above 0 and at most 1; leave it out for the judge's own", *t)
	}
	if n := j.Judge.Name; n != "" && !slices.ContainsFunc(judge.Names(), func(l judge.Line) bool { return l.Name == n }) {
		bad("judge.name", "no judge is called %q; there are: %s", n, judgeNames())
	}
	switch c := &j.Judge; {
	case c.Name == "critic" && c.Critic != "" && len(c.Focus) == 0:
		bad("judge.focus", "the judge critic needs a focus: the topics wanted, as waggle topic show names them")
	case c.Name == "critic" && c.Critic == "" && len(c.Focus) > 0:
		bad("judge.critic", "a focus needs a critic: the file that waggle topic train made")
	case c.Name == "" && c.Critic != "":
		bad("judge.critic", "critic and focus are for the judge critic: add name: critic")
	case c.Name != "critic" && c.Critic == "" && len(c.Focus) > 0:
		bad("judge.focus", "a focus is for the judge critic, and needs a critic: the file that waggle topic train made")
	}
	if n := j.Scorer.Name; n != "" && !slices.ContainsFunc(score.Names(), func(l score.Line) bool { return l.Name == n }) {
		bad("scorer.name", "no scorer is called %q; there are: %s", n, scorerNames())
	}
	for key, v := range j.Scorer.Set {
		if !slices.ContainsFunc(score.Settings(j.scorer()), func(x score.Setting) bool { return x.Name == key && v >= x.Min && v <= x.Max }) {
			bad("scorer.set."+key, "%s has no setting %q that can be %v; waggle lab list names them with their ranges", j.scorer(), key, v)
		}
	}
	switch j.Scorer.Similarity {
	case "", "judge", "tf", "tfidf":
	default:
		bad("scorer.similarity", "similarity %q is none of judge, tf, tfidf", j.Scorer.Similarity)
	}
	switch crawl.Reach(j.Scope.Reach) {
	case "", crawl.ReachAny, crawl.ReachDomain, crawl.ReachHost:
	default:
		bad("scope.reach", "reach %q is none of any, domain, host", j.Scope.Reach)
	}
	for key, patterns := range map[string][]string{
		"scope.include": j.Scope.Include, "scope.exclude": j.Scope.Exclude,
	} {
		for i, p := range patterns {
			if _, err := regexp.Compile(p); err != nil {
				bad(fmt.Sprintf("%s.%d", key, i), "pattern %q: %v", p, err)
			}
		}
	}
	for i, r := range j.Judge.Rules {
		if _, err := regexp.Compile(r.Pattern); err != nil {
			bad(fmt.Sprintf("judge.rules.%d.pattern", i), "pattern %q: %v", r.Pattern, err)
		}
		if r.Field != "url" && r.Field != "title" && r.Field != "body" {
			bad(fmt.Sprintf("judge.rules.%d.field", i), "field %q is none of url, title, body", r.Field)
		}
	}
	for key, n := range map[string]int{
		"scope.max-depth": j.Scope.MaxDepth, "scope.max-host-pages": j.Scope.MaxHostPages,
		"scope.max-host-queue": j.Scope.MaxHostQueue, "fetch.workers": j.Fetch.Workers, "scorer.batch": j.Scorer.Batch,
	} {
		if n < 0 || n > 1e9 {
			bad(key, "%d is outside 0…1,000,000,000", n)
		}
	}
	if j.Scope.MaxQueue < 0 || j.Scope.MaxQueue > 100_000 {
		bad("scope.max-queue", "%d is outside 0…100,000; 0 = no limit", j.Scope.MaxQueue)
	}
	if j.Fetch.Workers > 4096 {
		bad("fetch.workers", "%d workers: more than 4096 fetches at a time serve nobody", j.Fetch.Workers)
	}
	if p := j.Fetch.Through; p != "" {
		if u, err := url.Parse(p); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			bad("fetch.through", "proxy %q is no address like http://127.0.0.1:8080", p)
		}
	}
	sort.SliceStable(errs, func(a, b int) bool { return errs[a].Error() < errs[b].Error() })
	return errors.Join(errs...)
}

// saveJob keeps the job of a crawl.
func saveJob(w *collection.Writer, j *Job) error {
	b, err := yaml.Marshal(j)
	if err != nil {
		return err
	}
	head := []byte("# The job of this crawl with every value in force.\n")
	return w.SaveJob(append(head, b...))
}

func isContact(s string) bool {
	if u, err := url.Parse(s); err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto") && !strings.ContainsAny(s, " ()<>\r\n") {
		return true
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == ""
}

// delay is the job's delay; one left out is a second.
func (j *Job) delay() time.Duration {
	if j.Politeness.Delay == nil {
		return time.Second
	}
	return time.Duration(*j.Politeness.Delay)
}
