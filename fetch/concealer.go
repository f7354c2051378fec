package fetch

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/web"
)

// concealer conceals, in what came for an address and in what is made of it, what lets the user in at its site,
// and what does so at a host that the text itself names. It is safe for concurrent use.
type concealer struct {
	asked web.URL
	own   *finder  // nil for none
	all   *keyring // nil for none

	mu    sync.Mutex
	named map[string]*siteWords // by the key of at
}

// siteWords are what is looked for in a text that names a host of a site.
type siteWords struct {
	words []string
	*finder
}

// newConcealer is for an answer between which and the user so many words are secret; nil where nothing is.
func newConcealer(asked web.URL, words []string, all *keyring) *concealer {
	d := &concealer{asked: asked}
	if words = notIn(asked, words); len(words) > 0 {
		d.own = newFinder(words)
	}
	if all != nil && (len(all.words) > 0 || all.cookies != nil) {
		d.all, d.named = all, map[string]*siteWords{}
	}
	if d.own == nil && d.all == nil {
		return nil
	}
	return d
}

// conceal is Response.Conceal.
func (d *concealer) conceal(text string) string {
	return replaced(text, d.find(text), web.Concealed)
}

// head conceals in the head of the answer what lets the user in at hosts that it names. The rest is concealed
// already; see Options.answered.
func (d *concealer) head(h http.Header) {
	if d.all == nil {
		return
	}
	for _, values := range h {
		for i, v := range values {
			if read := readings(v); strings.Contains(v, "/") || len(read) > 1 {
				if f := d.elsewhere(read); f != nil {
					values[i] = replaced(v, f.find(read, false), web.Concealed)
				}
			}
		}
	}
}

// find are the places of secrets in a text, in their order.
func (d *concealer) find(text string) []span {
	read := readings(text)
	var found []span
	if d.own != nil {
		found = d.own.find(read, false)
	}
	if f := d.elsewhere(read); f != nil {
		found = merged(append(found, f.find(read, false)...))
	}
	return found
}

// elsewhere finds what lets the user in at the hosts that a text names; nil for nothing.
func (d *concealer) elsewhere(text []reading) *finder {
	if d.all == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	of := map[*siteWords]bool{}
	for i := range text {
		for s := text[i].text; ; {
			at := strings.Index(s, "//")
			if at < 0 {
				break
			}
			s = s[at+2:]
			if one := d.at(hostAt(s)); one != nil && len(one.words) > 0 {
				of[one] = true
			}
		}
	}
	var words []string
	for one := range of {
		if len(of) == 1 {
			return one.finder
		}
		words = append(words, one.words...)
	}
	if len(words) == 0 {
		return nil
	}
	return newFinder(words)
}

// at is what is looked for in a text that names a host; nil for nothing. It is kept by the host where the user has
// secrets for it, and else by the site whose cookies it shares: a text can name any number of hosts of one site,
// and of others, of which nothing is kept.
func (d *concealer) at(name string) *siteWords {
	if name == "" {
		return nil
	}
	key := name
	if _, own := d.all.words["//"+name]; !own {
		key = web.Host(name).Domain()
	}
	one := d.named[key]
	if one == nil {
		words := d.all.at(web.Host(key))
		if len(words) == 0 {
			return nil
		}
		words = d.usable(key, words)
		one = &siteWords{words, newFinder(words)}
		d.named[key] = one
	}
	if key == name {
		return one
	}
	if own := d.named[name]; own != nil {
		return own
	}
	if len(d.named) < mostNamed && slices.ContainsFunc(one.words, func(w string) bool { return standsIn(name, w) }) {
		words := d.usable(name, slices.Clone(one.words))
		one = &siteWords{words, newFinder(words)}
		d.named[name] = one
	}
	return one
}

// mostNamed bounds the hosts that have a finder of their own because a secret stands in their names. For more of them
// what stands there is concealed, too.
const mostNamed = 64

// usable are those of the words of a host that texts of any site are searched for: not what stands in its name or in
// the address asked for, and no ordinary word, which such a text holds by chance.
func (d *concealer) usable(name string, words []string) []string {
	return slices.DeleteFunc(notIn(d.asked, words), func(w string) bool {
		return isOrdinary(w) || standsIn(name, w)
	})
}

// mostName bounds the bytes of a name of a host.
const mostName = 255

// hostAt is the name of the host with which a text begins, behind a user; "" for none.
func hostAt(s string) string {
	end := 0
	for end < len(s) && end < mostName && (isASCIIAlphanumeric(s[end]) || strings.IndexByte("-._:@[]~", s[end]) >= 0) {
		end++
	}
	s = s[strings.LastIndexByte(s[:end], '@')+1 : end]
	return strings.TrimSuffix(strings.ToLower(web.Host(s).Name()), ".")
}

// notIn are the words but for those that the address asked for holds already, which the log keeps: its page is
// likely to hold them too, by chance or as its links lead to its neighbours.
func notIn(asked web.URL, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	address := readings(asked.String())
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(address, func(r reading) bool { return standsIn(r.text, w) })
	})
}

// hide puts web.Concealed in the place of secrets in a body that was read, and counts these. All that is made of
// the response is made of that body. One that came with a content coding is decoded then, and its head says so; where
// that could not be undone, or something stands behind it, what came is searched as it stands.
//
// The readings of a document take no more than the tree that is made of it later, for which there is room; see memory.
func (c *client) hide(ctx context.Context, t *timer, d *concealer, in *http.Response, out *web.Response, room *share) error {
	if c.options.Recorded {
		out.Concealed = bytes.Count(out.Body, []byte(web.Concealed))
	}
	if d == nil {
		return nil
	}
	was := len(out.Body)
	body, n := d.hide(out.Body, out.Truncated != "")
	coded := len(web.Codings(in.Header["Content-Encoding"])) > 0
	if n == 0 && coded {
		var raw []byte
		if raw, n = d.hide(out.Raw, out.Truncated != ""); was == 0 {
			body, was = raw, len(out.Raw)
		}
	}
	if n == 0 {
		return nil
	}
	if err := room.grow(ctx, (len(body)-was)*(1+treeFactor), t.hold); err != nil {
		return err
	}
	if len(body) > max(c.maxBody, was) {
		body, out.Truncated = body[:max(c.maxBody, was)], "length"
	}
	if length := in.Header["Content-Length"]; len(length) > 0 {
		if said, err := strconv.Atoi(length[0]); err == nil {
			in.Header["Content-Length"] = []string{strconv.Itoa(max(said-len(out.Raw), 0) + len(body))}
		}
	}
	if coded {
		in.Header["X-Crawler-Content-Encoding"] = in.Header["Content-Encoding"]
		delete(in.Header, "Content-Encoding")
	}
	out.Raw, out.Concealed, out.Came = body, n, len(out.Raw)
	if len(out.Body) > 0 {
		out.Body = body
	}
	return nil
}

// hide is a body without secrets, and how many these were. In a text web.Concealed stands in their place; where
// bytes may count, as in a PDF file, as much of it as there is room for.
func (d *concealer) hide(body []byte, cut bool) (out []byte, n int) {
	text := string(body)
	found := d.find(text)
	if cut && d.own != nil {
		if s, ok := d.own.begun(text); ok {
			found = merged(append(found, s))
		}
	}
	if len(found) == 0 {
		return body, 0
	}
	sized := isBinary(body)
	out = make([]byte, 0, len(body)+len(found)*len(web.Concealed))
	done := 0
	for _, s := range found {
		out = append(out, body[done:s.from]...)
		switch place := body[s.from:s.to]; {
		case sized:
			for i, c := range place {
				if c != 0 { // of UTF-16
					c = web.Concealed[i%len(web.Concealed)]
				}
				out = append(out, c)
			}
		case bytes.IndexByte(place, 0) >= 0: // UTF-16
			for i := range len(web.Concealed) {
				if i > 0 {
					out = append(out, 0)
				}
				out = append(out, web.Concealed[i])
			}
		default:
			out = append(out, web.Concealed...)
		}
		done = s.to
	}
	return append(out, body[done:]...), len(found)
}

// begun is the end of a text, where that is the beginning of a long word.
func (f *finder) begun(text string) (s span, ok bool) {
	for _, words := range f.byHead {
		for _, w := range words {
			for n := min(len(w)-1, len(text)); len(w) >= longSecret && n >= leastSecret; n-- {
				if strings.HasSuffix(text, w[:n]) && (!ok || n > s.to-s.from) {
					s, ok = span{len(text) - n, len(text)}, true
					break
				}
			}
		}
	}
	return s, ok
}

// isBinary tells a body in which places are counted in bytes, such as that of a PDF or a zip file.
func isBinary(body []byte) bool {
	return !strings.HasPrefix(http.DetectContentType(body[:min(len(body), sniffed)]), "text/")
}
