package fetch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/web"
)

func Example() {
	server, err := badweb.Start()
	if err != nil {
		panic(err)
	}
	defer server.Close()

	f, err := fetch.New(fetch.Options{
		Contact: "mailto:crawl@example.org",
		Delay:   -1, OwnHosts: []string{"bad.test"},
		Resolver: server, Connect: server.Connect, CAs: server.CAs(),
	})
	if err != nil {
		panic(err)
	}
	defer f.Close()

	for _, address := range []string{
		"http://fine.bad.test/",
		"http://status-404.bad.test/",
		"http://redirect-private.bad.test/",
		"http://robots-huge.bad.test/no",
		"http://metadata.bad.test/",
	} {
		u, err := web.Parse(address)
		if err != nil {
			panic(err)
		}
		r, err := f.Fetch(context.Background(), u)
		var why *web.Failure
		switch {
		case errors.As(err, &why):
			fmt.Println(u, "fails:", why.Reason)
		case err != nil:
			panic(err)
		case !r.Location.IsZero():
			fmt.Println(u, r.Status, "to", r.Location)
		default:
			fmt.Println(u, r.Status)
		}
	}
	// Output:
	// http://fine.bad.test/ 200
	// http://status-404.bad.test/ 404
	// http://redirect-private.bad.test/ 301 to http://169.254.169.254/latest/meta-data/
	// http://robots-huge.bad.test/no fails: robots
	// http://metadata.bad.test/ fails: address
}
