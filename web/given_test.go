package web

import "testing"

// What a person wrote that is no address is told so, and not that a scheme is missing.
func TestGivenRefused(t *testing.T) {
	for in, want := range map[string]string{
		"rubbish line": `"rubbish line" is no address: write one such as https://example.org/`,
		"rubbish":      `address "rubbish" has no scheme: write it as https://…`,
	} {
		if u, err := Given(in); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", in, u, err, want)
		}
	}
}
