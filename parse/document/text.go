package document

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	render "github.com/yuin/goldmark/renderer/html"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// readText writes plain text: paragraphs between empty lines, and headings where a line
// is underlined, as in README files and in reStructuredText.
func readText(src []byte, w *Writer) {
	var block []string
	flush := func() {
		if len(block) == 0 {
			return
		}
		if len(block) == 2 && isUnderline(block[1]) || len(block) == 3 && isUnderline(block[0]) && isUnderline(block[2]) {
			text := block[len(block)-2]
			w.Open("h2")
			w.Linked(text)
			w.Close("h2")
		} else {
			w.Open("p")
			for _, line := range block {
				w.Linked(line)
				w.Text("\n")
			}
			w.Close("p")
		}
		block = block[:0]
	}
	for line := range bytes.Lines(src) {
		if w.Full() {
			return
		}
		s := strings.TrimSpace(string(line))
		if s == "" || s == "\f" {
			flush()
			continue
		}
		if len(block) > 0 && isUnderline(s) && len(block) <= 2 {
			block = append(block, s)
			flush()
			continue
		}
		block = append(block, s)
	}
	flush()
}

// isUnderline tells a line of one sign, three times or more.
func isUnderline(s string) bool {
	return len(s) >= 3 && strings.IndexByte("=-~^*#+\"", s[0]) >= 0 && strings.Trim(s, s[:1]) == ""
}

// readMarkdown writes CommonMark with the tables and bare addresses of GitHub. A front
// matter in YAML says title and description.
func readMarkdown(src []byte, l Limits, w *Writer) error {
	if rest, ok := bytes.CutPrefix(src, []byte("---\n")); ok {
		if front, after, ok := bytes.Cut(rest, []byte("\n---")); ok && len(front) <= maxSaid {
			var m struct{ Title, Description, Lang, Language string }
			if yaml.Unmarshal(front, &m) == nil {
				w.Title(m.Title)
				w.Description(m.Description)
				w.Language(m.Lang + m.Language)
				src = after
			}
		}
	}
	src, lost := flat(src, l.Depth)
	if lost {
		w.Cut()
	}
	var out bytes.Buffer
	// Raw HTML is kept: writeMarkup takes out of all of it what it does not know.
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(render.WithUnsafe())).Convert(src, &out); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return writeMarkup(out.Bytes(), w, false)
}

// flat takes away quotes and lists beyond a depth that no text has: the time that a
// parser of Markdown takes grows with the square of the depth. Lines of more than 64 KiB
// are cut for the same reason.
func flat(src []byte, depth int) (out []byte, lost bool) {
	const longest = 64 << 10
	depth = min(depth, 100)
	out = make([]byte, 0, len(src))
	for line := range bytes.Lines(src) {
		marks := 0
		for i, c := range line {
			if c == '>' || (c == '-' || c == '*' || c == '+') && i+1 < len(line) && line[i+1] == ' ' {
				if marks++; marks > depth {
					line, lost = append([]byte("\n"), bytes.TrimLeft(line[i:], ">-*+ \t")...), true
					break
				}
			} else if c != ' ' && c != '\t' {
				break
			}
		}
		if len(line) > longest {
			line, lost = append(line[:longest:longest], '\n'), true
		}
		out = append(out, line...)
	}
	return out, lost
}

// writeMarkup writes a piece of HTML that a document holds: its elements without their
// attributes, its links, and neither scripts nor styles. The head of a whole HTML
// document is left out. <x/> is an element that ends at once, as in XHTML: those who write it
// mean that in HTML as well. External tells that only links with a scheme lead out of it, as
// the others stay within the document.
func writeMarkup(src []byte, w *Writer, external bool) error {
	z := html.NewTokenizer(bytes.NewReader(src))
	z.SetMaxBuf(1 << 20)
	skip := ""
	for !w.Full() {
		kind := z.Next()
		if kind == html.ErrorToken {
			if err := z.Err(); err != io.EOF {
				return fmt.Errorf("%w: %w", ErrDamaged, err)
			}
			return nil
		}
		closed := kind == html.SelfClosingTagToken
		if closed {
			z.NextIsNotRawText()
		}
		if skip != "" {
			if kind == html.EndTagToken {
				if name, _ := z.TagName(); string(name) == skip {
					skip = ""
				}
			}
			continue
		}
		switch kind {
		case html.TextToken:
			w.Text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			switch tag {
			case "script", "style", "head", "template", "noscript", "iframe", "object", "svg", "math":
				if !closed {
					skip = tag
				}
			case "a":
				href := ""
				for more {
					var key, value []byte
					if key, value, more = z.TagAttr(); string(key) == "href" && href == "" {
						href = string(value)
					}
				}
				if closed && href == "" {
					continue // a place in the text
				}
				if href == "" || external && !hasScheme(href) {
					href = "#"
				}
				if w.OpenLink(href); closed {
					w.Close(tag)
				}
			default:
				if !structural[tag] {
					continue
				}
				if w.Open(tag); closed && tag != "br" && tag != "hr" {
					w.Close(tag)
				}
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if tag := string(name); structural[tag] || tag == "a" {
				w.Close(tag)
			}
		}
	}
	return nil
}

// structural are the elements that a piece of markup keeps. It is never changed.
var structural = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields("p div h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tr td th br hr pre blockquote em strong b i code section article nav aside header footer figure figcaption caption span") {
		m[s] = true
	}
	return m
}()

func hasScheme(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "//")
}

// readCSV writes a table. The separator is the one of which the first lines hold most.
func readCSV(src []byte, w *Writer) {
	start := src[:min(len(src), 4<<10)]
	comma, most := ',', bytes.Count(start, []byte(","))
	for _, c := range "\t;|" {
		if n := bytes.Count(start, []byte(string(c))); n > most {
			comma, most = c, n
		}
	}
	r := csv.NewReader(bytes.NewReader(src))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = comma, true, -1, true
	w.Untitled()
	w.Open("table")
	defer w.Close("table")
	cell, begins := "th", int64(0) // of the last row, in bytes
	for !w.Full() {
		at := r.InputOffset()
		row, err := r.Read()
		if err == nil {
			begins = at
		}
		var wrong *csv.ParseError
		switch {
		case errors.As(err, &wrong):
			w.Cut() // a line that is none
			continue
		case err != nil:
			if isUnclosed(src[begins:], byte(comma)) {
				w.Cut() // the rows that follow are in its last cell
			}
			return
		}
		w.Open("tr")
		for _, s := range row {
			w.Open(cell)
			w.Linked(s)
			w.Close(cell)
		}
		w.Close("tr")
		cell = "td"
	}
}

// isUnclosed tells whether the last row of a table ends within a quotation, as the reader of
// rows takes quotation marks.
func isUnclosed(row []byte, comma byte) bool {
	row = bytes.TrimLeft(row, "\r\n")
	for len(row) > 0 {
		if row[0] != '"' {
			i := bytes.IndexByte(row, comma)
			if i < 0 {
				return false
			}
			row = row[i+1:]
			continue
		}
		row = row[1:]
		for within := true; within; {
			i := bytes.IndexByte(row, '"')
			if i < 0 {
				return true
			}
			switch row = row[i+1:]; {
			case len(row) == 0, row[0] == '\n', bytes.HasPrefix(row, []byte("\r\n")):
				return false
			case row[0] == comma:
				row, within = row[1:], false
			case row[0] == '"':
				row = row[1:]
			}
		}
	}
	return false
}

// readJSON writes the texts and numbers of JSON, each behind its key; several values in
// a row, as in JSON lines, are one document. Objects and arrays that are deeper than the
// bound are passed over.
func readJSON(src []byte, l Limits, w *Writer) error {
	w.Untitled()
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	type level struct {
		object bool
		key    string
		isKey  bool // the next token is a key
	}
	var open []level
	depth := 0 // also of what is passed over
	for !w.Full() {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		top := len(open) - 1
		if delim, ok := t.(json.Delim); ok {
			switch delim {
			case '{', '[':
				depth++
				if top >= 0 {
					open[top].isKey = open[top].object
				}
				if depth > 100*l.Depth {
					return fmt.Errorf("%w: more than %d values in one another", ErrBounds, 100*l.Depth)
				}
				if len(open) < l.Depth {
					open = append(open, level{object: delim == '{', isKey: delim == '{'})
					w.Open("div")
				} else {
					w.Cut()
				}
			default:
				if depth == len(open) {
					open = open[:top]
					w.Close("div")
				}
				depth--
			}
			continue
		}
		if depth > len(open) {
			continue
		}
		if top >= 0 && open[top].isKey {
			open[top].key, _ = t.(string)
			open[top].isKey = false
			continue
		}
		key := ""
		if top >= 0 {
			open[top].isKey = open[top].object
			key = open[top].key
		}
		var s string
		switch t := t.(type) {
		case string:
			s = t
		case json.Number:
			s = t.String()
		default: // true, false, null
			continue
		}
		if len(open) <= 1 || len(open) == 2 && !open[0].object {
			switch strings.ToLower(key) {
			case "title", "name", "headline":
				w.Title(s)
			case "description", "summary":
				w.Description(s)
			case "language", "lang", "inlanguage":
				w.Language(s)
			case "keywords":
				w.Keywords(s)
			}
		}
		w.Open("p")
		if key != "" {
			w.Text(key + ": ")
		}
		w.Linked(s)
		w.Close("p")
	}
	return nil
}
