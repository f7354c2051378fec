package job

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Maker makes a crawl of a job, or some of its parts. Its life: fill in Job and
// what is given, call Crawl (or MakeJudge, MakeScorer …), use what was made,
// Close. A part that is given is taken as it is; of the others each is made once.
// What is wrong with the job is an *Error. Not for concurrent use.
type Maker struct {
	// Job is what the crawl is told. The Maker works on a copy of its own, in
	// which defaults are filled in, and leaves it here.
	Job *Job
	// Writer keeps the crawl in a folder. nil keeps nothing: then the frontier
	// is in memory.
	Writer *collection.Writer
	// Begun is the crawl that goes on: its example pages, model and critic are
	// those of its first run, and events of earlier runs are its History. nil
	// = a new crawl.
	Begun *collection.Collection
	// Own are the scorers and judges of the program: the job may name them.
	Own Strategies
	// AcceptLoss goes on with stores that hold less than was acknowledged.
	AcceptLoss bool
	// Known are example pages that need not be read or fetched, by what the job calls
	// them; those that are fetched are added, unless it is nil.
	Known map[string]collection.Example
	// Join, unless nil, makes the crawl that of one of several workers. It is called with
	// the frontier of the Writer once that is open, as collection.StoreOptions.Opened.
	Join func(ctx context.Context, f *frontier.Frontier, briefing Briefing) (Membership, error)
	// Agree, unless nil, refuses to join where others have another job. It is asked before anything is fetched,
	// with the settings that workers have in common and that are known then, and goesOn where the crawl does.
	Agree func(ctx context.Context, settings map[string]string, goesOn bool) error
	// MayAsk is fetch.Options.MayAsk, where Fetcher is not given.
	MayAsk func(ctx context.Context, h web.Host, page bool) error
	// Sharers is fetch.Options.Sharers, where Fetcher is not given.
	Sharers func(netip.Addr) int
	// Again are pages that earlier rounds of the collection know, for a round of it.
	Again crawl.Again
	// Before is the round before, for a new round of a collection: the judge begins with what
	// it knew there, if nothing that it goes by has changed.
	Before *collection.Collection
	// ArchiveFile is the size of a file of the archive after which the next one begins, in
	// bytes; 0 = store.DefaultMaxFile.
	ArchiveFile int64
	// Archived and News are those of the crawl.
	Archived func(mark []byte)
	News     <-chan event.Event
	// Note is told what the user should know; nil tells nobody.
	Note func(string)
	// OnPage tells that the user has the page of waggle open before them: a note names its
	// screens and no flags.
	OnPage bool

	// The parts.

	Clock    crawl.Clock     // nil = the machine's
	Analyzer *parse.Analyzer // of parser, judge and scorer; nil = a new one
	Fetcher  crawl.Fetcher
	// Renderer gives pages to a browser; nil = the job's, where Fetcher is not given either.
	Renderer crawl.Renderer
	// Between is fetch.Options.Between, where Fetcher is not given.
	Between func(pages fetch.Fetcher) fetch.Fetcher
	Types   fetch.Types // of documents, where Fetcher is not given; nil = the job's
	Parser  crawl.Parser
	// Documents reads what is no HTML, where Parser is not given; nil = LocalDocuments.
	Documents parse.Documents
	Topic     *topic.Topic // nil = the job's, with its example pages
	Judge     crawl.Judge
	Model     *model.File     // of the scorer; nil = the job's
	Thesaurus score.Thesaurus // of the scorer; nil = the job's
	// Learn is score.Options.Learn.
	Learn  func(compute func())
	Scorer crawl.Scorer
	Seeds  []web.URL // nil = the job's
	// Frontier, Archive and Log are those of Writer, if there is one.
	Frontier crawl.Frontier
	Archive  crawl.Archive
	Log      crawl.Log

	// newParser makes a parser by the analyzer; nil where either was given.
	newParser func() crawl.Parser
	lost      map[string]error // example pages that could not be had
	first     *topic.Topic     // as it was written at first: keywords that come later change no language
	modelBy   *parse.Analyzer  // by which Model was read; nil = it was not
	bare      []web.URL        // seeds of the job without a scheme, for which https was taken
	joined    Membership
	copied    bool             // Job is a copy
	filesRead bool             // readFiles has run
	critic    *judge.Critic    // the job's; nil = not read yet
	within    map[web.URL]bool // crawl.Scope.Within
	cookies   *cookies.Jar     // the job's
	sites     crawl.Sites      // nil where Fetcher is given
	// Where the crawl is judged anew:
	rejudging   bool
	newExamples []collection.Example
	criticFile  []byte // of the new judge; nil = that of the folder
	closers     []func() error
}

// Briefing is what a worker that joins others is told of the crawl.
type Briefing struct {
	// Settings are those that all workers must have in common, by path.
	Settings map[string]string
	Seeds    []web.URL
	Delay    time.Duration // between two requests to a host
	// Events are those of the folder's log between two marks.
	Events func(from, to []byte) iter.Seq2[event.Event, error]
	Acts   crawl.Acts         // what people tell this folder, for all workers
	Taken  func() []event.Act // that the folder's log has, in their order
}

// Membership is the place of a worker among others.
type Membership struct {
	Peers    crawl.Peers
	Frontier crawl.Frontier // in place of that which Join was given
	Acts     crawl.Acts     // what people told the crawl, whichever worker they told
}

// Close closes what was made; what was given is its owner's.
func (m *Maker) Close() error {
	var errs []error
	for _, c := range slices.Backward(m.closers) {
		errs = append(errs, c())
	}
	m.closers = nil
	return errors.Join(errs...)
}

// begin checks the job and makes a copy of it with the defaults.
func (m *Maker) begin() error {
	if m.copied {
		return nil
	}
	if err := m.Own.Check(); err != nil {
		return err
	}
	own := *m.Job
	own.strategies = m.Own
	if err := own.Check(); err != nil {
		return err
	}
	var skip []string // what a given part is called is for it to say
	if m.Judge != nil {
		skip = append(skip, "judge.name")
	}
	if m.Scorer != nil {
		skip = append(skip, "scorer.name")
	}
	if m.Begun != nil && own.Scope.MaxQueue == 0 && event.ReadHistory(m.Begun.EventLog()).Settings["scope.max-queue"] == "" {
		skip = append(skip, "scope.max-queue") // a folder of a version that had no bound may hold more
	}
	own.setDefaults(skip...)
	m.Job, m.copied = &own, true
	m.first = own.written()
	m.takeKeywords()
	if m.Note == nil {
		m.Note = func(string) {}
	}
	if m.Parser == nil {
		_, nesting := own.scorer().Uses(score.InputNesting, own.Scorer.Set)
		if m.Documents == nil {
			var done func() error
			m.Documents, done = LocalDocuments()
			m.closers = append(m.closers, done)
		}
		own := m.Analyzer == nil
		m.newParser = func() crawl.Parser {
			return parse.New(parse.Options{Analyzer: m.words(), Canon: m.Job.Canon(), Nesting: nesting, Documents: m.Documents, Sources: m.Job.Sources()})
		}
		m.Parser = m.newParser()
		if !own { // it is not for this Maker to say which languages it has
			m.newParser = nil
		}
	}
	return nil
}

// words is the analyzer of parser, judge and scorer.
func (m *Maker) words() *parse.Analyzer {
	if m.Analyzer == nil {
		m.Analyzer = parse.NewAnalyzer(m.languages()...)
	}
	return m.Analyzer
}

// speak makes parser and analyzer anew if the topic has other languages than they, and
// tells whether it does.
func (m *Maker) speak(languages []string) bool {
	if m.newParser == nil || slices.Equal(languages, m.Analyzer.Languages()) {
		return false
	}
	m.Analyzer = parse.NewAnalyzer(languages...)
	m.Parser = m.newParser()
	return true
}

// readModelAgain reads the model that was read before the languages of the topic were
// known.
func (m *Maker) readModelAgain() (err error) {
	if m.modelBy == nil || m.modelBy == m.Analyzer {
		return nil
	}
	if m.Model, err = m.readModel(); err != nil {
		return &Error{"scorer.model", err}
	}
	return nil
}

// MakeFetcher makes what fetches: from the live web, or through the job's proxy.
func (m *Maker) MakeFetcher(ctx context.Context) error {
	if err := m.begin(); err != nil || m.Fetcher != nil {
		return err
	}
	asked := *m.Job
	for _, u := range m.Seeds {
		asked.Seeds = append(slices.Clip(asked.Seeds), u.String())
	}
	if err := asked.CheckLive(); err != nil {
		return err
	}
	o, err := m.Job.fetchOptions(ctx, m.Note)
	if err != nil {
		return err
	}
	o.Clock, o.Note, o.Memory, o.Between, o.MayAsk = m.Clock, m.Note, int64(m.Job.Fetch.Memory), m.Between, m.MayAsk
	o.Sharers = m.Sharers
	if m.Types != nil {
		o.Types = m.Types
	}
	o.Patience = patience(o.Delay)
	if m.cookies, err = m.makeCookies(); err != nil {
		return err
	}
	o.Cookies = m.cookies
	o.Reservations = !m.Job.Politeness.IgnoreTDMRep
	if m.Writer != nil {
		o.RobotsFile, o.ReservationsFile = m.Writer.RobotsFile(), m.Writer.ReservationsFile()
	}
	stack, err := fetch.New(o)
	if err != nil {
		return err
	}
	m.Fetcher, m.sites, m.closers = stack, stack, append(m.closers, stack.Close)
	return nil
}

// Crawl makes the crawl, of which Listen may then be set. With a Writer it keeps
// the job, opens the stores, and takes History from what the folder tells of
// earlier runs. An error of a store is a *collection.OpenError.
func (m *Maker) Crawl(ctx context.Context) (*crawl.Crawl, error) {
	if m.Writer != nil && (m.Frontier != nil || m.Archive != nil || m.Log != nil) {
		return nil, errors.New("job: a Writer has a frontier, an archive and a log of its own: give it, or them")
	}
	if err := m.begin(); err != nil {
		return nil, err
	}
	if err := m.checkChanges(); err != nil {
		return nil, err
	}
	if err := m.readFiles(); err != nil {
		return nil, err
	}
	if m.Agree != nil {
		if err := m.Agree(ctx, m.Job.sharedSoFar(), m.Begun != nil); err != nil {
			return nil, err
		}
	}
	if err := m.MakeFetcher(ctx); err != nil {
		return nil, err
	}
	if err := m.MakeScorer(ctx); err != nil {
		return nil, err
	}
	if err := m.makeSeeds(); err != nil {
		return nil, err
	}
	if err := m.makeRenderer(ctx); err != nil {
		return nil, err
	}
	c := m.plainCrawl()
	c.Policy.Scope.Within = m.within
	if m.Begun != nil {
		c.History = m.Begun.Events()
	}
	if err := m.makeStores(ctx, c); err != nil {
		return nil, err
	}
	c.Frontier, c.Archive, c.Log, c.Peers = m.Frontier, m.Archive, m.Log, m.joined.Peers
	return c, m.steer(c)
}

// steer lets people tell a crawl that is kept what to do; see collection.Act.
func (m *Maker) steer(c *crawl.Crawl) error {
	if m.Writer == nil {
		return nil
	}
	for e, err := range event.ReadKinds(m.Writer.EventLog(), event.Act{}.Kind()) {
		if a, ok := e.(event.Act); ok && err == nil {
			c.Told = append(c.Told, a)
		}
	}
	if c.Acts = m.joined.Acts; c.Acts == nil {
		var err error
		if c.Acts, err = m.Writer.Acts(c.Told); err != nil {
			return err
		}
	}
	c.Active = func(a web.Activity) { _ = m.Writer.SaveActivity(a) } // who cannot watch it loses nothing of it
	c.Look = m.Writer.Look(m.Parser)
	c.Revised, c.Reword, c.Stored = m.revise, m.reword, m.stored
	c.Keywords = m.Job.Topic.Keywords
	return nil
}

// revise keeps the budget and the delay that a person gave the running crawl, and has the
// fetcher wait so long. The error is that of a delay which the crawl may not have.
func (m *Maker) revise(pages int, delay time.Duration) error {
	then := *m.Job
	then.Budget.Pages, then.Politeness.Delay = pages, (*Duration)(&delay)
	if err := then.CheckLiveAt(m.Seeds); err != nil {
		return err
	}
	*m.Job = then
	if err := m.saveJob(); err != nil {
		return err
	}
	if s, ok := m.Fetcher.(*fetch.Stack); ok {
		s.SetDelay(delay, patience(delay))
	}
	return nil
}

// patience is how long a request may have to wait for its turn before its worker is left to
// others: two turns, that of robots.txt and one more.
func patience(delay time.Duration) time.Duration { return 2 * max(delay, fetch.MinDelay) }

// plainCrawl is a crawl of what was made, without stores.
func (m *Maker) plainCrawl() *crawl.Crawl {
	j := m.Job
	c := &crawl.Crawl{
		Seeds: m.Seeds, Bare: m.bare, Fetcher: m.Fetcher, Sites: m.sites, Renderer: m.Renderer, Parser: m.Parser, Judge: m.Judge, Scorer: m.Scorer, Policy: j.policy(),
		Name: j.Name, JudgeName: j.Judge.Name, ScorerName: j.Scorer.Name, Workers: j.Fetch.Workers, Clock: m.Clock, Again: m.Again,
		Archived: m.Archived, News: m.News,
	}
	if named, ok := m.Judge.(interface{ Name() string }); ok {
		c.JudgeName = named.Name()
	}
	if named, ok := m.Scorer.(interface{ Name() string }); ok {
		c.ScorerName = named.Name()
	}
	if bounded, ok := m.Judge.(interface{ Threshold() float64 }); ok {
		c.Threshold = bounded.Threshold()
		j.Judge.Threshold = &c.Threshold
	}
	return c
}

// makeSeeds reads the addresses to start from.
func (m *Maker) makeSeeds() error {
	if m.Seeds == nil {
		for i, s := range m.Job.Seeds {
			full := web.WithScheme(s)
			u, err := m.Job.Canon().Parse(full)
			if err != nil {
				return &Error{fmt.Sprintf("seeds.%d", i), err}
			}
			if full != s && u.Scheme() == "https" {
				m.bare = append(m.bare, u)
			}
			m.Seeds = append(m.Seeds, u)
		}
	}
	if len(m.Seeds) == 0 {
		return &Error{"seeds", errors.New("nowhere to start from: give an address")}
	}
	return nil
}

// makeStores keeps the job and opens the stores of the Writer, or makes a
// frontier in memory. The job of a crawl that goes on is kept once it is known
// that it can go on with it.
func (m *Maker) makeStores(ctx context.Context, c *crawl.Crawl) error {
	if m.Writer == nil {
		if m.Frontier == nil {
			front := frontier.NewMemory(m.frontierOptions())
			m.Frontier, m.closers = front, append(m.closers, front.Close)
		}
		return nil
	}
	c.Scratch = m.Writer.Scratch
	if m.Begun == nil {
		c.Settings = m.Job.texts()
		if err := m.saveJob(); err != nil {
			return err
		}
	}
	if err := m.openStores(ctx); err != nil {
		return err
	}
	if m.Begun == nil {
		return nil
	}
	if err := m.change(ctx, c); err != nil {
		return err
	}
	return m.saveJob()
}

// openStores opens the stores of the Writer.
func (m *Maker) openStores(ctx context.Context) error {
	archive := m.Job.ArchiveOptions()
	archive.MaxFile = m.ArchiveFile
	stores, err := m.Writer.OpenStores(ctx, collection.StoreOptions{
		Frontier: m.frontierOptions(),
		Archive:  archive,
		Opened:   m.opened(), AcceptLoss: m.AcceptLoss, Replaced: m.replaced(), Parser: m.Parser, Note: m.Note,
	})
	if err != nil {
		return err
	}
	m.Frontier, m.Archive, m.Log = stores.Frontier, stores.Archive, stores.Log
	if m.joined.Frontier != nil {
		m.Frontier = m.joined.Frontier
	}
	m.closers = append(m.closers, stores.Close)
	return nil
}

// opened lets the crawl join others, or refuses a folder of such a crawl.
func (m *Maker) opened() func(context.Context, *frontier.Frontier) error {
	if m.Join == nil {
		return func(ctx context.Context, f *frontier.Frontier) error {
			if b, err := f.State(ctx, crawl.StateCluster); err != nil || b == nil {
				return err
			}
			return Mistake{fmt.Errorf("the crawl in %s is that of one of several workers, and others may have its sites: go on with --join (waggle crawl -o %[1]s --resume --join ENGINE), or make one crawl of the folders of all workers (waggle cluster merge) and go on with that", m.Writer.Dir())}
		}
	}
	return func(ctx context.Context, f *frontier.Frontier) (err error) {
		m.joined, err = m.Join(ctx, f, Briefing{Settings: m.Job.shared(), Seeds: m.Seeds, Delay: m.Job.delay(), Events: m.Writer.EventsBetween, Acts: m.Writer.ActsForAll(), Taken: m.Writer.Logged})
		if err != nil {
			return err
		}
		return m.Writer.BeOfSeveral()
	}
}

// shared are the settings that workers of one crawl have in common: all but those of their
// machines.
func (j *Job) shared() map[string]string {
	out := j.texts()
	for _, path := range []string{"fetch.workers", "fetch.memory", "fetch.timeout", "fetch.through"} {
		delete(out, path)
	}
	return out
}

// sharedSoFar are those of them that are given: making the crawl changes none of these, and fills in others.
func (j *Job) sharedSoFar() map[string]string {
	out := j.shared()
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" || value == "[]" || value == "null" })
	return out
}

func (m *Maker) frontierOptions() frontier.Options {
	_, shortest := m.Job.scorer().Uses(score.InputShortest, m.Job.Scorer.Set)
	return frontier.Options{MaxPerHost: m.Job.Scope.MaxHostQueue, Max: m.Job.Scope.MaxQueue, Shortest: shortest}
}

// saveJob keeps the job with every value in force.
func (m *Maker) saveJob() error {
	b, err := m.jobFile()
	if err != nil {
		return err
	}
	return m.Writer.SaveJob(b)
}

// jobFile is the job file with every value in force.
func (m *Maker) jobFile() ([]byte, error) {
	b, err := m.Job.YAML()
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, &Error{"seeds", fmt.Errorf("the job is larger than %d MiB with its %s seeds: give fewer", maxFile>>20, number(float64(len(m.Job.Seeds))))}
	}
	return collection.JobText(b), nil
}

// ArchiveOptions are those of the archive of a crawl with this job.
func (j *Job) ArchiveOptions() store.Options {
	return store.Options{Prefix: store.PrefixOf(j.Name), Software: "waggle/" + Version, Operator: j.Contact, Job: j.Name, Robots: "obey"}
}

// policy is what the job allows. The patterns were checked.
func (j *Job) policy() crawl.Policy {
	p := crawl.Policy{
		Pages: j.Budget.Pages, Time: time.Duration(j.Budget.Time), UntilGain: j.Budget.UntilGain, MaxDepth: j.maxDepth(),
		MaxHostPages: j.Scope.MaxHostPages, Delay: j.delay(), HonourNoFollow: j.Politeness.ObeyNoFollow,
		GiveUp: time.Duration(j.Politeness.GiveUp), Timeout: time.Duration(j.Fetch.Timeout), Proxied: j.Fetch.Through != "",
		Scope: crawl.Scope{Reach: crawl.Reach(j.Scope.Reach)}, WaitForBetter: j.waitForBetter(), Render: crawl.Render(j.Fetch.Render),
	}
	j.withDocuments(&p)
	for _, x := range j.Scope.Include {
		p.Scope.Include = append(p.Scope.Include, regexp.MustCompile(x))
	}
	for _, x := range j.Scope.Exclude {
		p.Scope.Exclude = append(p.Scope.Exclude, regexp.MustCompile(x))
	}
	return p
}

// maxDepth is as crawl.Policy has it.
func (j *Job) maxDepth() int {
	switch d := j.Scope.MaxDepth; {
	case d == nil:
		return 0
	case *d == 0:
		return -1
	default:
		return *d
	}
}

// Canon are the job's rules for addresses.
func (j *Job) Canon() web.Canon {
	return web.Canon{StripSessions: !j.Addresses.KeepSessions, StripTracking: !j.Addresses.KeepTracking}
}

// waitForBetter is the job's; one left out is 5 s. Where priorities tell nothing of what
// links promise it is 0.
func (j *Job) waitForBetter() time.Duration {
	switch d, ok := j.strategies.Scorer(j.Scorer.Name); {
	case ok && d.Unranked:
		return 0
	case j.Budget.WaitForBetter == nil:
		return 5 * time.Second
	}
	return time.Duration(*j.Budget.WaitForBetter)
}

// delay is the job's delay; one left out is a second.
func (j *Job) delay() time.Duration {
	if j.Politeness.Delay == nil {
		return time.Second
	}
	return time.Duration(*j.Politeness.Delay)
}
