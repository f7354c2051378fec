package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// trainCollectCmd is `waggle train collect`.
type trainCollectCmd struct {
	Out  string `short:"o" required:"" placeholder:"DIR" help:"Folder of the graph. A collection that was stopped goes on where it was."`
	File string `short:"f" placeholder:"JOB.yaml" help:"Job file: its topic and examples are the targets, and it says how to fetch."`

	Web   string `placeholder:"WEB" help:"A recorded web, or the folder of a finished crawl: pages, and in-links unless another provider is named, come from there."`
	Topic string `placeholder:"NAME" help:"Topic of the recorded web; its examples are the targets."`
	Truth bool   `help:"Take all relevant pages of that topic for targets: for experiments."`

	Target []string `sep:"none" placeholder:"URL" help:"A target; may be repeated."`

	MediaWiki string   `name:"mediawiki" placeholder:"API" help:"In-links: ask a wiki what links here, such as https://en.wikipedia.org/w/api.php."`
	Edges     []string `sep:"none" placeholder:"FILE" help:"In-links: a list of links, two addresses a line (.gz and .zst too); may be repeated."`
	CCNodes   []string `name:"cc-vertices" sep:"none" placeholder:"FILE" help:"In-links: vertices of a web graph of Common Crawl; may be repeated."`
	CCEdges   []string `name:"cc-edges" sep:"none" placeholder:"FILE" help:"The edges that go with them; may be repeated."`

	Hosts    []string `placeholder:"HOST,…" help:"Take pages of these hosts and of those below them only."`
	NotHosts []string `placeholder:"HOST,…" help:"Take none of these: they stay unseen for testing."`

	Layers     int     `default:"5" help:"Layers, targets included (default ${default})."`
	LayerNodes int     `default:"600" placeholder:"N" help:"Most pages a layer (default ${default})."`
	Fill       bool    `help:"Let pages that are in the graph already not count as in-links, so that layers fill up; the paper counts them."`
	Similar    float64 `default:"0.8" placeholder:"X" help:"Cosine from which a page counts as a target as well (default ${default}); 2 for none."`
	Seed       uint64  `help:"Of the draw among in-links."`
	AllPages   bool    `help:"On a record: take pages that ask not to be kept or followed."`

	jobFlags // of the topic and of fetching

	Force bool `help:"Begin anew although DIR holds a graph."`
}

// Help shows the ways to in-links.
func (trainCollectCmd) Help() string {
	return `The graph is built backwards: layer 0 is the targets, each further layer is
pages that link to the one before. Who links to a page is told by

  --web WEB                   the links of a recorded web or a finished crawl
  --mediawiki API             a wiki's own "what links here"
  --edges FILE                a list of links, however long: it is read through
                              once a layer, and only what touches it is kept
  --cc-vertices, --cc-edges   a web graph as Common Crawl publishes it

and the pages come from WEB or, without it, from the web: politely, by robots.txt.

  waggle train collect -o bees --web WEB --topic bees
  waggle train collect -o bees -f job.yaml --mediawiki https://en.wikipedia.org/w/api.php
  waggle train sequences bees
  waggle train model bees --kind crf -o bees.model
  waggle train inspect bees.model
  waggle crawl -f job.yaml -o found --scorer crf --model bees.model`
}

// collection of a training graph: what it was asked for, kept from the beginning
// in collect.json, so that going on with other settings is refused.
type collectSettings struct {
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

// Run collects.
func (c *trainCollectCmd) Run(ctx context.Context, io streams) (err error) {
	note := func(s string) { fmt.Fprintln(io.err, event.Line(s)) }
	if err := c.usable(); err != nil {
		return exit{exitUsage, err}
	}
	place := folder.Absent(c.Out)
	defer func() { removeUnusable(place, err) }()
	unlock, err := c.take()
	if err != nil {
		return err
	}
	defer unlock()
	if c.Force {
		if err := c.clear(); err != nil {
			return err
		}
	}
	meter := terminal.NewMeter(io.err)
	defer meter.End()
	j, err := c.job()
	if err != nil {
		return exit{exitUsage, err}
	}
	record, err := c.record(ctx, meter)
	if err != nil {
		return stoppedOr(ctx, err, "stopped; the same command begins again")
	}
	defer record.close()
	// Links are read by one set of rules throughout: those of the pages' source.
	canon := j.Canon()
	if record.web != nil {
		canon = record.canon
	}
	if err := c.hosts(record); err != nil {
		return exit{exitUsage, err}
	}
	t, targets, err := c.targets(j, record, canon, note)
	if err != nil {
		return exit{exitUsage, err}
	}
	settings := collectSettings{
		Targets: targets, Topic: t.Name, Inlinks: c.provider(), Pages: cmp.Or(c.Web, "the web"), Hosts: c.Hosts, NotHosts: c.NotHosts,
		Layers: c.Layers, Nodes: c.LayerNodes, Fill: c.Fill, Similar: c.Similar, Seed: c.Seed, Canon: canon,
	}
	var live, api *fetch.Stack
	if record.web == nil || c.MediaWiki != "" {
		if live, api, err = c.live(ctx, j, targets); err != nil {
			return err
		}
		defer live.Close()
		defer api.Close()
	}
	if err := c.begin(settings); err != nil {
		return exit{exitUsage, err}
	}
	keep := hostFilter(c.Hosts, c.NotHosts)
	o := train.CollectOptions{
		Layers: c.Layers, LayerNodes: c.LayerNodes, Fill: c.Fill, Similar: c.Similar, Seed: c.Seed, Keep: keep, Canon: canon,
		IgnoreDirectives: c.AllPages, Progress: meter.Show,
	}
	archive := store.Options{Prefix: "pages", Software: "waggle/" + version, Operator: j.Contact, Job: t.Name, Robots: "obey"}

	var source train.Source
	var inlinks train.Inlinks
	var stored func(web.URL) (*web.Response, error)
	if record.web != nil {
		meter.Show(0, 0, "reading the links of the record")
		b, err := train.NewBacklinks(ctx, record.web, record.pages, c.AllPages)
		if err != nil {
			return stoppedOr(ctx, err, "stopped; the same command begins again")
		}
		r := train.Record{Backlinks: b, Pages: record.pages, Seed: c.Seed, Keep: keep}
		source, inlinks, stored = r, r, record.web.Lookup
	}
	if live != nil {
		if c.MediaWiki != "" {
			u, err := web.Parse(c.MediaWiki)
			if err != nil {
				return exit{exitUsage, fmt.Errorf("--mediawiki: %w", err)}
			}
			wiki, err := train.NewMediaWiki(ctx, u, api, nil)
			if err != nil {
				return stoppedOr(ctx, err, goesOn)
			}
			asked := 0
			wiki.Asked = func(title string) {
				asked++
				meter.Show(asked, 0, "questions; what links to "+title)
			}
			inlinks = train.KeptAnswers{From: wiki, Path: train.InlinksPath(c.Out), Batch: 1}
		}
		if record.web == nil {
			pages, err := train.NewLive(live, parse.New(parse.Options{Canon: canon}), train.PagesPath(c.Out), archive)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, pages.Close()) }()
			source = pages
			o.Workers = cmp.Or(j.Fetch.Workers, 32)
		}
	}
	lines := func(n int) { meter.Show(n, 0, "lines read") }
	// Answers from files are not remembered: a file may be changed before the
	// collection goes on, and asking it again costs nobody anything.
	switch {
	case len(c.Edges) > 0:
		inlinks = train.EdgeList{Paths: c.Edges, Seed: c.Seed, Progress: lines}
	case len(c.CCNodes) > 0:
		inlinks = train.HostGraph{Vertices: c.CCNodes, Edges: c.CCEdges, Seed: c.Seed, Progress: lines}
	}
	g, err := train.Collect(ctx, t, targets, inlinks, source, o)
	if err != nil {
		if errors.Is(err, train.ErrNoTargets) && record.web != nil {
			err = fmt.Errorf("%w\nwaggle web info %s tells the topics of the record", err, c.Web)
		}
		return stoppedOr(ctx, err, goesOn)
	}
	if stored != nil {
		meter.Show(0, 0, "keeping the pages")
	}
	if err := train.Save(c.Out, g, archive, stored); err != nil {
		return err
	}
	meter.End()
	c.report(io, g)
	return nil
}

const goesOn = "stopped; the same command goes on where it was"

// report tells what was collected.
func (c *trainCollectCmd) report(io streams, g *train.Graph) {
	out := io.out
	fmt.Fprintf(out, "%s: %s pages, %s links between them, for %s\n\n", c.Out, terminal.Number(len(g.Nodes)), terminal.Number(len(g.Edges)), event.Line(g.Topic.Name))
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
	doubt(out, g)
	fmt.Fprintf(out, "\nNext: waggle train sequences %s\n", c.Out)
}

// provider names where in-links come from.
func (c *trainCollectCmd) provider() string {
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

// usable checks what flags must agree on.
func (c *trainCollectCmd) usable() error {
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
	// What is not given has a default; so a 0 was meant.
	case c.Layers == 0 || c.LayerNodes == 0:
		return fmt.Errorf("%d layers of %d pages: from 2 layers (targets and their in-links) of 1 page", c.Layers, c.LayerNodes)
	case c.Similar == 0:
		return errors.New("--similar 0 makes every page a target: above 0, or 2 for none")
	}
	if err := (train.CollectOptions{Layers: c.Layers, LayerNodes: c.LayerNodes, Similar: c.Similar}).Check(); err != nil {
		return err
	}
	if c.MediaWiki != "" {
		if _, err := web.Parse(c.MediaWiki); err != nil {
			return fmt.Errorf("--mediawiki: %w", err)
		}
	}
	for _, name := range slices.Concat(c.Edges, c.CCNodes, c.CCEdges) {
		if !folder.Exists(name) {
			return fmt.Errorf("file of links: there is no %s", name)
		}
	}
	if c.Force {
		return nil
	}
	if folder.Exists(train.GraphPath(c.Out)) {
		return fmt.Errorf("%s holds a collected graph: go on with waggle train sequences %[1]s, or collect anew with --force", c.Out)
	}
	entries, err := os.ReadDir(c.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 && !folder.Exists(filepath.Join(c.Out, "lock")) {
		return fmt.Errorf("%s holds other files (%s): choose a new folder", c.Out, entries[0].Name())
	}
	return nil
}

// take makes the folder and keeps others out of it.
func (c *trainCollectCmd) take() (unlock func(), err error) {
	lock, err := takeResults(c.Out)
	if err != nil {
		return nil, err
	}
	return func() { lock.Close() }, nil
}

func (c *trainCollectCmd) settingsPath() string { return filepath.Join(c.Out, "collect.json") }

// clear removes a graph, and nothing else, from the folder.
func (c *trainCollectCmd) clear() error {
	var errs []error
	for _, name := range []string{train.GraphPath(c.Out), train.PagesPath(c.Out), train.InlinksPath(c.Out), train.SequencesPath(c.Out), c.settingsPath()} {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}

// begin keeps the settings, or checks that those of a collection that goes on,
// with what was fetched or answered, are the same.
func (c *trainCollectCmd) begin(s collectSettings) error {
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

// job is the job file with the flags' values, or one made of the flags.
func (c *trainCollectCmd) job() (*job.Job, error) {
	j, err := readJob(c.File)
	if err != nil {
		return nil, err
	}
	return j, c.apply(j)
}

// recorded is a recorded web with its parsed pages; its zero value is none.
type recorded struct {
	web   *corpus.Web
	pages *corpus.Pages
	canon web.Canon // by which links of its pages are read
	made  string    // a folder to be removed
}

func (r recorded) close() {
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
func (c *trainCollectCmd) record(ctx context.Context, meter *terminal.Meter) (r recorded, err error) {
	if c.Web == "" {
		return r, nil
	}
	dir := c.Web
	if collection.At(dir).Begun() {
		r.made = filepath.Join(c.Out, "record")
		dir = r.made
		_, err := corpus.Build(ctx, dir, corpus.Crawl{Dir: c.Web}, corpus.Options{Force: folder.Exists(dir), Progress: meter.Show})
		if err != nil {
			r.close()
			return recorded{}, err
		}
	}
	if r.web, err = corpus.Open(dir); err != nil {
		r.close()
		return recorded{}, exit{exitUsage, err}
	}
	r.canon = r.web.Canon()
	r.pages, err = corpus.OpenPages(ctx, r.web, parse.New(parse.Options{Canon: r.canon}), corpus.PagesOptions{Progress: func(done, total int) { meter.Show(done, total, "parsing") }})
	if err != nil {
		r.close()
		return recorded{}, err
	}
	return r, nil
}

// targets finds what is wanted: addresses given, else the examples of the job,
// else those of the topic of the recorded web.
func (c *trainCollectCmd) targets(j *job.Job, r recorded, canon web.Canon, note func(string)) (*topic.Topic, []web.URL, error) {
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
func (c *trainCollectCmd) live(ctx context.Context, j *job.Job, targets []web.URL) (pages, api *fetch.Stack, err error) {
	asked := slices.Clone(targets)
	if u, err := web.Parse(c.MediaWiki); err == nil {
		asked = append(asked, u)
	}
	if err := j.CheckLiveAt(asked); err != nil {
		return nil, nil, exit{exitUsage, placed(err)}
	}
	o, err := j.FetchOptions(ctx)
	if err != nil {
		return nil, nil, wrongJob(err)
	}
	if pages, err = fetch.New(o); err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	o.IgnoreRobots = true
	o.Types = []string{"application/json"}
	if api, err = fetch.New(o); err != nil {
		return nil, nil, errors.Join(err, pages.Close())
	}
	return pages, api, nil
}

// hosts brings the names of hosts into the form that hostFilter asks for. Of a
// record each must name a page: a slip of the pen in --not-hosts would train on
// what is to stay unseen.
func (c *trainCollectCmd) hosts(r recorded) error {
	for _, x := range []struct {
		flag string
		list []string
	}{{"--hosts", c.Hosts}, {"--not-hosts", c.NotHosts}} {
		for i, s := range x.list {
			h, err := hostName(s)
			if err != nil {
				return fmt.Errorf("%s %s: %w", x.flag, s, err)
			}
			x.list[i] = h
			if r.web == nil {
				continue
			}
			named := false
			of := hostFilter([]string{h}, nil)
			for u := range r.web.URLs() {
				if named = of(u); named {
					break
				}
			}
			if !named {
				return fmt.Errorf("%s %s: no page of %s is on that host or below it", x.flag, s, c.Web)
			}
		}
	}
	return nil
}

// hostName is the name of a host, with its port if it is given one, as
// addresses bear it: people also write https://a.example/, *.a.example,
// .a.example and a.example. for a.example.
func hostName(s string) (string, error) {
	given := strings.TrimSpace(s)
	if !strings.Contains(given, "://") {
		given = "http://" + strings.TrimPrefix(strings.TrimPrefix(given, "*"), ".")
	}
	u, err := web.Parse(given)
	if err != nil || strings.ContainsAny(u.Host().Name(), "*, ") {
		return "", errors.New("that is no host: write it as a.example")
	}
	if u.String() != u.Origin()+"/" {
		return "", errors.New("that is an address: only whole hosts can be named")
	}
	return strings.TrimSuffix(string(u.Host()), "."), nil
}

// hostFilter tells which addresses are of some hosts, or below them, and of none
// of others; nil when all are.
func hostFilter(hosts, not []string) func(web.URL) bool {
	if len(hosts) == 0 && len(not) == 0 {
		return nil
	}
	of := func(list []string, u web.URL) bool {
		h := u.Host()
		return slices.ContainsFunc(list, func(s string) bool {
			s = strings.ToLower(strings.TrimSpace(s))
			return s == string(h) || s == h.Name() || s != "" && strings.HasSuffix(h.Name(), "."+s)
		})
	}
	return func(u web.URL) bool {
		return (len(hosts) == 0 || of(hosts, u)) && !of(not, u)
	}
}
