package fetch

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// Secrets are looked for by their words. One of fewer than longSecret bytes is found only where
// neither letters nor digits stand beside it, since others hold it by chance; one of fewer
// than leastSecret, such as the 1 of a header, is not looked for.
const (
	longSecret  = 8
	leastSecret = 4
)

// protocol are headers by which a crawl, or its browser, goes: what a page is, where it leads, and what its
// owner wishes. They hold short words by chance alone. Location is apart: see client.Fetch.
var protocol = map[string]bool{
	"Content-Encoding": true, "Content-Length": true, "Content-Type": true, "Transfer-Encoding": true,
	"Date": true, "Etag": true, "Expires": true, "Last-Modified": true, "Retry-After": true,
	"Content-Language": true, "Content-Security-Policy": true, "Link": true,
	"Tdm-Policy": true, "Tdm-Reservation": true, "X-Robots-Tag": true, web.RecordHeader: true,
}

// public are headers in which a client says what it is, and not who.
var public = map[string]bool{
	"User-Agent": true, "Referer": true, "Origin": true, "X-Requested-With": true, "Cache-Control": true, "Pragma": true, "Dnt": true,
}

// words are the texts that give a secret away, the longest first: each value that is sent, what stands in it
// behind the scheme of an authorization, the name with the password and the password alone, and the value of
// each cookie that is long; all in the forms of forms.
// What a client can read, or is (Accept-Language and its like, public), is no secret.
func (s Secret) words() (words []string) {
	add := func(w string) { words = append(words, forms(w)...) }
	for name, value := range s {
		if strings.HasPrefix(name, "Accept") || public[name] {
			continue
		}
		add(value)
		switch name {
		case "Authorization":
			scheme, told, _ := strings.Cut(value, " ")
			add(strings.TrimSpace(told))
			if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(told)); err == nil && strings.EqualFold(scheme, "Basic") {
				add(string(plain))
				_, password, _ := strings.Cut(string(plain), ":")
				add(password)
			}
		case "Cookie":
			for one := range strings.SplitSeq(value, ";") {
				_, v, _ := strings.Cut(one, "=")
				if v = strings.Trim(strings.TrimSpace(v), `"`); len(v) >= longSecret { // shorter ones are such as en-US, dark
					add(v)
				}
			}
		}
	}
	return inOrder(words)
}

// wordsByOrigin are the words of the secrets of each origin, and of what the proxy is told, which may repeat it
// in any answer. Those of "" are of an origin without secrets, and those of "//" and the name of a host
// of all its origins.
type wordsByOrigin map[string][]string

func (o *Options) words() wordsByOrigin {
	all := wordsByOrigin{}
	if o.Proxy != nil && o.Proxy.User != nil {
		password, _ := o.Proxy.User.Password()
		all[""] = BasicAuth(o.Proxy.User.Username(), password).words()
	}
	for origin, s := range o.Secrets {
		all[origin] = inOrder(append(s.words(), all[""]...))
		if u, err := web.Parse(origin); err == nil {
			host := "//" + u.Host().Name()
			all[host] = inOrder(append(slices.Clone(all[host]), all[origin]...))
		}
	}
	return all
}

func (w wordsByOrigin) of(origin string) []string {
	if own, ok := w[origin]; ok {
		return own
	}
	return w[""]
}

// forms are the words by which a secret is found: as it is, without the escapes of addresses, in base64
// wherever it stands in what is coded so, and, of a JSON Web Token, each of its parts. Source: RFC 7519.
func forms(secret string) (words []string) {
	add := func(w string) {
		if len(w) >= leastSecret {
			words = append(words, w)
		}
	}
	add(secret)
	add(unescape(secret))
	if strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") > 1 {
		for part := range strings.SplitSeq(secret, ".") {
			if len(part) >= longSecret {
				add(part)
			}
		}
	}
	if len(secret) < longSecret {
		return words
	}
	add(base64.StdEncoding.EncodeToString([]byte(secret)))
	for before := range 3 { // bytes before it in its group of three
		coded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		coded = coded[(8*before+5)/6 : 8*(before+len(secret))/6] // of which all bits are the secret's
		add(coded)
		add(strings.NewReplacer("+", "-", "/", "_").Replace(coded))
	}
	return words
}

// inOrder are words without those that stand there twice, the longest first.
func inOrder(words []string) []string {
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(words)
}

// conceal puts web.Concealed in the place of words in a text; of a text that holds one in the way
// of addresses (a%20b), of JSON (a\u0026b) or of HTML (a&amp;b) nothing else is left. onlyLong leaves short words where they are.
func conceal(text string, words []string, onlyLong bool) string {
	each := func(s string) string {
		for _, w := range words {
			if len(w) >= longSecret || !onlyLong {
				s = concealWord(s, w)
			}
		}
		return s
	}
	out := each(text)
	for _, plain := range readings(out)[1:] {
		if each(plain) != plain {
			return web.Concealed
		}
	}
	return out
}

// finder conceals words in many texts. It passes over a text once, however many words there are.
type finder struct {
	words  []string
	byHead map[uint32][]string // by their first leastSecret bytes
	heads  [1 << 10]uint64     // a bit for the hash of each of these
}

func newFinder(words []string) *finder {
	f := &finder{words: words, byHead: make(map[uint32][]string, len(words))}
	for _, w := range words {
		head := binary.LittleEndian.Uint32([]byte(w))
		f.byHead[head] = append(f.byHead[head], w)
		h := hash(head)
		f.heads[h>>6] |= 1 << (h & 63)
	}
	return f
}

// hash is of 16 bits. Source: Knuth, The Art of Computer Programming, volume 3, section 6.4.
func hash(head uint32) uint32 { return head * 2654435769 >> 16 }

// conceal is conceal with the words of the finder.
func (f *finder) conceal(text string) string {
	if !f.finds(text) {
		return text
	}
	return conceal(text, f.words, false)
}

// finds tells whether a reading of a text may hold a word. It does not heed what stands beside a short one.
func (f *finder) finds(text string) bool {
	if f.holds(text) {
		return true
	}
	return strings.ContainsAny(text, `%+\&`) && slices.ContainsFunc(readings(text)[1:], f.holds)
}

func (f *finder) holds(s string) bool {
	var head uint32
	for i := range len(s) {
		head = head>>8 | uint32(s[i])<<24 // as little endian
		at := i + 1 - leastSecret
		if at < 0 {
			continue
		}
		if h := hash(head); f.heads[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, w := range f.byHead[head] {
			if strings.HasPrefix(s[at:], w) {
				return true
			}
		}
	}
	return false
}

// mostReadings bounds the readings of a text.
const mostReadings = 8

// readings are a text as it is, and as those read it who take escapes out of it, also of what they have read.
func readings(text string) []string {
	out := []string{text}
	for i := 0; i < len(out); i++ {
		s := out[i]
		for _, read := range []struct {
			mark byte
			as   func(string) string
		}{
			{'%', unescape},
			{'+', func(s string) string { return strings.ReplaceAll(s, "+", " ") }},
			{'\\', unescapeJSON},
			{'&', html.UnescapeString},
		} {
			if strings.IndexByte(s, read.mark) < 0 {
				continue
			}
			if plain := read.as(s); len(out) < mostReadings && !slices.Contains(out, plain) {
				out = append(out, plain)
			}
		}
	}
	return out
}

// unescape is url.PathUnescape that leaves what is no escape as it is.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(code))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeJSON takes the escapes of JSON and of scripts out of a text (\/, \u0026, \x26), and leaves what is none.
func unescapeJSON(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := map[byte]int{'u': 4, 'x': 2}[s[i]]
		if i+digits < len(s) && digits > 0 {
			if code, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil {
				b.WriteRune(rune(code))
				i += digits
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// concealWord is conceal for one word as it stands.
func concealWord(text, word string) string { return concealAlone(text, word, len(word) < longSecret) }

// concealAlone is concealWord; with alone it leaves the word where a letter or a digit stands beside it.
func concealAlone(text, word string, alone bool) string {
	var b strings.Builder
	done := 0 // so much of text is in b
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return b.String() + text[done:]
		}
		i += from
		end := i + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[done:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if alone && (isAlphanumeric(before) || isAlphanumeric(after)) {
			from = i + 1
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(web.Concealed)
		done, from = end, end
	}
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
