package document

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// readRTF writes the text of a document in the Rich Text Format.
//
// Source: Microsoft, Rich Text Format (RTF) Specification 1.9.1.
func readRTF(src []byte, l Limits, w *Writer) error {
	if !bytes.HasPrefix(src, []byte(`{\rtf`)) {
		return fmt.Errorf("%w: it does not begin as RTF", ErrDamaged)
	}
	x := &rtf{src: src, w: w, limits: l, decoder: decoderOf(1252), fonts: map[int]*encoding.Decoder{}}
	x.group.skipped = 1
	return x.read()
}

// rtf is a reader of RTF. Groups {…} inherit what stands in group.
type rtf struct {
	src     []byte
	pos     int
	w       *Writer
	limits  Limits
	decoder *encoding.Decoder         // of the code page of the document
	fonts   map[int]*encoding.Decoder // of those that have a character set of their own
	font    int                       // the one that the table of fonts tells of
	deff    int                       // the one of text that names none

	group  rtfGroup
	outer  []rtfGroup
	beyond int // groups deeper than the bound

	raw       []byte // bytes in the code page of the font
	units     []uint16
	passing   int             // characters that stand for one of Unicode, to be passed over
	paragraph string          // the element of the open paragraph, "" for none
	level     int             // of the next one as a heading; 0 = none
	field     strings.Builder // the instruction of the last field
	said      strings.Builder // what the document says of itself
}

type rtfGroup struct {
	hidden  bool   // what is in it is no text
	into    string // "fldinst", "title" …: where its text goes; "" = the document
	skipped int    // characters behind one of Unicode that stand for it (\uc)
	link    bool   // a link was opened in it
	starred bool   // the next word names a destination that may be passed over
	fonts   bool   // it is in the table of fonts
	font    int    // the font of its text
}

func (x *rtf) read() error {
	for x.pos < len(x.src) && !x.w.Full() {
		switch c := x.src[x.pos]; c {
		case '{':
			x.pos++
			x.flush()
			if len(x.outer) >= x.limits.Depth {
				x.beyond++
				x.w.Cut()
				continue
			}
			x.outer = append(x.outer, x.group)
			x.group.link = false
		case '}':
			x.pos++
			x.flush()
			if x.beyond > 0 {
				x.beyond--
				continue
			}
			if len(x.outer) == 0 {
				x.endParagraph()
				return nil // what follows is no part of it
			}
			x.leave()
		case '\\':
			x.control()
		case '\r', '\n':
			x.pos++
		default:
			x.pos++
			x.char(c)
		}
	}
	x.flush()
	x.endParagraph()
	if len(x.outer) > 0 {
		x.w.Cut()
	}
	return nil
}

// leave ends a group.
func (x *rtf) leave() {
	if x.group.link {
		x.w.Close("a")
	}
	inner := x.group
	x.group = x.outer[len(x.outer)-1]
	x.outer = x.outer[:len(x.outer)-1]
	if inner.into == x.group.into {
		return
	}
	switch s := x.said.String(); inner.into {
	case "title":
		x.w.Title(s)
	case "doccomm":
		x.w.Description(s)
	case "keywords":
		x.w.Keywords(s)
	}
	x.said.Reset()
}

// control reads what a backslash begins.
func (x *rtf) control() {
	x.pos++
	if x.pos >= len(x.src) {
		return
	}
	c := x.src[x.pos]
	if !isLetter(c) {
		x.pos++
		switch c {
		case '\'':
			if x.pos+2 <= len(x.src) {
				hi, lo := unhex(x.src[x.pos]), unhex(x.src[x.pos+1])
				x.pos += 2
				if hi >= 0 && lo >= 0 {
					x.char(byte(hi<<4 | lo))
				}
			}
		case '*':
			x.group.starred = true
		case '~':
			x.char(' ')
		case '_':
			x.char('-')
		case '\r', '\n':
			x.word("par", 0, false)
		case '{', '}', '\\':
			x.char(c)
		}
		return
	}
	from := x.pos
	for x.pos < len(x.src) && isLetter(x.src[x.pos]) && x.pos-from < 32 {
		x.pos++
	}
	name := string(x.src[from:x.pos])
	from = x.pos
	if x.pos < len(x.src) && x.src[x.pos] == '-' {
		x.pos++
	}
	for x.pos < len(x.src) && x.src[x.pos] >= '0' && x.src[x.pos] <= '9' && x.pos-from < 11 {
		x.pos++
	}
	n, err := strconv.Atoi(string(x.src[from:x.pos]))
	if x.pos < len(x.src) && x.src[x.pos] == ' ' {
		x.pos++
	}
	x.word(name, n, err == nil)
}

// word obeys a control word.
func (x *rtf) word(name string, n int, has bool) {
	if name == "u" && has {
		x.unicode(n)
		return
	}
	x.flush()
	starred := x.group.starred
	x.group.starred = false
	switch name {
	case "bin":
		x.pos = min(len(x.src), x.pos+max(0, n))
	case "ansicpg":
		if d := decoderOf(n); d != nil {
			x.decoder = d
		}
	case "f":
		if x.group.fonts {
			x.font = n
		} else {
			x.group.font = n
		}
	case "deff", "plain":
		if name == "deff" {
			x.deff = n
		}
		x.group.font = x.deff
	case "fcharset":
		if d := decoderOf(charsetPages[n]); x.group.fonts && d != nil && len(x.fonts) < maxFonts {
			x.fonts[x.font] = d
		}
	case "uc":
		x.group.skipped = max(0, min(n, 16))
	case "fonttbl", "colortbl", "stylesheet", "pict", "object", "header", "footer", "headerl", "headerr", "footerl", "footerr",
		"listtable", "listoverridetable", "themedata", "colorschememapping", "datastore", "latentstyles", "rsidtbl", "generator",
		"xmlnstbl", "mmathPr", "template", "author", "operator", "creatim", "revtim", "printim", "buptim", "subject", "company", "manager", "category":
		x.group.hidden, x.group.fonts = true, x.group.fonts || name == "fonttbl"
	case "info":
		x.group.hidden = true
	case "title", "doccomm", "keywords":
		x.group.hidden, x.group.into = false, name
	case "fldinst":
		x.group.hidden, x.group.into = false, name
		x.field.Reset()
	case "fldrslt":
		if address := fieldTarget(x.field.String()); address != "" && !x.group.hidden {
			x.begin()
			x.w.OpenLink(address)
			x.group.link = true
		}
		x.field.Reset()
	case "deflang":
		if tag := windowsLanguages[n]; tag != "" {
			x.w.Language(tag)
		}
	case "pard":
		x.level = 0
	case "outlinelevel":
		x.level = n + 1
	case "par", "sect", "page":
		if x.shown() {
			x.endParagraph()
		}
	case "line", "tab", "cell", "row", "nestcell", "nestrow":
		x.put(" ")
		if name == "row" && x.shown() {
			x.endParagraph()
		}
	case "emdash":
		x.put("—")
	case "endash":
		x.put("–")
	case "lquote":
		x.put("‘")
	case "rquote":
		x.put("’")
	case "ldblquote":
		x.put("“")
	case "rdblquote":
		x.put("”")
	case "bullet":
		x.put("•")
	default:
		if starred {
			x.group.hidden = true // a destination that this reader does not know
		}
	}
}

func (x *rtf) shown() bool { return !x.group.hidden && x.group.into == "" }

// char takes a byte in the code page of the font.
func (x *rtf) char(c byte) {
	if x.passing > 0 {
		x.passing--
		return
	}
	if len(x.units) > 0 {
		x.flush()
	}
	x.raw = append(x.raw, c)
}

// unicode takes a UTF-16 unit, written as a number that may be negative.
func (x *rtf) unicode(n int) {
	if len(x.raw) > 0 {
		x.flush()
	}
	x.units = append(x.units, uint16(n))
	x.passing = x.group.skipped
}

// flush writes what was gathered.
func (x *rtf) flush() {
	x.passing = 0
	if len(x.units) > 0 {
		x.put(string(utf16.Decode(x.units)))
		x.units = x.units[:0]
	}
	if len(x.raw) > 0 {
		d := x.decoder
		if own := x.fonts[x.group.font]; own != nil && x.group.into == "" {
			d = own
		}
		b, err := d.Bytes(x.raw)
		if err != nil {
			b = bytes.ToValidUTF8(x.raw, []byte("\uFFFD"))
		}
		x.put(string(b))
		x.raw = x.raw[:0]
	}
}

// put writes text where it goes.
func (x *rtf) put(s string) {
	switch {
	case x.group.hidden:
	case x.group.into == "fldinst":
		if x.field.Len() < maxAddress {
			x.field.WriteString(s)
		}
	case x.group.into != "":
		if x.said.Len() < maxSaid {
			x.said.WriteString(s)
		}
	default:
		x.begin()
		x.w.Linked(s)
	}
}

func (x *rtf) begin() {
	if x.paragraph == "" {
		if x.paragraph = "p"; x.level > 0 {
			x.paragraph = heading(x.level)
		}
		x.w.Open(x.paragraph)
	}
}

func (x *rtf) endParagraph() {
	if x.paragraph != "" {
		x.w.Close(x.paragraph)
		x.paragraph = ""
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// decoderOf decodes a code page of Windows; nil for one that is not known.
func decoderOf(page int) *encoding.Decoder {
	name := "windows-" + strconv.Itoa(page)
	switch page {
	case 932:
		name = "shift_jis"
	case 936:
		name = "gbk"
	case 949:
		name = "euc-kr"
	case 950:
		name = "big5"
	case 10000:
		name = "macintosh"
	case 65001:
		name = "utf-8"
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return e.NewDecoder()
}

// maxFonts bounds the fonts of a document that have a character set of their own.
const maxFonts = 4096

// charsetPages are the code pages of the character sets of fonts. Those of ANSI and the default have
// that of the document. It is never changed.
//
// Source: Rich Text Format (RTF) Specification 1.9.1, \fcharset.
var charsetPages = map[int]int{
	77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257,
	204: 1251, 222: 874, 238: 1250,
}

// windowsLanguages are the languages of the numbers that Windows has for them: the
// commonest. It is never changed.
var windowsLanguages = map[int]string{
	1025: "ar", 1028: "zh-TW", 1029: "cs", 1030: "da", 1031: "de", 1032: "el", 1033: "en", 1034: "es", 1035: "fi", 1036: "fr",
	1037: "he", 1038: "hu", 1040: "it", 1041: "ja", 1042: "ko", 1043: "nl", 1044: "nb", 1045: "pl", 1046: "pt-BR", 1048: "ro",
	1049: "ru", 1053: "sv", 1055: "tr", 1057: "id", 1058: "uk", 2052: "zh", 2055: "de-CH", 2057: "en-GB", 2070: "pt", 3081: "en-AU",
	3082: "es", 4108: "fr-CH",
}
