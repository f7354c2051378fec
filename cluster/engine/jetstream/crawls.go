package jetstream

import (
	"context"
	"slices"
	"strings"
)

// Crawls are the names of the crawls that an engine has, sorted. Options.Crawl is not used. A user with
// the rights of a worker may not ask for them, which is an error.
func Crawls(ctx context.Context, o Options) ([]string, error) {
	var e Engine
	if err := e.connect(ctx, o); err != nil {
		return nil, err
	}
	defer e.conn.Close()
	try, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	list := e.js.StreamNames(try)
	var out []string
	for name := range list.Name() {
		if crawl, is := strings.CutPrefix(name, bucket("")); is {
			out = append(out, crawl)
		}
	}
	slices.Sort(out)
	return out, list.Err()
}
