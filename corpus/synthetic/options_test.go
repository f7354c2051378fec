package synthetic_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// TestParameters turns one parameter at a time and measures the pages.
func TestParameters(t *testing.T) {
	inContent := func(l web.Link) bool { return !strings.Contains(l.TagPath, "ul.menu") }
	linksThat := func(t *testing.T, w *synthetic.Web, holds func(p *web.Page, l web.Link) bool) float64 {
		n, of := 0, 0
		for _, p := range walk(t, w, 80) {
			for _, l := range p.Links {
				if inContent(l) {
					of++
					if holds(p, l) {
						n++
					}
				}
			}
		}
		return float64(n) / float64(of)
	}
	sameTopic := func(t *testing.T, w *synthetic.Web) float64 {
		return linksThat(t, w, func(p *web.Page, l web.Link) bool {
			a, _ := w.Facts(p.URL)
			b, ok := w.Facts(follow(t, w, l.URL))
			return ok && a.Topic == b.Topic
		})
	}
	topical := func(level int) func(t *testing.T, w *synthetic.Web) float64 {
		return func(t *testing.T, w *synthetic.Web) float64 {
			vocabulary := map[string]bool{}
			for _, k := range w.Topic(0).Keywords {
				vocabulary[k] = true
			}
			n, of := 0, 0
			p := parse.New(parse.Options{})
			for _, u := range w.Some(0, level, 20) {
				for word := range strings.FieldsSeq(parsed(t, w, p, u).Main) {
					of++
					if vocabulary[word] {
						n++
					}
				}
			}
			return float64(n) / float64(of)
		}
	}
	for _, c := range []struct {
		name      string
		low, high func(*synthetic.Options)
		measure   func(*testing.T, *synthetic.Web) float64
		// The measure is to be about these; NaN = less, and more, than the
		// other by half as much again.
		atLow, atHigh float64
	}{
		{"locality", func(o *synthetic.Options) { o.Locality, o.Dead, o.Duplicates, o.Traps, o.Inside = 0, 0, 0, 0, 0 },
			func(o *synthetic.Options) { o.Locality, o.Dead, o.Duplicates, o.Traps = 0.9, 0, 0, 0 }, sameTopic, 0.2, 0.92},
		{"near", func(o *synthetic.Options) { o.Locality, o.Near, o.Targets, o.Growth = 1, 0, 0.001, 1 },
			func(o *synthetic.Options) { o.Locality, o.Near, o.Targets, o.Growth = 1, 1, 0.001, 1 },
			func(t *testing.T, w *synthetic.Web) float64 {
				n, of := 0, 0
				p := parse.New(parse.Options{})
				for topic := range 5 {
					for _, u := range w.Some(topic, 0, 10) {
						for _, l := range parsed(t, w, p, u).Links {
							if inContent(l) {
								of++
								if f, ok := w.Facts(follow(t, w, l.URL)); ok && f.Level <= 1 {
									n++
								}
							}
						}
					}
				}
				return float64(n) / float64(of)
			}, 0, 0.9},
		{"inside", func(o *synthetic.Options) { o.Locality, o.Inside, o.Dead, o.Traps = 0, 0, 0, 0 },
			func(o *synthetic.Options) { o.Locality, o.Inside, o.Dead, o.Traps = 0, 0.8, 0, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return linksThat(t, w, func(p *web.Page, l web.Link) bool {
					f, _ := w.Facts(p.URL)
					return !f.Copy && l.URL.Host() == p.URL.Host()
				})
			}, 0.02, 0.75},
		{"dead", func(o *synthetic.Options) { o.Dead = 0 }, func(o *synthetic.Options) { o.Dead = 0.5 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return linksThat(t, w, func(_ *web.Page, l web.Link) bool { return fetch(t, w, l.URL).Status == 404 })
			}, 0, 1. / 3},
		{"redirects", func(o *synthetic.Options) { o.Redirects, o.Dead, o.Traps = 0, 0, 0 },
			func(o *synthetic.Options) { o.Redirects, o.Dead, o.Traps = 0.4, 0, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return linksThat(t, w, func(_ *web.Page, l web.Link) bool { return fetch(t, w, l.URL).Status == 301 })
			}, 0, 0.4},
		{"duplicates", func(o *synthetic.Options) { o.Duplicates = 0 }, func(o *synthetic.Options) { o.Duplicates = 0.3 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return shareOf(t, w, func(p *web.Page) bool { f, _ := w.Facts(p.URL); return f.Copy })
			}, 0, 0.2},
		{"links", func(o *synthetic.Options) { o.Links, o.Template, o.Dead, o.Traps = 5, 0, 0, 0 },
			func(o *synthetic.Options) { o.Links, o.Template, o.Dead, o.Traps = 50, 0, 0, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				n := 0
				pages := walk(t, w, 200)
				for _, p := range pages {
					n += len(p.Links)
				}
				return float64(n) / float64(len(pages))
			}, 5, 50},
		{"template", func(o *synthetic.Options) { o.Template = 0 }, func(o *synthetic.Options) { o.Template = 30 },
			func(t *testing.T, w *synthetic.Web) float64 {
				pages := walk(t, w, 50)
				n := 0
				for _, p := range pages {
					for _, l := range p.Links {
						if !inContent(l) {
							n++
						}
					}
				}
				return float64(n) / float64(len(pages))
			}, 0, 30},
		{"signal", func(o *synthetic.Options) { o.Signal = 0 }, func(o *synthetic.Options) { o.Signal = 0.6 }, topical(0), math.NaN(), math.NaN()},
		{"decay", func(o *synthetic.Options) { o.Signal, o.Decay = 0.6, 0.1 }, func(o *synthetic.Options) { o.Signal, o.Decay = 0.6, 1 }, topical(2), math.NaN(), math.NaN()},
		{"trail", func(o *synthetic.Options) { o.Signal, o.Decay, o.Trail = 0.6, 1, 1 }, func(o *synthetic.Options) { o.Signal, o.Decay, o.Trail = 0.6, 1, 0 }, topical(2), math.NaN(), math.NaN()},
		{"targets", func(o *synthetic.Options) { o.Targets, o.Hops, o.Duplicates, o.Near = 0.01, 0, 0, 0 }, func(o *synthetic.Options) { o.Targets, o.Hops, o.Duplicates, o.Near = 0.3, 0, 0, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return shareOf(t, w, func(p *web.Page) bool { f, _ := w.Facts(p.URL); return f.Level == 0 })
			}, 0.01, 0.3},
		{"growth", func(o *synthetic.Options) { o.Targets, o.Hops, o.Growth, o.Near = 0.02, 2, 1, 0 }, func(o *synthetic.Options) { o.Targets, o.Hops, o.Growth, o.Near = 0.02, 2, 5, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return shareOf(t, w, func(p *web.Page) bool { f, _ := w.Facts(p.URL); return f.Level == 2 })
			}, math.NaN(), math.NaN()},
		{"focus", func(o *synthetic.Options) { o.Focus, o.Duplicates, o.Locality = 0, 0, 0 }, func(o *synthetic.Options) { o.Focus, o.Duplicates, o.Locality = 0.9, 0, 0 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return shareOf(t, w, func(p *web.Page) bool {
					f, _ := w.Facts(p.URL)
					var h int
					fmt.Sscanf(string(p.URL.Host()), "h%d.", &h)
					return f.Topic == h%5
				})
			}, 0.2, 0.92},
		{"boilerplate", func(o *synthetic.Options) { o.Boilerplate = 0 }, func(o *synthetic.Options) { o.Boilerplate = 300 },
			func(t *testing.T, w *synthetic.Web) float64 {
				a := fetch(t, w, at(t, "http://h7.synthetic.example/"))
				return float64(bytes.Count(between(a.Body, "<div class=banner>", "</div>"), []byte(" ")))
			}, 0, 300},
		{"traps", func(o *synthetic.Options) { o.Traps = 0 }, func(o *synthetic.Options) { o.Traps = 1 },
			func(t *testing.T, w *synthetic.Web) float64 {
				if w.Has(at(t, "http://h7.synthetic.example/calendar?day=123456789")) {
					return 1
				}
				return 0
			}, 0, 1},
		{"anchors", func(o *synthetic.Options) { o.Anchors = 0 }, func(o *synthetic.Options) { o.Anchors = 1 },
			func(t *testing.T, w *synthetic.Web) float64 {
				return linksThat(t, w, func(_ *web.Page, l web.Link) bool {
					f, ok := w.Facts(l.URL)
					return ok && slices.ContainsFunc(w.Topic(f.Topic).Keywords, func(k string) bool { return strings.Contains(l.Anchor, k) })
				})
			}, math.NaN(), math.NaN()},
	} {
		t.Run(c.name, func(t *testing.T) {
			low, high := c.measure(t, made(t, c.low)), c.measure(t, made(t, c.high))
			t.Logf("%.3f and %.3f", low, high)
			if math.IsNaN(c.atLow) {
				if !(high > 1.5*low) {
					t.Errorf("low gives %.3f and high %.3f", low, high)
				}
				return
			}
			for _, x := range [][2]float64{{low, c.atLow}, {high, c.atHigh}} {
				if got, want := x[0], x[1]; math.Abs(got-want) > 0.1+0.05*want {
					t.Errorf("%.3f, want about %.3f", got, want)
				}
			}
		})
	}
}

func between(b []byte, from, to string) []byte {
	_, b, _ = bytes.Cut(b, []byte(from))
	b, _, _ = bytes.Cut(b, []byte(to))
	return b
}

// TestAnyOptions: whatever is allowed makes a web that can be fetched from.
func TestAnyOptions(t *testing.T) {
	share := func(t *rapid.T, name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
	rapid.Check(t, func(t *rapid.T) {
		o := synthetic.Options{
			Seed: rapid.Uint64().Draw(t, "seed"), Topics: rapid.IntRange(1, 20).Draw(t, "topics"),
			PagesPerHost: rapid.IntRange(1, 9000).Draw(t, "pages"), Hops: rapid.IntRange(0, 20).Draw(t, "hops"),
			Focus: share(t, "focus"), Targets: rapid.Float64Range(0.001, 1).Draw(t, "targets"), Growth: rapid.Float64Range(0.1, 10).Draw(t, "growth"),
			Links: rapid.IntRange(1, 40).Draw(t, "links"), Locality: share(t, "locality"), Near: share(t, "near"), Inside: share(t, "inside"), Anchors: share(t, "anchors"),
			Words: rapid.IntRange(0, 300).Draw(t, "words"), Signal: share(t, "signal"), Decay: share(t, "decay"), Trail: share(t, "trail"),
			Template: rapid.IntRange(0, 20).Draw(t, "template"), Boilerplate: rapid.IntRange(0, 100).Draw(t, "boilerplate"),
			Duplicates: share(t, "duplicates"), Redirects: share(t, "redirects"), Dead: share(t, "dead"), Traps: share(t, "traps"),
		}
		o.Hosts = o.Topics + rapid.IntRange(0, 50).Draw(t, "hosts")
		w, err := synthetic.New(o)
		if err != nil {
			t.Fatal(err)
		}
		u, err := web.Parse(fmt.Sprintf("http://h%d.synthetic.example/", rapid.IntRange(0, o.Hosts-1).Draw(t, "host")))
		if err != nil {
			t.Fatal(err)
		}
		p := parse.New(parse.Options{})
		for range 3 {
			r, err := w.Fetch(context.Background(), u)
			if err != nil || r.Status != 200 && r.Status != 301 {
				t.Fatalf("%s: %+v, %v", u, r, err)
			}
			if r.Status == 301 {
				u = r.Location
				continue
			}
			page, err := p.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page.Links {
				if w.Has(l.URL) {
					u = l.URL
				}
			}
		}
	})
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*synthetic.Options)
		want   string
	}{
		{func(o *synthetic.Options) { o.Hosts = 0 }, "Hosts is 0"},
		{func(o *synthetic.Options) { o.Hosts, o.Topics = 3, 4 }, "Hosts is 3, want 4"},
		{func(o *synthetic.Options) { o.Locality = 1.5 }, "Locality is 1.5"},
		{func(o *synthetic.Options) { o.Decay = math.NaN() }, "Decay is NaN"},
		{func(o *synthetic.Options) { o.Trail = 2 }, "Trail is 2"},
		{func(o *synthetic.Options) { o.Targets = 1e-9 }, "Targets of 1e-09"},
		{func(o *synthetic.Options) { o.Growth = 0 }, "Growth of 0"},
		{func(o *synthetic.Options) { o.Links, o.Words = 0, -1 }, "Links is 0"},
	} {
		o := synthetic.Defaults()
		c.change(&o)
		if _, err := synthetic.New(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}
