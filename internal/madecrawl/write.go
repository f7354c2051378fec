package madecrawl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Write writes log and archive of a crawl of n made-up pages on 1,000 hosts, each of so
// many words, at least six, without crawling: they are a function of the seed. There is
// neither a job nor a frontier. Every 20th page is nearly the same as the one before it.
// Of the six links of a page three lead to pages of the crawl and three to addresses that
// wait, on 20,000 other hosts, 200 of which a host knows.
func Write(dir string, n, words int, seed uint64) (_ collection.Collection, err error) {
	c := collection.At(dir)
	archive, err := store.Create(c.ArchiveDir(), store.Options{Prefix: "made", Level: 1})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	log, err := event.Open(c.EventLog(), nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	rng := rand.New(rand.NewPCG(seed, 0))
	zipf := rand.NewZipf(rng, 1.2, 4, 49_999)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if _, err := log.Append(event.Started{At: event.At{At: at}, Name: "made", Scorer: "none", Judge: "none", Threshold: 0.5}); err != nil {
		return c, err
	}
	address := func(i int) (web.URL, error) { return web.Parse(fmt.Sprintf("https://host%d.test/page/%d", i%1000, i)) }
	parser := parse.New(parse.Options{})
	var text []string
	for i := range n {
		u, err := address(i)
		if err != nil {
			return c, err
		}
		if i%20 != 19 {
			text = text[:0]
			for range words {
				text = append(text, Word(int(zipf.Uint64())))
			}
		}
		var body strings.Builder
		fmt.Fprintf(&body, "<html lang=en><title>%s %d</title><p>%s. ", strings.Join(text[:5], " "), i, strings.Join(text, " "))
		for k := range 3 {
			to := (i*7 + k) % max(n, 1000)
			fmt.Fprintf(&body, `<a href="https://host%d.test/page/%d">%s</a> `, to%1000, to, text[k])
			fmt.Fprintf(&body, `<a href="https://site%d.test/%d/%d">%s</a> `, (i%1000*37+(i/1000*3+k)%200)%20_000, i, k, text[3+k])
		}
		at = at.Add(time.Second)
		r := &web.Response{
			URL: u, Status: 200, Proto: "HTTP/1.1", Started: at, Took: time.Second, Header: web.Header{"Content-Type": {"text/html"}},
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\n"), Body: []byte(body.String()),
		}
		r.Raw = r.Body
		p, err := parser.Parse(r)
		if err != nil {
			return c, err
		}
		v := web.Verdict{Relevance: rng.Float64()}
		v.Relevant = v.Relevance >= 0.5
		b, err := archive.Encode(web.Exchange{Response: r, Page: p, Verdict: v, Judge: "none", Scorer: "none"})
		if err != nil {
			return c, err
		}
		if _, err := archive.Append(b); err != nil {
			return c, err
		}
		e := event.Fetched{
			At: event.At{At: at}, Visit: event.Visit{URL: u, Depth: 1}, Status: 200, MIME: "text/html", Bytes: len(r.Body), Title: p.Title, Language: "en",
			Digest: fmt.Sprintf("%x", p.Digest), Relevance: v.Relevance, Relevant: v.Relevant, Links: len(p.Links),
		}
		for _, l := range p.Links {
			e.Queued = append(e.Queued, event.Found{URL: l.URL, Priority: 0.5, Anchor: l.Anchor})
		}
		if _, err := log.Append(e); err != nil {
			return c, err
		}
	}
	_, err = log.Append(event.Ended{At: event.At{At: at}, How: event.FrontierEmpty})
	return c, err
}

// Word is the word of a rank, 0 the commonest: letters that no stemmer changes.
func Word(rank int) string {
	b := []byte("z")
	for rank++; rank > 0; rank /= 16 {
		b = append(b, "bdfghjkmopqtuvwx"[rank%16])
	}
	return string(append(b, 'z'))
}
