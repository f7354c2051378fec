//go:build !unix

package child

import "time"

// processorTime is not known here: the Pool goes by the clock.
func processorTime() time.Duration { return 0 }
