// Package gather collects the training graph of a topic into a folder: it finds the
// targets, opens the provider of in-links and the source of pages, and goes on with a
// collection that was stopped, by the same settings only.
package gather

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/inspect"
	"github.com/waggle-crawler/waggle/web"
)

// Collection is what is asked for: the flags of waggle train collect, which tell what
// each field means.
type Collection struct {
	Out string // folder of the graph, whose lock the caller holds while Run runs

	// Job says how to fetch; its topic and examples are the targets unless others
	// are named.
	Job *job.Job

	Web    string // folder of a recorded web or of a crawl; "" = the live web
	Topic  string // of the recorded web
	Truth  bool   // take all relevant pages of Topic for targets
	Target []string

	// Providers of in-links, of which one is named at most; none = Web.
	MediaWiki        string
	Edges            []string
	CCNodes, CCEdges []string

	Hosts, NotHosts []string

	Layers, LayerNodes int
	Fill               bool
	Similar            float64
	Seed               uint64
	AllPages           bool
	Force              bool // remove the graph that is there

	// Note is told what the user should know, Progress how far a part of the work is.
	Note     func(string)
	Progress func(done, total int, what string)
}

// settings are what a collection was asked for, kept from the beginning in
// collect.json, so that going on with other settings is refused.
type settings struct {
	Targets  []web.URL `json:"targets"`
	Topic    string    `json:"topic"`
	Inlinks  string    `json:"inlinks"`
	Pages    string    `json:"pages"`
	Hosts    []string  `json:"hosts,omitempty"`
	NotHosts []string  `json:"not_hosts,omitempty"`
	Layers   int       `json:"layers"`
	Nodes    int       `json:"layer_nodes"`
	Fill     bool      `json:"fill,omitempty"`
	Similar  float64   `json:"similar"`
	Seed     uint64    `json:"seed"`
	Canon    web.Canon `json:"addresses"` // how links are read
}

// Run collects, and saves the graph. Errors of type job.Mistake and *job.Error are for
// the user to mend; after any other the same collection goes on where it was.
func (c *Collection) Run(ctx context.Context) (_ *train.Graph, err error) {
	j := c.Job
	record, err := c.record(ctx)
	if err != nil {
		return nil, err
	}
	defer record.close()
	// Links are read by one set of rules throughout: those of the pages' source.
	canon := j.Canon()
	if record.web != nil {
		canon = record.canon
	}
	if err := c.hosts(record); err != nil {
		return nil, job.Mistake{Err: err}
	}
	t, targets, err := c.targets(j, record, canon, c.Note)
	if err != nil {
		return nil, job.Mistake{Err: err}
	}
	asked := settings{
		Targets: targets, Topic: t.Name, Inlinks: c.provider(), Pages: cmp.Or(c.Web, "the web"), Hosts: c.Hosts, NotHosts: c.NotHosts,
		Layers: c.Layers, Nodes: c.LayerNodes, Fill: c.Fill, Similar: c.Similar, Seed: c.Seed, Canon: canon,
	}
	var live, api *fetch.Stack
	if record.web == nil || c.MediaWiki != "" {
		if live, api, err = c.live(ctx, j, targets); err != nil {
			return nil, err
		}
		defer live.Close()
		defer api.Close()
	}
	if c.Force && c.holdsGraph() { // nothing of the command is wrong any more
		if err := c.clear(); err != nil {
			return nil, err
		}
	}
	if err := c.begin(asked); err != nil {
		return nil, job.Mistake{Err: err}
	}
	keep := hostFilter(c.Hosts, c.NotHosts)
	o := train.CollectOptions{
		Layers: c.Layers, LayerNodes: c.LayerNodes, Fill: c.Fill, Similar: c.Similar, Seed: c.Seed, Keep: keep, Canon: canon,
		IgnoreDirectives: c.AllPages, Progress: c.Progress,
	}
	archive := store.Options{Prefix: "pages", Software: "waggle/" + job.Version, Operator: j.Contact, Job: t.Name, Robots: "obey"}

	from, err := c.supply(ctx, record, live, api, archive, keep, canon)
	if err != nil {
		return nil, err
	}
	if from.live != nil {
		defer func() { err = errors.Join(err, from.live.Close()) }()
		o.Workers = cmp.Or(j.Fetch.Workers, 32)
	}
	g, err := train.Collect(ctx, t, targets, from.inlinks, from.source, o)
	if err != nil {
		if errors.Is(err, train.ErrNoTargets) && record.web != nil {
			err = fmt.Errorf("%w\nwaggle web info %s tells the topics of the record", err, c.Web)
		}
		return nil, err
	}
	if from.stored != nil {
		c.Progress(0, 0, "keeping the pages")
	}
	if err := train.Save(c.Out, g, archive, from.stored); err != nil {
		return nil, err
	}
	return g, nil
}

// supply is where in-links and pages come from.
type supply struct {
	inlinks train.Inlinks
	source  train.Source
	stored  func(web.URL) (*web.Response, error) // pages as recorded; nil = source keeps them
	live    io.Closer                            // of source, nil on a record
}

// supply opens the provider of in-links and the source of pages.
func (c *Collection) supply(ctx context.Context, r record, live, api *fetch.Stack, archive store.Options, keep func(web.URL) bool, canon web.Canon) (out supply, err error) {
	if r.web != nil {
		c.Progress(0, 0, "reading the links of the record")
		b, err := train.NewBacklinks(ctx, r.web, r.pages, c.AllPages)
		if err != nil {
			return out, err
		}
		own := train.Record{Backlinks: b, Pages: r.pages, Seed: c.Seed, Keep: keep}
		out.source, out.inlinks, out.stored = own, own, r.web.Lookup
	}
	if live != nil {
		if c.MediaWiki != "" {
			u, err := web.Parse(c.MediaWiki)
			if err != nil {
				return out, job.Mistake{Err: fmt.Errorf("--mediawiki: %w", err)}
			}
			wiki, err := train.NewMediaWiki(ctx, u, api, nil)
			if err != nil {
				return out, err
			}
			asked := 0
			wiki.Asked = func(title string) {
				asked++
				c.Progress(asked, 0, "questions; what links to "+title)
			}
			out.inlinks = train.KeptAnswers{From: wiki, Path: train.InlinksPath(c.Out), Batch: 1}
		}
		if r.web == nil {
			pages, err := train.NewLive(live, parse.New(parse.Options{Canon: canon}), canon, train.PagesPath(c.Out), archive)
			if err != nil {
				return out, err
			}
			out.source, out.live = pages, pages
		}
	}
	lines := func(n int) { c.Progress(n, 0, "lines read") }
	// Answers from files are not remembered: a file may be changed before the
	// collection goes on, and asking it again costs nobody anything.
	switch {
	case len(c.Edges) > 0:
		out.inlinks = train.EdgeList{Paths: c.Edges, Seed: c.Seed, Progress: lines}
	case len(c.CCNodes) > 0:
		out.inlinks = train.HostGraph{Vertices: c.CCNodes, Edges: c.CCEdges, Seed: c.Seed, Progress: lines}
	}
	return out, nil
}

// provider names where in-links come from.
func (c *Collection) provider() string {
	switch {
	case c.MediaWiki != "":
		return c.MediaWiki
	case len(c.Edges) > 0:
		return strings.Join(c.Edges, " ")
	case len(c.CCNodes) > 0:
		return strings.Join(append(slices.Clone(c.CCNodes), c.CCEdges...), " ")
	}
	return c.Web
}

// Check finds what flags must agree on, and whether the folder can be used. It comes
// before the folder is made.
func (c *Collection) Check() error {
	n := 0
	for _, given := range []bool{c.MediaWiki != "", len(c.Edges) > 0, len(c.CCNodes)+len(c.CCEdges) > 0} {
		if given {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("several providers of in-links: choose one of --mediawiki, --edges, --cc-vertices with --cc-edges")
	case n == 0 && c.Web == "":
		return errors.New("nobody to ask for in-links: name a recorded web or a finished crawl with --web, or one of --mediawiki, --edges, --cc-vertices with --cc-edges")
	case (len(c.CCNodes) == 0) != (len(c.CCEdges) == 0):
		return errors.New("a graph needs both: --cc-vertices FILE and --cc-edges FILE")
	case c.Truth && c.Web == "":
		return errors.New("--truth takes the relevant pages of a recorded web: name it with --web")
	case c.Topic != "" && c.Web == "":
		return errors.New("--topic names a topic of a recorded web: name that with --web")
	case c.AllPages && c.Web == "":
		return errors.New("--all-pages is for a record: name it with --web")
	// What is not given has a default; so a 0 was meant.
	case c.Layers == 0 || c.LayerNodes == 0:
		return fmt.Errorf("%d layers of %d pages: give at least 2 layers (targets and their in-links) of 1 page", c.Layers, c.LayerNodes)
	case c.Similar == 0:
		return errors.New("--similar 0 makes every page a target: give a number above 0, or 2 for none")
	}
	if err := (train.CollectOptions{Layers: c.Layers, LayerNodes: c.LayerNodes, Similar: c.Similar}).Check(); err != nil {
		return err
	}
	if c.MediaWiki != "" {
		if _, err := web.Given(c.MediaWiki); err != nil {
			return fmt.Errorf("--mediawiki: %w", err)
		}
	}
	for _, name := range slices.Concat(c.Edges, c.CCNodes, c.CCEdges) {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a folder: give a file", name)
		}
		if !folder.Exists(name) {
			return fmt.Errorf("file of links: there is no %s", name)
		}
	}
	switch {
	case c.Force && c.holdsGraph():
		return nil
	case !c.Force && folder.Exists(train.GraphPath(c.Out)):
		return fmt.Errorf("%s holds a collected graph: go on with waggle train sequences %[1]s, or collect anew with --force", c.Out)
	}
	entries, err := os.ReadDir(c.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if folder.Exists(c.settingsPath()) {
		return nil
	}
	for _, e := range entries {
		// What is there before the settings are, or remains of a record that was being made.
		if !slices.Contains([]string{"lock", "record", "collect.json.new"}, e.Name()) && !strings.HasPrefix(e.Name(), ".record-") {
			return fmt.Errorf("%s holds other files (%s): choose a new folder", c.Out, e.Name())
		}
	}
	return nil
}

func (c *Collection) settingsPath() string { return filepath.Join(c.Out, "collect.json") }

// holdsGraph tells whether the folder is that of a collection, whose files may be removed for another.
func (c *Collection) holdsGraph() bool { return folder.Exists(c.settingsPath()) }

// clear removes a graph, and nothing else, from the folder.
func (c *Collection) clear() error {
	var errs []error
	for _, name := range []string{train.GraphPath(c.Out), train.PagesPath(c.Out), train.InlinksPath(c.Out), train.SequencesPath(c.Out), c.settingsPath()} {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}

// begin keeps the settings, or checks that those of a collection that goes on,
// with what was fetched or answered, are the same.
func (c *Collection) begin(s settings) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	old, err := os.ReadFile(c.settingsPath())
	switch {
	case errors.Is(err, fs.ErrNotExist), !folder.Exists(train.PagesPath(c.Out)) && !folder.Exists(train.InlinksPath(c.Out)):
		return folder.Write(c.settingsPath(), b)
	case err != nil:
		return err
	case string(old) != string(b):
		return fmt.Errorf("%s holds a collection that was begun with other targets or settings (%s): give the same, or begin anew with --force", c.Out, c.settingsPath())
	}
	return nil
}

// record is a recorded web with its parsed pages; its zero value is none.
type record struct {
	web   *corpus.Web
	pages *corpus.Pages
	canon web.Canon // by which links of its pages are read
	made  string    // a folder to be removed
}

func (r record) close() {
	if r.web != nil {
		r.web.Close()
	}
	if r.made != "" {
		os.RemoveAll(r.made) // what stays is in the way of nothing
	}
}

// record opens the recorded web; of a finished crawl it makes one, for as long
// as it is needed. Links are read by the rules that its pages' addresses were
// made canonical by.
func (c *Collection) record(ctx context.Context) (r record, err error) {
	if c.Web == "" {
		return r, nil
	}
	dir := c.Web
	if collection.At(dir).Begun() {
		r.made = filepath.Join(c.Out, "record")
		dir = r.made
		_, err := corpus.Build(ctx, dir, corpus.Crawl{Dir: c.Web}, corpus.Options{Force: folder.Exists(dir), Progress: c.Progress})
		if err != nil {
			r.close()
			return record{}, err
		}
	}
	if r.web, err = corpus.Open(dir); err != nil {
		r.close()
		return record{}, job.Mistake{Err: err}
	}
	r.canon = r.web.Canon()
	r.pages, err = corpus.OpenPages(ctx, r.web, parse.New(parse.Options{Canon: r.canon}), corpus.PagesOptions{Progress: func(done, total int) { c.Progress(done, total, "parsing") }})
	if err != nil {
		r.close()
		return record{}, err
	}
	return r, nil
}

// targets finds what is wanted: addresses given, else the examples of the job,
// else those of the topic of the recorded web.
func (c *Collection) targets(j *job.Job, r record, canon web.Canon, note func(string)) (*topic.Topic, []web.URL, error) {
	t := &topic.Topic{Name: cmp.Or(c.Topic, j.Name, "topic"), Description: j.Topic.Description, Keywords: j.Topic.Keywords}
	var list []web.URL
	parse := func(what string, addresses []string) error {
		for _, s := range addresses {
			if what == "example" && !job.IsAddress(s) {
				note("example " + s + " is a file: nothing links to it, so it is no target")
				continue
			}
			u, err := canon.Parse(s)
			if err != nil {
				return fmt.Errorf("%s %s: %w", what, s, err)
			}
			list = append(list, u)
		}
		return nil
	}
	if err := parse("--target", c.Target); err != nil {
		return nil, nil, err
	}
	if len(list) == 0 && !c.Truth {
		if err := parse("example", j.Topic.Examples); err != nil {
			return nil, nil, err
		}
	}
	if r.web != nil && (c.Topic != "" || len(list) == 0 || c.Truth) {
		name := c.Topic
		if name == "" && len(r.web.Topics) == 1 {
			name = r.web.Topics[0].Name
		}
		if name == "" {
			var names []string
			for _, t := range r.web.Topics {
				names = append(names, t.Name)
			}
			return nil, nil, fmt.Errorf("which topic? name one with --topic: %s", strings.Join(names, ", "))
		}
		rt, err := r.web.Topic(name)
		if err != nil {
			return nil, nil, err
		}
		t.Name = rt.Name
		t.Description = cmp.Or(t.Description, rt.Description)
		if len(t.Keywords) == 0 {
			t.Keywords = rt.Keywords
		}
		switch {
		case c.Truth:
			truth, err := r.web.Truth(name)
			if err != nil {
				return nil, nil, err
			}
			// A draw, where there are more than a layer takes.
			for u := range maps.Keys(truth) {
				list = append(list, u)
			}
			slices.SortFunc(list, func(a, b web.URL) int { return cmp.Compare(a.String(), b.String()) })
			rand.New(rand.NewPCG(c.Seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		case len(list) == 0:
			list = rt.Examples
		}
	}
	if len(list) == 0 {
		return nil, nil, errors.New("no targets: give --target URL, a job file with example pages (-f), or a recorded web with a topic that has examples (--web, --topic)")
	}
	if len(t.Keywords) == 0 && t.Description == "" {
		note("the topic has neither keywords nor a description: models will not see which addresses hold a keyword")
	}
	return t, list, nil
}

// live makes the stacks that fetch pages and that ask an API. The second leaves
// robots.txt unread: what it forbids there is crawling, and the API is named by
// the user, for programs, and asked one question at a time.
func (c *Collection) live(ctx context.Context, j *job.Job, targets []web.URL) (pages, api *fetch.Stack, err error) {
	asked := slices.Clone(targets)
	if u, err := web.Parse(c.MediaWiki); err == nil {
		asked = append(asked, u)
	}
	if err := j.CheckLiveAt(asked); err != nil {
		return nil, nil, err
	}
	o, err := j.FetchOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if pages, err = fetch.New(o); err != nil {
		return nil, nil, job.Mistake{Err: err}
	}
	o.IgnoreRobots = true
	o.Types = []string{"application/json"}
	if api, err = fetch.New(o); err != nil {
		return nil, nil, errors.Join(err, pages.Close())
	}
	return pages, api, nil
}

// Report tells what was collected.
func (c *Collection) Report(out io.Writer, g *train.Graph) {
	fmt.Fprintf(out, "%s: %s, %s between them, for %s\n\n", c.Out, terminal.Count(len(g.Nodes), "page"), terminal.Count(len(g.Edges), "link"), event.Line(g.Topic.Name))
	inspect.Graph(out, g)
	f := g.Found
	if len(f.Lost) > 0 {
		fmt.Fprintf(out, "\nWithout these targets (%s):\n", terminal.Number(len(f.Lost)))
		for _, why := range f.Lost[:min(5, len(f.Lost))] {
			fmt.Fprintf(out, "  %s\n", terminal.Untrusted(why, 150))
		}
		if len(f.Lost) > 5 {
			fmt.Fprintln(out, "  …")
		}
	}
	if n := f.NoPage + f.NoLink + f.Refused; n > 0 {
		fmt.Fprintf(out, "\nPassed over: %s without a page, %s that do not link there, %s not to be kept.\n", terminal.Number(f.NoPage), terminal.Number(f.NoLink), terminal.Number(f.Refused))
	}
	if n := len(f.Cut); n > 0 {
		fmt.Fprintf(out, "\nOf %s pages not all in-links are known: the wiki's answers did not come to an end. %s names them:\n", terminal.Number(n), train.GraphPath(c.Out))
		for _, u := range f.Cut[:min(5, n)] {
			fmt.Fprintf(out, "  %s\n", terminal.Untrusted(u.String(), 150))
		}
		if n > 5 {
			fmt.Fprintln(out, "  …")
		}
	}
	for layer, n := range g.LayerSizes() {
		if n == 0 {
			fmt.Fprintf(out, "\nLayer %d is empty: everything that was found to lead to the targets is in the graph.\nModels of fewer states fit it: waggle train model --states %d.\n", layer, max(2, layer))
			break
		}
	}
	inspect.Doubt(out, g)
	fmt.Fprintf(out, "\nNext: waggle train sequences %s\n", c.Out)
}
