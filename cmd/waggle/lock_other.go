//go:build !unix

package main

import "os"

// lockFile does nothing here: the frontier's own lock keeps two crawls apart.
func lockFile(*os.File) error { return nil }
