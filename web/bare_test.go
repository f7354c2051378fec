package web_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// A bare address is taken for what can only be one: a name with a dot in it, or this
// machine.
func TestWithScheme(t *testing.T) {
	for given, want := range map[string]string{
		"meadow.example":            "https://meadow.example",
		" Meadow.example/hives?a=b": "https://Meadow.example/hives?a=b",
		"meadow.example:8443/x":     "https://meadow.example:8443/x",
		"meadow.example#top":        "https://meadow.example#top",
		"bücher.example":            "https://bücher.example",
		"localhost":                 "http://localhost",
		"localhost:8080/a":          "http://localhost:8080/a",
		"bees.localhost:8080":       "http://bees.localhost:8080",
		"127.0.0.1:19001/":          "http://127.0.0.1:19001/",
		"[::1]:8080":                "http://[::1]:8080",
		"192.168.1.2":               "http://192.168.1.2",
		"192.0.2.7":                 "http://192.0.2.7",
		"[2001:db8::1]/x":           "http://[2001:db8::1]/x",
		"honey.test":                "https://honey.test",
		"en.wikipedia.org/wiki/Bee": "https://en.wikipedia.org/wiki/Bee",
		"пример.рф":                 "https://пример.рф",

		// Left as they are, and so refused later.
		"https://a.example/":     "https://a.example/",
		"gopher://a.example/":    "gopher://a.example/",
		"mailto:you@example.org": "mailto:you@example.org",
		"you@example.org":        "you@example.org",
		"you:pw@example.org/":    "you:pw@example.org/",
		"hives":                  "hives",
		"hives:80":               "hives:80",
		"a.example:port/":        "a.example:port/",
		"a.example:":             "a.example:",
		"seeds.txt":              "seeds.txt",
		"job.yaml":               "job.yaml",
		"bees/seeds.txt":         "bees/seeds.txt",
		"./a.example":            "./a.example",
		"../a.example":           "../a.example",
		".example":               ".example",
		"a..example":             "a..example",
		"//a.example/":           "//a.example/",
		"/etc/hosts":             "/etc/hosts",
		"honey bee.example":      "honey bee.example",
		"3.14":                   "3.14",
		"1.2.3":                  "1.2.3",
		"":                       "",
	} {
		if got := web.WithScheme(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// A name or a password before the host is refused, however a browser would read it, and the
// error shows none of it.
func TestGivenRefusesCredentials(t *testing.T) {
	for given, refused := range map[string]bool{
		"http://ada:Sw0rdfish@a.example/":      true,
		"HTTPS://ada@a.example":                true,
		" http:\\\\ada:Sw0rdfish@a.example\\x": true,
		"http:ada:Sw0rdfish@a.example/":        true,
		"http:/ada:Sw0rdfish@a.example/":       true,
		"ht\ntp://ada:Sw0rdfish@a.example/":    true,
		"http://:Sw0rdfish@a.example/":         true,
		"http://ada:Sw0rd@fish@a.example/":     true,
		"http://ada:Sw0rd/fish@a.example/":     true,
		"ftp://ada:Sw0rdfish@a.example/":       true,
		"ada:Sw0rdfish@a.example":              true,
		"//ada:Sw0rdfish@a.example/":           true,
		"http://a.example/@ada":                false,
		"http://a.example/?to=ada:x@b.example": false,
		"http://a.example#ada:x@b.example":     false,
		"a.example:8080/~ada@home":             false,
		"mailto:ada@a.example":                 false,
	} {
		_, err := web.Given(given)
		if errors.Is(err, web.ErrCredentials) != refused {
			t.Errorf("%q: %v, want refused: %v", given, err, refused)
		}
		if err != nil && strings.Contains(err.Error(), "Sw0rd") {
			t.Errorf("%q: the error shows the password: %v", given, err)
		}
	}
	for name, want := range map[string]bool{
		"hives/ada@home.html": false, "ada@a.example": false, "c:/ada@home.html": false,
		"bees: ada@a.example": false, "mail to:ada@a.example": false, "bees:\u00a0ada@a.example": false,
		"ada:Sw0rdfish@a.example bees": true, "https://ada lovelace@a.example/": true, "ada:Sw0rdfish@a.example": true,
	} {
		if web.HasCredentials(name) != want {
			t.Errorf("%q has credentials: %v", name, !want)
		}
	}
}
