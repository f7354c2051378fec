package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/view"
	"github.com/waggle-crawler/waggle/job"
)

// engineFlags say where the engine of a crawl of several workers is.
type engineFlags struct {
	Join            string `placeholder:"ENGINE" env:"WAGGLE_JOIN" help:"Crawl together with other workers by an engine: the one at this address, nats://HOST:4222 or tls://…, or one in this folder, which the first worker serves to the others on this machine."`
	JoinCredentials string `placeholder:"FILE" help:"With --join: file of a NATS user (.creds). A password can stand in the address, tls://USER:PASSWORD@HOST:4222, best given by the variable WAGGLE_JOIN."`
	JoinCA          string `name:"join-ca" placeholder:"FILE" help:"With --join: certificates by which the engine is known (PEM); default: those of the machine."`
	JoinCert        string `placeholder:"FILE" help:"With --join: certificate by which the engine knows this worker."`
	JoinKey         string `placeholder:"FILE" help:"With --join: key of that certificate."`
}

// joinFlags are those of a worker.
type joinFlags struct {
	engineFlags
	WorkersMin int           `name:"workers-min" placeholder:"N" help:"With --join: wait until so many workers are there."`
	WorkerName string        `placeholder:"NAME" help:"With --join: what others call this worker (default: machine and folder)."`
	Shards     int           `placeholder:"N" help:"With --join, of a crawl that begins: into how many parts its hosts are divided; at least four times as many as there will ever be workers (default: 256)."`
	Term       time.Duration `placeholder:"D" help:"With --join, of a crawl that begins: how long nothing is heard of a worker before others take over its hosts (default: 15s)."`
}

func (c *joinFlags) check(resumesWithLoss bool) error {
	switch {
	case c.Join == "" && (c.WorkersMin != 0 || c.WorkerName != "" || c.Shards != 0 || c.Term != 0 || c.JoinCredentials != "" || c.JoinCA != "" || c.JoinCert != "" || c.JoinKey != ""):
		return errors.New("--workers-min, --worker-name, --shards, --term and --join-… are for crawls of several workers: give --join, too")
	case c.Join != "" && resumesWithLoss:
		return errors.New("--accept-loss: repair the folder by waggle repair first, then join")
	case c.WorkersMin < 0 || c.Shards < 0:
		return errors.New("--workers-min and --shards are numbers of 1 or more")
	case c.Term != 0 && (c.Term < time.Second || c.Term > time.Hour):
		return errors.New("--term: 1s to 1h")
	case (c.JoinCert == "") != (c.JoinKey == ""):
		return errors.New("--join-cert and --join-key belong together")
	}
	return c.checkEngine()
}

// isAddress tells an address of an engine from a folder.
func (c *engineFlags) isAddress() bool { return strings.Contains(c.Join, "://") }

// checkEngine tells whether --join can be what it is to be.
func (c *engineFlags) checkEngine() error {
	if c.isAddress() {
		if err := jetstream.CheckURL(c.Join); err != nil {
			return fmt.Errorf("--join: %w", err)
		}
		return nil
	}
	at := c.Join[strings.LastIndexByte(c.Join, '@')+1:] // without a password
	for _, scheme := range []string{"nats:", "tls:", "ws:", "wss:"} {
		if strings.HasPrefix(c.Join, scheme) {
			return fmt.Errorf("--join: the address of an engine is %s//HOST:4222", scheme)
		}
	}
	if host, port, err := net.SplitHostPort(at); err == nil && host != "" && !folder.Exists(c.Join) {
		if _, err := strconv.Atoi(port); err == nil {
			return fmt.Errorf("--join: %s would be a folder; the address of an engine is nats://%[1]s or tls://%[1]s", at)
		}
	}
	if at != c.Join && !folder.Exists(c.Join) { // what is before the @ may be a password
		return fmt.Errorf("--join: there is no folder that ends in %q; the address of an engine is nats://USER:PASSWORD@HOST:4222 or tls://USER:PASSWORD@HOST:4222, and a folder with an @ in its name is to be made before", "@"+at)
	}
	if c.Join != "" {
		if err := checkEngineDir(c.Join); err != nil {
			return fmt.Errorf("--join: %w", err)
		}
	}
	return nil
}

// checkEngineDir tells whether a folder may be that of an engine: it holds one, or nothing, or is not
// there yet. The error says what it holds otherwise.
func checkEngineDir(dir string) error {
	if err := folder.MayBe(dir); err != nil {
		return fmt.Errorf("the folder of the engine: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the folder of the engine: %w", err)
	}
	if jetstream.Stored(dir) {
		return nil
	}
	const remedy = "name a folder for the engine alone, new or empty, or that of an engine"
	if folder.Exists(collection.At(dir).EventLog()) {
		return fmt.Errorf("%s holds a crawl, and no engine: %s", dir, remedy)
	}
	for _, e := range entries {
		// What an engine leaves that ended before it stored anything, and what a volume has that is empty.
		known := slices.Contains([]string{"lock", "token", "address", "lost+found"}, e.Name())
		if !known && !(e.Name() == "store" && jetstream.Starting(dir)) {
			return fmt.Errorf("%s holds other files (%s), and no engine: %s", dir, e.Name(), remedy)
		}
	}
	return nil
}

// openedEngine is an engine that this process is connected to.
type openedEngine struct {
	*jetstream.Engine
	serves  bool // this process serves it
	found   *foundEngine
	serving func() error
}

// Close ends the connection, and the engine where this process serves it.
func (e *openedEngine) Close() error { return errors.Join(e.Engine.Close(), e.serving()) }

// openEngine connects to the engine; it waits for one that does not answer. The engine of a folder is looked for
// anew where the process that served it has ended meanwhile.
// Where the crawl is to be an existing one, nothing is made for it; "" is the only one there.
func (c *engineFlags) openEngine(ctx context.Context, crawl, name string, existing bool, note func(string)) (*openedEngine, error) {
	late := time.AfterFunc(worker.LateAfter, func() { note("waits for the engine to answer") })
	defer late.Stop()
	for {
		e, err := c.tryEngine(ctx, crawl, name, existing, note)
		if !errors.Is(err, errNotServed) || ctx.Err() != nil {
			return e, err
		}
		note(fmt.Sprintf("%v; looks for it again", err))
	}
}

// tryEngine is openEngine with the engine that is there: the error wraps errNotServed once another one is.
func (c *engineFlags) tryEngine(ctx context.Context, crawl, name string, existing bool, note func(string)) (e *openedEngine, err error) {
	o := jetstream.Options{URL: c.Join, Crawl: crawl, Worker: name, Credentials: c.JoinCredentials, CA: c.JoinCA, Cert: c.JoinCert, Key: c.JoinKey, Existing: existing}
	e = &openedEngine{serving: func() error { return nil }}
	opening, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if !c.isAddress() {
		if existing && !folder.Exists(filepath.Join(c.Join, "store")) && !folder.Held(c.Join) {
			return nil, fmt.Errorf("--join: %s holds no engine, and the crawl of this folder was begun by one: %w", c.Join, jetstream.ErrNoCrawl)
		}
		if o.Server, e.found, e.serving, err = serveOrFind(ctx, c.Join, note); err != nil {
			return nil, err
		}
		if e.serves = o.Server != nil; !e.serves {
			o.URL = e.found.url
			go e.found.watch(opening, stop)
		}
	}
	if existing && crawl == "" {
		o.Crawl, err = onlyCrawl(opening, o)
	}
	if err == nil {
		e.Engine, err = jetstream.Open(opening, o)
	}
	if err != nil {
		if gone := context.Cause(opening); errors.Is(gone, errNotServed) {
			err = gone
		}
		return nil, errors.Join(err, e.serving())
	}
	return e, nil
}

// onlyCrawl is the name of the only crawl of an engine.
func onlyCrawl(ctx context.Context, o jetstream.Options) (string, error) {
	names, err := jetstream.Crawls(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("the engine does not tell in time which crawls it has: %w", err)
	case err != nil:
		return "", fmt.Errorf("the engine does not tell which crawls it has, as to the user of a worker: give the name of the crawl, as in its job file: %w", err)
	case len(names) == 0:
		return "", jetstream.ErrNoCrawl
	case len(names) > 1:
		return "", fmt.Errorf("the engine has %d crawls: give the name of one, %s", len(names), strings.Join(names, " or "))
	}
	return names[0], nil
}

// foundEngine is an engine that another process serves from a folder.
type foundEngine struct{ dir, url string }

// errNotServed is wrapped by what tells that an engine that was found is served no longer.
var errNotServed = errors.New("the process that served the engine has ended")

// watch calls gone once the engine is served no longer, or at another address; it returns then, or when ctx ends.
func (f *foundEngine) watch(ctx context.Context, gone func(error)) {
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if told, err := addressIn(f.dir); !folder.Held(f.dir) || err == nil && told != f.url {
			gone(fmt.Errorf("%s: %w", f.dir, errNotServed))
			return
		}
	}
}

// byUsers stands before the address of an engine that has a configuration.
const byUsers = "users "

// addressIn is the address in the folder of an engine, "" where none stands there.
func addressIn(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "address"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasSuffix(string(b), "\n") { // it is being written
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// serveFrom serves an engine from a folder whose lock this process has, and keeps its address there for those who join by
// the folder. end ends it.
func serveFrom(o jetstream.ServerOptions) (s *jetstream.Server, end func() error, err error) {
	place := filepath.Join(o.Dir, "address")
	// A process that was killed left its own.
	if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if s, err = jetstream.Serve(o); err != nil {
		return nil, nil, err
	}
	told := s.URL() + "\n"
	if o.Config != "" {
		told = byUsers + told
	}
	if err := os.WriteFile(place, []byte(told), 0o600); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, func() error { return errors.Join(os.Remove(place), s.Close()) }, nil
}

// serveOrFind serves an engine from a folder, or finds that which another process serves
// from it.
func serveOrFind(ctx context.Context, dir string, note func(string)) (*jetstream.Server, *foundEngine, func() error, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("the folder of the engine: %w", err)
	}
	for {
		lock, err := folder.Lock(dir)
		if err == nil {
			s, end, err := serveFrom(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
			if err != nil {
				return nil, nil, nil, errors.Join(err, lock.Close())
			}
			note("this process serves the engine in " + dir + " to the workers of this machine")
			watching, stop := context.WithCancel(context.WithoutCancel(ctx))
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				if err := s.Wait(watching); err != nil {
					note(err.Error())
				}
			}()
			return s, nil, func() error {
				stop()
				<-watched
				return errors.Join(end(), lock.Close())
			}, nil
		}
		if !errors.Is(err, folder.ErrLocked) {
			return nil, nil, nil, fmt.Errorf("the folder of the engine: %w", err)
		}
		told, err := addressIn(dir)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the folder of the engine: %w", err)
		}
		if at, is := strings.CutPrefix(told, byUsers); is {
			return nil, nil, nil, fmt.Errorf("--join: the engine in %s is served at %s, to the users of its configuration: give that address, with user and password", dir, at)
		}
		if told != "" {
			return nil, &foundEngine{dir, told}, func() error { return nil }, nil
		}
		select { // the other process has it, and does not serve yet
		case <-ctx.Done():
			return nil, nil, nil, fmt.Errorf("another process has the folder of the engine, %s, and does not serve it: %w", dir, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// engineName is the name of a crawl on the engine.
func engineName(name string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if s == "" {
		s = "crawl"
	}
	return s[:min(len(s), 60)]
}

// workerName is that of a worker: given, or made of machine and folder.
func (c *joinFlags) workerName(dir string) string {
	if c.WorkerName != "" {
		return c.WorkerName
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return cmp.Or(machine(), "worker") + ":" + filepath.Base(dir)
}

// machine is the name of this one, "" where it is not known.
func machine() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// together runs the crawl as one of several workers. A session that was lost, as the engine
// did not answer or the machine slept, is followed by another one.
func (c *crawlCmd) together(ctx context.Context, m *job.Maker, show func(*job.Job) view.View) (how event.Ending, sum *event.Summary, err error) {
	for {
		how, sum, err = c.session(ctx, m, show)
		if !errors.Is(err, worker.ErrOver) || ctx.Err() != nil {
			return how, sum, err
		}
		m.Note(fmt.Sprintf("%v; it joins again", err))
		m = c.next(m)
	}
}

// next is for the session that follows that of m. Its job is that of m, which has what flags gave and what
// the crawl was told since: flags that are put over it again would be a change of the crawl.
func (c *crawlCmd) next(m *job.Maker) *job.Maker {
	next := &job.Maker{Job: m.Job, Writer: m.Writer, Documents: m.Documents, Note: m.Note, Begun: m.Begun, ArchiveFile: m.ArchiveFile, Archived: m.Archived, News: m.News}
	if m.Writer.Begun() {
		c.Resume, c.File = true, ""
		next.Begun = &m.Writer.Collection
	}
	return next
}

// session is one session of a worker. The error wraps worker.ErrOver where another may follow.
func (c *crawlCmd) session(ctx context.Context, m *job.Maker, show func(*job.Job) view.View) (how event.Ending, sum *event.Summary, err error) {
	name := c.workerName(m.Writer.Dir())
	e, err := c.openEngine(ctx, engineName(m.Job.Name), name, m.Writer.Joined(), m.Note)
	if errors.Is(err, jetstream.ErrNoCrawl) {
		return "", nil, exit{exitUsage, fmt.Errorf("%w (%w)", worker.ErrUnknown, err)}
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", nil, exit{exitStopped, errors.New("stopped before the crawl began; run the same command again")}
		}
		return "", nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	w := worker.New(ctx, worker.Options{
		Engine: e.Engine, Name: name, Machine: machine(), Least: c.WorkersMin, Note: m.Note, Show: showWorkers(m),
		Plan: worker.Plan{Shards: c.Shards, Term: c.Term}, Shipped: c.shipped,
	})
	joining, joined := context.WithCancel(ctx)
	defer joined()
	if e.found != nil {
		// A session that has begun ends with its term; before that nothing but this ends the wait.
		go e.found.watch(joining, w.GiveUp)
	}
	m.MayAsk, m.Sharers, m.Agree = w.MayAsk, w.Sharers, w.Agree
	m.Join = func(ctx context.Context, f *frontier.Frontier, briefing job.Briefing) (job.Membership, error) {
		defer joined()
		if err := w.Open(ctx, f, worker.Crawl(briefing)); err != nil {
			return job.Membership{}, err
		}
		if err := m.Writer.SaveMember(w.Member()); err != nil {
			return job.Membership{}, err
		}
		return job.Membership{Peers: w, Frontier: w.Frontier(), Acts: w.Acts()}, nil
	}
	how, sum, err = crawlAndShow(w.Context(), m, c.place, func(j *job.Job) view.View {
		return goingOn{show(j), func() bool { return errors.Is(w.Failed(), worker.ErrOver) && ctx.Err() == nil }}
	})
	if w.HadEnough() {
		c.WorkersMin = 0 // in a session that follows
	}
	ended := string(how)
	if err != nil || how == event.Stopped {
		ended = ""
	}
	left := w.Close(ended)
	if ended != "" && e.serves {
		w.AwaitOthers(ctx) // who need the engine to end, too
	}
	if lost := w.Failed(); lost != nil && ctx.Err() == nil {
		return "", sum, lost
	} else if lost != nil && err != nil && m.Writer.Begun() && errors.Is(lost, worker.ErrOver) {
		// It was stopped, and the engine took in nothing of what was under way then: the folder goes on as after a crash.
		m.Note(fmt.Sprintf("%v; what was under way is fetched again", lost))
		return event.Stopped, sum, nil
	}
	if left != nil {
		m.Note(left.Error())
	}
	return how, sum, err
}

// goingOn is a view of a session that is followed by another one where over says so: its end is
// not that of the crawl then.
type goingOn struct {
	view.View
	over func() bool
}

// Add implements view.View.
func (v goingOn) Add(e event.Event) {
	if _, ended := e.(event.Ended); ended && v.over() {
		return
	}
	v.View.Add(e)
}

// showEvery is how often a folder is told of the workers at most.
const showEvery = time.Second

// showWorkers keeps in the folder what its worker sees of all, for those who look at it.
func showWorkers(m *job.Maker) func(worker.Scene) {
	var last time.Time
	failed := false
	return func(s worker.Scene) {
		all := workersOf(s)
		left := slices.ContainsFunc(all.Workers, func(w collection.Worker) bool { return w.Own && w.State == worker.Left })
		if now := time.Now(); now.Sub(last) >= showEvery || left {
			last = now
			err := m.Writer.SaveWorkers(all)
			if err != nil && !failed {
				m.Note(fmt.Sprintf("what is shown of the other workers stands still: %v", err))
			}
			failed = err != nil
		}
	}
}

// workersOf are the workers of a scene as a folder keeps them.
func workersOf(s worker.Scene) collection.Workers {
	s = s.Settled()
	all := collection.Workers{At: s.At, Term: s.Term, Shards: s.Shards, Over: s.Over, Full: s.Full, Acts: s.Acts, Workers: []collection.Worker{}}
	labels := map[int]bool{}
	for _, w := range s.Workers {
		for _, n := range w.Standing.Labels {
			labels[n] = true
		}
		all.Workers = append(all.Workers, collection.Worker{
			Name: w.Name, Machine: w.Machine, Own: w.Worker == s.Own, State: w.State(), Ended: w.Ended, Heard: w.Heard, Shards: w.Held,
			Pages: w.Standing.Pages, Relevant: w.Standing.Relevant, Speed: w.Speed, Waiting: w.Frontier.Queued, InFlight: w.Standing.InFlight,
		})
	}
	all.Labels = slices.Sorted(maps.Keys(labels))
	return all
}
