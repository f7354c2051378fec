package folder

import (
	"fmt"
	"io/fs"
	"runtime"
	"syscall"
	"testing"
)

// A full disk is told from other errors by the numbers of the system: those of Windows mean something else elsewhere.
func TestFull(t *testing.T) {
	windows := runtime.GOOS == "windows"
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false,
		syscall.Errno(39): windows, syscall.Errno(112): windows,
	} {
		if got := Full(fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "a", Err: err})); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
	if Full(nil) {
		t.Error("no error is a full disk")
	}
}
