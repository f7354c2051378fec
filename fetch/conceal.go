package fetch

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

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

// forms are the words by which a secret is found: as it is, without the escapes of addresses, in the small
// letters of a name of a host, in Latin-1, in base64 wherever it stands in what is coded so, and, of a JSON Web
// Token, each of its parts. Source: RFC 7519.
func forms(secret string) (words []string) {
	add := func(w string) {
		if len(w) >= leastSecret && !isMarkup(w) {
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
	add(strings.ToLower(secret))
	if one, ok := latin1(secret); ok {
		add(one)
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

// latin1 is a text in ISO 8859-1; ok is false where that has not all of its characters.
func latin1(s string) (out string, ok bool) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return "", false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}

// isMarkup tells words that stand in documents for what they are: those of HTML, of feeds and of scripts.
// Nothing would be left of a document without them.
func isMarkup(word string) bool {
	word = strings.ToLower(word)
	return atom.Lookup([]byte(word)) != 0 || syntax[word]
}

// syntax is never written to.
var syntax = setOf(`array async await boolean break case catch class const constructor continue debugger default delete
	document else enum export extends false finally foreach from function import instanceof join length location names
	null number object parse prototype push return slice split static string super switch text this throw true typeof
	undefined void while window with yield channel description entry feed guid item lastmod pubdate published sitemap
	sitemapindex updated urlset version charset utf-8 html5 http https javascript json xhtml xmlns absolute auto
	background block bold border bottom center color display flex font grid height hidden important inline left margin
	media none padding position relative right screen width`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// ordinaryLength is the fewest letters of a row that is no word.
const ordinaryLength = 16

// isOrdinary tells a word of a language: small letters, the first of which may be large.
func isOrdinary(word string) bool {
	for i, r := range word {
		if !unicode.IsLetter(r) || i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return len(word) < ordinaryLength
}

// conceal puts web.Concealed in the place of words in a text, as they are or in the way of addresses (a%20b), of
// JSON (a\u0026b) or of HTML (a&amp;b). onlyLong leaves short words where they are.
func conceal(text string, words []string, onlyLong bool) string {
	if len(words) == 0 {
		return text
	}
	return newFinder(words).conceal(text, onlyLong)
}

// finder finds words in many texts. It passes over a text once, however many words there are.
type finder struct {
	byHead map[uint32][]string // by their first leastSecret bytes, the longest first
	heads  [1 << 10]uint64     // a bit for the hash of each of these
}

func newFinder(words []string) *finder {
	all := slices.Clone(words)
	for _, w := range words { // in the way in which a text is read to its end
		if read := readings(w); len(read) > 1 && len(read[len(read)-1].text) >= leastSecret {
			all = append(all, read[len(read)-1].text)
		}
	}
	f := &finder{byHead: make(map[uint32][]string, len(all))}
	for _, w := range inOrder(all) {
		head := binary.LittleEndian.Uint32([]byte(w))
		f.byHead[head] = append(f.byHead[head], w)
		h := hash(head)
		f.heads[h>>6] |= 1 << (h & 63)
	}
	return f
}

// hash is of 16 bits. Source: Knuth, The Art of Computer Programming, volume 3, section 6.4.
func hash(head uint32) uint32 { return head * 2654435769 >> 16 }

// span is a place in a text, end excluded.
type span struct{ from, to int }

// conceal is conceal with the words of the finder.
func (f *finder) conceal(text string, onlyLong bool) string {
	return replaced(text, f.find(readings(text), onlyLong), web.Concealed)
}

// find are the places in a text at which a word stands in one of its readings, in their order. Words that
// overlap are one place.
func (f *finder) find(text []reading, onlyLong bool) []span {
	var found []span
	for i := range text {
		for _, at := range f.in(text[i].text, onlyLong) {
			for k := i; k > 0; k-- {
				at = text[k].source(text[k-1].text, at)
			}
			found = append(found, at)
		}
		found = merged(found) // or a text could be found to hold five times what it has room for
	}
	return found
}

// merged are spans in their order, of which none overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// in are the places of words in a text as it stands.
func (f *finder) in(s string, onlyLong bool) (found []span) {
	var head uint32
	for i := range len(s) {
		head = head>>8 | uint32(s[i])<<24 // as little endian
		h := hash(head)
		if f.heads[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		at := i + 1 - leastSecret
		if at < 0 {
			continue
		}
		for _, w := range f.byHead[head] {
			short := len(w) < longSecret
			if strings.HasPrefix(s[at:], w) && !(short && (onlyLong || !isAlone(s, at, at+len(w)))) {
				found = append(found, span{at, at + len(w)})
				break
			}
		}
	}
	return found
}

// replaced is a text with another in the place of spans of it, which are in their order.
func replaced(text string, spans []span, by string) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, s := range spans {
		b.WriteString(text[done:s.from])
		b.WriteString(by)
		done = s.to
	}
	b.WriteString(text[done:])
	return b.String()
}

// standsIn tells whether a word stands in a text by itself.
func standsIn(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		if from += i; isAlone(text, from, from+len(word)) {
			return true
		}
		from++
	}
}

// isAlone tells whether neither a letter nor a digit stands beside a place in a text.
func isAlone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !isAlphanumeric(before) && !isAlphanumeric(after)
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
