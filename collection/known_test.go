package collection

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/parse"
)

// What earlier rounds know is compared with its own checksum, whatever else SHA256SUMS says.
func TestKnownWhole(t *testing.T) {
	first := func(list []byte) []byte { return list[:bytes.IndexByte(list, '\n')+1] }
	for _, x := range []struct {
		what   string
		damage func(list []byte) []byte
		before string // what comes before the lines of SHA256SUMS
		whole  bool
	}{
		{"as it was", bytes.Clone, "", true},
		{"as it was, and a line is no checksum", bytes.Clone, "none\n", true},
		{"torn", func(list []byte) []byte { return list[:len(list)-5] }, "", false},
		{"cut at a line", first, "", false},
		{"cut at a line, and a line is no checksum", first, "none\n", false},
		{"empty, and a line is no checksum", func([]byte) []byte { return nil }, "none\n", false},
	} {
		t.Run(x.what, func(t *testing.T) {
			_, round := rounds(t, 3)
			list, errList := os.ReadFile(round.KnownFile())
			sums, errSums := os.ReadFile(round.SumFile())
			if err := errors.Join(errList, errSums, os.WriteFile(round.KnownFile(), x.damage(list), 0o644),
				os.WriteFile(round.SumFile(), append([]byte(x.before), sums...), 0o644)); err != nil {
				t.Fatal(err)
			}
			if whole, err := round.KnownWhole(); whole != x.whole || err != nil {
				t.Errorf("whole: %v, %v", whole, err)
			}
		})
	}
}

// Nobody goes on with a round whose list of what earlier ones know is missing, not even who accepts a loss.
func TestOpenRoundWithoutKnown(t *testing.T) {
	_, round := rounds(t, 1)
	if err := os.Remove(round.KnownFile()); err != nil {
		t.Fatal(err)
	}
	w := opened(t, round.Dir())
	defer w.Close()
	s, err := w.OpenStores(t.Context(), StoreOptions{AcceptLoss: true, Parser: parse.New(parse.Options{})})
	if err == nil {
		err = s.Close()
		t.Errorf("it is opened: %v", err)
	} else if !strings.Contains(err.Error(), "known.jsonl is damaged: it is missing") {
		t.Error(err)
	}
}
