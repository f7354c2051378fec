package synthetic_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func made(t testing.TB, change func(*synthetic.Options)) *synthetic.Web {
	t.Helper()
	o := synthetic.Defaults()
	o.Hosts, o.PagesPerHost, o.Topics, o.Seed = 200, 5000, 5, 1
	o.Words, o.Boilerplate, o.Links = 60, 10, 10
	if change != nil {
		change(&o)
	}
	w, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func at(t testing.TB, address string) web.URL {
	t.Helper()
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func fetch(t testing.TB, w *synthetic.Web, u web.URL) *web.Response {
	t.Helper()
	r, err := w.Fetch(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// follow fetches a page, over redirects.
func follow(t testing.TB, w *synthetic.Web, u web.URL) web.URL {
	t.Helper()
	if r := fetch(t, w, u); r.Status == 301 {
		return r.Location
	}
	return u
}

func parsed(t testing.TB, w *synthetic.Web, p *parse.Parser, u web.URL) *web.Page {
	t.Helper()
	page, err := p.Parse(fetch(t, w, u))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// walk gathers up to n pages by their links, from the home page of a host.
func walk(t testing.TB, w *synthetic.Web, n int) (pages []*web.Page) {
	t.Helper()
	p := parse.New(parse.Options{})
	queue := []web.URL{at(t, "http://h3.synthetic.example/")}
	seen := map[web.URL]bool{queue[0]: true}
	for len(queue) > 0 && len(pages) < n {
		u := follow(t, w, queue[0])
		queue = queue[1:]
		if _, ok := w.Facts(u); !ok {
			continue
		}
		page := parsed(t, w, p, u)
		pages = append(pages, page)
		for _, l := range page.Links {
			if !seen[l.URL] {
				seen[l.URL] = true
				queue = append(queue, l.URL)
			}
		}
	}
	return pages
}

// TestEveryByteIsFixed: whoever asks, and in whatever order, an address holds
// the same; another seed makes another web.
func TestEveryByteIsFixed(t *testing.T) {
	a, b := made(t, nil), made(t, nil)
	other := made(t, func(o *synthetic.Options) { o.Seed = 2 })
	pages := walk(t, a, 100)
	slices.Reverse(pages)
	differs := 0
	for _, p := range pages {
		want := fetch(t, a, p.URL)
		if got := fetch(t, b, p.URL); !bytes.Equal(got.Body, want.Body) || got.Status != want.Status {
			t.Errorf("%s differs", p.URL)
		}
		if got := fetch(t, other, p.URL); !bytes.Equal(got.Body, want.Body) {
			differs++
		}
	}
	if differs != len(pages) {
		t.Errorf("under another seed %d of %d pages differ", differs, len(pages))
	}
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for _, p := range pages {
				r, err := a.Fetch(context.Background(), p.URL)
				if err != nil {
					t.Error(err)
					return
				}
				want, err := b.Fetch(context.Background(), p.URL)
				if err != nil || !bytes.Equal(r.Body, want.Body) {
					t.Errorf("%s differs (%v)", p.URL, err)
				}
			}
		})
	}
	g.Wait()
}

// TestBytesOfThisVersion pins the web, so that results of different versions
// of waggle can be compared. The sum was taken from this package itself; when
// it changes, say so where results are kept.
func TestBytesOfThisVersion(t *testing.T) {
	w := made(t, nil)
	h := sha256.New()
	for _, p := range walk(t, w, 50) {
		r := fetch(t, w, p.URL)
		fmt.Fprintf(h, "%s\n%s\n%s\n", p.URL, r.Head, r.Body)
	}
	const want = "251868c20db80d98"
	if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want {
		t.Errorf("the web has changed: sum %s, was %s", got, want)
	}
}

// TestAddresses: what a page links to exists, but for dead links, and nothing
// exists that is written in another way.
func TestAddresses(t *testing.T) {
	w := made(t, nil)
	dead := 0
	for _, p := range walk(t, w, 100) {
		for _, l := range p.Links {
			if strings.Contains(l.URL.Path(), "/gone/") {
				dead++
				if w.Has(l.URL) || fetch(t, w, l.URL).Status != 404 {
					t.Errorf("%s exists", l.URL)
				}
				continue
			}
			if !w.Has(l.URL) || fetch(t, w, l.URL).Status >= 400 {
				t.Errorf("%s links to %s, which is not there", p.URL, l.URL)
			}
		}
	}
	if dead == 0 {
		t.Error("no link is dead")
	}
	for _, address := range []string{
		"http://h3.synthetic.example/pages/p5.html?x=1", "http://h3.synthetic.example/elsewhere/p5.html",
		"http://h03.synthetic.example/", "http://h+3.synthetic.example.org/", "http://h200.synthetic.example/",
		"https://h3.synthetic.example/", "http://h3.synthetic.example:81/", "http://synthetic.example/",
		"http://h3.synthetic.example/pages/p5000.html", "http://h3.synthetic.example/moved/-1",
	} {
		u, err := web.Parse(address)
		if err != nil {
			continue
		}
		if _, ok := w.Facts(u); ok || w.Has(u) || fetch(t, w, u).Status != 404 {
			t.Errorf("%s exists", address)
		}
	}
	if r := fetch(t, w, at(t, "http://h3.synthetic.example/robots.txt")); r.Status != 200 || !strings.HasPrefix(string(r.Body), "User-agent") {
		t.Errorf("robots.txt: %d %q", r.Status, r.Body)
	}
}

// TestHops: from every page of a level with a path, a link leads one level
// nearer to a target of the topic.
func TestHops(t *testing.T) {
	for _, hops := range []int{0, 2, 5} {
		w := made(t, func(o *synthetic.Options) { o.Hops = hops; o.Growth = 2 })
		p := parse.New(parse.Options{})
		checked := 0
		for topic := range 5 {
			for level := range hops + 2 {
				for _, u := range w.Some(topic, level, 5) {
					f, ok := w.Facts(u)
					if !ok || f.Topic != topic || f.Level != level || f.Copy {
						t.Fatalf("%s should be of topic %d, level %d: %+v", u, topic, level, f)
					}
					if level == 0 || level > hops {
						continue
					}
					checked++
					nearer := slices.ContainsFunc(parsed(t, w, p, u).Links, func(l web.Link) bool {
						g, ok := w.Facts(follow(t, w, l.URL))
						return ok && g.Topic == topic && g.Level == level-1
					})
					if !nearer {
						t.Errorf("hops %d: no link of %s leads from level %d to %d", hops, u, level, level-1)
					}
				}
			}
		}
		if hops > 0 && checked < 20*hops {
			t.Errorf("hops %d: only %d pages were checked", hops, checked)
		}
	}
}

// TestTruth: targets are relevant to their topic and to no other.
func TestTruth(t *testing.T) {
	w := made(t, nil)
	for topic := range 5 {
		truth, other := w.Truth(topic), w.Truth((topic+1)%5)
		x := w.Topic(topic)
		if len(x.Examples) == 0 || len(x.Seeds) == 0 || len(x.SeedsFar) == 0 || len(x.Keywords) == 0 || !strings.Contains(x.Name, "synthetic") {
			t.Errorf("topic %d: %+v", topic, x)
		}
		for _, u := range x.Examples {
			if !truth(u) || other(u) {
				t.Errorf("example %s: relevant %v, to another topic %v", u, truth(u), other(u))
			}
		}
		for _, u := range x.SeedsFar {
			if truth(u) {
				t.Errorf("far seed %s is a target", u)
			}
		}
	}
	if m := w.Manifest(); !strings.Contains(m.Name, "synthetic") || len(m.Topics) != 5 || m.Pages != w.Len() {
		t.Errorf("manifest %+v", m)
	}
}

// shareOf is the share of pages, in a walk of 250, that hold.
func shareOf(t *testing.T, w *synthetic.Web, holds func(*web.Page) bool) float64 {
	n, of := 0, 0
	for _, p := range walk(t, w, 250) {
		of++
		if holds(p) {
			n++
		}
	}
	return float64(n) / float64(of)
}

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

// TestTrapNeverEnds follows a calendar; each day leads to days unseen.
func TestTrapNeverEnds(t *testing.T) {
	w := made(t, func(o *synthetic.Options) { o.Traps = 1; o.Template = 0 })
	p := parse.New(parse.Options{})
	u := at(t, "http://h1.synthetic.example/calendar?day=0")
	seen := map[web.URL]bool{}
	for range 500 {
		if seen[u] {
			t.Fatalf("back at %s", u)
		}
		seen[u] = true
		page := parsed(t, w, p, u)
		if len(page.Links) != 2 {
			t.Fatalf("%s has %d links, want 2", u, len(page.Links))
		}
		u = page.Links[1].URL
	}
}

// TestCopies: a copy has the very body of another page.
func TestCopies(t *testing.T) {
	w := made(t, func(o *synthetic.Options) { o.Duplicates, o.Hosts, o.PagesPerHost = 0.3, 5, 60 })
	first := map[string]web.URL{}
	copies := 0
	pages := walk(t, w, 1000)
	for _, p := range pages {
		if f, _ := w.Facts(p.URL); !f.Copy {
			first[string(p.Digest[:])] = p.URL
		}
	}
	for _, p := range pages {
		f, _ := w.Facts(p.URL)
		if !f.Copy {
			continue
		}
		copies++
		source, found := first[string(p.Digest[:])]
		if !found {
			continue // its source was not walked to
		}
		g, _ := w.Facts(source)
		if g.Topic != f.Topic || g.Level != f.Level {
			t.Errorf("%s %+v is a copy of %s %+v", p.URL, f, source, g)
		}
	}
	if copies < 20 {
		t.Errorf("%d copies", copies)
	}
}

// TestHuge: a web of 10⁹ pages is walked like any other.
func TestHuge(t *testing.T) {
	w, err := synthetic.New(synthetic.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if w.Len() != 1e9 {
		t.Errorf("%d pages, want 10⁹", w.Len())
	}
	hosts := map[web.Host]bool{}
	for _, p := range walk(t, w, 200) {
		hosts[p.URL.Host()] = true
	}
	if len(hosts) < 50 {
		t.Errorf("a walk met %d hosts", len(hosts))
	}
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
			Words: rapid.IntRange(0, 300).Draw(t, "words"), Signal: share(t, "signal"), Decay: share(t, "decay"),
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

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := made(t, nil).Fetch(ctx, at(t, "http://h1.synthetic.example/")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkFetch makes pages of a web of 10⁹, of 300 words and 28 links in the
// mean.
func BenchmarkFetch(b *testing.B) {
	w, err := synthetic.New(synthetic.Defaults())
	if err != nil {
		b.Fatal(err)
	}
	var list []web.URL
	for _, p := range walk(b, w, 1000) {
		list = append(list, p.URL)
	}
	bytes := 0
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r, err := w.Fetch(b.Context(), list[i%len(list)])
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(r.Body)
		i++
	}
	b.SetBytes(int64(bytes / i))
}
