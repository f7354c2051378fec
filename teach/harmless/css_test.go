package harmless

import "testing"

// TestCleanCSS takes out what loads, however it is written, and leaves the rest.
func TestCleanCSS(t *testing.T) {
	for in, want := range map[string]string{
		`p{color:red}`: `p{color:red}`,
		`@import "http://evil.test/a"; p{color:red}`: ` p{color:red}`,
		`@\69mport url(x);p{}`:                       `p{}`,
		`p{background:u\72l(http://evil.test/)}`:     `p{background:none}`,
		`p{background:\000075 \rl("a)b") red}`:       `p{background:none red}`,
		`p{background:image-set("x" 1x)}`:            `p{background:none}`,
		`@media(x){.md\:w-1\/2{content:"\201c\a"}}`:  `@media(x){.md\:w-1\/2{content:"\201c\a"}}`,
		`a{b:url(`:                 `a{b:none`,
		`p{width:calc(1px + 2px)}`: `p{width:calc(1px + 2px)}`,
		`@font-face{src:local(x),u\72 l("http://evil.test/g.woff2")}`:        `@font-face{src:local(x),none}`,
		`p{background:-webkit-image-set(url(a) 1x, url("b)") 2x);color:red}`: `p{background:none 1x, none 2x);color:red}`,
	} {
		if got := cleanCSS(in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}
