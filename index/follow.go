package index

import (
	"context"
	"time"
)

// followEvery is how often what a crawl that runs has brought is indexed, and lookEvery how
// often it is looked at whether it has ended.
const (
	followEvery = 5 * time.Second
	lookEvery   = 250 * time.Millisecond
)

// Follow updates the index, and goes on as long as the crawl runs. Its error is that of
// Update, or of ctx.
func (b *Builder) Follow(ctx context.Context, running func() bool, progress func(Progress)) error {
	for {
		runs := running() // before what it wrote last is read
		if err := b.Update(ctx, progress); err != nil || !runs {
			return err
		}
		for next := time.Now().Add(followEvery); time.Now().Before(next) && running(); {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lookEvery):
			}
		}
	}
}
