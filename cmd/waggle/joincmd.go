package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
		if !slices.Contains([]string{"lock", "token", "address", "lost+found"}, e.Name()) {
			return fmt.Errorf("%s holds other files (%s), and no engine: %s", dir, e.Name(), remedy)
		}
	}
	return nil
}

// openEngine connects to the engine; it waits for one that does not answer.
// Where the crawl is to be an existing one, nothing is made for it; "" is the only one there. serves tells that the engine
// is served by this process.
func (c *engineFlags) openEngine(ctx context.Context, crawl, name string, existing bool, note func(string)) (e *jetstream.Engine, serves bool, done func() error, err error) {
	o := jetstream.Options{URL: c.Join, Crawl: crawl, Worker: name, Credentials: c.JoinCredentials, CA: c.JoinCA, Cert: c.JoinCert, Key: c.JoinKey, Existing: existing}
	serving := func() error { return nil }
	if !c.isAddress() {
		if existing && !folder.Exists(filepath.Join(c.Join, "store")) && !folder.Held(c.Join) {
			return nil, false, nil, fmt.Errorf("--join: %s holds no engine, and the crawl of this folder was begun by one: %w", c.Join, jetstream.ErrNoCrawl)
		}
		if o.Server, o.URL, serving, err = serveOrFind(ctx, c.Join, note); err != nil {
			return nil, false, nil, err
		}
	}
	if existing && crawl == "" {
		if o.Crawl, err = onlyCrawl(ctx, o); err != nil {
			return nil, false, nil, errors.Join(err, serving())
		}
	}
	late := time.AfterFunc(3*time.Second, func() { note("waits for the engine to answer") })
	defer late.Stop()
	if e, err = jetstream.Open(ctx, o); err != nil {
		return nil, false, nil, errors.Join(err, serving())
	}
	return e, o.Server != nil, func() error { return errors.Join(e.Close(), serving()) }, nil
}

// onlyCrawl is the name of the only crawl of an engine.
func onlyCrawl(ctx context.Context, o jetstream.Options) (string, error) {
	names, err := jetstream.Crawls(ctx, o)
	switch {
	case err != nil:
		return "", fmt.Errorf("the engine does not tell which crawls it has, as to the user of a worker: give the name of the crawl, as in its job file: %w", err)
	case len(names) == 0:
		return "", jetstream.ErrNoCrawl
	case len(names) > 1:
		return "", fmt.Errorf("the engine has %d crawls: give the name of one, %s", len(names), strings.Join(names, " or "))
	}
	return names[0], nil
}

// serveOrFind serves an engine from a folder, or finds that which another process serves
// from it.
func serveOrFind(ctx context.Context, dir string, note func(string)) (*jetstream.Server, string, func() error, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", nil, fmt.Errorf("the folder of the engine: %w", err)
	}
	place := filepath.Join(dir, "address")
	for {
		lock, err := folder.Lock(dir)
		if err == nil {
			s, err := jetstream.Serve(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
			if err != nil {
				return nil, "", nil, errors.Join(err, lock.Close())
			}
			if err := os.WriteFile(place, []byte(s.URL()+"\n"), 0o600); err != nil {
				return nil, "", nil, errors.Join(err, s.Close(), lock.Close())
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
			return s, "", func() error {
				stop()
				<-watched
				return errors.Join(os.Remove(place), s.Close(), lock.Close())
			}, nil
		}
		if !errors.Is(err, folder.ErrLocked) {
			return nil, "", nil, fmt.Errorf("the folder of the engine: %w", err)
		}
		if b, err := os.ReadFile(place); err == nil && strings.HasSuffix(string(b), "\n") {
			return nil, strings.TrimSpace(string(b)), func() error { return nil }, nil
		}
		select { // the other process has it, and does not serve yet
		case <-ctx.Done():
			return nil, "", nil, ctx.Err()
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
func (c *crawlCmd) together(ctx context.Context, m *job.Maker, in io.Reader, show func() view.View) (how event.Ending, sum *event.Summary, err error) {
	for {
		how, sum, err = c.session(ctx, m, show)
		if !errors.Is(err, worker.ErrOver) || ctx.Err() != nil {
			return how, sum, err
		}
		m.Note(fmt.Sprintf("%v; it joins again", err))
		c.WorkersMin = 0 // they were there
		next := &job.Maker{Job: m.Job, Writer: m.Writer, Documents: m.Documents, Note: m.Note, Begun: m.Begun, ArchiveFile: m.ArchiveFile, Archived: m.Archived, News: m.News}
		if m.Writer.Begun() {
			c.Resume, c.File = true, ""
			next.Begun = &m.Writer.Collection
			if next.Job, err = c.job(m.Writer.Collection, in); err != nil {
				return "", nil, err
			}
		}
		m = next
	}
}

// session is one session of a worker. The error wraps worker.ErrOver where another may follow.
func (c *crawlCmd) session(ctx context.Context, m *job.Maker, show func() view.View) (how event.Ending, sum *event.Summary, err error) {
	name := c.workerName(m.Writer.Dir())
	e, serves, done, err := c.openEngine(ctx, engineName(m.Job.Name), name, m.Writer.Joined(), m.Note)
	if errors.Is(err, jetstream.ErrNoCrawl) {
		return "", nil, fmt.Errorf("%w (%w)", worker.ErrUnknown, err)
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", nil, exit{exitStopped, errors.New("stopped before the crawl began; run the same command again")}
		}
		return "", nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	w := worker.New(ctx, worker.Options{
		Engine: e, Name: name, Machine: machine(), Least: c.WorkersMin, Note: m.Note, Show: showWorkers(m),
		Plan: worker.Plan{Shards: c.Shards, Term: c.Term}, Shipped: c.shipped,
	})
	m.MayAsk, m.Sharers = w.MayAsk, w.Sharers
	m.Join = func(ctx context.Context, f *frontier.Frontier, briefing job.Briefing) (job.Membership, error) {
		if err := w.Open(ctx, f, worker.Crawl(briefing)); err != nil {
			return job.Membership{}, err
		}
		if err := m.Writer.SaveMember(w.Member()); err != nil {
			return job.Membership{}, err
		}
		return job.Membership{Peers: w, Frontier: w.Frontier(), Acts: w.Acts()}, nil
	}
	how, sum, err = crawlAndShow(w.Context(), m, c.place, func() view.View {
		return goingOn{show(), func() bool { return errors.Is(w.Failed(), worker.ErrOver) && ctx.Err() == nil }}
	})
	ended := string(how)
	if err != nil || how == event.Stopped {
		ended = ""
	}
	left := w.Close(ended)
	if ended != "" && serves {
		w.AwaitOthers(ctx) // who need the engine to end, too
	}
	if lost := w.Failed(); lost != nil && ctx.Err() == nil {
		return "", sum, lost
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
