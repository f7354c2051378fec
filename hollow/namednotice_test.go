package hollow_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// named are notices that name the page they stand for, and pages that tell of other things that are not found.
// The rule was made with the first half of them in mind.
var named = []struct {
	url, title, body string
	hollow           bool
}{
	{"/x/y", "Town", `<p>The page <code>/x/y</code> was not found.</p>`, true},
	{"/files/z.pdf", "Library", `<nav><a href=/>Home</a> <a href=/a>About the library</a> <a href=/b>Opening hours and places</a></nav><p>Sorry, the file "z.pdf" does not exist on this server.</p>`, true},
	{"/hive/queen", "Imker", `<p>Die Seite /hive/queen wurde nicht gefunden.</p>`, true},
	{"/api/v1", "Error", `<pre>Cannot GET /api/v1</pre>`, true},
	{"/help/mount", "Mount", `<h1>Errors of mount</h1><p>The file "/etc/fstab" does not exist. Create it as root, with one line for each disk.</p>`, false},
	{"/bees", "Bees", `<p>The page of the register on which the queen was entered was not found until May.</p>`, false},

	{"/wiki/Drone_flight", "Wiki", `<p>The article “Drone_flight” does not exist. Start it, or look at those that were changed of late.</p>`, true},
	{"/abeilles/reine", "Ruche", `<p>La page <b>/abeilles/reine</b> est introuvable.</p>`, true},
	{"/old/index.htm", "Server", `<h1>Oops</h1><p>The URL /old/index.htm could not be found. Tell the webmaster which link led here.</p>`, true},
	{"/shop?item=4711", "Shop", `<p>We could not find /shop?item=4711 in our catalogue of hives and tools.</p>`, true},
	{"/doc/errors", "Errors", `<h1>Error 17</h1><p>The document "letter.odt" could not be found. Close the program, look in the folder of the letters, and open it again there.</p>`, false},
	{"/news", "News", `<p>No such file was ever kept, says the mayor; the council asks for the letters of 1998 and for those who wrote them.</p>`, false},
}

// A notice is told in each of its usual forms, and words that stand together by chance are none.
func TestNamedForms(t *testing.T) {
	for text, want := range map[string]bool{
		"The page /x/y wasn't found.": true, "The page /x/y couldn't be found.": true, "The page /x/y can't be found.": true,
		"The page /x/y cannot be found.": true, "The page /x/y has not been found.": true, "El archivo x.pdf no fue encontrado.": true,
		`The page "what's new" was not found.`: true, "Lost and not found / home": false, "The page /x/y was found.": false,
	} {
		if got := reasonOf(t, "/x/y", "Town", "<p>"+text+"</p>") == web.ReasonNotFound; got != want {
			t.Errorf("%s: a notice: %t, want %t", text, got, want)
		}
	}
}

// reasonOf is why a page of an address, a title and the HTML of a body is hollow.
func reasonOf(t *testing.T, path, title, body string) web.Reason {
	t.Helper()
	u, err := web.Parse("https://a.example" + path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()}).Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte("<title>" + title + "</title>" + body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return hollow.Reason(page)
}

func TestNamed(t *testing.T) {
	var right, said, all [2]int
	for i, c := range named {
		half := 2 * i / len(named)
		told := reasonOf(t, c.url, c.title, c.body) == web.ReasonNotFound
		if c.hollow {
			all[half]++
		}
		if told {
			said[half]++
		}
		if told && c.hollow {
			right[half]++
		}
		if told != c.hollow {
			t.Logf("half %d: %s %q is a notice: %t", half, c.url, c.title, told)
		}
	}
	t.Logf("of %v notices %v were told, and %v in all, by halves", all, right, said)
	// The one of the second half that is no notice has "Error 17" as its heading: the rule of numbers tells it.
	if right != all || said[0] > right[0] || said[1] > right[1]+1 {
		t.Errorf("of %v notices %v were told, and %v in all, by halves: want all, and one that is none in the second", all, right, said)
	}
}

// Each way to say that a named page is not there is told, in all its languages.
func TestNamedVerbs(t *testing.T) {
	for _, says := range []string{
		"page /x/y was not found", "url /x/y is not found", "file x/y weren't found", "path /x/y could not be found", "document /x/y not found",
		"page /x/y does not exist", "page /x/y doesn't exist", "page /x/y no longer exists",
		"seite /x/y wurde nicht gefunden", "datei /x/y konnte nicht gefunden", "adresse /x/y existiert nicht", "seite /x/y gibt es nicht",
		"document /x/y est introuvable", "page /x/y n'existe pas", "page /x/y n'a pas été trouvée", "fichier /x/y n'a pas été trouvé",
		"página /x/y no existe", "página /x/y no se encontró", "archivo /x/y no fue encontrado", "página /x/y no ha sido encontrada",
		"pagina /x/y non esiste", "pagina /x/y non è stata trovata", "página /x/y não existe", "página /x/y não foi encontrada",
		"pagina /x/y bestaat niet", "pagina /x/y is niet gevonden", "страница /x/y не найдена", "файл /x/y не существует",
		"cannot get /x/y", "no such page: /x/y", "no such url /x/y", "not found: /x/y", "could not find /x/y", "can't find the page /x/y",
	} {
		if got := reasonOf(t, "/x/y", "Town", "<p>"+says+".</p>"); got != web.ReasonNotFound {
			t.Errorf("%s: %q", says, got)
		}
	}
}
