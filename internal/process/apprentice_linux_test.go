package process

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkApprenticeSweep scores a million links that wait on disk anew by an
// apprentice that learned from 2,000 pages, in the slices of a crawl:
//
//	go test -run '^$' -bench ApprenticeSweep -benchtime 1x ./internal/process
//
// Links have the words of a made-up page within five leaves, about 50 each. A
// slice is how long a crawl gives out no leases; its CPU time is that of its
// thread, which a busy machine does not stretch.
func BenchmarkApprenticeSweep(b *testing.B) {
	const links, pages, slice = 1_000_000, 10_000, 2048
	analyzer := text.NewAnalyzer()
	for range b.N {
		s, err := score.New("apprentice-tempered", score.Options{Analyzer: analyzer})
		if err != nil {
			b.Fatal(err)
		}
		f, err := frontier.Open(b.TempDir(), frontier.Options{})
		if err != nil {
			b.Fatal(err)
		}
		chance := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(chance, 1.1, 8, 60_000)
		words := func(most int) string {
			var w strings.Builder
			for range chance.IntN(most) {
				fmt.Fprintf(&w, "word%d ", zipf.Uint64())
			}
			return w.String()
		}
		size := 0
		for n := range pages {
			p := &web.Page{}
			for i := range links / pages {
				u, err := web.Parse(fmt.Sprintf("http://h%d.example/some/path/page%d.html", chance.IntN(2000), n*links/pages+i))
				if err != nil {
					b.Fatal(err)
				}
				p.Links = append(p.Links, web.Link{URL: u, First: len(p.Leaves) + 1, Last: len(p.Leaves) + 1})
				p.Leaves = append(p.Leaves, web.Leaf{Text: words(24)}, web.Leaf{Text: words(8)}, web.Leaf{}, web.Leaf{Text: words(10)})
			}
			features := s.Extract(p, web.Verdict{Relevance: 0.5})
			var turn web.Turn
			for i, l := range p.Links {
				size += len(features[i])
				turn.Add = append(turn.Add, web.Candidate{URL: l.URL, Kind: web.LinkA, Priority: chance.Float64(), Features: features[i]})
			}
			if _, err := f.Commit(b.Context(), turn); err != nil {
				b.Fatal(err)
			}
			if n < 2000 {
				r := chance.Float64()
				s.Visit(&turn.Add[0], &web.Page{URL: p.Links[0].URL}, web.Verdict{Relevance: r, Relevant: r > 0.5})
			}
		}
		runtime.LockOSThread()
		var took, cost []time.Duration
		wall, cpu := time.Now(), cpuTime(syscall.RUSAGE_SELF)
		for at := []byte(nil); ; {
			began, spent := time.Now(), cpuTime(rusageThread)
			if at, err = f.Rescore(b.Context(), at, slice, s.Score); err != nil {
				b.Fatal(err)
			}
			took, cost = append(took, time.Since(began)), append(cost, cpuTime(rusageThread)-spent)
			if at == nil {
				break
			}
		}
		b.ReportMetric(time.Since(wall).Seconds(), "s/sweep")
		b.ReportMetric((cpuTime(syscall.RUSAGE_SELF) - cpu).Seconds(), "cpu-s/sweep")
		runtime.UnlockOSThread()
		slices.Sort(took)
		slices.Sort(cost)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms/slice-p50")
		b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "ms/slice-p99")
		b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms/slice-longest")
		b.ReportMetric(float64(cost[len(cost)-1].Milliseconds()), "cpu-ms/slice-longest")
		b.ReportMetric(float64(size)/links, "B/link")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

const rusageThread = 1 // RUSAGE_THREAD of getrusage(2)

// cpuTime is what the process, or its calling thread, has used.
func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
