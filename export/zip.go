package export

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"
)

// zipFile writes a zip file and knows the size and SHA-256 of each file in it. Its
// times are one moment, so that the same collections give the same bytes.
type zipFile struct {
	w     *zip.Writer
	at    time.Time
	files []zipEntry
	sum   hash.Hash // of the last file
}

// zipEntry is a file in a zip file.
type zipEntry struct {
	path   string
	bytes  int64
	sha256 string // hexadecimal; "" until the next file is begun, or the end
}

func newZipFile(out io.Writer, at time.Time) *zipFile {
	if at.IsZero() {
		at = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // the first that a zip file knows
	}
	return &zipFile{w: zip.NewWriter(out), at: at.UTC().Truncate(time.Second)}
}

// create begins a file; the one before it ends. What is compressed already is stored
// as it is, by which readers may read from its middle.
func (z *zipFile) create(path string, compressed bool) (io.Writer, error) {
	z.end()
	method := zip.Deflate
	if compressed {
		method = zip.Store
	}
	w, err := z.w.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: z.at})
	if err != nil {
		return nil, err
	}
	z.files = append(z.files, zipEntry{path: path})
	z.sum = sha256.New()
	return io.MultiWriter(w, z.sum, (*zipCounter)(z)), nil
}

// zipCounter counts the bytes of the last file.
type zipCounter zipFile

func (z *zipCounter) Write(p []byte) (int, error) {
	z.files[len(z.files)-1].bytes += int64(len(p))
	return len(p), nil
}

// add writes a whole file.
func (z *zipFile) add(path string, content []byte) error {
	w, err := z.create(path, false)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// end ends the last file.
func (z *zipFile) end() {
	if z.sum != nil {
		z.files[len(z.files)-1].sha256 = hex.EncodeToString(z.sum.Sum(nil))
		z.sum = nil
	}
}

// close ends the zip file.
func (z *zipFile) close() error {
	z.end()
	return z.w.Close()
}
