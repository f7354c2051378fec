package event

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes untrusted text harmless to show: one line of valid UTF-8 without
// control, bidirectional, invisible or private characters, its white space
// folded to single spaces and trimmed, and with at most two combining marks on
// a letter. Escape sequences lose their escape character and with it their
// power. Line(Line(s)) == Line(s).
func Line(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space, marks := false, 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case r == utf8.RuneError: // also what invalid UTF-8 reads as
		case unicode.Is(unicode.M, r):
			if marks++; marks > 2 || b.Len() == 0 {
				continue
			}
		case !unicode.IsPrint(r) || unseen(r):
			continue
		}
		if !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// Cell makes untrusted text harmless as a cell of a table with tabs that people open in a
// spreadsheet: it is Line, and NoFormula. An apostrophe stands before a quotation mark as well:
// with one at its beginning a cell goes on to the next one, across tabs and lines, and behind it
// a formula may begin.
func Cell(s string) string {
	s = NoFormula(Line(s))
	if strings.HasPrefix(s, `"`) {
		return "'" + s
	}
	return s
}

// NoFormula puts an apostrophe before text that a spreadsheet would take for a
// formula, which may send data away or run programs: what begins with = + - @, in
// their wide forms too, or with a tab or a carriage return. The apostrophe says
// that text follows. Numbers that are ours are written without it.
//
// Source: OWASP, CSV Injection.
func NoFormula(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	if s != "" && strings.ContainsRune("=+-@＝＋－＠\t\r", r) {
		return "'" + s
	}
	return s
}

// unseen tells the characters beyond ASCII that have no glyph of their own but
// change how, or in what order, others are shown.
func unseen(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xa0, // C1 controls
		r == 0xad,                // soft hyphen
		r == 0x034f,              // grapheme joiner
		r == 0x061c,              // Arabic letter mark
		r == 0x115f, r == 0x1160, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r == 0x180e,                // Mongolian vowel separator
		r >= 0x200b && r <= 0x200f, // zero width, directional marks
		r >= 0x2028 && r <= 0x202e, // separators, bidirectional embeddings
		r >= 0x2060 && r <= 0x206f, // joiners, bidirectional isolates
		r == 0x3164, r == 0xffa0,   // Hangul fillers
		r >= 0xfe00 && r <= 0xfe0f,   // variation selectors
		r == 0xfeff,                  // byte order mark
		r >= 0xfff9 && r <= 0xfffb,   // interlinear annotation
		r >= 0x13430 && r <= 0x1345f, // hieroglyph joiners
		r >= 0x1bca0 && r <= 0x1bca3, // shorthand format controls
		r >= 0x1d173 && r <= 0x1d17a, // musical format controls
		r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors
		return true
	}
	return false
}
