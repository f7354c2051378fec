package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// The list of tests that browsers share for addresses (urltestdata.json of the Web Platform
// Tests, as the module of the parser brings it) gives what it says, but for what URL's
// own rules change.
func TestSharedList(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nlnwa/whatwg-url").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "testdata", "urltestdata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	same, byRule, refused, otherScheme, otherBase := 0, 0, 0, 0, 0
	for _, raw := range list {
		var c struct {
			Input, Href string
			Base        *string
			Failure     bool
		}
		if raw[0] == '"' {
			continue // a heading
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		var base web.URL
		if c.Base != nil && *c.Base != "about:blank" {
			if base, err = web.Parse(*c.Base); err != nil {
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
	if same < 400 || byRule < 30 || refused != 4 {
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
