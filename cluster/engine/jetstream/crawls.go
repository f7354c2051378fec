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
	var out []string
	err := e.again(ctx, func(ctx context.Context) error {
		out = nil
		list := e.js.StreamNames(ctx)
		for name := range list.Name() {
			if crawl, is := strings.CutPrefix(name, bucket("")); is {
				out = append(out, crawl)
			}
		}
		return list.Err()
	})
	slices.Sort(out)
	return out, err
}
