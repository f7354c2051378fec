package hollow_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// labelled are pages written for this test: the reason a person gives them, "" for a page
// of content, the title, and the body.
var labelled = []struct {
	reason      web.Reason
	title, body string
}{
	{"soft-not-found", "Page not found | Example College", `<nav><a href=/>Home</a> <a href=/a>About</a></nav><h1>Oops!</h1><p>The page you are looking for may have moved. Try the search.</p>`},
	{"soft-not-found", "Example Town", `<h1>404</h1><p>Sorry, nothing here.</p><a href=/>Back to the start</a>`},
	{"soft-not-found", "Seite nicht gefunden – Imkerverein", `<p>Die gewünschte Seite gibt es nicht mehr.</p>`},
	{"soft-not-found", "Erreur 404", `<p>La page demandée est introuvable.</p>`},
	{"soft-not-found", "Página no encontrada", `<p>Lo sentimos.</p>`},
	{"soft-not-found", "Страница не найдена", `<p>Вернитесь на главную.</p>`},
	{"soft-not-found", "Example", `<h1>ページが見つかりません</h1>`},
	{"soft-not-found", "Example Shop", `<h1>Whoops</h1><p>We looked everywhere and could not find that product any more.</p>`},
	{"parked", "bees.example", `<p>This domain is for sale! Buy it now.</p><a href=/r>Related searches</a>`},
	{"parked", "honey.example", `<p>The domain has expired. If you are its owner, renew it.</p>`},
	{"parked", "imker.example", `<p>Diese Domain steht zum Verkauf.</p>`},
	{"parked", "miel.example", `<p>Ce nom de domaine est à vendre.</p>`},
	{"parked", "welcome", `<p>Sponsored listings: honey, insurance, credit cards.</p>`},
	{"consent", "Before you continue", `<p>We and our partners use cookies.</p><button>Accept all</button><button>Reject all</button>`},
	{"consent", "News", `<h2>We value your privacy</h2><p>We store data on your device.</p><button>I agree</button>`},
	{"consent", "Zeitung", `<h1>Wir schätzen Ihre Privatsphäre</h1><p>Mit Werbung weiterlesen.</p><button>Akzeptieren</button>`},
	{"consent", "Journal", `<h1>Avant de continuer</h1><button>Tout accepter</button>`},
	{"login", "Sign in - Example", `<form><label>User</label><input><label>Password</label><input type=password></form>`},
	{"login", "Intranet", `<h1>Please log in</h1><form>Name <input> Password <input type=password></form>`},
	{"login", "Anmelden", `<form>Benutzer <input> Passwort <input type=password></form>`},
	{"login", "ログイン", `<form>パスワード <input type=password></form>`},
	{"login", "Welcome", `<form><input name=user placeholder=Name><input type=password placeholder=Secret><button>Go</button></form>`},
	{"login", "Lost Password ‹ Bees", `<p>You will receive a link to create a new password.</p>`},
	{"soft-not-found", "Images", `<p>Error: file not found.</p>`},
	{"login", "Members", `<p>This article is for members. Subscribe to read on.</p>`},
	{"blocked", "Just a moment...", `<p>Checking if the connection is secure.</p><noscript>Enable JavaScript and cookies to continue</noscript>`},
	{"blocked", "Access Denied", `<p>You don't have permission to access this page. Reference #18.2</p>`},
	{"blocked", "example.org", `<h1>Verify you are human</h1><p>Complete the action below.</p>`},
	{"blocked", "Robot Check", `<p>Type the characters you see in this image.</p>`},

	{"", "The status 404 Not Found explained", `<p>A server answers 404 when there is no such page.</p>`},
	{"", "Not found in the wild since 1950", `<p>The Franklin bumblebee.</p>`},
	{"", "How to log in to the library", `<p>Open the catalogue, choose your account and give your password.</p>`},
	{"", "Honey", `<p>Our honey comes from three apiaries.</p><footer>We use cookies. <button>Accept all</button></footer>`},
	{"", "Login", `<p>A login is a name under which a user is known.</p>`},
	{"", "Cookies we bake", `<p>Honey cookies. Accept all compliments.</p>`},
	{"", "How to reset your password", `<p>Ask at the desk, and bring your card.</p>`},
	{"", "User name and password required", `<p>Type the name and the password to connect to the database.</p>`},
	{"", "Join", `<form>Partner <input> Password <input type=password></form><p>` + strings.Repeat("Write the names of both partners, and hand the form in by Friday. ", 12) + `</p>`},
	{"", "Hives and honey", `<div id=root></div><form hidden><input name=user><input type=password></form><script src=/shop.js></script>`},
	{"", "Forum", `<header><form><input name=user><input type=password><button>Go</button></form></header><h1>Which hive for a beginner?</h1><p>I want to keep bees. Which hive do I buy?</p>`},
	{"", "Bee talk", `<header><h2>Log in</h2><form><input name=user><input type=password></form></header><h1>Which hive for a beginner?</h1><p>I want to keep bees. Which hive do I buy?</p>`},
	{"", "Manual", `<p>Where the program says that you are not logged in, give the password again.</p>`},
	{"", "Changes", `<p>Fixed: page not found is shown for old links.</p>`},
	{"", "Store", `<p>The key 不存在 returns an error.</p>`},
	{"", "Contact", `<p>Ring us.</p>`},
	{"", "Selling a name", `<p>What to do when a domain name has expired and you want it back.</p>`},
	{"", "Captcha and its critics", `<p>Tests that tell robots from people.</p>`},
	{"", "Consent in medicine", `<p>A patient agrees.</p>`},
	{"", "Security", `<p>Reports are welcome.</p>`},
	{"", "Domain for sale, a poem", `<p>Fields and barns.</p>`},
	{"", "Page not found | Glossary", `<p>` + strings.Repeat("A long page that tells of errors with many examples from servers. ", 40) + `</p>`},
	{"", "Вход в пещеру", `<p>Пещера у реки.</p>`},
}

func TestLabelled(t *testing.T) {
	p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	var right, said, hollowPages int
	for i, c := range labelled {
		u, err := web.Parse(fmt.Sprintf("https://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<html><head><title>" + c.title + "</title></head><body>" + c.body + "</body></html>")})
		if err != nil {
			t.Fatal(err)
		}
		got := hollow.Reason(page)
		if got != "" {
			said++
		}
		if c.reason != "" {
			hollowPages++
		}
		if got == c.reason && got != "" {
			right++
		}
		if got != c.reason {
			t.Logf("%q is %q, a person says %q", c.title, got, c.reason)
		}
	}
	precision, recall := float64(right)/float64(said), float64(right)/float64(hollowPages)
	t.Logf("%d hollow pages of %d: precision %.2f, recall %.2f", hollowPages, len(labelled), precision, recall)
	if precision < 1 || recall < 0.85 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.85", precision, recall)
	}
}

// Nearly no page of a recorded web is told to be hollow: each that is, is logged.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"departments"} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := corpus.Build(t.Context(), dir, corpus.Exchange{Dir: recorded.Web(t, name)}, corpus.Options{}); err != nil {
			t.Fatal(err)
		}
		w, err := corpus.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer(), Canon: w.Canon()})
		pages, told := 0, 0
		for r, err := range w.Pages() {
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != 200 {
				continue
			}
			page, err := p.Parse(r)
			if err != nil {
				continue
			}
			pages++
			if reason := hollow.Reason(page); reason != "" {
				told++
				t.Logf("%s: %s %q", reason, page.URL, page.Title)
			}
		}
		t.Logf("%s: %d of %d pages are told to be hollow", name, told, pages)
		if pages == 0 || told*200 > pages {
			t.Errorf("%s: %d of %d pages are told to be hollow, want at most one in 200", name, told, pages)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
