package long

import (
	"flag"
	"fmt"
	"os"
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
		held := func(test func(testing.TB, string), reason string) string {
			said := "skipped"
			t.Run("", func(t *testing.T) {
				r := &recorder{TB: t}
				if test(r, "takes long"); r.skipped == "" {
					said = "run"
				} else if r.skipped != reason {
					t.Errorf("%q, want %q", r.skipped, reason)
				}
			})
			return said
		}
		if got := fmt.Sprintf("long %s, all %s, %d", held(Test, "takes long: set WAGGLE_LONG=1"), held(TestOfAll, "takes long: set WAGGLE_LONG=all"), Count(t, "WAGGLE_NUMBER", 2, 7)); got != c.want {
			t.Errorf("%q: %s, want %s", c.value, got, c.want)
		}
	}
	t.Setenv("WAGGLE_NUMBER", "11")
	if n := Count(t, "WAGGLE_NUMBER", 2, 7); n != 11 {
		t.Errorf("%d, want the number that the variable says", n)
	}
	for value, want := range map[string]uint64{"": 3, "18446744073709551615": 1<<64 - 1} {
		t.Setenv("WAGGLE_SEED", value)
		if n := Seed(t, 3); n != want {
			t.Errorf("seed %d, want %d", n, want)
		}
	}
}

// Another value is no run: it is refused with what to write.
func TestNoRun(t *testing.T) {
	for _, value := range []string{"0", "ALL", "true"} {
		t.Setenv(Variable, value)
		for name, asks := range map[string]func() bool{"Asked": Asked, "All": All} {
			func() {
				want := "WAGGLE_LONG=" + value + " asks for no run: set 1 for the long run, all for everything, or unset it for the quick run"
				defer func() {
					if got := recover(); got != want {
						t.Errorf("%s: %v, want %s", name, got, want)
					}
				}()
				asks()
			}()
		}
	}
}

// recorder is a test that notes why it is skipped, and goes on.
type recorder struct {
	testing.TB
	skipped string
}

func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }

// Temporary files are in memory in the quick run alone, and where the person says otherwise there.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	disk := os.TempDir()
	quick := disk
	if room(memory) >= enough {
		quick = memory
	}
	for _, c := range []struct{ asked, said, want string }{
		{"", "", quick},
		{"1", "", disk},
		{"all", "", disk},
		{"", "/elsewhere", "/elsewhere"},
	} {
		t.Setenv(Variable, c.asked)
		t.Setenv("TMPDIR", c.said)
		if InMemory(); os.TempDir() != c.want {
			t.Errorf("%s=%q, TMPDIR=%q: %s, want %s", Variable, c.asked, c.said, os.TempDir(), c.want)
		}
	}
	if n := room("/no folder"); n != 0 {
		t.Errorf("%d bytes of room in no folder", n)
	}
}

// The quick run says how many cases are drawn, the long run does not.
func TestDraws(t *testing.T) {
	n := flag.Int("rapid.checks", 100, "what package rapid has")
	t.Setenv(Variable, "1")
	if Draws(40); *n != 100 {
		t.Errorf("the long run draws %d", *n)
	}
	t.Setenv(Variable, "")
	if Draws(40); *n != 40 {
		t.Errorf("the quick run draws %d", *n)
	}
}
