package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
)

// webBuildCmd is `waggle web build`.
type webBuildCmd struct {
	From        string `arg:"" optional:"" help:"What to build from: a folder with pages.jsonl.zst or pages.jsonl, the folder of a crawl, a recorded web, a WARC file or a folder of them, or a .tsv table of Debian packages and their public addresses."`
	Synthetic   string `placeholder:"KEY=VALUE,…" help:"Make a web up instead, such as pages=20000,seed=1,topics=8. Reports say of it that it is synthetic."`
	Out         string `short:"o" required:"" placeholder:"WEB" help:"Folder of the recorded web."`
	Name        string `help:"Its name (default: what the source says)."`
	Description string `help:"What it is like."`
	Source      string `help:"Where it comes from."`
	Licence     string `help:"Under which terms."`
	Debs        string `placeholder:"DIR" help:"Take the .deb files of a table from here instead of downloading them."`
	Force       bool   `help:"Replace the recorded web that is there."`
}

// Help tells the keys of --synthetic.
func (webBuildCmd) Help() string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "Keys of --synthetic, with their defaults and ranges:\n\n")
	for _, s := range synthetic.Settings() {
		fmt.Fprintf(out, "  %s=%s\t%s\t%s\n", s.Key, s.Default, s.Range, s.Line)
	}
	out.Flush() // a strings.Builder takes everything
	return b.String()
}

// origin finds what the flags name to build from.
func (c *webBuildCmd) origin() (corpus.Source, error) {
	switch {
	case c.From == "" && c.Synthetic == "":
		return nil, errors.New("nothing to build from: name a folder or file, or make a web up with --synthetic pages=20000,seed=1")
	case c.From != "" && c.Synthetic != "":
		return nil, fmt.Errorf("a web is built from %s or made up by --synthetic: leave out one of them", c.From)
	case c.Synthetic != "":
		o, err := synthetic.Parse(c.Synthetic)
		if err != nil {
			return nil, fmt.Errorf("--synthetic: %w", err)
		}
		w, err := synthetic.New(o)
		if err != nil {
			return nil, fmt.Errorf("--synthetic: %w", err)
		}
		made, err := w.Source()
		if err != nil {
			return nil, fmt.Errorf("--synthetic: %w", err)
		}
		return made, nil
	}
	src, err := corpus.Detect(c.From)
	if err != nil {
		return nil, err
	}
	if a, err := os.Stat(c.From); err == nil {
		if b, err := os.Stat(c.Out); err == nil && os.SameFile(a, b) {
			return nil, fmt.Errorf("%s cannot be built from itself: choose another folder", c.Out)
		}
	}
	if p, ok := src.(corpus.Packages); ok {
		p.Debs = c.Debs
		src = p
	}
	return src, nil
}

// Run builds.
func (c *webBuildCmd) Run(ctx context.Context, io streams) error {
	src, err := c.origin()
	if err != nil {
		return exit{exitUsage, err}
	}
	meter := newMeter(io.err)
	built, err := corpus.Build(ctx, c.Out, src, corpus.Options{
		Name: c.Name, Description: c.Description, Source: c.Source, Licence: c.Licence,
		Force: c.Force, Software: "waggle/" + version, Progress: meter.show,
	})
	meter.end()
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped; nothing was left behind")}
	case errors.Is(err, fs.ErrExist) && !c.Force:
		return exit{exitUsage, fmt.Errorf("%w: choose another folder, or replace the recorded web in it with --force", err)}
	case err != nil:
		return err
	}
	for _, n := range built.Notes {
		fmt.Fprintln(io.out, event.Line(n))
	}
	fmt.Fprintf(io.out, "%s: %s pages on %s hosts, %d topics%s\n", c.Out, number(built.Count.Pages), number(built.Count.Hosts), len(built.Manifest.Topics), map[bool]string{true: "; synthetic"}[built.Manifest.Synthetic])
	return nil
}

// webInfoCmd is `waggle web info`.
type webInfoCmd struct {
	Web string `arg:"" help:"Folder of the recorded web."`
}

// Run surveys.
func (c *webInfoCmd) Run(ctx context.Context, io streams) error {
	w, err := corpus.Open(c.Web)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer w.Close()
	meter := newMeter(io.err)
	s, err := w.Survey(ctx, meter.show)
	meter.end()
	if err != nil {
		return err
	}
	out := io.out
	fmt.Fprintf(out, "%s: %s\n", event.Line(w.Name), event.Line(w.Description))
	if w.Source != "" {
		fmt.Fprintf(out, "from %s\n", strings.TrimSuffix(event.Line(w.Source)+"; "+event.Line(w.Licence), "; "))
	}
	if w.Synthetic {
		fmt.Fprintln(out, "synthetic: it shows that nothing broke, and supports no claim about the web")
	}
	fmt.Fprintf(out, "\npages          %s on %s hosts; %s redirects, %s errors\n", number(s.Pages), number(s.Hosts), number(s.Redirects), number(s.Errors))
	fmt.Fprintf(out, "links inside   %s (%.1f a page), outside %s\n", number(s.LinksInside), float64(s.LinksInside)/float64(max(1, s.Pages)), number(s.LinksOutside))
	fmt.Fprintf(out, "reachable      %s of the pages from the seeds of all topics\n", percent(float64(s.Reachable)/float64(max(1, s.Pages))))
	if s.Unparsed > 0 {
		fmt.Fprintf(out, "no documents   %s\n", number(s.Unparsed))
	}
	if slices.ContainsFunc(s.Topics, func(t corpus.TopicSurvey) bool { return t.Relevant > 0 }) {
		fmt.Fprintf(out, "\n%-24s %8s %9s %10s %9s %10s\n", "topic", "relevant", "recorded", "reachable", "far seeds", "seeds")
		for _, t := range s.Topics {
			fmt.Fprintf(out, "%-24s %8d %9d %10d %9d %10d\n", clip(event.Line(t.Name), 24), t.Relevant, t.Relevant-t.NotRecorded, t.Reachable, t.ReachableFar, t.Seeds)
		}
	}
	for _, n := range w.Compare(s) {
		fmt.Fprintf(out, "note: %s\n", event.Line(n))
	}
	for _, d := range s.Damaged {
		fmt.Fprintf(io.err, "damaged: %s\n", event.Line(d.Error()))
	}
	if len(s.Damaged) > 0 {
		return fmt.Errorf("%d records are damaged: build the web again", len(s.Damaged))
	}
	return nil
}

// webServeCmd is `waggle web serve`.
type webServeCmd struct {
	Web        string        `arg:"" help:"Folder of the recorded web."`
	Listen     string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where to answer (default ${default}); port 0 is any free one."`
	Latency    time.Duration `help:"Wait before each answer."`
	LatencyMax time.Duration `help:"With it, wait between the two, by chance from --seed and the address."`
	HostRate   float64       `placeholder:"N" help:"Requests a second that a host answers; above that, 429 with Retry-After."`
	ErrorRate  float64       `placeholder:"X" help:"Share of addresses, 0…1, that answer 503."`
	Seed       uint64        `help:"Of what happens by chance."`
	CA         string        `placeholder:"FILE" help:"Where to write the certificate that clients must trust for https; it is also at PROXY/waggle-ca.pem."`
}

// Help tells where the certificate authority is kept.
func (webServeCmd) Help() string {
	return `For https the server takes the part of every host, with certificates of an
authority of its own. It is made once and kept, with its key, in the file
waggle/recorded-web-ca.pem of your configuration folder, which nobody else can
read: a server that is started again is trusted as before. Removing the file
makes a new one. Do not trust it in the browser you use every day.`
}

// Run serves until it is interrupted.
func (c *webServeCmd) Run(ctx context.Context, io streams) error {
	w, err := corpus.Open(c.Web)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer w.Close()
	o := corpus.ServerOptions{
		Latency: c.Latency, LatencyMax: c.LatencyMax, HostRate: c.HostRate, ErrorRate: c.ErrorRate, Seed: c.Seed, CAFile: c.CA,
	}
	var homeless error
	if o.Authority, homeless = authorityFile(); homeless != nil {
		fmt.Fprintf(io.err, "waggle: note: the certificate authority can be kept nowhere (%v), so it ends with this server: whoever trusts it has to trust another one after a restart, and a crawl to be stopped and gone on with (--resume)\n", homeless)
	}
	s, err := corpus.NewServer(w, o)
	if err != nil {
		return exit{exitUsage, err}
	}
	l, err := corpus.Listen(c.Listen)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("%w: choose another --listen HOST:PORT", err)}
	}
	fmt.Fprintf(io.out, `Serving %s (%s pages) as a proxy on http://%s

  waggle crawl --through http://%[3]s --delay 0 -f JOB.yaml -o DIR
  curl http://%[3]s%[4]s >ca.pem; curl --proxy http://%[3]s --cacert ca.pem URL

Ctrl-C ends it.
`, event.Line(w.Name), number(w.Len()), l.Addr(), corpus.CertificatePath)
	err = s.Serve(ctx, l)
	t := s.Stats()
	fmt.Fprintf(io.out, "%s requests: %s answered, %s not recorded, %s limited, %s failed on purpose; %s\n",
		number(t.Requests), number(t.Answered), number(t.Missing), number(t.Limited), number(t.Failed), size(t.Bytes))
	return err
}

// authorityFile is where the certificate authority of web serve is kept, for all
// recorded webs of this user; its folder can be written to.
func authorityFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "waggle")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, "recorded-web-ca.pem"), nil
}

// webJobCmd is `waggle web job`.
type webJobCmd struct {
	Web   string `arg:"" help:"Folder of the recorded web."`
	Topic string `arg:"" help:"Name of a topic; waggle web info lists them."`
	Far   bool   `help:"Start from the seeds three or four links away from the nearest relevant page."`
	Pages int    `short:"n" default:"1000" help:"Pages to fetch."`
	Proxy string `default:"http://127.0.0.1:8080" placeholder:"PROXY" help:"Where waggle web serve answers (default ${default})."`
}

// Run prints a job.
func (c *webJobCmd) Run(io streams) error {
	w, err := corpus.Open(c.Web)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer w.Close()
	t, err := w.Topic(c.Topic)
	if err != nil {
		return exit{exitUsage, err}
	}
	j := recordedJob(t, c.Far, c.Pages)
	j.Fetch.Through = c.Proxy
	b, err := j.YAML()
	if err != nil {
		return err
	}
	_, err = io.out.Write(b)
	return err
}

// recordedJob is the job to look for a topic of a recorded web.
func recordedJob(t corpus.Topic, far bool, pages int) *job.Job {
	j := &job.Job{Name: t.Name}
	seeds := t.Seeds
	if far {
		seeds = t.SeedsFar
	}
	for _, u := range seeds {
		j.Seeds = append(j.Seeds, u.String())
	}
	for _, u := range t.Examples {
		j.Topic.Examples = append(j.Topic.Examples, u.String())
	}
	j.Topic.Description, j.Topic.Keywords = t.Description, t.Keywords
	j.Budget.Pages = pages
	none := job.Duration(0)
	j.Politeness.Delay = &none
	return j
}

// meter shows how far a long work is, in place on a terminal and now and then
// elsewhere.
type meter struct {
	out   *os.File
	live  bool
	shown time.Time
	began time.Time
	wide  int

	total int // of the work that goes on, where it is known
	from  int // how much of it was done when it began, at
	since time.Time
}

func newMeter(out *os.File) *meter {
	return &meter{out: out, live: term.IsTerminal(int(out.Fd())), began: time.Now()}
}

func (m *meter) show(done, total int, note string) {
	pause := 5 * time.Second
	if m.live {
		pause = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(m.shown) < pause {
		return
	}
	m.shown = now
	line := m.line(now, done, total, note)
	if m.live {
		fmt.Fprintf(m.out, "\r%s", pad(line, m.wide))
		m.wide = cells(line)
		return
	}
	fmt.Fprintln(m.out, line)
}

// line is what to show at a time, on a terminal with a bar:
//
//	12s ████▌░░░░░░░░░░░░░░░ 23 of 100 (23%) 40s left NOTE
//
// What is left is guessed from what was done since the work began, of which
// some may have been there.
func (m *meter) line(now time.Time, done, total int, note string) string {
	if total != m.total || done < m.from {
		m.total, m.from, m.since = total, done, now
	}
	line := span(now.Sub(m.began)) + "  "
	if total <= 0 {
		return untrusted(line+number(done)+"  "+note, 100)
	}
	share := min(1, float64(done)/float64(total))
	if m.live {
		line += bar(share, 20) + "  "
	}
	line += fmt.Sprintf("%s of %s (%.0f%%)", number(done), number(total), 100*share)
	if made := done - m.from; made > 0 && done < total {
		line += "  " + span(time.Duration(float64(now.Sub(m.since))*float64(total-done)/float64(made))) + " left"
	}
	return untrusted(line+"  "+note, 100)
}

func (m *meter) end() {
	if m.live && m.wide > 0 {
		fmt.Fprintf(m.out, "\r%s\r", pad("", m.wide))
	}
}

// debianTable names the manuals of the larger demo: packages and the public
// addresses their pages are known by.
const debianTable = `debian-policy	https://www.debian.org/doc/debian-policy/
debian-faq	https://www.debian.org/doc/manuals/debian-faq/
debian-reference-en	https://www.debian.org/doc/manuals/debian-reference/
developers-reference	https://www.debian.org/doc/manuals/developers-reference/
apache2-doc	https://httpd.apache.org/docs/2.4/
sqlite3-doc	https://www.sqlite.org/
python-sqlalchemy-doc	https://docs.sqlalchemy.org/en/latest/
python-django-doc	https://docs.djangoproject.com/en/stable/
buildbot-doc	https://docs.buildbot.net/latest/
proftpd-doc	http://www.proftpd.org/docs/
nova-doc	https://docs.openstack.org/nova/latest/
bind9-doc	https://bind9.readthedocs.io/en/v9.18/
git-doc	https://www.kernel.org/pub/software/scm/git/docs/
`

// debianSite builds a web of manuals of many hosts and serves it as a proxy.
func debianSite(ctx context.Context, dir string, note func(string, ...any)) (site, error) {
	place := filepath.Join(dir, "web")
	if !folder.Exists(filepath.Join(place, "web.yaml")) {
		table := filepath.Join(dir, "packages.tsv")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return site{}, err
		}
		if err := os.WriteFile(table, []byte(debianTable), 0o644); err != nil {
			return site{}, err
		}
		note("Building a web from Debian's manuals …")
		m := newMeter(os.Stderr)
		built, err := corpus.Build(ctx, place, corpus.Packages{Table: table}, corpus.Options{
			Name: "debian-manuals", Description: "Manuals as packaged by Debian, under their public addresses",
			Source: "Debian documentation packages", Software: "waggle/" + version, Progress: m.show,
		})
		m.end()
		if err != nil {
			return site{}, fmt.Errorf("%w\nThis demo needs apt-get download and dpkg-deb; waggle demo --web go needs only Go", err)
		}
		note("%s pages on %s hosts.", number(built.Count.Pages), number(built.Count.Hosts))
	}
	w, err := corpus.Open(place)
	if err != nil {
		return site{}, err
	}
	s, err := corpus.NewServer(w, corpus.ServerOptions{})
	if err != nil {
		w.Close()
		return site{}, err
	}
	l, err := corpus.Listen("127.0.0.1:0")
	if err != nil {
		w.Close()
		return site{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	none := job.Duration(0)
	out := site{stop: func() {
		cancel()
		<-served
		w.Close()
	}}
	out.job.Topic = job.Topic{
		Description: "Transactions and locking in databases",
		Keywords:    []string{"transaction", "isolation level", "lock", "deadlock", "commit", "rollback"},
	}
	for line := range strings.Lines(debianTable) {
		_, base, _ := strings.Cut(strings.TrimSpace(line), "\t")
		out.job.Seeds = append(out.job.Seeds, base)
	}
	out.job.Politeness.Delay = &none
	out.job.Fetch.Through = "http://" + l.Addr().String()
	out.job.Fetch.Workers = 1
	return out, nil
}
