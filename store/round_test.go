package store

import "testing"

// A round has one name, and no other name is one.
func TestRoundNames(t *testing.T) {
	for n, name := range map[int]string{1: "0001", 12: "0012", 9999: "9999", 10000: "10000"} {
		if got, ok := RoundNumber(name); RoundName(n) != name || got != n || !ok {
			t.Errorf("round %d: %s, and %s is round %d, %v", n, RoundName(n), name, got, ok)
		}
	}
	for _, name := range []string{"", "1", "001", "00001", "0000", "+001", "-001", "0x01", "0001.old", "１", "010000", "99999999999999999999"} {
		if n, ok := RoundNumber(name); ok || n != 0 {
			t.Errorf("%q is round %d", name, n)
		}
	}
}
