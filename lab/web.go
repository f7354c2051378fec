package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// labWeb is an open recorded web with the topics asked for.
type labWeb struct {
	*corpus.Web
	spec   *Web
	topics []corpus.Topic
	folds  []*fold
	truth  map[string]map[web.URL]bool // by topic
	record uint64                      // a hash of what is recorded
	truths map[string]uint64           // hashes, by topic
	// By topic: the grades of a truth that was read; pages shown as what is not
	// wanted; and bad examples.
	grades         map[string]map[web.URL]pool.Grade
	negatives, bad map[string][]web.URL
	notes          []string // for the reader of a report

	words  *text.Analyzer
	parser *parse.Parser
	labels func() uint64 // a hash of what people called pages; of none where that cannot be read
	// kinds says that there may be documents and other sources of links; linksOnly are the media
	// types of what is fetched for its links alone then.
	kinds          bool
	linksOnly      []string
	linksOnlyNotes []string     // notes on addresses of truths that are fetched for their links alone
	closeDocuments func() error // nil where no documents are read

	tasks atomic.Int64 // to be done yet
	mu    sync.Mutex   // of reading
	read  bool
	pages *corpus.Pages
	links *train.Backlinks // nil until a model is taught

	parsed bool          // parse was measured
	parse  time.Duration // that parsing a page takes, mean of a sample
}

// open reads the parsed pages, and makes their file if there is none.
func (w *labWeb) open(ctx context.Context, r *runner) (*corpus.Pages, error) {
	r.progress(w.Name + ": reading pages")
	pages, err := corpus.OpenPages(ctx, w.Web, w.parser, corpus.PagesOptions{Workers: r.opt.Workers, Progress: func(done, total int) {
		r.progress(fmt.Sprintf("%s: parsing %d of %d pages", w.Name, done, total))
	}})
	if err == nil {
		err = w.dropLinksOnly(pages)
	}
	return pages, err
}

// load reads the pages of a web, once.
func (w *labWeb) load(ctx context.Context, r *runner) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read {
		return nil
	}
	var err error
	if w.pages, err = w.open(ctx, r); err != nil {
		return err
	}
	w.read = true
	return nil
}

// parsing is the time that parsing a page takes, measured once, when a crawl is first simulated.
func (w *labWeb) parsing() (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if !w.parsed {
		w.parse, err = parseTime(w.Web, w.parser)
		w.parsed = err == nil
	}
	return w.parse, err
}

// backlinks reads the web backwards, once.
func (w *labWeb) backlinks(ctx context.Context, ignoreDirectives bool) (*train.Backlinks, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.links == nil {
		w.links, err = train.NewBacklinks(ctx, w.Web, w.pages, ignoreDirectives)
	}
	return w.links, err
}

// done lets the pages go after the last task: one web's memory at a time, or
// two where the pool goes from one to the next.
func (w *labWeb) done() {
	if w.tasks.Add(-1) == 0 {
		w.release()
	}
}

func (w *labWeb) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages, w.links, w.read = nil, nil, false
	for _, f := range w.folds {
		f.graph, f.read, f.critics = nil, nil, nil
	}
}

// nests tells whether a scorer goes by how deep leaves are.
func (f *File) nests() bool {
	return slices.ContainsFunc(f.Scorers, func(s Scorer) bool {
		_, ok := s.kind().Uses(score.InputNesting, s.Set)
		return ok
	})
}

// written is a topic of a recorded web without its pages.
func written(t corpus.Topic) *topic.Topic {
	return &topic.Topic{Name: t.Name, Description: t.Description, Keywords: t.Keywords, Language: t.Language}
}

// languages are those of the topics of a web that are measured, all if none is named.
// Words of all of them are compared by the same terms, so that every page is read once.
func languages(topics []corpus.Topic, named []string) (out []string) {
	for _, t := range topics {
		if len(named) == 0 || slices.Contains(named, t.Name) {
			out = append(out, written(t).Languages()...)
		}
	}
	return out
}

// newLabWeb is a web without topics, of pages in HTML, whose links are their own and alternates.
func newLabWeb(w *corpus.Web, spec *Web, nesting bool) *labWeb {
	return newLabWebOf(w, spec, nesting, nil, nil)
}

// newLabWebOf is newLabWeb with what kinds, unless nil, says of documents and sources of links;
// nil documents are read in this process.
func newLabWebOf(w *corpus.Web, spec *Web, nesting bool, kinds *job.Job, documents parse.Documents) *labWeb {
	out := &labWeb{
		Web: w, spec: spec, truth: map[string]map[web.URL]bool{}, truths: map[string]uint64{}, words: text.NewAnalyzer(languages(w.Topics, spec.Topics)...),
		grades: map[string]map[web.URL]pool.Grade{}, negatives: map[string][]web.URL{}, bad: map[string][]web.URL{},
	}
	out.labels = sync.OnceValue(func() (sum uint64) {
		labels, _ := w.Labels() // the training that needs them tells
		for u, label := range labels {
			sum += xxh3.HashString(u.String() + "\t" + label)
		}
		return sum
	})
	o := parse.Options{Analyzer: out.words, Canon: w.Canon(), Nesting: nesting}
	if kinds != nil {
		out.kinds, out.linksOnly, o.Sources = true, kinds.LinksOnly(), kinds.Sources()
		if o.Documents = documents; documents == nil {
			o.Documents, out.closeDocuments = job.LocalDocuments()
		}
	}
	out.parser = parse.New(o)
	return out
}

// open opens a web and checks that it can be measured on.
func (f *File) open(spec *Web, i int) (*labWeb, error) {
	at := f.at("webs", fmt.Sprint(i))
	w, err := corpus.Open(spec.Path)
	if _, gone := os.Stat(spec.Path); err != nil && errors.Is(gone, fs.ErrNotExist) {
		err = fmt.Errorf("%w; --webs DIR names a folder that holds it", err)
	}
	if err != nil && spec.given != "" && spec.given != spec.Path {
		return nil, fmt.Errorf("%s: path %s: %w", at, spec.given, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	read, err := f.openPool()
	if err != nil {
		w.Close()
		return nil, err
	}
	var kinds *job.Job
	if f.ofKinds() {
		kinds = f.kinds()
	}
	out := newLabWebOf(w, spec, f.nests(), kinds, f.documents)
	fail := func(format string, args ...any) (*labWeb, error) {
		out.Close()
		return nil, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
	for _, t := range w.Topics {
		if len(spec.Topics) > 0 && !slices.Contains(spec.Topics, t.Name) {
			continue
		}
		if !f.hasTruth(w, read, t) {
			if len(spec.Topics) > 0 {
				return fail("topic %s has no truth to measure against: %s", t.Name, f.noTruth(w, read))
			}
			continue
		}
		if err := out.add(f, read, t); err != nil {
			return fail("topic %s: %v", t.Name, err)
		}
	}
	if out.record, err = w.Hash(); err != nil {
		return fail("%v", err)
	}
	for _, name := range slices.Concat(spec.Topics, spec.Dev) {
		if _, ok := out.truth[name]; !ok {
			var names []string
			for _, t := range w.Topics {
				names = append(names, t.Name)
			}
			return fail("web %s has no topic %q%s; it has %s", w.Name, name, spelling.Hint(name, names), strings.Join(names, ", "))
		}
	}
	if len(out.topics) == 0 {
		return fail("web %s has no topic with a truth: %s", w.Name, f.noTruth(w, read))
	}
	if out.folds, err = out.partition(); err != nil {
		return fail("%v", err)
	}
	if n, top := w.Count().Pages, spec.Budgets[len(spec.Budgets)-1]; top > n {
		return fail("a budget of %s on a web of %d: give the web budgets: of its own", terminal.Count(top, "page"), n)
	}
	return out, nil
}

// add adds a topic with its truth, and checks that crawls for it can start and be
// measured.
func (w *labWeb) add(f *File, read *readPool, t corpus.Topic) error {
	spec := w.spec
	truth, err := w.topicTruth(f, read, t)
	if err != nil {
		return err
	}
	if t, err = w.shownPages(f, read, t, truth); err != nil {
		return err
	}
	recorded := 0
	for u := range truth {
		if w.Has(u) {
			recorded++
		}
	}
	if recorded == 0 {
		return fmt.Errorf("none of its %d relevant addresses is in the record", len(truth))
	}
	if recorded < len(truth) {
		w.notes = append(w.notes, fmt.Sprintf("%s/%s: of %d relevant addresses %d %s not in the record, such as %s.", w.Name, t.Name, len(truth), len(truth)-recorded, agreeing(len(truth)-recorded, "is", "are"), absent(w.Web, t.Truth, truth)))
	}
	if slices.Contains(f.Seeds, "far") && len(t.SeedsFar) == 0 {
		return errors.New("it has no far seeds")
	}
	seeds := t.Seeds
	if slices.Contains(f.Seeds, "far") {
		seeds = t.SeedsFar
	}
	if gone := unrecorded(w.Web, seeds, 399); f.Hops > 0 {
		// Its seeds are drawn from the record.
	} else if len(gone) == len(seeds) {
		return fmt.Errorf("of its %s none is in the record: no crawl can start", terminal.Count(len(seeds), "seed"))
	} else if len(gone) > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%s/%s: %s %s not in the record, such as %s.", w.Name, t.Name, outOf(len(gone), len(seeds), "seed"), agreeing(len(gone), "is", "are"), gone[0]))
	}
	// Where the web is parted, the examples are others.
	if gone := unrecorded(w.Web, t.Examples, 299); len(gone) > 0 && spec.Train == nil {
		w.notes = append(w.notes, fmt.Sprintf("%s/%s: %s %s no page in the record, such as %s, and %s shown to no strategy.", w.Name, t.Name, outOf(len(gone), len(t.Examples), "example"), agreeing(len(gone), "has", "have"), gone[0], agreeing(len(gone), "is", "are")))
	}
	w.topics = append(w.topics, t)
	w.truth[t.Name] = truth
	if !f.graded() {
		w.truths[t.Name] = hashSet(truth)
	}
	return nil
}

// unrecorded lists the addresses for which the record has no answer with a
// status of at most last.
func unrecorded(w *corpus.Web, all []web.URL, last int) (out []web.URL) {
	for _, u := range all {
		if !w.Has(u) || w.Status(u) > last {
			out = append(out, u)
		}
	}
	return out
}

// hashSet hashes addresses whatever their order.
func hashSet(set map[web.URL]bool) (sum uint64) {
	for u := range set {
		sum += xxh3.HashString(u.String())
	}
	return sum
}

// absent names an address of a truth that is not recorded, with its line.
func absent(w *corpus.Web, file string, truth map[web.URL]bool) string {
	b, err := os.ReadFile(filepath.Join(w.Dir(), file))
	if err != nil {
		return err.Error()
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if u, err := web.Parse(strings.TrimSpace(line)); err == nil && truth[u] && !w.Has(u) {
			return fmt.Sprintf("%s (%s:%d)", u, file, n)
		}
	}
	return "none that can be named"
}
