package index

import (
	"context"
	"time"
)

// followEvery is how often a crawl that runs is looked at.
const followEvery = 5 * time.Second

// Follow updates the index, and goes on as long as the crawl runs. Its error is that of
// Update, or of ctx.
func (b *Builder) Follow(ctx context.Context, running func() bool, progress func(Progress)) error {
	runs := running()
	err := b.Update(ctx, progress)
	for err == nil && runs {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(followEvery):
			runs = running() // before what it wrote last is read
			err = b.Update(ctx, progress)
		}
	}
	return err
}
