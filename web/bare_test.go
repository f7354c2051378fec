package web_test

import (
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
