package feature

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// maxToken bounds the bytes of a token; longer ones are no words.
const maxToken = 40

// PageTokens appends the first n tokens of a page, title first, with meta its meta
// description and meta keywords next, and then its text, as models of labelled paths see
// it: "page:faculty". A token is what
// stands between white space, in lower case, without punctuation at its ends;
// there are no stop words and no stems.
//
// Source: Vydiswaran & Sarawagi 2005, sections 4.2 and 4.3. The paper takes 0, 10
// or 100 tokens “from the head and body” and does not say which; here they are the first.
func PageTokens(dst []string, p *web.Page, n int, meta bool) []string {
	most := len(dst) + n
	dst = appendTokens(dst, "page:", p.Title, most)
	if meta {
		dst = appendTokens(dst, "page:", p.Description, most)
		dst = appendTokens(dst, "page:", p.Keywords, most)
	}
	for i := 0; i < len(p.Leaves) && len(dst) < most; i++ {
		dst = appendTokens(dst, "page:", p.Leaves[i].Text, most)
	}
	return dst
}

// TrailTokens appends the tokens of a link: of its anchor, of up to ten words
// before and after it, and of its address without the host, which is split at
// / - . and at ? & = ; of the query, so that the extension is a token; "~svc" gives
// "~svc" and "~".
//
// They are one bag of words, "link:papers", as in the paper; tagged, they tell
// where a word stands: "anchor:papers", "around:papers", "url:papers".
//
// Source: Vydiswaran & Sarawagi 2005, section 4.2.
func TrailTokens(dst []string, l *web.Link, tagged bool) []string {
	anchor, around, url := "link:", "link:", "link:"
	if tagged {
		anchor, around, url = "anchor:", "around:", "url:"
	}
	const most = 1000 // anchors can be whole pages
	dst = appendTokens(dst, anchor, l.Anchor, len(dst)+most)
	dst = appendTokens(dst, around, l.Before, len(dst)+most)
	dst = appendTokens(dst, around, l.After, len(dst)+most)
	for part := range strings.FieldsFuncSeq(l.URL.RequestPath(), func(r rune) bool { return strings.ContainsRune("/-.?&=;", r) }) {
		part = strings.ToLower(part)
		if len(part) > maxToken {
			continue
		}
		dst = append(dst, url+part)
		if strings.HasPrefix(part, "~") {
			dst = append(dst, url+"~")
		}
	}
	return dst
}

// appendTokens appends tokens of s until dst holds most.
func appendTokens(dst []string, tag, s string, most int) []string {
	for w := range strings.FieldsSeq(s) {
		if len(dst) >= most {
			break
		}
		w = strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '~' }))
		if w != "" && len(w) <= maxToken && utf8.ValidString(w) {
			dst = append(dst, tag+w)
		}
	}
	return dst
}
