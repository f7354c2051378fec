//go:build !unix

package folder

import "os"

// lockFile does nothing here: of a crawl, the lock of its frontier is left.
func lockFile(*os.File) error { return nil }

// locked tells nothing here.
func locked(*os.File) bool { return false }

// Await does nothing here: what several processes write at once to one file may be torn.
func Await(*os.File) error { return nil }
