package store

import (
	"strings"
	"testing"
)

// The keys of an index are those by which pywb looks addresses up. Where that tells, the
// expected ones are of the tests of the Python package surt.
func TestLookupKey(t *testing.T) {
	const id = "0123456789abcdefghijklemopqrstuv"
	for url, want := range map[string]string{
		"https://e.org/":                         "org,e)/",
		"https://e.org":                          "org,e)/",
		"https://e.org/a":                        "org,e)/a",
		"https://e.org/a/":                       "org,e)/a",
		"https://e.org/a//b/":                    "org,e)/a/b",
		"https://e.org//":                        "org,e)/",
		"https://e.org/A/B.html":                 "org,e)/a/b.html",
		"https://www.e.org/":                     "org,e)/",
		"https://www2.e.org/":                    "org,e)/",
		"https://www34.www2.e.org/":              "org,e,www2)/",
		"https://www2e.org/":                     "org,www2e)/",
		"https://e.org:8443/a":                   "org,e:8443)/a",
		"http://192.0.2.7:8080/a":                "7,2,0,192:8080)/a",
		"http://[2001:db8::1]/a":                 "2001:db8::1)/a",
		"http://archive.org/goo/?":               "org,archive)/goo",
		"http://archive.org/?":                   "org,archive)/",
		"http://archive.org/goo/?b&a":            "org,archive)/goo?a&b",
		"http://archive.org/goo/?a=2&b&a=1":      "org,archive)/goo?a=1&a=2&b",
		"http://e.org/?b=1&a=2":                  "org,e)/?a=2&b=1",
		"http://e.org/?a=1&":                     "org,e)/?&a=1",
		"http://e.org/?a=&a":                     "org,e)/?a&a=",
		"http://e.org/?a-b=1&a=2":                "org,e)/?a=2&a-b=1",
		"http://e.org/%7Ebee/%41%2525":           "org,e)/~bee/a%25",
		"http://e.org/a%%32%35%4%311%":           "org,e)/a%a1%25",
		"http://e.org/%E4%20x":                   "org,e)/%e4%20x",
		"http://e.org/a%2Fb/":                    "org,e)/a/b",
		"http://e.org/a;jsessionid=" + id:        "org,e)/a;jsessionid=" + id,
		"http://e.org/a?jsessionid=" + id:        "org,e)/a",
		"http://e.org/a?jsessionid=" + id + "0":  "org,e)/a?jsessionid=" + id + "0",
		"http://e.org/a?z=1&SID=" + id + "&x=y":  "org,e)/a?x=y&z=1",
		"http://e.org/a?one=two&phpsessid=" + id: "org,e)/a?&one=two",
		"http://e.org/a?aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y":                                    "org,e)/a?x=y",
		"http://e.org/a?CFID=14475712&CFTOKEN=2D89F5AF-3048-2957-DA4EE4B6B13661AB&r=468710288378&m=forgotten": "org,e)/a?m=forgotten&r=468710288378",
		"http://e.org/a?sid=9682993c8daa2c5497996114facdc805&jsessionid=" + id:                                "org,e)/a",
		"http://e.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx":                                               "org,e)/mileg.aspx",
		"http://e.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx":                                                  "org,e)/mileg.aspx",
		"http://archive.org/index.php?PHPSESSID=" + id + "&action=profile;u=4221":                             "org,archive)/index.php?action=profile;u=4221",
		"http://v.e.org/v.gif?&r=http%3A//e.org/web/&b=Netscape%205.0%20%28Windows%3B%20en-US%29&s=1366x768":  "org,e,v)/v.gif?&b=netscape%205.0%20(windows;%20en-us)&r=http://e.org/web/&s=1366x768",
	} {
		if got := lookupKey(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		line, err := (&Entry{Target: url, Length: 1}).CDXJ("a.warc.gz")
		if err != nil || !strings.HasPrefix(string(line), want+" ") {
			t.Errorf("%s: the line %s, %v", url, line, err)
		}
	}
}
