package robots_test

import (
	"fmt"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/web"
)

func ExampleParse() {
	r := robots.Parse([]byte(`
User-agent: *
Disallow: /

User-agent: waggle
User-agent: otherbot
Crawl-delay: 2
Disallow: /search
Allow: /search/about$
`))
	fmt.Println(r.Allowed("waggle", "/docs/"))
	fmt.Println(r.Allowed("waggle", "/search?q=bees"))
	fmt.Println(r.Allowed("waggle", "/search/about"))
	fmt.Println(r.CrawlDelay("waggle"))
	// Output:
	// true
	// false
	// true
	// 2s true
}

func ExamplePage() {
	header := map[string][]string{"X-Robots-Tag": {"otherbot: noindex", "waggle: nofollow"}}
	metas := []robots.Meta{{Name: "robots", Content: "noai, noarchive"}}
	d := robots.Page(web.Reservation{}, header, metas, "waggle")
	fmt.Println(d.NoIndex, d.NoFollow, d.NoAI, d.NoArchive)
	// Output: false true true true
}
