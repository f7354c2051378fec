package fetch

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// A head full of a secret is copied a few times, not once for each find.
func TestConcealMuch(t *testing.T) {
	const n = 1 << 15
	text := strings.Repeat("by-hand-", n)
	if got := conceal(text, []string{"by-hand-"}, true); got != strings.Repeat(web.Concealed, n) {
		t.Errorf("concealed as %.40q", got)
	}
	if got := testing.AllocsPerRun(1, func() { conceal(text, []string{"by-hand-"}, true) }); got > 200 {
		t.Errorf("%v allocations", got)
	}
}

// A finder finds what looking for one word after the other in each reading finds.
func TestFinder(t *testing.T) {
	words := inOrder(append(forms("by-hand-4711"), "abcd", "abce", "9%&+"))
	f := newFinder(words)
	var all []string
	for _, words := range f.byHead {
		all = append(all, words...)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom(append([]string{"%", "+", "&amp;", "\\", "-", "a", "b", "é", "by%2Dhand-4711", "by\\u002dhand&#45;4711", "ab%63d", "ab%2563d", "%2525", "abc", "/", "\x00"}, words...))).Draw(t, "parts")
		text := strings.Join(parts, "")
		holds := false
		for _, r := range readings(text) {
			for _, w := range all {
				holds = holds || len(w) >= longSecret && strings.Contains(r.text, w) || standsIn(r.text, w)
			}
		}
		got := f.conceal(text, false)
		if (got != text) != holds {
			t.Fatalf("%q is concealed as %q", text, got)
		}
		for _, w := range all {
			if len(w) >= longSecret && strings.Contains(got, w) || standsIn(got, w) {
				t.Fatalf("%q is concealed as %q, which holds %q", text, got, w)
			}
		}
	})
}

// What is found in a reading is concealed in its place, and nothing beside it is.
func TestConcealInPlace(t *testing.T) {
	const hidden = web.Concealed
	f := newFinder(inOrder(append(forms("pass word&1/2"), "4711")))
	for text, want := range map[string]string{
		"a pass word&1/2 b":                        "a " + hidden + " b",
		"a=pass%20word%261%2F2&b=%20":              "a=" + hidden + "&b=%20",
		"a=pass+word%261%2f2+b":                    "a=" + hidden + "+b",
		"a=pass%2520word%25261%252F2&b":            "a=" + hidden + "&b",
		`{"a":"pass word\u00261\/2","b":"\u0026"}`: `{"a":"` + hidden + `","b":"\u0026"}`,
		"<a href='?p=pass%20word&amp;1/2'>&amp;":   "<a href='?p=" + hidden + "'>&amp;",
		"&lt;pass word&#38;1/2&gt;":                "&lt;" + hidden + "&gt;",
		"cGFzcyB3b3JkJjEvMg==":                     hidden,
		"x\x00p\x00a\x00s\x00s\x00 \x00w\x00o\x00r\x00d\x00&\x001\x00/\x002\x00y\x00": "x\x00" + hidden + "\x00y\x00",
		"/4711/ 47110 a4711 &amp;4711;":                                               "/" + hidden + "/ 47110 a4711 &amp;" + hidden + ";",
		"100%; a+b \\d &c; nothing":                                                   "100%; a+b \\d &c; nothing",
	} {
		if got := f.conceal(text, false); got != want {
			t.Errorf("%q is concealed as %q, want %q", text, got, want)
		}
	}
}

// BenchmarkDiscreet leaves out links of a page that has 4,000, and conceals bodies of 200 kB, with a jar of 50
// cookies.
//
//	go test ./fetch -run '^$' -bench Discreet
func BenchmarkDiscreet(b *testing.B) {
	at := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			b.Fatal(err)
		}
		return u
	}
	page := &web.Page{URL: at("https://wiki.example/list")}
	for i := range 4000 {
		page.Links = append(page.Links, web.Link{URL: at(fmt.Sprintf("https://wiki.example/list/bees%%20and%%20hives?page=%d&sort=name", i)), Anchor: "Honey bees & their hives"})
	}
	var tokens []string
	jar := cookies.New(clock.System{})
	for i := range 50 {
		tokens = append(tokens, fmt.Sprintf("%016x%016x", uint64(i+1)*0x9E3779B97F4A7C15, uint64(i+1)*0xC2B2AE3D27D4EB4F))
		if err := jar.Add(cookies.Cookie{Name: fmt.Sprint("c", i), Value: tokens[i], Domain: "wiki.example", Path: "/"}); err != nil {
			b.Fatal(err)
		}
	}
	all := &keyring{cookies: jar}
	b.Run("words", func(b *testing.B) {
		for b.Loop() {
			newConcealer(page.URL, all.at(page.URL.Host()), all)
		}
	})
	words := all.at(page.URL.Host())
	b.Run("links", func(b *testing.B) {
		for b.Loop() {
			r := web.Response{URL: page.URL, Conceal: newConcealer(page.URL, words, all).conceal}
			if got := r.WithoutTelling(page); got.Telling > 0 {
				b.Fatal(got.Telling)
			}
		}
	})
	fill := func(one string) []byte { return []byte(strings.Repeat(one, 200_000/len(one)+1)[:200_000]) }
	for _, c := range []struct {
		name string
		body []byte
		n    int
	}{
		{"text", fill("Honey bees live in hives, of wood or of straw, and each of them has a queen.\n"), 0},
		{"page", fill(`<li><a href="/list?a=1&amp;b=bees%20and%20hives" title="Bees">Honey bees &amp; their hives</a> at https://bees.example/ + <script>f("\u003ca" + b + "\/")</script>`), 0},
		{"telling", append(fill(`<p>Honey bees live in hives &amp; trees.</p>`), `<a href="/out?`+tokens[7]+`">`...), 1},
		{"binary", fill("%PDF-1.7\n\x00\x01\x02\x80\xff&%+"), 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newConcealer(page.URL, words, all)
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if _, n := d.hide(c.body, false); n != c.n {
					b.Fatal(n)
				}
			}
		})
	}
}

// A body takes a few times its size while it is searched, however many escapes it has and hosts it names.
func TestHideTakesLittle(t *testing.T) {
	asked, err := web.Parse("https://bees.example/")
	if err != nil {
		t.Fatal(err)
	}
	jar := cookies.New(clock.System{})
	if err := jar.Add(cookies.Cookie{Name: "id", Value: "0123456789abcdef0123", Domain: "wiki.example", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	names := func(domain string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, "//%x%s", i, domain)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"NUL": "\x00", "UTF-16": "a\x00", "percent": "%41", "percents": "%2525252541", "backslash": "\\", "hosts": names(".test"), "hosts of a site": names(".wiki.example"),
		"hosts that hold a secret": names(".0123456789abcdef0123.wiki.example"),
	} {
		d := newConcealer(asked, forms("by-hand-4711"), &keyring{cookies: jar})
		body := []byte(strings.Repeat(text, size/len(text)+1)[:size])
		if got := allocated.By(func() { d.hide(body, false) }); got > 12*size {
			t.Errorf("%s: %d bytes for a body of %d", name, got, size)
		}
		if len(d.named) > 1 && (name != "hosts that hold a secret" || len(d.named) > mostNamed) {
			t.Errorf("%s: %d sites and hosts are kept", name, len(d.named))
		}
	}
}

// FuzzHide holds that nothing which is looked for is left in a body as it stands, and that a body grows by no more
// than what stands in the places of secrets.
func FuzzHide(f *testing.F) {
	for _, s := range []string{"a by-hand-4711 b", `{"t":"by\u002dhand-4711"}`, "//in.example/?k=kLmNoPqRsTuVwXyZ0123", "b\x00y\x00-\x00h\x00a\x00n\x00d\x00-\x004\x007\x001\x001\x00", "%PDF-1.7\n(4711)\x00"} {
		f.Add([]byte(s), true)
	}
	asked, err := web.Parse("https://wiki.example/list")
	if err != nil {
		f.Fatal(err)
	}
	words := inOrder(append(forms("by-hand-4711"), forms("4711")...))
	all := &keyring{words: wordsByOrigin{"//in.example": forms("kLmNoPqRsTuVwXyZ0123")}}
	f.Fuzz(func(t *testing.T, body []byte, cut bool) {
		d := newConcealer(asked, words, all)
		out, n := d.hide(body, cut)
		if n == 0 && string(out) != string(body) || len(out) > len(body)+2*n*len(web.Concealed) {
			t.Fatalf("%q is kept as %q, with %d places", body, out, n)
		}
		for _, w := range words {
			if len(w) >= longSecret && strings.Contains(string(out), w) {
				t.Fatalf("%q is kept as %q, which holds %q", body, out, w)
			}
		}
	})
}
