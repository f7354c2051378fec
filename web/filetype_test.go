package web

import "testing"

func TestFileType(t *testing.T) {
	for start, want := range map[string]string{
		"%PDF-1.7\n": "application/pdf", `{\rtf1\ansi`: "application/rtf", "PK\x03\x04\x14": "application/zip",
		"<!doctype html>": "", " %PDF-1.7 is for members.": "", "PK": "", "": "",
	} {
		if got := FileType([]byte(start)); got != want {
			t.Errorf("%q: %q, want %q", start, got, want)
		}
	}
}
