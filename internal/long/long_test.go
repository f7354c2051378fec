package long

import (
	"fmt"
	"testing"
)

// Each run, by the value of the variable: which tests it holds, and which of two numbers.
func TestRuns(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"", "long skipped, all skipped, 2"},
		{"1", "long run, all skipped, 7"},
		{"all", "long run, all run, 7"},
	} {
		t.Setenv(Variable, c.value)
		held := func(test func(testing.TB, string)) string {
			said := "skipped"
			t.Run("", func(t *testing.T) {
				r := &recorder{TB: t}
				if test(r, "takes long"); r.skipped == "" {
					said = "run"
				} else if r.skipped[:len("takes long: set WAGGLE_LONG=")] != "takes long: set WAGGLE_LONG=" {
					t.Error(r.skipped)
				}
			})
			return said
		}
		if got := fmt.Sprintf("long %s, all %s, %d", held(Test), held(TestOfAll), Count(t, "WAGGLE_NUMBER", 2, 7)); got != c.want {
			t.Errorf("%q: %s, want %s", c.value, got, c.want)
		}
	}
	t.Setenv("WAGGLE_NUMBER", "11")
	if n := Count(t, "WAGGLE_NUMBER", 2, 7); n != 11 {
		t.Errorf("%d, want the number that the variable says", n)
	}
}

// recorder is a test that notes why it is skipped, and goes on.
type recorder struct {
	testing.TB
	skipped string
}

func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }
