package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// setup makes a crawl of a job.
type setup struct {
	job    *Job
	col    collection.Collection
	own    *collection.Writer // nil where nothing is written: with resume, and not crawled
	resume bool
	// acceptLoss goes on with an archive or a log that holds less than was
	// acknowledged.
	acceptLoss bool
	note       func(string) // for the user, before the crawl begins
}

// crawl assembles the stages and runs them to the end of the crawl. It opens
// the view when the crawl begins, and closes it.
func (s *setup) crawl(ctx context.Context, show func() progress) (event.Ending, *event.Summary, error) {
	fetcher, err := s.fetcher(ctx)
	if err != nil {
		return "", nil, err
	}
	defer fetcher.Close()
	analyzer := text.NewAnalyzer()
	parser := parse.New(parse.Options{
		Analyzer: analyzer,
		Canon:    s.job.canon(),
	})
	top, err := s.topic(ctx, fetcher, parser)
	if ctx.Err() != nil {
		return "", nil, exit{exitStopped, errors.New("stopped while the example pages were fetched; run the same command again")}
	}
	if err != nil {
		return "", nil, err
	}
	j, err := s.judge(top, analyzer)
	if err != nil {
		return "", nil, exit{exitUsage, err}
	}
	defer j.Close()
	scorer, err := s.scorer(top, j, analyzer)
	if err != nil {
		return "", nil, exit{exitUsage, err}
	}
	s.job.resolve(j.Threshold())
	if err := saveJob(s.own, s.job); err != nil {
		return "", nil, err
	}

	stores, err := s.open(ctx)
	if err != nil {
		return "", nil, err
	}
	defer stores.Close()

	view := show()
	defer view.Close()
	sum := &event.Summary{}
	listen := func(e event.Event) {
		sum.Add(e)
		view.Add(e)
	}
	c := &crawl.Crawl{
		Frontier: stores.Frontier, Fetcher: fetcher, Parser: parser, Judge: j, Scorer: scorer, Archive: stores.Archive, Log: stores.Log,
		Policy: s.policy(), Name: s.job.Name, JudgeName: j.Name(), ScorerName: s.job.scorer(), Threshold: j.Threshold(),
		Workers: s.job.Fetch.Workers, Listen: listen,
	}
	for _, seed := range s.job.Seeds {
		u, err := s.job.canon().Parse(seed)
		if err != nil {
			return "", nil, exit{exitUsage, err}
		}
		c.Seeds = append(c.Seeds, u)
	}
	if s.resume {
		// The earlier runs are heard again, so that the figures go on from them.
		c.History = func(yield func(event.Event, error) bool) {
			for e, err := range s.col.Events() {
				if err == nil {
					sum.Add(e)
					view.Recall(e)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	how, err := c.Run(ctx)
	if err != nil {
		view.Close()
		return "", nil, fmt.Errorf("%w\nMend the cause, then go on with --resume", err)
	}
	return how, sum, errors.Join(s.own.SaveHarvest(), view.Close())
}

// open opens the stores of the crawl.
func (s *setup) open(ctx context.Context) (*collection.Stores, error) {
	stores, err := s.own.OpenStores(ctx, collection.StoreOptions{
		Frontier: frontier.Options{
			MaxPerHost: s.job.Scope.MaxHostQueue, Max: s.job.Scope.MaxQueue,
			Shortest: score.Shortest(s.job.scorer(), s.job.Scorer.Set),
		},
		Archive:    s.archiveOptions(),
		AcceptLoss: s.acceptLoss, Note: s.note,
	})
	var broken *collection.OpenError
	if errors.As(err, &broken) {
		if broken.Loss {
			err = fmt.Errorf("%w\n%s", err, lossRemedy)
		}
		if broken.Store == "frontier" && s.resume {
			err = fmt.Errorf("%w\nWhat was fetched is safe in %s; waggle web build %s -o WEB makes a recorded web of it", err, s.col.ArchiveDir(), s.col.Dir())
		}
	}
	return stores, err
}

// archiveOptions are what the archive tells of the crawl.
func (s *setup) archiveOptions() store.Options {
	return store.Options{
		Prefix: slug(s.job.Name), Software: "waggle/" + version, Operator: s.job.Contact, Job: s.job.Name, Robots: "obey",
	}
}

const lossRemedy = `The machine may have lost power within seconds of writing, or files were removed.
Put the files back, or go on without what is missing: --resume --accept-loss
(the addresses of pages that are lost are then listed in lost.txt).`

// fetcher assembles the stack that fetches.
func (s *setup) fetcher(ctx context.Context) (*fetch.Stack, error) {
	o, err := s.fetchOptions(ctx)
	if err != nil {
		return nil, err
	}
	return fetch.New(o)
}

// fetchOptions are what the job says of fetching.
func (s *setup) fetchOptions(ctx context.Context) (fetch.Options, error) {
	f := &s.job.Fetch
	o := fetch.Options{
		Contact: s.job.Contact, Version: version, Delay: s.job.delay(), Canon: s.job.canon(),
		CrawlDelayCap: time.Duration(s.job.Politeness.MaxCrawlDelay),
		Timeout:       time.Duration(f.Timeout), MaxBody: int(f.MaxBody), Types: f.Types, AllowPrivate: f.AllowPrivate,
	}
	if o.Delay == 0 {
		o.Delay = -1 // none
	}
	if f.Through == "" {
		return o, nil
	}
	var err error
	if o.Proxy, err = url.Parse(f.Through); err != nil {
		return o, exit{exitUsage, fmt.Errorf("--through: %w", err)}
	}
	var pem []byte
	switch {
	case f.ThroughCA != "":
		if pem, err = os.ReadFile(f.ThroughCA); err != nil {
			return o, exit{exitUsage, fmt.Errorf("--through-ca: %w", err)}
		}
	case onThisMachine(f.Through):
		if pem, err = askCA(ctx, f.Through); err != nil {
			return o, fmt.Errorf("--through %s: %w", f.Through, err)
		}
	}
	if len(pem) == 0 {
		// Not a recorded web: what it fetches may well be the live one.
		if err := s.job.polite("set contact: in the job file, or give"); err != nil {
			return o, exit{exitUsage, err}
		}
	} else {
		if o.CAs, err = x509.SystemCertPool(); err != nil {
			o.CAs = x509.NewCertPool()
		}
		if !o.CAs.AppendCertsFromPEM(pem) {
			return o, exit{exitUsage, fmt.Errorf("no certificate in PEM form in %s", cmp.Or(f.ThroughCA, f.Through+corpus.CertificatePath))}
		}
	}
	return o, nil
}

// askCA asks a proxy on this machine for its certificate; one that has none is
// no recorded web, and then the system's certificates hold.
func askCA(ctx context.Context, proxy string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(proxy, "/")+corpus.CertificatePath, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("no proxy answers there (%w): start it with waggle web serve", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

// topic brings together what the job says of its topic: on a first run the
// example pages are fetched and kept, so that a later run judges by the same.
func (s *setup) topic(ctx context.Context, f fetch.Fetcher, p *parse.Parser) (*topic.Topic, error) {
	t := &topic.Topic{Name: s.job.Name, Description: s.job.Topic.Description, Keywords: s.job.Topic.Keywords}
	var examples []collection.Example
	var err error
	if s.resume {
		examples, err = s.col.Examples()
		if err == nil && len(s.job.Topic.Examples) > 0 && !folder.Exists(s.col.ExampleFile()) {
			err = fmt.Errorf("%s is missing: the judge was made of it and cannot be made again without; put it back, or begin a new crawl", s.col.ExampleFile())
		}
	} else if examples, err = s.gather(ctx, f); err == nil {
		err = s.own.SaveExamples(examples)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range examples {
		page, err := parseExample(p, e)
		if err != nil {
			return nil, fmt.Errorf("example %s: %w", e.Source, err)
		}
		if len(page.Terms) == 0 {
			s.note(fmt.Sprintf("example %s has no text and is left out", e.Source))
			continue
		}
		if e.Negative {
			t.Negatives = append(t.Negatives, page)
		} else {
			t.Examples = append(t.Examples, page)
		}
	}
	return t, nil
}

func parseExample(p *parse.Parser, e collection.Example) (*web.Page, error) {
	u, err := web.Parse(e.URL)
	if err != nil {
		return nil, err
	}
	return p.Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {e.MIME}}, Raw: e.Body, Body: e.Body,
	})
}

// gather reads and fetches the example pages. One that cannot be had is left
// out with a word, unless nothing would be left to judge by.
func (s *setup) gather(ctx context.Context, f fetch.Fetcher) (examples []collection.Example, err error) {
	var lost []error
	take := func(sources []string, negative bool) error {
		for _, src := range sources {
			e, err := s.one(ctx, f, src)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				lost = append(lost, fmt.Errorf("example %s: %w", src, err))
				s.note(fmt.Sprintf("example %s is left out: %v", src, err))
				continue
			}
			e.Negative = negative
			examples = append(examples, e)
		}
		return nil
	}
	if err := errors.Join(take(s.job.Topic.Examples, false), take(s.job.Topic.Negatives, true)); err != nil {
		return nil, err
	}
	if len(lost) > 0 && len(examples) == 0 && len(s.job.Topic.Keywords) == 0 && s.job.Topic.Description == "" {
		return nil, fmt.Errorf("no example page could be had, and there are no keywords:\n%w", errors.Join(lost...))
	}
	return examples, nil
}

// maxExample bounds an example file, in bytes.
const maxExample = 10 << 20

// one brings one example page.
func (s *setup) one(ctx context.Context, f fetch.Fetcher, src string) (collection.Example, error) {
	if !isAddress(src) {
		file, err := os.Open(src)
		if err != nil {
			return collection.Example{}, err
		}
		defer file.Close()
		b, err := io.ReadAll(io.LimitReader(file, maxExample))
		if err != nil {
			return collection.Example{}, err
		}
		if kind := http.DetectContentType(b); len(b) > 0 && !strings.HasPrefix(kind, "text/") {
			return collection.Example{}, fmt.Errorf("it is %s, neither text nor HTML", kind)
		}
		mime := "text/html"
		if strings.EqualFold(filepath.Ext(src), ".txt") {
			mime = "text/plain"
		}
		return collection.Example{Source: src, URL: "http://example.invalid/", MIME: mime, Body: b}, nil
	}
	u, err := web.Parse(src)
	if err != nil {
		return collection.Example{}, err
	}
	s.note("example " + src)
	r, err := fetch.Follow(ctx, f, u, 10)
	if err != nil {
		return collection.Example{}, err
	}
	if r.Status != 200 {
		return collection.Example{}, fmt.Errorf("status %d", r.Status)
	}
	mime := ""
	if v := r.Header["Content-Type"]; len(v) > 0 {
		mime = v[0]
	}
	return collection.Example{Source: src, URL: r.URL.String(), MIME: mime, Body: r.Body}, nil
}

func (s *setup) judge(t *topic.Topic, a *text.Analyzer) (judge.Judge, error) {
	j := &s.job.Judge
	o := judge.Options{Analyzer: a, Command: j.Command, Focus: j.Focus, Printed: j.Printed, Anyway: j.Anyway}
	if j.Name == "critic" && j.Critic != "" {
		var err error
		if o.Critic, err = s.critic(); err != nil {
			return nil, err
		}
	}
	if j.Threshold != nil {
		o.Threshold = *j.Threshold
	}
	for _, r := range j.Rules {
		o.Rules = append(o.Rules, judge.Rule{Field: r.Field, Pattern: r.Pattern, Weight: r.Weight})
	}
	made, err := judge.New(j.Name, t, o)
	if d, ok := made.(judge.Doubter); ok {
		var doubts []string
		if doubts, err = d.Doubts(); err != nil && j.Anyway {
			doubts, err = []string{err.Error()}, nil
		}
		for _, note := range doubts {
			s.note(note)
		}
	}
	if errors.Is(err, judge.ErrBlind) {
		err = fmt.Errorf("%w; or go by it all the same, with anyway: true at the judge of the job file", err)
	}
	if err != nil {
		if made != nil {
			err = errors.Join(err, made.Close())
		}
		return nil, err
	}
	return made, nil
}

// critic reads the critic of the job. A first run keeps a copy, so that a later
// one judges by the same.
func (s *setup) critic() (*judge.Critic, error) {
	name := s.job.Judge.Critic
	if s.resume {
		name = s.col.CriticFile()
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the critic: %w", err)
	}
	c, err := judge.ReadCritic(b, name)
	if err != nil {
		return nil, err
	}
	if !s.resume {
		err = s.own.SaveCritic(b)
	}
	return c, err
}

func (s *setup) scorer(t *topic.Topic, j judge.Judge, a *text.Analyzer) (crawl.Scorer, error) {
	o := score.Options{
		Seed: s.job.Scorer.Seed, Anchor: j.Text, Keywords: t.Keywords, Analyzer: a, Set: s.job.Scorer.Set,
	}
	if n := s.job.Scorer.Batch; n > 0 && s.job.scorer() == "best-n-first" {
		o.Set = map[string]float64{"batch": float64(n)}
		maps.Copy(o.Set, s.job.Scorer.Set)
	}
	o.Classes = judge.ClassNames(j)
	var err error
	words := lab.Thesaurus{WordNet: s.job.Scorer.WordNet, Table: s.job.Scorer.Thesaurus}
	if o.Thesaurus, err = words.Open(); err != nil {
		return nil, err
	}
	if sim := s.job.Scorer.Similarity; sim != "" && sim != "judge" {
		var err error
		if o.Page, o.Anchor, err = judge.Similarities(sim, t, a); err != nil {
			return nil, err
		}
	}
	if s.job.Scorer.Model != "" {
		if o.Model, err = s.model(a); err != nil {
			return nil, err
		}
	}
	return score.New(s.job.scorer(), o)
}

// model reads the trained model of the scorer. A copy of it stays with the
// crawl: the links that wait carry what that very model made of them.
func (s *setup) model(a *text.Analyzer) (*model.File, error) {
	if s.resume {
		b, err := os.ReadFile(s.col.ModelFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the crawl's copy of its trained model is gone: put it back, or copy the model it was begun with (%s) to %s", s.job.Scorer.Model, s.col.ModelFile())
		}
		if err != nil {
			return nil, fmt.Errorf("the crawl's copy of its trained model: %w", err)
		}
		if was, is := s.job.Scorer.Digest, modelDigest(b); was != "" && was != is {
			return nil, fmt.Errorf("%s is not the model that the crawl was begun with (%s): the links that wait carry what that one made of them; copy it there, or begin a new crawl", s.col.ModelFile(), s.job.Scorer.Model)
		}
		return model.Read(s.col.ModelFile(), a)
	}
	f, err := model.Read(s.job.Scorer.Model, a)
	if err != nil {
		return nil, err
	}
	if was := f.Provenance.Texts; f.Kind == model.Apprentice && was["judge"] != "" {
		if differ := differingAims(was, s.job.aim()); differ != "" {
			s.note(fmt.Sprintf("%s learnt from a crawl of another aim, %s (%s): what it promises is what that one wanted; leave --model out, or make a model of a crawl like this one with waggle train apprentice",
				s.job.Scorer.Model, event.Line(f.Provenance.Topic), differ))
		}
	}
	if err := f.Write(s.col.ModelFile()); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.col.ModelFile())
	s.job.Scorer.Digest = modelDigest(b)
	return f, err
}

// modelDigest tells models apart.
func modelDigest(file []byte) string { return fmt.Sprintf("%x", sha256.Sum256(file)) }

// takesModel tells whether a scorer goes by a trained model: it needs one, or it
// is an apprentice, which can begin with what an earlier one learnt.
func takesModel(scorer string) bool {
	return score.Model(scorer) != "" || strings.HasPrefix(scorer, "apprentice")
}

func (j *Job) scorer() string {
	if j.Scorer.Name == "" {
		return defaultScorer
	}
	return j.Scorer.Name
}

// policy is what the job allows.
func (s *setup) policy() crawl.Policy {
	j := s.job
	p := crawl.Policy{
		Pages: j.Budget.Pages, Time: time.Duration(j.Budget.Time), MaxDepth: j.Scope.MaxDepth,
		MaxHostPages: j.Scope.MaxHostPages, Delay: j.delay(), HonourNoFollow: j.Politeness.ObeyNoFollow,
		Scope: crawl.Scope{Reach: crawl.Reach(j.Scope.Reach)},
	}
	for _, x := range j.Scope.Include {
		p.Scope.Include = append(p.Scope.Include, regexp.MustCompile(x))
	}
	for _, x := range j.Scope.Exclude {
		p.Scope.Exclude = append(p.Scope.Exclude, regexp.MustCompile(x))
	}
	return p
}

// canon are the job's rules for addresses.
func (j *Job) canon() web.Canon {
	return web.Canon{StripSessions: !j.Addresses.KeepSessions, StripTracking: !j.Addresses.KeepTracking}
}

// resolve writes into the job the defaults that are in force, so that the
// crawl goes on under them whatever those of a later waggle are.
func (j *Job) resolve(threshold float64) {
	j.Name = cmp.Or(j.Name, "crawl")
	j.Judge.Name = cmp.Or(j.Judge.Name, "topic")
	j.Judge.Threshold = &threshold
	j.Scorer.Name = j.scorer()
	j.Scorer.Similarity = cmp.Or(j.Scorer.Similarity, "judge")
	j.Scope.Reach = cmp.Or(j.Scope.Reach, string(crawl.ReachAny))
	j.Scope.MaxDepth = cmp.Or(j.Scope.MaxDepth, 50)
	j.Scope.MaxHostQueue = cmp.Or(j.Scope.MaxHostQueue, 10_000)
	delay := Duration(j.delay())
	j.Politeness.Delay = &delay
	j.Politeness.MaxCrawlDelay = cmp.Or(j.Politeness.MaxCrawlDelay, Duration(time.Minute))
	j.Fetch.Workers = cmp.Or(j.Fetch.Workers, 32)
	j.Fetch.Timeout = cmp.Or(j.Fetch.Timeout, Duration(10*time.Second))
	j.Fetch.MaxBody = cmp.Or(j.Fetch.MaxBody, 10<<20)
	if len(j.Fetch.Types) == 0 {
		j.Fetch.Types = []string{"text/html", "application/xhtml+xml"}
	}
}

// slug makes the beginning of file names of a crawl's name.
func slug(name string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return clip(strings.Trim(s, "-"), 60)
}
