package corpus

import (
	"slices"
	"testing"
)

func TestLanguageCodes(t *testing.T) {
	if got := languageCodes([]string{"de-AT", "DE", "pt-BR", "tlh", "no language"}); !slices.Equal(got, []string{"de", "pt"}) {
		t.Errorf("%q", got)
	}
}
