package robots

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// What a file says of addresses. In want an address stands behind what is said of it: 1 or 0,
// with the policy if there is one, or - where nothing is said.
func TestReservations(t *testing.T) {
	rule := func(location string, says any) string {
		b, _ := json.Marshal(map[string]any{"location": location, "tdm-reservation": says})
		return string(b)
	}
	array := func(rules ...string) string { return "[" + strings.Join(rules, ",") + "]" }
	// The second example of section 4.1.2 of the protocol.
	groups := array(rule("/directory-a/", 1),
		`{"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy":"https://provider.com/policies/policy.json"}`,
		rule("/directory-b/images/*.jpg", 0))
	for _, c := range []struct{ name, file, want, wrong string }{
		{"all", array(rule("/", 1)), "1 / 1 /a?b=c", ""},
		{"groups, a", groups, "1 /directory-a/x.pdf - /directory-a - /", ""},
		{"groups, b", groups, "1https://provider.com/policies/policy.json /directory-b/html/ 0 /directory-b/images/a/b.jpg - /directory-b/images/b.png", ""},
		{"the first match decides", array(rule("/a/b", 0), rule("/a", 1)), "0 /a/b/c 1 /a/c", ""},
		{"the first match decides, not the longest", array(rule("/a", 1), rule("/a/b", 0)), "1 /a/b/c", ""},
		{"the end", array(rule("/a$", 1), rule("/*.pdf$", 1)), "1 /a - /ab - /a?b 1 /x/y.pdf - /y.pdf?b", ""},
		{"a star first", array(rule("*.pdf", 1)), "1 /x/y.pdf", ""},
		{"the case of letters", array(rule("/A", 1)), "1 /A - /a", ""},
		{"escapes", array(rule("/path/foo-%24", 1), rule("/é", 1), rule("/%7euser", 1)), "1 /path/foo-$ 1 /%C3%A9 1 /~user", ""},
		{"as texts", array(rule("/a", "1"), rule("/b", "0")), "1 /a 0 /b", ""},
		{"members that are not known", `[{"location":"/","tdm-reservation":1,"note":{"a":[1,2]}}]`, "1 /", ""},
		{"a byte order mark", "\ufeff" + array(rule("/", 1)), "1 /", ""},
		{"white space", "\n [ " + rule("/", 1) + " ]\r\n", "1 /", ""},
		{"a policy that is no text", `[{"location":"/","tdm-reservation":1,"tdm-policy":7}]`, "1 /", ""},
		{"a policy that is too long", `[{"location":"/","tdm-reservation":1,"tdm-policy":"` + strings.Repeat("a", 3000) + `"}]`, "1 /", ""},
		{"no rules", "[]", "- /", ""},

		{"values that are none", array(rule("/a", true), rule("/a", 2), rule("/a", nil), rule("/a", "yes"), rule("/a", 1)), "1 /a",
			"4 of its 5 rules are not used: they have no location that begins with / or *, or no tdm-reservation of 0 or 1"},
		{"locations that are none", array(rule("a/b", 1), rule("", 1), rule("https://a.example/", 1), `{"tdm-reservation":1}`, `{"location":["/"],"tdm-reservation":1}`), "- /a/b",
			"5 of its 5 rules are not used: they have no location that begins with / or *, or no tdm-reservation of 0 or 1"},
		{"rules that are none", array("7", "null", `"x"`, "[]", rule("/", 1)), "1 /",
			"4 of its 5 rules are not used: they have no location that begins with / or *, or no tdm-reservation of 0 or 1"},
		{"one rule without its brackets", rule("/", 1), "- /", "it is no JSON array of rules"},
		{"nothing", "", "- /", "it is no JSON array of rules"},
		{"a page", "<!DOCTYPE html>", "- /", "it is no JSON array of rules"},
		{"no end", "[" + rule("/", 1), "- /", "it is damaged: its end is missing"},
		{"no end of a rule", `[` + rule("/", 1) + `,{"location":"/`, "- /", "it is damaged: unexpected EOF"},
		{"more behind it", array(rule("/", 1)) + array(), "- /", "it is damaged: something follows its array"},
		{"a comma too many", "[" + rule("/", 1) + ",]", "- /", "it is damaged: invalid character ']' looking for beginning of value"},
		{"deep", `[{"location":"/","tdm-reservation":1,"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}]", "- /", "it is nested more than 32 deep"},
		{"brackets in a text", `[{"location":"/","tdm-reservation":1,"x":"\"` + strings.Repeat("[{", 40) + `"}]`, "1 /", ""},
		{"long", array(rule("/", 1)) + strings.Repeat(" ", maxBody), "- /", "it is longer than 500 KiB"},
		{"many rules", array(append(strings.Split(strings.Repeat(rule("/a", 1)+";", maxReservations), ";")[:maxReservations], rule("/b", 1))...), "1 /a - /b", "only the first 5000 rules of it are used"},
	} {
		r, wrong := ParseReservations([]byte(c.file))
		if wrong != c.wrong {
			t.Errorf("%s: wrong is %q, want %q", c.name, wrong, c.wrong)
		}
		want := strings.Fields(c.want)
		for i := 0; i+1 < len(want); i += 2 {
			if got := said(r.Of(want[i+1])); got != want[i] {
				t.Errorf("%s: of %s it says %s, want %s", c.name, want[i+1], got, want[i])
			}
		}
	}
}

func said(r web.Reservation) string {
	if r == (web.Reservation{}) {
		return "-"
	}
	return map[bool]string{true: "1", false: "0"}[r.Reserved] + r.Policy
}

// Whatever a file holds: it is read within its bounds, alike each time, and what is wrong is
// one line. A file that is nothing but one good rule for all says that.
func FuzzReservations(f *testing.F) {
	f.Add([]byte(`[{"location":"/a*b$","tdm-reservation":1,"tdm-policy":"https://a/p"},{"location":"/","tdm-reservation":"0"}]`), "/a%2Ab")
	f.Add([]byte("\ufeff[{}, [[[]]], null]\x00"), "")
	f.Add([]byte(`[{"location":"/\ud800","tdm-reservation":1e0}`), "/?#")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		r, wrong := ParseReservations(body)
		again, wrongAgain := ParseReservations(body)
		if r.Of(path) != again.Of(path) || wrong != wrongAgain {
			t.Errorf("read twice: %v and %v, %q and %q", r.Of(path), again.Of(path), wrong, wrongAgain)
		}
		if r.Len() > maxReservations || strings.ContainsAny(wrong, "\r\n") {
			t.Errorf("%d rules, wrong is %q", r.Len(), wrong)
		}
		if says := r.Of(path); len(says.Policy) > maxPolicy || !says.Said && says != (web.Reservation{}) {
			t.Errorf("%+v", says)
		}
		if wrong == "" && r.Len() == 0 && !json.Valid(body) && !strings.HasPrefix(string(body), "\ufeff") {
			t.Errorf("%q is no JSON, and nothing is said", body)
		}
		location, _ := json.Marshal("/" + strings.Trim(path, "*$"))
		if r, wrong := ParseReservations(fmt.Appendf(nil, `[{"location":%s,"tdm-reservation":1}]`, location)); r.Len() != 1 || wrong != "" {
			t.Errorf("a rule for %s: %d rules, wrong is %q", location, r.Len(), wrong)
		}
	})
}
