package document

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// readWord writes a Word document: its body, then its notes. What was deleted while
// changes were tracked is left out.
//
// Source: ECMA-376, part 1, section 17 (WordprocessingML).
func readWord(src []byte, l Limits, w *Writer) error {
	z, err := unzip(src, l)
	if err != nil {
		return err
	}
	if err := z.said("docProps/core.xml", l, w, nil); err != nil {
		return err
	}
	titles := map[string]int{} // levels of headings by style; 0 = the title
	style := ""
	_, err = z.walk("word/styles.xml", l, element{
		start: func(name string, attr func(string) string) {
			switch name {
			case "style":
				style = attr("styleId")
			case "name":
				if level, ok := headingStyle(attr("val")); ok && len(titles) < 1000 {
					titles[style] = level
				}
			case "lang":
				w.Language(attr("val"))
			}
		},
		text: func(string) {}, end: func(string) {},
	}, func() bool { return false })
	if err != nil {
		return err
	}
	main := "word/document.xml"
	_, err = z.walk("_rels/.rels", l, element{
		start: func(name string, attr func(string) string) {
			// The types of strict documents are others, and end alike.
			if target := strings.TrimPrefix(attr("Target"), "/"); name == "Relationship" && strings.HasSuffix(attr("Type"), "/officeDocument") && z.files[target] != nil {
				main = target
			}
		},
		text: func(string) {}, end: func(string) {},
	}, func() bool { return false })
	if errors.Is(err, ErrBounds) { // of what is damaged, what was read counts
		return err
	}
	body := false
	for _, part := range []string{main, "word/footnotes.xml", "word/endnotes.xml"} {
		targets := map[string]string{}
		_, err := z.walk(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), l, element{
			start: func(name string, attr func(string) string) {
				if name == "Relationship" && attr("TargetMode") == "External" && len(targets) < l.Links {
					targets[attr("Id")] = attr("Target")
				}
			},
			text: func(string) {}, end: func(string) {},
		}, func() bool { return false })
		if err != nil {
			return err
		}
		x := &word{w: w, titles: titles, targets: targets}
		there, err := z.walk(part, l, element{x.start, x.end, x.add}, w.Full)
		if body = body || there; err != nil {
			return err
		}
	}
	if !body {
		return fmt.Errorf("%w: a Word document without a text", ErrDamaged)
	}
	return nil
}

// headingStyle tells the level of a heading by the name of its style, which programs
// keep in English; 0 is that of the title.
func headingStyle(name string) (level int, ok bool) {
	name = strings.ToLower(name)
	if name == "title" {
		return 0, true
	}
	n, found := strings.CutPrefix(name, "heading ")
	if !found {
		return 0, false
	}
	level, err := strconv.Atoi(n)
	return level, err == nil && level >= 1 && level <= 9
}

// word writes WordprocessingML.
type word struct {
	w       *Writer
	titles  map[string]int
	targets map[string]string

	tag    string // of the open paragraph, "" for none
	level  int    // of the paragraph as a heading, -1 for none
	runs   bool   // something of the paragraph is written
	title  strings.Builder
	text   bool // characters are text
	code   bool // they are the instruction of a field
	instr  strings.Builder
	hidden int // elements in one another that are left out
	links  []bool
	field  []bool // of the open fields: whether a link is open
}

func (x *word) start(name string, attr func(string) string) {
	if x.hidden > 0 || name == "del" || name == "moveFrom" || name == "Fallback" || name == "drawing" || name == "pict" {
		x.hidden++
		return
	}
	switch name {
	case "p":
		x.tag, x.level, x.runs = "p", -1, false
	case "pStyle":
		if level, ok := x.titles[attr("val")]; ok {
			x.level = level
		}
	case "outlineLvl":
		if n, err := strconv.Atoi(attr("val")); err == nil && n < 9 && x.level < 0 {
			x.level = n + 1
		}
	case "t":
		x.text = true
	case "instrText":
		x.code = true
	case "fldChar":
		switch attr("fldCharType") {
		case "begin":
			x.instr.Reset()
			x.field = append(x.field, false)
		case "separate":
			if address := fieldTarget(x.instr.String()); address != "" && len(x.field) > 0 {
				x.begin()
				x.w.OpenLink(address)
				x.field[len(x.field)-1] = true
			}
		case "end":
			if n := len(x.field) - 1; n >= 0 {
				if x.field[n] {
					x.w.Close("a")
				}
				x.field = x.field[:n]
			}
		}
	case "hyperlink":
		target := x.targets[attr("id")]
		if x.links = append(x.links, target != ""); target != "" {
			x.begin()
			x.w.OpenLink(target)
		}
	case "tab", "br", "cr":
		x.add(" ")
		if x.runs {
			x.w.Text(" ")
		}
	case "tbl":
		x.w.Open("table")
	case "tr":
		x.w.Open("tr")
	case "tc":
		x.w.Open("td")
	}
}

// begin begins the paragraph with its first run.
func (x *word) begin() {
	if x.runs || x.tag == "" {
		return
	}
	x.runs = true
	if x.level >= 0 {
		x.tag = heading(x.level)
	}
	x.w.Open(x.tag)
}

func (x *word) add(s string) {
	switch {
	case x.hidden > 0:
	case x.code:
		if x.instr.Len() < maxAddress {
			x.instr.WriteString(s)
		}
	case x.text:
		x.begin()
		if x.level == 0 && x.title.Len() < maxSaid {
			x.title.WriteString(s)
		}
		x.w.Linked(s)
	}
}

func (x *word) end(name string) {
	if x.hidden > 0 {
		x.hidden--
		return
	}
	switch name {
	case "p":
		if x.runs {
			x.w.Close(x.tag)
		}
		if x.level == 0 {
			x.w.Title(x.title.String())
		}
		x.tag, x.runs = "", false
	case "t":
		x.text = false
	case "instrText":
		x.code = false
	case "hyperlink":
		if n := len(x.links) - 1; n >= 0 {
			if x.links[n] {
				x.w.Close("a")
			}
			x.links = x.links[:n]
		}
	case "tbl":
		x.w.Close("table")
	case "tr":
		x.w.Close("tr")
	case "tc":
		x.w.Close("td")
	}
}

// fieldTarget is the address in the instruction HYPERLINK "address" of a field, as Word
// and RTF have it; "" for other fields, and for links within the document.
func fieldTarget(instruction string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, _, _ = strings.Cut(quoted, `"`)
	} else {
		rest, _, _ = strings.Cut(rest, " ")
	}
	if strings.HasPrefix(rest, `\`) {
		return ""
	}
	return rest
}

// readOpen writes the text of an OpenDocument. Notes stand where they are called;
// comments and what was deleted while changes were tracked are left out.
//
// Source: OASIS OpenDocument 1.3, part 3, sections 4 and 5.
func readOpen(src []byte, l Limits, w *Writer) error {
	z, err := unzip(src, l)
	if err != nil {
		return err
	}
	if f := z.files["META-INF/manifest.xml"]; f != nil {
		locked := false
		_, err := z.walk("META-INF/manifest.xml", l, element{
			start: func(name string, attr func(string) string) { locked = locked || name == "encryption-data" },
			text:  func(string) {}, end: func(string) {},
		}, func() bool { return locked })
		if err != nil || locked {
			return cmpErr(err, ErrLocked)
		}
	}
	if err := z.said("meta.xml", l, w, nil); err != nil {
		return err
	}
	_, err = z.walk("styles.xml", l, element{
		start: func(name string, attr func(string) string) {
			if lang := attr("language"); lang != "none" {
				w.Language(lang)
			}
		},
		text: func(string) {}, end: func(string) {},
	}, func() bool { return w.language != "" })
	if err != nil {
		return err
	}
	x := &open{w: w}
	there, err := z.walk("content.xml", l, element{x.start, x.end, x.add}, w.Full)
	if err == nil && !there {
		return fmt.Errorf("%w: an OpenDocument without a text", ErrDamaged)
	}
	return err
}

func cmpErr(err, or error) error {
	if err != nil {
		return err
	}
	return or
}

// open writes the content of an OpenDocument text.
type open struct {
	w      *Writer
	tags   []string // of paragraphs in one another
	hidden int      // elements in one another that are left out
	first  strings.Builder
	title  bool // the text is that of the first heading of level 1
}

func (x *open) start(name string, attr func(string) string) {
	if x.hidden > 0 || name == "tracked-changes" || name == "annotation" || name == "automatic-styles" {
		x.hidden++
		return
	}
	switch name {
	case "h":
		level, _ := strconv.Atoi(attr("outline-level"))
		x.open(heading(max(1, level)))
		x.title = level == 1 && x.first.Len() == 0
	case "p":
		x.open("p")
	case "a":
		if href := attr("href"); hasScheme(href) {
			x.w.OpenLink(href)
		} else {
			x.w.OpenLink("#")
		}
	case "s", "tab", "line-break":
		x.w.Text(" ")
	case "list":
		x.w.Open("ul")
	case "list-item":
		x.w.Open("li")
	case "table":
		x.w.Open("table")
	case "table-row":
		x.w.Open("tr")
	case "table-cell":
		x.w.Open("td")
	}
}

func (x *open) open(tag string) {
	x.tags = append(x.tags, tag)
	x.w.Open(tag)
}

func (x *open) add(s string) {
	if x.hidden > 0 || len(x.tags) == 0 {
		return
	}
	if x.title && x.first.Len() < maxSaid {
		x.first.WriteString(s)
	}
	x.w.Linked(s)
}

func (x *open) end(name string) {
	if x.hidden > 0 {
		x.hidden--
		return
	}
	switch name {
	case "h", "p":
		if n := len(x.tags) - 1; n >= 0 {
			x.w.Close(x.tags[n])
			x.tags = x.tags[:n]
		}
		if x.title {
			x.w.Title(x.first.String())
			x.title = false
		}
	case "a":
		x.w.Close("a")
	case "list":
		x.w.Close("ul")
	case "list-item":
		x.w.Close("li")
	case "table":
		x.w.Close("table")
	case "table-row":
		x.w.Close("tr")
	case "table-cell":
		x.w.Close("td")
	}
}

// isCompound knows files in the format of Office before 2007, in which later ones are
// packed that a password protects.
func isCompound(src []byte) bool {
	return bytes.HasPrefix(src, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
}
