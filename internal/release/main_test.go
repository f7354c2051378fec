package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"
)

var (
	at    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	files = []entry{{"w/README.md", []byte("read me"), false}, {"w/waggle", []byte("\x7fELF"), true}}
)

// Archives are the same bytes each time, and hold programs that may run.
func TestArchives(t *testing.T) {
	for name, pack := range map[string]func([]entry, time.Time) ([]byte, error){"tar": tarred, "zip": zipped} {
		one, err := pack(files, at)
		if err != nil {
			t.Fatal(err)
		}
		two, err := pack(files, at.In(time.FixedZone("elsewhere", 3600)))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: not the same bytes in another time zone (%v)", name, err)
		}
	}

	packed, err := tarred(files, at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range files {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || !h.ModTime.Equal(at) || h.FileInfo().Mode() != mode(want) || !bytes.Equal(data, want.data) {
			t.Errorf("%s, %s, %v: %q (%v)", h.Name, h.ModTime, h.FileInfo().Mode(), data, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last file: %v", err)
	}

	if packed, err = zipped(files, at); err != nil {
		t.Fatal(err)
	}
	a, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(a.File) != len(files) {
		t.Fatal(err)
	}
	for i, f := range a.File {
		if f.Name != files[i].name || f.Mode() != mode(files[i]) || !f.Modified.Equal(at) {
			t.Errorf("%s, %s, %v", f.Name, f.Modified, f.Mode())
		}
	}
}
