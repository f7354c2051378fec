package web

import "bytes"

// FileType is the media type of a file that begins as no page in HTML does, whatever its server calls it:
// application/pdf, application/rtf, or application/zip, which newer documents of Word, OpenDocument and EPUB
// are too. It is "" for all else.
func FileType(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("%PDF-")):
		return "application/pdf"
	case bytes.HasPrefix(start, []byte("{\\rtf")):
		return "application/rtf"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return "application/zip"
	}
	return ""
}
