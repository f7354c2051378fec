package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// prepare makes the streams of the crawl, unless only existing ones are wanted.
func (e *Engine) prepare(ctx context.Context, existing bool, forget time.Duration) error {
	copies := 1
	if e.conn.ConnectedClusterName() != "" {
		copies = replicas
	}
	find := func(c jetstream.StreamConfig) (stream jetstream.Stream, err error) {
		err = e.again(ctx, func(ctx context.Context) (err error) {
			if stream, err = e.js.Stream(ctx, c.Name); errors.Is(err, jetstream.ErrStreamNotFound) && existing {
				return ErrNoCrawl
			} else if errors.Is(err, jetstream.ErrStreamNotFound) {
				c.Storage, c.Replicas, c.DenyDelete, c.Compression = jetstream.FileStorage, copies, true, jetstream.S2Compression
				stream, err = e.js.CreateStream(ctx, c)
			}
			return err
		})
		return stream, err
	}
	var err error
	e.stream, err = find(jetstream.StreamConfig{
		Name: bucket(e.crawl), Description: "logs of a crawl by waggle", Subjects: []string{e.subject(">")}, Duplicates: dedupeWindow,
	})
	if err == nil {
		e.brief, err = find(jetstream.StreamConfig{
			Name: briefStream(e.crawl), Description: "logs of a crawl by waggle, of the last minutes", Subjects: []string{e.subject(engine.Brief + ">")},
			MaxAge: forget, Duplicates: min(dedupeWindow, forget),
		})
		if errors.Is(err, ErrNoCrawl) { // nobody has used it
			e.brief, err = nil, nil
		}
	}
	if err == nil {
		err = e.again(ctx, func(ctx context.Context) (err error) {
			if e.kv, err = e.js.KeyValue(ctx, bucket(e.crawl)); errors.Is(err, jetstream.ErrBucketNotFound) && existing {
				return ErrNoCrawl
			} else if errors.Is(err, jetstream.ErrBucketNotFound) {
				e.kv, err = e.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
					Bucket: bucket(e.crawl), Description: "keys of a crawl by waggle", Storage: jetstream.FileStorage, Replicas: copies,
				})
			}
			return err
		})
	}
	if err != nil && e.refused.Load() != nil {
		return fmt.Errorf("the crawl %s on the engine: %w: look at its name, which is the one in its job file, and at what this user may do", e.crawl, err)
	}
	if err != nil {
		return fmt.Errorf("the streams of the crawl %s on the engine: %w", e.crawl, err)
	}
	return nil
}

func bucket(crawl string) string      { return "waggle-" + crawl }
func keyStream(crawl string) string   { return "KV_" + bucket(crawl) }
func briefStream(crawl string) string { return "BRIEF_" + bucket(crawl) }

func (e *Engine) subject(log string) string { return e.prefix(engine.IsBrief(log)) + log }

// prefix begins the subjects of logs.
func (e *Engine) prefix(brief bool) string {
	if brief {
		return "waggle-brief." + e.crawl + "."
	}
	return "waggle." + e.crawl + "."
}

// in is the stream of logs.
func (e *Engine) in(brief bool) (jetstream.Stream, error) {
	if !brief {
		return e.stream, nil
	}
	if e.brief == nil {
		return nil, fmt.Errorf("the crawl had no brief logs when it was looked at: %w", ErrNoCrawl)
	}
	return e.brief, nil
}
