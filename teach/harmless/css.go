package harmless

import (
	"regexp"
	"strconv"
	"strings"
)

// escapes finds letters that a style sheet writes as escapes: "\75rl", "u\rl".
var escapes = regexp.MustCompile(`\\(?:([0-9a-fA-F]{1,6})[ \t\r\n\f]?|[g-zG-Z])`)

// unescape writes letters as themselves, so that words can be found; other
// escapes mean something, and stay.
func unescape(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		if e[1] >= 'g' || e[1] >= 'G' && e[1] <= 'Z' {
			return e[1:]
		}
		n, err := strconv.ParseUint(strings.TrimRight(e[1:], " \t\r\n\f"), 16, 32)
		if c := rune(n); err == nil && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return string(c)
		}
		return e
	})
}

// imports and loads find what makes a style sheet load something else.
var (
	imports = regexp.MustCompile(`(?is)@import[^;{}]*;?`)
	loads   = regexp.MustCompile(`(?is)(?:url|src|image|image-set|-webkit-image-set)\((?:"[^"]*"|'[^']*'|[^)])*\)?`)
)

// cleanCSS takes out of a style sheet what would load something. It need not
// find all there is: the policy a page is served with refuses the rest.
func cleanCSS(s string) string {
	if !strings.ContainsAny(s, "(@") {
		return s
	}
	return loads.ReplaceAllString(imports.ReplaceAllString(unescape(s), ""), "none")
}

// inlineCSS is cleanCSS for the inside of a style element, which no text in it
// can end.
func inlineCSS(s string) string {
	if len(s) > maxCSS {
		s = s[:maxCSS]
	}
	return strings.ReplaceAll(cleanCSS(strings.ToValidUTF8(s, "")), "<", `\3c `)
}
