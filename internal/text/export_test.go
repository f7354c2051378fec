package text

import (
	"maps"
	"slices"
)

// StemsOfTable are those of the built-in table of a language, sorted.
func StemsOfTable(language string) []string { return slices.Sorted(maps.Keys(table(language))) }
