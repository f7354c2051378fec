package extract

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/web"
)

// What goes wrong in the library is no value of a page; what goes wrong in those who take
// the values is not hidden.
func TestXPathPanics(t *testing.T) {
	root, err := html.Parse(strings.NewReader("<p>honey"))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPage(web.URL{}, root)
	for _, x := range []string{"//p", "string(//p)", "sum(//p)"} {
		e, err := compileXPath(x)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if r := recover(); r != "ours" {
					t.Errorf("%s: recovered %v", x, r)
				}
			}()
			eachXPath(p, &Selector{xpath: e}, func(candidate) bool { panic("ours") })
		}()
	}
	if p.tried(func() { panic("theirs") }) || p.Short() {
		t.Error("a panic of the library is none, or one for want of steps")
	}
	if p.tried(func() { panic(errSteps) }) || !p.Short() {
		t.Error("the want of steps is not told")
	}
}
