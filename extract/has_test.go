package extract

import "testing"

// A :has() in another is refused, however it is written; side by side they are not.
func TestHasInHas(t *testing.T) {
	for css, refused := range map[string]bool{
		"li:has(a)":                   false,
		"li:has(a):has(b), p:has(i)":  false,
		"li:not(:has(a))":             false,
		`.sm\:grid:has(a)`:            false,
		"li:has(:has(a))":             true,
		"li:not(:has(b:HAS(a)))":      true,
		"li:haschild(b:has(a))":       true,
		`li:h\61s(:\68 as(a))`:        true,
		"b, li:has(:not(:has(a)))":    true,
		"p:has(a) > li:has(b:has(a))": true,
		`li:has(.a\):has(b))`:         true,
		`li:has(.a\29 :has(b))`:       true,
		`li:has(.a\(b):has(i)`:        false,
	} {
		if _, err := compileCSS(css); (err != nil) != refused {
			t.Errorf("%s: %v", css, err)
		}
	}
}
