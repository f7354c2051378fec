package explain

import (
	"testing"

	"github.com/waggle-crawler/waggle/collection"
)

// An address may lack its scheme, as those of seeds may.
func TestAddress(t *testing.T) {
	col := collection.At(t.TempDir())
	for in, want := range map[string]string{
		"meadow.example/insects":         "https://meadow.example/insects",
		"http://meadow.example/insects#": "http://meadow.example/insects",
	} {
		if u, err := Address(col, in); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", in, u, err, want)
		}
	}
}
