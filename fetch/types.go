package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Types are the media types of documents that are asked for: lower case, without
// parameters; "*/*" for any. One that begins with a dot (".docx") is the end of a name:
// a document whose server says nothing better of it than that it is a file, or a zip
// file, is asked for by that.
type Types []string

// TextOfAddresses stands among Types for a plain text that begins with addresses, one a line: a
// sitemap has no media type of its own.
const TextOfAddresses = "text/plain; of addresses"

// DefaultTypes are the types of documents that a crawl understands.
func DefaultTypes() Types { return Types{"text/html", "application/xhtml+xml"} }

// sniffed is how much of a document a guess at its type takes.
const sniffed = 512

// Refuse is the failure of a document that is of another type: by its header, or where it has
// none, or none that says enough (Look), by how it begins. It is nil for one that is wanted, and
// for a response that is no document (of a status from 300 on). size is that of the body in
// bytes, below 0 for unknown.
func (t Types) Refuse(r *web.Response, start []byte, size int64) *web.Failure {
	if r.Status >= 300 {
		return nil
	}
	if kind := first(r.Header, "Content-Type"); kind != "" {
		guess := t.unwantedFile(kind, start)
		switch {
		case guess != "":
			guess = ", begins as " + guess
		case t.want(kind), isVague(kind) && t.named(r.URL), t.Look(kind) && (ofAddresses(start) || isWord(kind) && t.newerWord(start)):
			return nil
		}
		if r.Conceal != nil {
			kind = r.Conceal(kind)
		}
		return refusedType(r, size, "Content-Type %.100q%s", kind, guess)
	}
	if guess := sniff(start); len(start) > 0 && !t.want(guess) && !(isVague(guess) && t.named(r.URL)) {
		return refusedType(r, size, "no Content-Type, looks like %s", guess)
	}
	return nil
}

func refusedType(r *web.Response, size int64, format string, args ...any) *web.Failure {
	length := "size unknown"
	if size >= 0 {
		length = fmt.Sprintf("%d bytes", size)
	}
	return &web.Failure{Reason: web.ReasonType,
		Detail: fmt.Sprintf("%.200s: status %d, %s, %s", r.URL, r.Status, fmt.Sprintf(format, args...), length)}
}

// want tells whether a Content-Type is among the types asked for.
func (t Types) want(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	return slices.Contains(t, mime) || slices.Contains(t, "*/*") ||
		strings.HasSuffix(mime, "+json") && slices.Contains(t, "application/json") // RFC 6839, section 3.1
}

// Look tells whether a document is known by how it begins, given its Content-Type, which may be
// none.
func (t Types) Look(contentType string) bool {
	switch mime, _, _ := strings.Cut(contentType, ";"); {
	case contentType == "" || isPage(contentType) && t.want(contentType):
		return true
	case isWord(contentType):
		return slices.Contains(t, ".docx") || slices.Contains(t, ".rtf")
	default:
		return strings.EqualFold(strings.TrimSpace(mime), "text/plain") && slices.Contains(t, TextOfAddresses) && !t.want(contentType)
	}
}

// isPage tells whether a document is said to be a page in HTML.
func isPage(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	return slices.Contains(DefaultTypes(), strings.ToLower(strings.TrimSpace(mime)))
}

// namesOf are what servers call the files of a web.FileType.
func namesOf(file string) []string {
	switch file {
	case "application/pdf":
		return []string{file, "application/x-pdf"}
	case "application/rtf":
		return []string{file, "text/rtf"}
	case "application/zip":
		return []string{file, "application/epub+zip", "application/vnd.oasis.opendocument.text", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
	}
	return nil
}

// unwantedFile is what a document begins as that is said to be a page in HTML, as programs that
// hand out files often say of them: "" for a page, and for a file whose kind is asked for.
func (t Types) unwantedFile(contentType string, start []byte) string {
	if !isPage(contentType) {
		return ""
	}
	guess := web.FileType(start)
	if slices.ContainsFunc(namesOf(guess), t.want) {
		return ""
	}
	return guess
}

// isWord tells whether a document is said to be of Word in its old form, as which many servers
// also send the newer form and Rich Text.
func isWord(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	return mime == "application/msword" || mime == "application/vnd.ms-word"
}

// newerWord tells whether what is said to be of Word begins as a form of it that is wanted.
func (t Types) newerWord(start []byte) bool {
	switch web.FileType(start) {
	case "application/zip":
		return slices.Contains(t, ".docx")
	case "application/rtf":
		return slices.Contains(t, ".rtf")
	}
	return false
}

// ofAddresses tells whether a text begins with addresses, one a line.
func ofAddresses(start []byte) bool {
	start = bytes.TrimPrefix(start[:min(len(start), sniffed)], []byte("\xef\xbb\xbf"))
	found := false
	for line := range bytes.Lines(start) {
		s := strings.ToLower(string(bytes.TrimSpace(line)))
		switch {
		case s == "":
		case bytes.HasSuffix(line, []byte("\n")), !found:
			if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") || strings.ContainsAny(s, " \t") {
				return false
			}
			found = true
		}
	}
	return found
}

// isVague knows the media types that tell no more of a document than that it is a file.
func isVague(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mime)) {
	case "application/octet-stream", "binary/octet-stream", "application/download", "application/x-download", "application/force-download",
		"application/zip", "application/x-zip-compressed", "application/unknown", "unknown/unknown", "application/x-gzip", "application/gzip":
		return true
	}
	return false
}

// named tells whether the name of a file is among those asked for.
func (t Types) named(u web.URL) bool {
	ext := strings.ToLower(path.Ext(u.Path()))
	return len(ext) > 1 && slices.Contains(t, ext)
}

// accept is the value of an Accept header.
func (t Types) accept() string {
	var types []string
	for _, x := range t {
		if !strings.HasPrefix(x, ".") && x != TextOfAddresses {
			types = append(types, x)
		}
	}
	if !slices.Contains(types, "*/*") {
		types = append(types, "*/*;q=0.1")
	}
	return strings.Join(types, ", ")
}

// sniff guesses the media type of a document from how it begins.
func sniff(start []byte) string {
	start = start[:min(len(start), sniffed)]
	if bytes.HasPrefix(start, []byte("<?xml")) && bytes.Contains(start, []byte("<html")) {
		return "application/xhtml+xml"
	}
	return http.DetectContentType(start)
}
