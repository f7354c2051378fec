package job

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"

	"github.com/waggle-crawler/waggle/web"
)

// Whatever a list of seeds holds: each that is taken is an address, and stands in the list.
func FuzzSeeds(f *testing.F) {
	f.Add([]byte("\ufeffhttps://a.test/ # home\r\nb.test/x#y\n\n#\n"))
	f.Add([]byte("a b\nhttp://\nlocalhost:8080"))
	f.Fuzz(func(t *testing.T, b []byte) {
		seeds, err := ReadSeeds(bytes.NewReader(b), "seeds.txt")
		if (err == nil) != (len(seeds) > 0) {
			t.Fatalf("%q, %v", seeds, err)
		}
		for _, s := range seeds {
			if _, err := web.Given(s); err != nil || !bytes.Contains(b, []byte(s)) {
				t.Errorf("%q: %v", s, err)
			}
		}
	})
}

// Whatever a file of secrets holds: what is taken can be sent, to an origin, and an error repeats
// nothing of it that is a secret.
func FuzzSecrets(f *testing.F) {
	const secret = "kept-to-oneself"
	f.Add([]byte("https://a.test:\n  user: ada\n  password: "+secret+"\nhttp://b.test:8080:\n  cookie: id="+secret+"\n  headers: {X-Token: "+secret+"}\n"), "")
	f.Add([]byte("socks5://p.test:\n  user: ada\n  password: "+secret+"\nhttps://a.test: {certificate: a.pem, key: a.key}\n"), "socks5://p.test:1080")
	f.Add([]byte("https://a.test: {password: ["+secret+"]}"), "http://p.test")
	f.Add([]byte("https://a.test: {headers: {\"X\\nY\": "+secret+"}}"), "")
	path := filepath.Join(f.TempDir(), "secrets.yaml")
	f.Fuzz(func(t *testing.T, b []byte, through string) {
		if len(b) > 1<<14 {
			return
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readSecrets(path, through)
		if err != nil {
			if strings.Contains(err.Error(), secret) && !bytes.Contains(b, []byte(secret+":")) && !strings.Contains(through, secret) {
				t.Errorf("%v", err)
			}
			return
		}
		for origin, s := range got.sites {
			if u, err := web.Parse(origin + "/"); err != nil || u.Origin() != origin {
				t.Errorf("%q is no origin: %v", origin, err)
			}
			for name, value := range s {
				if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
					t.Errorf("%s: %q: %q cannot be sent", origin, name, value)
				}
			}
		}
	})
}
