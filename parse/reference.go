package parse

import (
	"bytes"

	"golang.org/x/net/html"
)

// references replaces character references: &amp; by &. It remembers those that
// pages use, of which there are few, so that most cost a look into a map.
//
// Source: HTML Standard, 13.2.5.72 to 13.2.5.80. What each stands for, x/net/html
// says.
type references struct {
	texts  map[string]string // in text: "&amp;" → "&"
	values map[string]string // the same in values of attributes
}

// maxReferences bounds what is remembered, of each.
const maxReferences = 1 << 10

func newReferences() references {
	return references{texts: make(map[string]string), values: make(map[string]string)}
}

// appendText appends the text that raw stands for.
func (r *references) appendText(dst, raw []byte) []byte {
	for {
		before, run, rest := cutReference(raw)
		dst = append(dst, before...)
		if len(run) == 0 {
			return dst
		}
		s, ok := r.texts[string(run)]
		if !ok {
			s = html.UnescapeString(string(run))
			remember(r.texts, string(run), s)
		}
		dst = append(dst, s...)
		raw = rest
	}
}

// appendValue appends the value of an attribute that raw stands for. There a
// reference without its semicolon is none before an equals sign, and no part of a
// longer name: in "?a=1&copy=2" and "?a=1&copying" nobody meant ©.
func (r *references) appendValue(dst, raw []byte) []byte {
	for {
		before, run, rest := cutReference(raw)
		dst = append(dst, before...)
		if len(run) == 0 {
			return dst
		}
		s, ok := r.values[string(run)]
		if !ok {
			name := string(run)
			s = html.UnescapeString(name)
			// No reference but "&semi;" stands for the character it ends in: where
			// this is still the last, a part of the name was replaced, or nothing.
			if run[len(run)-1] == s[len(s)-1] && name != "&semi;" && !bytes.HasPrefix(run, []byte("&#")) {
				s = name
			}
			remember(r.values, name, s)
		}
		if len(rest) > 0 && rest[0] == '=' && run[len(run)-1] != ';' && !bytes.HasPrefix(run, []byte("&#")) {
			dst = append(dst, run...)
		} else {
			dst = append(dst, s...)
		}
		raw = rest
	}
}

func remember(m map[string]string, name, s string) {
	if len(m) < maxReferences && len(name) <= 32 {
		m[name] = s
	}
}

// cutReference parts raw at its first ampersand into what is before it, the longest
// run from it on that a reference can be, and the rest. No ampersand, no run.
func cutReference(raw []byte) (before, run, rest []byte) {
	start := bytes.IndexByte(raw, '&')
	if start < 0 {
		return raw, nil, nil
	}
	end := start + 1
	if end < len(raw) && raw[end] == '#' {
		end++
	}
	for end < len(raw) && (isLetter(raw[end]) || raw[end] >= '0' && raw[end] <= '9') {
		end++
	}
	if end < len(raw) && raw[end] == ';' {
		end++
	}
	return raw[:start], raw[start:end], raw[end:]
}
