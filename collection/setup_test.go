package collection

import (
	"os"
	"testing"
)

// Who is refused for a changed file is told the command that goes on without it, but for one of several workers:
// there is none for that.
func TestRemedyOfSetup(t *testing.T) {
	_, round := rounds(t, 2)
	if err := os.WriteFile(round.KnownFile(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w := opened(t, round.Dir())
	defer w.Close()
	said := round.KnownFile() + " is damaged: it is not what SHA256SUMS says; put the file back"
	_, alone := w.OpenStores(t.Context(), StoreOptions{})
	if err := w.BeOfSeveral(); err != nil {
		t.Fatal(err)
	}
	_, joined := w.OpenStores(t.Context(), StoreOptions{})
	if alone == nil || alone.Error() != said+", or have it made anew of the rounds before: waggle crawl -o "+round.Dir()+" --resume --accept-loss" {
		t.Error(alone)
	}
	if joined == nil || joined.Error() != said {
		t.Error(joined)
	}
}
