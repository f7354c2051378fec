package job_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// shelf is a web of three pages, in the place of the network.
type shelf map[string]string

func (s shelf) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	body := []byte(s[u.RequestPath()])
	return &web.Response{URL: u, Status: 200, Proto: "HTTP/1.1", Header: web.Header{"Content-Type": {"text/html"}}, Raw: body, Body: body}, nil
}

// A program crawls into a folder, listens, and reads what was found. Without a
// Fetcher of its own it would crawl the live web, and the job need a contact.
func Example() {
	dir, err := os.MkdirTemp("", "bees-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := collection.At(dir).Lock()
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	none := job.Duration(0)
	m := &job.Maker{
		Writer: w,
		Job: &job.Job{
			Seeds:      []string{"https://bees.example/"},
			Topic:      job.Topic{Keywords: []string{"honey bee", "waggle dance"}},
			Politeness: job.Politeness{Delay: &none},
			Fetch:      job.Fetch{Workers: 1},
		},
		Fetcher: shelf{
			"/":      `<title>Bees</title><p>The honey bee. <a href="/dance">waggle dance</a> <a href="/cars">cars</a>`,
			"/dance": `<title>Dance</title><p>The waggle dance of the honey bee tells where food is.`,
			"/cars":  `<title>Cars</title><p>Four wheels and an engine.`,
		},
	}
	defer m.Close()
	c, err := m.Crawl(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	c.Listen = func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			fmt.Println("fetched", p.URL, p.Relevant)
		}
	}
	how, err := c.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(how)
	pages, err := w.Harvest()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pages {
		fmt.Println("relevant:", p.Title)
	}
	// Unordered output:
	// fetched https://bees.example/ true
	// fetched https://bees.example/dance true
	// fetched https://bees.example/cars false
	// FrontierEmpty
	// relevant: Dance
	// relevant: Bees
}
