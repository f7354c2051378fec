package hollow

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A notice that there is no such page may name the page in its middle, so that no two begin alike:
//
//	the page /x/y was not found · file "z.pdf" does not exist · die Seite /x wurde nicht gefunden
//
// Where the name stands in the address of the page it is the notice of that page, and else only where it
// is nearly all that the page says: a manual may tell of files that are not found.
var (
	namedMiddle = regexp.MustCompile(`(?:^| )(?:page|file|url|document|resource|path|article|seite|datei|adresse|dokument|fichier|página|archivo|pagina|страница|файл) ` +
		`(?:at |with the address |named |called )?` + noticeName + `,? (?:(?:was|is|were|could|can|has)(?: ?not|n't|'t) (?:be |been )?found|not found|does(?: not|n't) exist|no longer exists|` +
		`(?:wurde|konnte) nicht gefunden|existiert nicht|gibt es nicht|est introuvable|n'existe pas|n'a pas été trouvée?|no existe|no se encontró|no (?:fue|ha sido) encontrad[oa]|non esiste|non è stata trovata|` +
		`não existe|não foi encontrada|bestaat niet|is niet gevonden|не найдена?|не существует)`)
	namedEnd = regexp.MustCompile(`^(?:.{0,40}[ :.!])?(?:not found|no such (?:page|file|document|url)|cannot get|(?:could not|couldn't|cannot|can't) find(?: the)?(?: page| file| document)?)[: ] ?` + noticeName)
)

// noticeHints are pieces of which one is in each text that namedMiddle or namedEnd finds: most short pages
// have none, and looking for these is cheap beside two expressions.
var noticeHints = []string{
	"found", "exist", "gefunden", "gibt es nicht", "introuvable", "trouv", "se encontr", "encontrad", "non esiste", "trovata",
	"bestaat niet", "gevonden", "не ", "no such", "cannot get", "find",
}

// noticeName is a name in quotes, or a path, or the name of a file.
const noticeName = `(?:["“„«]([^"”“»]{1,200})["”“»]|[‘'` + "`" + `]([^’'` + "`" + `]{1,200})[’'` + "`" + `]|([^ ]*/[^ ]+|[^ ]+/|[^ ]+\.[a-z0-9]{1,5}))`

const (
	maxNamed  = 8 // terms of such a page whose address has not the name
	leastName = 4 // bytes of a name that is looked for in an address
)

// namesItself tells whether a page of few terms is a notice with a name in it.
func (s *pageText) namesItself() bool {
	if s.terms >= maxTelling || s.running >= minArticle {
		return false
	}
	if !slices.ContainsFunc(noticeHints, func(hint string) bool { return strings.Contains(s.lower(), hint) }) {
		return false
	}
	text := strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(s.lower(), "’", "'")), " ,", ",")
	found := namedMiddle.FindStringSubmatch(text)
	if found == nil {
		found = namedEnd.FindStringSubmatch(text)
	}
	if found == nil {
		return false
	}
	if s.terms < maxNamed {
		return true
	}
	name := strings.Trim(strings.Join(found[1:], ""), ` .,"'`)
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	at := s.page.URL.String()
	if plain, err := url.PathUnescape(at); err == nil {
		at = plain
	}
	return len(name) >= leastName && strings.Contains(strings.ToLower(at), name)
}
