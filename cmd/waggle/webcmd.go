package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// webBuildCmd is `waggle web build`.
type webBuildCmd struct {
	From        string `arg:"" optional:"" help:"What to build from: a folder with pages.jsonl.zst or pages.jsonl, the folder of a crawl, a recorded web, a WARC file or a folder of them, or a .tsv table of Debian packages and their public addresses."`
	Synthetic   string `placeholder:"KEY=VALUE,…" help:"Generate a web instead, such as pages=20000,seed=1,topics=8. Reports say of it that it is synthetic."`
	Out         string `short:"o" required:"" placeholder:"WEB" help:"Folder of the recorded web."`
	Name        string `placeholder:"TEXT" help:"Its name (default: what the source says)."`
	Description string `placeholder:"TEXT" help:"What it contains."`
	Source      string `placeholder:"TEXT" help:"Where it comes from."`
	Licence     string `placeholder:"TEXT" help:"The licence of its pages."`
	Taxonomy    string `placeholder:"FILE" help:"Add each topic of a taxonomy (waggle topic import, prune) of which four pages or more are recorded: half of them for seeds and examples, the others to be found."`
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
		made, err := synthetic.ParseSource(c.Synthetic)
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

// listedTopics are the topics of a taxonomy that have examples with addresses of their
// own, in its order; of a name like /Arts/Folk_music the topic is Arts-Folk_music.
func listedTopics(file string) ([]corpus.ListedTopic, error) {
	in, err := taxonomy.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []corpus.ListedTopic
	of := map[string]int{}       // path → index of out
	about := map[string]string{} // path → what editors wrote of it
	for e, err := range taxonomy.Read(in, file) {
		if err != nil {
			return nil, err
		}
		if _, local := e.File(); local || e.Topic == "/" {
			continue
		}
		if e.Source == "" {
			if e.Description != "" {
				about[e.Topic] = e.Description
			}
			continue
		}
		i, known := of[e.Topic]
		if !known {
			i = len(out)
			of[e.Topic] = i
			out = append(out, corpus.ListedTopic{
				Name: strings.ReplaceAll(strings.Trim(e.Topic, "/"), "/", "-"), Keywords: taxonomy.Keywords(e.Topic),
			})
		}
		out[i].Pages = append(out[i].Pages, corpus.ListedPage{Address: e.Source, Title: e.Title, Description: e.Description})
	}
	for path, i := range of {
		out[i].Description = about[path]
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no topic with an example that has an address", file)
	}
	return out, nil
}

// Run builds.
func (c *webBuildCmd) Run(ctx context.Context, io streams) error {
	src, err := c.origin()
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Taxonomy != "" {
		topics, err := listedTopics(c.Taxonomy)
		if err != nil {
			return exit{exitUsage, err}
		}
		src = corpus.Listed{Of: src, Topics: topics}
	}
	meter := terminal.NewMeter(io.err)
	built, err := corpus.Build(ctx, c.Out, src, corpus.Options{
		Name: c.Name, Description: c.Description, Source: c.Source, Licence: c.Licence,
		Force: c.Force, Software: "waggle/" + version, Progress: meter.Show,
	})
	meter.End()
	switch {
	case errors.Is(err, fs.ErrExist):
		return exit{exitUsage, err}
	case err != nil:
		return stoppedOr(ctx, err, "stopped; nothing was left behind")
	}
	for _, n := range built.Notes {
		fmt.Fprintln(io.out, event.Line(n))
	}
	fmt.Fprintf(io.out, "%s: %s on %s, %s%s\n", c.Out, terminal.Count(built.Count.Pages, "page"), terminal.Count(built.Count.Hosts, "host"), terminal.Count(len(built.Manifest.Topics), "topic"), map[bool]string{true: "; synthetic"}[built.Manifest.Synthetic])
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
	meter := terminal.NewMeter(io.err)
	s, err := w.Survey(ctx, meter.Show)
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, "stopped before its end")
	}
	s.Write(io.out, w)
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
	LatencyMax time.Duration `help:"With --latency: wait a random time between the two."`
	HostRate   float64       `placeholder:"N" help:"Requests a second that a host answers; above that, 429 with Retry-After."`
	ErrorRate  float64       `placeholder:"X" help:"Share of addresses, 0…1, that answer 503."`
	Seed       uint64        `placeholder:"N" help:"Seed of all random draws."`
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
	if o.Authority, homeless = corpus.AuthorityFile(); homeless != nil {
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
	fmt.Fprintf(io.out, `Serving %s (%s) as a proxy on http://%s

  waggle web job %[6]s TOPIC --proxy http://%[3]s >JOB.yaml
  %[4]s
  curl http://%[3]s%[5]s >ca.pem; curl --proxy http://%[3]s --cacert ca.pem URL

Ctrl-C ends it.
`, event.Line(w.Name), terminal.Count(w.Count().Pages, "page"), l.Addr(), crawlThrough(l.Addr()), corpus.CertificatePath, event.Line(c.Web))
	err = s.Serve(ctx, l)
	t := s.Stats()
	fmt.Fprintf(io.out, "%s requests: %s answered, %s not recorded, %s limited, %s failed on purpose; %s\n",
		terminal.Number(t.Requests), terminal.Number(t.Answered), terminal.Number(t.Missing), terminal.Number(t.Limited), terminal.Number(t.Failed), terminal.Size(t.Bytes))
	return err
}

// crawlThrough is the command of a crawl through a served web. One that is not on this
// machine is not asked for its certificates, and may be the live web.
func crawlThrough(at net.Addr) string {
	more := ""
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		more = " --through-ca ca.pem --contact YOU@EXAMPLE.ORG"
	}
	return fmt.Sprintf("waggle crawl --through http://%s%s --delay 0 -f JOB.yaml -o DIR", at, more)
}

// webJobCmd is `waggle web job`.
type webJobCmd struct {
	Web   string `arg:"" help:"Folder of the recorded web."`
	Topic string `arg:"" help:"Name of a topic; waggle web info lists them."`
	Far   bool   `help:"Start from the seeds three or four links away from the nearest relevant page."`
	Pages int    `short:"n" default:"1000" help:"Pages to fetch."`
	Proxy string `default:"http://127.0.0.1:8080" placeholder:"PROXY" help:"Where waggle web serve answers, as it prints (default ${default}); it stands in the job file, and --through of waggle crawl goes before it."`
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
	if c.Far && len(t.SeedsFar) == 0 {
		return exit{exitUsage, fmt.Errorf("--far: the topic %s has no seeds so far away, which waggle web info %s counts: leave --far out", event.Line(t.Name), event.Line(c.Web))}
	}
	j := job.Recorded(t, c.Far, c.Pages)
	j.Fetch.Through = c.Proxy
	if err := j.Check(); err != nil {
		return exit{exitUsage, cli.PlacedBy(err, func(path string) string {
			return map[string]string{"fetch.through": "--proxy", "budget.pages": "--pages"}[path]
		})}
	}
	b, err := j.YAML()
	if err != nil {
		return err
	}
	_, err = io.out.Write(b)
	return err
}
