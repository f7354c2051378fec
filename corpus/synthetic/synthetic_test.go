package synthetic_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

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
