package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// crawlCmd is `waggle crawl`.
type crawlCmd struct {
	File string `short:"f" placeholder:"JOB.yaml" help:"Job file; flags change single values of it."`
	Out  string `short:"o" placeholder:"DIR" help:"Folder of the crawl: archive, events, harvest, state."`

	Seed        []string  `sep:"none" placeholder:"URL" help:"Address to start from; may be repeated."`
	Example     []string  `sep:"none" placeholder:"URL|FILE" help:"A page like those wanted; may be repeated."`
	Negative    []string  `sep:"none" placeholder:"URL|FILE" help:"A page unlike those wanted; may be repeated."`
	Keywords    []string  `placeholder:"WORDS" help:"Words and phrases of the topic, separated by commas."`
	Description string    `placeholder:"TEXT" help:"The topic in a sentence or two."`
	Contact     string    `placeholder:"MAIL|URL" help:"Where site owners reach you; sent with every request."`
	Pages       *int      `short:"n" placeholder:"N" help:"Pages to fetch; 0 = no limit (default: no limit)."`
	Time        *Duration `placeholder:"D" help:"Time to spend (30m, 2h)."`
	Scorer      string    `placeholder:"NAME" help:"Which link goes first (default best-first-both; waggle lab list names all)."`
	Model       string    `placeholder:"FILE" help:"The trained model of scorers such as crf; waggle train makes one."`
	Judge       string    `placeholder:"NAME" help:"What makes a page relevant: ${judges}."`
	Critic      string    `placeholder:"FILE" help:"Judge by the critic that waggle topic train made."`
	Focus       []string  `sep:"none" placeholder:"TOPIC" help:"With --critic: a topic that is wanted, with all below it; may be repeated."`
	Threshold   *float64  `placeholder:"X" help:"Relevance, 0…1, from which a page counts (default: from the examples)."`
	Reach       string    `placeholder:"REACH" help:"How far from the seeds: any, domain or host."`
	Delay       *Duration `placeholder:"D" help:"Pause between requests to one host (default 1s)."`
	Workers     *int      `placeholder:"N" help:"Fetches at a time (default 32)."`

	Through      string `placeholder:"PROXY" help:"Fetch through an HTTP proxy, such as waggle web serve."`
	ThroughCA    string `placeholder:"FILE" help:"The proxy's certificates (PEM). A proxy on this machine is asked for them."`
	AllowPrivate bool   `help:"Permit loopback and private addresses."`

	Resume     bool `help:"Go on with the crawl in DIR. --pages and --time may grant more."`
	AcceptLoss bool `help:"With --resume: go on although acknowledged pages are missing from the archive, after a power failure."`
	JSON       bool `help:"Print every event as a line of JSON."`
	ExampleJob bool `help:"Print a job file that explains every key, and exit."`
}

// Run crawls.
func (c *crawlCmd) Run(ctx context.Context, io streams) error {
	if c.ExampleJob {
		_, err := fmt.Fprint(io.out, exampleJob)
		return err
	}
	if c.Out == "" {
		return exit{exitUsage, errors.New("missing -o DIR: the folder of the crawl")}
	}
	if err := collection.At(c.Out).Usable(); err != nil {
		return exit{exitUsage, err}
	}
	job, err := c.job(collection.At(c.Out))
	if err != nil {
		return exit{exitUsage, err}
	}
	own, err := collection.At(c.Out).Lock()
	if err != nil {
		return err
	}
	defer own.Close()
	setup := setup{job: job, col: own.Collection, own: own, resume: c.Resume, acceptLoss: c.AcceptLoss, note: func(s string) { fmt.Fprintln(io.err, event.Line(s)) }}
	how, sum, err := setup.crawl(ctx, func() progress { return newProgress(io.out, c.JSON, clock.System{}, os.Getenv) })
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printSummary(io.out, sum); err != nil && !errors.Is(err, syscall.EPIPE) {
			return err
		}
		fmt.Fprintf(io.out, "\nCollection: %s (harvest.tsv lists the relevant pages)\n", c.Out)
	}
	switch {
	case how == event.Stopped:
		return exit{exitStopped, fmt.Errorf("stopped; go on with: waggle crawl -o %s --resume", c.Out)}
	case sum.Pages == 0:
		return exit{exitNothing, fmt.Errorf("no page was fetched%s", why(sum))}
	}
	return nil
}

// why names the commonest reason for which nothing was fetched.
func why(s *event.Summary) string {
	for _, counts := range []map[web.Reason]int{s.Failures, s.Skipped} {
		if by := event.ByCount(counts); len(by) > 0 {
			hint := ""
			if by[0].Reason == web.ReasonAddress {
				hint = "; --allow-private permits it"
			}
			return fmt.Sprintf(": %d × %s (%s)%s", by[0].Count, by[0].Reason, meaning(by[0].Reason), hint)
		}
	}
	return ""
}

// job makes the job of this run: of the folder when it goes on, else of the
// job file and the flags.
func (c *crawlCmd) job(col collection.Collection) (*Job, error) {
	if col.Begun() {
		if !c.Resume {
			how, pages, err := col.Ended()
			if err != nil {
				return nil, err
			}
			switch how {
			case event.FrontierEmpty, event.BudgetSpent:
				if pages > 0 {
					return nil, fmt.Errorf("%s holds a finished crawl of %d pages (%s): choose another folder, or grant it more with --resume --pages N", col.Dir(), pages, how)
				}
				if err := discard(col); err != nil {
					return nil, err
				}
				return c.job(col) // nothing was fetched: begin anew
			default:
				return nil, fmt.Errorf("%s holds an unfinished crawl of %d pages: go on with --resume, or choose another folder", col.Dir(), pages)
			}
		}
		if f := c.fixed(); f != "" {
			return nil, fmt.Errorf("%s cannot change when a crawl goes on: leave it out, or begin a new crawl in another folder", f)
		}
		job, err := readJob(col.JobFile())
		if err != nil {
			return nil, err
		}
		if err := c.override(job); err != nil {
			return nil, err
		}
		return job, job.live()
	}
	if c.Resume {
		return nil, fmt.Errorf("%s holds no crawl to go on with: leave out --resume to begin one", col.Dir())
	}
	job := &Job{}
	if c.File != "" {
		var err error
		if job, err = readJob(c.File); err != nil {
			return nil, err
		}
		job.filesFrom(filepath.Dir(c.File))
	}
	if err := c.override(job); err != nil {
		return nil, err
	}
	if job.Scorer.Model != "" && !takesModel(job.scorer()) {
		return nil, fmt.Errorf("the scorer %s goes by no trained model: leave out the model %s, or choose a scorer that learnt it (waggle train inspect tells its kind)", job.scorer(), job.Scorer.Model)
	}
	if len(job.Seeds) == 0 {
		for _, e := range job.Topic.Examples {
			if isAddress(e) {
				job.Seeds = append(job.Seeds, e)
			}
		}
	}
	if len(job.Seeds) == 0 {
		return nil, errors.New("nowhere to start from: give --seed URL, or example pages on the web")
	}
	return job, job.live()
}

// discard removes a crawl.
func discard(col collection.Collection) error {
	w, err := col.Lock()
	if err != nil {
		return err
	}
	return errors.Join(w.Discard(), w.Close())
}

// fixed names a flag given that only a new crawl can have.
func (c *crawlCmd) fixed() string {
	for flag, given := range map[string]bool{
		"--file": c.File != "", "--seed": len(c.Seed) > 0, "--example": len(c.Example) > 0,
		"--negative": len(c.Negative) > 0, "--keywords": len(c.Keywords) > 0, "--description": c.Description != "",
		"--scorer": c.Scorer != "", "--model": c.Model != "", "--judge": c.Judge != "", "--critic": c.Critic != "", "--focus": len(c.Focus) > 0, "--threshold": c.Threshold != nil, "--reach": c.Reach != "",
	} {
		if given {
			return flag
		}
	}
	return ""
}

// override puts the values of flags into the job and checks them.
func (c *crawlCmd) override(j *Job) error {
	j.Seeds = append(j.Seeds, c.Seed...)
	j.Topic.Examples = append(j.Topic.Examples, c.Example...)
	j.Topic.Negatives = append(j.Topic.Negatives, c.Negative...)
	for _, k := range c.Keywords {
		if k = strings.TrimSpace(k); k != "" {
			j.Topic.Keywords = append(j.Topic.Keywords, k)
		}
	}
	setIf(&j.Topic.Description, c.Description)
	setIf(&j.Contact, c.Contact)
	setIf(&j.Scorer.Name, c.Scorer)
	setIf(&j.Scorer.Model, c.Model)
	if c.Critic != "" && c.Judge != "" && c.Judge != "critic" {
		return fmt.Errorf("--critic and --judge %s: one of them judges; leave the other out", c.Judge)
	}
	if c.Critic != "" {
		j.Judge.Name, j.Judge.Critic, j.Judge.Focus = "critic", c.Critic, nil
	}
	j.Judge.Focus = append(j.Judge.Focus, c.Focus...)
	setIf(&j.Judge.Name, c.Judge)
	setIf(&j.Scope.Reach, c.Reach)
	setIf(&j.Fetch.Through, c.Through)
	setIf(&j.Fetch.ThroughCA, c.ThroughCA)
	if c.Pages != nil {
		j.Budget.Pages = *c.Pages
	}
	if c.Time != nil {
		j.Budget.Time = *c.Time
	}
	if c.Threshold != nil {
		j.Judge.Threshold = c.Threshold
	}
	if c.Delay != nil {
		j.Politeness.Delay = c.Delay
	}
	if c.Workers != nil {
		j.Fetch.Workers = *c.Workers
	}
	j.Fetch.AllowPrivate = j.Fetch.AllowPrivate || c.AllowPrivate
	flags := map[string]string{
		"budget.pages": "--pages", "judge.threshold": "--threshold", "judge.name": "--judge", "judge.critic": "--critic", "judge.focus": "--focus", "scorer.name": "--scorer",
		"scope.reach": "--reach", "fetch.workers": "--workers", "fetch.through": "--through", "contact": "--contact",
	}
	return j.check(func(path string) string {
		if strings.HasPrefix(path, "seeds.") {
			return "--seed"
		}
		if f, ok := flags[path]; ok {
			return f
		}
		return path
	})
}

func setIf(v *string, to string) {
	if to != "" {
		*v = to
	}
}

// minLiveDelay is the least pause between requests to a host that is not
// one's own.
const minLiveDelay = 200 * time.Millisecond

// live checks what only a crawl of the real web must have. One that starts on
// this machine or a private network with leave to do so is none; one through a
// proxy on this machine is none if that serves a recorded web, which shows when
// it is asked.
func (j *Job) live() error {
	private := j.Fetch.AllowPrivate
	for _, s := range j.Seeds {
		u, err := web.Parse(s)
		private = private && err == nil && isPrivate(u.Host())
	}
	if private || onThisMachine(j.Fetch.Through) {
		return nil
	}
	return j.polite("set contact: in the job file, or give")
}

// polite checks what the owners of sites may expect. remedy is how else a contact
// can be given: commands without a job file have "give" alone.
func (j *Job) polite(remedy string) error {
	if j.Contact == "" {
		return fmt.Errorf("the live web needs a contact, so that site owners can reach you: %s --contact you@example.org", remedy)
	}
	if d := j.delay(); d < minLiveDelay {
		return fmt.Errorf("a delay of %v is too short for other people's servers: at least %v (shorter ones are for recorded webs, --through, and your own machines, --allow-private)", d, minLiveDelay)
	}
	return nil
}

// isPrivate tells whether a host is an address, or the name, of this machine or
// a private network.
func isPrivate(h web.Host) bool {
	name := strings.Trim(h.Name(), "[]")
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()) ||
		name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// filesFrom takes relative names of files from the folder of the job file that
// gives them.
func (j *Job) filesFrom(dir string) {
	for _, name := range []*string{&j.Scorer.Model, &j.Judge.Critic} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
	for _, list := range [][]string{j.Topic.Examples, j.Topic.Negatives} {
		for i, name := range list {
			if !isAddress(name) && !filepath.IsAbs(name) {
				list[i] = filepath.Join(dir, name)
			}
		}
	}
}

// onThisMachine tells whether a proxy's address is loopback.
func onThisMachine(proxy string) bool {
	u, err := url.Parse(proxy)
	if err != nil || proxy == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

func isAddress(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// defaultScorer is what a crawl goes by unless told otherwise.
const defaultScorer = "best-first-both"

func scorerNames() string {
	var names []string
	for _, l := range score.Names() {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

func judgeNames() string {
	var names []string
	for _, l := range judge.Names() {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}
