package corpus

import (
	"slices"
	"testing"
)

func TestLanguageCodes(t *testing.T) {
	codes, without := languageCodes([]string{"de-AT", "DE", "pt-BR", "tlh", "no language"})
	if !slices.Equal(codes, []string{"de", "pt"}) || !slices.Equal(without, []string{"tlh", "no language"}) {
		t.Errorf("codes %q, without %q", codes, without)
	}
}
