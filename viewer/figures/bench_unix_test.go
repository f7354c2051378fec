//go:build unix

package figures

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkLook measures what each screen asks of the figures of 20,000 pages on 1,000
// hosts, or of WAGGLE_EVENTS. Metrics are the time and the processor time of the process meanwhile,
// which tells more where other programs run.
func BenchmarkLook(b *testing.B) {
	n := 20_000
	if s := os.Getenv("WAGGLE_EVENTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	c := New()
	rng := rand.New(rand.NewPCG(1, 0))
	address := func(i int) web.URL { return addr(b, fmt.Sprintf("https://host%d.test/page/%d", i%1000, i)) }
	titles := []string{"Honey bees and the language of dances – a guide", "Contact and imprint", "News of the year: what was built, planted and sown", "Übersicht"}
	for i := range n {
		r := rng.Float64()
		f := event.Fetched{At: at(i), Visit: event.Visit{URL: address(i), From: address(i / 4)}, MIME: "text/html", Language: "en", Title: titles[i%len(titles)], Relevance: r, Relevant: r >= 0.5}
		for k := range 4 {
			f.Queued = append(f.Queued, event.Found{URL: address(4*i + k), Priority: rng.Float64()})
		}
		c.Add(f, int64(i))
	}
	// turned is the list that follows one that was shown.
	turned := func(f Filter) func() {
		shown := false
		return func() {
			if !shown {
				c.List(f)
				shown = true
			}
			next := f
			next.From += f.N
			c.List(next)
		}
	}
	for _, look := range []struct {
		name string
		at   func()
	}{
		{"figures", func() { c.Figures() }},
		{"curve", func() { c.Curve(400) }},
		{"frontier", func() { c.Waiting(24); c.Hosts("waiting", "", 0, 10) }},
		{"hosts", func() { c.Hosts("pages", "", 0, 80) }},
		{"failures", func() { c.Failures(); c.Skips() }},
		{"choices", func() { c.Choices() }},
		{"pages", func() { c.List(Filter{Down: true, N: 50}) }},
		{"pages-by-relevance", func() { c.List(Filter{Order: "relevance", Down: true, N: 50}) }},
		{"pages-by-relevance-deep", func() { c.List(Filter{Order: "relevance", Down: true, From: n / 2, N: 50}) }},
		{"pages-by-address-deep", func() { c.List(Filter{Order: "address", From: n / 2, N: 50}) }},
		{"pages-by-relevance-turned", turned(Filter{Order: "relevance", Down: true, From: n / 2, N: 50})},
		{"pages-by-address", func() { c.List(Filter{Order: "address", N: 50}) }},
		{"pages-by-address-turned", turned(Filter{Order: "address", From: n / 2, N: 50})},
		{"words-of-all", func() { c.List(Filter{Text: "page", Down: true, Fold: true, N: 50}) }},
		{"words-of-some", func() { c.List(Filter{Text: "Host7 99", Down: true, Fold: true, N: 50}) }},
		{"words-of-some-by-relevance", func() { c.List(Filter{Text: "host7 99", Order: "relevance", Down: true, Fold: true, N: 50}) }},
		{"words-of-none", func() { c.List(Filter{Text: "waggle dance", Down: true, Fold: true, N: 50}) }},
		{"graph", func() { c.Graph(200) }},
	} {
		b.Run(look.name, func(b *testing.B) {
			look.at()
			runtime.GC() // it would mark the figures, a gigabyte, while they are looked at
			began := processorTime(b)
			for b.Loop() {
				look.at()
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is that of the process so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
