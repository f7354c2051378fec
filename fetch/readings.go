package fetch

import (
	"html"
	"slices"
	"strings"
)

// reading is a text as it is, or as who takes escapes out of the reading before it reads it.
type reading struct {
	text  string
	marks []mark // of the reading before, one in each betweenMarks bytes; none of a text as it is
}

// mark says that what stands in a reading from at on was read from from on in the one before.
type mark struct{ at, from int32 }

// betweenMarks is far more than the size of a mark: any byte of a text may be an escape.
const betweenMarks = 128

// mostReadings bounds the readings of a text: escapes may be escaped again.
const mostReadings = 5

// readings are a text as it is, without its escapes, without the escapes in that, and so on. A plus sign, which
// is a space in addresses, is read as one; so is a line break that is escaped; a NUL, of which UTF-16 has one
// for each letter, as nothing.
func readings(text string) []reading {
	out := []reading{{text: text}}
	for len(out) < mostReadings {
		next, ok := unescaped(out[len(out)-1].text)
		if !ok {
			break
		}
		out = append(out, next)
	}
	return out
}

// source is a place in a reading as one of the text before it.
func (r *reading) source(before string, s span) span {
	return span{r.token(before, s.from).from, r.token(before, s.to-1).to}
}

// token is the escape or the byte in the text before that a byte of a reading was read from.
func (r *reading) token(before string, at int) span {
	next, _ := slices.BinarySearchFunc(r.marks, int32(at), func(m mark, at int32) int {
		if m.at <= at {
			return -1
		}
		return 1
	})
	for end, i := int(r.marks[next-1].at), int(r.marks[next-1].from); ; {
		from := i
		read, n := "", 0
		if escapes[before[i]] {
			read, n = unescapeAt(before, i)
		}
		if n == 0 {
			end, i = end+1, i+1
		} else {
			end, i = end+len(read), i+n
		}
		if end > at {
			return span{from, i}
		}
	}
}

// escapes tells the bytes with which one may begin. It is never written to.
var escapes = func() (is [256]bool) {
	for _, c := range []byte("%+\\&\x00") {
		is[c] = true
	}
	return is
}()

// unescaped is a text without escapes; ok is false where there are none.
func unescaped(s string) (out reading, ok bool) {
	var b strings.Builder
	done, next := 0, 0 // so much of s is in b; where the next mark is due
	for i := 0; i < len(s); {
		if i >= next {
			out.marks = append(out.marks, mark{int32(b.Len() + i - done), int32(i)})
			next = i + betweenMarks
		}
		if !escapes[s[i]] {
			i++
			continue
		}
		read, n := unescapeAt(s, i)
		if n == 0 {
			i++
			continue
		}
		if done == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:i])
		b.WriteString(read)
		i += n
		done = i
	}
	if done == 0 {
		return out, false
	}
	b.WriteString(s[done:])
	out.text = b.String()
	return out, true
}

// unescapeAt is what the escape at a place in a text stands for, and its length; 0 for what is none.
func unescapeAt(s string, i int) (read string, n int) {
	switch s[i] {
	case 0:
		return "", 1
	case '+':
		return " ", 1
	case '%':
		if i+2 < len(s) {
			if code, ok := hexadecimal(s[i+1 : i+3]); ok {
				return string([]byte{byte(code)}), 3
			}
		}
	case '\\': // of JSON and of scripts: \/, \u0026, \x26, \n
		if i+1 == len(s) {
			return "", 0
		}
		switch c := s[i+1]; c {
		case 'n', 'r', 't':
			return " ", 2
		case 'u', 'x':
			digits := 2
			if c == 'u' {
				digits = 4
			}
			if end := i + 2 + digits; end <= len(s) {
				if code, ok := hexadecimal(s[i+2 : end]); ok {
					return string(code), 2 + digits
				}
			}
		}
		return s[i+1 : i+2], 2
	case '&':
		end := i + 1
		for end < len(s) && end < i+mostEntity && (s[end] == '#' || isASCIIAlphanumeric(s[end])) {
			end++
		}
		if end < len(s) && s[end] == ';' {
			end++
		}
		if token := s[i:end]; len(token) > 2 {
			if plain := html.UnescapeString(token); plain != token {
				return plain, len(token)
			}
		}
	}
	return "", 0
}

func hexadecimal(digits string) (n rune, ok bool) {
	for _, c := range []byte(digits) {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// mostEntity bounds the bytes of a character reference: the longest name has 33.
const mostEntity = 40

func isASCIIAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// unescape takes the escapes of addresses out of a text, and leaves what is none.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if read, n := unescapeAt(s, i); n > 0 {
				b.WriteString(read)
				i += n - 1
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
