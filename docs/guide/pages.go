// Package pages holds the pages of the guide, so that a program without its sources can show
// them.
package pages

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.md
var files embed.FS

// Names are the names of the pages, sorted, without the overview: "again", "browser", …
func Names() (names []string) {
	all, _ := fs.Glob(files, "*.md") // the pattern is well formed
	for _, name := range all {
		if name != "README.md" {
			names = append(names, strings.TrimSuffix(name, ".md"))
		}
	}
	return names
}

// Page is the text of a page, in Markdown; ok is false where there is none of that name.
func Page(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(name + ".md")
	return text, err == nil
}
