package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func secretsFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secrets.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A header has one name however it is written, and is given once.
func TestSecretHeaders(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // the error
		{"{cookie: a=tell-nobody, headers: {x-token: tell-nobody}}", ""},
		{"{cookie: a=tell-nobody, headers: {cookie: b=tell-nobody}}", `"Cookie" is given twice`},
		{"{user: ada, headers: {AUTHORIZATION: tell-nobody}}", `"Authorization" is given twice`},
		{"{headers: {x-a: tell-nobody, X-A: tell-nobody}}", `"X-A" is given twice`},
		{"{headers: {host: tell-nobody}}", `"Host" cannot be sent`},
		{"{headers: {a b: tell-nobody}}", `"a b" cannot be sent`},
	} {
		s, err := readSecrets(secretsFile(t, "https://a.example: "+c.text), "")
		if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "nobody")) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if err == nil && s.sites["https://a.example"]["X-Token"] == "" {
			t.Errorf("%s: %d headers, and none is X-Token", c.text, len(s.sites["https://a.example"]))
		}
	}
}

// The entry of the proxy is found however its address is written.
func TestSecretsOfProxy(t *testing.T) {
	for _, c := range []struct {
		entry, through string
		found          bool
	}{
		{"socks5://proxy.example:1080", "socks5://proxy.example:1080", true},
		{"socks5://proxy.example", "socks5://proxy.example:1080/", true},
		{"SOCKS5H://Proxy.Example:1080", "socks5h://proxy.example", true},
		{"http://proxy.example", "http://PROXY.example:80", true},
		{"https://proxy.example:443", "https://proxy.example", true},
		{"socks5://[2001:DB8::1]", "socks5://[2001:db8::1]:1080", true},
		{"socks5://proxy.example:1081", "socks5://proxy.example", false},
		{"socks5://proxy.example", "socks5h://proxy.example", false},
		{"http://proxy.example", "http://proxy.example:8080", false},
		{"socks5://proxy.example", "", false},
	} {
		s, err := readSecrets(secretsFile(t, `"`+c.entry+`": {user: ada}`), c.through)
		if err != nil || (s.proxy != nil) != c.found {
			t.Errorf("%s for %s: %v; found: %t", c.entry, c.through, err, err == nil && s.proxy != nil)
		}
	}
	if _, err := readSecrets(secretsFile(t, "{socks5://p.example: {user: a}, socks5://P.example: {user: b}}"), "socks5://p.example"); err == nil || !strings.Contains(err.Error(), "as another entry is") {
		t.Errorf("two entries: %v", err)
	}
	for entry, want := range map[string]int{"socks5://127.0.0.1:1": 0, "socks5://q.example": 1} { // where nothing answers
		j := Job{Contact: "a@b.example", Fetch: Fetch{Through: "socks5://127.0.0.1:1", Secrets: secretsFile(t, entry+": {user: ada, password: tell-nobody}")}}
		var notes []string
		if _, err := j.fetchOptions(t.Context(), func(s string) { notes = append(notes, s) }); err == nil || strings.Contains(err.Error(), "nobody") || len(notes) != want || strings.Contains(strings.Join(notes, ""), "nobody") {
			t.Errorf("%s: %v, notes %q", entry, err, notes)
		}
	}
}
