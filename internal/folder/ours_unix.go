//go:build unix

package folder

import (
	"io/fs"
	"os"
	"syscall"
)

// isOurs tells whether a file is the user's own: the folder of temporary files is everybody's.
func isOurs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
