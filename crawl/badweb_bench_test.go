package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkGoodSites crawls the sites on which nothing is wrong, alone and among all that is
// wrong, onto the disk, with as many workers, as much patience, as long a pause between two requests to a host and as
// little memory for bodies as a crawl of the live web has:
//
//	go test -run '^$' -bench GoodSites -benchtime 3x ./crawl
//
// pace is the time from the first good page to the last, alone, divided by that among the
// others, one after the other. pace-beside is that of both at the same time,
// in which what is wrong takes as much processor time from one as from the other: what is
// missing there to 1 is lost by waiting for workers, cores and turns. The benchmark fails where
// one of the two is below paceBar, .8, and where fewer than badBar, half of all that is wrong,
// were asked between the first good page and the last, or the memory of the process was above peakBar. On two cores with a load
// of 15 these are .93 and 1.00; they were .78 and .83 when light bodies waited in one line with
// bodies that take a core for a second each.
func BenchmarkGoodSites(b *testing.B) {
	in, beside := pace{asked: 1}, pace{asked: 1}
	for b.Loop() {
		peak := peakMemory(b)
		err := in.add(b, inTurns)
		most := peak()
		if err := errors.Join(err, beside.add(b, atOnce)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(most)/1e6, "peak-MB")
		if most > peakBar {
			b.Errorf("%d MB of memory, more than %d", most/1e6, int(peakBar)/1e6)
		}
	}
	b.ReportMetric(in.alone.Seconds()/float64(b.N), "alone-s")
	b.ReportMetric(in.among.Seconds()/float64(b.N), "among-s")
	for _, way := range []struct {
		unit string
		pace
	}{{"pace", in}, {"pace-beside", beside}} {
		r := way.ratio()
		b.ReportMetric(r, way.unit)
		if r < paceBar {
			b.Errorf("%s is %.3f, below the bar of %.1f", way.unit, r, paceBar)
		}
		b.ReportMetric(way.asked, way.unit+"-asked")
		if way.asked < badBar {
			b.Errorf("%s: of all that is wrong %.2f were asked meanwhile, less than %.1f", way.unit, way.asked, badBar)
		}
	}
}

// paceBar is the least share of their pace alone that good sites keep among all that is wrong.
const paceBar = .8

// peakBar is the most memory of a crawl among all that is wrong, in bytes.
const peakBar = 500e6

// badBar is the least share of the misbehaviours that have an outcome while good sites are
// crawled among them.
const badBar = .5

// pace is how long good sites took, and which share of the misbehaviours was asked meanwhile,
// at least.
type pace struct {
	alone, among time.Duration
	asked        float64
}

// add crawls alone and among the others, as run has it: in turns, or at the same time.
func (p *pace) add(b *testing.B, run func(...func() error) error) error {
	var asked float64
	alone, among := b.TempDir(), b.TempDir()
	err := run(func() error {
		took, _, err := goodSites(b.Context(), alone, onlyGood)
		p.alone += took
		return err
	}, func() (err error) {
		var took time.Duration
		took, asked, err = goodSites(b.Context(), among, all)
		p.among += took
		return err
	})
	p.asked = min(p.asked, asked)
	return err
}

func inTurns(tasks ...func() error) error { return errors.Join(tasks[0](), tasks[1]()) }

func atOnce(tasks ...func() error) error {
	var g errgroup.Group
	for _, t := range tasks {
		g.Go(t)
	}
	return g.Wait()
}

func (p pace) ratio() float64 { return p.alone.Seconds() / p.among.Seconds() }

func onlyGood(bad *badweb.Server) []string { return bad.Good() }

func all(bad *badweb.Server) []string { return append(bad.Good(), bad.Index()) }

// goodSites crawls from some pages of a bad web into a folder, and returns the time from the first good page to the last,
// and the share of the misbehaviours that had an outcome in it.
func goodSites(ctx context.Context, dir string, from func(*badweb.Server) []string) (took time.Duration, asked float64, err error) {
	bad, err := badweb.Start()
	if err != nil {
		return 0, 0, err
	}
	defer bad.Close()
	fetcher, err := fetch.New(fetch.Options{
		Contact: "test@bad.test", Delay: time.Second, OwnHosts: []string{"bad.test"},
		CAs: bad.CAs(), Resolver: bad, Connect: bad.Connect, Memory: 256 << 20, // as of a job
	})
	if err != nil {
		return 0, 0, err
	}
	defer fetcher.Close()
	archive, err := store.Open(dir, store.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		return 0, 0, err
	}
	var seeds []web.URL
	for _, s := range from(bad) {
		u, err := web.Parse(s)
		if err != nil {
			return 0, 0, err
		}
		seeds = append(seeds, u)
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	unasked := map[web.URL]bool{}
	for _, s := range bad.Scenarios() {
		u, err := web.Parse(s.URL)
		if err != nil {
			return 0, 0, err
		}
		unasked[u] = true
	}
	wrong := len(unasked)
	var first, last time.Time
	left := len(bad.Good()) * badweb.GoodPages
	c := &crawl.Crawl{
		Seeds: seeds, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: fetcher,
		Parser: parse.New(parse.Options{}), Judge: evenJudge{}, Scorer: scorer, Archive: archive,
		Listen: func(e event.Event) {
			if f, ok := e.(event.Failed); ok && !first.IsZero() && left > 0 {
				delete(unasked, f.URL)
			}
			f, ok := e.(event.Fetched)
			if ok && !first.IsZero() && left > 0 {
				delete(unasked, f.URL)
			}
			if !ok || !strings.HasPrefix(string(f.URL.Host()), "good-") {
				return
			}
			if last = time.Now(); first.IsZero() {
				first = last
			}
			if left--; left == 0 {
				stop()
			}
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return 0, 0, err
	}
	if left > 0 {
		return 0, 0, fmt.Errorf("%d good pages were not fetched", left)
	}
	return last.Sub(first), float64(wrong-len(unasked)) / float64(wrong), nil
}
