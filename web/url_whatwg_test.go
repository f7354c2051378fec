package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// notResolved are the addresses of the list whose hosts URL refuses: no resolver knows
// such names.
var notResolved = map[string]string{
	"http://./":                    "an empty label",
	"http://../":                   "empty labels",
	"http://foo.09..":              "an empty label",
	"http://!\"$&'()*+,-.;=_`{}~/": "characters that names do not have",
}

// sharedTests are the tests of one of the lists that browsers share (Web Platform Tests, url), as the
// module of the parser brings them.
func sharedTests(t *testing.T, name string) []json.RawMessage {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nlnwa/whatwg-url").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(raw json.RawMessage) bool { return raw[0] == '"' }) // a heading
}

// Hosts in other scripts are those of the lists for them, of which one is generated from the tests of
// Unicode (UTS #46). A dot at the end is left out. What no resolver knows is refused: an empty label, one of
// more than 63 bytes, a name of more than 253; and three signs of which the parser makes another name when it
// reads what it wrote. An input with a question mark ends there as an address.
func TestSharedHosts(t *testing.T) {
	unknown := func(host string) bool {
		host = strings.TrimSuffix(host, ".")
		return len(host) > 253 || slices.Contains([]string{"xn--1ch", "xn--gdh", "xn--hdh"}, host) ||
			slices.ContainsFunc(strings.Split(host, "."), func(label string) bool { return label == "" || len(label) > 63 })
	}
	for _, list := range []struct {
		name                          string
		same, noDot, refused, another int
	}{
		{"toascii.json", 27, 0, 12, 0},
		{"IdnaTestV2.json", 1889, 45, 52, 46},
	} {
		got := list
		got.same, got.noDot, got.refused, got.another = 0, 0, 0, 0
		for _, raw := range sharedTests(t, list.name) {
			var c struct {
				Input  string
				Output *string
			}
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			u, err := web.Parse("http://" + c.Input + "/")
			host := u.Host().Name()
			switch {
			case strings.ContainsAny(c.Input, "?"):
				got.another++
			case c.Output == nil && err != nil, c.Output != nil && err == nil && host == *c.Output:
				got.same++
			case c.Output != nil && err == nil && host+"." == *c.Output:
				got.noDot++
			case c.Output != nil && err != nil && unknown(*c.Output):
				got.refused++
			case c.Output == nil:
				t.Errorf("%q is %s, want an error", c.Input, u)
			default:
				t.Errorf("%q is %q, %v; want %q", c.Input, host, err, *c.Output)
			}
		}
		if got != list {
			t.Errorf("%+v, want %+v", got, list)
		}
	}
}

// The list of tests that browsers share for addresses gives what it says, but for what URL's
// own rules change.
func TestSharedList(t *testing.T) {
	list := sharedTests(t, "urltestdata.json")
	same, byRule, refused, otherScheme, otherBase := 0, 0, 0, 0, 0
	for _, raw := range list {
		var c struct {
			Input, Href string
			Base        *string
			Failure     bool
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		var base web.URL
		if c.Base != nil && *c.Base != "about:blank" {
			var err error
			if base, err = web.Parse(*c.Base); err != nil {
				if strings.HasPrefix(*c.Base, "http") {
					t.Errorf("the base %s: %v", *c.Base, err)
				}
				otherBase++ // no page that is fetched has it
				continue
			}
		}
		u, err := web.Canon{}.Resolve(base, c.Input)
		name := fmt.Sprintf("%q on %q", c.Input, base)
		switch {
		case c.Failure || !strings.HasPrefix(c.Href, "http:") && !strings.HasPrefix(c.Href, "https:"):
			if err == nil {
				t.Errorf("%s is %s, want an error", name, u)
			}
			if !c.Failure {
				otherScheme++
			} else {
				same++
			}
		case notResolved[c.Input] != "":
			if refused++; err == nil {
				t.Errorf("%s is %s, but has %s", name, u, notResolved[c.Input])
			}
		case err != nil:
			t.Errorf("%s: %v, want %s", name, err, c.Href)
		default:
			href, _, _ := strings.Cut(c.Href, "#")
			want := ruled(href)
			if u.String() != want {
				t.Errorf("%s is %s, want %s of %s", name, u, want, c.Href)
			}
			if want == href {
				same++
			} else {
				byRule++
			}
		}
	}
	t.Logf("%d as in the list, %d changed by a rule of URL, %d hosts refused, %d of other schemes, %d on bases of other schemes",
		same, byRule, refused, otherScheme, otherBase)
	if same < 400 || byRule < 30 || refused != 4 || otherBase != 124 {
		t.Error("the list is another")
	}
}

var (
	credentials = regexp.MustCompile(`^(https?://)[^/?]*@`)
	emptyQuery  = regexp.MustCompile(`\?$`)
	escape      = regexp.MustCompile(`%([0-9A-Fa-f]{2})?`)
	forbidden   = regexp.MustCompile("[`{}\"<>^|\\\\]")
)

// ruled is what the rules of URL make of an address without a fragment: a second
// telling of them, in the plainest way.
func ruled(href string) string {
	href = credentials.ReplaceAllString(href, "$1")
	href = emptyQuery.ReplaceAllString(href, "")
	href = escape.ReplaceAllStringFunc(href, func(e string) string {
		if len(e) == 1 {
			return "%25"
		}
		n, err := strconv.ParseUint(e[1:], 16, 8)
		if c := string(rune(n)); err == nil && n < 0x80 && strings.Trim(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") == "" {
			return c
		}
		return strings.ToUpper(e)
	})
	// A browser leaves a few bytes bare that RFC 3986 does not allow.
	return forbidden.ReplaceAllStringFunc(href, func(c string) string { return fmt.Sprintf("%%%02X", c[0]) })
}
