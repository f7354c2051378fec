package pdftest

import (
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/internal/long"
)

// MachineCode is a folder for the machine code of PDFium, which takes ten seconds of a processor to
// make. The quick run keeps it from run to run beside what the go command keeps; the long run
// makes it anew. done removes what is not kept.
func MachineCode() (dir string, done func(), err error) {
	if cache, err := os.UserCacheDir(); err == nil && !long.Asked() {
		return filepath.Join(cache, "waggle-tests", "pdfium"), func() {}, nil
	}
	if dir, err = os.MkdirTemp("", "waggle-pdfium-*"); err != nil {
		return "", nil, err
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}
