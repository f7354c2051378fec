// Package long says which tests run: go test ./... alone is the quick run, which a person
// waits for. What costs more, such as killed processes, browsers and every damage, runs
// where the environment asks for the long run.
package long

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Variable asks for the long run: 1 for what .ci/run holds, and all for what takes longer
// still, such as a disk that breaks at every operation.
const Variable = "WAGGLE_LONG"

// Asked tells whether the long run is asked for. It panics where the variable has a value that
// asks for no run.
func Asked() bool { return value() != "" }

// All tells whether everything is asked for. It panics as Asked does.
func All() bool { return value() == "all" }

// value is that of the variable.
func value() string {
	v := os.Getenv(Variable)
	if v != "" && v != "1" && v != "all" {
		panic(fmt.Sprintf("%s=%s asks for no run: set 1 for the long run, all for everything, or unset it for the quick run", Variable, v))
	}
	return v
}

// Test skips a test of the long run in the quick run; why says what it costs, such as
// "kills workers".
func Test(t testing.TB, why string) {
	t.Helper()
	if !Asked() {
		t.Skipf("%s: set %s=1", why, Variable)
	}
}

// TestOfAll skips a test that only WAGGLE_LONG=all asks for.
func TestOfAll(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: set %s=all", why, Variable)
	}
}

// InMemory has the temporary files of a test program in memory in the quick run, where the
// system has a folder for that with room: what tests that make crawls write is synced to a disk
// otherwise, for up to half of their processor time. The long run has them on the disk. A TMPDIR
// that the person sets holds in both. It is for the start of TestMain.
func InMemory() {
	if !Asked() && os.Getenv("TMPDIR") == "" && room(memory) >= enough {
		os.Setenv("TMPDIR", memory)
	}
}

// memory is the folder that Linux has for files in memory; enough is what tests may write there,
// in bytes: containers often have 64 MiB, which would not do.
const (
	memory = "/dev/shm"
	enough = 1 << 30
)

// Draws is how many cases each property of package rapid draws in the quick run, where
// -rapid.checks does not say it. The long run draws as many as that package does, 100. It is for
// the start of TestMain.
func Draws(quick int) {
	if Asked() {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(quick)); err != nil {
		panic(fmt.Sprintf("tests without package rapid draw nothing: %v", err))
	}
}

// Of is quick in the quick run, and whole in the long one.
func Of[T any](quick, whole T) T {
	if Asked() {
		return whole
	}
	return quick
}

// Count is how often a test repeats what chance decides: the number that the variable of that
// name says, and otherwise quick or whole, as the run is.
func Count(t testing.TB, name string, quick, whole int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return Of(quick, whole)
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Seed is the seed of what chance decides: the number that WAGGLE_SEED says, and otherwise usual.
func Seed(t testing.TB, usual uint64) uint64 {
	t.Helper()
	v := os.Getenv("WAGGLE_SEED")
	if v == "" {
		return usual
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("WAGGLE_SEED: %v", err)
	}
	return n
}
