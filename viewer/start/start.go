// Package start prepares crawls on a page and begins them: what a person fills in is
// checked, example pages are judged, seeds are looked for, and the crawl that then runs
// is the one that its job file says.
//
//	Draft ─► Check: what is wrong, by setting; the job file
//	   │
//	   ├───► Try:   what the judge says of each example page
//	   ├───► Seeds: pages to start from
//	   └───► Begin ─► the crawl runs until it ends, or Starter's context does
package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/seeds"
	"github.com/waggle-crawler/waggle/web"
)

// Starter begins crawls and lets them run. It may be used by several goroutines.
type Starter struct {
	ctx  context.Context // of the crawls
	o    Options
	wait sync.WaitGroup

	mu    sync.Mutex
	known map[string]collection.Example // example pages that were fetched, by address
}

// Options of a Starter. Dir and Note are needed.
type Options struct {
	Dir       string          // in which the folders of crawls are made
	Folder    string          // the name of the next one, unless the person chooses another; "" = of its words
	Documents parse.Documents // reads what is no HTML; nil = this process does
	Note      func(string)    // is told what becomes of each crawl, in a line; by several goroutines
	// Hear returns what is called with the events of the earlier runs of the crawl in a
	// folder, and with those of this run; nil = nobody hears them.
	Hear func(dir string) (earlier, now func(event.Event))
}

// New makes a Starter of crawls that end with ctx.
func New(ctx context.Context, o Options) *Starter {
	return &Starter{ctx: ctx, o: o, known: map[string]collection.Example{}}
}

// Wait returns when no crawl runs any more.
func (s *Starter) Wait() { s.wait.Wait() }

// Dir is the folder in which those of the crawls are made, as a whole path.
func (s *Starter) Dir() string {
	if whole, err := filepath.Abs(s.o.Dir); err == nil {
		return whole
	}
	return s.o.Dir
}

// Folder is the name that the folder of the next crawl has unless another is chosen, ""
// where it goes by its words: a crawl may be there by now.
func (s *Starter) Folder() string {
	if s.o.Folder == "" || collection.At(filepath.Join(s.o.Dir, s.o.Folder)).Begun() {
		return ""
	}
	return s.o.Folder
}

// Draft is what a person has filled in.
type Draft struct {
	// Folder is that of the crawl, below the Starter's.
	Folder string `json:"folder"`
	// Values are those of settings, by path. A list has all its values; of others the
	// first counts, and "" is none.
	Values map[string][]string `json:"values"`
	// Files are example pages from files.
	Files []File `json:"files,omitempty"`
}

// File is an example page from a file.
type File struct {
	Name     string `json:"name"` // by which the job file calls it
	Negative bool   `json:"negative,omitempty"`
	Text     string `json:"text"` // HTML, or text where the name ends in .txt
}

// Bounds of what a draft may bring.
const (
	maxFiles    = 200
	maxFileName = 200     // bytes
	maxFile     = 4 << 20 // bytes
)

// Paths are the settings that can be given on a page: those that read files of this
// machine or start programs cannot.
func Paths() []string {
	return []string{
		"name", "contact", "seeds", "topic.description", "topic.keywords", "topic.examples", "topic.negatives",
		"judge.threshold", "scorer.name", "budget.pages", "budget.time", "budget.until-gain",
		"scope.reach", "scope.include", "scope.exclude", "scope.max-depth", "scope.max-host-pages",
		"politeness.delay", "politeness.own-hosts", "politeness.obey-rel-nofollow", "fetch.workers", "fetch.through", "fetch.allow-private",
	}
}

// Problem is what is wrong with a draft.
type Problem struct {
	Path string `json:"path"` // of a setting, perhaps with a place in a list ("seeds.2"); "folder", or "" for the whole
	Text string `json:"text"`
}

// Problems are all that is wrong with a draft.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, x := range p {
		lines = append(lines, strings.TrimPrefix(x.Path+": "+x.Text, ": "))
	}
	return strings.Join(lines, "\n")
}

// problems takes an error apart.
func problems(err error) (out Problems) {
	var visit func(error)
	visit = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				visit(e)
			}
			return
		}
		var at *job.Error
		var several Problems
		switch {
		case errors.As(err, &several):
			out = append(out, several...)
		case errors.As(err, &at):
			out = append(out, Problem{at.Path, event.Line(at.Err.Error())})
		case err != nil:
			out = append(out, Problem{"", event.Line(err.Error())})
		}
	}
	visit(err)
	return out
}

// job is the job of a draft; the error is Problems. What a crawl alone needs is asked
// for where whole says so.
func (s *Starter) job(d *Draft, whole bool) (*job.Job, error) {
	j := &job.Job{}
	var wrong Problems
	for path, values := range d.Values {
		set, ok := job.Lookup(path)
		if !ok || set.Path != path || !slices.Contains(Paths(), path) {
			wrong = append(wrong, Problem{path, "this cannot be set here: write a job file, and give it to waggle crawl"})
			continue
		}
		values = slices.DeleteFunc(trimmed(values), func(v string) bool { return v == "" })
		if path == "topic.examples" || path == "topic.negatives" {
			for i, v := range values {
				if values[i] = web.WithScheme(v); !job.IsAddress(values[i]) {
					wrong = append(wrong, Problem{fmt.Sprintf("%s.%d", path, i), fmt.Sprintf("%q is no address: choose a file of this machine below", event.Line(v))})
				}
			}
		}
		if err := set.Set(j, values...); err != nil {
			wrong = append(wrong, problems(err)...)
		}
	}
	names := map[string]bool{}
	for _, f := range d.Files {
		switch {
		case len(d.Files) > maxFiles || len(f.Text) > maxFile || len(f.Name) > maxFileName:
			wrong = append(wrong, Problem{"files", fmt.Sprintf("at most %d files of %d MiB each, with names of %d bytes", maxFiles, maxFile>>20, maxFileName)})
		case f.Name == "" || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") || job.IsAddress(f.Name):
			wrong = append(wrong, Problem{"files", fmt.Sprintf("%q is no name of a file", event.Line(f.Name))})
		case names[f.Name]:
			wrong = append(wrong, Problem{"files", fmt.Sprintf("there are two files called %q", event.Line(f.Name))})
		case f.Negative:
			j.Topic.Negatives = append(j.Topic.Negatives, f.Name)
		default:
			j.Topic.Examples = append(j.Topic.Examples, f.Name)
		}
		names[f.Name] = true
	}
	if j.Name == "" && d.Folder != "" {
		j.Name = filepath.Base(d.Folder)
	}
	if err := j.Check(); err != nil {
		wrong = append(wrong, problems(err)...)
	}
	if t := &j.Topic; len(t.Keywords)+len(t.Examples) == 0 && strings.TrimSpace(t.Description) == "" {
		wrong = append(wrong, Problem{"topic", "say what is wanted: keywords, a sentence, or example pages"})
	}
	if whole {
		if j.SeedByExamples(); len(j.Seeds) == 0 {
			wrong = append(wrong, Problem{"seeds", "give an address to start from, or find some"})
		} else if err := j.CheckLive(); err != nil {
			wrong = append(wrong, problems(err)...)
		}
		if _, err := s.folder(d.Folder); err != nil {
			wrong = append(wrong, Problem{"folder", event.Line(err.Error())})
		}
	}
	slices.SortStableFunc(wrong, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	if wrong = slices.Compact(wrong); len(wrong) > 0 {
		return j, wrong
	}
	return j, nil
}

func trimmed(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

// folder is where a crawl of that name is to be.
func (s *Starter) folder(name string) (collection.Collection, error) {
	if name == "" {
		return collection.Collection{}, errors.New("give the folder of the crawl a name")
	}
	if !filepath.IsLocal(name) || name == "." {
		return collection.Collection{}, fmt.Errorf("%q does not lead to a folder in %s", name, s.Dir())
	}
	if unclear(name) {
		return collection.Collection{}, fmt.Errorf("%q has characters that are not shown as they stand, such as control characters: leave them out", name)
	}
	col := collection.At(filepath.Join(s.o.Dir, name))
	if _, err := os.Stat(col.Dir()); errors.Is(err, syscall.ENAMETOOLONG) {
		return col, errors.New("the name is too long: give a shorter one")
	}
	if err := cmp.Or(col.Usable(), col.BringBack()); err != nil {
		return col, err
	}
	if col.Begun() {
		return col, fmt.Errorf("%s holds a crawl already: choose another name", col.Dir())
	}
	return col, nil
}

// unclear tells whether a name has characters that move a cursor or turn text round, or shows
// none.
func unclear(name string) bool {
	return event.Line(name) == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// Checked is what is known of a draft without a request.
type Checked struct {
	Problems Problems `json:"problems"`
	// Job is the job file, as far as the draft goes.
	Job string `json:"job"`
	// Folder is the whole path of that of the crawl.
	Folder string `json:"folder"`
	// Command is what begins the same crawl in a shell.
	Command string `json:"command"`
}

// Check tells what is wrong with a draft, and the job file that it makes.
func (s *Starter) Check(d *Draft) (Checked, error) {
	j, err := s.job(d, true)
	out := Checked{Problems: Problems{}, Folder: s.Dir()}
	if err != nil {
		out.Problems = problems(err)
	}
	if filepath.IsLocal(d.Folder) && !unclear(d.Folder) {
		out.Folder = filepath.Join(s.Dir(), d.Folder)
		out.Command = "waggle crawl -f job.yaml -o " + quoted(d.Folder)
	}
	b, err := j.YAML()
	out.Job = string(b)
	return out, err
}

// quoted is a name as a shell takes it.
func quoted(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// maker makes parts of the crawl of a draft. The caller closes it, and then calls keep.
func (s *Starter) maker(d *Draft, whole bool, note func(string)) (m *job.Maker, keep func(), err error) {
	j, err := s.job(d, whole)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]collection.Example{}
	s.mu.Lock()
	for src, e := range s.known {
		known[src] = e
	}
	s.mu.Unlock()
	for _, f := range d.Files {
		known[f.Name] = job.FileExample(f.Name, []byte(f.Text))
	}
	keep = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for src, e := range known {
			if job.IsAddress(src) && len(s.known) < maxFiles {
				s.known[src] = e
			}
		}
	}
	return &job.Maker{Job: j, Known: known, Documents: s.o.Documents, Note: func(line string) { note(event.Line(line)) }}, keep, nil
}

// Trial is what the judge says of an example page; see job.Trial.
type Trial struct {
	Source    string  `json:"source"`
	Title     string  `json:"title"`
	Negative  bool    `json:"negative"`
	Missing   string  `json:"missing,omitempty"`
	Knows     bool    `json:"knows"`
	Relevance float64 `json:"relevance"`
	Relevant  bool    `json:"relevant"`
	Right     bool    `json:"right"`
}

// Tried is what came of judging the example pages.
type Tried struct {
	Judge     string   `json:"judge"`
	Threshold float64  `json:"threshold"`
	Trials    []Trial  `json:"trials"`
	Notes     []string `json:"notes"` // what the judge says of itself
}

// Try fetches the example pages and has the judge of a draft say what each is.
func (s *Starter) Try(ctx context.Context, d *Draft, note func(string)) (*Tried, error) {
	m, keep, err := s.maker(d, false, note)
	if err != nil {
		return nil, err
	}
	defer keep()
	trials, notes, err := m.Try(ctx)
	if err = errors.Join(err, m.Close()); err != nil {
		return nil, problems(err)
	}
	out := &Tried{Judge: m.Job.Judge.Name, Trials: []Trial{}, Notes: []string{}}
	if j, ok := m.Judge.(interface{ Threshold() float64 }); ok {
		out.Threshold = j.Threshold()
	}
	for _, t := range trials {
		out.Trials = append(out.Trials, Trial{
			Source: event.Line(t.Source), Title: event.Line(clip(t.Title)), Negative: t.Negative, Missing: event.Line(t.Missing),
			Knows: t.Knows, Relevance: t.Relevance, Relevant: t.Relevant, Right: t.Right(),
		})
	}
	for _, n := range notes {
		out.Notes = append(out.Notes, event.Line(n))
	}
	return out, nil
}

// Wanted is where seeds are looked for.
type Wanted struct {
	Sources []string `json:"sources"` // as waggle seeds takes them: KIND=WHERE
	Lists   []List   `json:"lists,omitempty"`
	Rounds  int      `json:"rounds"`
	Pages   int      `json:"pages"` // fetched and judged in each round
}

// List is a file of bookmarks or of a history.
type List struct {
	Kind string `json:"kind"` // bookmarks, history
	Name string `json:"name"`
	Body []byte `json:"body"`
}

// Seed is a page from which a crawl may start; see seeds.Seed.
type Seed struct {
	URL       string  `json:"url"`
	Title     string  `json:"title"`
	Source    string  `json:"source"`
	Likeness  float64 `json:"likeness"`
	Judged    bool    `json:"judged"`
	Relevance float64 `json:"relevance"`
}

// maxSeeds is how many seeds are offered.
const maxSeeds = 200

// Seeds looks for pages to start from. left are those that were judged not relevant.
func (s *Starter) Seeds(ctx context.Context, d *Draft, w *Wanted, note func(string)) (found, left []Seed, err error) {
	if w.Rounds < 1 || w.Rounds > 5 || w.Pages < 0 || w.Pages > 200 {
		return nil, nil, Problems{{"seeds", "give 1 to 5 rounds, of 0 to 200 pages"}}
	}
	var sources []seeds.Source
	add := func(text string) error {
		one, err := seeds.ParseSource(text)
		if err != nil {
			return Problems{{"sources", event.Line(err.Error())}}
		}
		sources = append(sources, one)
		return nil
	}
	for _, text := range w.Sources {
		if kind, _, _ := strings.Cut(text, "="); kind == "bookmarks" || kind == "history" {
			return nil, nil, Problems{{"sources", "a file of this machine is chosen, and not named"}}
		}
		if err := add(text); err != nil {
			return nil, nil, err
		}
	}
	for _, l := range w.Lists {
		if l.Kind != "bookmarks" && l.Kind != "history" {
			return nil, nil, Problems{{"sources", fmt.Sprintf("%q is no list: there are bookmarks and history", event.Line(l.Kind))}}
		}
		name, err := temporary(l.Body)
		if err != nil {
			return nil, nil, err
		}
		defer os.Remove(name)
		if err := add(l.Kind + "=" + name); err != nil {
			return nil, nil, err
		}
	}
	if len(sources) == 0 {
		return nil, nil, Problems{{"sources", "say where to look"}}
	}
	m, keep, err := s.maker(d, false, note)
	if err != nil {
		return nil, nil, err
	}
	defer keep()
	f, err := seeds.For(ctx, m)
	var list []seeds.Seed
	if err == nil {
		f.Rounds, f.Pages = w.Rounds, w.Pages
		list, err = f.Find(ctx, sources)
	}
	if err = errors.Join(err, m.Close()); err != nil {
		return nil, nil, problems(err)
	}
	return offered(list), offered(f.LeftOut()), nil
}

func offered(list []seeds.Seed) []Seed {
	out := []Seed{}
	for _, x := range list[:min(len(list), maxSeeds)] {
		out = append(out, Seed{x.URL.String(), clip(x.Title), x.Source, x.Likeness, x.Judged, x.Relevance})
	}
	return out
}

// temporary is a file that holds b.
func temporary(b []byte) (name string, err error) {
	f, err := os.CreateTemp("", "waggle-list-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// clip bounds a title.
func clip(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
