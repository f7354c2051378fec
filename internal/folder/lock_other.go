//go:build !unix

package folder

import "os"

// lockFile does nothing here: of a crawl, the lock of its frontier is left.
func lockFile(*os.File) error { return nil }
